"""A turn that nobody but the asker sees: today's articles and model, what came before it, no log."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.assistant.asking import Assistant
from refdesk.assistant.runs import TurnRuns
from refdesk.assistant.work import Ask
from refdesk.domain.conversation import StoredTurn, Turn, TurnTrail, Visitor
from refdesk.errors import RequestError
from refdesk.ports import TurnRow

CONVERSATION = "c_rehearsal"
VISITOR = "v_rehearsal"


class Stage:
    """What the assistant needs of a store, for one turn."""

    def __init__(self, earlier: Sequence[StoredTurn]) -> None:
        self._earlier = list(earlier)
        self.outcome: StoredTurn | None = None

    async def begin_turn(self, row: TurnRow) -> StoredTurn | None:
        return None

    async def finish_turn(self, turn: Turn, trail: TurnTrail) -> None:
        self.outcome = StoredTurn(turn=turn, trail=trail)

    async def turns(self, conversation_id: str, *, last: int | None = None) -> list[StoredTurn]:
        return self._earlier if last is None else self._earlier[-last:]


async def rehearse(
    assistant: Assistant,
    question: str,
    roles: Sequence[str],
    *,
    earlier: Sequence[StoredTurn] = (),
    locale: str = "",
) -> StoredTurn:
    """The turn as it would be now for a visitor of these roles. Ends with its caller. Raises RequestError."""
    stage, runs = Stage(earlier), TurnRuns()
    asked = Ask(
        question=question,
        visitor=Visitor(id=VISITOR, roles=tuple(roles)),
        conversation_id=CONVERSATION if earlier else None,
        locale=locale,
        channel="rehearsal",
    )
    try:
        run = await assistant.beside(stage, runs).start(asked)
        await run.finished()
    finally:
        await runs.close(patience=0.0)
    if run.error is not None:
        raise run.error
    if stage.outcome is None:
        raise RequestError(503, "stopping", "The server is stopping; try again.", retry_after=5)
    return stage.outcome
