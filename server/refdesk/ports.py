"""The outside things the use cases need, one small Protocol each. Fakes and adapters pass the same contract suites."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

import msgspec

from refdesk.domain.article_then import KeptArticle
from refdesk.domain.articles import Article, HelpCentre, Passage, Roles
from refdesk.domain.console import (
    Annotations,
    AuditEntry,
    AuditPage,
    DayCounts,
    LogFilter,
    LogPage,
    Note,
    Retention,
    StaffAccount,
    StaffKey,
    StaffRole,
    TurnPage,
    TurnVerdict,
)
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

    def named(self, url: str) -> str | None:
        """The id that a URL (relative or absolute) names if it is the URL of an article of ours, whether the article
        exists and may be read or not; None: the URL is none of an article's."""

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

    def remembers(self, query: str) -> bool:
        """Whether its vector is known, so that it takes no time."""


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

    def vectors(self, collections: Sequence[str], rows: Sequence[int]) -> tuple[Any, Any]:
        """The exact vectors of given rows: rows (n,) and vectors (n, dimensions). A row comes as often as it has texts,
        and not at all where it is not in these collections."""

    def everything(self, collections: Sequence[str]) -> tuple[Any, Any, Any] | None:
        """All texts of these collections, where they are few enough to be compared one by one; else None. Vectors
        (n, dimensions); then, for each passage of a text, its row, rising, and the place of the text's vector."""

    def sample(self, collection: str, limit: int) -> Any:
        """Up to `limit` of the collection's vectors, evenly spread, (n, dimensions)."""

    def close(self) -> None: ...


# --- the model -------------------------------------------------------------------------------


class ModelRequest(msgspec.Struct, frozen=True):
    system: str
    tools: tuple[dict[str, Any], ...]
    messages: tuple[dict[str, Any], ...]
    max_tokens: int
    retried: bool = True
    """Whether passing faults are; not those of a call that only tries whether the service is back."""


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
    """What a new turn needs. `idempotency` is (key, hash of the body) where the client sent one; `newcomer` a visitor
    who comes with this question and is stored with it, with the hash of the token."""

    turn_id: str
    conversation_id: str
    visitor_id: str
    question: str
    created_at: str
    new_conversation: bool
    idempotency: tuple[str, str] | None = None
    newcomer: tuple[Visitor, bytes] | None = None


class ConversationStore(Protocol):
    """Durable: a turn is stored before it is acknowledged. Raises StorageUnavailable when the database is down.

    Every read that takes a visitor id gives None (or nothing) to a stranger, as for an id that does not exist."""

    async def add_visitor(self, visitor: Visitor, token_hash: bytes, created_at: str) -> None: ...
    async def visitor_by_token(self, token_hash: bytes, *, now: str) -> Visitor | None:
        """None also for a token that has expired by `now` (RFC 3339), where one expires (`sign_in`)."""

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

    async def request_stop(self, turn_id: str, visitor_id: str) -> bool:
        """Asks whichever process runs the turn to stop it. False: the visitor has no such turn."""

    async def to_stop(self, turn_ids: Sequence[str]) -> list[str]:
        """Of the turns that a process runs those it shall stop: asked for through another one, or erased."""

    async def set_feedback(self, turn_id: str, visitor_id: str, feedback: Feedback) -> bool: ...
    async def delete_conversation(self, conversation_id: str, visitor_id: str) -> bool: ...
    async def interrupt_running(self) -> int:
        """Turns left `running` by a crash become `interrupted`; called once at start. Returns how many."""

    async def ping(self) -> None: ...
    async def close(self) -> None: ...


# --- the console's side of the store ---------------------------------------------------------


class ConversationLog(Protocol):
    async def log(self, wanted: LogFilter, *, cursor: str | None = None, limit: int = 50) -> LogPage:
        """Conversations with a turn that the filter lets through, the one with the newest such turn first. Raises
        RequestError 400 `invalid_cursor`."""

    async def exported(self, wanted: LogFilter, *, cursor: str | None = None, limit: int = 500) -> TurnPage:
        """The turns themselves, oldest first."""

    async def annotations(self, conversation_id: str) -> Annotations: ...
    async def add_note(self, conversation_id: str, note: Note) -> bool:
        """Notes are only ever added. False: there is no such conversation (as for tags and verdicts)."""

    async def change_tags(
        self, conversation_id: str, *, add: Sequence[str] = (), remove: Sequence[str] = (), author: str, at: str
    ) -> bool:
        """Two agents' changes to different tags both stay."""

    async def set_verdict(self, verdict: TurnVerdict) -> bool:
        """One per turn; a later one replaces it."""


class StaffStore(Protocol):
    async def add_staff(self, account: StaffAccount) -> bool:
        """False: the name is taken."""

    async def staff_account(self, name: str) -> StaffAccount | None: ...
    async def staff_accounts(self) -> list[StaffAccount]: ...
    async def change_staff(
        self,
        name: str,
        *,
        role: StaffRole | None = None,
        password_hash: str | None = None,
        disabled: bool | None = None,
    ) -> bool:
        """What is None stays. A new password or disabling ends every session of the account at once."""

    async def open_staff_session(self, token_hash: bytes, name: str, *, at: str, expires_at: str) -> None: ...
    async def staff_by_session(self, token_hash: bytes, *, now: str) -> StaffAccount | None:
        """None also if expired, or the account is disabled."""

    async def close_staff_session(self, token_hash: bytes) -> bool: ...
    async def add_staff_key(self, key: StaffKey, key_hash: bytes) -> bool:
        """False: there is no such account."""

    async def staff_by_key(self, kid: str, key_hash: bytes) -> StaffAccount | None:
        """None also if the key or its account is disabled."""

    async def staff_keys(self, name: str | None = None) -> list[StaffKey]: ...
    async def disable_staff_key(self, kid: str) -> bool: ...
    async def add_audit(self, entry: AuditEntry) -> None:
        """For ever: the database itself refuses to change or delete an entry."""

    async def audit(self, *, cursor: str | None = None, limit: int = 100) -> AuditPage:
        """Newest first."""


class PrivacyStore(Protocol):
    async def sign_in(
        self, visitor: Visitor, token_hash: bytes, *, at: str, expires_at: str | None, earlier: str | None
    ) -> Visitor:
        """Gives a subject a token with the visitor's roles. Returns the visitor to act as: one and the same for every
        session of the subject, `visitor` itself at the first. The conversations of `earlier`, the anonymous visitor
        of the same browser, become the subject's; those of another subject do not."""

    async def visitors_of(self, subject: str) -> list[str]: ...
    async def conversations_of(self, visitor_id: str) -> list[Conversation]:
        """Oldest first."""

    async def erase_visitor(self, visitor_id: str) -> bool:
        """The visitor, the tokens, and all that was asked, answered and noted. False: there is no such visitor."""

    async def erase_subject(self, subject: str) -> bool: ...
    async def retain(self, *, since: str, force: bool = False) -> Retention:
        """Deletes the turns before `since`, conversations that are empty then, visitors who have none left, and texts
        of articles that no turn left can have been given; day counts stay. Where that is more than a fifth of all
        turns it stops, unless forced."""

    async def day_counts(self, *, since: str, until: str) -> list[DayCounts]:
        """Days from `since` to `until`, both included (YYYY-MM-DD), in order; days without a turn are left out."""


class ArticleArchive(Protocol):
    async def keep_articles(self, articles: Sequence[Article], *, at: str) -> None:
        """That these are the current ones at this moment. Each version's text is stored once, and kept as long as turns
        are that may have been given it (`PrivacyStore.retain`)."""

    async def kept_article(self, article_id: str, version: str) -> KeptArticle | None:
        """None: it was never kept, or no longer is."""


class ConsoleStore(ConversationLog, StaffStore, PrivacyStore, ArticleArchive, Protocol):
    """All of it. Raises StorageUnavailable when the database is down."""
