"""Counterparts in another language: what makes a pair sure, and how sure is enough in a pile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from refdesk.domain.gap_counterparts import FEW, SUREST, USUALLY_SURE, Facing, Pairs, Side, sure_enough
from refdesk.domain.gap_nearness import Matrix, unit
from refdesk.domain.gap_wordings import Wording

DIMENSIONS = 48


def pairs(*sure: float) -> Pairs:
    rows = np.arange(len(sure))
    return Pairs(rows, rows, np.array(sure, np.float32), np.ones(len(sure), np.float32))


def spread_over(least: float, most: float, count: int = 60) -> list[float]:
    return [float(sure) for sure in np.linspace(least, most, count)]


def test_where_every_question_has_a_counterpart_little_is_enough() -> None:
    assert sure_enough(pairs(*spread_over(0.5, 1.2)), pairs(*spread_over(-0.5, 0.6))) < 0.3


def test_where_most_have_none_only_the_surest_are_counterparts() -> None:
    wrong = spread_over(-0.5, 0.6)
    few = sure_enough(pairs(*wrong, *spread_over(0.7, 1.2, 20)), pairs(*wrong))
    none = sure_enough(pairs(*wrong), pairs(*wrong))
    assert 0.45 < few <= none <= SUREST


def test_a_short_list_tells_nothing() -> None:
    assert sure_enough(pairs(0.9, 0.8), pairs(*[0.1] * (FEW - 1))) == USUALLY_SURE


def side(language: str, texts: Sequence[str], vectors: Sequence[Matrix], visitors: Sequence[int] | None = None) -> Side:
    rows = unit(np.stack(vectors).astype(np.float32))
    beside = np.empty((0, rows.shape[1]), np.float32)
    return Side([Wording.of(text, language) for text in texts], rows, beside, visitors or [1] * len(texts))


def axes(count: int) -> list[Matrix]:
    return list(np.linalg.qr(np.random.default_rng(5).normal(size=(DIMENSIONS, count)))[0].T.astype(np.float32))


def others(language: str, start: int) -> tuple[list[str], list[Matrix]]:
    """Surroundings: questions on other things."""
    return [f"{language}{n} other{n}" for n in range(12)], axes(40)[start : start + 12]


def found(own: Side, foreign: Side, barred: tuple[int, int] | None = None) -> set[tuple[int, int]]:
    mask = np.zeros((len(own.vectors), len(foreign.vectors)), np.bool_)
    if barred is not None:
        mask[barred] = True
    return {(row, column) for _, row, column in Facing(own, foreign).counterparts(mask)}


@pytest.mark.parametrize(
    ("question", "same"),
    [
        ("Kolik stojí parkování?", True),
        ("Kdy začíná parkování?", False),
        ("Kolik stojí parkování na 24 hodin?", True),
    ],
)
def test_asking_for_another_thing_is_no_counterpart(question: str, same: bool) -> None:
    base = axes(40)
    texts, vectors = others("en", 10)
    own = side("en", ["How much is parking?", *texts], [base[0], *vectors])
    texts, vectors = others("cs", 24)
    foreign = side("cs", [question, *texts], [base[0], *vectors])
    assert ((0, 0) in found(own, foreign)) is same


def test_what_is_barred_is_nobodys_rival() -> None:
    base = axes(40)
    texts, vectors = others("en", 10)
    own = side("en", ["alpha beta", "gamma delta", *texts], [base[0], base[0] + 0.7 * base[1], *vectors])
    texts, vectors = others("cs", 24)
    foreign = side("cs", ["alfa beta", *texts], [base[0] + 0.1 * base[1], *vectors])
    assert (0, 0) in found(own, foreign)
    assert (1, 0) not in found(own, foreign)
    assert (1, 0) in found(own, foreign, barred=(0, 0))


def test_what_many_ask_in_one_language_many_ask_in_the_other() -> None:
    base = axes(40)
    texts, vectors = others("en", 10)
    near = [base[0] + 0.30 * base[1], base[0] + 0.28 * base[2]]
    own = side("en", ["alpha beta", "alpha beta gamma", *texts], [*near, *vectors], [40, 1, *[1] * 12])
    texts, vectors = others("cs", 24)
    foreign = side("cs", ["alfa beta", *texts], [base[0], *vectors], [40, *[1] * 12])
    assert (0, 0) in found(own, foreign)
    alone = Facing(own, foreign, popular=False).counterparts(np.zeros((14, 13), np.bool_))
    assert (1, 0) in {(row, column) for _, row, column in alone}
