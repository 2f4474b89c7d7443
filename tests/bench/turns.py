"""What a turn costs beside the plainest server that could be written: the raw SDK's loop with Chroma.

    python tests/bench/turns.py FOLDER [--scenarios 16x0,16x300x10,1x0,64x300] [--beside langgraph,haystack]
                                       [--with words,hashing,prepared,encoders] [--seconds 8]

FOLDER is a copy of the comparison suite (bench.py, peers.json, fake_anthropic.py, peers/), with its environment
venvs/floor and its corpora data/corpus-1k.jsonl and data/g1k (the same as Markdown). All servers run in turn against
the same scripted model; a turn is search, get_document and a cited answer. Prints milliseconds of CPU a turn, their
share of the floor's, what was added to the model's own time, and turns per second.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from start import answers, dense_status, until

PORT = 8800
HERE = Path(__file__).resolve().parent
ANSWER = (
    "Here is how to do that. Open the settings of your workspace, choose the entry that the article names, and confirm "
    "with your password; the change reaches every device within a few minutes. If it does not, reload the page, wait a "
    "moment and try once more, and look into the activity log, where every change can be undone for thirty days. Only "
    "owners and admins may do this: ask one of them if the button is greyed out. See "
    "[{{title:0}}](doc:{{doc_id:0}}) for the steps in full, with the limits of each plan at the end of the article."
)
CLAIM = {
    "text": "It is done in the settings.",
    "kind": "fact",
    "source_id": "{{doc_id:0}}",
    "quote": "{{title:0}}",
}
REPLY = {"outcome": "answered", "claims": [CLAIM], "conflicts": [], "missing_information": [], "answer": ANSWER}
STEPS = [
    {"tools": [{"name": "search", "input": {"query": "{{title:0|change the settings}}"}}]},
    {"tools": [{"name": "get_document", "input": {"id": "{{doc_id:0}}"}}]},
    {"tools": [{"name": "answer", "input": REPLY}]},
]
KINDS = {
    "words": f"{sys.executable} -m refdesk.cli serve --dense off",
    "hashing": f"{sys.executable} {HERE / 'hashing_server.py'}",
    "prepared": f"{sys.executable} {HERE / 'prepared_server.py'} questions.json",
    "encoders": f"{sys.executable} -m refdesk.cli serve",
}
DATA = {"prepared": "encoders"}
"""Whose vectors it shares."""
FIGURES = ("cpu_ms_per_turn", "added_p50_ms", "added_p95_ms", "turns_per_s", "rss_mb")


REQUEST = {"path": "/v1/ask", "json": {"question": "{{question}}"}}
FAKE_PORT = 8900


@contextmanager
def running(command: str, folder: Path, **env: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(shlex.split(command), cwd=folder, env=os.environ | env, stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def measured(kind: str, folder: Path, limits: list[str]) -> dict[str, Any]:
    """Once it searches by meaning, if it does: vectors are made first, and loading them costs the turns nothing. With
    an empty log: thousands of turns of earlier runs would make each of these a little dearer."""
    data = folder / "work" / f"refdesk-{DATA.get(kind, kind)}"
    for of_earlier_runs in data.glob("refdesk.db*"):
        of_earlier_runs.unlink()
    command = f"{KINDS[kind]} --port {PORT} --corpus {folder / 'data' / 'g1k'} --data {data}"
    env = {"REFDESK_RATE_LIMITS": "off", "REFDESK_ENCODERS": str(folder / "work" / "encoders")}
    env |= {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{FAKE_PORT}", "ANTHROPIC_API_KEY": "k"}
    out = folder / f"{kind}.json"
    fake = f"{sys.executable} fake_anthropic.py --port {FAKE_PORT} --keep 100"
    with running(fake, folder) as model, running(command, folder, **env) as server:
        until(lambda: bool(answers(f"http://127.0.0.1:{FAKE_PORT}/__stats")), model)
        until(lambda: dense_status(PORT) in ("ready", "off"), server)
        asked = ["run", "--url", f"http://127.0.0.1:{PORT}", "--request", json.dumps(REQUEST), "--text", "text"]
        asked += ["--pid", str(server.pid), "--fake-pid", str(model.pid), "--steps", json.dumps(STEPS)]
        bench(folder, *asked, "--expect", "](/articles/", "--out", str(out), *limits)
    return {"peer": kind, "scenarios": json.loads(out.read_text())}


def bench(folder: Path, *arguments: str) -> None:
    subprocess.run([sys.executable, "bench.py", *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def texts(folder: Path) -> list[str]:
    """What the suite's clients ask, and what the scripted model searches for: titles."""
    made = "import bench, json; print(json.dumps([bench.question(i) for i in range(2000)]))"
    questions = subprocess.run([sys.executable, "-c", made], cwd=folder, check=True, stdout=subprocess.PIPE).stdout
    articles = (folder / "data" / "corpus-1k.jsonl").read_text().splitlines()
    return [*json.loads(questions), *(json.loads(article)["title"] for article in articles)]


def run(folder: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    limits = ["--scenarios", args.scenarios, "--seconds", str(args.seconds), "--max-turns", str(args.turns)]
    (folder / "questions.json").write_text(json.dumps(texts(folder)))
    beside, out = ",".join(["floor", *filter(None, args.beside.split(","))]), folder / "turns.json"
    suite = ["suite", "peers.json", "--only", beside, "--corpus", "data/corpus-1k.jsonl", "--out", str(out)]
    bench(folder, *suite, "--data", str(folder / "work"), "--starts", "1", *limits)
    others: list[dict[str, Any]] = json.loads(out.read_text())
    return [*others, *(measured(kind, folder, limits) for kind in args.kinds.split(","))]


def show(results: list[dict[str, Any]]) -> None:
    floor = {of(scenario): scenario for scenario in results[0]["scenarios"]}
    print("| server | scenario | CPU ms | of the floor | added p50/p95 ms | turns/s | errors | MB |")
    print("|---|---|---|---|---|---|---|---|")
    for result in results:
        for scenario in result["scenarios"]:
            cpu, added, slowest, speed, memory = (scenario[name] for name in FIGURES)
            share = cpu / floor[of(scenario)]["cpu_ms_per_turn"]
            figures = f"{cpu:.1f} | {share:.2f} | {added:.0f}/{slowest:.0f} | {speed:.0f}"
            print(f"| {result['peer']} | {of(scenario)} | {figures} | {scenario['errors']} | {memory:.0f} |")


def of(scenario: dict[str, Any]) -> str:
    paced = f"x{scenario['token_ms']:.0f}" if scenario["token_ms"] else ""
    return f"{scenario['clients']}x{scenario['delay_ms']:.0f}{paced}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scenarios", default="16x0,16x300x10,1x0,64x300")
    parser.add_argument("--beside", default="", help="other peers of the suite that have their environment")
    parser.add_argument("--with", dest="kinds", default=",".join(KINDS), help=f"of {', '.join(KINDS)}")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--turns", type=int, default=400)
    args = parser.parse_args()
    show(run(args.folder.resolve(), args))


if __name__ == "__main__":
    main()
