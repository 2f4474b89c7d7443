"""Addresses that a corpus may state: http(s) or site-relative, nothing that runs, redirects elsewhere or logs in."""

from __future__ import annotations

import re
from urllib.parse import quote, urlsplit

_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\<>\"`\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_KEPT = "/:?#@!$&*+,;=-._~%"
"""Left as they are when an address is encoded; brackets and spaces are not, because they would end a Markdown link."""


def canonical_url(address: str) -> str | None:
    """The address ready for a Markdown link and an `href`: encoded once, never twice. None if it must not be served."""
    address = address.strip()
    if not address or _FORBIDDEN.search(address):
        return None
    if address.startswith("/"):
        return None if address.startswith("//") else _encoded(address)
    try:
        parts = urlsplit(address)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host or "@" in parts.netloc:
        return None
    return _with_plain_host(address, parts.netloc)


def _with_plain_host(address: str, netloc: str) -> str | None:
    if re.search(r"[\s%]", netloc):
        return None
    try:
        host = netloc if netloc.isascii() else netloc.encode("idna").decode("ascii")
    except UnicodeError:
        return None
    begin = address.index("//") + 2
    return address[:begin] + host + _encoded(address[begin + len(netloc) :])


def _encoded(rest: str) -> str:
    return quote(_BARE_PERCENT.sub("%25", rest), safe=_KEPT)
