"""Every text of the console's pages, in all its languages."""

from __future__ import annotations

from collections.abc import Callable

LANGUAGES = {"en": "English", "ru": "Русский", "cs": "Čeština"}
ORDER = tuple(LANGUAGES)

TEXTS: dict[str, tuple[str, str, str]] = {
    "console": ("Console", "Консоль", "Konzole"),
    "skip": ("Skip to content", "К содержанию", "Přejít k obsahu"),
    "sections": ("Sections", "Разделы", "Části"),
    "language": ("Language", "Язык", "Jazyk"),
    "choose": ("Choose", "Выбрать", "Zvolit"),
    "sign_in": ("Sign in", "Войти", "Přihlásit se"),
    "sign_out": ("Sign out", "Выйти", "Odhlásit se"),
    "name": ("Name", "Имя", "Jméno"),
    "password": ("Password", "Пароль", "Heslo"),
    "continue": ("Continue", "Продолжить", "Pokračovat"),
    "any": ("any", "любое", "cokoli"),
    "back": ("Back", "Назад", "Zpět"),
    "role.agent": ("agent", "агент", "agent"),
    "role.admin": ("admin", "администратор", "správce"),
    # problems
    "problem.401": ("Sign in first.", "Сначала войдите.", "Nejprve se přihlaste."),
    "problem.403": ("You may not do this.", "Вам это не разрешено.", "K tomu nemáte oprávnění."),
    "problem.404": ("There is nothing here.", "Здесь ничего нет.", "Tady nic není."),
    "problem.429": ("Too many attempts. Try again later.", "Слишком много попыток. Попробуйте позже.",
                    "Příliš mnoho pokusů. Zkuste to později."),
    "problem.503": ("Not available now.", "Сейчас недоступно.", "Teď nedostupné."),
    "problem.other": ("That did not work.", "Не получилось.", "Nepovedlo se."),
    "login_failed": ("The name or the password is wrong.", "Неверное имя или пароль.", "Špatné jméno nebo heslo."),
    # conversations
    "conversations": ("Conversations", "Разговоры", "Konverzace"),
    "filter": ("Filter", "Отбор", "Filtr"),
    "show": ("Show", "Показать", "Zobrazit"),
    "clear": ("Clear", "Сбросить", "Zrušit"),
    "q": ("Words", "Слова", "Slova"),
    "status": ("Outcome", "Итог", "Výsledek"),
    "grounded": ("Grounded", "С опорой на статьи", "Podloženo"),
    "rating": ("Feedback", "Оценка", "Hodnocení"),
    "kind": ("Kind", "Вид", "Druh"),
    "lang": ("Language code", "Код языка", "Kód jazyka"),
    "verdict": ("Verdict", "Вердикт", "Verdikt"),
    "tag": ("Tag", "Метка", "Štítek"),
    "visitor": ("Visitor", "Посетитель", "Návštěvník"),
    "from": ("From", "С", "Od"),
    "to": ("Before", "До (не включая)", "Před"),
    "export_csv": ("Export as CSV", "Выгрузить в CSV", "Export do CSV"),
    "export_jsonl": ("Export as JSON lines", "Выгрузить в JSON lines", "Export do JSON lines"),
    "time": ("Time (UTC)", "Время (UTC)", "Čas (UTC)"),
    "question": ("Question", "Вопрос", "Otázka"),
    "sources": ("Shown sources", "Показанные источники", "Zobrazené zdroje"),
    "turns": ("Turns", "Реплики", "Repliky"),
    "no_conversations": ("No conversation matches.", "Ничего не подходит.", "Žádná konverzace neodpovídá."),
    "older": ("Older", "Более ранние", "Starší"),
    "newest": ("Newest", "Самые новые", "Nejnovější"),
    "news": ("New or continued: {count}.", "Новых или продолженных: {count}.", "Nových nebo pokračujících: {count}."),
    "show_news": ("Show them", "Показать", "Zobrazit"),
    "status.answered": ("answered", "есть ответ", "zodpovězeno"),
    "status.insufficient": ("refused", "отказ", "odmítnuto"),
    "status.evidence": ("evidence only", "только выдержки", "jen výňatky"),
    "status.stopped": ("stopped", "остановлен", "zastaveno"),
    "status.interrupted": ("interrupted", "прерван", "přerušeno"),
    "status.failed": ("failed", "сбой", "selhalo"),
    "status.running": ("running", "идёт", "běží"),
    "grounded.true": ("yes", "да", "ano"),
    "grounded.false": ("no", "нет", "ne"),
    "rating.up": ("thumbs up", "полезно", "palec nahoru"),
    "rating.down": ("thumbs down", "не полезно", "palec dolů"),
    "kind.question": ("question", "вопрос", "otázka"),
    "kind.catalogue": ("what is there", "что здесь есть", "co tu je"),
    "kind.smalltalk": ("small talk", "беседа", "nezávazně"),
    "kind.clarification": ("clarification", "уточнение", "upřesnění"),
    "verdict.right": ("right", "верно", "správně"),
    "verdict.wrong_source": ("wrong source", "не тот источник", "špatný zdroj"),
    "verdict.wrong_answer": ("wrong answer", "неверный ответ", "špatná odpověď"),
    "verdict.should_have_answered": ("should have answered", "следовало ответить", "mělo odpovědět"),
}  # fmt: skip


def text_in(language: str) -> Callable[..., str]:
    """The function by which templates get a text of the table; `values` fill its places."""
    place = ORDER.index(language)

    def text(name: str, **values: object) -> str:
        found = TEXTS[name][place]
        return found.format(**values) if values else found

    return text
