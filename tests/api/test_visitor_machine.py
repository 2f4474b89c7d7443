"""Visitors who ask, ask again, come back, stop, sign in and out and are erased, while articles change hands: whatever
the order, no turn is lost or there twice, nobody is shown what is not for them now, sources were found, and what was
erased is nowhere. A state machine against a running server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx2
import pytest
from help_centre import article
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from model_replies import answering, calls
from refdesk_server import STAFF_KEY, RefdeskServer
from test_identity import claims, signed
from turn_events import Event, EventReader, asked, resumed

from scripted_api import Answer, ScriptedModel, answer_of

READERS = {"public": None, "signed-in": "signed-in", "partner": "partner", "staff": "staff"}
HIDDEN = ("vault", "depot")
"""Articles that change hands; a question always concerns both."""
SENTENCE = re.compile(r"The (vault|depot) opens at (\d+) with C_(VAULT|DEPOT)\.")
SLOWLY, BRIEFLY = "Please think slowly.", "Please be brief."
PORTER = "Ask the porter when the vault opens and when the depot opens."
NAMES = count(1)
ENDED = {"answered", "insufficient", "evidence", "stopped"}


def hidden_article(name: str, hour: int, audience: str) -> str:
    text = f"The {name} opens at {hour} with C_{name.upper()}."
    return article(f"T_{name.upper()} hours", text, audience=f"[{audience}]")


def reply(body: dict[str, Any]) -> Answer:
    """Opens both articles, whoever asks, then says and quotes whatever it was given of them; briefly, it says what the
    search found besides them."""
    last = json.dumps(body["messages"][-1])
    if SLOWLY in last:
        return Answer(hold_head=True, ending="silence")
    if BRIEFLY in last:
        stated = [{"text": PORTER, "kind": "fact", "source_id": "porter", "quote": PORTER}]
        return answer_of(answering(f"{PORTER} ([there](doc:porter))", *stated))
    if "tool_result" not in last:
        return answer_of(calls(*(("get_document", {"id": name}) for name in HIDDEN)))
    given = {match[1]: match[0] for match in SENTENCE.finditer(last)}
    stated = [{"text": said, "kind": "fact", "source_id": name, "quote": said} for name, said in given.items()]
    text = " ".join(f"{said} ([there](doc:{name}))" for name, said in given.items())
    outcome = "answered" if given else "insufficient"
    return answer_of(answering(text or "Nobody told me.", *stated, outcome=outcome))


class Person:
    """Who owns conversations: a browser, or somebody who was vouched for."""

    def __init__(self) -> None:
        self.conversations: dict[str, list[str]] = {}
        self.keyed: dict[str, tuple[dict[str, Any], str]] = {}
        """Body and turn by Idempotency-Key."""
        self.questions: dict[str, str] = {}
        """By turn."""


class Session:
    def __init__(self, token: str, person: Person, roles: frozenset[str]) -> None:
        self.token, self.person, self.roles = token, person, roles


class Visitors(RuleBasedStateMachine):
    sessions = Bundle("sessions")

    def __init__(self, server: RefdeskServer, client: httpx2.Client) -> None:
        super().__init__()
        self._name = f"{next(NAMES)}"
        self._server, self._client = server, client
        self._people: dict[str, Person] = {}
        self._open: list[Session] = []
        self._hours = dict.fromkeys(HIDDEN, 7)
        self._audience = dict.fromkeys(HIDDEN, "")
        self._number = 0
        self._erased: list[str] = []

    # --- what the machine knows ---

    def _secrets(self, session: Session) -> list[str]:
        """What must not be shown to the session now."""
        return [f"{tag}_{name.upper()}" for name in HIDDEN for tag in "CT" if not self._may_read(session, name)]

    def _may_read(self, session: Session, name: str) -> bool:
        wanted = READERS[self._audience[name]]
        return wanted is None or wanted in session.roles

    def _shown(self, session: Session, text: str) -> None:
        assert not [word for word in self._secrets(session) if word in text], text

    def _request(self, session: Session | None, method: str, path: str, **more: Any) -> httpx2.Response:
        token = STAFF_KEY if session is None else session.token
        headers = {"authorization": f"Bearer {token}", **more.pop("headers", {})}
        answer = self._client.request(method, path, headers=headers, **more)
        if session is not None:
            self._shown(session, answer.text)
        return answer

    # --- who there is ---

    @initialize()
    def begin(self) -> None:
        for name in HIDDEN:
            self._publish(name, self._hours[name], "public")
        self._sync()

    @rule(target=sessions)
    def come(self) -> Session:
        return self._opened(self._server.token(), Person(), frozenset())

    @rule(
        target=sessions,
        subject=st.sampled_from(["ann", "bob"]),
        partner=st.booleans(),
        before=st.none() | consumes(sessions),
    )
    def sign_in(self, subject: str, partner: bool, before: Session | None) -> Any:
        """With the token of the session before, what the browser asked comes along, if nobody was signed in there."""
        subject += self._name
        identity = signed(claims(sub=subject, roles=["partner"] if partner else []))
        if before not in self._open:
            before = None
        headers = {} if before is None else {"authorization": f"Bearer {before.token}"}
        answer = self._client.post("/v1/session", json={"identity": identity}, headers=headers)
        assert answer.status_code == 201, answer.text
        person = self._people.setdefault(subject, Person())
        if before is not None and before.person not in self._people.values():
            person.conversations.update(before.person.conversations)
            person.questions.update(before.person.questions)
            before.person.conversations, before.person.questions, before.person.keyed = {}, {}, {}
        roles = frozenset({"signed-in", *(["partner"] if partner else [])})
        opened = self._opened(answer.json()["token"], person, roles)
        return opened if before is None else multiple(before, opened)

    def _opened(self, token: str, person: Person, roles: frozenset[str]) -> Session:
        session = Session(token, person, roles)
        self._open.append(session)
        return session

    # --- asking ---

    def _question(self, *more: str) -> str:
        self._number += 1
        return " ".join(("When does the vault open, and when the depot?", *more, f"M{self._name}x{self._number}"))

    def _body(self, session: Session, question: str, data: st.DataObject) -> dict[str, Any]:
        conversation = data.draw(st.sampled_from([None, *session.person.conversations]))
        return {"question": question, "conversation_id": conversation}

    def _keep(self, session: Session, turn: dict[str, Any]) -> None:
        session.person.conversations.setdefault(turn["conversation_id"], []).append(turn["id"])
        session.person.questions[turn["id"]] = turn["question"]
        found = self._request(None, "GET", f"/v1/console/turns/{turn['id']}").json()
        documents = {document["id"] for document in found["documents"]}
        assert {source["id"] for source in turn["sources"]} <= documents
        assert {claim["source_id"] for claim in turn["claims"]} <= {source["id"] for source in turn["sources"]}
        readable = [name for name in HIDDEN if self._may_read(session, name)]
        if turn["status"] == "answered" and turn["kind"] == "question":
            assert {source["id"] for source in turn["sources"] if source["show"]} <= {*readable, "porter"}

    @rule(session=sessions, keyed=st.booleans(), brief=st.booleans(), data=st.data())
    def ask(self, session: Session, keyed: bool, brief: bool, data: st.DataObject) -> None:
        if session not in self._open:
            return
        body = self._body(session, self._question(*[BRIEFLY] * brief), data)
        key = f"key-{self._number}"
        answer = self._request(session, "POST", "/v1/ask", json=body, headers={"idempotency-key": key} if keyed else {})
        assert answer.status_code == 200, answer.text
        turn = answer.json()
        assert turn["status"] in ENDED
        assert turn["question"] == body["question"]
        self._keep(session, turn)
        if keyed:
            session.person.keyed[key] = (body, turn["id"])

    @rule(session=sessions, brief=st.booleans(), data=st.data())
    def ask_for_a_stream(self, session: Session, brief: bool, data: st.DataObject) -> None:
        if session not in self._open:
            return
        body = self._body(session, self._question(*[BRIEFLY] * brief), data)
        headers = {"accept": "text/event-stream", "authorization": f"Bearer {session.token}"}
        with self._client.stream("POST", "/v1/ask", json=body, headers=headers) as response:
            events = list(EventReader(response))
        for event in events:
            self._shown(session, event.data)
        assert [event.name for event in events].count("done") == 1
        turn = events[-1].json
        told = "".join(event.json["text"] for event in events if event.name == "delta")
        assert turn.get("replaced") or turn["answer"].startswith(told)
        turn.pop("replaced", None)
        assert self._request(session, "GET", f"/v1/turns/{turn['id']}").json() == turn
        self._keep(session, turn)

    @rule(session=sessions, data=st.data())
    def ask_again(self, session: Session, data: st.DataObject) -> None:
        """With the same key: the same turn, as it may be seen now; with another body it is refused."""
        if not session.person.keyed:
            return
        key = data.draw(st.sampled_from(sorted(session.person.keyed)))
        body, turn_id = session.person.keyed[key]
        again = self._request(session, "POST", "/v1/ask", json=body, headers={"idempotency-key": key})
        assert again.json() == self._request(session, "GET", f"/v1/turns/{turn_id}").json()
        other = {**body, "question": "Something else?"}
        refused = self._request(session, "POST", "/v1/ask", json=other, headers={"idempotency-key": key})
        assert refused.status_code == 422

    @rule(session=sessions, stranger=sessions, last=st.integers(0, 9), data=st.data())
    def come_back(self, session: Session, stranger: Session, last: int, data: st.DataObject) -> None:
        if not session.person.questions:
            return
        turns = [*session.person.questions]
        turn_id = data.draw(st.sampled_from([turns[-1], *turns]))
        told, since = self._resumed(session, turn_id, 0), self._resumed(session, turn_id, last)
        done = told[-1]
        assert done.name == "done"
        alone = [Event(str(last + 1), "done", done.data)]  # where the events are not for the visitor now
        assert since in ([event for event in told if int(event.id) > last], told[-1:], alone)
        now = self._request(session, "GET", f"/v1/turns/{turn_id}").json()
        assert {**done.json, "replaced": None} == {**now, "replaced": None}
        if stranger in self._open and stranger.person is not session.person:
            for method, path in (("GET", ""), ("GET", "/events"), ("POST", "/stop")):
                assert self._request(stranger, method, f"/v1/turns/{turn_id}{path}").status_code == 404

    def _resumed(self, session: Session, turn_id: str, last: int) -> list[Event]:
        with self._server.client(session.token) as client, resumed(client, turn_id, str(last)) as reader:
            events = list(reader)
        for event in events:
            self._shown(session, event.data)
        return events

    @rule(session=sessions, data=st.data())
    def stop(self, session: Session, data: st.DataObject) -> None:
        """While the model is silent; then once more, which changes nothing."""
        if session not in self._open:
            return
        body = self._body(session, self._question(SLOWLY), data)
        more = {} if body["conversation_id"] is None else {"conversation_id": body["conversation_id"]}
        with self._server.client(session.token) as client, asked(client, body["question"], **more) as reader:
            events = iter(reader)
            turn_id = next(events).json["turn_id"]
            stopped = self._request(session, "POST", f"/v1/turns/{turn_id}/stop").json()
            done = list(events)[-1].json
        assert stopped["status"] in ("stopped", "insufficient")
        assert {**done, "replaced": None} == {**stopped, "replaced": None}
        assert self._request(session, "POST", f"/v1/turns/{turn_id}/stop").json() == stopped
        self._keep(session, stopped)

    # --- articles change ---

    def _publish(self, name: str, hour: int, audience: str) -> None:
        self._hours[name], self._audience[name] = hour, audience
        (self._server.corpus / f"{name}.md").write_text(hidden_article(name, hour, audience), "utf-8")

    def _sync(self) -> None:
        answer = self._request(None, "POST", "/v1/console/sync", json={"wait": True})
        assert answer.status_code == 200, answer.text

    @rule(name=st.sampled_from(HIDDEN), audience=st.sampled_from(sorted(READERS)))
    def reclassify(self, name: str, audience: str) -> None:
        self._publish(name, self._hours[name], audience)
        self._sync()

    @rule(name=st.sampled_from(HIDDEN))
    def rewrite(self, name: str) -> None:
        self._publish(name, self._hours[name] + 1, self._audience[name])
        self._sync()

    # --- erasing ---

    @rule(session=sessions, data=st.data())
    def erase_a_conversation(self, session: Session, data: st.DataObject) -> None:
        if not session.person.conversations:
            return
        conversation = data.draw(st.sampled_from(sorted(session.person.conversations)))
        answer = self._request(session, "DELETE", f"/v1/conversations/{conversation}")
        assert answer.status_code == 204
        self._forget(session.person, session.person.conversations.pop(conversation))
        assert self._request(session, "DELETE", f"/v1/conversations/{conversation}").status_code == 404

    @rule(session=consumes(sessions))
    def erase_a_person(self, session: Session) -> None:
        """Every session of theirs ends with them."""
        if session not in self._open:
            return
        person = session.person
        assert self._request(session, "DELETE", "/v1/me").status_code == 204
        for other in [other for other in self._open if other.person is person]:
            assert self._request(other, "GET", "/v1/me/export").status_code == 401
            self._open.remove(other)
            other.person = Person()
        self._forget(person, [turn_id for turns in person.conversations.values() for turn_id in turns])
        self._people = {subject: known for subject, known in self._people.items() if known is not person}

    def _forget(self, person: Person, turns: list[str]) -> None:
        for turn_id in turns:
            marker = person.questions.pop(turn_id).split()[-1]
            self._erased.append(marker)
            assert self._request(None, "GET", f"/v1/console/turns/{turn_id}").status_code == 404
            found = self._request(None, "GET", "/v1/console/conversations", params={"q": marker}).json()
            assert found["conversations"] == []
        person.keyed = {key: asked for key, asked in person.keyed.items() if asked[1] in person.questions}

    # --- what is always so ---

    @invariant()
    def everybody_has_exactly_their_own(self) -> None:
        for session in self._open:
            answer = self._request(session, "GET", "/v1/me/export")
            assert answer.status_code == 200, answer.text
            told = {
                conversation["id"]: [turn["id"] for turn in conversation["turns"]]
                for conversation in answer.json()["conversations"]
            }
            assert told == session.person.conversations
            for conversation in answer.json()["conversations"]:
                for turn in conversation["turns"]:
                    assert turn["question"] == session.person.questions[turn["id"]]

    def teardown(self) -> None:
        rows = [json.loads(line) for line in self._request(None, "GET", "/v1/console/export.jsonl").text.splitlines()]
        ours = [row for row in rows if f"M{self._name}x" in row["question"]]
        asked_for = [turn_id for person in self._everybody() for turn_id in person.questions]
        assert sorted(row["turn_id"] for row in ours) == sorted(asked_for)
        kept = json.dumps(ours)
        assert not [marker for marker in self._erased if f'{marker}"' in kept]
        for person in self._everybody():
            for conversation in person.conversations:
                self._request(None, "GET", f"/v1/console/conversations/{conversation}")

    def _everybody(self) -> list[Person]:
        found = [*self._people.values(), *(session.person for session in self._open)]
        return list({id(person): person for person in found}.values())


@pytest.fixture(scope="module")
def played(
    tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel
) -> Iterator[tuple[RefdeskServer, httpx2.Client]]:
    server = RefdeskServer(tmp_path_factory.mktemp("played"), shared_model.url, REFDESK_TURNS_AT_ONCE="0")
    (server.corpus / "porter.md").write_text(article("Opening hours", PORTER), "utf-8")
    for name in HIDDEN:
        (server.corpus / f"{name}.md").write_text(hidden_article(name, 7, "public"), "utf-8")
    server.start()
    shared_model.choose(reply)
    with server.client() as client:
        yield server, client
    assert server.stop() == 0
    assert not [record for record in server.log_records() if record["level"] in ("error", "critical")]


def play(played: tuple[RefdeskServer, httpx2.Client], examples: int, steps: int, *, same: bool) -> None:
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        phases=[Phase.generate],  # a story that fails is told as it was: making it shorter takes minutes
        derandomize=same,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Visitors(*played), settings=chosen)  # type: ignore[no-untyped-call]


def test_visitors_in_any_order(played: tuple[RefdeskServer, httpx2.Client]) -> None:
    play(played, 10, 25, same=True)


@pytest.mark.long
def test_visitors_in_any_order_for_long(played: tuple[RefdeskServer, httpx2.Client]) -> None:
    play(played, 100, 50, same=False)
