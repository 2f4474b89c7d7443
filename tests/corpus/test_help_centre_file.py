from __future__ import annotations

from pathlib import Path

import pytest
from folders import write

from refdesk.corpus.help_centre import read_help_centre, unsettled
from refdesk.corpus.sync import read_corpus
from refdesk.domain.articles import Contact
from refdesk.errors import CorpusError, FileGone


def read(folder: Path, toml: str | bytes):
    (folder / "help-center.toml").write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    return read_help_centre(folder)


def test_every_documented_key(tmp_path: Path):
    centre = read(
        tmp_path,
        """
        name = "Acme Help"
        languages = ["en", "ru", "pt-BR"]
        roles = ["partner", "staff", "public"]
        article_url = "https://acme.test/help/{id}"
        greeting = { en = "Hi!" }
        starter_questions = { en = ["How?"] }
        disclosure = { en = "AI" }
        refusal = { en = "No" }
        contact = { url = "https://acme.test/contact", mail = "a@acme.test", callback = "https://acme.test/talk" }
        notice = { en = "" }
        synonyms = [["sso", "single sign-on"]]
        """,
    )
    assert centre.languages == ("en", "ru", "pt")
    assert centre.roles == ("partner", "staff")
    assert centre.contact == Contact("https://acme.test/contact", "a@acme.test", "https://acme.test/talk")
    assert centre.synonyms == (("sso", "single sign-on"),)
    assert centre.starter_questions == {"en": ["How?"]}


def test_without_the_file_the_folder_names_it(tmp_path: Path):
    folder = tmp_path / "Acme docs"
    folder.mkdir()
    centre = unsettled(folder)
    with pytest.raises(FileGone):
        read_help_centre(folder)
    assert (centre.name, centre.languages, centre.roles) == ("Acme docs", (), ())


def test_a_folder_of_that_name_is_no_file(tmp_path: Path):
    (tmp_path / "help-center.toml").mkdir()
    with pytest.raises(CorpusError, match="not a regular file"):
        read_help_centre(tmp_path)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path):
    assert read(tmp_path, b"\xef\xbb\xbfname = 'A'\n").name == "A"


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("colour = 'red'", "unknown key `colour`"),
        ("contact = { phone = '1' }", "unknown key `phone` in `contact`; the keys are callback, mail, url"),
        ("languages = 'en'", "`languages`"),
        ("languages = ['english language']", "`languages`"),
        ("roles = ['Staff']", "`roles`"),
        ("roles = ['']", "`roles`"),
        ("roles = [1]", "`roles"),
        ("name = 3", "`name`"),
        ("name = '  '", "`name`"),
        ("article_url = '/articles'", "{id}"),
        ("article_url = 'javascript:{id}'", "`article_url`"),
        ("article_url = '//evil.test/{id}'", "`article_url`"),
        ("greeting = 'Hi'", "`greeting`"),
        ("greeting = { 'e n' = 'Hi' }", "`greeting`"),
        ("contact = { url = 'javascript:alert(1)' }", "`contact.url`"),
        ("contact = { mail = 'nobody' }", "`contact.mail`"),
        ("synonyms = [['sso']]", "`synonyms`"),
        ("name = ", "parse"),
        (b"name = '\xff'", "UTF-8"),
    ],
)
def test_a_wrong_value_names_the_file_and_the_key(tmp_path: Path, toml: str | bytes, words: str):
    with pytest.raises(CorpusError) as caught:
        read(tmp_path, toml)
    assert str(caught.value).startswith("help-center.toml:")
    assert words in str(caught.value)


@pytest.mark.parametrize("target", ["nothing.toml", "help-center.toml"])
def test_a_link_that_leads_nowhere_is_not_taken_for_no_settings(tmp_path: Path, target: str):
    write(tmp_path, {"a.md": "# A\n\nText"}, toml=None)
    (tmp_path / "help-center.toml").symlink_to(target)
    with pytest.raises(CorpusError, match="the link leads nowhere"):
        read_corpus(tmp_path)


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path):
    (tmp_path / "outside.toml").write_text("name = 'secret'")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "help-center.toml").symlink_to(tmp_path / "outside.toml")
    with pytest.raises(CorpusError, match="out of the corpus"):
        read_help_centre(corpus)
