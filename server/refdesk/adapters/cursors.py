"""Where a page of a list ended, as opaque text for the client: the number of its last row."""

from __future__ import annotations

import base64
import re

from refdesk.errors import RequestError

NUMBER = re.compile(rb"n([0-9]{1,18})")


def to_cursor(seq: int) -> str:
    return base64.urlsafe_b64encode(b"n%d" % seq).decode().rstrip("=")


def from_cursor(cursor: str) -> int:
    """Raises RequestError 400: not one of ours."""
    try:
        found = NUMBER.fullmatch(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except ValueError:
        found = None
    if found is None:
        raise RequestError(400, "invalid_cursor", "cursor: take it from next_cursor of the page before", field="cursor")
    return int(found[1])
