"""Runs the queue in the background: no turn waits for it, none fails with it, and what a restart left undone is done
after it, since the database knows which turns nobody has looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime

import structlog

from refdesk.api.console_turn import everybody
from refdesk.assistant.asking import Assistant
from refdesk.assistant.gap_drafting import drafted
from refdesk.domain.gap_draft import headings, outline
from refdesk.domain.gap_grouping import grouped
from refdesk.domain.gap_ids import Member, named
from refdesk.domain.gap_queue import GapFilter, Pile, PiledWording, Regrouping
from refdesk.domain.gap_view import GapView
from refdesk.domain.gap_wordings import Wording
from refdesk.domain.gaps import is_unanswered
from refdesk.errors import CorpusError, DenseUnavailable, ModelFailure, StorageUnavailable
from refdesk.gap_ports import GapStore
from refdesk.gaps.assessing import unanswered
from refdesk.gaps.checking import answered_by
from refdesk.gaps.encoding import Embedders, Encoding
from refdesk.gaps.telling import Receiver, deliver_due
from refdesk.ports import ChatModel, Clock, Retriever
from refdesk.settings import Settings

log = structlog.get_logger()

BATCH = 100
"""Turns looked at together."""
PILE = 2_000
"""Wordings that are grouped together, those asked last."""
LOOK_EVERY_S = 1.0
REST = 5.0
"""Times as long as the last grouping took that the next one waits: at most a sixth of a core."""
AFTER_FAULT_S = 10.0


class GapService:
    """Also what the console asks of it."""

    def __init__(
        self,
        *,
        store: GapStore,
        retriever: Retriever,
        clock: Clock,
        settings: Settings,
        assistant: Assistant,
        model: ChatModel | None,
        embedders: Callable[[], Embedders],
        waiting: Callable[[], bool],
        webhook: Receiver | None = None,
    ) -> None:
        """`waiting`: whether encoders are still being loaded, so that grouping by words only would be too early."""
        self.store, self._retriever, self._clock, self._settings = store, retriever, clock, settings
        self._assistant, self._model, self._waiting = assistant, model, waiting
        self._encoding = Encoding(embedders)
        self._webhook = webhook
        self._wanted = asyncio.Event()
        self._grouped_version = -1

    def wake(self) -> None:
        """Something was done to gaps."""
        self._wanted.set()

    @property
    def tells(self) -> bool:
        return self._webhook is not None

    async def run(self) -> None:
        """For ever; a fault is logged and tried again."""
        rest = 0.0
        jobs = (self.look, self.group, self.check, self.tell)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), LOOK_EVERY_S + rest)
            self._wanted.clear()
            began, rest = self._clock.monotonic(), 0.0
            for job in jobs:
                try:
                    await job()
                except (StorageUnavailable, CorpusError) as error:
                    log.warning("docs gaps wait", job=job.__name__, error=str(error))
                    rest = AFTER_FAULT_S
                except Exception as error:
                    log.error("docs gaps failed", job=job.__name__, error=type(error).__name__, exc_info=error)
                    rest = AFTER_FAULT_S
            rest = min(60.0, max(rest, REST * (self._clock.monotonic() - began)))

    # --- turns ---

    async def look(self) -> None:
        """At every turn that ended without an answer, once."""
        while batch := await self.store.fresh(BATCH):
            snapshot = self._retriever.current()
            questions = []
            for fresh in batch:
                if is_unanswered(fresh.stored.turn, fresh.visitor_id):  # turns of an older version are not marked yet
                    questions.append(await unanswered(fresh, snapshot))
                await asyncio.sleep(0)
            await self.store.take_in([fresh.seq for fresh in batch], questions)
            if len(batch) < BATCH:
                return

    # --- groups ---

    async def group(self) -> None:
        if self._waiting():
            return
        if await self.store.version() == self._grouped_version:
            return
        pile = await self.store.pile(PILE)
        if pile.wordings:
            try:
                gaps = await asyncio.to_thread(self._regrouped, pile)
            except asyncio.CancelledError:
                self._encoding.stop()  # a server that ends waits for its threads
                raise
            at = self.now()
            if await self.store.regroup(Regrouping(pile.version, gaps, at, announce=self.tells)) is None:
                self._wanted.set()
                return
        self._grouped_version = pile.version + 1 if pile.wordings else pile.version

    def _regrouped(self, pile: Pile) -> dict[str, str]:
        """For each wording its gap. Blocking."""
        found = [Wording.of(piled.question, piled.language) for piled in pile.wordings]
        try:
            encoded = self._encoding.encoded(
                [piled.question for piled in pile.wordings], [wording.language for wording in found]
            )
        except DenseUnavailable as error:
            log.warning("gaps are grouped by words only", reason=str(error)[:200])
            encoded = None
        members = [member(piled, stays=encoded is None) for piled in pile.wordings]
        owners, visitors = [known.owner for known in members], [known.weight for known in members]
        groups = grouped(found, encoded, owners, visitors)
        names = named(groups, members)
        return {piled.wording: name for piled, name in zip(pile.wordings, names, strict=True)}

    # --- checking again ---

    async def check(self) -> None:
        """After a sync, and once more when search by meaning has come."""
        state = f"{self._retriever.current().generation} {'words' if self._waiting() else 'all'}"
        if await self.store.checked() != state:
            await self.recheck()
            await self.store.set_checked(state)

    async def recheck(self, gap_ids: Sequence[str] | None = None) -> int:
        """Returns how many gaps are answered now. `gap_ids` None: all that wait."""
        snapshot, answered = self._retriever.current(), 0
        for gap_id in gap_ids if gap_ids is not None else await self._waiting_gaps():
            asked = (await self.store.asked([gap_id]))[gap_id]
            assistant = self._assistant if self._settings.gaps_model else None
            answer = await answered_by(asked, snapshot, assistant, now=self.now())
            await self.store.set_answer(
                gap_id, answer, close=answer is not None and self._settings.gaps_close, at=self.now()
            )
            answered += answer is not None
            await asyncio.sleep(0)
        return answered

    async def draft(self, view: GapView, *, with_model: bool) -> tuple[str, bool, str | None]:
        """Markdown, whether the model had part in it, and why not."""
        snapshot = self._retriever.current()
        found = [(snapshot.article(near.id, everybody(snapshot)), near.why) for near in view.nearest]
        near = [(article, why) for article, why in found if article is not None]
        language = next(iter(view.languages), snapshot.centre.default_language)
        parts, error = None, None
        if with_model and self._model is not None and near:
            try:
                articles = [article for article, _ in near]
                asked = headings(view)
                seconds = self._settings.turn_seconds
                parts = await drafted(self._model, asked, view.missing_information, articles, seconds=seconds)
            except ModelFailure as failure:
                error = failure.kind
        elif with_model:
            error = "not_configured" if self._model is None else "no_articles"
        return outline(view, near, language=language, parts=parts), parts is not None, error

    async def _waiting_gaps(self) -> list[str]:
        found, cursor = [], None
        while True:
            page = await self.store.gaps(GapFilter(), cursor=cursor, limit=200)
            found += [gap.id for gap in page.gaps]
            cursor = page.next_cursor
            if cursor is None:
                return found

    # --- the webhook ---

    async def tell(self) -> None:
        if self._webhook is not None:
            await deliver_due(self.store, self._webhook, self._clock.now, self._settings)

    def now(self) -> str:
        moment = datetime.fromtimestamp(self._clock.now(), UTC)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def member(piled: PiledWording, *, stays: bool) -> Member:
    """`stays`: what was grouped by meaning is not taken apart by words."""
    owner = piled.pin or (piled.gap_id if piled.held or stays else None)
    return Member(gap_id=piled.gap_id, owner=owner, weight=piled.visitors)
