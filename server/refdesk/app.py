"""The composition root: the only place that knows which adapter stands behind which port."""

from __future__ import annotations

import asyncio
import importlib
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog
from litestar import Litestar
from litestar.types import ASGIApp

from refdesk.adapters.rate_windows import MemoryWindows, windows_of
from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_gaps import SqlGaps
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_spending import SqlSpending
from refdesk.adapters.sql_store import SqlStore
from refdesk.api.background import background
from refdesk.api.browsers import BrowserGate
from refdesk.api.limits import Limiter, TurnLimits
from refdesk.api.passwords import Passwords
from refdesk.api.people import answer
from refdesk.api.problems import JsonRequest
from refdesk.api.queries import refuse_repeated
from refdesk.api.routes import HANDLERS
from refdesk.api.services import Services
from refdesk.assistant.asking import Assistant
from refdesk.assistant.breaker import Breaker
from refdesk.assistant.guard import GuardedModel, ModelGuard
from refdesk.assistant.runs import TurnRuns
from refdesk.assistant.slots import Slots
from refdesk.assistant.spending import Caps, Spending
from refdesk.assistant.turn import Limits
from refdesk.console_pages.routes import ROUTER as CONSOLE_PAGES
from refdesk.corpus.files import corpus_root
from refdesk.dense_service import Backend
from refdesk.domain.measures import Figure, Latencies, TurnMeasures
from refdesk.domain.prices import price_of
from refdesk.errors import ModelFailure, StorageUnavailable
from refdesk.gaps.service import GapService
from refdesk.library import Library, Progress
from refdesk.limit_ports import RateWindows
from refdesk.ports import ChatModel, ModelEvent, ModelRequest
from refdesk.settings import Settings

log = structlog.get_logger()

MAX_BODY = 64 * 1024
"""Bytes of a request body."""
PER_PROCESS = (
    "searches a minute of an address",
    "questions at once of a visitor",
    "model calls at once",
    "circuit breaker",
    "live events of a turn",
    "index and sync",
)
"""What processes on one PostgreSQL do not share; everything else is in the database."""


class SystemClock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


class LateModel:
    """The model's adapter, imported in the background: its SDK takes seconds, and a port that is open can already
    answer what needs no model."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._ready: asyncio.Task[ChatModel] | None = None
        self.running = 0
        """Calls that are being answered."""

    def begin(self) -> None:
        self._ready = asyncio.create_task(asyncio.to_thread(self._load))

    def _load(self) -> ChatModel:
        adapter = importlib.import_module("refdesk.adapters.anthropic_model")
        model: ChatModel = adapter.AnthropicModel(
            api_key=self._settings.anthropic_api_key,
            model=self._settings.model,
            base_url=self._settings.anthropic_base_url or None,
            idle_seconds=self._settings.idle_seconds,
        )
        log.info("model can be asked", model=self._settings.model)
        return model

    async def stream(self, request: ModelRequest, *, deadline: float) -> AsyncIterator[ModelEvent]:
        model = await self._loaded(deadline)
        stream: Any = model.stream(request, deadline=deadline)
        self.running += 1
        try:
            async with aclosing(stream) as events:
                async for event in events:
                    yield event
        finally:
            self.running -= 1

    async def _loaded(self, deadline: float) -> ChatModel:
        if self._ready is None:
            self.begin()
        assert self._ready is not None
        if self._ready.done():
            return self._ready.result()
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.shield(self._ready)
        except TimeoutError:
            raise ModelFailure("timeout", "the SDK was still being loaded when the turn's time was over") from None

    async def close(self) -> None:
        if self._ready is not None:
            await (await self._ready).close()


class Parts(msgspec.Struct, kw_only=True):
    """The running pieces, opened and checked; closing them is `close_parts`."""

    settings: Settings
    clock: SystemClock
    store: SqlStore
    console: SqlConsole
    gaps: SqlGaps
    library: Library
    model: LateModel | None
    runs: TurnRuns
    windows: RateWindows
    measures: TurnMeasures


async def open_parts(
    settings: Settings, progress: Progress | None = None, *, database_folder: Path | None = None
) -> Parts:
    """Raises CorpusError, DataFolderError, SettingError: what must stop a start, before a port is open."""
    await asyncio.to_thread(corpus_root, settings.corpus)  # before anything is written anywhere
    url = None if database_folder else settings.database_url
    database = await open_database(database_folder or settings.data, url)
    store, console, gaps = SqlStore(database), SqlConsole(database), SqlGaps(database)
    library = Library(
        settings.corpus,
        settings.data,
        settings.public_url,
        progress,
        dense_backend(settings) if settings.dense else None,
        archive=console,
    )
    try:
        await library.open()
        if url:
            log.info("the database may be shared", per_process=PER_PROCESS)
        await interrupt_running(store)
    except BaseException:
        await store.close()
        raise
    model, clock = LateModel(settings) if settings.anthropic_api_key else None, SystemClock()
    return Parts(
        settings=settings,
        clock=clock,
        store=store,
        console=console,
        gaps=gaps,
        library=library,
        model=model,
        runs=TurnRuns(),
        windows=windows_of(database, clock, shared=bool(url)),
        measures=TurnMeasures(),
    )


def guard_of(parts: Parts) -> ModelGuard:
    """Where nothing is capped, a turn writes nothing of what it spends."""
    settings, clock, store = parts.settings, parts.clock, SqlSpending(parts.store.database)
    caps = Caps(turn=settings.spend_per_turn, visitor=settings.spend_per_visitor, day=settings.spend_per_day)
    price = price_of(settings.model, settings.prices)
    return ModelGuard(
        slots=Slots(settings.model_calls, settings.model_wait_seconds),
        breaker=Breaker(clock, turns=settings.breaker_turns, seconds=settings.breaker_seconds),
        spending=Spending(price, caps, store, clock) if price is not None and caps != Caps() else None,
    )


async def interrupt_running(store: SqlStore) -> None:
    """A database server that is down stops no start: the port opens, /health/ready says so, and it may come up."""
    try:
        await store.interrupt_running()
    except StorageUnavailable as error:
        log.warning("database does not answer yet", error=str(error))


def dense_backend(settings: Settings) -> Callable[[], Backend]:
    """Chroma and onnxruntime take seconds to import: the returned function is called once a port is open."""

    def load() -> Backend:
        name_a_home()
        backend: Backend = importlib.import_module("refdesk.adapters.dense_backend").DenseBackend(
            settings.data, settings.encoders
        )
        return backend

    return load


def name_a_home() -> None:
    """Chroma asks for one while it is imported, and the user of a container often has none."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = tempfile.gettempdir()


async def close_parts(parts: Parts) -> None:
    await parts.runs.close(patience=0.0)
    if parts.model is not None:
        await parts.model.close()
    await parts.library.close()
    await parts.store.close()


def assistant_of(parts: Parts, guard: ModelGuard | None = None) -> Assistant:
    """`guard` None: for the operator's own questions, which nothing holds back."""
    return Assistant(
        retriever=parts.library,
        store=parts.store,
        model=parts.model,
        runs=parts.runs,
        clock=parts.clock,
        limits=Limits(seconds=parts.settings.turn_seconds),
        persona=parts.settings.persona,
        redacting=parts.settings.redact,
        guard=guard,
        measure=parts.measures.take,
    )


def gap_service_of(parts: Parts, assistant: Assistant, guard: ModelGuard) -> GapService:
    """The webhook's client is imported only where there is a webhook."""
    settings, dense = parts.settings, parts.library.dense
    webhook = None
    if settings.gaps_webhook_url:
        adapter = importlib.import_module("refdesk.adapters.webhook")
        webhook = adapter.Webhook(settings.gaps_webhook_url, settings.gaps_webhook_secret)
    return GapService(
        store=parts.gaps,
        retriever=parts.library,
        clock=parts.clock,
        settings=settings,
        assistant=assistant,
        model=GuardedModel(parts.model, guard) if parts.model is not None else None,
        embedders=lambda: dense.embedders if dense is not None else {},
        waiting=lambda: dense is not None and dense.state["status"] in ("starting", "building"),
        webhook=webhook,
    )


def exposition(figures: Sequence[Figure], latencies: Mapping[str, Latencies]) -> tuple[bytes, str]:
    text: tuple[bytes, str] = importlib.import_module("refdesk.adapters.prometheus").exposition(figures, latencies)
    return text


def create_app(parts: Parts) -> ASGIApp:
    """The ASGI application over opened parts."""
    guard = guard_of(parts)
    assistant = assistant_of(parts, guard)
    services = Services(
        settings=parts.settings,
        clock=parts.clock,
        store=parts.store,
        retriever=parts.library,
        runs=parts.runs,
        assistant=assistant,
        syncing=parts.library,
        limiter=Limiter(parts.windows, enabled=parts.settings.rate_limits),
        limits=TurnLimits(parts.settings),
        console=parts.console,
        passwords=Passwords(),
        guard=guard,
        logins=Limiter(parts.windows, enabled=True),
        searches=Limiter(MemoryWindows(parts.clock), enabled=parts.settings.rate_limits),
        gaps=gap_service_of(parts, assistant, guard),
        measures=parts.measures,
        calls_running=lambda: parts.model.running if parts.model is not None else 0,
        exposition=exposition,
    )

    @asynccontextmanager
    async def lifespan(app: Litestar) -> AsyncIterator[None]:
        app.state.services = services
        if parts.model is not None:
            parts.model.begin()
        await parts.windows.open()
        parts.library.begin_background()
        async with background(services):
            yield
        await parts.windows.close()
        await close_parts(parts)

    return BrowserGate(litestar_app(lifespan), parts.settings)


def litestar_app(*lifespan: Any) -> Litestar:
    return Litestar(
        route_handlers=[*HANDLERS, CONSOLE_PAGES],
        lifespan=list(lifespan),
        exception_handlers={Exception: answer},
        before_request=refuse_repeated,
        request_class=JsonRequest,
        openapi_config=None,
        request_max_body_size=MAX_BODY,
        debug=False,
        logging_config=None,
    )
