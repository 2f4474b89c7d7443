"""The file of questions: JSON lines that say which articles answer each question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from refdesk.domain.articles import BUILT_IN_ROLES, PUBLIC, STAFF, Roles
from refdesk.errors import SettingError
from refdesk.ports import Snapshot

ALL = "all"
"""The name under which every unanswerable question counts; no tag of its own."""
LANGUAGE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8})*")
EXAMPLE = '{"question": "How do I …?", "articles": ["article-id"]}'


class Line(msgspec.Struct, frozen=True):
    """What stands in the file. Other keys mean nothing and do no harm."""

    question: str
    articles: tuple[str, ...]
    tag: str | None = None
    language: str | None = None
    roles: tuple[str, ...] | None = None


class Question(msgspec.Struct, frozen=True):
    text: str
    articles: tuple[str, ...] = ()
    """Each of them answers it; none: the corpus does not."""
    tag: str = ""
    language: str = ""
    """Of the page it is asked on: decides where the text itself shows no language."""
    roles: Roles = frozenset({PUBLIC})
    place: str = ""
    """File and line, for complaints."""

    @property
    def answerable(self) -> bool:
        return bool(self.articles)


def read_questions(path: Path) -> list[Question]:
    """Raises SettingError naming file, line and remedy."""
    try:
        lines = path.read_text("utf-8-sig").split("\n")  # a string may hold other signs that end a line somewhere
    except OSError as error:
        raise SettingError(str(path), f"cannot be read ({error.strerror}); name a file of JSON lines") from error
    except UnicodeDecodeError as error:
        raise SettingError(str(path), "is not UTF-8; save it as UTF-8") from error
    questions = [_question(f"{path}:{number}", text) for number, text in enumerate(lines, 1) if text.strip()]
    if not questions:
        raise SettingError(str(path), f"holds no question; write one a line: {EXAMPLE}")
    return questions


def _question(place: str, text: str) -> Question:
    try:
        line = msgspec.json.decode(text, type=Line)
    except msgspec.ValidationError as error:
        raise SettingError(place, f"{error}; a line reads {EXAMPLE}") from error
    except msgspec.DecodeError as error:
        raise SettingError(place, f"is no JSON ({error}); a line reads {EXAMPLE}") from error
    if not line.question.strip():
        raise SettingError(place, "`question` is blank; write a question or remove the line")
    if line.language and not LANGUAGE.fullmatch(line.language):
        raise SettingError(place, f"`language` is {line.language!r}; write a code such as `en` or `pt-BR`")
    if line.tag == ALL:
        raise SettingError(place, f"the tag `{ALL}` stands for every unanswerable question; choose another one")
    return Question(
        text=line.question.strip(),
        articles=tuple(dict.fromkeys(line.articles)),
        tag=line.tag or "",
        language=line.language or "",
        roles=frozenset({PUBLIC, *(line.roles or ())}),
        place=place,
    )


def checked(questions: Sequence[Question], snapshot: Snapshot) -> list[Question]:
    """With the ids that the articles have today. Raises SettingError for a role or an article that does not exist:
    counted as a miss, a misspelt id would look like bad retrieval."""
    known = {*BUILT_IN_ROLES, STAFF, *snapshot.centre.roles}
    return [_checked(question, snapshot, known) for question in questions]


def _checked(question: Question, snapshot: Snapshot, known: set[str]) -> Question:
    if strangers := sorted(question.roles - known):
        allowed = ", ".join(sorted(known))
        raise SettingError(question.place, f"there is no role {strangers[0]!r}; roles of this help centre: {allowed}")
    ids = []
    for article_id in question.articles:
        article = snapshot.article(article_id, question.roles)
        if article is None:
            roles = ", ".join(sorted(question.roles))
            remedy = "correct the id, or add the roles that may read it"
            raise SettingError(question.place, f"no article {article_id!r} can be read as {roles}; {remedy}")
        ids.append(article.id)
    return msgspec.structs.replace(question, articles=tuple(dict.fromkeys(ids)))
