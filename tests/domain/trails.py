"""Trails for tests: a small help centre, and what tools handed over of it."""

from refdesk.domain.articles import Article, Passage
from refdesk.domain.trail import Form, ToolCall, ToolReturn, Trail

BODIES = {
    "refund-window": "# Refund window\n\nRefunds are possible within 30 days of purchase. "
    "Gift cards are not refunded.\n\n"
    "## How to ask\n\nOpen **Billing → Invoices** and press *Request refund*. It takes 1,000 steps.\n",
    "refund-old": "Refunds are possible within 14 days of purchase. This page describes the policy of 2023.\n",
    "faq": "## Where is my data stored?\n\nIn Frankfurt, with daily backups kept for 35 days.\n",
    "sitemap": "Карта сайта обновляется после каждой публикации. Её читает поисковая система.\n",
    "empty": "  \n",
}


def article(article_id: str) -> Article:
    body = BODIES[article_id]
    cut = body.find("## How")
    spans = [(0, len(body))] if cut < 0 else [(0, cut), (cut, len(body))]
    passages = [Passage(article_id, n, "How to ask" if n else "", (span,)) for n, span in enumerate(spans)]
    return Article(
        id=article_id,
        title=article_id.replace("-", " ").title(),
        body=body,
        language="ru" if article_id == "sitemap" else "en",
        audience=("public",),
        version=f"v-{article_id}",
        url=None if article_id == "faq" else f"/articles/{article_id}",
        updated="2023-01-09" if article_id == "refund-old" else "2025-05-12",
        passages=tuple(passages),
    )


def passage(article_id: str, number: int = 0, from_turn: str | None = None) -> ToolReturn:
    held = article(article_id).passages[number]
    return ToolReturn(article_id, Form.PASSAGE, held.spans, held.section, from_turn)


def part(article_id: str, number: int = 0) -> ToolReturn:
    return ToolReturn(article_id, Form.PART, article(article_id).passages[number].spans)


def full(article_id: str) -> ToolReturn:
    return ToolReturn(article_id, Form.FULL, ((0, len(BODIES[article_id])),))


def title(article_id: str) -> ToolReturn:
    return ToolReturn(article_id, Form.TITLE)


TOOLS = {Form.TITLE: "list_articles", Form.PASSAGE: "search", Form.PART: "get_document", Form.FULL: "get_document"}


def trail(*returns: ToolReturn, linked_before: tuple[str, ...] = ()) -> Trail:
    """One call for each return."""
    calls = [ToolCall(n, TOOLS[given.form], {}, returns=(given,)) for n, given in enumerate(returns)]
    articles = {given.article_id: article(given.article_id) for given in returns}
    return Trail(calls=calls, articles=articles, linked_before={i: article(i) for i in linked_before})
