"""Everything that one turn works with, from the question to its end."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence

import msgspec

from refdesk.assistant.history import Carried, carried_passages, linked_before
from refdesk.assistant.tools import Toolbox, passage_given
from refdesk.assistant.turn import Limits, Room
from refdesk.domain.articles import Roles
from refdesk.domain.conversation import Kind, StoredTurn, Turn, TurnTrail, Visitor
from refdesk.domain.trail import Trail
from refdesk.ports import Hit, Snapshot


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A valid request."""

    question: str
    visitor: Visitor
    conversation_id: str | None = None
    locale: str = ""
    page: dict[str, str] = {}
    idempotency: tuple[str, str] | None = None
    token_hash: bytes | None = None
    """Of the token that opens the visitor's session, where this question does; then it is stored with the question."""
    channel: str = ""
    """`widget` (a web page asked), `stream` or `json`; kept for the console."""
    request_id: str = ""
    """For the log and for the problem that a stream ends with."""


class TurnWork:
    """The state of a turn: one snapshot of the corpus, one trail, and what was gathered for the model."""

    def __init__(self, ask: Ask, turn: Turn, snapshot: Snapshot, earlier: Sequence[StoredTurn], limits: Limits) -> None:
        self.ask, self.turn, self.snapshot, self.earlier, self.limits = ask, turn, snapshot, list(earlier), limits
        self.roles: Roles = frozenset(ask.visitor.roles)
        self.nonce = secrets.token_hex(4)
        self.trail = Trail(calls=[], articles={}, linked_before=linked_before(earlier, snapshot, self.roles))
        self.room = Room(limits.input_tokens)
        self.toolbox = Toolbox(snapshot, self.roles, turn.language, self.trail, self.nonce, room=self.room.take)
        self.record = TurnTrail(generation=snapshot.generation, roles=tuple(sorted(self.roles)))
        self.carried: list[Carried] = []
        self.packed: list[Hit] = []
        self.found: list[Hit] = []
        """Everything the application's search found, packed or not: what suggestions are taken from."""
        self._began = time.perf_counter()

    @property
    def kind(self) -> Kind:
        return self.turn.kind

    def carry(self) -> None:
        """Supplies again what the last turns cited, as a call of the application's own."""
        self.carried = carried_passages(self.earlier, self.snapshot, self.roles)
        if self.carried:
            call = self.toolbox.begin("carry_over", {}, by="application")
            given = [(c.article, passage_given(c.article, c.passage, c.from_turn)) for c in self.carried]
            self.toolbox.record(call, given)

    def time(self, name: str, since: float | None = None) -> None:
        """Milliseconds since `since`, or since the turn began."""
        elapsed = time.perf_counter() - (self._began if since is None else since)
        self.record.timings[name] = round(elapsed * 1000, 2)
