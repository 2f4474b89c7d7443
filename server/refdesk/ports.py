"""The outside things the use cases need, one small Protocol each. Fakes and adapters pass the same contract suites."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import msgspec

from refdesk.domain.articles import Article, HelpCentre, Passage, Roles
from refdesk.domain.conversation import Conversation, Feedback, StoredTurn, Turn, TurnTrail, Usage, Visitor


class Clock(Protocol):
    def now(self) -> float:
        """Unix time, seconds."""

    def monotonic(self) -> float: ...


# --- retrieval -------------------------------------------------------------------------------


class Hit(msgspec.Struct, frozen=True):
    """A passage that search returned. `signals` are this passage's figures for the gate and `--explain`."""

    article: Article
    passage: Passage
    score: float
    signals: dict[str, float] = {}

    @property
    def text(self) -> str:
        return self.passage.text(self.article.body)


class SearchResult(msgspec.Struct, frozen=True):
    hits: tuple[Hit, ...]
    searched: tuple[str, ...] = ()
    """The queries that were really run: the question, then a repaired one if any. Never silent."""
    signals: dict[str, float] = {}
    """Figures of the whole query (evidence_score features that belong to no single passage)."""
    degraded: bool = False
    """Dense retrieval was not available; lexical only."""


class Snapshot(Protocol):
    """One version of the corpus with its index. A turn uses one from its first search to its last."""

    @property
    def generation(self) -> str: ...
    @property
    def centre(self) -> HelpCentre: ...

    def article(self, article_id: str, roles: Roles) -> Article | None:
        """By exact id, or by an earlier id of `redirect_from`. None also if the roles may not read it."""

    def articles(self, roles: Roles, *, language: str | None = None, category: str | None = None) -> Sequence[Article]:
        """What the roles may see, by category then title. With a language: of each translation family the variant in
        that language, else the original."""

    def resolve_url(self, url: str, roles: Roles) -> Article | None:
        """The article whose canonical or site-relative URL this is (relative or absolute), if it is readable."""

    def is_article_url(self, url: str) -> bool:
        """Whether the URL points at the help centre's articles at all, existing or not, readable or not."""

    async def search(
        self, query: str, roles: Roles, *, language: str | None = None, category: str | None = None, limit: int = 8
    ) -> SearchResult:
        """Passages, best first; access is decided before ranking. `language` filters; None: any (variants folded)."""

    def evidence_score(self, signals: dict[str, float]) -> float:
        """Of one passage, from its signals and those of its query, with the weights of this generation."""

    @property
    def threshold(self) -> float:
        """The evidence score from which on the gate lets a question pass; set for each generation."""

    def measure(self, question: str, passages: Sequence[tuple[Article, Passage]]) -> list[dict[str, float]]:
        """The lexical gate signals of the question against given passages (carried-over ones)."""


class Retriever(Protocol):
    def current(self) -> Snapshot: ...


class Embedder(Protocol):
    @property
    def model_id(self) -> str:
        """Name and content hash: vectors are only comparable under the same id."""

    @property
    def dimensions(self) -> int: ...
    def embed_queries(self, texts: Sequence[str]) -> Any:
        """float32 array (n, dimensions), unit length."""

    def embed_passages(self, texts: Sequence[str]) -> Any: ...


class VectorRow(msgspec.Struct, frozen=True, gc=False):
    """A text to be found by its vector. An index is built from all of them; the same text is embedded once."""

    collection: str
    """One for each distinct audience and encoder; letters, digits and `-`, 3 to 60 characters."""
    encoder: str
    """MULTILINGUAL or ENGLISH."""
    row: int
    """The caller's number for what the text belongs to; one row may have several texts, and one text several rows."""
    text: str


MULTILINGUAL, ENGLISH = "e5", "minilm"


class VectorIndex(Protocol):
    """Vectors of one finished generation, opened read-only. Everything raises DenseUnavailable and nothing else."""

    def query(self, collections: Sequence[str], vector: Any, limit: int) -> list[tuple[int, float]]:
        """(row, cosine) best first, over the given collections, which belong to one encoder. A row comes once."""

    def cosines(self, collections: Sequence[str], vector: Any, rows: Sequence[int]) -> dict[int, float]:
        """Exact cosines of given rows, such as those that words found; a row that is not there is left out."""

    def close(self) -> None: ...


# --- the model -------------------------------------------------------------------------------


class ModelRequest(msgspec.Struct, frozen=True):
    system: str
    tools: tuple[dict[str, Any], ...]
    messages: tuple[dict[str, Any], ...]
    max_tokens: int


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ToolStarted(msgspec.Struct, frozen=True):
    index: int
    id: str
    name: str


class ToolInputDelta(msgspec.Struct, frozen=True):
    index: int
    text: str
    """A piece of the tool input's JSON."""


class ToolUse(msgspec.Struct, frozen=True):
    """A complete tool call. `input` is None where its JSON was malformed or cut: it is never executed."""

    index: int
    id: str
    name: str
    input: dict[str, Any] | None


class ReplyProgress(msgspec.Struct, frozen=True):
    """Before a tool call begins: what a reply that is stopped half-way has used, and the blocks that were complete."""

    usage: Usage
    content: tuple[dict[str, Any], ...]


class ModelReply(msgspec.Struct, frozen=True):
    """The end of a reply. `content` holds the blocks as they must be replayed to the API (thinking included)."""

    stop_reason: str
    content: tuple[dict[str, Any], ...]
    usage: Usage


ModelEvent = TextDelta | ToolStarted | ToolInputDelta | ToolUse | ReplyProgress | ModelReply


class ChatModel(Protocol):
    def stream(self, request: ModelRequest, *, deadline: float) -> AsyncIterator[ModelEvent]:
        """The reply as it arrives; the last event is a ModelReply. Raises ModelFailure and nothing else.

        `deadline` is on the event loop's clock (`loop.time()`). Before the first event of content a passing fault (429,
        5xx, 529, no connection) is retried at most twice inside the deadline, honouring Retry-After only within it."""

    async def close(self) -> None: ...


# --- the store -------------------------------------------------------------------------------


class TurnRow(msgspec.Struct, frozen=True):
    """What a new turn needs. `idempotency` is (key, hash of the body) where the client sent one."""

    turn_id: str
    conversation_id: str
    visitor_id: str
    question: str
    created_at: str
    new_conversation: bool
    idempotency: tuple[str, str] | None = None


class ConversationStore(Protocol):
    """Durable: a turn is stored before it is acknowledged. Raises StorageUnavailable when the database is down.

    Every read that takes a visitor id gives None (or nothing) to a stranger, as for an id that does not exist."""

    async def add_visitor(self, visitor: Visitor, token_hash: bytes, created_at: str) -> None: ...
    async def visitor_by_token(self, token_hash: bytes) -> Visitor | None: ...
    async def begin_turn(self, row: TurnRow) -> StoredTurn | None:
        """Stores the question as a running turn (and the conversation, if new). Returns None when stored; the earlier
        turn where the idempotency key with the same body was used before. Raises RequestError 404
        `conversation_not_found`, 409 `turn_running` (with retry_after), 409 `idempotency_running`, 422
        `idempotency_mismatch`."""

    async def finish_turn(self, turn: Turn, trail: TurnTrail) -> None: ...
    async def turn(self, turn_id: str, visitor_id: str | None) -> StoredTurn | None:
        """visitor_id None: staff."""

    async def conversation(self, conversation_id: str, visitor_id: str | None) -> Conversation | None: ...
    async def turns(self, conversation_id: str, *, last: int | None = None) -> list[StoredTurn]:
        """In order of asking; `last` N only."""

    async def set_feedback(self, turn_id: str, visitor_id: str, feedback: Feedback) -> bool: ...
    async def delete_conversation(self, conversation_id: str, visitor_id: str) -> bool: ...
    async def interrupt_running(self) -> int:
        """Turns left `running` by a crash become `interrupted`; called once at start. Returns how many."""

    async def ping(self) -> None: ...
    async def close(self) -> None: ...
