"""What the commands print: readable text, colours and progress only where a terminal shows them."""

from __future__ import annotations

import re
from typing import TextIO

from rich.console import Console
from rich.progress import Progress as Bar
from rich.progress import TaskID
from rich.text import Text

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Terminal:
    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = Console(file=out, highlight=False, soft_wrap=True)
        self._err = Console(file=err, highlight=False, soft_wrap=True)
        self._raw = out
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def line(self, text: str = "", style: str = "") -> None:
        """Text of articles and visitors goes out as text: no markup, no control characters of a terminal."""
        self._out.print(Text(CONTROL.sub("", text), style=style))

    def data(self, text: str) -> None:
        """Output for other programs: exactly this and a line end."""
        self._raw.write(text + "\n")

    def note(self, text: str) -> None:
        """What a person wants to know and a program that reads the output does not."""
        self._err.print(Text(CONTROL.sub("", text)))

    def warn(self, text: str) -> None:
        self._err.print(Text(f"warning: {CONTROL.sub('', text)}", style="yellow"))

    def error(self, text: str) -> None:
        self._err.print(Text(f"error: {CONTROL.sub('', text)}", style="red"))

    def progress(self, done: int, total: int, what: str) -> None:
        """A bar on a terminal, nothing elsewhere; it goes when the work is done."""
        if not self._err.is_terminal:
            return
        if self._bar is None:
            self._bar = Bar(console=self._err, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(what, total=total)
        assert self._task is not None
        self._bar.update(self._task, completed=done, total=total, description=what)
        if done >= total:
            self._bar.stop()
            self._bar = self._task = None
