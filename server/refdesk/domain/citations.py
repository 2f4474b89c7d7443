"""From a model's Markdown to the answer that a visitor gets: every citation a link, and no other link but those read.

Rules (provenance.md, "Two ways to cite"): a citation is `[text](doc:ID)`, a URL of an article of ours, or a bracket
marker with the exact title. What stands in code, images or comments cites nothing. Images and reference definitions go,
foreign links are reduced to their text, raw HTML is text. All other brackets are escaped, so that no renderer finds a
link where we found none. One automaton serves streams and whole texts: any chunking gives the same output.
"""

from __future__ import annotations

from refdesk.domain.answer_writer import AnswerWriter
from refdesk.domain.inline_resolver import LONGEST, InlineResolver
from refdesk.domain.link_table import LinkTable
from refdesk.domain.markdown_blocks import BlockScanner
from refdesk.domain.markdown_text import without_controls

MAX_ANSWER = 30_000
"""Characters of a model's text that become an answer; what comes after is cut off (`capped`)."""


class AnswerResolver:
    """`feed` returns what may be shown now and is never taken back; `finish` the rest."""

    def __init__(self, table: LinkTable, *, most: int = MAX_ANSWER, longest: int = LONGEST) -> None:
        self.allowed = table.allowed
        """Every destination that a link of the answer may have."""
        self._writer = AnswerWriter()
        self._blocks = BlockScanner(InlineResolver(table, self._writer, longest))
        self._left = most
        self._carriage_return = False
        self._finished = False
        self._written: list[str] = []
        self.capped = False
        """The text was longer than an answer may be."""

    @property
    def citations(self) -> list[str]:
        """Ids of the cited articles in order of first citation."""
        return self._writer.citations

    @property
    def dropped(self) -> list[str]:
        """Links that were reduced to their text, as the model wrote them (shortened)."""
        return list(self._writer.dropped)

    @property
    def output(self) -> str:
        return "".join(self._written)

    def feed(self, text: str) -> str:
        if self._finished:
            return ""
        text = self._normalised(text)
        if len(text) > self._left:
            text, self.capped = text[: self._left], True
        self._left -= len(text)
        if text:
            self._blocks.feed(text)
        return self._taken()

    def finish(self, cut: bool = False) -> str:
        """`cut`: the model was stopped in the middle; what it had begun and not finished goes."""
        if self._finished:
            return ""
        if self._carriage_return and self._left:
            self._carriage_return = False
            self._blocks.feed("\n")
        self._finished = True
        self._blocks.finish(cut=cut or self.capped)
        return self._taken()

    def _normalised(self, text: str) -> str:
        """Line breaks as in CommonMark; a pair of them may arrive in two pieces."""
        if self._carriage_return:
            text, self._carriage_return = f"\r{text}", False
        if text.endswith("\r"):
            text, self._carriage_return = text[:-1], True
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        return without_controls(text)

    def _taken(self) -> str:
        settled = self._writer.take()
        if settled:
            self._written.append(settled)
        return settled


def resolve(text: str, table: LinkTable, *, cut: bool = False) -> AnswerResolver:
    """A whole text at once."""
    resolver = AnswerResolver(table)
    resolver.feed(text)
    resolver.finish(cut)
    return resolver
