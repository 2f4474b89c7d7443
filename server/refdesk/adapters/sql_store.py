"""ConversationStore on SQLAlchemy Core, for SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, text

from refdesk.adapters import sql_purge, sql_turns, sql_visitors
from refdesk.adapters.sql_database import Database
from refdesk.domain.conversation import Conversation, Feedback, StoredTurn, Turn, TurnTrail, Visitor
from refdesk.ports import TurnRow


class SqlStore:
    def __init__(self, database: Database) -> None:
        self.database = database

    async def add_visitor(self, visitor: Visitor, token_hash: bytes, created_at: str) -> None:
        await self.database.write(
            partial(sql_visitors.add, visitor=visitor, token_hash=token_hash, created_at=created_at)
        )

    async def visitor_by_token(self, token_hash: bytes, *, now: str) -> Visitor | None:
        return await self.database.read(partial(sql_visitors.by_token, token_hash=token_hash, now=now))

    async def begin_turn(self, row: TurnRow) -> StoredTurn | None:
        return await self.database.write(partial(sql_turns.begin, row=row, server_id=self.database.server_id))

    async def finish_turn(self, turn: Turn, trail: TurnTrail) -> None:
        await self.database.write(partial(sql_turns.finish, turn=turn, trail=trail))

    async def turn(self, turn_id: str, visitor_id: str | None) -> StoredTurn | None:
        return await self.database.read(partial(sql_turns.one, turn_id=turn_id, visitor_id=visitor_id))

    async def conversation(self, conversation_id: str, visitor_id: str | None) -> Conversation | None:
        job = partial(sql_turns.conversation, conversation_id=conversation_id, visitor_id=visitor_id)
        return await self.database.read(job)

    async def turns(self, conversation_id: str, *, last: int | None = None) -> list[StoredTurn]:
        return await self.database.read(partial(sql_turns.of_conversation, conversation_id=conversation_id, last=last))

    async def request_stop(self, turn_id: str, visitor_id: str) -> bool:
        return await self.database.write(partial(sql_turns.request_stop, turn_id=turn_id, visitor_id=visitor_id))

    async def to_stop(self, turn_ids: Sequence[str]) -> list[str]:
        return await self.database.read(partial(sql_turns.to_stop, turn_ids=turn_ids))

    async def set_feedback(self, turn_id: str, visitor_id: str, feedback: Feedback) -> bool:
        job = partial(sql_turns.rate, turn_id=turn_id, visitor_id=visitor_id, feedback=feedback)
        return await self.database.write(job)

    async def delete_conversation(self, conversation_id: str, visitor_id: str) -> bool:
        def job(connection: Connection) -> bool:
            deleted = sql_turns.delete_conversation(connection, conversation_id, visitor_id)
            if deleted:
                sql_purge.mark(connection)
            return deleted

        deleted = await self.database.write(job)
        if deleted:
            self.database.forget_deleted()
        return deleted

    async def interrupt_running(self) -> int:
        return await self.database.interrupt_running()

    async def ping(self) -> None:
        await self.database.read(lambda connection: connection.execute(text("SELECT 1")).scalar())

    async def close(self) -> None:
        await self.database.close()
