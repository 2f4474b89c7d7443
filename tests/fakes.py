"""In-memory stand-ins for the ports. Each passes the same contract suite as the real adapter."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from datetime import datetime, timedelta

from refdesk.domain.conversation import Conversation, Feedback, StoredTurn, Turn, TurnTrail, Visitor
from refdesk.errors import RequestError, StorageUnavailable
from refdesk.ports import TurnRow


class MemoryStore:
    """ConversationStore. Set `down` to make every call raise StorageUnavailable."""

    def __init__(self) -> None:
        self.down = False
        self.visitors: dict[str, Visitor] = {}
        self.tokens: dict[bytes, Visitor] = {}
        self.conversations: dict[str, Conversation] = {}
        self.stored: dict[str, StoredTurn] = {}
        self.keys: dict[tuple[str, str], tuple[str, str, str]] = {}
        self.stops: set[str] = set()

    async def add_visitor(self, visitor: Visitor, token_hash: bytes, created_at: str) -> None:
        self._answer()
        self.visitors[visitor.id] = visitor
        self.tokens[token_hash] = visitor

    async def visitor_by_token(self, token_hash: bytes, *, now: str) -> Visitor | None:
        self._answer()
        return self.tokens.get(token_hash)

    async def begin_turn(self, row: TurnRow) -> StoredTurn | None:
        self._answer()
        self._check_text(row.question)
        earlier = self._earlier(row)
        if earlier is not None:
            return earlier
        self._check_conversation(row)
        if row.newcomer is not None:
            await self.add_visitor(*row.newcomer, row.created_at)
        conversation = Conversation(id=row.conversation_id, visitor_id=row.visitor_id, created_at=row.created_at)
        self.conversations.setdefault(row.conversation_id, conversation)
        turn = Turn(
            id=row.turn_id, conversation_id=row.conversation_id, created_at=row.created_at, question=row.question
        )
        self.stored[row.turn_id] = StoredTurn(turn=turn, trail=TurnTrail())
        if row.idempotency is not None:
            key, body = row.idempotency
            self.keys[row.visitor_id, key] = (body, row.turn_id, row.created_at)
        return None

    async def finish_turn(self, turn: Turn, trail: TurnTrail) -> None:
        self._answer()
        if turn.id in self.stored:
            self.stored[turn.id] = copy.deepcopy(StoredTurn(turn=turn, trail=trail))

    async def turn(self, turn_id: str, visitor_id: str | None) -> StoredTurn | None:
        self._answer()
        stored = self.stored.get(turn_id)
        if stored is None or await self.conversation(stored.turn.conversation_id, visitor_id) is None:
            return None
        return copy.deepcopy(stored)

    async def conversation(self, conversation_id: str, visitor_id: str | None) -> Conversation | None:
        self._answer()
        found = self.conversations.get(conversation_id)
        return found if found is not None and visitor_id in (None, found.visitor_id) else None

    async def turns(self, conversation_id: str, *, last: int | None = None) -> list[StoredTurn]:
        self._answer()
        found = [stored for stored in self.stored.values() if stored.turn.conversation_id == conversation_id]
        return copy.deepcopy(found if last is None else found[len(found) - min(last, len(found)) :])

    async def request_stop(self, turn_id: str, visitor_id: str) -> bool:
        if await self.turn(turn_id, visitor_id) is None:
            return False
        self.stops.add(turn_id)
        return True

    async def to_stop(self, turn_ids: Sequence[str]) -> list[str]:
        self._answer()
        return [turn_id for turn_id in turn_ids if turn_id in self.stops or turn_id not in self.stored]

    async def set_feedback(self, turn_id: str, visitor_id: str, feedback: Feedback) -> bool:
        if await self.turn(turn_id, visitor_id) is None:
            return False
        self.stored[turn_id].turn.feedback = feedback
        return True

    async def delete_conversation(self, conversation_id: str, visitor_id: str) -> bool:
        if await self.conversation(conversation_id, visitor_id) is None:
            return False
        del self.conversations[conversation_id]
        self.stored = {id: kept for id, kept in self.stored.items() if kept.turn.conversation_id != conversation_id}
        self.keys = {key: kept for key, kept in self.keys.items() if kept[1] in self.stored}
        return True

    async def interrupt_running(self) -> int:
        self._answer()
        running = [stored for stored in self.stored.values() if stored.turn.status == "running"]
        for stored in running:
            stored.turn.status = "interrupted"
        return len(running)

    async def ping(self) -> None:
        self._answer()

    async def close(self) -> None:
        self.down = True

    def _answer(self) -> None:
        if self.down:
            raise StorageUnavailable("database: switched off")

    def _check_text(self, question: str) -> None:
        if "\0" in question or any("\ud800" <= character <= "\udfff" for character in question):
            raise RequestError(400, "invalid_text", "question: NUL and lone surrogates are not text", field="question")

    def _earlier(self, row: TurnRow) -> StoredTurn | None:
        key = row.idempotency and (row.visitor_id, row.idempotency[0])
        if not key or key not in self.keys or row.idempotency is None:
            return None
        body, turn_id, since = self.keys[key]
        if datetime.fromisoformat(row.created_at) - datetime.fromisoformat(since) >= timedelta(hours=24):
            return None
        if body != row.idempotency[1]:
            raise RequestError(422, "idempotency_mismatch", "Idempotency-Key was used with another body")
        if self.stored[turn_id].turn.status == "running":
            raise RequestError(409, "idempotency_running", "still running", retry_after=2)
        return copy.deepcopy(self.stored[turn_id])

    def _check_conversation(self, row: TurnRow) -> None:
        known = self.conversations.get(row.conversation_id)
        stranger = row.visitor_id not in self.visitors and row.newcomer is None
        if stranger or (known is None) != row.new_conversation:
            raise RequestError(404, "conversation_not_found", "there is no such conversation")
        if known is not None and known.visitor_id != row.visitor_id:
            raise RequestError(404, "conversation_not_found", "there is no such conversation")
        turns = [stored.turn for stored in self.stored.values() if stored.turn.conversation_id == row.conversation_id]
        if any(turn.status == "running" for turn in turns):
            raise RequestError(409, "turn_running", "still being answered", retry_after=2)
