"""Reads a corpus folder: what is new, what is unchanged and reused, what is withheld and why.

Nothing is written and nothing served from here: a reading is a value that retrieval turns into an index generation."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from refdesk.corpus.drafts import Draft, Drafts
from refdesk.corpus.files import GONE, corpus_root, scan
from refdesk.corpus.help_centre import FILE_NAME, read_help_centre, unsettled
from refdesk.corpus.identity import contested
from refdesk.corpus.passages import split_passages
from refdesk.corpus.report import CorpusReading, Notice, compare, guard_deletion, notice
from refdesk.domain.articles import Article, HelpCentre
from refdesk.errors import CorpusError, FileGone, FolderUnsteady
from refdesk.text.language import recognised

Progress = Callable[[int, int, str], None]
"""(done, total, what is being done)"""

_STEP = 100
"""Articles between two reports of progress."""
_TRIES = 3
_SAMPLE = 1000
"""Characters of a body from which its language is recognised."""


def read_corpus(
    folder: Path, previous: Sequence[Article] = (), progress: Progress | None = None, *, force: bool = False
) -> CorpusReading:
    """`previous`: the articles of the last reading, with passages; unchanged ones are returned as the same objects.

    Raises CorpusError for a missing or empty folder, one that changes all the time, and a wrong help-center.toml, and
    MassDeletion unless `force`."""
    centre, collected = _steady(folder, progress or _silent)
    clashes = contested(collected.claims)
    drafts = [draft for draft in collected.drafts if draft.article.path not in clashes]
    published = [draft.article for draft in drafts if draft.published]
    centre, published = _with_languages(centre, published, previous)
    articles = tuple(_finished(published, previous, progress or _silent))
    withheld = [*collected.withheld, *(clashes[d.article.path] for d in collected.drafts if d.article.path in clashes)]
    report = msgspec.structs.replace(
        compare(previous, articles),
        unpublished=len(drafts) - len(published),
        withheld=tuple(sorted(withheld, key=_order)),
        warnings=tuple(sorted(_warnings(drafts, articles, centre), key=_order)),
    )
    if not force:
        guard_deletion(previous, report)
    return CorpusReading(centre, articles, report, {draft.article.path: draft.body_line for draft in drafts})


def _silent(done: int, total: int, what: str) -> None:
    pass


def _order(notice: Notice) -> tuple[str, int]:
    return notice.path, notice.line or 0


def _steady(folder: Path, progress: Progress) -> tuple[HelpCentre, Drafts]:
    """What was read, if it is a picture of one folder: files that go while they are read, or a folder that is unmounted
    or put in another's place, would be taken for articles that somebody removed. Then it is read anew."""
    for _ in range(_TRIES):
        root = corpus_root(folder)
        before = _state(root)
        try:
            centre = read_help_centre(root) if before.settings else unsettled(root)
            collected = _collect(root, centre, progress)
        except FileGone:
            continue
        if _state(root) == before:
            return centre, collected
    raise FolderUnsteady(f"corpus folder {folder}: it changes while it is read; sync again once it is complete")


class _State(NamedTuple):
    """Which folder it is, and which settings it has."""

    folder: tuple[int, ...]
    settings: tuple[int, ...]
    """Empty without the file. A link that leads nowhere is one: it must not be taken for no settings."""


def _state(root: Path) -> _State:
    settings = root / FILE_NAME
    return _State(_identity(root)[:2], _identity(settings) or _identity(settings, follow_symlinks=False))


def _identity(path: Path, *, follow_symlinks: bool = True) -> tuple[int, ...]:
    """Empty for what is not there. Raises CorpusError for what is out of reach: it may well be there."""
    try:
        status = path.stat(follow_symlinks=follow_symlinks)
    except OSError as error:
        if error.errno in GONE:
            return ()
        raise CorpusError(f"{path.name}: it cannot be read: {os.strerror(error.errno or 0)}") from None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def _collect(root: Path, centre: HelpCentre, progress: Progress) -> Drafts:
    paths, problems = scan(root)
    collected = Drafts(root, centre)
    collected.withheld += [notice(path, problem) for path, problem in problems]
    if not paths:
        found = "".join(f"; {problem}" for problem in collected.withheld[:3])
        raise CorpusError(f"corpus folder {root}: it holds no Markdown files (.md){found}")
    for done, path in enumerate(paths):
        if done % _STEP == 0:
            progress(done, len(paths), "reading files")
        collected.add(path)
    progress(len(paths), len(paths), "reading files")
    return collected


def _with_languages(
    centre: HelpCentre, articles: list[Article], previous: Sequence[Article]
) -> tuple[HelpCentre, list[Article]]:
    """Without declared languages they are recognised, the most frequent one being the default."""
    if not centre.languages:
        before = {article.id: article for article in previous}
        articles = [article if article.language else _recognised(article, before) for article in articles]
        counts = Counter(article.language for article in articles if article.language)
        languages = tuple(sorted(counts, key=lambda language: (-counts[language], language)))
        centre = msgspec.structs.replace(centre, languages=languages or (centre.default_language,))
    default = centre.default_language
    return centre, [article if article.language else _spoken(article, default) for article in articles]


def _recognised(article: Article, before: dict[str, Article]) -> Article:
    """An unchanged body keeps the language it had: recognising ten thousand takes longer than reading them."""
    old = before.get(article.id)
    if old is not None and old.body == article.body:
        return _spoken(article, old.language)
    return _spoken(article, recognised(article.body[:_SAMPLE]) or "")


def _spoken(article: Article, language: str) -> Article:
    return msgspec.structs.replace(article, language=language)


def _finished(articles: list[Article], previous: Sequence[Article], progress: Progress) -> Iterator[Article]:
    """With version and passages. Splitting is most of the work, so passages of an unchanged body are kept."""
    before = {article.id: article for article in previous}
    for done, article in enumerate(articles):
        if done % _STEP == 0:
            progress(done, len(articles), "splitting articles")
        old = before.get(article.id)
        version = _version(article)
        if old is None or (old.body, old.title) != (article.body, article.title):
            passages = split_passages(article.id, article.title, article.body)
        elif (old.version, old.path) == (version, article.path):
            yield old
            continue
        else:
            passages = old.passages
        yield msgspec.structs.replace(article, version=version, passages=passages)
    progress(len(articles), len(articles), "splitting articles")


def _version(article: Article) -> str:
    """Hash of content and metadata, the path left out: a moved file with an id of its own is the same article."""
    content = msgspec.msgpack.encode(msgspec.structs.replace(article, path=""))
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _warnings(drafts: list[Draft], articles: Sequence[Article], centre: HelpCentre) -> Iterator[Notice]:
    for draft in drafts:
        yield from draft.warnings
    ids = {article.id for article in articles}
    for article in articles:
        if article.translation_of == article.id:
            yield Notice(article.path, "`translation_of` names the article itself")
        elif article.translation_of and article.translation_of not in ids:
            yield Notice(article.path, f"`translation_of` names {article.translation_of!r}, which is no article")
        if article.language not in centre.languages:
            declared = ", ".join(centre.languages)
            yield Notice(article.path, f"language {article.language!r} is not among the declared ones ({declared})")
