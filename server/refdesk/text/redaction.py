"""Personal data in a question, replaced by placeholders before a model or a database sees it.

Masked: mail addresses, phone numbers, payment cards (Luhn), IBANs (mod 97), keys, tokens and passwords. Everything else
keeps its characters, order numbers above all: a run of digits is only masked where something besides its length says
that it is a card or a phone number, and what follows the word password only where no word is written so. A look-alike
digit, letter or separator counts as what it looks like.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

Spans: TypeAlias = Iterator[tuple[int, int]]

MAIL, PHONE, CARD, IBAN, SECRET = "[email]", "[phone]", "[card]", "[iban]", "[secret]"
PLACEHOLDERS = (MAIL, PHONE, CARD, IBAN, SECRET)

AT = r"(?:\s{0,2}@\s{0,2}|\s{0,2}[\[({]\s?at\s?[\])}]\s{0,2})"
DOT = r"(?:\.|\s{0,2}[\[({]\s?dot\s?[\])}]\s{0,2})"
MAIL_ADDRESS = re.compile(
    rf"[\w.+%'*/=?^`{{|}}~!#$&-]{{1,64}}{AT}[\w-]{{1,63}}(?:{DOT}[\w-]{{1,63}}){{0,8}}{DOT}[^\W\d_][\w-]{{1,30}}"
)

BREAK = r"(?:\r?\n[ .\-/]{0,2})?"
GROUPED = re.compile(rf"(?<![0-9A-Za-z_])[0-9](?:[ .\-/]{{0,2}}{BREAK}[0-9])*(?![0-9A-Za-z_])")
GROUP = re.compile(r"[0-9]+")
CARD_LENGTHS = range(13, 20)
WRAPPED_GROUP, WRAPPED_END = range(4, 7), range(3, 7)
"""Digits in a group, and in the last one, of a card that a line break parts: as cards are printed, so that two order
numbers or amounts on two lines are none."""

INTERNATIONAL = re.compile(r"(?<![\w+])(?:\+|00(?=[1-9]))[ ]?[(]?[0-9](?:[ ().\-/]{0,3}[0-9]){6,14}(?![0-9])")
NATIONAL = re.compile(
    r"(?<![\w.\-+/])(?:"
    r"[0-9][ -]?[(][0-9]{2,5}[)][ .\-]?[0-9](?:[ .\-]?[0-9]){4,8}"  # 8 (916) 123-45-67
    r"|[(]0?[0-9]{2,5}[)][ .\-]?[0-9](?:[ .\-/]?[0-9]){4,8}"  # (555) 123-4567
    r"|[0-9]{3}([ .\-])[0-9]{3}\1[0-9]{4}"  # 555-123-4567
    r"|[2-79][0-9]{2} [0-9]{3} [0-9]{3}(?<!000)(?!\s?(?:[^\W\d_]|[%€$£¥]))"  # 777 123 456, no amount of money
    r"|0[1-9](?:([ .\-])[0-9]{2})(?:\2[0-9]{2}){3}"  # 06 12 34 56 78
    r"|0[1-9][0-9]{1,4}[ /\-][0-9]{3,4}[ \-]?[0-9]{2,5}"  # 030 1234567, 020 7946 0958
    r")(?![\w\-]|[.,][0-9])"
)
CALLED_PHONE = re.compile(
    r"(?:\b(?:phone|telephone|tel|mobile|cell|call me(?: (?:at|on))?|whats ?app|sms|telefon(?:u|ní)?"
    r"|mobil(?:u|ní)?|handy(?:nummer)?"
    r"|téléphone|teléfono)|тел(?:ефон\w*)?|моб(?:ильн\w*)?|电话|電話|手机)"
    r"(?:[^\S\n]{0,3}(?:number|no|nr|number is|is|číslo|номер))?[.:#]?[^\S\n]{0,3}"
    r"([0-9+(](?:[ ().\-/]{0,2}[0-9]){5,14})(?![0-9])",
    re.I,
)

IBAN_LIKE = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?:[ -]?(?:\r?\n)?[A-Za-z0-9]){11,30}(?![A-Za-z0-9])")
IBAN_GROUPS = re.compile(r"[ -]?[A-Za-z0-9]{1,4}")

KNOWN_KEYS = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<![A-Za-z0-9])(?:"
    r"eyJ[\w-]{5,}\.[\w-]{5,}(?:\.[\w-]*)?"
    r"|(?:sk|pk|rk|whsec|vt|st)[_-][A-Za-z0-9_-]{16,}"
    r"|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|npm_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w.-]{20,}|SG\.[\w-]{16,}\.[\w-]{16,}"
    r")",
    re.S,
)
TOLD_SECRET = re.compile(
    r"\b(?:(?:api|access|secret|private|auth|client|app)[ _-]?(?:key|token|secret)|password|passwd|passphrase|pwd|token"
    r"|heslo|passwort|пароль|contraseña|mot de passe)\b[\"']?"
    r"(?:\s{0,3}[:=]\s{0,3}[\"']?|\s{1,3}(?:is|was|je|ist|est|es)\s{1,3}[:=]?\s{0,3}(?=\S{0,60}[0-9]))"
    r"([^\s\"',;]{4,200})",
    re.I,
)
WORD_AFTER_PASSWORD = re.compile(
    r"\b(?:password|passwd|passcode|passphrase|pwd|hesl(?:o|a|u|em)|passwort|kennwort|парол(?:ь|я|ю|ем|е)|contraseña"
    r"|mot de passe)\b[\"']?(?=\s{1,3}[\"'„“«`(]?([^\s\"',;`]{6,200}))",
    re.I,
)
"""Shorter ones are rather words such as `2FA` and `24h`. Looked ahead at, since the next word may be password, too."""
SIGN_INSIDE = re.compile(r"[^\W_][!@#$%^][^\W_]")
CODE = re.compile(r"[A-Z]+[-_]?[0-9]+[A-Z]?|0x[0-9A-Fa-f]+")
"""ABC-1234, AADSTS50034, SHA256"""
WORD_WITH_DIGITS = re.compile(
    r"v?[0-9]+(?:[.,:][0-9]+)*(?:-?(?:st|nd|rd|th|x|h|hrs?|hours?|min(?:ute)?s?|sec(?:ond)?s?|ms|days?|weeks?|months?|years?"
    r"|[kmgt]i?b|bits?|bytes?|chars?|digits?|am|pm|dn[íů]|hodin\w*|minut\w*|znak\w*|дн\w+|час\w*|минут\w*|символ\w*|знак\w*"
    r"|(?:alpha|beta|rc|b)[.-]?[0-9]*))?"  # a version, a time, an amount
    r"|[0-9]+(?:-[^\W\d_]+)+"  # 30-day, 8-значный
    r"|[^\W\d_]+(?:-[^\W\d_]+)*-[0-9]{1,4}"  # step-2, in-windows-10
    r"|[0-9]{4}-[0-9]{2}-[0-9]{2}t[0-9:.+z-]*"
    r"|(?:[0-9]{1,2}-?)?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*-?[0-9]{2,4}"
    r"|(?:oauth|openid|saml|totp|windows|win|office|microsoft|outlook|exchange|sharepoint|iphone|ipad|ios|android|macos"
    r"|base|sha|aes|ipv|http|tls|level|part|step|version|ver)[-_]?v?[0-9]+(?:\.[0-9]+)*"
    r"|1password"
    r"|[\w-]+(?:\.[\w-]+)*\.[a-z]{2,6}",  # a file, a host
    re.I,
)
AUTHORIZATION = re.compile(r"\b(?:Bearer|Basic)\s+([A-Za-z0-9._~+/=-]{12,})", re.I)
IN_URL = re.compile(r"://([^\s/@:]{1,100}:[^\s/@]{1,200})@")
LONG_RUN = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{32,}={0,2}(?![A-Za-z0-9_-])")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I)


def redact(text: str) -> str:
    """The text with placeholders in place of what it should not hold. Redacting twice changes nothing more."""
    seen, places = folded(text)
    masked = sorted((places[start], places[end - 1] + 1, what) for find, what in FINDERS for start, end in find(seen))
    pieces, at = [], 0
    for start, end, what in masked:
        if start >= at:
            pieces += [text[at:start], what]
        at = max(at, end)  # one that runs on from the one before shares its placeholder
    return "".join([*pieces, text[at:]])


def folded(text: str) -> tuple[str, Sequence[int]]:
    """What the text looks like, character for character, and where each character stands in it. What nobody sees
    (zero-width characters) is left out, so that it parts nothing."""
    if text.isascii():
        return text, range(len(text))
    places = [place for place, character in enumerate(text) if unicodedata.category(character) != "Cf"]
    return "".join(fold_character(text[place]) for place in places), places


def fold_character(character: str) -> str:
    if character.isascii():
        return character
    if character.isdecimal():
        return str(unicodedata.decimal(character))
    category = unicodedata.category(character)
    if category == "Pd" or character == "\u2212":
        return "-"
    if category == "Zs":
        return " "
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character


# --- finders: places of one kind in a folded text ---------------------------------------------


def mails(text: str) -> Spans:
    return (found.span() for found in MAIL_ADDRESS.finditer(text))


def cards(text: str) -> Spans:
    """Also among other numbers ("2 x 4111 1111 1111 1111 12/27"): every row of whole groups is looked at."""
    for run in GROUPED.finditer(text):
        groups = [(run.start() + g.start(), run.start() + g.end()) for g in GROUP.finditer(run.group())]
        first = 0
        while first < len(groups):
            last = card_end(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1]
                first = last
            first += 1


def card_end(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """The last group of a card that begins with this one; the longest, so that no digit of it is left."""
    digits, found = "", None
    for at in range(first, len(groups)):
        digits += text[slice(*groups[at])]
        if len(digits) > CARD_LENGTHS[-1]:
            break
        if (
            len(digits) in CARD_LENGTHS
            and digits[0] in "23456"
            and luhn(digits)
            and fits_lines(text, groups, first, at)
        ):
            found = at
    return found


def fits_lines(text: str, groups: list[tuple[int, int]], first: int, last: int) -> bool:
    """On one line, or over one break in groups such as cards have."""
    breaks = text.count("\n", groups[first][0], groups[last][1])
    sizes = [end - start for start, end in groups[first : last + 1]]
    return not breaks or (breaks == 1 and sizes.pop() in WRAPPED_END and all(size in WRAPPED_GROUP for size in sizes))


def luhn(digits: str) -> bool:
    """The check digit of cards; a single digit repeated passes it too, but is no card."""
    total = sum(sum(divmod(int(digit) * (1 + place % 2), 10)) for place, digit in enumerate(reversed(digits)))
    return len(set(digits)) > 1 and total % 10 == 0


def ibans(text: str) -> Spans:
    """What looks like one may run on into the next word: the longest beginning that checks."""
    for found in IBAN_LIKE.finditer(text):
        for end in range(found.end(), found.start() + 14, -1):
            if end < len(text) and text[end].isalnum():
                continue
            if checks(re.sub(r"[ \r\n-]", "", text[found.start() : end])):
                yield found.start(), end
                break


def checks(iban: str) -> bool:
    if not 15 <= len(iban) <= 34:
        return False
    return int("".join(str(int(c, 36)) for c in iban[4:] + iban[:4])) % 97 == 1


def phones(text: str) -> Spans:
    for pattern in (INTERNATIONAL, NATIONAL):
        yield from (found.span() for found in pattern.finditer(text))
    yield from (found.span(1) for found in CALLED_PHONE.finditer(text))


def secrets(text: str) -> Spans:
    yield from (found.span() for found in KNOWN_KEYS.finditer(text))
    for pattern in (TOLD_SECRET, AUTHORIZATION, IN_URL):
        yield from (found.span(1) for found in pattern.finditer(text) if not is_masked(found.group(1)))
    yield from (found.span() for found in LONG_RUN.finditer(text) if is_random(found.group()))
    yield from bare_passwords(text)


def is_masked(word: str) -> bool:
    """It has been here before; what is left around a placeholder says nothing."""
    return any(placeholder in word for placeholder in PLACEHOLDERS)


def bare_passwords(text: str) -> Spans:
    """`password hunter2`: told without a colon."""
    for found in WORD_AFTER_PASSWORD.finditer(text):
        word = found.group(1).rstrip(".?!:)]}>»”…*")
        if is_no_word(word):
            yield found.start(1), found.start(1) + len(word)


def is_no_word(word: str) -> bool:
    """Letters, and digits or signs among them, as in no version, date, unit, code, file, address or product."""
    if len(word) < 6 or "/" in word or "\\" in word or is_masked(word) or not any(c.isalpha() for c in word):
        return False
    if not any(c.isdecimal() for c in word) and not SIGN_INSIDE.search(word):
        return False
    return not any(pattern.fullmatch(word) for pattern in (CODE, WORD_WITH_DIGITS, MAIL_ADDRESS))


def is_random(run: str) -> bool:
    """Letters and digits mixed, longer than any word or order number. A UUID names things and opens none."""
    if UUID.fullmatch(run) or not any(c.isdigit() for c in run):
        return False
    body = run.rstrip("=")
    is_hex = all(c in "0123456789abcdefABCDEF" for c in body)
    mixed = any(c.islower() for c in body) and any(c.isupper() for c in body)
    return (is_hex and any(c.isalpha() for c in body)) or (mixed and not is_spelt(body))


def is_spelt(run: str) -> bool:
    """Words joined by dashes or underscores, as in a file name: few changes between letters and digits."""
    changes = sum(a.isdigit() != b.isdigit() or (a.islower() and b.isupper()) for a, b in pairwise(run))
    return changes * 6 < len(run)


FINDERS: tuple[tuple[Callable[[str], Spans], str], ...] = (
    (secrets, SECRET),
    (mails, MAIL),
    (ibans, IBAN),
    (cards, CARD),
    (phones, PHONE),
)
