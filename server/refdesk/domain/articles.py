"""Article and passage: what the help centre consists of, and who may read it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Span: TypeAlias = tuple[int, int]
"""Start and end offsets in an article's body, in characters, end exclusive."""

Roles: TypeAlias = frozenset[str]

PUBLIC, SIGNED_IN, STAFF = "public", "signed-in", "staff"
BUILT_IN_ROLES = (PUBLIC, SIGNED_IN)
ANONYMOUS: Roles = frozenset({PUBLIC})
SECTION_SEPARATOR = " › "


class Passage(msgspec.Struct, frozen=True, gc=False):
    """A contiguous piece of one article. A table piece repeats the header row, so it may have two spans."""

    article_id: str
    number: int
    section: str
    """The headings above, joined by ` › `, without a first one that repeats the title; "" if none."""
    spans: tuple[Span, ...]

    def text(self, body: str) -> str:
        """What the model and the index are given: always the article's own characters."""
        return "\n".join(body[start:end] for start, end in self.spans)


class Article(msgspec.Struct, frozen=True, gc=False):
    id: str
    title: str
    body: str
    """Markdown without front matter; every offset counts from its beginning."""
    language: str
    audience: tuple[str, ...]
    version: str
    """Hash of content and metadata."""
    category: str = ""
    url: str | None = None
    """Where a reader finds it; None for `visibility: title`."""
    visibility: str = "link"
    updated: str = ""
    """ISO date."""
    owner: str | None = None
    priority: float | None = None
    synonyms: tuple[str, ...] = ()
    redirect_from: tuple[str, ...] = ()
    translation_of: str | None = None
    path: str = ""
    """Relative to the corpus folder, with `/`."""
    passages: tuple[Passage, ...] = ()

    def section_at(self, offset: int) -> str:
        """The section of the passage at an offset in the body, or of the last one before it; "" above the first."""
        starts = [(start, passage.section) for passage in self.passages for start, _ in passage.spans]
        return max((place for place in starts if place[0] <= offset), default=(0, ""))[1]

    def readable_by(self, roles: Roles) -> bool:
        return not roles.isdisjoint(self.audience)

    @property
    def family(self) -> str:
        """Translations of one article share it."""
        return self.translation_of or self.id


class Contact(msgspec.Struct, frozen=True, omit_defaults=True):
    url: str = ""
    mail: str = ""
    callback: str = ""
    """Address that takes a transcript as a POST, once the visitor has consented."""


class HelpCentre(msgspec.Struct, frozen=True):
    """`help-center.toml`, with every default filled in except the texts that have one per language in the code."""

    name: str
    languages: tuple[str, ...] = ()
    """Languages the articles are written in; the first is the default. Never empty once loaded."""
    roles: tuple[str, ...] = ()
    """Declared roles besides `public` and `signed-in`."""
    article_url: str = "/articles/{id}"
    greeting: dict[str, str] = {}
    starter_questions: dict[str, list[str]] = {}
    disclosure: dict[str, str] = {}
    refusal: dict[str, str] = {}
    notice: dict[str, str] = {}
    contact: Contact = Contact()
    synonyms: tuple[tuple[str, ...], ...] = ()

    @property
    def default_language(self) -> str:
        return self.languages[0] if self.languages else "en"
