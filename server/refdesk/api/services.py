"""What the handlers work with; put together once by the composition root and kept in the application's state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
from litestar import Request

from refdesk.api.limits import Limiter, TurnLimits
from refdesk.api.passwords import Passwords
from refdesk.assistant.asking import Assistant
from refdesk.assistant.guard import ModelGuard
from refdesk.assistant.runs import TurnRuns
from refdesk.domain.articles import Article, Roles
from refdesk.domain.gap_view import GapView
from refdesk.domain.measures import Figure, Latencies, TurnMeasures
from refdesk.gap_ports import GapStore
from refdesk.ports import Clock, ConsoleStore, ConversationStore, Retriever
from refdesk.settings import Settings


class Syncing(Protocol):
    """The corpus as the console drives it."""

    async def sync(self, *, force: bool = False) -> dict[str, Any]:
        """Runs a sync (or joins the one that runs) and gives its report, once readers see the result."""

    async def keep_versions(self) -> None:
        """The texts of today's articles, for what is asked about turns of today when they have changed."""

    def last_report(self) -> dict[str, Any] | None: ...
    def under_way(self) -> tuple[int, int, str] | None:
        """Of a sync that runs now: done, of how many, what; None: none runs."""

    def readiness(self) -> dict[str, Any]:
        """Index state for /health/ready: generation, articles, whether dense retrieval serves yet."""

    async def image(self, path: str, roles: Roles) -> tuple[bytes, str] | None:
        """Content and media type of an image of the corpus folder, if an article that the roles may read shows it."""

    async def article_html(self, article: Article, roles: Roles, *, with_title: bool = True) -> str:
        """The body as sanitised HTML; links to articles the roles may not read are plain text."""


class GapDesk(Protocol):
    """The docs-gap queue as the console drives it; what turns do to it happens in the background."""

    @property
    def store(self) -> GapStore: ...
    @property
    def tells(self) -> bool:
        """Whether a webhook is told of what happens."""

    def wake(self) -> None:
        """Something was done to gaps."""

    async def recheck(self, gap_ids: Sequence[str]) -> int:
        """Looks whether today's articles answer them. Returns how many they do."""

    async def draft(self, view: GapView, *, with_model: bool) -> tuple[str, bool, str | None]:
        """Markdown, whether the model had part in it, and why not."""

    async def run(self) -> None:
        """For ever: looks at turns, groups, checks, tells."""


class Services(msgspec.Struct, kw_only=True):
    settings: Settings
    clock: Clock
    store: ConversationStore
    retriever: Retriever
    runs: TurnRuns
    assistant: Assistant
    syncing: Syncing
    limiter: Limiter
    limits: TurnLimits
    console: ConsoleStore
    passwords: Passwords
    guard: ModelGuard
    logins: Limiter
    """Failed sign-ins of staff; on even where the other limits are off."""
    searches: Limiter
    """Of visitors; what it bounds is this process's own time, so it counts without the database."""
    gaps: GapDesk
    measures: TurnMeasures
    calls_running: Callable[[], int]
    """Model calls that are being answered in this process."""
    exposition: Callable[[Sequence[Figure], Mapping[str, Latencies]], tuple[bytes, str]]
    """Figures as a text, and its media type."""


def services_of(request: Request[Any, Any, Any]) -> Services:
    services: Services = request.app.state.services
    return services
