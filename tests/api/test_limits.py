"""Rate limits: what is one client, what it is told, and that neither a restart nor a second server opens anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
from model_replies import refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer
from turn_events import asked

from postgres_fixtures import empty_postgres_url, postgres_server, postgres_template, postgres_url
from refdesk.api import background
from refdesk.api.limits import Limit, Limiter, client_key
from refdesk.domain.windows import Use
from refdesk.errors import RequestError
from scripted_api import Answer, ScriptedModel, answer_of

__all__ = ["empty_postgres_url", "postgres_server", "postgres_template", "postgres_url"]

QUESTION = {"question": "When are refunds issued?"}
LIMITED = {"REFDESK_RATE_LIMITS": "on", "REFDESK_TURNS_PER_VISITOR": "5", "REFDESK_TURNS_PER_ADDRESS": "20"}


class Full:
    """RateWindows in which nothing is left."""

    def __init__(self, wait: float) -> None:
        self.wait = wait
        self.taken: list[Use] = []

    async def open(self) -> None: ...
    async def take(self, uses: list[Use]) -> float:
        self.taken += uses
        return self.wait if uses else 0.0

    async def give_back(self, uses: list[Use]) -> None: ...
    async def sweep(self) -> None: ...
    async def close(self) -> None: ...


async def test_windows_are_swept_while_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    swept = asyncio.Event()

    class Sweeping(Full):
        async def sweep(self) -> None:
            swept.set()

    monkeypatch.setattr(background, "LOOK_EVERY_S", 0.001)
    services: Any = SimpleNamespace(limiter=Limiter(Sweeping(0.0), enabled=False))
    job = asyncio.create_task(background.sweep_limits(services))
    await asyncio.wait_for(swept.wait(), 10)
    job.cancel()
    assert background.sweep_limits in background.JOBS


@pytest.mark.parametrize(("wait", "told"), [(0.001, 1), (1.0, 1), (1.01, 2), (59.2, 60), (60.0, 60)])
async def test_a_client_is_told_in_whole_seconds_when_to_come_back(wait: float, told: int) -> None:
    with pytest.raises(RequestError) as refused:
        await Limiter(Full(wait), enabled=True).take(Limit("any", 1).use("a"))
    assert (refused.value.status, refused.value.code, refused.value.retry_after) == (429, "rate_limited", told)


async def test_what_is_switched_off_or_without_a_limit_refuses_nothing() -> None:
    await Limiter(Full(9), enabled=False).take(Limit("any", 1).use("a"))
    await Limiter(Full(9), enabled=True).take(Limit("any", 0).use("a"))


async def test_no_address_and_no_name_is_handed_to_the_store() -> None:
    windows = Full(0)
    await Limiter(windows, enabled=True).take(Limit("any", 1).use("192.0.2.77 admin"), Limit("other", 1).use("a"))
    assert len({use.key for use in windows.taken}) == 2
    assert not any("192" in use.key or "admin" in use.key for use in windows.taken)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("2001:DB8:1:2::1", "2001:db8:1:2:0::9", True),
        ("unknown", "unknown", True),
    ],
)
def test_one_client_is_an_ipv4_address_or_a_network_of_64_bits(one: str, other: str, same: bool) -> None:
    assert (client_key(one) == client_key(other)) is same


# --- through the server ----------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgresql"])
def limited(request: pytest.FixtureRequest, new_server: Callable[..., RefdeskServer]) -> Callable[..., RefdeskServer]:
    """Makes servers with limits; those on PostgreSQL share one database."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""

    def make(**settings: str) -> RefdeskServer:
        return new_server(**{**LIMITED, "REFDESK_DATABASE_URL": url, **settings}).start()

    return make


def ask(client: httpx2.Client, **headers: str) -> httpx2.Response:
    return client.post("/v1/ask", json=QUESTION, headers=headers)


def refused(response: httpx2.Response, code: str = "rate_limited", *, most: int = 60) -> bool:
    """Whether it was, and properly so."""
    if response.status_code == 200:
        return False
    assert (response.status_code, response.json()["code"]) == (429, code)
    assert 1 <= int(response.headers["retry-after"]) <= most
    return True


def test_a_visitor_an_address_all_and_failed_sign_ins_have_limits_that_a_restart_keeps(
    limited: Callable[..., RefdeskServer],
) -> None:
    server = limited(REFDESK_TURNS_PER_MINUTE="30", REFDESK_TRUSTED_PROXIES="127.0.0.1")
    tokens = [server.token() for _ in range(2)]
    wrong = {"name": "nobody", "password": "not the right one"}
    with server.client(tokens[0]) as visitor, server.client() as nobody:
        assert [refused(ask(visitor)) for _ in range(6)] == [False] * 5 + [True]
        assert refused(ask(visitor, accept="text/event-stream"))
        assert [nobody.post("/v1/console/login", json=wrong).status_code for _ in range(5)] == [401] * 5
    server.stop()
    server.start()
    with server.client(tokens[0]) as visitor, server.client() as nobody:
        assert refused(ask(visitor))
        assert refused(nobody.post("/v1/console/login", json=wrong), most=300)
        assert [refused(ask(nobody)) for _ in range(16)] == [False] * 15 + [True]
        elsewhere = [ask(nobody, **{"x-forwarded-for": f"198.51.100.{number}"}) for number in range(12)]
        assert [refused(answer) for answer in elsewhere] == [False] * 10 + [True] * 2
    with server.client(tokens[1]) as visitor:
        assert refused(ask(visitor))
        assert visitor.get("/v1/articles").status_code == 200


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    """A server whose tests come from an address each."""
    settings = {**LIMITED, "REFDESK_TURNS_PER_ADDRESS": "6", "REFDESK_TRUSTED_PROXIES": "127.0.0.1"}
    started = RefdeskServer(tmp_path_factory.mktemp("limited"), shared_model.url, **settings).start()
    yield started
    started.kill()


def test_what_began_nothing_counts_against_nobody(behind_proxy: RefdeskServer) -> None:
    with behind_proxy.client(behind_proxy.token(), **{"x-forwarded-for": "198.51.100.1"}) as visitor:
        answers = [ask(visitor, **{"Idempotency-Key": "again"}) for _ in range(10)]
        assert {answer.json()["id"] for answer in answers} == {answers[0].json()["id"]}
        assert [refused(ask(visitor)) for _ in range(5)] == [False] * 4 + [True]


def test_what_is_refused_asks_no_model(behind_proxy: RefdeskServer, model: ScriptedModel) -> None:
    """As many calls as questions that were let in, and none for those above."""
    model.script(refund_answer())
    with behind_proxy.client(behind_proxy.token(), **{"x-forwarded-for": "198.51.100.3"}) as visitor:
        assert [refused(ask(visitor)) for _ in range(8)] == [False] * 5 + [True] * 3
    assert len(model.bodies) == 5


def test_whoever_tries_ids_of_conversations_is_limited_by_address(behind_proxy: RefdeskServer) -> None:
    with behind_proxy.client(behind_proxy.token(), **{"x-forwarded-for": "198.51.100.2"}) as visitor:
        bodies = [{**QUESTION, "conversation_id": f"c_{number}"} for number in range(10)]
        assert [visitor.post("/v1/ask", json=body).status_code for body in bodies] == [404] * 6 + [429] * 4


def searches(server: RefdeskServer, *, sender: str, token: str | None = None) -> list[bool]:
    """Whether each of four was refused."""
    with server.client(token, **{"x-forwarded-for": sender}) as client:
        return [refused(client.get("/v1/search", params={"q": "refunds"})) for _ in range(4)]


def test_searches_of_an_address_have_a_limit_of_their_own_and_those_of_staff_have_none(
    new_server: Callable[..., RefdeskServer],
) -> None:
    two = {**LIMITED, "REFDESK_SEARCHES_PER_MINUTE": "2", "REFDESK_TRUSTED_PROXIES": "127.0.0.1"}
    server = new_server(**two).start()
    assert searches(server, sender="198.51.100.7") == [False, False, True, True]
    assert searches(server, sender="198.51.100.7", token=server.token()) == [True] * 4
    assert searches(server, sender="198.51.100.7", token=STAFF_KEY) == [False] * 4
    assert searches(server, sender="198.51.100.8") == [False, False, True, True]
    assert searches(server, sender="2001:db8:7:8::1") == [False, False, True, True]
    assert searches(server, sender="2001:db8:7:8::2") == [True] * 4
    with server.client(**{"x-forwarded-for": "198.51.100.7"}) as visitor:
        assert not refused(ask(visitor))
        assert visitor.get("/v1/search", params={"q": " "}).status_code == 400
    server.stop()
    server.environment["REFDESK_RATE_LIMITS"] = "off"
    server.start()
    assert searches(server, sender="198.51.100.7") == [False] * 4


def test_servers_on_one_database_have_their_limits_together(
    new_server: Callable[..., RefdeskServer], postgres_url: str
) -> None:
    one, other = (new_server(**LIMITED, REFDESK_DATABASE_URL=postgres_url).start() for _ in range(2))
    token = one.token()
    with one.client(token) as first, other.client(token) as second:
        assert [refused(ask(client)) for client in (first, second) * 3] == [False] * 5 + [True]
    with ThreadPoolExecutor(8) as pool, one.client() as first, other.client() as second:
        statuses = list(pool.map(lambda number: ask((first, second)[number % 2]).status_code, range(24)))
    assert sorted(statuses) == [200] * 15 + [429] * 9
    shared = next(one.log_records("the database may be shared"))
    assert not any("rate" in name or "sign-ins" in name for name in shared["per_process"])


@pytest.fixture
def held(model: ScriptedModel) -> Iterator[threading.Event]:
    """Answers of the model end when it is set."""
    event = threading.Event()
    whole = answer_of(refund_answer())
    model.script(Answer((*whole.chunks[:-1], event, whole.chunks[-1])))
    yield event
    event.set()


def test_two_questions_of_a_visitor_are_answered_at_once_and_no_third(
    new_server: Callable[..., RefdeskServer], model: ScriptedModel, held: threading.Event
) -> None:
    server = new_server(model.url, REFDESK_RATE_LIMITS="on", REFDESK_TURN_SECONDS="30", REFDESK_IDLE_SECONDS="20")
    server.start()
    question = QUESTION["question"]
    with server.client(server.token()) as visitor, server.client() as other:
        with asked(visitor, question) as one, asked(visitor, question) as two:
            assert next(iter(one)).name == next(iter(two)).name == "accepted"
            assert all(refused(ask(visitor), "too_many_at_once") for _ in range(8))
            with asked(other, question) as free:
                assert next(iter(free)).name == "accepted"
            held.set()
            assert [list(reader)[-1].name for reader in (one, two)] == ["done", "done"]
        assert not refused(ask(visitor))
