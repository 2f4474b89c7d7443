"""What kind of turn a question is, before anything is searched: a question, the catalogue, or small talk.

By meaning, not by sentences: every word must be one that small talk or the catalogue is made of (`kinds.toml`), and the
classes present decide. One word of a topic makes the text a question. In doubt it is a question: a greeting that is
searched for finds nothing, but a question taken for a greeting is lost. Clarifications are the model's to name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Literal

from refdesk.assistant.lexicon import SOCIAL, Classes, readings

Guess = Literal["question", "catalogue", "smalltalk"]
Talk = Literal["greeting", "thanks", "farewell", "wellbeing", "praise", "complaint", "identity", "help", "laugh"]

_EMOTICON = re.compile(r"[:;=8xX]['’]?-?[)(DPp3*|/\\\]\[]+|<3|\^_?\^|[()]+")
_TALK: tuple[Talk, ...] = (
    "identity",
    "wellbeing",
    "thanks",
    "complaint",
    "farewell",
    "greeting",
    "help",
    "praise",
    "laugh",
)
"""What is answered where several stand together, first of all what was asked."""


def classify(question: str, language: str) -> Guess:
    """`language` is tried first, then all others that the lexicon knows: a language may be taken for its neighbour."""
    return read_kind(question, language)[0]


def talk_of(question: str, language: str) -> Talk | None:
    """What the small talk says; None if the text is none."""
    return read_kind(question, language)[1]


def read_kind(question: str, language: str) -> tuple[Guess, Talk | None]:
    if not any(character.isalnum() for character in question) or _EMOTICON.fullmatch(question.strip()):
        return ("smalltalk", "praise") if _has_emoji(question) else ("question", None)
    for reading in readings(question, language):
        if not all(reading.words) and not _is_address(question, reading.words):
            continue
        present = frozenset[str]().union(*reading.words)
        if "topic" in present or _wants_person(present):
            return "question", None
        if _is_catalogue(present):
            return "catalogue", None
        if reading.by_phrases and (talk := _small_talk(present, asked="?" in question or "？" in question)):
            return "smalltalk", talk
    return "question", None


def _has_emoji(text: str) -> bool:
    return bool(_EMOTICON.search(text)) or any(unicodedata.category(character) == "So" for character in text)


def _is_address(question: str, classes: Sequence[Classes]) -> bool:
    """ "Hello Anna!": a greeting and one name."""
    words = re.findall(r"\w+", question)
    if len(classes) != 2 or "greeting" not in classes[0] or classes[1]:
        return False
    name = words[-1]
    return name[0].isupper() and name[1:].islower() and not re.search(r"[?？]", question)


def _wants_person(present: Classes) -> bool:
    """ "Can I talk to a human?" is a matter for the articles; "am I talking to a human?" is not."""
    return "identity_noun" in present and not present & {"being", "identity"} and bool(present & {"request", "able"})


def _is_catalogue(present: Classes) -> bool:
    asks = "ask" in present
    wants = asks or "request" in present
    if "how" in present and not asks:
        return "help" in present and bool(present & {"service", "offer"})
    if present & {"thanks", "praise", "farewell", "complaint"} and not wants:
        return False
    if "noun" in present and (wants or present & {"service", "offer"}):
        return True
    if asks and ("offer" in present or present >= {"able", "service"} or present >= {"help", "service"}):
        return True
    return "index" in present and not present & {"able", "identity", "wellbeing"}


def _small_talk(present: Classes, *, asked: bool) -> Talk | None:
    said = set(present & {*SOCIAL, "identity"})
    if present & {"ask", "how"} and not said & {"identity", "wellbeing"}:
        return None
    if present >= {"identity_noun", "being"} and not present & {"request", "help"}:
        said.add("identity")
    if "help" in present and not present & {"ask", "how"}:
        said.add("help")
    if asked and said <= {"praise", "laugh", "complaint"}:
        return None
    return next((talk for talk in _TALK if talk in said), None)
