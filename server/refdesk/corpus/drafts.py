"""One file of the corpus as an article to be: everything but its passages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import msgspec

from refdesk.corpus.blocks import scan_blocks
from refdesk.corpus.comments import without_comments
from refdesk.corpus.files import read_text
from refdesk.corpus.front_matter import FrontMatter, read_front_matter
from refdesk.corpus.headings import heading_text
from refdesk.corpus.identity import Claim, id_from_path
from refdesk.corpus.metadata import ARTICLE_ID, Metadata, read_metadata
from refdesk.corpus.report import Notice, notice
from refdesk.domain.articles import Article, HelpCentre
from refdesk.errors import FileWithheld

MAX_TITLE = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Draft(msgspec.Struct, frozen=True):
    """`article` has no passages and no version yet, and no language where it must be recognised."""

    article: Article
    published: bool
    claims: tuple[Claim, ...]
    warnings: tuple[Notice, ...]
    body_line: int


class Drafts:
    """Collects the files of a corpus; what cannot be served is withheld, and keeps its claim to its id."""

    def __init__(self, root: Path, centre: HelpCentre) -> None:
        self._root, self._centre = root, centre
        self.drafts: list[Draft] = []
        self.withheld: list[Notice] = []
        self.claims: list[Claim] = []

    def add(self, path: str) -> None:
        """Raises FileGone: it was there when the folder was listed."""
        try:
            file = read_text(self._root, path)
            front = read_front_matter(file.text)
        except FileWithheld as problem:
            self.withheld.append(notice(path, problem))
            return
        try:
            draft = self._draft(path, front, file.modified)
        except FileWithheld as problem:
            self.withheld.append(notice(path, problem))
            self.claims.extend(_claims_of_withheld(path, front))
            return
        self.drafts.append(draft)
        if draft.published:
            self.claims.extend(draft.claims)

    def _draft(self, path: str, front: FrontMatter, modified: float) -> Draft:
        metadata = read_metadata(front, self._centre)
        article_id = metadata.id or id_from_path(path)
        lines = {key: entry.line for key, entry in front.entries.items()}
        redirects = tuple(earlier for earlier in metadata.redirect_from if earlier != article_id)
        claims = [Claim(article_id, path, lines.get("id"))]
        claims += [Claim(earlier, path, lines.get("redirect_from")) for earlier in redirects]
        body = without_comments(front.body)
        article = Article(
            id=article_id,
            title=_title(metadata, path, body),
            body=body,
            language=metadata.language or "",
            audience=metadata.audience,
            version="",
            category=metadata.category or PurePosixPath(path).parent.name,
            url=_url(metadata, article_id, self._centre),
            visibility=metadata.visibility,
            updated=metadata.updated or _day(modified),
            owner=metadata.owner,
            priority=metadata.priority,
            synonyms=metadata.synonyms,
            redirect_from=redirects,
            translation_of=metadata.translation_of,
            path=path,
        )
        warnings = _warnings(path, metadata, front)
        return Draft(article, metadata.status == "published", tuple(claims), warnings, front.body_line)


def _claims_of_withheld(path: str, front: FrontMatter) -> list[Claim]:
    """A file with a mistake in its access rule must not lose its id to a file that more people may read."""
    entry = front.entries.get("id")
    if entry is None:
        return [Claim(id_from_path(path), path)]
    if isinstance(entry.value, str) and ARTICLE_ID.fullmatch(entry.value):
        return [Claim(entry.value, path, entry.line)]
    return []


def _title(metadata: Metadata, path: str, body: str) -> str:
    title = metadata.title or next(_heading_texts(body), "")
    title = " ".join(_CONTROL.sub(" ", title).split())[:MAX_TITLE].rstrip()
    return title or " ".join(re.split(r"[-_\s]+", PurePosixPath(path).stem)).strip() or path


def _heading_texts(body: str) -> Iterator[str]:
    return (text for block in scan_blocks(body) if block.kind == "heading" and (text := heading_text(block.title)))


def _url(metadata: Metadata, article_id: str, centre: HelpCentre) -> str | None:
    if metadata.visibility == "title":
        return None
    return metadata.url or centre.article_url.replace("{id}", article_id)


def _day(moment: float) -> str:
    """In UTC."""
    try:
        return datetime.fromtimestamp(moment, UTC).date().isoformat()
    except (OSError, OverflowError, ValueError):
        raise FileWithheld("the file's last change is no date: a year after 9999 or before 1") from None


def _warnings(path: str, metadata: Metadata, front: FrontMatter) -> tuple[Notice, ...]:
    warnings = [Notice(path, f"unknown key {key[:80]!r} is ignored", line) for key, line in metadata.unknown]
    if not front.body.strip():
        warnings.append(Notice(path, "the article is empty"))
    return tuple(warnings)
