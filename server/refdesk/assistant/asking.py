"""One question from beginning to end: who may see what, retrieve, gate, model loop, derive, store, send."""

from __future__ import annotations

import asyncio
import copy
import secrets
import time
from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from typing import Protocol

import msgspec
import structlog
from structlog.contextvars import bind_contextvars

from refdesk.assistant import outcome, prompts
from refdesk.assistant.draft import AnswerDraft
from refdesk.assistant.gathering import begin, gather, messages_for
from refdesk.assistant.guard import ModelGuard
from refdesk.assistant.links import new_resolver
from refdesk.assistant.phrases import phrase
from refdesk.assistant.replies import catalogue_reply, smalltalk_reply
from refdesk.assistant.runs import TurnRun, TurnRuns
from refdesk.assistant.turn import Limits, LoopEnd, TurnLoop
from refdesk.assistant.withholding import visible_turn
from refdesk.assistant.work import Ask, TurnWork
from refdesk.domain.articles import HelpCentre
from refdesk.domain.conversation import StoredTurn, Turn, TurnTrail
from refdesk.domain.events import Accepted, Step, StepArticle
from refdesk.domain.trail import Form, ToolCall, ToolReturn
from refdesk.errors import ModelFailure, RefdeskError, RequestError, StorageUnavailable, as_request_error
from refdesk.ports import ChatModel, Clock, Retriever, TurnRow
from refdesk.text.redaction import redact

log = structlog.get_logger()

EARLIER_TURNS = 10
STORE_PAUSES = (0.2, 0.4, 0.6)
"""Seconds between the tries to store the end of a turn, while its client waits."""
LONG_PAUSE = 2.0
"""Between those after the client was told; until then the conversation takes no other question."""


class TurnStore(Protocol):
    """What of the store a turn needs."""

    async def begin_turn(self, row: TurnRow) -> StoredTurn | None: ...
    async def finish_turn(self, turn: Turn, trail: TurnTrail) -> None: ...
    async def turns(self, conversation_id: str, *, last: int | None = None) -> list[StoredTurn]: ...


class Measure(Protocol):
    def __call__(self, turn: Turn, trail: TurnTrail, *, rehearsal: bool) -> None: ...


class Assistant:
    """Answers questions. `model` None: not configured, evidence only."""

    def __init__(
        self,
        *,
        retriever: Retriever,
        store: TurnStore,
        model: ChatModel | None,
        runs: TurnRuns,
        clock: Clock,
        limits: Limits,
        persona: str = "",
        redacting: bool = False,
        guard: ModelGuard | None = None,
        measure: Measure | None = None,
    ) -> None:
        """`redacting`: personal data in a question is masked before anything else is done with it. `measure` is told of
        every turn that has ended."""
        self._retriever, self._store, self._model, self._runs = retriever, store, model, runs
        self._clock, self._limits, self._persona, self._redacting = clock, limits, persona, redacting
        self._guard = guard or ModelGuard()
        self._measure, self._rehearsing = measure, False

    def beside(self, store: TurnStore, runs: TurnRuns) -> Assistant:
        """The same assistant on another store, for a turn that no visitor asked."""
        other = copy.copy(self)
        other._store, other._runs, other._rehearsing = store, runs, True
        return other

    def phrase(self, name: str, language: str, centre: HelpCentre) -> str:
        return phrase(name, language, centre)

    async def start(self, ask: Ask) -> TurnRun:
        """Stores the question, then lets the turn run as a task of the application. Raises RequestError."""
        with ExitStack() as place:
            if self._model is not None:
                place.callback(await self._guard.enter())
            return await self._start(ask, place)

    async def _start(self, ask: Ask, place: ExitStack) -> TurnRun:
        """`place`: the turn's among those that may ask the model; it is left once the model has been asked."""
        if self._runs.closing:
            raise RequestError(503, "stopping", "The server is stopping; try again.", retry_after=5)
        if self._redacting:
            ask = redacted(ask)
        turn = Turn(
            id="t_" + secrets.token_urlsafe(16),
            conversation_id=ask.conversation_id or "c_" + secrets.token_urlsafe(16),
            created_at=self._now(),
            question=ask.question,
        )
        row = TurnRow(
            turn_id=turn.id,
            conversation_id=turn.conversation_id,
            visitor_id=ask.visitor.id,
            question=turn.question,
            created_at=turn.created_at,
            new_conversation=ask.conversation_id is None,
            idempotency=ask.idempotency,
            newcomer=(ask.visitor, ask.token_hash) if ask.token_hash is not None else None,
        )
        roles = frozenset(ask.visitor.roles)
        before = await self._store.begin_turn(row)
        if before is not None:
            return ended_run(visible_turn(before, self._retriever.current(), roles))
        run = TurnRun(turn.id, turn.conversation_id, roles)
        run.emit("accepted", Accepted(turn.id, turn.conversation_id))
        return self._runs.start(run, partial(self._own, ask, turn, place.pop_all()))

    async def _own(self, ask: Ask, turn: Turn, place: ExitStack, run: TurnRun) -> None:
        """The whole life of a turn. Whatever happens it ends stored and with one last event."""
        bind_contextvars(turn_id=turn.id)
        payer = None if self._rehearsing else ask.visitor.id
        session = TurnSession(ask, turn, run, model=self._model, guard=self._guard, payer=payer, persona=self._persona)
        run.begun = True
        try:
            if run.stop_cause is not None:
                raise asyncio.CancelledError
            earlier = await self._earlier(ask)
            record = await session.answer(self._retriever, earlier, self._limits)
        except asyncio.CancelledError:
            record = session.stop()
        except Exception as error:
            record = self._failed(turn, run, error)
        finally:
            place.close()
        run.finishing = True
        record.channel, record.locale = ask.channel, ask.locale
        await self._finish(run, ask, turn, record)

    async def _earlier(self, ask: Ask) -> list[StoredTurn]:
        if ask.conversation_id is None:
            return []
        stored = await self._store.turns(ask.conversation_id, last=EARLIER_TURNS + 1)
        ended = [item for item in stored if item.turn.status != "running"][-EARLIER_TURNS:]
        return [redacted_turn(item) for item in ended] if self._redacting else ended

    def _failed(self, turn: Turn, run: TurnRun, error: Exception) -> TurnTrail:
        """A fault of ours is an error, never a refusal: nothing of it may look like an answer."""
        known = isinstance(error, RefdeskError)
        log.error("turn failed", error=type(error).__name__, exc_info=None if known else error)
        run.error = as_request_error(error)
        turn.status, turn.answer, turn.answer_html, turn.sources, turn.claims = "failed", "", "", (), ()
        return TurnTrail(reason="error")

    async def _finish(self, run: TurnRun, ask: Ask, turn: Turn, record: TurnTrail) -> None:
        """Stored first, then sent: a client never holds a turn that the store does not have. One that no database takes
        as it is ends as failed, for a turn that seemed to run would close its conversation."""
        try:
            stored = await self._stored(turn, record, STORE_PAUSES)
        except Exception as error:
            record = self._failed(turn, run, error)
            stored = await self._stored(turn, record, STORE_PAUSES)
        self._log(turn, record)
        if self._measure is not None:
            self._measure(turn, record, rehearsal=self._rehearsing)
        run.turn = turn
        if stored and run.error is None:
            run.emit_done(turn)
            return
        unstored = StorageUnavailable("the turn could not be stored")
        run.fail(run.error or as_request_error(unstored), ask.request_id)
        if not stored:
            await self._stored(turn, record, repeat(LONG_PAUSE))

    async def _stored(self, turn: Turn, record: TurnTrail, pauses: Iterable[float]) -> bool:
        """Tries once more after each pause; a server that is going down leaves the turn to the next start."""
        for pause in pauses:
            try:
                await self._store.finish_turn(turn, record)
                return True
            except StorageUnavailable as error:
                log.error("turn not stored", error=str(error))
            if self._runs.closing:
                break
            await asyncio.sleep(pause)
        return False

    def _log(self, turn: Turn, record: TurnTrail) -> None:
        """The validation record: ids, versions, verdicts, reasons, timings, tokens; no text of anybody."""
        log.info(
            "turn",
            conversation_id=turn.conversation_id,
            kind=turn.kind,
            language=turn.language,
            status=turn.status,
            grounded=turn.grounded,
            verification=turn.verification,
            truncated=turn.truncated,
            model_error=turn.model_error,
            reason=record.reason,
            gap_cause=record.gap_cause,
            sources=[{"id": s.id, "version": s.version, "basis": s.basis, "show": s.show} for s in turn.sources],
            claims=[{"source_id": c.source_id, "kind": c.kind, "match": c.match} for c in turn.claims],
            claims_rejected=[{"source_id": short(c.source_id), "kind": short(c.kind)} for c in record.claims_rejected],
            links_dropped=len(record.links_dropped),
            generation=record.generation,
            signals=record.signals,
            model=record.usage.model,
            model_calls=record.usage.calls,
            tokens={"input": record.usage.input_tokens, "output": record.usage.output_tokens,
                    "cache_read": record.usage.cache_read_tokens, "cache_write": record.usage.cache_write_tokens},
            timings=record.timings,
        )  # fmt: skip

    def _now(self) -> str:
        moment = datetime.fromtimestamp(self._clock.now(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class TurnSession:
    """One turn while it runs: what must be known to end it well at any moment."""

    def __init__(
        self,
        ask: Ask,
        turn: Turn,
        run: TurnRun,
        *,
        model: ChatModel | None,
        guard: ModelGuard,
        payer: str | None,
        persona: str,
    ) -> None:
        """`payer`: the visitor whose cap on spending holds; None: nobody's."""
        self._ask, self._turn, self._run = ask, turn, run
        self._model, self._guard, self._payer, self._persona = model, guard, payer, persona
        self._work: TurnWork | None = None
        self._loop: TurnLoop | None = None

    async def answer(self, retriever: Retriever, earlier: list[StoredTurn], limits: Limits) -> TurnTrail:
        deadline = asyncio.get_running_loop().time() + limits.seconds
        snapshot = retriever.current()
        work, seen = begin(self._ask, self._turn, snapshot, earlier, limits)
        self._work = work
        if work.kind == "question":
            decision = await gather(work, seen)
            _tell_step(self._run, work, work.trail.calls[-1])
            if not decision.passes:
                outcome.finish_refusal(work, decision.reason or "low_coverage")
                return work.record
        if self._model is None:
            self._without_model(work, "not_configured")
        else:
            await self._with_model(work, self._model, deadline)
        return work.record

    async def _with_model(self, work: TurnWork, model: ChatModel, deadline: float) -> None:
        try:
            with self._guard.turn(model, self._payer) as guarded:
                end = await self._ask_model(work, guarded, deadline)
                guarded.end(end.failure, asked=work.record.usage.calls > 0)
        except ModelFailure as failure:  # it is not to be asked now
            end = LoopEnd(failure=failure)
        self._conclude(work, end)

    async def _ask_model(self, work: TurnWork, model: ChatModel, deadline: float) -> LoopEnd:
        system, began = prompts.system_prompt(work.snapshot.centre, self._persona), time.perf_counter()
        loop = self._loop = TurnLoop(
            model,
            work.toolbox,
            work.limits,
            deadline=deadline,
            new_draft=partial(_new_draft, self._run, work),
            on_tool=partial(_tell_step, self._run, work),
        )
        end = await loop.run(system, messages_for(work, system))
        work.record.usage = loop.usage
        work.time("model_ms", began)
        return end

    def _conclude(self, work: TurnWork, end: LoopEnd) -> None:
        work.turn.truncated = end.truncated
        if end.failure is not None:
            self._without_model(work, end.failure.kind)
        elif end.draft is not None and end.draft.withheld:
            outcome.finish_evidence(work, "unverified", end.draft)
        elif end.draft is not None:
            outcome.finish_answer(work, end.draft, end)

    def _without_model(self, work: TurnWork, model_error: str) -> None:
        """Small talk and the catalogue need no model; anything else gets evidence, marked as not an answer."""
        turn, centre = work.turn, work.snapshot.centre
        if turn.kind == "smalltalk":
            reply = smalltalk_reply(turn.question, turn.language, centre)
            self._run.delta(reply)
            outcome.finish_fixed(work, reply, [])
        elif turn.kind == "catalogue":
            self._catalogue(work)
        else:
            outcome.finish_evidence(work, model_error, self._loop.draft if self._loop else None)

    def _catalogue(self, work: TurnWork) -> None:
        """The application lists the titles itself, through the same trail and the same resolver as a model's answer."""
        listed = work.snapshot.articles(work.roles, language=work.turn.language)
        call = work.toolbox.begin("list_articles", {}, by="application")
        work.toolbox.record(call, [(a, ToolReturn(article_id=a.id, form=Form.TITLE)) for a in listed])
        resolver = new_resolver(work)
        text = resolver.feed(catalogue_reply(listed, work.turn.language, work.snapshot.centre))
        text += resolver.finish()
        self._run.delta(text)
        outcome.finish_fixed(work, text, resolver.citations)

    def stop(self) -> TurnTrail:
        """The visitor stopped the turn, or the server is going down."""
        cause = self._run.stop_cause or "interrupted"
        if self._work is None:
            self._turn.status = cause
            return TurnTrail()
        outcome.finish_stopped(self._work, self._loop.draft if self._loop else None, cause)
        if self._loop is not None:
            self._work.record.usage = self._loop.usage
        return self._work.record


# Not methods: a loop that knew its session would keep every turn, in a cycle, until garbage is looked for.


def _new_draft(run: TurnRun, work: TurnWork, stated_before: bool) -> AnswerDraft:
    show = partial(_show, run, work)
    return AnswerDraft(work.trail, partial(new_resolver, work), show, stated_before=stated_before)


def _show(run: TurnRun, work: TurnWork, text: str) -> None:
    if text and not run.sent:
        work.time("first_word_ms")
    run.delta(text)


def _tell_step(run: TurnRun, work: TurnWork, call: ToolCall) -> None:
    """What is searched or read, as the visitor may see it; a call that failed has found nothing to tell of."""
    if call.error is not None:
        return
    articles = work.trail.articles
    found = {
        given.article_id: StepArticle(given.article_id, articles[given.article_id].title, given.form.label)
        for given in call.returns
    }
    run.emit("step", Step(call.tool, call.input, tuple(found.values())))


def redacted(ask: Ask) -> Ask:
    page = {name: redact(text) for name, text in ask.page.items()}
    return msgspec.structs.replace(ask, question=redact(ask.question), page=page)


def redacted_turn(stored: StoredTurn) -> StoredTurn:
    """A question that was stored before personal data was masked."""
    turn = msgspec.structs.replace(stored.turn, question=redact(stored.turn.question))
    return StoredTurn(turn=turn, trail=stored.trail)


def ended_run(turn: Turn) -> TurnRun:
    """A turn that was answered before, as a run that has ended: for a repeated Idempotency-Key."""
    run = TurnRun(turn.id, turn.conversation_id)
    run.emit("accepted", Accepted(turn.id, turn.conversation_id))
    run.turn = turn
    run.emit_done(turn)
    return run


def short(text: str | None) -> str | None:
    return text if text is None else text[:80]
