"""One conversation: what was said, the evidence of each turn, an article as a turn used it, and notes of staff."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath

from refdesk.api.ask import no_conversation
from refdesk.api.console_schemas import NoteRequest, TagsRequest, VerdictRequest
from refdesk.api.console_turn import changed_since, everybody
from refdesk.api.log import add_note, change_tags, permalink, set_verdict, turn_of
from refdesk.api.rehearsals import replay
from refdesk.api.schemas import may_be_id
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents
from refdesk.console_pages.forms import form_of
from refdesk.console_pages.rendering import HEADERS, go_to, show
from refdesk.domain.article_then import ArticleThen, article_then, quotes_of
from refdesk.domain.articles import Article
from refdesk.domain.console import Verdict
from refdesk.domain.conversation import StoredTurn
from refdesk.domain.receipt import receipt
from refdesk.errors import RequestError


class Pane(msgspec.Struct, frozen=True):
    """The article that is open beside a turn."""

    turn_id: str
    article_id: str
    title: str
    """Of that day."""
    version: str | None
    language: str
    today: Article | None
    state: str
    """`same`, `changed` or `deleted` since."""
    then: ArticleThen


@get("/console/conversations/{conversation_id:str}", guards=[agents], include_in_schema=False)
async def conversation_page(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> Response[Any]:
    services = services_of(request)
    found = await services.store.conversation(conversation_id, None) if may_be_id(conversation_id) else None
    if found is None:
        raise no_conversation()
    turns = await services.store.turns(found.id)
    noted = await services.console.annotations(found.id)
    snapshot = services.retriever.current()
    chosen = request.query_params.get("turn", ""), request.query_params.get("article", "")
    return show(
        request,
        "conversation.html",
        here="conversations",
        talk=found,
        turns=turns,
        noted=noted,
        queued=await services.gaps.store.in_queue(found.id),
        judged={verdict.turn_id: verdict for verdict in noted.verdicts},
        verdicts=get_args(Verdict),
        changed={stored.turn.id: changed_since(stored, snapshot) for stored in turns},
        quotes={stored.turn.id: quote_numbers(stored) for stored in turns},
        threshold=snapshot.threshold,
        same_index={stored.turn.id: stored.trail.generation == snapshot.generation for stored in turns},
        link=lambda turn_id="": permalink(services, found.id, turn_id),
        pane=await pane_of(services, turns, *chosen) if all(chosen) else None,
    )


def quote_numbers(stored: StoredTurn) -> dict[str, dict[str, int]]:
    """By article, the number of each quote, as the article's pane counts them."""
    ids = {claim.source_id for claim in stored.turn.claims} | {item.source_id for item in stored.turn.evidence}
    return {name: {text: at for at, text in enumerate(quotes_of(stored, name))} for name in ids if name}


async def pane_of(services: Services, turns: list[StoredTurn], turn_id: str, article_id: str) -> Pane:
    """Raises RequestError 404 for an article that the turn has nothing to do with."""
    stored = next((item for item in turns if item.turn.id == turn_id), None)
    titles = {} if stored is None else titles_of(stored)
    if stored is None or article_id not in titles:
        raise RequestError(404, "article_not_found", "The turn did not find that article.")
    snapshot = services.retriever.current()
    today = snapshot.article(article_id, everybody(snapshot))
    version = stored.trail.article_versions.get(article_id)
    kept = await services.console.kept_article(article_id, version) if version is not None else None
    then = await asyncio.to_thread(article_then, quotes_of(stored, article_id), kept, today)
    return Pane(
        turn_id=turn_id,
        article_id=article_id,
        title=titles[article_id],
        version=version,
        language=next((known.language for known in (kept, today) if known is not None), ""),
        today=today,
        state=changed_since(stored, snapshot).get(article_id, "same" if today is not None else "deleted"),
        then=then,
    )


def titles_of(stored: StoredTurn) -> dict[str, str]:
    found = {document.id: document.title for document in stored.trail.documents}
    return {**found, **{source.id: source.title for source in stored.turn.sources}}


def place_of(conversation_id: str, turn_id: str = "") -> str:
    return f"/console/conversations/{conversation_id}" + (f"#{turn_id}" if turn_id else "#notes")


# --- what staff put to it --------------------------------------------------------------------


@post("/console/conversations/{conversation_id:str}/notes", status_code=200, guards=[agents], include_in_schema=False)
async def note(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> Response[Any]:
    form = await form_of(request)
    await add_note.fn(request, conversation_id, NoteRequest(text=form.text("text")))
    return go_to(place_of(conversation_id))


@post("/console/conversations/{conversation_id:str}/tags", status_code=200, guards=[agents], include_in_schema=False)
async def tags(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> Response[Any]:
    form = await form_of(request)
    added = (form.text("add"),) if form.text("add") else ()
    await change_tags.fn(request, conversation_id, TagsRequest(add=added, remove=form.chosen("remove")))
    return go_to(place_of(conversation_id))


@post("/console/turns/{turn_id:str}/verdict", status_code=200, guards=[agents], include_in_schema=False)
async def verdict(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> Response[Any]:
    form = await form_of(request)
    stored = await turn_of(services_of(request), turn_id)
    given = {"verdict": form.text("verdict"), "note": form.text("note"), "articles": form.text("articles").split()}
    try:
        wanted = msgspec.convert(given, VerdictRequest)
    except msgspec.ValidationError as error:
        raise RequestError(400, "invalid_request", "That is no verdict.", field="verdict") from error
    await set_verdict.fn(request, turn_id, wanted)
    return go_to(place_of(stored.turn.conversation_id, turn_id))


# --- once more, and the proof ----------------------------------------------------------------


@post("/console/turns/{turn_id:str}/replay", status_code=200, guards=[agents], include_in_schema=False)
async def replay_page(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> Response[Any]:
    """The question with today's articles and model, beside the answer of then. Nothing of it is kept."""
    made = await replay.fn(request, turn_id)
    answer_diff = [(piece.op, piece.text) for piece in made.diff.answer]
    return show(request, "replay.html", here="conversations", made=made, answer_diff=answer_diff)


@get("/console/turns/{turn_id:str}/receipt", guards=[agents], include_in_schema=False)
async def receipt_page(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> Response[Any]:
    stored = await turn_of(services_of(request), turn_id)
    return show(request, "receipt.html", here="conversations", receipt=receipt(stored))


@get("/console/turns/{turn_id:str}/receipt.json", guards=[agents], include_in_schema=False)
async def receipt_json(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> Response[Any]:
    made = receipt(await turn_of(services_of(request), turn_id))
    named = {"Content-Disposition": f'attachment; filename="receipt-{made["turn_id"]}.json"'}
    return Response(made, headers={**HEADERS, **named})
