"""The tools the model reads with: search, get_document, list_articles.

What a tool returned is recorded here, where the result is built, and nowhere else. A failure is a sentence to the model
and never an exception; an article above the visitor's roles reads exactly like one that does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from refdesk.assistant import prompts
from refdesk.assistant.parts import article_parts
from refdesk.domain.articles import Article, Passage, Roles
from refdesk.domain.trail import Form, ToolCall, ToolReturn, Trail
from refdesk.ports import Hit, SearchResult, Snapshot

SEARCH_LIMIT = 8
LIST_PAGE = 100
MAX_QUERY = 500
TOOL_NAMES = ("search", "get_document", "list_articles")


class ToolOutcome(NamedTuple):
    """What goes back to the model, and the record of the call."""

    text: str
    is_error: bool
    call: ToolCall


class Refused(Exception):
    """A call that cannot be served; its text is the sentence the model gets."""


class Toolbox:
    """The tools of one turn: one snapshot of the corpus, one visitor, one trail."""

    def __init__(
        self, snapshot: Snapshot, roles: Roles, language: str, trail: Trail, nonce: str, *, room: Callable[[str], bool]
    ) -> None:
        self._snapshot, self._roles, self._language = snapshot, roles, language
        self._trail, self._nonce, self._room = trail, nonce, room
        self._began = time.perf_counter()
        self.hits: dict[tuple[str, int], Hit] = {}
        """Every passage found in this turn, for evidence should the model fail."""

    def begin(self, tool: str, given: dict[str, Any], *, by: str = "model") -> ToolCall:
        """Opens the record of a call; records stand in the order in which the model asked."""
        call = ToolCall(
            number=len(self._trail.calls), tool=tool, input=known_input(tool, given), by=by, started_ms=self._elapsed()
        )
        self._trail.calls.append(call)
        return call

    async def run(self, call: ToolCall, given: dict[str, Any]) -> ToolOutcome:
        handlers = {"search": self._search, "get_document": self._get_document, "list_articles": self._list_articles}
        try:
            if call.tool not in handlers:
                raise Refused(f"There is no tool {call.tool[:64]!r}. Tools: {', '.join(TOOL_NAMES)}, answer.")
            text, returns = await handlers[call.tool](given)
            if not self._room(text):
                raise Refused(prompts.NO_ROOM)
            self.record(call, returns)
        except Refused as refused:
            return self.refuse(call, str(refused))
        call.ms = self._elapsed() - call.started_ms
        return ToolOutcome(text, False, call)

    def refuse(self, call: ToolCall, sentence: str) -> ToolOutcome:
        call.error, call.ms = sentence, self._elapsed() - call.started_ms
        return ToolOutcome(sentence, True, call)

    def record(self, call: ToolCall, returns: Sequence[tuple[Article, ToolReturn]]) -> None:
        call.returns = tuple(given for _, given in returns)
        for article, given in returns:
            self._trail.articles[given.article_id] = article

    async def prefetch(self, queries: Sequence[str], pack: Callable[[Sequence[Hit]], list[Hit]]) -> SearchResult:
        """The application's own search with the question; `pack` chooses what is handed over and so counts as read."""
        call = self.begin("search", {"query": queries[0]}, by="application")
        found = [await self._snapshot.search(query, self._roles, limit=2 * SEARCH_LIMIT) for query in queries]
        result = merge_results(found)
        packed = pack(result.hits)
        self.record(call, [passage_return(hit) for hit in packed])
        call.input = {"query": " · ".join(dict.fromkeys(result.searched or tuple(queries)))[:MAX_QUERY]}
        call.ms = self._elapsed() - call.started_ms
        self.keep(result.hits)
        return SearchResult(
            hits=tuple(packed), searched=result.searched, signals=result.signals, degraded=result.degraded
        )

    def keep(self, hits: Sequence[Hit]) -> None:
        for hit in hits:
            self.hits.setdefault((hit.article.id, hit.passage.number), hit)

    async def _search(self, given: dict[str, Any]) -> tuple[str, list[tuple[Article, ToolReturn]]]:
        query = text_argument(given, "query", required=True)
        result = await self._snapshot.search(
            query[:MAX_QUERY],
            self._roles,
            language=text_argument(given, "language") or None,
            category=text_argument(given, "category") or None,
            limit=SEARCH_LIMIT,
        )
        self.keep(result.hits)
        if not result.hits:
            return f"No passage found for {query[:200]!r}. Try other words, or list_articles.", []
        blocks = [prompts.passage_block(self._nonce, h.article, h.passage.section, h.text) for h in result.hits]
        return "\n\n".join(blocks), [passage_return(hit) for hit in result.hits]

    async def _get_document(self, given: dict[str, Any]) -> tuple[str, list[tuple[Article, ToolReturn]]]:
        article_id = text_argument(given, "id", required=True)
        article = self._snapshot.article(article_id, self._roles)
        if article is None:
            raise Refused(f"There is no article {article_id[:80]!r}. Use an id from search or list_articles.")
        parts = article_parts(article)
        part = given.get("part", 1)
        if isinstance(part, bool) or not isinstance(part, int) or not 1 <= part <= len(parts):
            raise Refused(f"`part` must be a number from 1 to {len(parts)} for this article.")
        span = parts[part - 1]
        form = Form.FULL if len(parts) == 1 else Form.PART
        text = prompts.article_block(self._nonce, article, article.body[slice(*span)], part, len(parts))
        return text, [(article, ToolReturn(article_id=article.id, form=form, spans=(span,)))]

    async def _list_articles(self, given: dict[str, Any]) -> tuple[str, list[tuple[Article, ToolReturn]]]:
        language, cursor = text_argument(given, "language"), text_argument(given, "cursor")
        if cursor and not (cursor.isascii() and cursor.isdigit() and len(cursor) < 9):
            raise Refused("`cursor` must be the one of the page before.")
        listed = self._snapshot.articles(
            self._roles, language=language or self._language, category=text_argument(given, "category") or None
        )
        if language:
            listed = [article for article in listed if article.language == language]
        start = int(cursor or 0)
        page = listed[start : start + LIST_PAGE]
        following = str(start + LIST_PAGE) if start + LIST_PAGE < len(listed) else None
        text = prompts.listing_block(page, len(listed), following)
        return text, [(article, ToolReturn(article_id=article.id, form=Form.TITLE)) for article in page]

    def _elapsed(self) -> float:
        return round((time.perf_counter() - self._began) * 1000, 2)


def passage_return(hit: Hit) -> tuple[Article, ToolReturn]:
    return hit.article, passage_given(hit.article, hit.passage)


def passage_given(article: Article, passage: Passage, from_turn: str | None = None) -> ToolReturn:
    return ToolReturn(
        article_id=article.id, form=Form.PASSAGE, spans=passage.spans, section=passage.section, from_turn=from_turn
    )


def merge_results(results: Sequence[SearchResult]) -> SearchResult:
    """The results of several queries as one: a passage keeps its best score; the first query's signals stand."""
    best: dict[tuple[str, int], Hit] = {}
    for result in results:
        for hit in result.hits:
            key = (hit.article.id, hit.passage.number)
            if key not in best or hit.score > best[key].score:
                best[key] = hit
    ranked = results[0].hits if len(results) == 1 else sorted(best.values(), key=lambda hit: -hit.score)
    searched = tuple(dict.fromkeys(query for result in results for query in result.searched))
    return SearchResult(
        hits=tuple(ranked),
        searched=searched,
        signals=results[0].signals,
        degraded=any(result.degraded for result in results),
    )


def known_input(tool: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that have a meaning, short: what the trail keeps and a visitor's `step` shows."""
    schema: dict[str, Any] = next((t["input_schema"] for t in prompts.TOOLS if t["name"] == tool), {"properties": {}})
    kept = {name: given[name] for name in schema["properties"] if name in given}
    return {n: v[:MAX_QUERY] if isinstance(v, str) else v for n, v in kept.items() if isinstance(v, (str, int))}


def text_argument(given: dict[str, Any], name: str, *, required: bool = False) -> str:
    value = given.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise Refused(f"`{name}` must be a {'non-empty ' if required else ''}string.")
    return value.strip()
