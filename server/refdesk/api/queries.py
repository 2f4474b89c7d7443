"""Query parameters: each stands once."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import parse_qsl

from litestar import Request

from refdesk.errors import RequestError

LISTS = frozenset(("roles",))
"""Parameters that may be repeated."""


async def refuse_repeated(request: Request[Any, Any, Any]) -> None:
    """Of a parameter that stands twice one program would take the first and another the last value: neither is asked
    for. Raises RequestError 400."""
    query = request.scope["query_string"].decode("latin-1")
    if "&" not in query:
        return
    counts = Counter(name for name, _ in parse_qsl(query, keep_blank_values=True))
    repeated = next((name for name, count in counts.items() if count > 1 and name not in LISTS), None)
    if repeated is not None:
        raise RequestError(
            400, "parameter_repeated", f"`{repeated[:80]}` stands twice; send it once.", field=repeated[:80]
        )
