"""Log lines in the form that was asked for: one event a line to stderr, whoever tells it, in JSON one object a line.

No line holds what a visitor wrote. What Refdesk logs on purpose is ids and verdicts; an exception that nobody foresaw
is told by its kind, its places in the code, and its message without whatever stands in quotation marks there, for that
is where the values are (`KeyError: 'where is my order'`).
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, ExcInfo

log = structlog.get_logger()

MESSAGE = 300
"""Characters of an exception's message at most."""
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|`[^`]*`|['\"`].*", re.DOTALL)
"""A quoted value; one whose end is missing reaches to the end."""


class LossyStream:
    """A stream that loses lines rather than raise: a disk that is full, or a reader that has gone, ends no turn. A line
    that found room for its beginning only is ended before the next one."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._cut = stream, False
        try:
            self._descriptor: int | None = stream.fileno()
        except (OSError, ValueError):
            self._descriptor = None

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            if self._descriptor is None:
                return self._stream.write(text)
            data = ("\n" * self._cut + text).encode("utf-8", "backslashreplace")
            self._cut = os.write(self._descriptor, data) < len(data)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._stream.flush()


def without_values(message: str) -> str:
    return " ".join(QUOTED.sub("'…'", message[: 10 * MESSAGE]).split())[:MESSAGE]


def configure_logging(form: str, level: int = logging.INFO) -> None:
    """`form`: json or console. Everything goes through structlog: the standard library's loggers and warnings, and what
    ends a thread or the process."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    stream: Any = LossyStream(sys.stderr)
    if form == "json":
        # local variables of a traceback would carry visitors' words into the log
        frames = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        exceptions = structlog.processors.ExceptionRenderer(frames)
        final: list[Any] = [exceptions, masked, structlog.processors.JSONRenderer()]
    else:
        colors = sys.stderr.isatty()
        console = structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=told, repr_native_str=True)
        final = [console]
    structlog.configure(
        processors=[*shared, *final],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *final]
    )
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.WARNING)  # a library told to be verbose would log what visitors wrote
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    if form == "json":
        logging.captureWarnings(True)
        sys.excepthook = end_of_process
        threading.excepthook = end_of_thread


def masked(_: Any, __: str, event: EventDict) -> EventDict:
    """The exception of a JSON line."""
    for told_one in event.get("exception", ()):
        told_one["exc_value"] = without_values(told_one["exc_value"])
        told_one["exc_notes"], told_one["syntax_error"] = [], None
    return event


def told(out: TextIO, raised: ExcInfo) -> None:
    """The exception of a line for people: its chain from the bottom, each with its places in the code."""
    chain: list[BaseException] = []
    error: BaseException | None = raised[1]
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for error in reversed(chain):
        out.write("".join(traceback.format_tb(error.__traceback__)))
        out.write(f"{type(error).__name__}: {without_values(str(error))}\n")


def end_of_process(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    log.critical("ended by an error", error=kind.__name__, exc_info=(kind, error, trace))


def end_of_thread(ended: threading.ExceptHookArgs) -> None:
    trace = (ended.exc_type, ended.exc_value, ended.exc_traceback)
    log.error("thread ended by an error", error=ended.exc_type.__name__, exc_info=trace)
