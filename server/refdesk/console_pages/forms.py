"""What a form of the console's pages sent."""

from __future__ import annotations

import re
from typing import Any

from refdesk.api.schemas import storable
from refdesk.console_pages.rendering import AnyRequest
from refdesk.errors import RequestError

OWN_ADDRESS = re.compile(r"/console(?:[/?][A-Za-z0-9/_.?=&%+~:,-]*)?")
FIRST_PAGE = "/console"


class Form:
    def __init__(self, values: Any) -> None:
        self._values = values

    def text(self, name: str) -> str:
        """Trimmed; "" where it is missing. Raises RequestError 400 for what no database can hold."""
        value = self._values.get(name, "")
        return storable(value.strip(), name) if isinstance(value, str) else ""

    def has(self, name: str) -> bool:
        return name in self._values

    def secret(self, name: str) -> str:
        """As it was typed."""
        value = self._values.get(name, "")
        return value if isinstance(value, str) else ""

    def chosen(self, name: str) -> tuple[str, ...]:
        """Of boxes with one name those that were ticked."""
        return tuple(value for value in self._values.getall(name, []) if isinstance(value, str) and value)

    def ticked(self, name: str) -> bool:
        return bool(self.text(name))


async def form_of(request: AnyRequest) -> Form:
    try:
        return Form(await request.form())
    except UnicodeDecodeError as error:
        raise RequestError(400, "invalid_request", "The form is not UTF-8.") from error


def own_address(text: str) -> str:
    """Where to go next, if that is a page of the console."""
    path = text.partition("?")[0].lower().replace("%2e", ".")
    return text if OWN_ADDRESS.fullmatch(text) and ".." not in path else FIRST_PAGE
