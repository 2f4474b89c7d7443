"""Writes pictures of the console into server/screenshots/ (run by hand, look at them, commit them).

python tests/browser_console/take_screenshots.py: our own help centre, a log of questions that were thought up, and one
conversation with a scripted model.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), *(str(TESTS / name) for name in ("api", "api_console", "browser", "browser_console"))]

from chromium import LAUNCH  # noqa: E402
from model_replies import answering, opens  # noqa: E402
from people import ask, new_account  # noqa: E402
from playwright.sync_api import Page, sync_playwright  # noqa: E402
from refdesk_server import STAFF_KEY, RefdeskServer  # noqa: E402
from signing_in import sign_in  # noqa: E402

from full_log import Known, fill, known_articles  # noqa: E402
from scripted_api import ScriptedModel, scripted_model  # noqa: E402

FOLDER = TESTS.parent / "server" / "screenshots"
CORPUS = TESTS.parent / "corpus"
ANSWERED = (
    "How do I put the widget on my page?", "Which languages does it answer in?", "How long are conversations kept?",
    "What does the sources line mean?", "How do I change the greeting?", "Can visitors sign in?",
    "How do I run a sync by hand?", "Which model is used?", "How is a visitor erased?", "What is a claim?",
)  # fmt: skip
REFUSED = (
    "Can I import tickets from another help desk?", "Is there a mobile app for agents?",
    "Does it work with a screen reader on Linux?", "How do I get an invoice for the hosting?",
    "Can the assistant open a ticket by itself?", "Is there an integration with a chat program?",
    "How do I move to another server without downtime?", "Can I use it offline on a ship?",
    "Lze odpovědi číst nahlas?", "Как подключить телефонию?", "Where can I see the roadmap?",
    "Who translates the interface into Polish?",
)  # fmt: skip
LOOKS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"color_scheme": "dark"}}
QUESTION = "How do I put the widget on my page?"


def quote_of(articles: list[Known], article_id: str) -> str:
    return next(article.quote for article in articles if article.id == article_id).partition("\n")[0]


def conversation(server: RefdeskServer, model: ScriptedModel) -> tuple[str, str]:
    """Ids of a conversation and its first turn."""
    body = (CORPUS / "en" / "widget-embed.md").read_text("utf-8").partition("---\n")[2].partition("---\n")[2]
    sentences = [line for line in body.splitlines() if len(line.split()) > 8 and line[0].isalpha()]
    claim = {"text": sentences[0], "kind": "fact", "source_id": "widget-embed", "quote": sentences[0]}
    invented = {**claim, "text": "A page needs two tags.", "quote": "A page needs two tags of the widget."}
    answer = f"{sentences[0]} ([Put the widget on your page](doc:widget-embed))"
    with server.client(server.token()) as visitor:
        model.script(opens("widget-embed"), answering(answer, claim, invented))
        turn = ask(visitor, QUESTION)
        model.script(
            answering("I could not find it.", outcome="insufficient", missing_information=["who opens tickets"])
        )
        ask(visitor, "Can the assistant open a ticket by itself?", conversation_id=turn["conversation_id"])
    file = server.corpus / "en" / "widget-embed.md"
    file.write_text(file.read_text("utf-8").replace("opens over the page", "opens beside the page"), "utf-8")
    with server.client(STAFF_KEY) as admin:
        admin.post("/v1/console/sync", json={"wait": True})
    return turn["conversation_id"], turn["id"]


def pictures(page: Page, server: RefdeskServer, talk: tuple[str, str], gap: str, look: str) -> None:
    for name, path in (
        ("overview", "/console"),
        ("conversations", "/console/conversations"),
        ("conversation", f"/console/conversations/{talk[0]}?turn={talk[1]}&article=widget-embed"),
        ("gaps", f"/console/gaps?gap={gap}"),
        ("articles", "/console/articles"),
        ("article", "/console/articles/widget-embed?role=public"),
        ("search", "/console/search?q=How+long+are+conversations+kept"),
        ("settings", "/console/settings"),
        ("audit", "/console/audit"),
        ("account", "/console/account"),
    ):
        page.goto(f"{server.url}{path}")
        page.screenshot(path=FOLDER / f"{name}-{look}.png")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, scripted_model() as model, sync_playwright() as playwright:
        server = RefdeskServer(Path(folder) / "server", model.url)
        shutil.rmtree(server.corpus)
        shutil.copytree(CORPUS, server.corpus)
        server.data.mkdir()
        filling = fill(server.data, known_articles(server.corpus), conversations=900, per_conversation=2,
                       questions={"answered": ANSWERED, "insufficient": REFUSED, "evidence": ANSWERED})  # fmt: skip
        beside = ThreadPoolExecutor()
        beside.submit(asyncio.run, filling).result()
        server.start()
        talk = conversation(server, model)
        name = new_account(server, "admin")
        with server.client(STAFF_KEY) as admin:
            gap = admin.get("/v1/console/gaps").json()["gaps"][0]["id"]
        browser = playwright.chromium.launch(**LAUNCH)
        for look, settings in LOOKS.items():
            context = browser.new_context(viewport={"width": 1180, "height": 640}, **settings)
            page = context.new_page()
            sign_in(page, server.url, name)
            pictures(page, server, talk, gap, look)
            context.close()
        browser.close()
        server.stop()


if __name__ == "__main__":
    main()
