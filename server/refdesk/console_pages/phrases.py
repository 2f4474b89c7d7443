"""Sentences that the turn's trail and the queue keep in English, in the other languages of the pages.

They are made of a fixed stock of parts (`domain.found`, `domain.claims`, `gaps.assessing`); `{}` stands for an
id or a number, which stays as it is. What is not of that stock stays English and is marked so.
"""

from __future__ import annotations

import re
from functools import cache

HOW: dict[str, tuple[str, str]] = {
    "Opened in full": ("Открыта целиком", "Otevřen celý"),
    "Opened in some of its parts only": ("Открыта только частями", "Otevřen jen zčásti"),
    "Supplied again from an earlier turn": ("Дана снова из прежней реплики", "Podán znovu z dřívější repliky"),
    "Found by search": ("Найдена поиском", "Nalezen hledáním"),
    "Returned without any text": ("Возвращена без текста", "Vrácen bez textu"),
    "Listed by title only": ("В списке только заголовок", "V seznamu jen nadpisem"),
}  # fmt: skip
CITED: dict[str, tuple[str, str]] = {
    " and cited": (" и процитирована", " a citován"),
    " and quoted in a verified claim or conflict": (" и приведена в проверенном утверждении или противоречии",
                                                    " a uveden v ověřeném tvrzení nebo rozporu"),
    ", not cited": (", не процитирована", ", necitován"),
}  # fmt: skip
WHY: dict[str, tuple[str, str]] = {
    "the turn has not ended yet": ("реплика ещё не закончена", "replika ještě neskončila"),
    "there is no answer that could have used it": ("нет ответа, который мог бы её использовать",
                                                   "není odpověď, která by jej mohla použít"),
    "the answer was stopped before it cited it": ("ответ остановлен до ссылки на неё",
                                                  "odpověď byla zastavena dříve, než jej citovala"),
    "the turn was interrupted": ("реплика прервана", "replika byla přerušena"),
    "the turn failed": ("реплика завершилась сбоем", "replika selhala"),
    "the answer rests on it, so it is shown": ("ответ опирается на неё, поэтому она показана",
                                               "odpověď se o něj opírá, proto je zobrazen"),
    "opening it is the provenance, so it is shown": ("её открывали ради ответа, поэтому она показана",
                                                     "byl kvůli odpovědi otevřen, proto je zobrazen"),
    "nothing of it was read": ("ничего из неё не прочитано", "nic z něj nebylo přečteno"),
    "small talk rests on no article": ("беседа не опирается на статьи", "nezávazný hovor se o žádný článek neopírá"),
    "a question back rests on no article": ("встречный вопрос не опирается на статьи",
                                            "zpětná otázka se o žádný článek neopírá"),
    "a title that was seen is not a text that was read": ("увиденный заголовок — не прочитанный текст",
                                                          "spatřený nadpis není přečtený text"),
    "retrieved is not used": ("найти — ещё не использовать", "nalezený ještě není použitý"),
    "some parts without a citation are no provenance": ("части без ссылки — ещё не источник",
                                                        "části bez citace nejsou zdrojem"),
    "checked, silent on the question": ("проверена, на вопрос не отвечает", "prověřen, k otázce mlčí"),
    "it was not opened": ("её не открывали", "nebyl otevřen"),
}  # fmt: skip
HIDDEN = "its link works, but it is not shown because "
HIDDEN_IN = ("ссылка на неё работает, но она не показана: ", "odkaz na něj funguje, ale není zobrazen: ")
REFUSAL = "; a refusal shows no source"
REFUSAL_IN = ("; при отказе источники не показываются", "; odmítnutí žádný zdroj neukazuje")

WHOLE: dict[str, tuple[str, str]] = {
    "A wider search finds it, and it was not read.": ("Её находит более широкий поиск, но её не прочитали.",
                                                      "Najde jej širší hledání, ale nebyl přečten."),
    "The visitor's roles may not read it.": ("Роли посетителя не позволяют её читать.",
                                             "Role návštěvníka jej nesmějí číst."),
    "a claim must be an object": ("утверждение должно быть объектом", "tvrzení musí být objekt"),
    "`text` must say what is claimed": ("в `text` нет утверждения", "`text` musí říkat, co se tvrdí"),
    "`text` is too long for one claim": ("`text` слишком длинный для одного утверждения",
                                         "`text` je na jedno tvrzení příliš dlouhý"),
    "`kind` must be `fact` or `inference`": ("`kind` должен быть `fact` или `inference`",
                                             "`kind` musí být `fact` nebo `inference`"),
    "`source_id` must name the article that is quoted": ("`source_id` должен называть цитируемую статью",
                                                         "`source_id` musí jmenovat citovaný článek"),
    "no tool returned an article with the id {} in this turn": ("ни один инструмент не вернул статью {} в этой реплике",
                                                                "žádný nástroj v této replice nevrátil článek {}"),
    "you have not read {}: only its title was listed": ("статья {} не прочитана: был только заголовок",
                                                        "článek {} nebyl přečten: byl vypsán jen jeho nadpis"),
    "`quote` must be text copied from the article": ("`quote` должна быть дословным текстом статьи",
                                                     "`quote` musí být text okopírovaný z článku"),
    "there is no quote": ("цитаты нет", "chybí citát"),
    "the quote is longer than one paragraph": ("цитата длиннее абзаца", "citát je delší než odstavec"),
    "the quote is too short to prove anything (at least three words)": (
        "цитата слишком короткая, чтобы что-то доказать (нужны хотя бы три слова)",
        "citát je příliš krátký, aby něco dokázal (aspoň tři slova)"),
    "the quote stands in a part of {} that you were not given": (
        "цитата стоит в части статьи {}, которую модели не давали",
        "citát stojí v části článku {}, kterou model nedostal"),
    "the quote does not stand, word for word, in what you were given of {}": (
        "цитаты нет дословно в том, что модели дали из статьи {}",
        "citát nestojí doslova v tom, co model z článku {} dostal"),
    "the number {} is not in the quote": ("числа {} нет в цитате", "číslo {} v citátu není"),
    "an inference must name its premises: the indices of the facts it rests on": (
        "вывод должен называть свои посылки: номера фактов", "úsudek musí jmenovat své premisy: čísla faktů"),
    "`premises` must be the indices of facts in `claims`, counted from 0": (
        "`premises` — номера фактов в `claims`, считая от 0", "`premises` jsou čísla faktů v `claims`, počítáno od 0"),
    "an inference cannot be its own premise": ("вывод не может быть своей посылкой",
                                               "úsudek nemůže být svou vlastní premisou"),
    "premise {} does not exist": ("посылки {} нет", "premisa {} neexistuje"),
    "premise {} was rejected": ("посылка {} отклонена", "premisa {} byla zamítnuta"),
    "premise {} is not a fact": ("посылка {} — не факт", "premisa {} není fakt"),
    "reading files": ("чтение файлов", "čtení souborů"),
    "splitting articles": ("деление статей", "dělení článků"),
    "indexing articles": ("индексация статей", "indexování článků"),
}  # fmt: skip
LANGUAGES = ("ru", "cs")


@cache
def patterns() -> tuple[tuple[re.Pattern[str], tuple[str, str]], ...]:
    return tuple(
        (re.compile(re.escape(english).replace(r"\{\}", "(.*)"), re.DOTALL), others)
        for english, others in WHOLE.items()
    )


def told(sentence: str, language: str) -> str | None:
    """The sentence in a language of the pages; None: it has none there but English."""
    if language not in LANGUAGES:
        return sentence
    place = LANGUAGES.index(language)
    for pattern, others in patterns():
        if (found := pattern.fullmatch(sentence)) is not None:
            return others[place].format(*found.groups())
    return ladder(sentence, place)


def ladder(sentence: str, place: int) -> str | None:
    """`How it was found, whether it was cited: why it stopped there.`"""
    head, _, why = sentence.removesuffix(".").partition(": ")
    how = next((part for part in HOW if head.startswith(part) and head[len(part) :] in CITED), None)
    hidden, refused = why.startswith(HIDDEN), why.endswith(REFUSAL)
    core = why.removeprefix(HIDDEN).removesuffix(REFUSAL)
    if how is None or core not in WHY:
        return None
    begin, end = HIDDEN_IN[place] if hidden else "", REFUSAL_IN[place] if refused else ""
    return f"{HOW[how][place]}{CITED[head[len(how) :]][place]}: {begin}{WHY[core][place]}{end}."
