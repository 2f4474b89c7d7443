"""Searching one version of the corpus: access before ranking, variants, crowding, fusion, repair."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import msgspec
import numpy as np
import pytest
from corpora import ANONYMOUS, CENTRE, STAFF, article, snapshot

from refdesk.domain.articles import HelpCentre
from refdesk.retrieval import search
from refdesk.retrieval.fusion import NOTHING, Nearest


async def ids(corpus, question: str, roles=ANONYMOUS, **options) -> list[str]:
    return [hit.article.id for hit in (await corpus.search(question, roles, **options)).hits]


async def test_two_hundred_hidden_articles_do_not_crowd_out_the_public_one() -> None:
    hidden = [article(f"h{n}", "Refund runbook", "Refund of refund.", audience=("staff",)) for n in range(200)]
    corpus = snapshot([*hidden, article("public", "Money", "You may ask for a refund.")])
    assert await ids(corpus, "refund runbook") == ["public"]
    result = await corpus.search("refund runbook", ANONYMOUS)
    alone = await snapshot([article("public", "Money", "You may ask for a refund.")]).search(
        "refund runbook", ANONYMOUS
    )
    assert [(hit.score, hit.signals) for hit in result.hits] == [(hit.score, hit.signals) for hit in alone.hits]
    assert result.signals == alone.signals
    assert "h1" in await ids(corpus, "refund runbook", STAFF, limit=200)


async def test_one_article_gives_at_most_three_passages() -> None:
    long = article("long", "Refunds", "\n\n".join(f"A refund of kind {word}." for word in "one two three four".split()))
    corpus = snapshot([long, article("short", "Plans", "No refund of the yearly plan.")])
    assert sorted(await ids(corpus, "refund")) == ["long", "long", "long", "short"]


async def test_copied_text_stands_behind_all_others_and_contradictions_do_not() -> None:
    text = "A refund of the yearly plan is possible within {} days after the payment was made by card."
    copies = [article(f"copy{n}", "Refunds", text.format(14)) for n in range(4)]
    other = article("other", "Refunds", text.format(30))
    away = article("away", "Plans", "The yearly plan.")
    found = await ids(snapshot([*copies, other, away]), "refund of the yearly plan by card", limit=3)
    assert len([one for one in found if one.startswith("copy")]) == 1
    assert {"other", "away"} <= set(found)


async def test_of_a_translated_article_the_visitors_variant_is_found_else_the_original() -> None:
    corpus = snapshot(
        [
            article("sso", "SSO", "Set up SSO."),
            article("sso-ru", "SSO", "Настройка SSO.", language="ru", translation_of="sso"),
        ]
    )
    assert await ids(corpus, "How do I set up SSO?") == ["sso"]
    assert await ids(corpus, "Как настроить SSO?") == ["sso-ru"]
    assert await ids(corpus, "Jak nastavím SSO?") == ["sso"]
    assert await ids(corpus, "SSO", language="ru") == ["sso-ru"]


async def test_category_and_language_filter_before_ranking() -> None:
    corpus = snapshot(
        [
            article("a", "Refund", "refund", category="Billing"),
            article("b", "Refund", "refund refund", category="Other"),
            article("c", "Возврат refund", "refund", language="ru", category="Billing"),
        ]
    )
    assert set(await ids(corpus, "refund", category="billing")) == {"a", "c"}
    assert await ids(corpus, "refund", language="ru", category="billing") == ["c"]
    assert await ids(corpus, "refund", category="none") == []


async def test_the_owners_synonyms_expand_the_question_and_are_said() -> None:
    centre = HelpCentre("Acme", languages=("en",), synonyms=(("SSO", "single sign-on"),))
    corpus = snapshot([article("a", "Single sign-on", "Paste the metadata URL."), article("b", "Plans", "x")], centre)
    result = await corpus.search("Set up SSO", ANONYMOUS)
    assert [hit.article.id for hit in result.hits] == ["a"]
    assert result.searched == ("Set up SSO", "set up single sign-on")
    assert result.hits[0].signals["coverage"] == pytest.approx(2 / 3)


async def test_a_repaired_question_is_a_second_one_and_is_said() -> None:
    corpus = snapshot([article("a", "Refunds", "A refund takes ten days.")])
    result = await corpus.search("refnud", ANONYMOUS)
    assert result.searched == ("refnud", "refund")
    assert [hit.article.id for hit in result.hits] == ["a"]


async def test_a_question_in_another_language_is_not_repaired() -> None:
    corpus = snapshot([article("a", "Wired networks", "Wired networks.")])
    assert (await corpus.search("Wie wird das gemacht?", ANONYMOUS)).searched == ("Wie wird das gemacht?",)


@pytest.mark.parametrize("question", ["", "   ", "???", "zxqv blorp wibbly", "\ud800", "a" * 5000, "🙂"])
async def test_what_holds_no_known_word_finds_nothing(question: str) -> None:
    corpus = snapshot([article("a", "Refunds", "A refund takes ten days.")])
    assert (await corpus.search(question, ANONYMOUS)).hits == ()


async def test_an_empty_corpus_finds_nothing() -> None:
    assert (await snapshot([]).search("refund", ANONYMOUS)).hits == ()


class Dense:
    """Gives the rows it was made with."""

    def __init__(self, found: Sequence[tuple[int, float]], failure: Exception | None = None) -> None:
        self.found, self.failure = found, failure
        self.asked: list[tuple[str, str, list[tuple[str, ...]]]] = []
        self.threads: set[int] = set()
        self.near = True

    def at_hand(self, queries, language, scope):
        return self.near

    def scores(self, query, language, scope, limit):
        self.asked.append((query, language, sorted(scope.audiences)))
        self.threads.add(threading.get_ident())
        if self.failure:
            raise self.failure
        rows, similarity = zip(*self.found, strict=True)
        scores = np.array(similarity, np.float32)
        return Nearest(np.array(rows, np.int32), scores, np.zeros_like(scores))

    def signals(self, query, language, scope, rows):
        return {row: {"cosine": near} for row, near in self.found if row in rows}


PAIR = [
    article("words", "Refunds", "A refund takes ten days."),
    article("sense", "Money", "We give it back within a fortnight."),
    article("secret", "Runbook", "refund", audience=("staff",)),
]


async def test_dense_scores_outweigh_words_and_words_break_ties() -> None:
    question = "is a refund back soon"
    assert await ids(snapshot(PAIR, dense=Dense([(1, 0.9), (0, 0.5)])), question) == ["sense", "words"]
    assert await ids(snapshot(PAIR, dense=Dense([(1, 0.9), (0, 0.9)])), question) == ["words", "sense"]


async def test_words_that_fit_the_whole_question_outweigh_nearness() -> None:
    assert await ids(snapshot(PAIR, dense=Dense([(1, 0.9), (0, 0.5)])), "refund") == ["words", "sense"]


async def test_hits_of_the_dense_index_have_all_signals() -> None:
    result = await snapshot(PAIR, dense=Dense([(1, 0.9), (0, 0.5)])).search("when is a refund back", ANONYMOUS)
    assert result.hits[0].signals["cosine"] == pytest.approx(0.9)
    assert result.hits[0].signals["coverage"] == 0.5
    assert not result.degraded


async def test_hidden_and_unknown_rows_of_the_dense_index_are_dropped() -> None:
    dense = Dense([(2, 1.0), (77, 1.0), (-1, 1.0), (1, 0.5)])
    assert await ids(snapshot(PAIR, dense=dense), "is a refund back soon") == ["words", "sense"]
    assert dense.asked == [("is a refund back soon", "en", [("public",)])]


async def test_words_do_not_count_for_a_question_in_another_language() -> None:
    dense = Dense([(1, 0.9), (0, 0.9)])
    result = await snapshot(PAIR, dense=dense).search("Wie lange dauert ein refund und wie geht das?", ANONYMOUS)
    assert [hit.score for hit in result.hits] == [result.hits[0].score] * 2


@pytest.mark.parametrize("failure", [RuntimeError("port closed"), ValueError("dimension"), OSError()])
async def test_lexical_search_serves_where_the_dense_index_fails(failure: Exception) -> None:
    result = await snapshot(PAIR, dense=Dense([], failure)).search("refund", ANONYMOUS)
    assert [hit.article.id for hit in result.hits] == ["words"]
    assert result.degraded


async def test_a_dense_index_that_hangs_is_given_up_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "DENSE_SECONDS", 0.05)
    release = threading.Event()
    asked = []

    class Hanging:
        def at_hand(self, queries, language, scope):
            return False

        def scores(self, query, language, scope, limit):
            asked.append(query)
            release.wait(10)
            return NOTHING

    corpus = snapshot(PAIR, dense=Hanging())
    results = [await corpus.search("refund", ANONYMOUS) for _ in range(3)]
    release.set()
    assert all(result.degraded and result.hits for result in results)
    assert asked == ["refund"]


@pytest.mark.parametrize("near", [True, False])
async def test_only_what_takes_time_is_handed_to_a_thread(near: bool) -> None:
    dense = Dense([(1, 0.9), (0, 0.5)])
    dense.near = near
    await snapshot(PAIR, dense=dense).search("refund", ANONYMOUS)
    assert (threading.get_ident() in dense.threads) is near


# --- what is remembered ---------------------------------------------------------------------------


async def test_the_same_question_of_the_same_visitors_is_searched_once() -> None:
    dense = Dense([(1, 0.9), (0, 0.5)])
    corpus = snapshot(PAIR, dense=dense)
    wide, narrow = [await corpus.search("refund", ANONYMOUS, limit=limit) for limit in (16, 1)]
    assert len(dense.asked) == 1
    assert narrow.hits == wide.hits[:1]
    assert await ids(corpus, "refund", STAFF) != [hit.article.id for hit in wide.hits]
    for other in ({"limit": 20}, {"language": "en"}, {"category": "Money"}):
        await corpus.search("refund", ANONYMOUS, **other)
    assert len(dense.asked) == 5


async def test_fewer_hits_are_the_first_of_more() -> None:
    """Copies stand behind all others, however many are asked for."""
    text = "A refund of the yearly plan is possible within 14 days after the payment was made by card."
    copies = [article(f"copy{n}", "Refunds", text) for n in range(6)]
    others = [article(f"other{n}", f"Plan {n}", f"The yearly plan {n} has no refund {n}.") for n in range(5)]
    for limit in range(1, 12):
        few = await ids(snapshot([*copies, *others]), "refund of the yearly plan", limit=limit)
        assert few == (await ids(snapshot([*copies, *others]), "refund of the yearly plan", limit=11))[:limit]
        assert len(few) == limit


async def test_a_search_without_the_dense_index_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "DENSE_REST", 0.0)
    dense = Dense([(1, 0.9), (0, 0.5)], OSError())
    corpus = snapshot(PAIR, dense=dense)
    assert (await corpus.search("refund", ANONYMOUS)).degraded
    dense.failure = None
    assert not (await corpus.search("refund", ANONYMOUS)).degraded


async def test_vectors_that_come_later_are_asked() -> None:
    corpus = snapshot(PAIR)
    question = "is a refund due soon"
    assert await ids(corpus, question) == ["words"]
    corpus.dense = Dense([(1, 0.9), (0, 0.5)])
    assert await ids(corpus, question) == ["sense", "words"]


def test_nothing_can_be_measured_in_an_empty_corpus() -> None:
    assert snapshot([]).measure("refund", [(PAIR[0], PAIR[0].passages[0])])[0]["coverage"] == 0.0


def test_passages_of_earlier_turns_are_measured() -> None:
    corpus = snapshot(PAIR)
    gone = msgspec.structs.replace(article("gone", "Old", "A refund."), language="de")
    one, other = corpus.measure("refund in ten days", [(PAIR[0], PAIR[0].passages[0]), (gone, gone.passages[0])])
    assert one["coverage"] == 1.0
    assert other["coverage"] == pytest.approx(1 / 3)
    assert corpus.evidence_score(one) > corpus.threshold > corpus.evidence_score({})


def test_languages_are_those_of_the_centre_then_of_the_articles() -> None:
    corpus = snapshot([article("de", "Rechnung", "x", language="de-AT")])
    assert corpus.languages == (*CENTRE.languages, "de")
