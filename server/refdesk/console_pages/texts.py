"""Every text of the console's pages, in all its languages."""

from __future__ import annotations

from functools import cache

from markupsafe import Markup

from refdesk.console_pages.phrases import told
from refdesk.console_pages.texts_admin import ADMIN
from refdesk.console_pages.texts_codes import CODES
from refdesk.console_pages.texts_general import GENERAL
from refdesk.console_pages.texts_turn import TURN
from refdesk.console_pages.texts_writing import WRITING

LANGUAGES = {"en": "English", "ru": "Русский", "cs": "Čeština"}
ORDER = tuple(LANGUAGES)

TEXTS: dict[str, tuple[str, str, str]] = {**GENERAL, **WRITING, **ADMIN, **TURN, **CODES}


class Texts:
    """The texts in one language, as templates ask for them."""

    def __init__(self, language: str) -> None:
        self._language, self._place = language, ORDER.index(language)

    def __call__(self, name: str, /, **values: object) -> str:
        """A text of the table; `values` fill its places."""
        found = TEXTS[name][self._place]
        return found.format(**values) if values else found

    def word(self, group: str, code: object) -> str:
        """What people call a code of the group; a code that has no word (a tool that a model made up) is itself."""
        found = TEXTS.get(f"{group}.{code}")
        return str(code) if found is None else found[self._place]

    def told(self, sentence: str) -> str:
        """A sentence that is kept in English."""
        found = told(sentence, self._language)
        return Markup('<span lang="en">{}</span>').format(sentence) if found is None else found


@cache
def text_in(language: str) -> Texts:
    return Texts(language)
