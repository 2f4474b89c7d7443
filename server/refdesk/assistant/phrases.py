"""The fixed sentences, in English, Russian and Czech; the operator's own in help-center.toml win.

None of them ever holds a visitor's or an article's words, and a refusal is one sentence whatever its reason was."""

from __future__ import annotations

from collections.abc import Mapping

from refdesk.domain.articles import HelpCentre
from refdesk.text.terms import primary

FALLBACK = "en"

PHRASES: Mapping[str, Mapping[str, str]] = {
    "refusal": {
        "en": "I could not find an answer to this in our help centre.",
        "ru": "Я не нашёл ответа на этот вопрос в нашем справочном центре.",
        "cs": "Odpověď na tuto otázku jsem v našem centru nápovědy nenašel.",
    },
    "withheld": {
        "en": "This earlier answer rested on an article that is no longer available to you.",
        "ru": "Этот ответ опирался на статью, которая вам больше не доступна.",
        "cs": "Tato dřívější odpověď vycházela z článku, který už pro vás není dostupný.",
    },
    "evidence": {
        "en": "The assistant cannot answer right now. This is not an answer: these are excerpts of articles.",
        "ru": "Помощник сейчас не может ответить. Это не ответ, а выдержки из статей.",
        "cs": "Asistent teď nemůže odpovědět. Toto není odpověď, ale úryvky z článků.",
    },
    "unavailable": {
        "en": "The assistant cannot answer right now. Please try again later.",
        "ru": "Помощник сейчас не может ответить. Попробуйте, пожалуйста, позже.",
        "cs": "Asistent teď nemůže odpovědět. Zkuste to prosím později.",
    },
    "disclosure": {
        "en": "You are talking to an AI assistant. It answers from the articles of this help centre.",
        "ru": "Вам отвечает ИИ-помощник. Он опирается на статьи этого справочного центра.",
        "cs": "Odpovídá vám AI asistent. Vychází z článků tohoto centra nápovědy.",
    },
    "greeting": {
        "en": "Hello! What can I help you with?",
        "ru": "Здравствуйте! Чем могу помочь?",
        "cs": "Dobrý den! S čím mohu pomoci?",
    },
    "thanks": {
        "en": "You are welcome! Ask whenever something else comes up.",
        "ru": "Пожалуйста! Спрашивайте, если появится ещё вопрос.",
        "cs": "Rádo se stalo! Kdykoli se zeptejte na cokoli dalšího.",
    },
    "farewell": {
        "en": "Goodbye! I am here whenever you need help.",
        "ru": "До свидания! Обращайтесь, когда понадобится помощь.",
        "cs": "Na shledanou! Jsem tu, kdykoli budete potřebovat pomoc.",
    },
    "identity": {
        "en": "I am an AI assistant. I answer from the articles of this help centre and show which ones I used.",
        "ru": "Я ИИ-помощник. Отвечаю по статьям этого справочного центра и показываю, на какие опирался.",
        "cs": "Jsem AI asistent. Odpovídám podle článků tohoto centra nápovědy a ukazuji, z kterých jsem vycházel.",
    },
    "complaint": {
        "en": "I am sorry. Tell me what you are looking for, and I will search the articles again.",
        "ru": "Мне жаль. Напишите, что именно вы ищете, и я поищу в статьях ещё раз.",
        "cs": "To mě mrzí. Napište, co hledáte, a prohledám články znovu.",
    },
    "catalogue": {
        "en": "These are the articles of this help centre:",
        "ru": "Вот статьи этого справочного центра:",
        "cs": "Toto jsou články tohoto centra nápovědy:",
    },
    "catalogue_more": {
        "en": "More articles: {count}. Ask about a topic to find them.",
        "ru": "Ещё статей: {count}. Спросите о теме, чтобы их найти.",
        "cs": "Další články: {count}. Zeptejte se na téma a najdu je.",
    },
    "catalogue_empty": {
        "en": "There are no articles that you can read here yet.",
        "ru": "Здесь пока нет статей, которые вы можете прочитать.",
        "cs": "Zatím tu nejsou žádné články, které byste mohli číst.",
    },
    "other_category": {"en": "Other", "ru": "Прочее", "cs": "Ostatní"},
}


def phrase(name: str, language: str, centre: HelpCentre) -> str:
    """The operator's sentence in the language, else ours in it, else the operator's or ours in the default language."""
    own: Mapping[str, str] = getattr(centre, name, {}) if name in ("refusal", "disclosure", "greeting") else {}
    ours = PHRASES[name]
    for code in (primary(language), primary(centre.default_language), FALLBACK):
        for source in (own, ours):
            if source.get(code):
                return source[code]
    return ours[FALLBACK]
