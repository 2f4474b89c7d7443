"""What a turn costs beside the plainest server that could be written: the raw SDK's loop with Chroma.

    python tests/bench/turns.py FOLDER [--scenarios 16x0,16x300x10,1x0,64x300] [--with hashing,words,encoders]
                                       [--beside langgraph,haystack] [--seconds 8]

FOLDER is a copy of the comparison suite (bench.py, peers.json, fake_anthropic.py, peers/), with its environment
venvs/floor and its corpora data/corpus-1k.jsonl and data/g1k (the same as Markdown). Vectors are made first. Then all
servers run in turn against the same scripted model; a turn is search, get_document and a cited answer. Prints
milliseconds of CPU a turn, their share of the floor's, what was added to the model's own time, and turns per second.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

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
    "encoders": f"{sys.executable} -m refdesk.cli serve",
}
FIGURES = ("cpu_ms_per_turn", "added_p50_ms", "added_p95_ms", "turns_per_s", "rss_mb")


def peer(kind: str, folder: Path) -> dict[str, Any]:
    data = folder / "work" / f"refdesk-{kind}"
    return {
        "name": kind,
        "folder": ".",
        "serve": f"{KINDS[kind]} --port {{port}} --corpus {folder / 'data' / 'g1k'} --data {data}",
        "env": {"REFDESK_RATE_LIMITS": "off", "REFDESK_ENCODERS": str(folder / "work" / "encoders")},
        "ready": "/health/ready",
        "request": {"path": "/v1/ask", "json": {"question": "{{question}}"}},
        "text": ["text"],
        "steps": STEPS,
        "expect": "](/articles/",
    }


def prepare(kind: dict[str, Any], folder: Path) -> None:
    """Until the index and the vectors are made: they must not cost the turns that are measured."""
    command = shlex.split(kind["serve"].format(port=PORT))
    with subprocess.Popen(command, cwd=folder, env=os.environ | kind["env"], stderr=subprocess.DEVNULL) as server:
        try:
            while dense_state() not in ("ready", "off"):
                if server.poll() is not None:
                    sys.exit(f"{kind['name']} does not start: {' '.join(command)}")
                time.sleep(1)
        finally:
            server.terminate()


def dense_state() -> str:
    try:
        with urlopen(f"http://127.0.0.1:{PORT}/health/ready", timeout=5) as answer:
            return str(json.load(answer)["dense"]["status"])
    except OSError:
        return "starting"


def run(folder: Path, args: argparse.Namespace) -> list[dict[str, Any]]:
    peers, out = folder / "refdesk-peers.json", folder / "turns.json"
    kinds = [peer(kind, folder) for kind in args.kinds.split(",")]
    for kind in kinds:
        prepare(kind, folder)
    known = json.loads((folder / "peers.json").read_text())
    beside = ["floor", *filter(None, args.beside.split(","))]
    peers.write_text(json.dumps([*(one for one in known if one["name"] in beside), *kinds]))
    command = [sys.executable, "bench.py", "suite", peers, "--corpus", "data/corpus-1k.jsonl", "--out", out]
    command += ["--data", folder / "work", "--starts", "1", "--scenarios", args.scenarios]
    command += ["--seconds", str(args.seconds), "--max-turns", str(args.turns)]
    subprocess.run(list(map(str, command)), cwd=folder, check=True)
    found: list[dict[str, Any]] = json.loads(out.read_text())
    return found


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
    parser.add_argument("--with", dest="kinds", default="hashing,words,encoders", help="of hashing, words, encoders")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--turns", type=int, default=400)
    args = parser.parse_args()
    show(run(args.folder.resolve(), args))


if __name__ == "__main__":
    main()
