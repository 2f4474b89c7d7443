"""Whatever is typed, the query made of it is one that both databases accept."""

from __future__ import annotations

import re
import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from refdesk.adapters.search_words import fts5_query, tsquery, words

TSQUERY = re.compile(r"'[^'\\\s]+'(:\*)?( & '[^'\\\s]+'(:\*)?)*")


@given(st.text(max_size=200))
def test_queries_are_well_formed(typed: str) -> None:
    asked = words(typed)
    if not asked:
        return
    assert TSQUERY.fullmatch(tsquery(asked))
    with sqlite3.connect(":memory:") as database:
        database.execute("CREATE VIRTUAL TABLE t USING fts5(words, detail=column, columnsize=0)")
        database.execute("INSERT INTO t VALUES (?)", (" ".join(asked),))
        found = database.execute("SELECT count(*) FROM t WHERE t MATCH ?", (fts5_query(asked),)).fetchone()
    database.close()
    assert found == (1,)


@given(st.text(max_size=200))
def test_words_are_the_same_for_any_case_and_composition(typed: str) -> None:
    assert words(" ".join(words(typed))) == words(typed)
