"""A month of a help centre: are the twenty gaps on top of the queue the twenty questions asked most without an answer?

    python tests/bench/month.py --models CACHE xquad_en.json xquad_en_qru.json [--turns 10000] [--postgres URL]

300 underlying questions: our everyday ones in three languages, the rest in two from the sets named. Half of them find
an answer. How often each is asked falls with its rank (Zipf); one turn in three has slips of the pen, many a greeting;
every fourth visitor asks again. The queue works as in the server, day by day.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import string
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.sql_gaps import SqlGaps
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_store import SqlStore
from refdesk.domain.conversation import Source, Turn, TurnTrail, Visitor
from refdesk.domain.gap_queue import GapFilter
from refdesk.gaps.service import GapService
from refdesk.library import Library
from refdesk.ports import ENGLISH, MULTILINGUAL, TurnRow
from refdesk.settings import load

HERE = Path(__file__).parent
QUESTIONS, DAYS, TOP = 300, 30, 20
GREETINGS = {
    "en": ("", "hi, ", "please: ", "hello! "),
    "ru": ("", "привет, ", "подскажите, "),
    "cs": ("", "dobrý den, "),
}
LETTERS = {"en": string.ascii_lowercase, "cs": string.ascii_lowercase, "ru": "абвгдежзийклмнопрстуфхцчшщъыьэюя"}


class Asked(msgspec.Struct, frozen=True):
    meant: int
    language: str
    text: str
    visitor: int


def underlying(paths: list[Path]) -> list[dict[str, str]]:
    """By language, each one question."""
    ours = [row for name in ("office", "gnome") for row in json.loads((HERE / f"{name}_questions.json").read_text())]
    found = [{language: row[language] for language in ("en", "ru", "cs") if language in row} for row in ours]
    english, russian = ([query["q"] for query in json.loads(path.read_text())["queries"]] for path in paths)
    seen: set[str] = set()
    for en, ru in zip(english, russian, strict=True):
        if len(found) < QUESTIONS and ru not in seen:
            seen.add(ru)
            found.append({"en": en, "ru": ru})
    return found[:QUESTIONS]


def with_slips(text: str, language: str, chance: random.Random) -> str:
    letters = list(text)
    for _ in range(chance.choice((1, 1, 2))):
        at = chance.randrange(1, len(letters) - 1)
        if not letters[at].isalpha():
            continue
        what = chance.randrange(4)
        if what == 0:
            del letters[at]
        elif what == 1:
            letters.insert(at, letters[at])
        elif what == 2:
            letters[at], letters[at - 1] = letters[at - 1], letters[at]
        else:
            letters[at] = chance.choice(LETTERS[language])
    return "".join(letters)


def month(questions: list[dict[str, str]], turns: int, chance: random.Random) -> Iterator[Asked]:
    order = list(range(len(questions)))
    chance.shuffle(order)
    weights = [1 / (rank + 1) for rank in range(len(order))]
    visitors = itertools.count()
    visitor = next(visitors)
    for _ in range(turns):
        meant = chance.choices(order, weights)[0]
        language = chance.choice(list(questions[meant]))
        text = questions[meant][language]
        if chance.random() < 1 / 3:
            text = with_slips(text, language, chance)
        if chance.random() < 0.75:
            visitor = next(visitors)
        yield Asked(meant, language, chance.choice(GREETINGS[language]) + text, visitor)


class Month:
    def __init__(self, store: SqlStore, service: GapService) -> None:
        self.store, self.service = store, service
        self.people: dict[int, set[int]] = {}
        """Distinct visitors by what they meant, unanswered only."""
        self.meant: dict[str, int] = {}

    async def day(self, number: int, asked: list[Asked]) -> None:
        for place, one in enumerate(asked):
            at = f"2026-01-{number + 1:02}T{8 + place * 12 // len(asked):02}:{place % 60:02}:00.000Z"
            await self._ask(f"t_{number}_{place}", one, at)
        await self.service.look()
        await self.service.group()

    async def _ask(self, turn_id: str, one: Asked, at: str) -> None:
        visitor = f"v_{one.visitor}"
        await self.store.add_visitor(Visitor(visitor, ("public",)), visitor.encode(), at)
        await self.store.begin_turn(TurnRow(turn_id, f"c_{turn_id}", visitor, one.text, at, True))
        turn = Turn(id=turn_id, conversation_id=f"c_{turn_id}", created_at=at, question=one.text, language=one.language)
        answered = one.meant % 2 == 0
        turn.status = "answered" if answered else "insufficient"
        turn.grounded = answered
        turn.sources = (SOURCE,) if answered else ()
        if not answered:
            self.people.setdefault(one.meant, set()).add(one.visitor)
            self.meant[turn_id] = one.meant
        await self.store.finish_turn(
            turn, TurnTrail(gap_cause=None if answered else "weak_evidence", roles=("public",))
        )


SOURCE = Source(id="a", title="A", url=None, section="", excerpt="", language="en", updated_at="", version="",
                retrieved_at="", cited=True, basis="search", show=True)  # fmt: skip


class SystemClock:
    now, monotonic = staticmethod(time.time), staticmethod(time.monotonic)


async def run(asked: argparse.Namespace) -> None:
    chance = random.Random(7)
    turns = list(month(underlying(asked.sets), asked.turns, chance))
    embedders = {MULTILINGUAL: load_e5(asked.models), ENGLISH: load_minilm(asked.models)}
    with tempfile.TemporaryDirectory() as folder:
        settings = load({"REFDESK_CORPUS": str(HERE.parents[1] / "corpus"), "REFDESK_DATA": folder})
        database = await open_database(Path(folder), asked.postgres)
        library = Library(settings.corpus, settings.data)
        await library.open()
        clock: Any = SystemClock()
        unused: Any = None
        service = GapService(
            store=SqlGaps(database),
            retriever=library,
            clock=clock,
            settings=settings,
            assistant=unused,
            model=None,
            embedders=lambda: embedders,
            waiting=lambda: False,
        )
        simulated = Month(SqlStore(database), service)
        for number in range(DAYS):
            began = time.monotonic()
            await simulated.day(number, turns[number * len(turns) // DAYS : (number + 1) * len(turns) // DAYS])
            print(f"day {number + 1}: {time.monotonic() - began:.1f} s", flush=True)
        await report(simulated, SqlGaps(database))
        await database.close()


async def report(simulated: Month, gaps: SqlGaps) -> None:
    page = await gaps.gaps(GapFilter(), limit=200)
    questions = await gaps.asked([gap.id for gap in page.gaps])
    counts = Counter({meant: len(people) for meant, people in simulated.people.items()})
    wanted = [meant for meant, _ in counts.most_common(TOP)]
    found = []
    for place, gap in enumerate(page.gaps[: TOP + 10], 1):
        inside = Counter(simulated.meant[question.turn_id] for question in questions[gap.id])
        meant, of_it = inside.most_common(1)[0]
        found.append(meant)
        rank = wanted.index(meant) + 1 if meant in wanted else "-"
        print(f"{place:3}  visitors {gap.visitors:4} of {counts[meant]:4}  foreign {gap.count - of_it:3}  rank {rank}")
    print(f"of the {TOP} asked most, {len({*found[:TOP]} & {*wanted})} are among the first {TOP} of the queue")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--postgres")
    parser.add_argument("sets", type=Path, nargs=2)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
