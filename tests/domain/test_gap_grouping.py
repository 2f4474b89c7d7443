"""Grouping by words, by meaning, across languages and against it; and whose id a group keeps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from refdesk.domain.gap_grouping import Encoded, Vectors, grouped
from refdesk.domain.gap_ids import Member, named
from refdesk.domain.gap_nearness import Matrix, unit
from refdesk.domain.gap_wordings import Wording, without_preamble

DIMENSIONS = 64


def wordings(*texts: str, language: str = "en") -> list[Wording]:
    return [Wording.of(text, language) for text in texts]


def by_words(*texts: str, language: str = "en") -> list[int]:
    return grouped(wordings(*texts, language=language), None)


def encoded(vectors: Sequence[Matrix]) -> Encoded:
    """The same vectors for both encoders, and nothing beside."""
    rows = unit(np.stack(vectors).astype(np.float32))
    return Encoded(Vectors(rows, {}), Vectors(rows, {}))


def apart(count: int, seed: int = 0) -> list[Matrix]:
    """Vectors that have nothing in common."""
    return list(np.linalg.qr(np.random.default_rng(seed).normal(size=(DIMENSIONS, count)))[0].T.astype(np.float32))


OPPOSED = [
    ("How do I turn on notifications?", "How do I turn off notifications?", "en"),
    ("Can I pay with a card?", "Can I pay without a card?", "en"),
    ("How do I enable sign-in codes?", "How do I disable sign-in codes?", "en"),
    ("Как включить уведомления?", "Как отключить уведомления?", "ru"),
    ("Jak zapnout upozornění?", "Jak vypnout upozornění?", "cs"),
    ("Můžu platit s kartou?", "Můžu platit bez karty?", "cs"),
]


@pytest.mark.parametrize(("one", "other", "language"), OPPOSED)
def test_opposites_are_two_questions_however_near_they_are(one: str, other: str, language: str) -> None:
    assert len(set(by_words(one, other, language=language))) == 2
    near = encoded([apart(1)[0]] * 2)
    assert len(set(grouped(wordings(one, other, language=language), near))) == 2


# --- by words ---


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I export invoices as PDF?", "export pdf invoices"),
        ("Can you export the invoice to a PDF", "How can I export INVOICES as pdf?!"),
        ("How do I export invoices as PDF?", "How do I exprt invoices as PDF?"),
        ("How do I export invoices of March as PDF?", "How do I exprot invoicess of March as PDF?"),
        ("How do I export invoices as PDF?", "hwo do I export invoices as PDF?"),
    ],
)
def test_order_case_inflection_and_slips_do_not_matter(one: str, other: str) -> None:
    assert by_words(one, other) == [0, 0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I export invoices as PDF?", "How do I import invoices as PDF?"),
        ("Where can I export invoices as PDF?", "When can I export invoices as PDF?"),
        ("Why do invoices fail with error 404?", "Why do invoices fail with error 500?"),
        ("How do I block my card?", "How do I block my cart?"),
        ("How do I export invoices as PDF?", "How do I export invoices as PDF in colour?"),
        ("invoice", "invoicing team"),
        ("Are encrypted backups kept?", "Are decrypted backups kept?"),
        ("Как включить уведомления?", "Как выключить уведомления?"),
        ("Jak se přidávají účty?", "Jak se vydávají účty?"),
    ],
)
def test_another_word_number_or_thing_asked_for_is_another_question(one: str, other: str) -> None:
    assert by_words(one, other) == [0, 1]


ROOMS = ("cellar", "kitchen", "garage", "attic", "bathroom", "hallway")


def test_a_usual_word_is_no_misspelt_other_one() -> None:
    texts = [f"Where is the {colour} board of the {room}?" for colour in ("green", "great") for room in ROOMS]
    texts += [
        f"Please paint {room} {colour} today" for colour in ("green", "great") for room in ("hall", "roof", "door")
    ]
    groups = by_words(*texts)
    assert len(set(groups)) == len(texts)


def test_a_space_in_the_wrong_place_is_a_slip_too() -> None:
    assert by_words("How do I print address labels?", "How do I prin taddress labels?") == [0, 0]
    assert by_words("Why does my screen flicker?", "Why does myscreen flicker?") == [0, 0]


@pytest.mark.parametrize(
    ("slip", "same"),
    [
        ("How do I exprot invocies of March as PDF?", True),
        ("How do I exporti nvocies of March as PDF?", True),
        ("How do I import invoices of March as PDF?", False),
        ("How do I export voices of March as PDF?", False),
    ],
)
def test_what_many_ask_is_known_through_two_slips_and_not_through_another_word(slip: str, same: bool) -> None:
    texts = wordings("How do I export invoices of March as PDF?", slip, "Please record voices of birds")
    groups = grouped(texts, None, visitors=[40, 1, 40])
    assert (groups[0] == groups[1]) is same


@pytest.mark.parametrize(
    ("question", "language", "bare"),
    [
        ("Hello! How do I export?", "en", "How do I export?"),
        ("Dobrý den, jak exportovat?", "cs", "jak exportovat?"),
        ("Hi, could you please: export?", "en", "export?"),
        ("Invoices: how do I export them?", "en", "Invoices: how do I export them?"),
        ("Hello, how?", "en", "Hello, how?"),
        ("請問， export?", "zh", "請問， export?"),
    ],
)
def test_a_greeting_goes_and_what_the_question_is_about_stays(question: str, language: str, bare: str) -> None:
    assert without_preamble(question, language) == bare


def test_languages_are_kept_apart_by_words() -> None:
    both = [*wordings("export PDF invoices"), *wordings("export PDF invoices", language="cs")]
    assert grouped(both, None) == [0, 1]


def test_what_has_no_content_word_is_like_nothing() -> None:
    assert by_words("?", "???", "why") == [0, 1, 2]


# --- by vectors ---


def test_the_same_vector_is_the_same_question_unless_the_thing_asked_for_differs() -> None:
    axes = apart(4)
    texts = wordings("alpha beta", "gamma delta", "epsilon zeta", "When is eta?", "Where is eta?")
    groups = grouped(texts, encoded([axes[0], axes[0], axes[1], axes[2], axes[2]]))
    assert groups == [0, 0, 2, 3, 4]


def test_counterparts_in_another_language_are_one_and_the_rest_stays_apart() -> None:
    axes = apart(30)
    english = wordings(*(f"alpha{n} beta{n}" for n in range(20)))
    russian = wordings(*(f"альфа{n} бета{n}" for n in range(10, 30)), language="ru")
    groups = grouped([*english, *russian], encoded([*axes[:20], *axes[10:30]]))
    assert groups[10:20] == groups[20:30] == list(range(10, 20))
    assert len(set(groups)) == 30


def test_the_order_of_arrival_does_not_matter() -> None:
    axes = apart(12, seed=3)
    noise = np.random.default_rng(1).normal(size=(24, DIMENSIONS)).astype(np.float32) * 0.02
    texts = wordings(*(f"alpha{n} beta{n}" for n in range(24)))
    vectors = [axes[n // 2] + noise[n] for n in range(24)]
    groups = grouped(texts, encoded(vectors))
    order = list(np.random.default_rng(2).permutation(24))
    shuffled = grouped([texts[n] for n in order], encoded([vectors[n] for n in order]))
    found = {(a, b) for a in range(24) for b in range(24) if groups[a] == groups[b]}
    again = {(order[a], order[b]) for a in range(24) for b in range(24) if shuffled[a] == shuffled[b]}
    assert found == again
    assert len(set(groups)) == 12


@pytest.mark.parametrize(("visitors", "groups"), [(3, 1), (2, 2)])
def test_a_counterpart_taken_by_a_misspelt_wording_is_shared_where_many_more_visitors_spell_it_rightly(
    visitors: int, groups: int
) -> None:
    axes = apart(40)
    rightly, slip = wordings("альфа бета гамма", "алфаб етагамма", language="ru")
    texts = [rightly, *wordings("alpha beta"), slip, *wordings("alfa beta", language="cs")]
    vectors = [
        axes[0] + axes[1],
        axes[0] + axes[1],
        axes[0] + 0.55 * axes[1] + 0.6 * axes[2],
        axes[0] + 0.3 * axes[1] + 0.9 * axes[2],
    ]
    for language, start in (("ru", 4), ("en", 14), ("cs", 24)):
        texts += wordings(*(f"{language}{n} other{n}" for n in range(8)), language=language)
        vectors += axes[start : start + 8]
    found = grouped(texts, encoded(vectors), visitors=[visitors, 1, 1, 1, *[1] * 24])
    assert len(set(found[:4])) == groups


def test_visitors_tell_which_spelling_is_usual() -> None:
    texts = wordings("renew the parking permit", "renew the parkign permit", "parkign renewal abroad")
    assert grouped(texts, None, visitors=[5, 1, 1]) == [0, 1, 2]
    assert grouped(texts, None, visitors=[20, 1, 1]) == [0, 0, 2]


# --- by hand ---


def test_owners_stand_above_words_and_vectors() -> None:
    axes = apart(3)
    texts = wordings("alpha beta gamma", "alpha beta gamma", "delta epsilon", "alpha beta gamma")
    vectors = encoded([axes[0], axes[0], axes[1], axes[0]])
    assert len(set(grouped(texts, vectors, ["one", "two", "one", None]))) == 2
    groups = grouped(texts, vectors, ["one", "two", "one", None])
    assert groups[0] == groups[2] != groups[1]
    assert groups[3] in (groups[0], groups[1])


# --- ids ---


def member(gap_id: str | None, weight: int = 1, owner: str | None = None) -> Member:
    return Member(gap_id=gap_id, owner=owner, weight=weight)


def test_a_group_keeps_the_id_of_most_of_its_visitors() -> None:
    assert named([0, 0, 0], [member("g_a", 2), member("g_b", 1), member(None, 9)]) == ["g_a"] * 3


def test_an_id_goes_with_the_larger_part_and_the_other_gets_a_new_one() -> None:
    names = named([0, 1, 1], [member("g_a", 1), member("g_a", 2), member("g_a", 2)])
    assert names[1:] == ["g_a", "g_a"]
    assert names[0] not in ("g_a", "")


def test_owned_ids_are_given_to_nobody_else() -> None:
    names = named([0, 1], [member("g_a", 9), member("g_b", 1, owner="g_a")])
    assert names[1] == "g_a"
    assert names[0] != "g_a"
