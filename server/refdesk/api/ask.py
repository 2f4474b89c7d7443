"""Asking: the question comes in, the turn goes out, as JSON or as events; both are the same turn."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter, JSONBody
from litestar.response import Stream

from refdesk.api import sse
from refdesk.api.auth import (
    bearer,
    hash_to_store,
    newcomer,
    required_visitor,
    sign_in,
    verify_identity,
    visitor_if_known,
    visitor_of,
)
from refdesk.api.contract import VISITOR_IF_ANY, VISITOR_ONLY
from refdesk.api.limits import TurnLimits, client_key
from refdesk.api.members import secret_hash
from refdesk.api.problems import problems, request_id_of
from refdesk.api.schemas import (
    MAX_QUESTION,
    AskedTurn,
    AskRequest,
    SessionRequest,
    SessionResponse,
    checked_text,
    locale_of,
    may_be_id,
    storable,
)
from refdesk.api.services import Services, services_of
from refdesk.api.staff import client_address
from refdesk.api.times import timestamp
from refdesk.assistant.runs import TurnRun
from refdesk.assistant.withholding import names_readable_only, visible_turn
from refdesk.assistant.work import Ask
from refdesk.domain.conversation import StoredTurn, Turn, Visitor
from refdesk.domain.windows import Use
from refdesk.errors import RequestError, StorageUnavailable

MAX_IDEMPOTENCY_KEY = 200
MAX_PAGE_TEXT = 2_000
STOP_SECONDS, STOP_POLL = 5.0, 0.1


def address_of(request: Request[Any, Any, Any]) -> str:
    return client_key(client_address(request))


def channel_of(request: Request[Any, Any, Any]) -> str:
    """A browser says with every question which page it asks from; other programs do not."""
    if "origin" in request.headers:
        return "widget"
    return "stream" if wants_events(request) else "json"


def wants_events(request: Request[Any, Any, Any]) -> bool:
    return "text/event-stream" in request.headers.get("accept", "").lower()


@post("/v1/session", status_code=201, responses=problems(401, 413, 415, 429, 503))
async def session(request: Request[Any, Any, Any], data: JSONBody[SessionRequest]) -> SessionResponse:
    """Opens a visitor session: anonymous, or for the person whom the customer's backend vouches for. Who then sends the
    token of an anonymous session along keeps its conversations."""
    services = services_of(request)
    await services.limiter.take(services.limits.sessions.use(address_of(request)))
    if data.identity is None:
        visitor, token = newcomer()
        await services.store.add_visitor(visitor, secret_hash(token), timestamp(services.clock.now()))
        return SessionResponse(token=token)
    centre = services.retriever.current().centre
    claims = verify_identity(data.identity, services.settings.identity_secrets, centre, services.clock.now())
    return SessionResponse(token=await sign_in(services, claims, await visitor_if_known(request)))


@post(
    "/v1/ask",
    status_code=200,
    security=VISITOR_IF_ANY,
    responses={
        200: ResponseSpec(AskedTurn, generate_examples=False, description="The turn"),
        **problems(401, 404, 409, 413, 415, 422, 429, 503),
    },
)
async def ask(
    request: Request[Any, Any, Any],
    data: JSONBody[AskRequest],
    idempotency: Annotated[str | None, HeaderParameter(name="Idempotency-Key", required=False)] = None,
) -> Response[Any]:
    """Asks. `Accept: text/event-stream` gives the turn as events, anything else as JSON once it is done."""
    services = services_of(request)
    question = checked_text(data.question, "question", MAX_QUESTION)
    key = idempotency_key(request, idempotency)
    page = page_of(data)
    visitor, token = await asking_visitor(request, services, data.conversation_id)
    asked = Ask(
        question=question,
        visitor=visitor,
        conversation_id=data.conversation_id,
        locale=locale_of(data.locale),
        page=page,
        idempotency=(key, body_hash(data)) if key else None,
        token_hash=hash_to_store(visitor, token),
        request_id=request_id_of(request),
        channel=channel_of(request),
    )
    run = await started(services, asked, uses_of(services.limits, address_of(request), asked))
    if wants_events(request):
        return sse.stream(sse.follow(run, 0, services.settings.heartbeat_seconds, token))
    await run.finished()
    return turn_response(run, token)


def uses_of(limits: TurnLimits, address: str, asked: Ask) -> list[Use]:
    """What a question counts against: its address first."""
    uses = [limits.of_address.use(address), limits.of_visitor.use(asked.visitor.id), limits.of_all.use()]
    return uses if asked.token_hash is None else [*uses, limits.sessions.use(address)]


async def started(services: Services, asked: Ask, uses: Sequence[Use]) -> TurnRun:
    """A question that begins no turn counts against nobody, except that one for what is not there counts against its
    address."""
    limiter, what = services.limiter, asked.idempotency[0] if asked.idempotency else asked.request_id
    with ExitStack() as place:
        place.callback(limiter.enter(asked.visitor.id, what, services.limits.at_once))
        await limiter.take(*uses)
        try:
            run = await services.assistant.start(asked)
        except (RequestError, StorageUnavailable) as error:
            await limiter.give_back(*uses[isinstance(error, RequestError) and error.status == 404 :])
            raise
        if run.task is None:
            await limiter.give_back(*uses)
        else:
            leave = place.pop_all()
            run.task.add_done_callback(lambda _: leave.close())
    return run


def turn_response(run: TurnRun, token: str | None) -> Response[Any]:
    if run.error is not None:
        raise run.error
    assert run.turn is not None
    body = msgspec.json.encode(run.turn)
    if token is not None:
        body = b'{"token":' + msgspec.json.encode(token) + b"," + body[1:]
    return Response(body, media_type="application/json")


def page_of(data: AskRequest) -> dict[str, str]:
    if data.page is None:
        return {}
    given = {"url": data.page.url, "title": data.page.title}
    return {name: storable(text, f"page.{name}")[:MAX_PAGE_TEXT] for name, text in given.items() if text.strip()}


def idempotency_key(request: Request[Any, Any, Any], key: str | None) -> str | None:
    if key is None:
        return None
    if not key.strip() or len(key) > MAX_IDEMPOTENCY_KEY or not key.isascii() or not key.isprintable():
        detail = f"`Idempotency-Key` must have 1 to {MAX_IDEMPOTENCY_KEY} printable ASCII characters."
        raise RequestError(400, "idempotency_key_invalid", detail, field="Idempotency-Key")
    if bearer(request) is None:
        detail = "`Idempotency-Key` needs a session token: open a session first."
        raise RequestError(400, "idempotency_needs_token", detail, field="Idempotency-Key")
    return key


def body_hash(data: AskRequest) -> str:
    return hashlib.sha256(msgspec.json.encode(data)).hexdigest()


async def asking_visitor(
    request: Request[Any, Any, Any], services: Services, conversation_id: str | None
) -> tuple[Visitor, str | None]:
    """The visitor, and the token of a session that this request opens. No token gives no access to a conversation."""
    if conversation_id is not None and not may_be_id(conversation_id):
        raise no_conversation()
    visitor = await visitor_of(request)
    if visitor is not None:
        return visitor, None
    if conversation_id is not None:
        raise no_conversation()
    return newcomer()


def no_conversation() -> RequestError:
    return RequestError(404, "conversation_not_found", "There is no such conversation.")


def no_turn() -> RequestError:
    return RequestError(404, "turn_not_found", "There is no such turn.")


@get(
    "/v1/turns/{turn_id:str}/events",
    media_type="text/event-stream",
    security=VISITOR_ONLY,
    responses=problems(401, 404, 503),
)
async def events(
    request: Request[Any, Any, Any],
    turn_id: FromPath[str],
    last_event_id: Annotated[str | None, HeaderParameter(name="Last-Event-ID", required=False)] = None,
) -> Stream:
    """Replays what came after `Last-Event-ID`, then goes on live. A turn that ended long ago gives its `done`."""
    services = services_of(request)
    visitor = await required_visitor(request)
    after, heartbeat = event_number(last_event_id), services.settings.heartbeat_seconds
    stored = await own_stored(request, turn_id, visitor)
    run = services.runs.get(turn_id)
    if run is not None and may_follow(run, stored, visitor, services):
        return sse.stream(sse.follow(run, after, heartbeat))
    visible = partial(visible_turn, snapshot=services.retriever.current(), roles=frozenset(visitor.roles))
    return sse.stream(sse.stored_end(visible(stored), after, heartbeat, services.store, visible))


def may_follow(run: TurnRun, stored: StoredTurn, visitor: Visitor, services: Services) -> bool:
    """Whether nothing in the turn's events is for other roles than the visitor has now."""
    snapshot, roles = services.retriever.current(), frozenset(visitor.roles)
    same = visible_turn(stored, snapshot, roles) is stored.turn and names_readable_only(stored, snapshot, roles)
    return run.roles <= roles and same


def event_number(text: str | None) -> int:
    """What is no number of an event means from the beginning."""
    return int(text) if text and len(text) < 10 and text.isascii() and text.isdigit() else 0


async def own_stored(request: Request[Any, Any, Any], turn_id: str, visitor: Visitor) -> StoredTurn:
    """Raises RequestError 404 to a stranger."""
    stored = await services_of(request).store.turn(turn_id, visitor.id) if may_be_id(turn_id) else None
    if stored is None:
        raise no_turn()
    return stored


async def own_turn(request: Request[Any, Any, Any], turn_id: str, visitor: Visitor) -> Turn:
    """As the visitor may see it now."""
    stored = await own_stored(request, turn_id, visitor)
    return visible_turn(stored, services_of(request).retriever.current(), frozenset(visitor.roles))


@post("/v1/turns/{turn_id:str}/stop", status_code=200, security=VISITOR_ONLY, responses=problems(401, 404, 415, 503))
async def stop(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> Turn:
    """Stops a running turn, the model call included, and gives the turn as it then is."""
    services = services_of(request)
    visitor = await required_visitor(request)
    stored = await own_stored(request, turn_id, visitor)
    run = services.runs.get(turn_id)
    if run is not None:
        services.runs.stop(run)
        await run.finished()
    elif stored.turn.status == "running":
        await stop_elsewhere(services, turn_id, visitor)
    return await own_turn(request, turn_id, visitor)


async def stop_elsewhere(services: Services, turn_id: str, visitor: Visitor) -> None:
    """Another process runs the turn: it looks for such requests twice a second. Returns once it has ended the turn, at
    the latest after STOP_SECONDS; what is stored then says how it is."""
    await services.store.request_stop(turn_id, visitor.id)
    for _ in range(int(STOP_SECONDS / STOP_POLL)):
        await asyncio.sleep(STOP_POLL)
        stored = await services.store.turn(turn_id, visitor.id)
        if stored is None or stored.turn.status != "running":
            return
