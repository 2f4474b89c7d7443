"""GapStore on SQLAlchemy Core, for SQLite and PostgreSQL; beside SqlStore on the same database."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from refdesk.adapters import sql_article_days, sql_gap_edits, sql_gap_intake, sql_gap_queue, sql_outbox
from refdesk.adapters.sql_database import Database
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


class SqlGaps:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def fresh(self, limit: int) -> list[Fresh]:
        return await self.database.read(partial(sql_gap_intake.fresh, limit=limit))

    async def take_in(self, seqs: Sequence[int], questions: Sequence[Unanswered]) -> None:
        await self.database.write(partial(sql_gap_intake.take_in, seqs=seqs, questions=questions))

    async def version(self) -> int:
        return await self.database.read(sql_gap_intake.version)

    async def pile(self, limit: int) -> Pile:
        return await self.database.read(partial(sql_gap_intake.pile, limit=limit))

    async def regroup(self, regrouping: Regrouping) -> list[Happened] | None:
        return await self.database.write(partial(sql_gap_intake.regroup, regrouping=regrouping))

    async def gaps(self, wanted: GapFilter, *, cursor: str | None = None, limit: int = 50) -> GapPage:
        return await self.database.read(partial(sql_gap_queue.page, wanted=wanted, cursor=cursor, limit=limit))

    async def gap(self, gap_id: str) -> GapRow | None:
        return await self.database.read(partial(sql_gap_queue.one, gap_id=gap_id))

    async def asked(self, gap_ids: Sequence[str]) -> dict[str, list[Asked]]:
        return await self.database.read(partial(sql_gap_queue.asked, gap_ids=gap_ids))

    async def in_queue(self, conversation_id: str) -> dict[str, InQueue]:
        return await self.database.read(partial(sql_gap_queue.in_queue, conversation_id=conversation_id))

    async def notes(self, gap_id: str) -> list[Note]:
        return await self.database.read(partial(sql_gap_queue.notes, gap_id=gap_id))

    async def history(self, gap_id: str) -> list[GapEvent]:
        return await self.database.read(partial(sql_gap_queue.history, gap_id=gap_id))

    async def change_gap(self, gap_id: str, change: GapChange, *, actor: str, at: str) -> bool:
        return await self.database.write(
            partial(sql_gap_edits.change, gap_id=gap_id, change=change, actor=actor, at=at)
        )

    async def merge_gaps(self, into: str, others: Sequence[str], *, actor: str, at: str) -> bool:
        return await self.database.write(partial(sql_gap_edits.merge, into=into, others=others, actor=actor, at=at))

    async def split_gap(self, gap_id: str, turn_ids: Sequence[str], new_id: str, *, actor: str, at: str) -> str | None:
        job = partial(sql_gap_edits.split, gap_id=gap_id, turn_ids=turn_ids, new_id=new_id)
        return await self.database.write(partial(job, actor=actor, at=at))

    async def set_answer(self, gap_id: str, answer: Answer | None, *, close: bool, at: str) -> bool:
        job = partial(sql_gap_edits.set_answer, gap_id=gap_id, answer=answer, close=close, at=at)
        return await self.database.write(job)

    async def add_event(self, happened: Happened) -> None:
        await self.database.write(partial(sql_outbox.add, happened=happened))

    async def due_events(self, *, now: str, limit: int) -> list[OutboxItem]:
        return await self.database.read(partial(sql_outbox.due, now=now, limit=limit))

    async def events_waiting(self) -> int:
        return await self.database.read(sql_outbox.waiting)

    async def event_tried(self, seq: int, *, delivered_at: str | None, due_at: str | None) -> None:
        await self.database.write(partial(sql_outbox.tried, seq=seq, delivered_at=delivered_at, due_at=due_at))

    async def article_totals(self, *, since: str, until: str) -> list[ArticleCount]:
        return await self.database.read(partial(sql_article_days.totals, since=since, until=until))

    async def never_cited(self, *, since: str, until: str, least: int, limit: int) -> list[tuple[str, int]]:
        job = partial(sql_article_days.never_cited, since=since, until=until, least=least, limit=limit)
        return await self.database.read(job)

    async def article_counts(self, article_id: str, *, since: str, until: str) -> list[ArticleCount]:
        job = partial(sql_article_days.of_article, article_id=article_id, since=since, until=until)
        return await self.database.read(job)

    async def checked(self) -> str:
        return await self.database.read(sql_gap_intake.checked)

    async def set_checked(self, state: str) -> None:
        await self.database.write(partial(sql_gap_intake.set_checked, state=state))
