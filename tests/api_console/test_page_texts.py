"""The console's words: every text, code and sentence that a page can show is there in every language."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import get_args, get_type_hints

import msgspec
import pytest

import refdesk
from refdesk.assistant.tools import TOOL_NAMES
from refdesk.console_pages.phrases import told
from refdesk.console_pages.texts import TEXTS, text_in
from refdesk.domain.article_signals import Signal
from refdesk.domain.articles import Article
from refdesk.domain.claims import Quoted
from refdesk.domain.console import StaffRole, Verdict
from refdesk.domain.conversation import Kind, Source, Status
from refdesk.domain.found import found_articles
from refdesk.domain.gap_queue import Answer, GapChange, GapStatus
from refdesk.domain.gaps import Cause
from refdesk.domain.gate import Reason
from refdesk.domain.sources import Citations
from refdesk.domain.trail import Form, ToolCall, ToolReturn, Trail
from refdesk.errors import MODEL_ERRORS
from refdesk.retrieval.baselines import WEIGHTS
from refdesk.retrieval.lexical import SIGNALS


def test_every_text_is_there_in_every_language_with_the_same_places() -> None:
    for name, texts in TEXTS.items():
        places = [sorted(re.findall(r"\{\w+\}", text)) for text in texts]
        assert all(text.strip() for text in texts), name
        assert places[0] == places[1] == places[2], name


def test_whatever_a_page_can_name_has_a_text() -> None:
    """Names that are put together when a page is made."""
    named = {
        "status": Status, "kind": Kind, "verdict": Verdict, "role": StaffRole, "gap_status": GapStatus, "cause": Cause,
        "signal": Signal, "reason": Reason, "match": get_type_hints(Quoted)["match"],
        "by": get_type_hints(Answer)["by"],
    }  # fmt: skip
    wanted = {f"{group}.{value}" for group, values in named.items() for value in get_args(values)}
    codes = {
        "model_error": MODEL_ERRORS, "tool": TOOL_NAMES, "signal_of": (*SIGNALS, *WEIGHTS.keys() - {"bias"}),
        "reason": ("model_insufficient", "error"), "happened": get_type_hints(GapChange).keys() - {"note"},
        "channel": ("widget", "stream", "json", "rehearsal"),
    }  # fmt: skip
    wanted |= {f"{group}.{value}" for group, values in codes.items() for value in values}
    assert wanted - TEXTS.keys() == set()


SOURCE = {file: file.read_text("utf-8") for file in Path(refdesk.__file__).parent.rglob("*.py")}


@pytest.mark.parametrize(
    ("group", "pattern", "least"),
    [
        ("model_error", r'ModelFailure\(\s*"(\w+)"', 5),
        ("action", r'(?:await record\(request|await tell\(services), "(\w+)"', 15),
        ("action", r'self\._done\(\w+, "(\w+)"', 2),
        ("happened", r'note_event\(connection, [\w.]+, "(\w+)"', 5),
        ("dense", r'self\.state(?:: [^=]+)? = \{"status": "(\w+)"', 4),
    ],
)
def test_every_code_that_the_source_writes_has_a_word(group: str, pattern: str, least: int) -> None:
    found = {f"{group}.{code}" for text in SOURCE.values() for code in re.findall(pattern, text)}
    assert len(found) >= least
    assert found - TEXTS.keys() == set()


@pytest.mark.parametrize("language", ["ru", "cs"])
def test_every_sentence_of_the_ladder_is_told_in_every_language(language: str) -> None:
    """All that `domain.found` can put together."""
    article = Article("a", "A", "Some text of it.", "en", ("public",), "1", url="/a")
    forms = [(form, spans, turn) for form in Form for spans in ((), ((0, 4),)) for turn in (None, "t_0")]
    said = set()
    for (form, spans, turn), status, kind, where in product(forms, get_args(Status), get_args(Kind), range(3)):
        trail = Trail(calls=[ToolCall(0, "search", {}, returns=(ToolReturn("a", form, spans, from_turn=turn),))])
        trail.articles["a"] = article
        cited = Citations(linked=("a",) * (where == 1), quoted=("a",) * (where == 2))
        if form is Form.TITLE and where == 2:
            continue  # only what was read is quoted
        entry = Source("a", "A", "/a", "", "", "en", "", "1", "", where > 0, "search", show=False)
        for shown in (None, entry, msgspec.structs.replace(entry, show=True)):
            sources = () if shown is None else (shown,)
            if status == "answered" or shown is None or not shown.show:
                (found,) = found_articles(trail, sources, cited, status=status, kind=kind)
                said.add(found.reason)
    assert len(said) > 60
    for sentence in said:
        translated = told(sentence, language)
        assert translated not in (None, sentence)


@pytest.mark.parametrize("language", ["ru", "cs"])
def test_every_reason_of_a_rejected_claim_is_told_in_every_language(language: str) -> None:
    """The sentences that the source returns; in `{}` stands what a turn puts there."""
    places = [text for file, text in SOURCE.items() if file.name in ("claims.py", "quotes.py", "assessing.py")]
    returned = r'(?:return|_rejected\(\w+,|\w+\.title,) (?:f?)"([^"]{12,})"'
    sentences = {sentence for text in places for sentence in re.findall(returned, text) if " " in sentence}
    assert len(sentences) > 18
    for sentence in sentences:
        assert told(re.sub(r"\{[^}]*\}", "X7", sentence), language), sentence


def test_a_sentence_of_no_known_stock_stays_english_and_is_marked_so() -> None:
    assert text_in("cs").told("I am <b>new</b>.") == '<span lang="en">I am &lt;b&gt;new&lt;/b&gt;.</span>'
    assert text_in("en").told("I am new.") == "I am new."


def test_every_text_that_a_template_names_is_there() -> None:
    folder = files("refdesk.console_pages") / "templates"
    sources = [file.read_text("utf-8") for file in folder.iterdir()]
    named = {name for source in sources for name in re.findall(r'\bt\("([^"%]+)"(?=[,)])', source)}
    assert len(named) > 100
    assert named - TEXTS.keys() == set()
