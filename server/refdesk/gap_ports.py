"""What the docs-gap queue needs of the outside, beside ports.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from refdesk.domain.console import Note
from refdesk.domain.gap_queue import (
    Answer,
    ArticleCount,
    Asked,
    Fresh,
    GapChange,
    GapEvent,
    GapFilter,
    GapPage,
    GapRow,
    Happened,
    InQueue,
    OutboxItem,
    Pile,
    Regrouping,
    Unanswered,
)


class GapStore(Protocol):
    """Raises StorageUnavailable when the database is down. An id that was merged away stands for the gap it went to."""

    async def fresh(self, limit: int) -> list[Fresh]:
        """Turns that ended as what may be a gap and that `take_in` has not had yet, oldest first."""

    async def take_in(self, seqs: Sequence[int], questions: Sequence[Unanswered]) -> None:
        """The turns are looked at: once only, also where two servers try."""

    async def version(self) -> int:
        """Changes with everything that is done to gaps and to their questions."""

    async def pile(self, limit: int) -> Pile:
        """The wordings asked last, at most `limit`, and with them all that have no gap yet."""

    async def regroup(self, regrouping: Regrouping) -> list[Happened] | None:
        """Puts the wordings into their gaps, reopens what was done and is asked again, and tidies up what is empty.
        None, with nothing done: gaps have changed since the version."""

    async def gaps(self, wanted: GapFilter, *, cursor: str | None = None, limit: int = 50) -> GapPage:
        """Most distinct visitors first, then the one asked last. Raises RequestError 400 `invalid_cursor`."""

    async def gap(self, gap_id: str) -> GapRow | None: ...
    async def asked(self, gap_ids: Sequence[str]) -> dict[str, list[Asked]]:
        """The questions of gaps, the newest first, by gap; with their text, whoever may see it."""

    async def in_queue(self, conversation_id: str) -> dict[str, InQueue]:
        """Its turns that are questions of gaps, by id."""

    async def notes(self, gap_id: str) -> list[Note]: ...
    async def history(self, gap_id: str) -> list[GapEvent]: ...
    async def change_gap(self, gap_id: str, change: GapChange, *, actor: str, at: str) -> bool:
        """False: there is no such gap."""

    async def merge_gaps(self, into: str, others: Sequence[str], *, actor: str, at: str) -> bool:
        """False: one of them does not exist."""

    async def split_gap(self, gap_id: str, turn_ids: Sequence[str], new_id: str, *, actor: str, at: str) -> str | None:
        """Whole wordings go; the new gap's id. None: no such gap, none of these questions is in it, or all are."""

    async def set_answer(self, gap_id: str, answer: Answer | None, *, close: bool, at: str) -> bool:
        """An article that answers it today. `close`: and so it is done."""

    async def add_event(self, happened: Happened) -> None:
        """For the webhook; one that is there already is not added again."""

    async def due_events(self, *, now: str, limit: int) -> list[OutboxItem]: ...
    async def events_waiting(self) -> int:
        """Events that are neither delivered nor given up."""

    async def event_tried(self, seq: int, *, delivered_at: str | None, due_at: str | None) -> None:
        """`due_at` None where it was not delivered: given up."""

    async def article_totals(self, *, since: str, until: str) -> list[ArticleCount]:
        """Of every article that was found, one for each language: the sums of the days, both included (`day` is "")."""

    async def never_cited(self, *, since: str, until: str, least: int, limit: int) -> list[tuple[str, int]]:
        """Articles that turns opened at least so often without ever citing them, and how often; most often first."""

    async def article_counts(self, article_id: str, *, since: str, until: str) -> list[ArticleCount]:
        """Of one article by day and language, in order."""

    async def checked(self) -> str:
        """What `set_checked` was told last: with which articles gaps were checked; "" at first."""

    async def set_checked(self, state: str) -> None: ...
