"""The help centre in `corpus/`: complete, found by its readers' own words, and true of the code it describes."""

from __future__ import annotations

import argparse
import io
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

from refdesk import dense_service
from refdesk.adapters import anthropic_model, postgres_database, search_words, sql_privacy, sql_turns
from refdesk.adapters.anthropic_failures import kind_of_status
from refdesk.api import auth, browsers, console_schemas, log, login, reading, schemas, stats
from refdesk.assistant import extract, history, outcome, packing
from refdesk.assistant.turn import Limits
from refdesk.cli import build_parser
from refdesk.commands import asked, openapi_text
from refdesk.corpus import files, images, metadata, passages
from refdesk.corpus.check import check_corpus
from refdesk.corpus.front_matter import read_front_matter
from refdesk.corpus.help_centre import read_help_centre
from refdesk.corpus.report import CorpusReading
from refdesk.corpus.sync import read_corpus
from refdesk.domain import citations, passwords, sources
from refdesk.domain.articles import ANONYMOUS, PUBLIC, STAFF, Article, HelpCentre
from refdesk.domain.console import StaffRole
from refdesk.domain.conversation import TurnTrail
from refdesk.domain.events import PAYLOADS
from refdesk.domain.gate import THRESHOLD, Reason
from refdesk.evaluation.calibration import AIM, ANSWERED
from refdesk.retrieval import dense, lexical
from refdesk.retrieval.generation import GenerationStore
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.setting_secrets import MIN_SECRET
from refdesk.settings import SETTINGS, load
from refdesk.terminal import Terminal
from refdesk.text import quotes, redaction
from refdesk.text.numbers import numbers

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"
TRANSLATED = (
    *("install", "write-articles", "audiences", "languages", "sync", "sources", "refusals", "evidence"),
    *("widget-embed", "staff-console"),
)
FIRST = 5
"""Articles among which a reader looks for the right one."""

_FENCE = re.compile(r"^```\w*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_ENDPOINT = re.compile(r"\b(GET|POST|PUT|DELETE) (/[\w/{}.-]*)")


@cache
def corpus() -> CorpusReading:
    return read_corpus(CORPUS)


@cache
def by_id() -> dict[str, Article]:
    return {article.id: article for article in corpus().articles}


def body(article_id: str) -> str:
    """As one line, so that a phrase is found wherever a line breaks."""
    return " ".join(by_id()[article_id].body.split())


@cache
def bodies() -> dict[str, str]:
    """By path, drafts included: a draft is an article to be."""
    paths = sorted(CORPUS.rglob("*.md"))
    return {str(path.relative_to(CORPUS)): read_front_matter(path.read_text("utf-8")).body for path in paths}


def code_of(text: str) -> list[str]:
    return [*(block.strip() for block in _FENCE.findall(text)), *_CODE.findall(_FENCE.sub("", text))]


def first_cells(text: str) -> list[str]:
    """The code in the first column of every table, without the head of the table."""
    tables = re.findall(r"^\|[-|]+\|\n((?:\|.*\n?)+)", text, re.MULTILINE)
    cells = [row.split("|")[1] for table in tables for row in table.splitlines()]
    return [code for cell in cells for code in _CODE.findall(cell)]


def questions() -> list[dict[str, Any]]:
    lines = (ROOT / "tests/data/corpus_questions.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> CorpusSnapshot:
    store = GenerationStore(tmp_path_factory.mktemp("data"))
    return store.publish(corpus().centre, corpus().articles)


# --- complete ---


def test_every_file_is_served_and_nothing_is_to_be_mended():
    assert corpus().report.withheld == ()
    assert corpus().report.warnings == ()
    assert [str(finding) for finding in check_corpus(corpus(), CORPUS)] == []


def test_the_articles_are_as_many_as_promised():
    public = [article for article in corpus().articles if article.audience == (PUBLIC,)]
    assert Counter(article.language for article in public)["en"] >= 15
    assert len([article for article in corpus().articles if article.audience == (STAFF,)]) >= 5
    assert corpus().report.unpublished == 1


def test_articles_and_centre_say_what_they_are():
    for article in corpus().articles:
        source = (CORPUS / article.path).read_text("utf-8")
        assert article.path.startswith(f"{article.language}/")
        assert re.search(rf"^id: {article.id}$", source, re.MULTILINE), article.path
        assert re.search(r"^updated: \d{4}-\d\d-\d\d$", source, re.MULTILINE), article.path
    centre = corpus().centre
    assert centre.name == "Refdesk Help"
    assert centre.languages == ("en", "ru", "cs")
    assert set(centre.greeting) == set(centre.starter_questions) == set(centre.disclosure) == set(centre.languages)
    assert (centre.contact.url, centre.contact.mail) == ("", "")


@pytest.mark.parametrize("language", ["ru", "cs"])
def test_translations_are_complete_and_say_the_same(language):
    translated = [article for article in corpus().articles if article.language == language]
    assert {article.translation_of for article in translated} == set(TRANSLATED)
    for article in translated:
        original = by_id()[str(article.translation_of)]
        assert article.id == f"{original.id}-{language}"
        assert article.updated >= original.updated, f"{article.path} is older than its original"
        assert shape(article.body) == shape(original.body), article.path
        assert Counter(numbers(prose(article.body))) == Counter(numbers(prose(original.body))), article.path
        assert set(meanings(article.body)) == set(meanings(original.body)), article.path


def shape(text: str) -> list[str]:
    """What the paragraphs are, in order: headings, items, rows, fences, text."""
    marks = (re.match(r"#+|-|\||```", line) for line in text.splitlines() if line.strip())
    return [mark[0] if mark else "text" for mark in marks]


def prose(text: str) -> str:
    return _CODE.sub("", _FENCE.sub("", text))


def meanings(text: str) -> list[str]:
    """Code that is not an example in the reader's language."""
    return [code for code in code_of(text) if not re.match(r"\[.*\]\(|refusal = ", code)]


# --- found ---


def test_every_article_has_questions_in_its_language():
    asked = Counter(article_id for question in questions() for article_id in question["articles"])
    assert set(asked) == set(by_id())
    assert min(asked.values()) >= 3
    for question in questions():
        staff = [article_id for article_id in question["articles"] if by_id()[article_id].audience == (STAFF,)]
        roles = {"roles": [STAFF]} if staff else {}
        assert question == {name: question[name] for name in ("question", "articles", "language")} | roles
        assert {by_id()[article_id].language for article_id in question["articles"]} == {question["language"]}
    assert len({question["question"] for question in questions()}) == len(questions())


async def test_questions_in_everyday_words_find_their_article(snapshot):
    found: dict[str, list[bool]] = {"en": [], "ru": [], "cs": []}
    finds: Counter[str] = Counter()
    missed = []
    for question in questions():
        right = question["articles"]
        staff = all(by_id()[article_id].audience == (STAFF,) for article_id in right)
        ids = await articles_found(snapshot, question["question"], frozenset({PUBLIC, STAFF}) if staff else ANONYMOUS)
        hit = not set(right).isdisjoint(ids[:FIRST])
        found[question["language"]].append(hit)
        finds.update(right if hit else ())
        missed += [] if hit else [question["question"]]
    for language, hits in found.items():
        assert sum(hits) >= 0.9 * len(hits), (language, missed)
    assert [article_id for article_id in by_id() if finds[article_id] < 2] == []


async def test_hardly_a_question_is_refused(snapshot):
    refused = []
    for question in questions():
        result = await snapshot.search(question["question"], frozenset({PUBLIC, STAFF}))
        scores = [snapshot.evidence_score({**result.signals, **hit.signals}) for hit in result.hits]
        refused += [] if max(scores, default=0.0) >= snapshot.threshold else [question["question"]]
    assert len(refused) <= 0.1 * len(questions()), refused


async def articles_found(snapshot, question, roles):
    result = await snapshot.search(question, roles, limit=8)
    return list(dict.fromkeys(hit.article.id for hit in result.hits))


async def test_what_is_for_staff_is_found_by_staff_only(snapshot):
    for article in corpus().articles:
        if article.audience == (STAFF,):
            assert article.id in await articles_found(snapshot, article.title, frozenset({PUBLIC, STAFF}))
            assert article.id not in await articles_found(snapshot, article.title, ANONYMOUS)


@pytest.mark.parametrize(
    ("question", "article_id"),
    [
        ("How are the sources of an answer chosen?", "sources"),
        ("Как выбираются источники ответа?", "sources-ru"),
        ("Jak se vybírají zdroje odpovědi?", "sources-cs"),
    ],
)
async def test_evidence_comes_from_the_right_article(question, article_id, tmp_path):
    settings = load({"REFDESK_CORPUS": str(CORPUS), "REFDESK_DATA": str(tmp_path / "data"), "REFDESK_DENSE": "off"})
    turn = await asked(settings, Terminal(io.StringIO(), io.StringIO()), question)
    assert turn.status == "evidence"
    assert turn.language == by_id()[article_id].language
    assert turn.evidence[0].source_id == article_id
    assert all(item.quote in by_id()[item.source_id].body for item in turn.evidence)


async def test_starter_questions_find_something_in_their_language(snapshot):
    for language, starters in corpus().centre.starter_questions.items():
        for question in starters:
            first = (await articles_found(snapshot, question, ANONYMOUS))[0]
            assert by_id()[first].language == language, question


# --- true ---


def test_the_settings_named_are_the_settings_that_exist():
    named = {name for text in bodies().values() for name in re.findall(r"\b(?:REFDESK|ANTHROPIC)_[A-Z_]*[A-Z]\b", text)}
    assert named == {setting.env for setting in SETTINGS}
    for setting in SETTINGS:
        default = f"`{setting.default}`" if setting.default else "none"
        assert f"| `{setting.env}` | {default} |" in by_id()["settings"].body


def test_no_secret_of_the_corpus_would_be_accepted():
    words = {word for text in bodies().values() for word in re.findall(r"[!-~]+", text)}
    assert [word for word in words if len(word) >= MIN_SECRET and re.fullmatch(r"[\w+/=-]+", word)] == []


def test_the_commands_and_flags_named_exist():
    parser = build_parser()
    adding = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    flags = {flag for made in adding.choices.values() for action in made._actions for flag in action.option_strings}
    for path, text in bodies().items():
        for code in code_of(text):
            for command in re.findall(r"\brefdesk ([a-z]+)", code):
                assert command in adding.choices, (path, code)
            for flag in re.findall(r"(?<!\S)--(?!refdesk-)[a-z][a-z-]+", code):
                assert flag in flags, (path, code)


def test_the_endpoints_named_exist():
    described = json.loads(openapi_text())["paths"]
    known = {(method.upper(), path) for path, methods in described.items() for method in methods}
    named = set()
    for text in bodies().values():
        for code in code_of(text):
            named |= {(method, path) for method, path in _ENDPOINT.findall(code)}
            for path, rest in re.findall(r"localhost:8000(/v1/[^\s?']+)(.*)", code):
                named.add(("POST" if " -d " in rest else "GET", path.replace("c_…", "{conversation_id}")))
    assert named - known == set()


def test_the_tables_of_keys_are_complete():
    keys = [name for name in metadata.Metadata.__struct_fields__ if name != "unknown"]
    assert first_cells(by_id()["front-matter"].body) == keys
    assert sorted(first_cells(by_id()["help-center-file"].body)) == sorted(HelpCentre.__struct_fields__)
    assert set(first_cells(by_id()["api-ask"].body)) == set(PAYLOADS)
    asked = {name for cell in first_cells(by_id()["staff-conversation-log"].body) for name in cell.split(", ")}
    parameters = json.loads(openapi_text())["paths"]["/v1/console/conversations"]["get"]["parameters"]
    assert asked == {parameter["name"] for parameter in parameters} - {"cursor", "limit"}
    assert set(first_cells(by_id()["privacy"].body)) == set(redaction.PLACEHOLDERS)
    assert set(first_cells(by_id()["staff-accounts"].body)) == set(get_args(StaffRole))
    shown = set(first_cells(by_id()["staff-evidence-trail"].body))
    assert shown < set(TurnTrail.__struct_fields__)
    for reason in (*get_args(Reason), "model_insufficient"):
        assert f"`{reason}`" in by_id()["staff-evidence-trail"].body


def test_the_table_of_causes_is_complete():
    """By the statuses of a model endpoint, and wherever else the code names a kind of failure."""
    kinds = {kind_of_status(status) for status in range(300, 600)}
    made = re.compile(r'(?:ModelFailure\(|finish_evidence\(work,|_without_model\(work,)\s*"(\w+)"')
    for file in [*ROOT.glob("server/refdesk/adapters/anthropic_*.py"), *ROOT.glob("server/refdesk/assistant/*.py")]:
        kinds |= set(made.findall(file.read_text("utf-8")))
    assert set(first_cells(by_id()["evidence"].body)) == kinds


def test_the_audiences_that_need_no_declaring_are_named():
    for role in (*metadata.BUILT_IN_ROLES, STAFF):
        assert f"- `{role}`" in by_id()["audiences"].body


def test_the_readme_gives_the_same_command():
    command = _FENCE.findall(by_id()["install"].body)[0].strip()
    assert command in (ROOT / "README.md").read_text("utf-8")


def test_the_examples_of_the_settings_file_are_valid(tmp_path):
    for path, text in bodies().items():
        for code in code_of(text):
            if re.match(r"(?:languages|roles|refusal|greeting|synonyms) = ", code):
                (tmp_path / "help-center.toml").write_text(code, "utf-8")
                assert read_help_centre(tmp_path), path


TURN, DEFAULTS = Limits(), load({})
LIMITS = [
    ("settings", f"at least {MIN_SECRET} printable ASCII"),
    ("settings", f"ask {DEFAULTS.turns_per_visitor} questions a minute"),
    ("settings", f"one network address {DEFAULTS.turns_per_address};"),
    ("settings", f"together may ask {DEFAULTS.turns_per_minute}."),
    ("settings", f"address {DEFAULTS.sessions_per_address} new sessions a minute"),
    ("settings", f"one visitor {DEFAULTS.turns_at_once} questions"),
    ("model", f"After {DEFAULTS.breaker_turns} questions in a row"),
    ("model", f"left alone for {DEFAULTS.breaker_seconds:g} seconds"),
    ("model", f"At most {DEFAULTS.model_calls} questions"),
    ("model", f"waits up to {DEFAULTS.model_wait_seconds} seconds"),
    ("write-articles", f"about {passages.TARGET_WORDS} words"),
    ("write-articles", f"up to {images.MAX_IMAGE_BYTES >> 20} MiB"),
    ("write-articles", f"more than {files.MAX_FILE_BYTES >> 20} MiB"),
    ("sync", f"larger than {files.MAX_FILE_BYTES >> 20} MiB"),
    ("calibrate-refusals", f"up to {dense.TITLES} of your own titles"),
    ("calibrate-refusals", f"one threshold, {THRESHOLD},"),
    ("calibrate-refusals", f"lets {100 * AIM:.0f} of 100 answerable"),
    ("calibrate-refusals", "prints up to five thresholds"),
    ("front-matter", "at most 64 characters"),
    ("sources", f"at most {sources.EXCERPT} characters"),
    ("citations", f"at most {citations.MAX_ANSWER:,} characters"),
    ("api-ask", f"1 to {schemas.MAX_QUESTION} characters"),
    ("api-ask", f"may have {reading.MAX_COMMENT} characters"),
    ("api-ask", f"up to {reading.MAX_QUERY} characters"),
    ("api-ask", f"may search {load({}).searches_per_minute} times a minute"),
    ("api-ask", f"{reading.PAGE} a page"),
    ("api-ask", f"for {sql_turns.IDEMPOTENCY_HOURS} hours"),
    ("api-ask", f"takes nothing for {browsers.SEND_SECONDS:.0f} seconds"),
    ("identity", f"at most {auth.MAX_LIFETIME // 3600} hours apart"),
    ("identity", f"out after {auth.MAX_LIFETIME // 3600} hours"),
    ("identity", f"differ by {auth.LEEWAY} seconds"),
    ("identity", f"ends after {auth.MAX_LIFETIME // 3600} hours"),
    ("privacy", f"it is {load({}).retention_days} unless set"),
    ("several-servers", f"every {postgres_database.BEAT_S:.0f} seconds"),
    ("several-servers", f"silent for {postgres_database.DEAD_S:.0f} seconds"),
    ("staff-accounts", f"{passwords.SHORTEST} to {passwords.LONGEST} characters"),
    ("staff-accounts", f"session of {login.SESSION_SECONDS // 3600} hours"),
    ("staff-accounts", f"{login.FAILURES.count} wrong passwords for one account"),
    ("staff-accounts", f"within {login.FAILURES.seconds // 60} minutes"),
    ("staff-accounts", f"{login.FAILURES_OF_ADDRESS.count} from one address"),
    ("staff-conversation-log", f"{log.PAGE} a page"),
    ("staff-conversation-log", f"up to {console_schemas.MAX_NOTE:,} characters"),
    ("staff-conversation-log", f"up to {log.MOST_TAGS} in one request"),
    ("staff-figures-export", f"the last {stats.DAYS} days"),
    ("model", f"{TURN.model_calls} calls of the model and {TURN.tool_runs} tool runs"),
    ("model", f"{TURN.input_tokens:,} tokens of input and {TURN.output_tokens:,} tokens of output"),
    ("model", f"{TURN.seconds:.0f} seconds"),
    ("model", f"up to {packing.PASSAGES} passages, at most {packing.BUDGET_TOKENS:,} tokens"),
    ("model", f"at most {history.HISTORY_TOKENS:,} tokens"),
]


@pytest.mark.parametrize(("article_id", "phrase"), LIMITS)
def test_limits_are_those_of_the_code(article_id, phrase):
    assert phrase in body(article_id)


def test_limits_in_words_are_those_of_the_code():
    """Small numbers are written out; whoever changes one of these has a sentence to change in three languages."""
    assert (quotes.LEAST_WORDS, history.CARRY_TURNS, outcome.SUGGESTIONS) == (3, 3, 3)
    assert (history.HISTORY_TURNS, anthropic_model.RETRIES) == (10, 2)
    assert (passwords.FEWEST, sql_privacy.GUARD, search_words.SHORTEST) == (5, 5, 3)
    assert (lexical.TITLE, lexical.SYNONYM, lexical.SECTION) == (3, 2, 2)
    assert len({*ANSWERED, "the one in force"}) == 5
    assert dense_service.RETRY_SECONDS == 60
    assert extract.evidence.__defaults__ == (3, None)
    assert metadata.ARTICLE_ID.fullmatch("a" * 64)
    assert not metadata.ARTICLE_ID.fullmatch("a" * 65)
    assert {suffix.strip(".").upper() for suffix in images.MEDIA_TYPES} - {"JPG"} == set(
        re.findall(r"\b(PNG|JPEG|GIF|WEBP|AVIF|SVG)\b", body("write-articles").upper())
    )
