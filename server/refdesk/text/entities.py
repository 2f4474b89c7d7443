"""Character references of Markdown (`&amp;`, `&#38;`, `&#x26;`) and the characters they stand for (CommonMark 2.5):
a name needs its semicolon, and one that HTML does not know is ordinary text."""

from __future__ import annotations

import re
from html.entities import html5

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")


def decoded(text: str) -> str:
    """Every reference resolved once, as if there were no code in the text."""
    return ENTITY.sub(lambda found: characters(found[0]), text) if "&" in text else text


def characters(reference: str) -> str:
    """What one match of ENTITY stands for: one or two characters, or itself where the name means nothing."""
    name = reference[1:]
    if not name.startswith("#"):
        return html5.get(name, reference)
    code = int(name[2:-1], 16) if name[1] in "xX" else int(name[1:-1])
    return chr(code) if 0 < code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else "\ufffd"
