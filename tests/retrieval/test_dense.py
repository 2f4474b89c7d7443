"""Search by meaning, with vectors that the tests can reckon: words are directions."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import pytest

from refdesk.domain.articles import ANONYMOUS, Article, HelpCentre, Passage
from refdesk.errors import DenseUnavailable
from refdesk.ports import ENGLISH, MULTILINGUAL, VectorRow
from refdesk.retrieval.baselines import (
    LEAST_REACH,
    MOST_REACH,
    USUAL_REACH,
    Baseline,
    Baselines,
    Spread,
    off_topic,
    reach_of,
)
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.dense import DensePassages
from refdesk.retrieval.embedded_texts import Part, vector_rows
from refdesk.retrieval.fusion import Scope
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot

PUBLIC, STAFF = ("public",), ("staff",)
DIMENSIONS = 64


class WordEmbedder:
    """A word is a fixed direction; a text their sum. `sees` maps words that this encoder takes for the same."""

    dimensions = DIMENSIONS

    def __init__(self, name: str, sees: dict[str, str] | None = None) -> None:
        self.model_id, self._sees = name, sees or {}
        self.asked: list[str] = []

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.stack([self._vector(text) for text in texts])

    embed_passages = embed_queries

    def remembers(self, query: str) -> bool:
        return query in self.asked

    def _vector(self, text: str) -> np.ndarray:
        words = [self._sees.get(word, word) for word in text.lower().replace(".", " ").split()] or ["nothing"]
        total = sum(np.random.default_rng(sum(map(ord, word)) * 7919 + len(word)).normal(size=64) for word in words)
        return (total / np.linalg.norm(total)).astype(np.float32)


class MemoryVectors:
    """ports.VectorIndex by exact search."""

    small = True
    """Whether all of it may be held in memory."""

    def __init__(self, rows: Sequence[VectorRow], embedders: dict[str, WordEmbedder]) -> None:
        self._held: dict[str, tuple[list[int], list[np.ndarray]]] = {}
        for row in rows:
            held = self._held.setdefault(row.collection, ([], []))
            held[0].append(row.row)
            held[1].append(embedders[row.encoder].embed_passages([row.text])[0])

    def query(self, collections: Sequence[str], vector: np.ndarray, limit: int) -> list[tuple[int, float]]:
        rows, vectors = self.vectors(collections, range(10_000))
        found = sorted(zip(rows.tolist(), (vectors @ vector).tolist(), strict=True), key=lambda pair: -pair[1])
        return found[:limit]

    def vectors(self, collections: Sequence[str], rows: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        wanted = set(rows)
        pairs = [(r, v) for name in collections for r, v in zip(*self._held[name], strict=True) if r in wanted]
        return np.array([r for r, _ in pairs], np.int32), np.array([v for _, v in pairs], np.float32)

    def everything(self, collections: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        rows, vectors = self.vectors(collections, range(10_000))
        order = np.argsort(rows, kind="stable")
        return (rows[order], order, vectors) if self.small else None

    def sample(self, collection: str, limit: int) -> np.ndarray:
        return np.stack(self._held[collection][1][:limit])

    def close(self) -> None:
        self._held = {}


@pytest.fixture(params=[True, False], ids=["held", "asked"], autouse=True)
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found does not depend on whether the index is asked or all of it is compared."""
    monkeypatch.setattr(MemoryVectors, "small", request.param)


def article(name: str, title: str, body: str, language: str = "en", audience: tuple[str, ...] = PUBLIC) -> Article:
    passages = (Passage(name, 0, "", ((0, len(body)),)),)
    return Article(name, title, body, language, audience, "v", passages=passages)


def scope(audiences: Sequence[tuple[str, ...]], languages: Sequence[str] = ("en", "de")) -> Scope:
    return Scope(tuple(audiences), tuple(languages))


def nearest(dense: DensePassages, *question) -> list[tuple[int, float]]:
    """(row, similarity), best first."""
    found = dense.scores(*question).best(99)
    return list(zip(found.rows.tolist(), found.similarity.tolist(), strict=True))


def centre(articles: Sequence[Article]) -> tuple[CorpusSnapshot, DensePassages, dict[str, WordEmbedder]]:
    languages = tuple(dict.fromkeys(one.language for one in articles))
    snapshot = CorpusSnapshot("g", Catalogue(HelpCentre("x", languages), articles), LexicalIndex.build(articles))
    embedders = {
        ENGLISH: WordEmbedder("english", {"money": "refund"}),
        MULTILINGUAL: WordEmbedder("multilingual", {"возврат": "refund", "geld": "refund"}),
    }
    dense = DensePassages(MemoryVectors(list(vector_rows(snapshot)), embedders), embedders, snapshot)
    return snapshot, dense, embedders


ARTICLES = [
    article("refunds", "Refund", "a refund takes ten days"),
    article("sso", "Sign in", "turn the sign in of your company on"),
    article("export", "Export", "save a table as a file"),
]


def test_english_text_is_embedded_by_both_encoders_and_other_text_by_one() -> None:
    snapshot, *_ = centre([ARTICLES[0], article("de", "Geld", "geld kommt", "de-AT")])
    rows = list(vector_rows(snapshot))
    assert sorted((row.encoder, row.row, row.text) for row in rows) == sorted(
        [
            (encoder, 0, text)
            for encoder in (ENGLISH, MULTILINGUAL)
            for text in ("Refund", "Refund\na refund takes ten days")
        ]
        + [(MULTILINGUAL, 1, text) for text in ("Geld", "Geld\ngeld kommt")]
    )
    assert all(3 <= len(row.collection) <= 60 for row in rows)
    assert len({row.collection for row in rows}) == 6


def test_a_title_without_a_letter_gives_way_to_the_passage() -> None:
    snapshot, *_ = centre([article("a", "2024-01", "geld kommt", "de")])
    assert [row.text for row in vector_rows(snapshot)] == ["geld kommt"] * 2


@pytest.mark.parametrize("audience", [("a", "b"), ("a\0b",), ("b", "a"), ("\ud800",), ("x" * 500,)])
def test_every_audience_has_a_collection_of_its_own(audience: tuple[str, ...]) -> None:
    plain = Part(("a",), "en").collection("text", ENGLISH)
    assert Part(audience, "en").collection("text", ENGLISH) != plain
    assert plain != Part(("a",), "de").collection("text", ENGLISH)


def test_the_pair_of_languages_picks_the_encoder() -> None:
    _, dense, embedders = centre(ARTICLES)
    for embedder in embedders.values():
        embedder.asked.clear()
    assert nearest(dense, "money", "en", scope([PUBLIC]), 3)[0][0] == 0
    assert nearest(dense, "возврат", "ru", scope([PUBLIC]), 3)[0][0] == 0
    assert set(embedders[ENGLISH].asked) == {"money"}
    assert set(embedders[MULTILINGUAL].asked) == {"возврат"}


def test_what_an_audience_does_not_hold_is_never_compared() -> None:
    secret = article("secret", "Refund runbook", "refund refund refund", audience=STAFF)
    alone, among = (centre(articles)[1] for articles in (ARTICLES, [*ARTICLES, secret]))
    assert nearest(among, "refund", "en", scope([PUBLIC]), 9) == nearest(alone, "refund", "en", scope([PUBLIC]), 9)
    assert nearest(among, "refund", "en", scope([PUBLIC, STAFF]), 9)[0][0] == 3
    assert 3 not in among.signals("refund", "en", scope([PUBLIC]), [0, 3])
    assert nearest(among, "refund", "en", scope([]), 9) == []


def test_a_title_that_fits_lifts_its_article() -> None:
    body = "you will have it within ten days of the day on which we hear from you"
    _, dense, _ = centre(
        [article("plain", "Other", f"{body} refund"), article("titled", "Refund", body), *ARTICLES[1:]]
    )
    assert nearest(dense, "refund", "en", scope([PUBLIC]), 2)[0][0] == 1


def test_languages_are_ranked_together_once_the_yardstick_is_known() -> None:
    german = article("geld", "Geld", "geld kommt nach zehn tagen", "de")
    _, dense, _ = centre([*ARTICLES[1:], german])
    dense.measure_baselines({"en": off_topic()["en"], "de": off_topic()["cs"]}, [PUBLIC])
    assert nearest(dense, "geld", "de", scope([PUBLIC]), 9)[0][0] == 2
    assert nearest(dense, "sign in company", "en", scope([PUBLIC]), 9)[0][0] == 0


OFF_TOPIC = ["how old is the moon", "sing me a song", "bake a cake"]


def test_nearness_is_nothing_where_off_topic_questions_come_and_more_on_topic() -> None:
    _, dense, _ = centre(ARTICLES)
    assert set(dense.signals("refund", "en", scope([PUBLIC]), [0])[0]) == {"cosine", "title_cosine"}
    dense.measure_baselines({"en": OFF_TOPIC}, [PUBLIC])
    signals = dense.signals("refund", "en", scope([PUBLIC]), [0, 2, 77])
    assert set(signals) == {0, 2}
    assert signals[0]["near"] > 0.5 > signals[2]["near"]
    assert all(
        dense.signals(text, "en", scope([PUBLIC]), [row])[row]["near"] < 0.5 for text in OFF_TOPIC for row in (0, 1, 2)
    )


def test_own_titles_are_asked_of_the_other_articles_only() -> None:
    """Titles of one subject come near to each other's articles, those of different ones only to their own."""
    words = ["a" * n for n in range(3, 33)]
    subjects = {word: ("refund", "export")[n % 2] for n, word in enumerate(words)}
    alike = [article(f"a{word}", f"{about} {word}", f"{about} {about} {word}") for word, about in subjects.items()]
    apart = [article(f"a{word}", f"{word} z{word}", f"{word} z{word} y{word}") for word in words]
    reached = {}
    for name, articles in (("alike", alike), ("apart", apart)):
        _, dense, _ = centre(articles)
        baseline = dense.measure_baselines({"en": off_topic()["en"]}, [PUBLIC]).of("en", "en")
        assert baseline is not None
        reached[name] = baseline.reach
    assert reached["alike"] > reached["apart"] == LEAST_REACH


def test_what_languages_differ_in_does_not_count_for_a_question_in_the_text_s_own() -> None:
    """`fremd` is what the banks of two languages differ in: a passage that holds it is found like one without."""
    with_name = article("named", "Geld", "fremd fremd fremd geld kommt bald", "de")
    plain = article("plain", "Rechnung", "etwas ganz anderes steht hier", "de")
    bank = {"en": ["fremd moon"] * 3, "de": ["heimat moon"] * 3}

    def cosine(kept: bool) -> float:
        snapshot, dense, embedders = centre([with_name, plain])
        measured = dense.measure_baselines(bank, [PUBLIC])
        if kept:
            measured = msgspec.structs.replace(measured, axes=())
        again = DensePassages(MemoryVectors(list(vector_rows(snapshot)), embedders), embedders, snapshot, measured)
        return dict(nearest(again, "geld kommt", "de", scope([PUBLIC]), 2))[0]

    assert cosine(kept=False) > cosine(kept=True)


async def test_the_gate_of_the_snapshot_uses_them() -> None:
    snapshot, dense, _ = centre(ARTICLES)
    dense.measure_baselines({"en": OFF_TOPIC}, [PUBLIC])
    snapshot.dense = dense

    async def best(question: str) -> float:
        result = await snapshot.search(question, ANONYMOUS)
        return max(snapshot.evidence_score({**result.signals, **hit.signals}) for hit in result.hits)

    assert await best("money") > snapshot.threshold
    assert await best("zebra crossing") < snapshot.threshold


async def in_two_languages() -> tuple[CorpusSnapshot, dict[str, WordEmbedder]]:
    german = article("geld", "Geldsack", "der geldsack kommt nach zehn tagen", "de")
    snapshot, dense, embedders = centre([*ARTICLES, german])
    dense.measure_baselines({"en": OFF_TOPIC, "de": OFF_TOPIC}, [PUBLIC])
    snapshot.dense = dense
    await snapshot.search("warming up", ANONYMOUS)
    embedders[MULTILINGUAL].asked.clear()
    return snapshot, embedders


async def test_other_languages_are_not_asked_where_the_question_s_own_answers_well() -> None:
    snapshot, embedders = await in_two_languages()
    title = next(one.title for one in ARTICLES if one.language == "en")
    result = await snapshot.search(title, ANONYMOUS)
    assert result.hits[0].article.title == title
    assert {hit.article.language for hit in result.hits} == {"en"}
    assert title not in embedders[MULTILINGUAL].asked


async def test_other_languages_are_asked_where_the_question_s_own_does_not() -> None:
    snapshot, embedders = await in_two_languages()
    result = await snapshot.search("where is the geldsack", ANONYMOUS)
    assert result.hits[0].article.id == "geld"
    assert "where is the geldsack" in embedders[MULTILINGUAL].asked


async def test_one_known_word_among_four_is_no_evidence() -> None:
    snapshot, dense, _ = centre(ARTICLES)
    dense.measure_baselines({"en": OFF_TOPIC}, [PUBLIC])
    snapshot.dense = dense
    result = await snapshot.search("refund zebra giraffe elephant", ANONYMOUS)
    assert (result.signals["unknown"], result.signals["strange"]) == (0.75, 1.0)
    assert max(snapshot.evidence_score({**result.signals, **hit.signals}) for hit in result.hits) < snapshot.threshold


@pytest.mark.parametrize("question", ["", "  ", "???", "🙂"])
async def test_what_says_nothing_is_near_to_nothing(question: str) -> None:
    snapshot, snapshot.dense, _ = centre(ARTICLES)
    assert (await snapshot.search(question, ANONYMOUS)).hits == ()


async def test_a_question_in_a_language_of_no_article_has_no_unknown_words() -> None:
    snapshot, snapshot.dense, _ = centre(ARTICLES)
    result = await snapshot.search("Когда мне вернут деньги за заказ, возврат?", ANONYMOUS)
    assert "unknown" not in result.signals
    assert result.hits


def test_only_the_languages_in_scope_are_compared() -> None:
    _, dense, _ = centre([*ARTICLES, article("geld", "Geld", "geld kommt", "de")])
    assert {row for row, _ in nearest(dense, "geld", "de", scope([PUBLIC], ["de"]), 9)} == {3}
    assert {row for row, _ in nearest(dense, "geld", "de", scope([PUBLIC], ["en"]), 9)} == {0, 1, 2}


# --- the yardstick -------------------------------------------------------------------------------


def test_a_few_on_topic_questions_do_not_lift_it() -> None:
    usual = [0.1 + 0.001 * n for n in range(94)]
    assert Spread.of([*usual, *[0.9] * 6]) == Spread.of(usual)


def test_it_is_never_without_a_spread() -> None:
    assert Spread.of([0.5, 0.5]).above(0.6) < 10


@pytest.mark.parametrize(
    ("spreads", "reach"),
    [
        ([6.0] * 3, USUAL_REACH),
        ([6.0] * 9 + [1.0], 6.0),
        ([1.0] * 20, LEAST_REACH),
        ([40.0] * 20, MOST_REACH),
    ],
)
def test_the_reach_of_own_titles_has_bounds(spreads: list[float], reach: float) -> None:
    assert reach_of(spreads) == reach


def test_a_language_without_a_bank_takes_the_highest_of_the_others() -> None:
    low, high = (Baseline(Spread(middle, 0.1)) for middle in (0.1, 0.2))
    baselines = Baselines({"en de": high, "ru de": low, "en en": low})
    assert baselines.of("ja", "de") == high
    assert baselines.of("ru", "de") == low
    assert baselines.of("ja", "ja") is None
    assert baselines.of("ja", "en") is None
    assert msgspec.json.decode(msgspec.json.encode(baselines), type=Baselines) == baselines


def test_the_bank_has_a_hundred_questions_in_each_of_three_languages() -> None:
    assert {language: len(set(questions)) for language, questions in off_topic().items()} == dict.fromkeys(
        ("en", "ru", "cs"), 100
    )


def test_a_failing_index_is_a_failure_that_search_understands() -> None:
    snapshot, _, embedders = centre(ARTICLES)

    class Broken(MemoryVectors):
        small = False

        def query(self, collections: Sequence[str], vector: np.ndarray, limit: int) -> list[tuple[int, float]]:
            raise DenseUnavailable("lost")

    dense = DensePassages(Broken(list(vector_rows(snapshot)), embedders), embedders, snapshot)
    with pytest.raises(DenseUnavailable):
        nearest(dense, "refund", "en", scope([PUBLIC]), 3)
