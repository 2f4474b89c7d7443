"""How fast the console's pages are on a full log: python tests/bench/console_pages.py [--conversations 10000] [--url …]

A real server over a filled database (SQLite, or an empty PostgreSQL under --url); prints the median and the maximum of
each page in milliseconds over loopback, and its size. Target: at most 100 ms median a page.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import httpx2

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "api")]

from help_centre import article  # noqa: E402
from refdesk_server import STAFF_KEY, RefdeskServer  # noqa: E402

from full_log import Known, fill, known_articles  # noqa: E402

PAGES = (
    "/console",
    "/console/conversations",
    "/console/conversations?status=insufficient&language=ru",
    "/console/conversations?q=refund",
    "/console/conversations?q=refund+invoice&rating=down",
    "/console/conversations/c_0",
    "/console/conversations/c_0?turn=t_0&article={article}",
    "/console/turns/t_0/receipt",
    "/console/gaps",
    "/console/gaps?cause=weak_evidence&gap=g_3",
    "/console/gaps/g_3",
    "/console/articles",
    "/console/articles/{article}?role=public",
    "/console/search?q=When+are+refunds+issued",
    "/console/account",
    "/console/staff",
    "/console/audit",
    "/console/settings",
    "/console/privacy?who=v_7",
)
ARTICLES = 300
TIMES = 25


def write_articles(corpus: Path) -> None:
    text = "Open the settings and choose a name. It takes five minutes, and everybody of the team sees it at once.\n\n"
    for number in range(ARTICLES):
        (corpus / f"guide-{number}.md").write_text(article(f"Guide {number}", text * 12), "utf-8")


def first_found(client: httpx2.Client, articles: list[Known]) -> str:
    documents = client.get("/v1/console/turns/t_0").json()["documents"]
    return str(documents[0]["id"] if documents else articles[0].id)


def measure(client: httpx2.Client, path: str) -> None:
    taken, size = [], 0
    for _ in range(TIMES):
        began = time.perf_counter()
        answer = client.get(path)
        taken.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 200, (path, answer.text)
        size = len(answer.content)
    print(f"{path:60} p50 {median(taken):7.1f} ms   max {max(taken):7.1f} ms   {size / 1000:6.1f} KB", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--conversations", type=int, default=10_000)
    arguments.add_argument("--url")
    given = arguments.parse_args()
    settings = {"REFDESK_DATABASE_URL": given.url} if given.url else {}
    with tempfile.TemporaryDirectory() as folder:
        server = RefdeskServer(Path(folder) / "server", REFDESK_RETENTION_DAYS="36500", **settings)
        write_articles(server.corpus)
        server.data.mkdir(parents=True)
        articles = known_articles(server.corpus)
        began = time.perf_counter()
        asyncio.run(fill(server.data, articles, url=given.url, conversations=given.conversations))
        print(f"filled in {time.perf_counter() - began:.1f} s")
        server.start()
        try:
            with server.client(STAFF_KEY) as client:
                found = first_found(client, articles)
                for path in PAGES:
                    measure(client, path.format(article=found))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
