"""Pages for people: the plain page on which one can ask, an article, and health for machines."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from typing import Any

from litestar import Request, Response, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from refdesk.api.page_frame import page, page_language, word
from refdesk.api.problems import problems
from refdesk.api.reading import roles_of_request
from refdesk.api.services import Services, services_of
from refdesk.corpus.images import IMAGE_HEADERS
from refdesk.errors import RequestError

STATIC = {"ask.js": "text/javascript", "page.css": "text/css", "favicon.svg": "image/svg+xml"}


@get("/", include_in_schema=False)
async def home(request: Request[Any, Any, Any]) -> Response[str]:
    services = services_of(request)
    snapshot = services.retriever.current()
    centre, language = snapshot.centre, page_language(request, snapshot.centre)
    starters = "".join(
        f'<li><button type="button" class="starter">{escape(question)}</button></li>'
        for question in centre.starter_questions.get(language, [])
    )
    name = escape(centre.name)
    body = (
        f"<main><h1>{name}</h1><p>{escape(services.assistant.phrase('disclosure', language, centre))}</p>"
        f'<form id="ask" data-sources="{word("sources", language)}" data-failed="{word("failed", language)}">'
        f'<label for="question">{word("question", language)}</label>'
        '<input id="question" name="question" maxlength="2000" required autocomplete="off">'
        f'<button type="submit">{word("ask", language)}</button></form><ul class="starters">{starters}</ul>'
        '<div id="log" role="log" aria-live="polite"></div>'
        f"<noscript><p>{word('no_script', language)}</p></noscript>"
        f'<p><a href="/articles">{word("all_articles", language)}</a></p></main>'
    )
    return page(centre.name, body, language=language, script="ask.js")


@get("/articles", include_in_schema=False)
async def article_index(request: Request[Any, Any, Any]) -> Response[str]:
    snapshot = services_of(request).retriever.current()
    listed = snapshot.articles(await roles_of_request(request))
    items = "".join(
        f'<li lang="{escape(article.language)}"><a href="{escape(article.url)}">{escape(article.title)}</a></li>'
        for article in listed
        if article.url
    )
    name = escape(snapshot.centre.name)
    language = page_language(request, snapshot.centre)
    body = f'<main><p><a href="/">{name}</a></p><h1>{word("articles", language)}</h1><ul>{items}</ul></main>'
    return page(snapshot.centre.name, body, language=language)


@get("/articles/{article_id:str}", include_in_schema=False)
async def article_page(request: Request[Any, Any, Any], article_id: FromPath[str]) -> Response[str]:
    services, roles = services_of(request), await roles_of_request(request)
    snapshot = services.retriever.current()
    article = snapshot.article(article_id, roles)
    if article is None or article.visibility == "title":
        raise RequestError(404, "article_not_found", "There is no such article.")
    text = await services.syncing.article_html(article, roles, with_title=False)
    updated = f'<p class="updated"><time>{escape(article.updated)}</time></p>' if article.updated else ""
    body = (
        f'<main><p><a href="/">{escape(snapshot.centre.name)}</a></p><article><h1>{escape(article.title)}</h1>{updated}'
        f"{text}</article></main>"
    )
    return page(article.title, body, language=article.language)


@get("/media/{path:path}", include_in_schema=False)
async def media(request: Request[Any, Any, Any], path: FromPath[str]) -> Response[bytes]:
    """An image of the corpus folder, if an article that the visitor may read shows it."""
    found = await services_of(request).syncing.image(path.lstrip("/"), await roles_of_request(request))
    if found is None:
        raise RequestError(404, "not_found", "There is nothing at this address.")
    content, kind = found
    return Response(content, media_type=kind, headers=IMAGE_HEADERS)


@get("/static/{name:str}", include_in_schema=False)
async def static(name: FromPath[str]) -> Response[bytes]:
    if name not in STATIC:
        raise RequestError(404, "not_found", "There is nothing at this address.")
    content = files("refdesk.api").joinpath("static", name).read_bytes()
    return Response(content, media_type=STATIC[name], headers={"Cache-Control": "public, max-age=300"})


@get("/favicon.ico", include_in_schema=False)
async def favicon() -> Response[bytes]:
    """Where browsers look without being told."""
    answer: Response[bytes] = await static.fn("favicon.svg")
    return answer


@get("/health/live", responses=problems())
async def live() -> dict[str, str]:
    return {"status": "ok"}


@get(
    "/health/ready",
    responses={503: ResponseSpec(dict[str, Any], generate_examples=False, description="Not ready"), **problems()},
)
async def ready(request: Request[Any, Any, Any]) -> Response[dict[str, Any]]:
    """Database, index and corpus. `dense` says whether the vectors serve yet; lexical search serves meanwhile. `model`:
    while its service is left alone after failures, visitors get excerpts, and the server is ready all the same."""
    services = services_of(request)
    state = services.syncing.readiness()
    try:
        await services.store.ping()
        database = "ok"
    except Exception:  # whatever is wrong with the database, the answer is "not ready"
        database = "unavailable"
    good = database == "ok" and state["corpus"] == "ok" and not services.runs.closing
    body = {"status": "ok" if good else "unavailable", "database": database, "model": model_state(services), **state}
    return Response(body, status_code=200 if good else 503, headers={} if good else {"Retry-After": "5"})


def model_state(services: Services) -> str:
    """`not_configured`; else of the circuit breaker: `ok`, `unavailable`, or `probing` while one turn tries it."""
    breaker = services.guard.breaker
    if not services.settings.anthropic_api_key:
        return "not_configured"
    return {"closed": "ok", "open": "unavailable", "probing": "probing"}[breaker.state if breaker else "closed"]
