"""The answer that is written from a model's text: open brackets are held back until it is known what they are.

A frame keeps its content twice: as text with resolved links, for brackets that turn out to be text, and as the text of
a link, where no other link may stand. So nothing is read twice, however deep the brackets are.
"""

from __future__ import annotations

from refdesk.domain.articles import Article
from refdesk.domain.markdown_text import INVISIBLE, STRUCTURE, destination, escape_label

DEEPEST = 8
"""Open brackets inside one another; when more are opened the outermost is text."""
_JOINING = frozenset("`!<\\")
"""Characters that change what follows them."""


class Frame:
    """An open bracket and what has been written behind it."""

    __slots__ = ("cited", "dropped", "first", "gap", "image", "label", "last", "linked", "solid", "start", "text")

    def __init__(self, start: int, *, image: bool = False, first: bool = False) -> None:
        self.start, self.image, self.first = start, image, first
        """`first`: nothing but white space comes before it on its line."""
        self.text: list[str] = []
        self.label: list[str] = []
        self.cited: list[str] = []
        self.dropped: list[str] = []
        self.linked = False
        """There is a link inside: the bracket itself cannot be one."""
        self.gap = self.solid = False
        self.last = ""
        """What was written before the bracket: its last character, and whether it closed the line's structure."""

    def add(self, text: str, label: str) -> None:
        self.text.append(text)
        self.label.append(label)

    def take_in(self, other: Frame) -> None:
        self.cited += other.cited
        self.dropped += other.dropped
        self.linked = self.linked or other.linked


class AnswerWriter:
    """Collects the settled output. `take` gives what has been settled since the last time; it is never taken back."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self._root = Frame(0)
        self._gap = self._solid = False
        self._last = "\n"

    @property
    def citations(self) -> list[str]:
        """Ids of the cited articles, in order of first citation."""
        return list(dict.fromkeys(self._root.cited))

    @property
    def dropped(self) -> list[str]:
        """The links that were reduced to their text, as the model wrote them."""
        return self._root.dropped

    @property
    def top(self) -> Frame:
        return self.frames[-1] if self.frames else self._root

    def take(self) -> str:
        text = "".join(self._root.text)
        self._root.text.clear()
        self._root.label.clear()
        return text

    # --- text ---

    def raw(self, text: str) -> None:
        """Structure and code: outside of all brackets."""
        if text:
            self._root.text.append(text)
            self._last, self._solid, self._gap = text[-1], False, False

    def text(self, text: str, label: str | None = None) -> None:
        if not text:
            return
        if self._gap:
            self._gap = False
            if _joins(self._last, self._solid, text[0]):
                self.top.add(INVISIBLE, INVISIBLE)
        self.top.add(text, text if label is None else label)
        self._last = "" if text[-2:-1] == "\\" else text[-1]  # escaped, a character joins nothing
        self._solid = self._solid or not STRUCTURE.issuperset(text)

    def code(self, text: str) -> None:
        self.text(text)
        self._last, self._solid = "`", True

    def soft_break(self, prefix: str) -> None:
        self.text(f"\n{prefix}", " ")
        self._last, self._solid = "\n", False

    def close_gap(self, *, needed: bool) -> None:
        """At the end of a block: a line that lost all its content may be empty only where that changes nothing."""
        if self._gap and not self._solid and (needed or self._last != "\n"):
            self.top.add(INVISIBLE, INVISIBLE)
        self._gap = False

    # --- brackets ---

    def open(self, start: int, *, image: bool = False, first: bool = False) -> None:
        if len(self.frames) >= DEEPEST:
            self.settle_oldest()
        frame = Frame(start, image=image, first=first)
        frame.gap, frame.last, frame.solid = self._gap, self._last, self._solid
        self.frames.append(frame)
        self._gap, self._last, self._solid = False, "[", True

    def settle_oldest(self) -> None:
        """It stays open: its bracket is text."""
        frame = self.frames.pop(0)
        self._before(self._root, frame, "\\")
        self._root.add("!\\[" if frame.image else "\\[", "")
        self._root.text += frame.text
        self._root.take_in(frame)

    def reduce_oldest(self) -> None:
        """It stays open because the answer was cut: its bracket goes, its text stays; of an image nothing stays."""
        frame = self.frames.pop(0)
        if not frame.image:
            pieces = "".join(frame.text)
            self._before(self._root, frame, pieces[:1], removed=True)
            self._root.add(pieces, "")
            self._root.take_in(frame)

    def close_as_text(self) -> None:
        """Brackets that cite nothing stay, escaped."""
        frame = self.frames.pop()
        parent = self.top
        self._before(parent, frame, "\\")
        opener = "!\\[" if frame.image else "\\["
        parent.add(f"{opener}{''.join(frame.text)}\\]", f"{opener}{''.join(frame.label)}\\]")
        parent.take_in(frame)
        self._last, self._solid = "]", True

    def close_reduced(self) -> None:
        """The brackets go, their content stays."""
        frame = self.frames.pop()
        parent = self.top
        parent.take_in(frame)
        parent.linked = True
        pieces = "".join(frame.text)
        if not pieces:
            self._gap, self._last, self._solid = True, frame.last, frame.solid
            return
        self._before(parent, frame, pieces[0], removed=True)
        parent.add(pieces, "".join(frame.label))
        self._gap = True
        if "\n" not in pieces:
            self._solid = True

    def discard(self) -> None:
        """Of an image, or a definition, nothing stays."""
        frame = self.frames.pop()
        self._gap, self._last, self._solid = True, frame.last, frame.solid

    def close_as_link(self, target: Article | str) -> None:
        frame = self.frames.pop()
        label = "".join(frame.label)
        if not label.strip(f" \t{INVISIBLE}"):
            label = escape_label(target if isinstance(target, str) else target.title)
        self._before(self.top, frame, "[")
        self.link([target], label, "".join(frame.label))
        self.top.linked = True

    def close_as_marker(self, articles: list[Article | str], label: str) -> None:
        """`label`: the marker's own words; titles are no Markdown."""
        frame = self.frames.pop()
        before = "\\!" if frame.image else ""
        self._before(self.top, frame, "\\" if before else "[")
        self.text(before)
        self.link(articles, label, f"\\[{label}\\]")

    def link(self, targets: list[Article | str], label: str, as_label: str) -> None:
        """One link for each target, side by side. An article without a page is named by its title instead."""
        parent = self.top
        parent.cited += [target.id for target in targets if isinstance(target, Article)]
        urls = [target if isinstance(target, str) else target.url for target in targets]
        links = " ".join(f"[{label}]({destination(url)})" for url in urls if url)
        if links:
            self.text(links, as_label)
            return
        titles = [target if isinstance(target, str) else target.title for target in targets]
        self.plain(escape_label(titles[0]), as_label)

    def plain(self, text: str, label: str) -> None:
        """Text that stands for a construct which is gone."""
        self._gap = True
        self.text(text, label)
        self._gap = True

    def _before(self, parent: Frame, frame: Frame, following: str, *, removed: bool = False) -> None:
        if (frame.gap or removed) and following and _joins(frame.last, frame.solid, following):
            parent.add(INVISIBLE, INVISIBLE)


def _joins(last: str, solid: bool, following: str) -> bool:
    """Whether two characters between which something was removed could become markup."""
    if not solid and following in STRUCTURE:
        return True
    return last in _JOINING and following not in (" ", "\t", "\n")
