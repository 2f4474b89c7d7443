// Everything the widget says itself. Another language is a JSON object of the same keys (setting `strings`).
// `{0}` is filled in; plural forms are chosen by Intl.PluralRules and divided by `|` in its order.

const en = {
  open: "Open help",
  close: "Close help",
  title: "Help",
  ai: "You are talking to an AI assistant. It answers from the help articles and can be wrong.",
  greeting: "Hello! Ask a question; I answer from the help articles.",
  starters: "Examples of questions",
  you: "You asked",
  assistant: "Assistant",
  conversation: "Conversation",
  question: "Your question",
  placeholder: "Ask a question…",
  send: "Send",
  stop: "Stop answering",
  working: "Looking for an answer…",
  searching: "Searching: {0}",
  reading: "Reading {0}",
  listing: "Looking through the list of articles",
  reconnecting: "Connection lost. Reconnecting…",
  sources: "Sources",
  sourceCount: "{0} source|{0} sources",
  inLanguage: "in {0}",
  section: "Section: {0}",
  fromArticle: "From the article:",
  updated: "Updated {0}",
  unanswered: "No answer in the articles",
  topics: "Nearby topics",
  person: "Ask a person",
  consent: "Send this conversation to the support team?",
  consentYes: "Send conversation",
  consentMail: "Write a mail with this conversation",
  consentNo: "Without it",
  cancel: "Cancel",
  sent: "The conversation was sent. The team will get back to you.",
  notSent: "The conversation could not be sent.",
  excerpts: "Not an answer: excerpts from the articles",
  conflict: "The articles disagree",
  criterion: "To decide: {0}",
  missing: "Not covered by the articles",
  stopped: "You stopped this answer.",
  interrupted: "This answer was interrupted.",
  failed: "Something went wrong on our side.",
  unreachable: "The help centre cannot be reached.",
  offline: "You are offline. The conversation goes on when you are back.",
  notAllowed: "This help centre does not take questions from this page.",
  tooMany: "Too many questions right now.",
  tryIn: "You can try again in {0} second.|You can try again in {0} seconds.",
  tooLong: "The question is too long.",
  truncated: "This answer was cut short.",
  retry: "Try again",
  again: "Ask again",
  copy: "Copy answer",
  copied: "Copied",
  solved: "Did this solve it?",
  yes: "Yes",
  no: "No",
  comment: "What was missing? (optional)",
  commentGood: "Anything to add? (optional)",
  sendComment: "Send feedback",
  thanks: "Thank you for the feedback.",
  fresh: "New conversation",
  earlier: "Earlier conversations",
  noEarlier: "There are no earlier conversations on this device.",
  erase: "Delete “{0}”",
  back: "Back",
  loading: "Loading…",
  noArticle: "This article cannot be shown.",
  fullPage: "Open as a page",
  quoteGone: "The quoted words are no longer in this article; it has been changed since.",
  latest: "Jump to the latest message",
  notKept: "Your browser keeps nothing for this page: this conversation ends when you leave it.",
  unread: "New answer",
};

export type Strings = typeof en;

const ru: Strings = {
  open: "Открыть справку",
  close: "Закрыть справку",
  title: "Справка",
  ai: "Вы общаетесь с ИИ-ассистентом. Он отвечает по статьям справки и может ошибаться.",
  greeting: "Здравствуйте! Задайте вопрос — отвечу по статьям справки.",
  starters: "Примеры вопросов",
  you: "Вы спросили",
  assistant: "Ассистент",
  conversation: "Разговор",
  question: "Ваш вопрос",
  placeholder: "Задайте вопрос…",
  send: "Отправить",
  stop: "Остановить ответ",
  working: "Ищу ответ…",
  searching: "Поиск: {0}",
  reading: "Читаю «{0}»",
  listing: "Просматриваю список статей",
  reconnecting: "Связь прервалась. Подключаюсь снова…",
  sources: "Источники",
  sourceCount: "{0} источник|{0} источника|{0} источников|{0} источника",
  inLanguage: "язык: {0}",
  section: "Раздел: {0}",
  fromArticle: "Из статьи:",
  updated: "Обновлено {0}",
  unanswered: "В статьях нет ответа",
  topics: "Близкие темы",
  person: "Спросить человека",
  consent: "Отправить этот разговор в службу поддержки?",
  consentYes: "Отправить разговор",
  consentMail: "Написать письмо с этим разговором",
  consentNo: "Без него",
  cancel: "Отмена",
  sent: "Разговор отправлен. С вами свяжутся.",
  notSent: "Не удалось отправить разговор.",
  excerpts: "Это не ответ: выдержки из статей",
  conflict: "Статьи противоречат друг другу",
  criterion: "Что решает: {0}",
  missing: "Чего нет в статьях",
  stopped: "Вы остановили этот ответ.",
  interrupted: "Ответ прервался.",
  failed: "Что-то пошло не так на нашей стороне.",
  unreachable: "Справка недоступна.",
  offline: "Нет сети. Разговор продолжится, когда она появится.",
  notAllowed: "С этой страницы справка вопросов не принимает.",
  tooMany: "Сейчас слишком много вопросов.",
  tryIn: "Повторить можно через {0} секунду.|Повторить можно через {0} секунды.|Повторить можно через {0} секунд.|Повторить можно через {0} секунды.",
  tooLong: "Вопрос слишком длинный.",
  truncated: "Ответ обрезан.",
  retry: "Повторить",
  again: "Спросить снова",
  copy: "Копировать ответ",
  copied: "Скопировано",
  solved: "Это помогло?",
  yes: "Да",
  no: "Нет",
  comment: "Чего не хватило? (необязательно)",
  commentGood: "Хотите что-то добавить? (необязательно)",
  sendComment: "Отправить отзыв",
  thanks: "Спасибо за отзыв.",
  fresh: "Новый разговор",
  earlier: "Прежние разговоры",
  noEarlier: "На этом устройстве прежних разговоров нет.",
  erase: "Удалить «{0}»",
  back: "Назад",
  loading: "Загрузка…",
  noArticle: "Эту статью нельзя показать.",
  fullPage: "Открыть страницей",
  quoteGone: "Процитированных слов в статье больше нет: её с тех пор изменили.",
  latest: "К последнему сообщению",
  notKept: "Браузер ничего не хранит для этой страницы: разговор закончится, когда вы её покинете.",
  unread: "Новый ответ",
};

const cs: Strings = {
  open: "Otevřít nápovědu",
  close: "Zavřít nápovědu",
  title: "Nápověda",
  ai: "Mluvíte s asistentem s umělou inteligencí. Odpovídá podle článků nápovědy a může se mýlit.",
  greeting: "Dobrý den! Položte otázku, odpovím podle článků nápovědy.",
  starters: "Příklady otázek",
  you: "Vaše otázka",
  assistant: "Asistent",
  conversation: "Konverzace",
  question: "Vaše otázka",
  placeholder: "Položte otázku…",
  send: "Odeslat",
  stop: "Zastavit odpověď",
  working: "Hledám odpověď…",
  searching: "Hledám: {0}",
  reading: "Čtu {0}",
  listing: "Procházím seznam článků",
  reconnecting: "Spojení se přerušilo. Připojuji se znovu…",
  sources: "Zdroje",
  sourceCount: "{0} zdroj|{0} zdroje|{0} zdroje|{0} zdrojů",
  inLanguage: "jazyk: {0}",
  section: "Oddíl: {0}",
  fromArticle: "Z článku:",
  updated: "Aktualizováno {0}",
  unanswered: "V článcích odpověď není",
  topics: "Blízká témata",
  person: "Zeptat se člověka",
  consent: "Odeslat tuto konverzaci podpoře?",
  consentYes: "Odeslat konverzaci",
  consentMail: "Napsat e-mail s touto konverzací",
  consentNo: "Bez ní",
  cancel: "Zrušit",
  sent: "Konverzace byla odeslána. Ozveme se vám.",
  notSent: "Konverzaci se nepodařilo odeslat.",
  excerpts: "Toto není odpověď: úryvky z článků",
  conflict: "Články si odporují",
  criterion: "Co rozhoduje: {0}",
  missing: "Co v článcích není",
  stopped: "Tuto odpověď jste zastavili.",
  interrupted: "Odpověď byla přerušena.",
  failed: "Na naší straně se něco pokazilo.",
  unreachable: "Nápověda není dostupná.",
  offline: "Jste offline. Konverzace bude pokračovat, až budete zpět.",
  notAllowed: "Z této stránky nápověda otázky nepřijímá.",
  tooMany: "Teď je otázek příliš mnoho.",
  tryIn: "Zkusit to můžete znovu za {0} sekundu.|Zkusit to můžete znovu za {0} sekundy.|Zkusit to můžete znovu za {0} sekundy.|Zkusit to můžete znovu za {0} sekund.",
  tooLong: "Otázka je příliš dlouhá.",
  truncated: "Odpověď je zkrácená.",
  retry: "Zkusit znovu",
  again: "Zeptat se znovu",
  copy: "Kopírovat odpověď",
  copied: "Zkopírováno",
  solved: "Pomohlo to?",
  yes: "Ano",
  no: "Ne",
  comment: "Co chybělo? (nepovinné)",
  commentGood: "Chcete něco dodat? (nepovinné)",
  sendComment: "Odeslat názor",
  thanks: "Děkujeme za názor.",
  fresh: "Nová konverzace",
  earlier: "Dřívější konverzace",
  noEarlier: "Na tomto zařízení nejsou dřívější konverzace.",
  erase: "Smazat „{0}“",
  back: "Zpět",
  loading: "Načítám…",
  noArticle: "Tento článek nelze zobrazit.",
  fullPage: "Otevřít jako stránku",
  quoteGone: "Citovaná slova už v článku nejsou: byl od té doby změněn.",
  latest: "Na poslední zprávu",
  notKept: "Prohlížeč pro tuto stránku nic neukládá: konverzace skončí, až ji opustíte.",
  unread: "Nová odpověď",
};

const BUILT_IN: Record<string, Strings> = { en, ru, cs };
const RIGHT_TO_LEFT = /^(ar|arc|ckb|dv|fa|he|iw|ks|ps|sd|ug|ur|yi)\b/i;

/** The language that the widget itself speaks: the page's, if there are texts in it. */
export const spoken = (language: string, own: object = {}): string =>
  Object.hasOwn(BUILT_IN, primary(language)) || Object.keys(own).length ? language : "en";

export const primary = (language: string): string => language.toLowerCase().split(/[-_]/)[0] || "en";

export const direction = (language: string): "rtl" | "ltr" => (RIGHT_TO_LEFT.test(language) ? "rtl" : "ltr");

/** The texts of a language: the built-in ones (English where there are none), then the page's own. */
export function stringsFor(language: string, own: Partial<Strings> = {}): Strings {
  const texts = BUILT_IN[primary(language)] ?? en;
  const given = Object.entries(own).filter(([, text]) => typeof text === "string" && text.trim());
  return given.length ? { ...texts, ...Object.fromEntries(given) } : texts;
}

export const fill = (text: string, value: string): string => text.replace("{0}", () => value);

/** The form for a number: the text's forms stand in the order in which Intl lists the language's categories. */
export function plural(text: string, count: number, language: string): string {
  const forms = text.split("|");
  const order = ["zero", "one", "two", "few", "many", "other"];
  const rules = pluralRules(language);
  const listed = rules.resolvedOptions().pluralCategories.sort((a, b) => order.indexOf(a) - order.indexOf(b));
  const form = forms[listed.indexOf(rules.select(count))] ?? forms.at(-1)!;
  return fill(form, String(count));
}

function pluralRules(language: string): Intl.PluralRules {
  try {
    return new Intl.PluralRules(language);
  } catch {
    return new Intl.PluralRules("en");
  }
}

export function languageName(code: string, language: string): string {
  try {
    return new Intl.DisplayNames([language, "en"], { type: "language" }).of(code) ?? code;
  } catch {
    return code;
  }
}

export function formatDate(iso: string, language: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  try {
    return new Intl.DateTimeFormat(language, { dateStyle: "medium", timeZone: "UTC" }).format(date);
  } catch {
    return iso.slice(0, 10);
  }
}
