"""Patching an index is as good as building it anew."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
from corpora import ANONYMOUS, CENTRE, article
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot

TEXTS = ("refund in ten days", "export a calendar\n\nthe plan has a limit", "invoice", "single sign-on\n\nrefund plan")


def corpus(versions: dict[int, int]):
    return [article(f"a{n}", f"Title {n}", TEXTS[text]) for n, text in versions.items()]


def found(index: LexicalIndex, articles, question: str):
    snapshot = CorpusSnapshot("g", Catalogue(CENTRE, articles), index)
    view = snapshot._view(ANONYMOUS, "en", None, None)
    ranking = view.rank(question, "en", 100)
    passages = [snapshot.passage(int(row)) for row in ranking.rows]
    scores = [round(float(score), 6) for score in ranking.selfscore]
    return sorted((a.id, p.number, s) for (a, p), s in zip(passages, scores, strict=True))


versions = st.dictionaries(st.integers(0, 40), st.integers(0, len(TEXTS) - 1), min_size=1, max_size=30)


@settings(max_examples=60)
@given(versions, st.lists(versions, min_size=1, max_size=4))
def test_any_chain_of_patches_finds_what_a_new_index_finds(first, then) -> None:
    articles = corpus(first)
    index = LexicalIndex.build(articles)
    for change in then:
        after = corpus({**dict(list(first.items())[1:]), **dict(list(change.items())[:3])})
        index = index.patched(articles, after) or LexicalIndex.build(after)
        articles = after
        for question in ("refund", "plan limit", "Title 3", "sign-on"):
            assert found(index, articles, question) == found(LexicalIndex.build(articles), articles, question)


def test_unchanged_passages_keep_their_rows() -> None:
    before = corpus(dict.fromkeys(range(20), 1))
    after = [*before[:7], article("a7", "Title 7", "new"), *before[8:], article("z", "Last", "more")]
    index = LexicalIndex.build(before)
    patched = index.patched(before, after)
    assert patched is not None
    assert patched.first_rows.tolist() == [*range(0, 14, 2), 40, *range(16, 40, 2), 41]


def test_what_is_no_part_of_the_index_costs_no_rows() -> None:
    before = corpus(dict.fromkeys(range(20), 1))
    after = [msgspec.structs.replace(one, owner="Eva", updated="2026-01-01", audience=("staff",)) for one in before]
    patched = (index := LexicalIndex.build(before)).patched(before, after)
    assert patched is not None
    assert patched.postings is index.postings


def test_a_fifth_dead_is_rebuilt() -> None:
    before = corpus(dict.fromkeys(range(20), 2))
    index = LexicalIndex.build(before)
    assert index.patched(before, before[4:]) is not None
    assert index.patched(before, before[5:]) is None


def test_a_patch_may_bring_a_language() -> None:
    before = corpus(dict.fromkeys(range(10), 1))
    after = [*before, article("ru", "Возврат", "Возврат денег", language="ru")]
    patched = LexicalIndex.build(before).patched(before, after)
    assert patched is not None
    assert found(patched, after, "возвраты")[0][0] == "ru"


def test_saved_and_opened_it_is_the_same(tmp_path: Path) -> None:
    articles = corpus({1: 0, 2: 1, 3: 3})
    index = LexicalIndex.build(articles)
    index.save(tmp_path)
    opened = LexicalIndex.open(tmp_path, index.languages)
    assert found(opened, articles, "refund plan") == found(index, articles, "refund plan")
    assert all(np.array_equal(one, other) for one, other in zip(opened.postings, index.postings, strict=True))


def test_an_empty_corpus_can_be_saved_and_opened(tmp_path: Path) -> None:
    LexicalIndex.build([]).save(tmp_path)
    assert found(LexicalIndex.open(tmp_path, ()), [], "refund") == []


def test_progress_ends_at_the_total() -> None:
    seen: list[tuple[int, int]] = []
    LexicalIndex.build(corpus(dict.fromkeys(range(7), 0)), lambda done, total: seen.append((done, total)))
    assert seen[-1] == (7, 7)


@pytest.mark.parametrize("name", ["rows.npy", "words.msgpack", "first_rows.npy"])
def test_a_missing_file_is_an_error(tmp_path: Path, name: str) -> None:
    index = LexicalIndex.build(corpus({1: 0}))
    index.save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(OSError):
        LexicalIndex.open(tmp_path, index.languages)
