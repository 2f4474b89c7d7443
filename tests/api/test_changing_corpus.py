"""Articles that change while people ask, that are hostile, and that are very long."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from help_centre import article
from model_replies import answering, calls, tool_results
from refdesk_server import STAFF_KEY, RefdeskServer
from test_identity import claims, signed
from turn_events import all_events

from scripted_api import Answer, ScriptedModel, answer_of

QUESTION = "When are refunds issued?"
TITLE = "<img src=x onerror=alert(1)> *[x](javascript:y)* \"quoted\" & 'so'"
LONG = "".join(f"Row {n} of the endless register names its keeper. " for n in range(42_000))


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    server = RefdeskServer(tmp_path_factory.mktemp("changing"), shared_model.url, REFDESK_TURN_SECONDS="30")
    (server.corpus / "hostile.md").write_text(article(json.dumps(TITLE), "The zeppelin leaves at noon."), "utf-8")
    (server.corpus / "endless.md").write_text(article("Endless register", LONG), "utf-8")
    server.start()
    yield server
    assert server.stop() == 0


def quoting(body: dict[str, Any]) -> Answer | None:
    """Answers with the sentence that the request holds, whichever it is by then."""
    found = re.search(r"Refunds are issued within (\d+) days\.", json.dumps(body["messages"]))
    if found is None:
        return None
    claim = {"text": found[0], "kind": "fact", "source_id": "refunds", "quote": found[0]}
    return answer_of(answering(f"{found[0]} ([Refunds](doc:refunds))", claim))


def test_a_turn_sees_one_version_from_its_search_to_its_source(
    changing: RefdeskServer, shared_model: ScriptedModel
) -> None:
    shared_model.choose(quoting)
    days_of: dict[str, str] = {}
    changed = threading.Event()

    def change(staff: httpx2.Client, days: int) -> None:
        text = article("Refunds", f"Refunds are issued within {days} days.")
        (changing.corpus / "refunds.md").write_text(text, "utf-8")
        report = staff.post("/v1/console/sync", json={"wait": True})
        assert report.status_code == 200, report.text
        days_of[staff.get("/v1/articles/refunds").json()["version"]] = str(days)

    def ask(_: int) -> list[dict[str, Any]]:
        asked: list[dict[str, Any]] = []
        with changing.client(changing.token()) as client:
            while not changed.is_set() or len(asked) < 5:
                asked.append(client.post("/v1/ask", json={"question": QUESTION}).json())
        return asked

    with changing.client(STAFF_KEY) as staff, ThreadPoolExecutor(4) as pool:
        change(staff, 20)
        asking = [pool.submit(ask, number) for number in range(4)]
        try:
            for days in range(21, 41):
                change(staff, days)
        finally:
            changed.set()
        turns = [turn for done in asking for turn in done.result(120)]
    for turn in turns:
        assert turn["status"] == "answered", turn
        (source,), (claim,) = turn["sources"], turn["claims"]
        days = days_of[source["version"]]
        assert claim["quote"] == source["excerpt"] == f"Refunds are issued within {days} days."
        assert f" {days} days" in turn["answer"]
    assert len({turn["sources"][0]["version"] for turn in turns}) > 1


def test_a_hostile_title_stays_a_title(changing: RefdeskServer, shared_model: ScriptedModel) -> None:
    shared_model.script(
        calls(("list_articles", {})),
        answering(f"[It leaves at noon](doc:hostile), see [{TITLE}] and ![a](doc:hostile)."),
    )
    with changing.client(changing.token()) as client:
        events = all_events(client, "When does the zeppelin leave?")
        turn = events[-1].json
        listed = {item["id"]: item["title"] for item in client.get("/v1/articles").json()["articles"]}
        found = client.get("/v1/search?q=zeppelin").json()["passages"][0]
        pages = [client.get(path).text for path in ("/articles", "/articles/hostile")]
    assert listed["hostile"] == found["title"] == TITLE
    assert [(source["id"], source["title"]) for source in turn["sources"]] == [("hostile", TITLE)]
    assert set(re.findall(r'href="([^"]*)"', turn["answer_html"])) == {"/articles/hostile"}
    for html in (*pages, turn["answer_html"]):
        assert "<img" not in html
        assert "javascript:" not in "".join(re.findall(r'(?:href|src)="([^"]*)"', html))
    told = [item["title"] for event in events if event.name == "step" for item in event.json["articles"]]
    assert TITLE in told


def test_a_name_with_quotes_is_served_and_deleted_like_any_other(
    changing: RefdeskServer, shared_model: ScriptedModel
) -> None:
    """What is deleted answers nothing any more, neither in a new conversation nor in the one that knew it."""
    path = changing.corpus / 'Chef\'s "notes".md'
    title, words = 'Chef\'s "notes"', "The souffle rises for 25 minutes."
    path.write_text(article(json.dumps(title), words, audience="[signed-in]"), "utf-8")
    with (
        changing.client(changing.token(signed(claims()))) as client,
        changing.client(changing.token()) as nobody,
        changing.client(STAFF_KEY) as staff,
    ):
        assert staff.post("/v1/console/sync", json={"wait": True}).json()["added"] == ["chef-s-notes"]
        found = client.get("/v1/search", params={"q": "souffle"}).json()["passages"]
        assert [(one["id"], one["title"]) for one in found] == [("chef-s-notes", title)]
        assert nobody.get("/v1/search", params={"q": "souffle"}).json()["passages"] == []
        shared_model.script(calls(("get_document", {"id": "chef-s-notes"})), answering(f"[{title}](doc:chef-s-notes)."))
        first = client.post("/v1/ask", json={"question": "How long does the souffle rise?"}).json()
        assert [(source["id"], source["title"]) for source in first["sources"]] == [("chef-s-notes", title)]
        assert client.get(first["sources"][0]["url"]).status_code == 200
        path.unlink()
        assert staff.post("/v1/console/sync", json={"wait": True}).json()["removed"] == ["chef-s-notes"]
        again = {"question": "How long does the souffle rise?"}
        for more in ({}, {"conversation_id": first["conversation_id"]}):
            shared_model.script(calls(("get_document", {"id": "chef-s-notes"})), answering("25 minutes."))
            turn = client.post("/v1/ask", json={**again, **more}).json()
            assert (turn["sources"], turn["evidence"], turn["suggestions"]) == ([], [], [])
            assert words not in json.dumps(shared_model.bodies)
        for place in ("/v1/articles/chef-s-notes", "/articles/chef-s-notes"):
            assert client.get(place).status_code == 404
        assert client.get("/v1/search", params={"q": "souffle"}).json()["passages"] == []
        assert "chef-s-notes" not in client.get("/v1/articles").text
        seen = staff.get(f"/v1/console/turns/{first['id']}").json()
        assert (seen["sources"][0]["title"], seen["changed_since"]) == (title, {"chef-s-notes": "deleted"})


def test_two_megabytes_are_handed_over_in_parts(changing: RefdeskServer, shared_model: ScriptedModel) -> None:
    wanted: list[tuple[str, dict[str, Any]]] = [("get_document", {"id": "endless", "part": n}) for n in (1, 2, 88)]
    told = {"text": "Row 40000 has a keeper.", "kind": "fact", "source_id": "endless"}
    true = {**told, "text": "Row 5 has a keeper.", "quote": "Row 5 of the endless register names its keeper."}
    false = {**told, "quote": "Row 40000 of the endless register names its keeper."}
    shared_model.script(
        calls(*wanted), answering("[Kept](doc:endless).", true, false), answering("[Kept](doc:endless).", true)
    )
    with changing.client(changing.token()) as client:
        turn = client.post("/v1/ask", json={"question": "Who keeps the rows of the endless register?"}).json()
    bodies = shared_model.bodies
    results = tool_results(bodies[1])
    parts = [str(result["content"]) for result in results if not result.get("is_error")]
    assert len(parts) >= 2
    assert all(len(part) <= 24_000 for part in parts)
    assert all(len(json.dumps(body)) < 400_000 for body in bodies)
    rejection = json.dumps(tool_results(bodies[2]))
    assert "claim 1" in rejection
    assert "not given" in rejection
    assert [claim["quote"] for claim in turn["claims"]] == [true["quote"]]
    assert [(source["id"], source["basis"]) for source in turn["sources"]] == [("endless", "part")]
