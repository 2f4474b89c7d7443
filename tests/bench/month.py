"""A month of a help centre: are the twenty gaps on top of the queue the twenty questions asked most without an answer?

    python tests/bench/month.py --models CACHE xquad_en.json xquad_en_qru.json [--turns 10000] [--postgres URL]
    python tests/bench/month.py --models CACHE xquad_en.json xquad_en_qru.json --at-once FILE.sqlite --seed 1 2 3

300 underlying questions: our everyday ones in three languages, the rest in two from the sets named. Half of them find
an answer. How often each is asked falls with its rank (Zipf); one turn in three has slips of the pen, many a greeting;
every fourth visitor asks again. The queue works as in the server, day by day; `--at-once` groups what the last day
finds, without a database, for one month after another, with vectors kept in a file.

Two questions that equally many asked are as good as one another: what was asked as often as the twentieth belongs to
the twenty.
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
from grouping import Pile, figures
from question_sets import Encoders

from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.sql_gaps import SqlGaps
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_store import SqlStore
from refdesk.domain.conversation import Source, Turn, TurnTrail, Visitor
from refdesk.domain.gap_grouping import grouped
from refdesk.domain.gap_queue import GapFilter
from refdesk.gaps.assessing import wording_id
from refdesk.gaps.service import PILE, GapService
from refdesk.library import Library
from refdesk.ports import ENGLISH, MULTILINGUAL, TurnRow
from refdesk.settings import load
from refdesk.text.redaction import redact

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


def belonging(counts: Counter[int]) -> set[int]:
    """What was asked as often as the TOP-th."""
    least = counts.most_common(TOP)[-1][1]
    return {meant for meant, count in counts.items() if count >= least}


def at_once(questions: list[dict[str, str]], seed: int, turns: int, encoders: Encoders) -> None:
    """A month's pile as the last day finds it."""
    people: dict[str, set[int]] = {}
    asked: dict[str, Asked] = {}
    wanted: dict[int, set[int]] = {}
    for number, one in enumerate(month(questions, turns, random.Random(seed))):
        if one.meant % 2 == 0:
            continue
        wording = wording_id(redact(one.text), one.language, str(number))
        asked.pop(wording, None)
        asked[wording] = one
        people.setdefault(wording, set()).add(one.visitor)
        wanted.setdefault(one.meant, set()).add(one.visitor)
    newest = list(asked)[-PILE:]
    pile = Pile(encoders, [(asked[wording].text, asked[wording].language, asked[wording].meant) for wording in newest])
    groups = grouped(pile.wordings, pile.encoded(list(range(len(newest)))), None, [len(people[one]) for one in newest])
    rows: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    weight = {group: len(set().union(*(people[newest[row]] for row in of_it))) for group, of_it in rows.items()}
    first = sorted(rows, key=lambda group: (-weight[group], -max(rows[group])))[:TOP]
    found = {Counter(pile.meant[row] for row in rows[group]).most_common(1)[0][0] for group in first}
    counts = Counter({meant: len(visitors) for meant, visitors in wanted.items()})
    last, next_one = (count for _, count in counts.most_common(TOP + 1)[-2:])
    recall, precision = figures(pile.meant, groups)
    print(
        f"seed {seed}: {len(newest)} wordings, of the first {TOP} gaps {len(found & belonging(counts))} belong there; "
        f"pairs {recall:.3f}/{precision:.3f}; place {TOP} was asked by {last}, the next one by {next_one}",
        flush=True,
    )


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
    if asked.at_once is not None:
        encoders = Encoders(asked.models, asked.at_once)
        for seed in asked.seed:
            at_once(underlying(asked.sets), seed, asked.turns, encoders)
        return
    chance = random.Random(asked.seed[0])
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
    print(f"of the first {TOP} of the queue {len({*found[:TOP]} & belonging(counts))} belong to the {TOP} asked most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--postgres")
    parser.add_argument("--seed", type=int, nargs="+", default=[7])
    parser.add_argument("--at-once", type=Path, metavar="FILE.sqlite")
    parser.add_argument("sets", type=Path, nargs=2)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
