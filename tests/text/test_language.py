"""A language is recognised by what a question shows, or not at all."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.text.language import recognise, recognised

CORPUS = ("en", "ru", "cs")


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("sitemap стоимость тарифа рублей", "ru"),
        ("Как настроить Microsoft Teams Premium в SharePoint Online?", "ru"),
        ("What does the word привет mean?", "en"),
        ("Jaké máte články?", "cs"),
        ("jak vratim penize za objednavku", "cs"),
        ("Kolik stojí lístek do pražského metra?", "cs"),
        ("kolik to stoji", "cs"),
        ("heslo", "cs"),
        ("refund", "en"),
        ("What is the boiling point of mercury on Venus?", "en"),
        ("My card declined", "en"),
        ("Спасибо!", "ru"),
        ("Wie ändere ich mein Passwort?", "de"),
        ("Comment puis-je obtenir un remboursement ?", "fr"),
        ("¿Cómo cambio mi contraseña?", "es"),
        ("Jak zmienić hasło?", "pl"),
        ("Як скасувати замовлення?", "uk"),
        ("Hur ändrar jag mitt lösenord?", "sv"),
        ("返金はいつですか", "ja"),
        ("APIキーを変更する", "ja"),
        ("如何退款", "zh"),
        ("환불은 어떻게 받나요", "ko"),
        ("כיצד לשנות סיסמה", "he"),
    ],
)
def test_a_question_is_recognised_whatever_the_corpus_is_written_in(question: str, language: str) -> None:
    assert recognised(question, CORPUS) == language
    assert recognised(question, ("en",)) == language
    assert recognise(question, None, "xx") == language


@pytest.mark.parametrize("question", ["", "   ", "SSO", "zxqv blorp wibbly", "???", "42", "🙂", "OAuth 2.0"])
def test_nothing_is_guessed(question: str) -> None:
    assert recognised(question, CORPUS) is None
    assert recognise(question, CORPUS, "ru") == "ru"


def test_the_languages_of_the_corpus_win_near_ties_and_keep_their_spelling() -> None:
    assert recognised("faktura", ("cs", "en")) == "cs"
    assert recognised("faktura", ("pl", "en")) == "pl"
    assert recognised("Como altero minha senha?", ("en", "pt-BR")) == "pt-BR"


@settings(max_examples=150)
@given(st.text(max_size=80))
def test_any_text_gets_an_answer(text: str) -> None:
    assert recognise(text, CORPUS, "en")
