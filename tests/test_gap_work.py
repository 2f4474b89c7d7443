"""What the queue makes of a turn: why it failed as articles tell it, when a gap is answered, what figures say."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from help_centre import write_corpus

from refdesk.corpus.sync import read_corpus
from refdesk.domain.article_signals import counts_of, figures_of
from refdesk.domain.conversation import FoundArticle, StoredTurn, Turn, TurnTrail
from refdesk.domain.gap_queue import ArticleCount, Asked, Fresh, GapBody, GapRow
from refdesk.domain.gap_view import gap_view, trend
from refdesk.domain.gaps import is_unanswered
from refdesk.gaps.assessing import unanswered
from refdesk.gaps.checking import answered_by
from refdesk.ports import Hit, SearchResult
from refdesk.retrieval.generation import GenerationStore
from refdesk.retrieval.search import CorpusSnapshot

AT = "2026-02-03T12:00:00.000Z"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> CorpusSnapshot:
    folder = tmp_path_factory.mktemp("corpus") / "corpus"
    write_corpus(folder)
    reading = read_corpus(folder)
    return GenerationStore(tmp_path_factory.mktemp("data")).publish(reading.centre, reading.articles)


def found(article_id: str, *forms: str, read: bool = True, cited: bool = False, show: bool = False) -> FoundArticle:
    return FoundArticle(
        id=article_id, title=article_id, version="1", forms=forms, calls=(0,), tools=("search",), read=read,
        cited=cited, source=show, show=show, reason=f"why {article_id}",
    )  # fmt: skip


def fresh(
    question: str, *documents: FoundArticle, visitor: str = "v_1", cause: str = "weak_evidence", **turn: Any
) -> Fresh:
    values = {"status": "insufficient", "language": "en", **turn}
    asked = Turn(id="t_1", conversation_id="c_1", created_at=AT, question=question, **values)
    return Fresh(1, visitor, StoredTurn(asked, TurnTrail(gap_cause=cause, documents=documents, roles=("public",))))


@pytest.mark.parametrize(
    ("changes", "is_one"),
    [
        ({}, True),
        ({"status": "answered"}, True),
        ({"status": "evidence"}, False),
        ({"status": "stopped"}, False),
        ({"status": "failed"}, False),
        ({"status": "interrupted"}, False),
        ({"kind": "smalltalk"}, False),
        ({"kind": "catalogue"}, False),
        ({"kind": "clarification"}, False),
        ({"model_error": "budget"}, False),
        ({"visitor": "v_staff_1"}, False),
    ],
)
def test_what_is_unanswered(changes: dict[str, Any], is_one: bool) -> None:
    one = fresh("When?", **changes)
    assert is_unanswered(one.stored.turn, one.visitor_id) is is_one


async def test_an_article_that_answers_and_was_not_read_was_missed(snapshot: CorpusSnapshot) -> None:
    asked = await unanswered(fresh("When are refunds issued?", found("gift-cards", "passage")), snapshot)
    assert (asked.cause, asked.body.near[0].id) == ("missed", "refunds")
    assert [near.id for near in asked.body.near] == ["refunds", "gift-cards"]


async def test_an_article_that_was_read_was_not_missed(snapshot: CorpusSnapshot) -> None:
    turn = fresh("When are refunds issued?", found("refunds", "full"), cause="opened_but_silent")
    assert (await unanswered(turn, snapshot)).cause == "opened_but_silent"


class FarAway:
    """A snapshot in which nothing is near."""

    def __init__(self, snapshot: CorpusSnapshot, near: float) -> None:
        self._snapshot, self._near = snapshot, near

    def __getattr__(self, name: str) -> Any:
        return getattr(self._snapshot, name)

    async def search(self, query: str, roles: Any, **more: Any) -> SearchResult:
        article = self._snapshot.catalogue.all[0]
        return SearchResult((Hit(article, article.passages[0], 0.1, {"near": self._near, "selfscore": 0.0}),))

    def evidence_score(self, signals: dict[str, float]) -> float:
        return 0.0


@pytest.mark.parametrize(("near", "cause"), [(0.0, "out_of_scope"), (0.5, "weak_evidence")])
async def test_a_question_that_is_near_nothing_is_out_of_scope(
    snapshot: CorpusSnapshot, near: float, cause: str
) -> None:
    far: Any = FarAway(snapshot, near)
    assert (await unanswered(fresh("Why is the sky blue?"), far)).cause == cause


async def test_personal_data_is_cut_out_of_question_and_missing_information(snapshot: CorpusSnapshot) -> None:
    turn = fresh("Is jane@example.org blocked?", missing_information=("why jane@example.org is blocked",))
    asked = await unanswered(turn, snapshot)
    assert "example.org" not in msgspec.json.encode(asked).decode()
    other = await unanswered(fresh("Is max@example.org blocked?"), snapshot)
    assert asked.wording == other.wording


# --- checking again ---


def asked(question: str, *, wording: str = "a", **versions: str) -> Asked:
    body = GapBody(roles=("public",), versions=versions)
    return Asked("t_1", "c_1", AT, "en", "weak_evidence", question, wording, body, 1)


async def test_an_article_answers_unless_the_question_found_that_very_text(snapshot: CorpusSnapshot) -> None:
    question = "When are refunds issued?"
    found_one = await answered_by([asked(question, refunds="an earlier version")], snapshot, None, now=AT)
    assert found_one is not None
    assert (found_one.article_id, found_one.by) == ("refunds", "search")
    article = snapshot.article("refunds", frozenset({"public"}))
    assert article is not None
    assert await answered_by([asked(question, refunds=article.version)], snapshot, None, now=AT) is None


async def test_most_wordings_must_be_answered_and_by_one_article(snapshot: CorpusSnapshot) -> None:
    questions = [asked("When are refunds issued?", wording="a"), asked("Is the moon green?", wording="b")]
    assert await answered_by(questions, snapshot, None, now=AT) is None
    assert await answered_by([*questions, asked("Refunds issued when?", wording="c")], snapshot, None, now=AT)


async def test_what_a_visitor_may_not_read_answers_nothing(snapshot: CorpusSnapshot) -> None:
    assert await answered_by([asked("Do partners get 20 percent?")], snapshot, None, now=AT) is None


# --- figures ---


def test_counts_say_how_far_each_article_came() -> None:
    turn = fresh(
        "x",
        found("a", "full", cited=True, show=True),
        found("b", "title", read=False, cited=True),
        found("c", "passage"),
    )
    full, title, passage = counts_of(turn.stored.turn, turn.stored.trail, failed=True)
    assert full == ArticleCount(
        "2026-02-03", "a", "en", found=1, read=1, opened=1, cited=1, listed=0, shown=1, failed=1
    )
    assert (title.read, title.listed, title.failed) == (0, 1, 0)
    assert (passage.opened, passage.cited, passage.failed) == (0, 0, 1)
    answered = counts_of(turn.stored.turn, turn.stored.trail, failed=False)
    assert [count.failed for count in answered] == [0, 0, 0]


@pytest.mark.parametrize(
    ("figures", "signal"),
    [
        ({"found": 5, "read": 5, "opened": 5}, "opened_never_cited"),
        ({"found": 10}, "found_never_opened"),
        ({"found": 1, "cited": 2, "listed": 2}, "cited_only_from_listings"),
        ({"found": 4, "read": 4, "language": "cs"}, "asked_in_other_language"),
    ],
)
def test_signals_need_more_than_an_accident(snapshot: CorpusSnapshot, figures: dict[str, Any], signal: str) -> None:
    article = snapshot.article("refunds", frozenset({"public"}))

    def signals(counts: dict[str, Any]) -> list[str]:
        count = ArticleCount(day="2026-02-03", article_id="refunds", **{"language": "en", **counts})
        return list(figures_of("refunds", [count], article, translated={"en"}, languages={"en", "cs"}).signals)

    assert signal in signals(figures)
    fewer = {name: value - 3 if isinstance(value, int) else value for name, value in figures.items()}
    assert signal not in signals(
        {name: max(0, value) if isinstance(value, int) else value for name, value in fewer.items()}
    )


def test_the_text_of_a_gap_is_that_of_its_usual_wordings() -> None:
    row = GapRow("g_1", AT, "open", "weak_evidence", None, None, 3, 3, AT, AT, None, None, False)
    rare = Asked("t_1", "c_1", AT, "en", "missed", "Rare?", "r", GapBody(missing=("rare secret",)), 1)
    usual = [Asked(f"t_{n}", "c_1", AT, "cs", "missed", "Obvyklé?", "u", GapBody(missing=("co",)), 2) for n in (2, 3)]
    view = gap_view(row, [rare, *usual], k=2, now=AT)
    assert (view.title, view.hidden, view.missing_information) == ("Obvyklé?", 1, ["co"])
    assert (view.languages, view.causes) == ({"cs": 2, "en": 1}, {"missed": 3})
    assert gap_view(row, [rare, *usual], k=1, now=AT).hidden == 0


def test_the_trend_has_a_place_for_each_of_eight_weeks() -> None:
    moments = [
        "2026-02-03T11:00:00.000Z",
        "2026-01-28T12:00:00.000Z",
        "2026-01-27T11:00:00.000Z",
        "2025-01-01T00:00:00.000Z",
    ]
    assert trend(moments, AT) == [0, 0, 0, 0, 0, 0, 1, 2]
