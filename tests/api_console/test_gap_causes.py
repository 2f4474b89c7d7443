"""Why gaps failed and where they are seen, with the real encoders and with a model that checks, on both databases.

Quick tests of what encoders make of questions: retrieval/test_gap_scope.py. A server's index takes half a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
from gap_parts import ask, eventually, fresh_database, gap_about, gaps, insufficient, refdesk, sync, write
from model_replies import answering, opens, refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer
from turn_events import asked

from refdesk.console_pages.texts import TEXTS
from scripted_api import Answer, ScriptedModel, opening

Make = Callable[..., RefdeskServer]
SERVER_ERROR = Answer((b"{}",), 400, {"content-type": "application/json"})
FAR = "What is the capital of Mongolia?"
SAME = ("Do you sell tickets for the museum?", "Prodáváte vstupenky do muzea?")


# --- out of scope, by the real encoders ---------------------------------------------------------


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Converted once for both databases."""
    return tmp_path_factory.mktemp("encoders")


@pytest.fixture(scope="module")
def seeing(
    tmp_path_factory: pytest.TempPathFactory, kind: str, encoders: Path, request: pytest.FixtureRequest
) -> Iterator[RefdeskServer]:
    """A server with search by meaning, which was asked FAR, SAME and nothing else."""
    with fresh_database(kind, request) as url:
        settings = {"REFDESK_DATABASE_URL": url, "REFDESK_DENSE": "on", "REFDESK_ENCODERS": str(encoders)}
        server = RefdeskServer(tmp_path_factory.mktemp("seeing"), **settings).start()
        server.await_vectors()
        for question in (FAR, *SAME):
            assert ask(server, question)["status"] == "insufficient"
        yield server
        server.kill()


@pytest.fixture
def reader(seeing: RefdeskServer) -> Iterator[httpx2.Client]:
    with seeing.client(STAFF_KEY) as client:
        yield client


@pytest.mark.long
def test_a_question_far_from_every_article_is_out_of_scope_and_counted(
    seeing: RefdeskServer, reader: httpx2.Client
) -> None:
    far = gap_about(reader, FAR, cause="out_of_scope")
    assert far["causes"] == {"out_of_scope": 1}
    assert far["id"] not in {gap["id"] for gap in gaps(reader)}
    listed = reader.get("/v1/console/gaps").json()
    assert listed["out_of_scope"] == len(gaps(reader, cause="out_of_scope")) >= 1
    told = f"{listed['out_of_scope']} out of scope, see them with: refdesk gaps --cause out_of_scope"
    assert told in refdesk(seeing, "gaps")
    assert FAR in refdesk(seeing, "gaps", "--cause", "out_of_scope")


@pytest.mark.long
def test_the_same_question_in_two_languages_is_one_gap(reader: httpx2.Client) -> None:
    def both() -> Any:
        everything = [*gaps(reader), *gaps(reader, cause="out_of_scope")]
        return next((gap for gap in everything if gap["count"] == len(SAME)), None)

    assert {question["text"] for question in eventually(both)["questions"]} == {*SAME}


@pytest.mark.long
def test_a_turn_tells_its_cause_and_that_of_the_queue(reader: httpx2.Client) -> None:
    far = gap_about(reader, FAR, cause="out_of_scope")
    asked = reader.get(f"/v1/console/gaps/{far['id']}").json()["asked"][0]
    own = reader.get(f"/v1/console/turns/{asked['turn_id']}").json()["gap_cause"]
    assert own in ("weak_evidence", "nothing_found")
    page = unescape(reader.get(f"/console/conversations/{asked['conversation_id']}").text)
    for name, cause in (("cause_then", own), ("cause_in_queue", "out_of_scope")):
        assert f"<dt>{TEXTS[name][0]}</dt><dd>{TEXTS['cause.' + cause][0]}" in page
    assert f'<a href="/console/gaps/{far["id"]}">' in page
    assert TEXTS["cause_looked_again"][0] in page


# --- out of scope, said by a person -------------------------------------------------------------


def test_an_empty_queue_says_what_it_leaves_out(new_server: Make, database_url: str, word: str) -> None:
    server = new_server(REFDESK_DATABASE_URL=database_url).start()
    with server.client(STAFF_KEY) as staff:
        assert staff.get("/v1/console/gaps").json() == {"gaps": [], "next_cursor": None, "out_of_scope": 0}
        assert "Nothing is asked for that was not answered." in refdesk(server, "gaps")
        ask(server, f"Where is the {word} moon?")
        gap = gap_about(staff, word)
        staff.patch(f"/v1/console/gaps/{gap['id']}", json={"cause": "out_of_scope"})
        assert staff.get("/v1/console/gaps").json() == {"gaps": [], "next_cursor": None, "out_of_scope": 1}
        assert staff.get("/v1/console/gaps", params={"status": "done"}).json()["out_of_scope"] == 0
        assert "None in scope; 1 out of scope, see them with: refdesk gaps --cause out_of_scope" in refdesk(
            server, "gaps"
        )
        for number, language in enumerate(("en", "ru", "cs")):
            for page in ("/console/gaps", "/console"):
                shown = staff.get(page, headers={"accept-language": language}).text
                assert TEXTS["none_in_scope"][number] in shown
                link = TEXTS["out_of_scope"][number].format(count=1)
                assert f'<a href="/console/gaps?cause=out_of_scope">{link}</a>' in shown
        assert word in staff.get("/console/gaps", params={"cause": "out_of_scope"}).text
        talk = staff.get(f"/v1/console/gaps/{gap['id']}").json()["asked"][0]["conversation_id"]
        page = unescape(staff.get(f"/console/conversations/{talk}").text)
        for name, cause in (("cause_then", gap["cause"]), ("cause_in_queue", "out_of_scope")):
            assert f"<dt>{TEXTS[name][0]}</dt><dd>{TEXTS['cause.' + cause][0]}" in page
        assert TEXTS["cause_looked_again"][0] in page


def test_a_gap_whose_words_are_found_but_not_covered_has_weak_evidence(
    new_server: Make, database_url: str, word: str
) -> None:
    server = new_server(REFDESK_DATABASE_URL=database_url).start()
    with server.client(STAFF_KEY) as staff:
        ask(server, f"Zyx {word} srqpo jklm refunds bananas?")
        assert gap_about(staff, word)["cause"] == "weak_evidence"


def test_a_gap_that_an_unread_article_answers_too_names_it(
    new_server: Make, shared_model: ScriptedModel, database_url: str, word: str
) -> None:
    """Twenty articles say the same, and no turn is handed as many."""
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=database_url).start()
    names = {f"{word}-{number}" for number in range(20)}
    for name in names:
        write(server, name, f"Paint {word} blue", f"Paint {word} blue with a brush.")
    with server.client(STAFF_KEY) as staff:
        sync(staff)
        shared_model.script(insufficient())
        turn = ask(server, f"How do I paint {word} blue?")
        gap = gap_about(staff, word)
        trail = staff.get(f"/v1/console/turns/{turn['id']}").json()
        read = {found["id"] for found in trail["documents"] if found["read"]}
        assert gap["cause"] == "missed"
        assert gap["nearest"][0]["id"] in names - read


def test_a_turn_that_its_visitor_stopped_is_no_gap(
    new_server: Make, shared_model: ScriptedModel, database_url: str, word: str
) -> None:
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=database_url).start()
    shared_model.script(Answer((opening(),), ending="pings"), insufficient())
    with server.client(STAFF_KEY) as staff, server.client(server.token()) as visitor:
        with asked(visitor, f"When are refunds issued, {word} stopped?") as reader:
            turn_id = next(iter(reader)).json["turn_id"]
            eventually(lambda: len(shared_model.bodies) == 1)
            assert visitor.post(f"/v1/turns/{turn_id}/stop").json()["status"] == "stopped"
        assert ask(server, f"When are refunds issued, {word} later?")["status"] == "insufficient"
        gap_about(staff, f"{word} later")
        texts = {question["text"] for gap in gaps(staff) for question in gap["questions"]}
        assert not any("stopped" in text for text in texts)


# --- checked again with a model -----------------------------------------------------------------


def test_a_model_confirms_that_an_article_answers(
    new_server: Make, shared_model: ScriptedModel, database_url: str, word: str
) -> None:
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=database_url, REFDESK_GAPS_MODEL="on").start()
    question = f"How do I connect a {word} printer?"
    with server.client(STAFF_KEY) as staff:
        shared_model.script()
        assert ask(server, question)["status"] == "insufficient"
        path = f"/v1/console/gaps/{gap_about(staff, word)['id']}"
        quote = f"Connect a {word} printer by cable."
        write(server, word, f"{word} printers", quote)
        before = len(shared_model.bodies)
        shared_model.script(insufficient("which cable"))
        sync(staff)
        eventually(lambda: len(shared_model.bodies) > before)
        assert question in str(shared_model.bodies[before]), "the model is asked what the visitor asked"

        def checked(*script: Any) -> Any:
            shared_model.script(*script)
            return staff.post(f"{path}/check").json()["answered_by"]

        assert checked(insufficient("which cable")) is None, "the search finds an article, and the model denies it"
        assert checked(SERVER_ERROR) is None, "a model that fails confirms nothing"
        claim = {"text": quote, "kind": "fact", "source_id": word, "quote": quote}
        confirmed = checked(answering(f"By cable ([it](doc:{word})).", claim))
        assert (confirmed["article_id"], confirmed["by"]) == (word, "model")
        assert staff.get(path).json()["answered_by"] == confirmed
        turns = [line for line in staff.get("/v1/console/export.jsonl").text.splitlines() if word in line]
        assert len(turns) == 1, "a check is no turn of anybody"
        assert staff.get(path).json()["count"] == 1


# --- articles by day ----------------------------------------------------------------------------


def test_an_article_is_counted_by_day_and_language_as_far_as_it_came(
    new_server: Make, shared_model: ScriptedModel, database_url: str
) -> None:
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=database_url).start()
    shared_model.script(refund_answer())
    assert ask(server, "When are refunds issued?")["status"] == "answered"
    with server.client(STAFF_KEY) as staff:
        (first,) = staff.get("/v1/console/articles/refunds/days").json()["days"]
        day = str(first["day"])
        expected = {"found": 1, "read": 1, "cited": 1, "listed": 0, "shown": 1, "failed": 0, "language": "en"}
        assert {name: first[name] for name in expected} == expected
        shared_model.script(opens("refunds"), insufficient())
        ask(server, "When are refunds issued?", token=STAFF_KEY)
        shared_model.script(opens("refunds"), insufficient())
        ask(server, "When are refunds issued under billing?")
        shared_model.script(opens("refunds"), insufficient())
        ask(server, "Kdy budou refunds issued podle billing, prosím?")
        days = staff.get("/v1/console/articles/refunds/days").json()["days"]
        counted = {row["language"]: row for row in days}
        assert {row["day"] for row in days} == {day}
        assert [counted["en"][name] for name in ("found", "read", "opened", "cited", "failed")] == [2, 2, 1, 1, 1]
        assert [counted["cs"][name] for name in ("found", "opened", "failed")] == [1, 1, 1]
        whole = {"from": day, "to": day}
        assert staff.get("/v1/console/articles/refunds/days", params=whole).json()["days"] == days
        earlier = {"from": "2020-01-01", "to": "2020-12-31"}
        assert staff.get("/v1/console/articles/refunds/days", params=earlier).json()["days"] == []
        assert staff.get("/v1/console/articles/nothing/days").json()["days"] == []
        assert staff.get("/v1/console/articles/refunds/days", params={"from": "yesterday"}).status_code == 400
