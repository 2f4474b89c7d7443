"""What of a question is masked, what stays, and that neither depends on how it is written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.text.redaction import CARD, IBAN, MAIL, PHONE, SECRET, luhn, redact


@pytest.mark.parametrize(
    ("written", "masked"),
    [
        ("Write to anna.b+x@example.co.uk today", f"Write to {MAIL} today"),
        ("anna＠exämple.com", MAIL),
        ("anna (at) example (dot) com", MAIL),
        ("Card 4111 1111 1111 1111, 12/27", f"Card {CARD}, 12/27"),
        ("4111-1111-1111-1111", CARD),
        ("４１１１１１１１１１１１１１１１", CARD),
        ("٤١١١١١١١١١١١١١١١", CARD),
        ("4111\u200b1111\u200b1111\u200b1111", CARD),
        ("2 seats, 378282246310005", f"2 seats, {CARD}"),
        ("12 4111 1111 1111 1111", f"12 {CARD}"),
        ("IBAN DE89 3704 0044 0532 0130 00 and more", f"IBAN {IBAN} and more"),
        ("cz6508000000192000145399", IBAN),
        ("+420 777 123 456", PHONE),
        ("+1 (555) 123-4567", PHONE),
        ("8 (916) 123-45-67", PHONE),
        ("555-123-4567", PHONE),
        ("06 12 34 56 78", PHONE),
        ("my phone number is 777123456", f"my phone number is {PHONE}"),
        ("тел. 89161234567", f"тел. {PHONE}"),
        ("key sk-ant-api03-abcdefghijklmnop", f"key {SECRET}"),
        ("Authorization: Bearer abcdefghijklmnop1234", f"Authorization: Bearer {SECRET}"),
        ("password: hunter22", f"password: {SECRET}"),
        ("my password is hunter22", f"my password is {SECRET}"),
        ("password hunter2", f"password {SECRET}"),
        ("Пароль qwerty123 не подходит", f"Пароль {SECRET} не подходит"),
        ("с паролем «qwerty123» не войти", f"с паролем «{SECRET}» не войти"),
        ("heslo tajne123, co s ním?", f"heslo {SECRET}, co s ním?"),
        ("My password 'Tr0ub4dor&3' fails.", f"My password '{SECRET}' fails."),
        ("the password correct!horse?", f"the password {SECRET}?"),
        ("login password password hunter2", f"login password password {SECRET}"),
        ("passwort\nhunter2", f"passwort\n{SECRET}"),
        ("4111 1111\n1111 1111", CARD),
        ("4111 1111 1111\r\n1111 is mine", f"{CARD} is mine"),
        ("4111-1111-\n1111-1111", CARD),
        ("3782 822463\n10005", CARD),
        ("2 x\n4111 1111 1111 1111\n3 x", f"2 x\n{CARD}\n3 x"),
        ("DE89 3704 0044\n0532 0130 00", IBAN),
        ("https://anna:letmein@host/x", f"https://{SECRET}@host/x"),
        ("0123456789abcdef0123456789abcdef", SECRET),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln", SECRET),
    ],
)  # fmt: skip
def test_personal_data_is_masked(written: str, masked: str) -> None:
    assert redact(written) == masked


@pytest.mark.parametrize(
    "written",
    [
        "Order 4111-2222 has not come",
        "Where is order 4711 of customer 88?",
        "Invoice 2026-0001234, 1234567890",
        "order 1234567890123",
        "4111 1111 1111 1112 fails the check",
        "0000000000000000",
        "250 000 000 Kč",
        "it costs 777 123 456 CZK",
        "on 2026-02-03 at 10:30:00",
        "version 1.2.3 at 192.168.100.200",
        "ISO 27001:2022, RFC 9457, §12/3",
        "123e4567-e89b-12d3-a456-426614174000",
        "How do I reset my password?",
        "I forgot my password yesterday",
        "reset password please",
        "jak změním heslo účtu?",
        "Почему пароль неверный?",
        "Is the password case-sensitive?",
        "Can't sign in: password don't work",
        "password rules: at least 8 characters",
        "Is a password 12-characters long enough?",
        "пароль 8-значный или длиннее?",
        "heslo 10znaků",
        "I set my password 2026-02-03T10:30Z and it fails",
        "password 14.02.2026, password 10:30am, password May2026",
        "password v2.1-beta, password 10.15.7",
        "forgot my password Office365 and Windows-11",
        "password OAuth2.0 or SHA256-1",
        "password AADSTS50034 and password 0x80070005",
        "Password ABC-12345 and password 12345678",
        "Where is my password list passwords2.xlsx?",
        "the password user_name and PASSWORD user/name1",
        "What does a password 2FA i18n mean?",
        "23456789\n41112222",
        "41111111\n11111111",
        "4111\n1111\n1111\n1111",
        "250 000 000\n209 000 000",
        "Is an API key a token?",
        "the-very-long-name-of-an-article-in-the-help-centre-2",
        "DE00370400440532013000",
        "@acme and #1",
    ],
)
def test_the_rest_stays(written: str) -> None:
    assert redact(written) == written


SEPARATORS = st.sampled_from(["", " ", "-", ".", "\u00a0", "\u2011"])
DIGITS = st.sampled_from(["0123456789", "０１２３４５６７８９", "٠١٢٣٤٥٦٧٨٩"])
WORDS = st.text(st.characters(categories=["Ll", "Zs"]), max_size=20)


def with_check_digit(digits: str) -> str:
    return next(digits + last for last in "0123456789" if luhn(digits + last))


@settings(max_examples=300)
@given(WORDS, st.from_regex(r"\A[3-6][0-9]{14}\Z").filter(lambda d: len(set(d)) > 2), SEPARATORS, DIGITS, WORDS)
def test_no_card_survives_however_it_is_written(
    before: str, digits: str, separator: str, script: str, after: str
) -> None:
    card = with_check_digit(digits)
    grouped = separator.join(card[at : at + 4] for at in range(0, 16, 4))
    written = grouped.translate(str.maketrans("0123456789", script))
    found = redact(f"{before} {written} {after}")
    assert CARD in found
    assert not any(character.isdigit() for character in found)


@settings(max_examples=300)
@given(st.text(max_size=200))
def test_twice_is_once(text: str) -> None:
    assert redact(redact(text)) == redact(text)


@settings(max_examples=300)
@given(st.text(st.characters(exclude_categories=["Nd", "Nl", "No"], exclude_characters="@:=!#$%^"), max_size=60))
def test_a_text_without_digits_and_signs_stays(text: str) -> None:
    assert redact(text) == text
