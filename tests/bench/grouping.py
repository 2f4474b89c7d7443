"""How well questions that ask the same are grouped, and what would be grouped wrongly.

    python tests/bench/grouping.py --models CACHE --vectors FILE.sqlite question_groups_en.json xquad_en.json \
        xquad_en_qru.json office_questions.json gnome_questions.json

The first set is {"groups": [{"group", "questions"}]}; the next two hold the same questions in two languages, line by
line, as one pile; the last ones are ours, in three languages. Recall and precision are of pairs.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

from question_sets import Encoders

from refdesk.domain.gap_grouping import Encoded, Vectors, grouped
from refdesk.domain.gap_ids import Member, named
from refdesk.domain.gap_wordings import Wording, without_preamble
from refdesk.retrieval.baselines import off_topic

TOGETHER = 50


class Pile:
    """Questions with their language and the number of what they really ask."""

    def __init__(self, encoders: Encoders, asked: list[tuple[str, str, int]]) -> None:
        self.texts = [text for text, _, _ in asked]
        self.meant = [number for _, _, number in asked]
        self.wordings = [Wording.of(text, language) for text, language, _ in asked]
        bare = [without_preamble(text, language) for text, language, _ in asked]
        self.e5, self.minilm = (encoders.questions(name, bare) for name in ("e5", "minilm"))
        beside = {name: {language: encoders.questions(name, questions) for language, questions in off_topic().items()}
                  for name in ("e5", "minilm")}  # fmt: skip
        self._beside = beside

    def encoded(self, rows: list[int]) -> Encoded:
        return Encoded(
            Vectors(self.e5[rows], self._beside["e5"]), Vectors(self.minilm[rows], {"en": self._beside["minilm"]["en"]})
        )

    def whole(self, words_only: bool = False) -> list[int]:
        rows = list(range(len(self.texts)))
        return grouped(self.wordings, None if words_only else self.encoded(rows))

    def in_parts(self, seed: int) -> list[int]:
        """Fifty at a time in a random order, groups keeping their ids as in the product."""
        order = list(range(len(self.texts)))
        random.Random(seed).shuffle(order)
        ids: dict[int, str] = {}
        self.kept = self.grown = 0
        for end in range(TOGETHER, len(order) + TOGETHER, TOGETHER):
            rows = order[:end]
            known = [Member(ids.get(row), None, 1) for row in rows]
            groups = grouped([self.wordings[row] for row in rows], self.encoded(rows))
            found = dict(zip(rows, named(groups, known), strict=True))
            self.kept += sum(found[row] == name for row, name in ids.items())
            self.grown += len(ids)
            ids = found
        names = {name: number for number, name in enumerate(dict.fromkeys(ids.values()))}
        return [names[ids[row]] for row in range(len(order))]

    def wrong(self, groups: list[int]) -> list[str]:
        by: dict[int, list[int]] = {}
        for row, group in enumerate(groups):
            by.setdefault(group, []).append(row)
        return [" | ".join(self.texts[row] for row in rows) for rows in by.values()
                if len({self.meant[row] for row in rows}) > 1]  # fmt: skip


def pairs(labels: list[Any]) -> int:
    return sum(count * (count - 1) // 2 for count in Counter(labels).values())


def figures(meant: list[int], groups: list[int]) -> tuple[float, float]:
    both = pairs(list(zip(meant, groups, strict=True)))
    return both / pairs(meant), both / max(1, pairs(groups))


def show(name: str, pile: Pile, groups: list[int], more: str = "") -> None:
    recall, precision = figures(pile.meant, groups)
    print(f"  {name:22} recall {recall:.3f}  precision {precision:.3f}  groups {len(set(groups))}{more}", flush=True)


def measure(name: str, pile: Pile, verbose: bool) -> None:
    print(f"{name}: {len(pile.texts)} questions, {len(set(pile.meant))} really")
    groups = pile.whole()
    show("at once", pile, groups)
    grown = pile.in_parts(1)
    show("fifty at a time", pile, grown, f"  ids kept from step to step {pile.kept / pile.grown:.3f}")
    show("words only", pile, pile.whole(words_only=True))
    if verbose:
        print(*(f"    {row}" for row in pile.wrong(groups)), sep="\n")


def banking(path: Path) -> list[tuple[str, str, int]]:
    groups = json.loads(path.read_text())["groups"]
    return [(text, "en", number) for number, group in enumerate(groups) for text in group["questions"]]


def translated(paths: list[Path]) -> list[tuple[str, str, int]]:
    asked = []
    for path in paths:
        data = json.loads(path.read_text())
        asked += [(query["q"], data["qlang"], number) for number, query in enumerate(data["queries"])]
    return asked


def one_number_for_one_text(asked: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Questions that the set holds twice, word for word in one of the languages, are one question."""
    first: dict[str, int] = {}
    same: dict[int, int] = {}
    for text, _, number in asked:
        same[number] = min(same.get(number, number), first.setdefault(" ".join(text.split()), number))
    return [(text, language, same[number]) for text, language, number in asked]


def some_without_counterpart(asked: list[tuple[str, str, int]], share: float, seed: int) -> list[tuple[str, str, int]]:
    """Each question in all its languages with this probability, else in one of them."""
    chance = random.Random(seed)
    languages = sorted({language for _, language, _ in asked})
    kept = {number: languages if chance.random() < share else [chance.choice(languages)]
            for number in sorted({number for _, _, number in asked})}  # fmt: skip
    return [row for row in asked if row[1] in kept[row[2]]]


def measure_shares(name: str, encoders: Encoders, asked: list[tuple[str, str, int]]) -> None:
    for share in (0.1, 0.3, 0.6):
        counted = []
        for seed in range(3):
            pile = Pile(encoders, some_without_counterpart(asked, share, seed))
            groups = pile.whole()
            both = pairs(list(zip(pile.meant, groups, strict=True)))
            counted.append((both, pairs(pile.meant), pairs(groups)))
        right, really, grouped_together = map(sum, zip(*counted, strict=True))
        print(f"  {name}, {share:.0%} in all languages: recall {right / really:.3f}  "
              f"precision {right / grouped_together:.3f}", flush=True)  # fmt: skip


def many_without_counterpart(asked: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Of 400 questions 140 in English only, 140 in Russian only and 120 in both."""
    return [row for row in asked if (row[2] < 260 if row[1] == "en" else row[2] >= 140)]


def everyday(path: Path) -> list[tuple[str, str, int]]:
    return [(row[language], language, number) for number, row in enumerate(json.loads(path.read_text()))
            for language in ("en", "ru", "cs")]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--verbose", action="store_true", help="print the groups that mix questions")
    parser.add_argument("sets", type=Path, nargs="+")
    asked = parser.parse_args()
    encoders = Encoders(asked.models, asked.vectors)
    measure("banking intents", Pile(encoders, banking(asked.sets[0])), asked.verbose)
    mixed = translated(asked.sets[1:3])
    pile = Pile(encoders, mixed)
    measure("English and Russian", pile, asked.verbose)
    print("  wrong by the set's numbers, all of them:", *pile.wrong(pile.whole()), sep="\n    ")
    mixed = one_number_for_one_text(mixed)
    measure("… identical texts one", Pile(encoders, mixed), False)
    measure("… most in one language", Pile(encoders, many_without_counterpart(mixed)), False)
    for language in ("en", "ru"):
        pile = Pile(encoders, [row for row in mixed if row[1] == language])
        print(f"  … {language} only: {pairs(pile.whole())} pairs grouped, of {pairs(pile.meant)} right ones")
    measure_shares("XQuAD", encoders, mixed)
    for path in asked.sets[3:]:
        measure(path.stem, Pile(encoders, everyday(path)), asked.verbose)
        measure_shares(path.stem, encoders, everyday(path))


if __name__ == "__main__":
    main()
