"""How fast the console's pages are on a full log: python tests/bench/console_pages.py [--conversations 10000]

A real server over a filled SQLite file; prints the median of each page in milliseconds over loopback, and its size.
Target: at most 100 ms median a page.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "api")]

from refdesk_server import STAFF_KEY, RefdeskServer  # noqa: E402
from store import PER_CONVERSATION, fill  # noqa: E402

from refdesk.adapters.sql_open import open_database  # noqa: E402

PAGES = (
    "/console?from=2026-01-01&to=2026-01-30",
    "/console/conversations",
    "/console/conversations?status=insufficient&language=ru",
    "/console/conversations?q=refund",
    "/console/conversations?q=refund+invoice&rating=down",
    "/console/conversations/c_77",
    "/console/turns/t_77/receipt",
    "/console/gaps",
    "/console/gaps?cause=weak_evidence",
    "/console/articles",
    "/console/search?q=When+are+refunds+issued",
    "/console/audit",
    "/console/settings",
    "/console/privacy?who=v_7",
)
TIMES = 15


async def filled(data: Path, conversations: int) -> None:
    database = await open_database(data, None)
    await fill(database, conversations * PER_CONVERSATION)
    await database.close()


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--conversations", type=int, default=10_000)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = RefdeskServer(Path(folder) / "server", REFDESK_RETENTION_DAYS="36500")
        server.data.mkdir(parents=True)
        asyncio.run(filled(server.data, given.conversations))
        server.start()
        try:
            with server.client(STAFF_KEY) as client:
                for path in PAGES:
                    taken, size = [], 0
                    for _ in range(TIMES):
                        began = time.perf_counter()
                        answer = client.get(path)
                        taken.append((time.perf_counter() - began) * 1000)
                        assert answer.status_code == 200, (path, answer.text)
                        size = len(answer.content)
                    print(f"{path:60} p50 {median(taken):7.1f} ms   max {max(taken):7.1f} ms   {size / 1000:6.1f} KB")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
