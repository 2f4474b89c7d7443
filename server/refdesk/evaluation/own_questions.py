"""Questions that a help centre asks itself: titles and headings, each hidden from the article that it was taken from.

An article that is asked for by its own title would be found by that title and nothing else would be measured. So the
questions go to a copy of the help centre in which these articles have lost the title and the heading.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from refdesk.dense_service import Backend
from refdesk.domain.articles import PUBLIC, SECTION_SEPARATOR, Article
from refdesk.errors import DenseUnavailable
from refdesk.evaluation.questions import Question
from refdesk.retrieval.baselines import off_topic
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.dense import DensePassages
from refdesk.retrieval.embedded_texts import vector_rows
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.terminal import Terminal
from refdesk.text.terms import content_words, primary

SAMPLE = 60
"""Articles, evenly spread; their passages are embedded again, 20 a second."""
FEWEST_WORDS = 2
"""Content words of a title that could be a question."""
NEW_TITLE = 60
"""Characters of its text that an article is titled with instead."""
MASKED, OFF_TOPIC = "masked", "off-topic"

Hidden = tuple[Article, tuple[Question, ...], tuple[str, ...]]


def own_questions(snapshot: CorpusSnapshot) -> tuple[list[Question], list[Article]]:
    """The questions, and all articles of the help centre with the asked ones masked."""
    asked = {article.id: names for article in _sample(snapshot.catalogue.all) if (names := _names(article))}
    questions = [_question(a, name) for a in snapshot.catalogue.all for name in asked.get(a.id, ())]
    masked = [_masked(article, asked.get(article.id, ())) for article in snapshot.catalogue.all]
    return questions, masked


def off_topic_questions(snapshot: CorpusSnapshot) -> list[Question]:
    """Of the built-in bank those in a language of the help centre: the gate refuses no others."""
    spoken = {primary(language) for language in snapshot.centre.languages}
    bank = off_topic()
    return [
        Question(text, tag=f"{OFF_TOPIC} {code}", language=code)
        for code in bank
        if code in spoken
        for text in bank[code]
    ]


def _sample(articles: Sequence[Article]) -> Sequence[Article]:
    usable = [article for article in articles if article.passages and _names(article)]
    return usable[:: max(1, len(usable) // SAMPLE)][:SAMPLE]


def _names(article: Article) -> tuple[str, ...]:
    """The title, and the last of the first section path that says something else."""
    headings = [passage.section.rpartition(SECTION_SEPARATOR)[2] for passage in article.passages if passage.section]
    said = [name for name in (article.title, *headings) if len(content_words(name, article.language)) >= FEWEST_WORDS]
    return tuple(dict.fromkeys(said))[:2]


def _question(article: Article, name: str) -> Question:
    return Question(
        name, (article.id,), language=primary(article.language), roles=frozenset({PUBLIC, *article.audience[:1]})
    )


def _masked(article: Article, names: Sequence[str]) -> Article:
    """Characters stay where they are: the spans of the passages still hold."""
    if not names:
        return article
    body = article.body
    for name in names:
        body = re.sub(re.escape(name), lambda found: " " * len(found[0]), body, flags=re.IGNORECASE)
    passages = tuple(msgspec.structs.replace(passage, section="") for passage in article.passages)
    title = " ".join(passages[0].text(body).split())[:NEW_TITLE]
    return msgspec.structs.replace(article, title=title, body=body, passages=passages, synonyms=())


@asynccontextmanager
async def masked_copy(
    snapshot: CorpusSnapshot, articles: Sequence[Article], load: Callable[[], Backend] | None, terminal: Terminal
) -> AsyncIterator[CorpusSnapshot]:
    """Searched as the help centre itself is; its vectors go when it has been asked."""
    copy = CorpusSnapshot(
        f"{snapshot.generation}-{MASKED}", Catalogue(snapshot.centre, articles), LexicalIndex.build(articles)
    )
    if load is None or snapshot.dense is None:
        yield copy
        return
    backend = await asyncio.to_thread(load)
    try:
        copy.dense = await _vectors(copy, backend, terminal)
        yield copy
    finally:
        if copy.dense is not None:
            copy.dense.close()  # type: ignore[attr-defined]
        backend.discard(copy.generation)


async def _vectors(copy: CorpusSnapshot, backend: Backend, terminal: Terminal) -> DensePassages | None:
    def progress(done: int, total: int) -> None:
        terminal.progress(done, total, "embedding masked passages")

    try:
        embedders = await asyncio.to_thread(backend.embedders)
        await backend.build(copy.generation, vector_rows(copy), progress)
        dense = DensePassages(await asyncio.to_thread(backend.open, copy.generation), embedders, copy)
        await asyncio.to_thread(dense.measure_baselines, off_topic(), sorted(copy.catalogue.audiences))
        return dense
    except DenseUnavailable as failure:
        terminal.warn(f"search by meaning failed, words only are measured: {failure}")
        return None
