"""What makes a word of a question and a word of an article the same."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.text.terms import content_words, fold, fold_accents, is_stop_word, surface_words, terms

LANGUAGES = ("en", "ru", "cs", "de", "ja", "uk", "th", "sk", "pt-BR", "")


@pytest.mark.parametrize(
    ("language", "question", "article"),
    [
        ("ru", "рассматривается заявка", "рассматривают заявки"),
        ("ru", "Ещё тарифы", "еще тарифа"),
        ("cs", "vydání z hlavní větve", "vydáních hlavních větví"),
        ("cs", "články", "clanky"),
        ("en", "refunds", "refund"),
        ("de", "Rückerstattungen", "RÜCKERSTATTUNG"),
        ("en", "e-mail", "email"),
        ("en", "ＡＰＩ ﬁle", "api file"),
        ("en", "pass\u00adword", "password"),
        ("fr", "l’équipe", "équipe"),
        ("ja", "返金", "返金"),
    ],
)
def test_inflected_and_differently_typed_words_agree(language: str, question: str, article: str) -> None:
    assert terms(question, language) == terms(article, language)


def test_a_latin_word_is_the_same_word_in_every_other_script() -> None:
    for language in ("ru", "ja", "uk", "el", "ar"):
        assert terms("sitemaps SSO", language) == terms("sitemap sso", "en")
    assert terms("тарифов", "cs") == terms("тарифа", "ru")


def test_short_i_stays_and_accents_go() -> None:
    assert terms("йод", "ru") == ["йод"]
    assert fold_accents("йёéčřŁøñ") == "йеecrŁon"
    assert fold_accents("が") == "が"


def test_stop_words_are_out_with_and_without_accents() -> None:
    assert terms("How do I set up the SSO", "en") == ["set", "sso"]
    assert terms("как мне настроить", "ru") == terms("настроить", "ru")
    assert terms("může být proč muze proc", "cs") == []
    assert is_stop_word("the", "ru")
    assert terms("byt", "cs") == ["byt"]


def test_languages_without_a_stemmer_become_grams() -> None:
    assert terms("слово", "uk") == ["слов", "лово"]
    assert terms("heslo", "sk") == ["hesl", "eslo"]
    assert terms("ночь", "uk") == ["ночь"]


def test_latin_words_inside_japanese_are_words() -> None:
    found = terms("APIキーの設定方法", "ja")
    assert found[0] == "api"
    assert "キー" in found
    assert {"設定", "方法"} <= set(found)


def test_a_japanese_word_is_found_inside_a_sentence() -> None:
    article = set(terms("パスワードを変更すると、請求書の返金はできません。", "ja"))
    for word in ("パスワード", "変更", "請求書", "返金"):
        assert set(terms(word, "ja")) <= article


def test_thai_is_found_inside_a_sentence() -> None:
    assert set(terms("คืนเงิน", "th")) <= set(terms("การคืนเงินใช้เวลากี่วัน", "th"))


def test_content_words_are_unique_and_in_order() -> None:
    assert content_words("refund the refund of refunds and a plan", "en") == ["refund", "plan"]
    assert content_words("返金はいつですか", "ja") == ["返金"]
    assert content_words("やめるには", "ja") != []
    assert content_words("how do you do", "en") == []


def test_surface_words_keep_accents() -> None:
    assert surface_words("Články, SSO a e-mail") == ["články", "sso", "a", "email"]


@settings(max_examples=150)
@given(st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_any_text_has_terms_that_hold_no_white_space_and_depend_on_no_normal_form(text: str, language: str) -> None:
    found = terms(text, language)
    assert all(term and not any(char.isspace() for char in term) for term in found)
    assert terms(unicodedata.normalize("NFD", text), language) == terms(unicodedata.normalize("NFC", text), language)
    assert set(content_words(text, language)) <= set(found)
    assert fold(fold(text)) == fold(text)
