"""Ids: made from a file's path where the front matter gives none, and each used by one article only."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from pathlib import PurePosixPath

import msgspec

from refdesk.corpus.report import Notice

MAX_LENGTH = 64
_DIGEST_LENGTH = 8
_SEPARATORS = re.compile(r"[^a-z0-9]+")


class Claim(msgspec.Struct, frozen=True):
    """A file's claim to an id, as its own or as an earlier one."""

    id: str
    path: str
    line: int | None = None


def id_from_path(path: str) -> str:
    """`billing/Refund rules.md` is `billing-refund-rules`.

    Where letters are lost (another script) or the name is too long, a digest of the path keeps ids apart. It depends on
    the path alone, so a file keeps its id whatever else is in the folder."""
    stem = str(PurePosixPath(path).with_suffix(""))
    plain = "".join(
        character
        for character in unicodedata.normalize("NFKD", stem.casefold())
        if not unicodedata.combining(character)
    )
    slug = _SEPARATORS.sub("-", plain).strip("-")
    lost = any(character > "\x7f" or character in "+=<>|~^$`" for character in plain)
    if slug and not lost and len(slug) <= MAX_LENGTH:
        return slug
    digest = hashlib.blake2b(unicodedata.normalize("NFC", path).encode(), digest_size=_DIGEST_LENGTH // 2).hexdigest()
    return f"{slug[: MAX_LENGTH - _DIGEST_LENGTH - 1].strip('-') or 'article'}-{digest}"


def contested(claims: Iterable[Claim]) -> dict[str, Notice]:
    """By path. Nobody gets a contested id: which of two files people may read must not depend on the order in which a
    folder is listed."""
    claims_of: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        claims_of[claim.id].append(claim)
    notices: dict[str, Notice] = {}
    for article_id, claimants in claims_of.items():
        for claim in claimants:
            others = {other.path for other in claimants} - {claim.path}
            if others:
                reason = f"the id {article_id!r} is also claimed by {min(others)}: give each file an id of its own"
                notices.setdefault(claim.path, Notice(claim.path, reason, claim.line))
    return notices
