"""Whether a question is about the help centre at all, by the encoders of the package; and what they put together."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from test_dense import MemoryVectors, article
from test_dense_service import MemoryBackend

from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.dense_service import DenseService
from refdesk.domain.articles import HelpCentre
from refdesk.domain.conversation import StoredTurn, Turn, TurnTrail
from refdesk.domain.gap_grouping import grouped
from refdesk.domain.gap_queue import Fresh, Unanswered
from refdesk.domain.gap_wordings import Wording
from refdesk.gaps.assessing import unanswered
from refdesk.gaps.encoding import Encoding
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorIndex
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot

ARTICLES = [
    article(
        "refunds", "Refunds", "Refunds are issued within 14 days to the card that paid. Ask for one under Billing."
    ),
    article("invoices", "Invoices", "Download an invoice as a PDF file under Billing. Invoices are sent every month."),
    article("members", "Invite people", "An admin invites members by their e-mail address and chooses their role."),
    article(
        "sso", "Sign in with your company", "Connect an identity provider, so that people sign in with one account."
    ),
    article("export", "Export a table", "Save a table as a CSV file. Exports of large tables run at night."),
    article("password", "Change your password", "Open your profile, choose Security and type a new password twice."),
    article(
        "delete", "Delete the workspace", "The owner deletes the workspace. All of its files are gone after 30 days."
    ),
    article("phone", "The app for phones", "Install the app from the store. It works without a connection."),
]
FAR = [
    ("Why do whales sing under water?", "en"),
    ("Proč velryby zpívají pod vodou?", "cs"),
    ("Почему киты поют под водой?", "ru"),
]
NEAR = ["How do I give a member another role?", "Can an invoice have the address of my company?"]


class RealBackend(MemoryBackend):
    def __init__(self, embedders: dict[str, Embedder]) -> None:
        super().__init__()
        self._embedders = embedders

    def embedders(self) -> dict[str, Embedder]:  # type: ignore[override]
        return self._embedders

    def open(self, name: str) -> VectorIndex:
        return MemoryVectors(self.rows[name], self._embedders)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def embedders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Embedder]:
    models: Path = tmp_path_factory.mktemp("models")
    return {MULTILINGUAL: load_e5(models), ENGLISH: load_minilm(models)}


@pytest.fixture
async def snapshot(embedders: dict[str, Embedder]) -> CorpusSnapshot:
    made = CorpusSnapshot("g", Catalogue(HelpCentre("x", ("en",)), ARTICLES), LexicalIndex.build(ARTICLES))
    service = DenseService(lambda: RealBackend(embedders), lambda: made)
    async with asyncio.timeout(60):
        await service.ready()
    await service.close()
    return made


async def assessed(question: str, language: str, snapshot: CorpusSnapshot) -> Unanswered:
    turn = Turn(
        id="t_1", conversation_id="c_1", created_at="2026-02-03T12:00:00.000Z", question=question, language=language,
        status="insufficient",
    )  # fmt: skip
    return await unanswered(Fresh(1, "v_1", StoredTurn(turn, TurnTrail(gap_cause="weak_evidence"))), snapshot)


async def test_only_what_is_far_from_every_article_is_out_of_scope(snapshot: CorpusSnapshot) -> None:
    far = [(await assessed(question, language, snapshot)).cause for question, language in FAR]
    assert far == ["out_of_scope"] * len(FAR)
    near = [(await assessed(question, "en", snapshot)).cause for question in NEAR]
    assert "out_of_scope" not in near


@pytest.fixture
async def bilingual(embedders: dict[str, Embedder]) -> CorpusSnapshot:
    czech = article(
        "dovolena", "Dovolená", "O dovolenou požádáte v kalendáři. Schválí ji vedoucí do tří dnů.", language="cs"
    )
    articles = [*ARTICLES, czech]
    made = CorpusSnapshot("g", Catalogue(HelpCentre("x", ("en", "cs")), articles), LexicalIndex.build(articles))
    service = DenseService(lambda: RealBackend(embedders), lambda: made)
    async with asyncio.timeout(60):
        await service.ready()
    await service.close()
    return made


@pytest.mark.parametrize("question", ["asdf", "hjkl", "blah blah", "Translate this poem", "A recipe for goulash?"])
async def test_another_language_is_no_reason_to_think_that_an_article_answers(
    bilingual: CorpusSnapshot, question: str
) -> None:
    assert (await assessed(question, "en", bilingual)).cause != "missed"


async def test_what_only_an_article_of_another_language_answers_was_missed(bilingual: CorpusSnapshot) -> None:
    asked = await assessed("Who approves my vacation?", "en", bilingual)
    assert (asked.cause, asked.body.near[0].id) == ("missed", "dovolena")


def test_languages_meet_in_one_gap_and_another_question_stays_apart(embedders: dict[str, Embedder]) -> None:
    asked = [*FAR, ("How do I give a member another role?", "en"), ("Hello, why do whales sing under water?", "en")]
    questions, languages = [question for question, _ in asked], [language for _, language in asked]
    encoded = Encoding(lambda: embedders).encoded(questions, languages)
    groups = grouped([Wording.of(*question) for question in asked], encoded)
    assert groups == [0, 0, 0, 3, 0]


def test_a_greeting_is_no_part_of_what_is_asked(embedders: dict[str, Embedder]) -> None:
    encoding = Encoding(lambda: embedders)
    found = encoding.encoded(["Hello! Why do whales sing?", "Why do whales sing?"], ["en", "en"])
    assert found is not None
    assert found.everywhere.rows[0].tolist() == found.everywhere.rows[1].tolist()
