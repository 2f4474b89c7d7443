"""The frame of the pages for visitors, and its few words, in the reader's language as far as the help centre has it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from litestar import Request
from litestar.response import Response

from refdesk.domain.articles import HelpCentre
from refdesk.text.terms import primary

FALLBACK = "en"
LONGEST = 200
"""Characters of an Accept-Language header that are looked at."""
RIGHT_TO_LEFT = ("ar", "he", "fa", "ur")
WORDS: Mapping[str, Mapping[str, str]] = {
    "question": {"en": "Your question", "ru": "Ваш вопрос", "cs": "Vaše otázka", "de": "Ihre Frage", "ja": "質問"},
    "ask": {"en": "Ask", "ru": "Спросить", "cs": "Zeptat se", "de": "Fragen", "ja": "質問する"},
    "articles": {"en": "Articles", "ru": "Статьи", "cs": "Články", "de": "Artikel", "ja": "記事"},
    "all_articles": {
        "en": "All articles", "ru": "Все статьи", "cs": "Všechny články", "de": "Alle Artikel", "ja": "すべての記事",
    },
    "no_script": {
        "en": "Asking here needs JavaScript. The articles can be read without it.",
        "ru": "Чтобы спрашивать здесь, нужен JavaScript. Статьи можно читать и без него.",
        "cs": "Ptát se zde lze jen s JavaScriptem. Články lze číst i bez něj.",
        "de": "Zum Fragen wird JavaScript gebraucht. Die Artikel lassen sich auch ohne lesen.",
        "ja": "質問するには JavaScript が必要です。記事は JavaScript なしでも読めます。",
    },
    "sources": {"en": "Sources:", "ru": "Источники:", "cs": "Zdroje:", "de": "Quellen:", "ja": "出典:"},
    "failed": {
        "en": "That did not work.", "ru": "Не получилось.", "cs": "Nepovedlo se.", "de": "Das hat nicht geklappt.",
        "ja": "うまくいきませんでした。",
    },
    "not_found": {
        "en": "There is no such page.", "ru": "Такой страницы нет.", "cs": "Taková stránka není.",
        "de": "Diese Seite gibt es nicht.", "ja": "このページはありません。",
    },
    "unavailable": {
        "en": "Not available now. Try again in a moment.", "ru": "Сейчас недоступно. Попробуйте чуть позже.",
        "cs": "Teď nedostupné. Zkuste to za chvíli.", "de": "Gerade nicht verfügbar. Bitte gleich noch einmal.",
        "ja": "現在利用できません。しばらくしてからもう一度お試しください。",
    },
}  # fmt: skip


def word(name: str, language: str) -> str:
    texts = WORDS[name]
    return escape(texts.get(primary(language), texts[FALLBACK]))


def page_language(request: Request[Any, Any, Any], centre: HelpCentre) -> str:
    """The first of the browser's languages that the articles are written in, else the help centre's default one."""
    known = {primary(language): language for language in reversed(centre.languages)}
    for item in request.headers.get("accept-language", "")[:LONGEST].split(","):
        tag = primary(item.partition(";")[0].strip().lower())
        if tag in known:
            return known[tag]
    return centre.default_language


def page(title: str, body: str, *, language: str, script: str = "", status: int = 200) -> Response[str]:
    """`body` is HTML."""
    direction = "rtl" if primary(language) in RIGHT_TO_LEFT else "ltr"
    tag = f'<script src="/static/{script}" defer></script>' if script else ""
    html = (
        f'<!doctype html><html lang="{escape(language)}" dir="{direction}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}</title>'
        f'<link rel="icon" href="/static/favicon.svg" type="image/svg+xml">'
        f'<link rel="stylesheet" href="/static/page.css">{tag}</head><body>{body}</body></html>'
    )
    return Response(html, media_type="text/html", status_code=status, headers={"Vary": "Accept-Language"})
