"""Front matter keys, through the whole reading of a folder: what is served, what is withheld, and to whom."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import TOML, article, front, ids, read_one, withheld, write

from refdesk.corpus.sync import read_corpus


def test_every_key(tmp_path: Path):
    text = front(
        id="a1", title='"A: title"', category="Cat", audience="[staff, partner]", visibility="title", language="ru-RU",
        updated="2026-02-03", owner="Ann", priority="2.5", synonyms="[one, two words]", redirect_from="[old-a]",
        translation_of="other",
    )  # fmt: skip
    found = article(read_one(tmp_path, text + "Body"), "a1")
    assert (found.title, found.category, found.audience) == ("A: title", "Cat", ("partner", "staff"))
    assert (found.visibility, found.url, found.language) == ("title", None, "ru")
    assert (found.updated, found.owner, found.priority) == ("2026-02-03", "Ann", 2.5)
    assert (found.synonyms, found.redirect_from, found.translation_of) == (("one", "two words"), ("old-a",), "other")


def test_what_is_absent_comes_from_the_file(tmp_path: Path):
    reading = read_one(tmp_path, "Intro\n\n## First *heading* with `code`\n\nText", "Billing/Refund rules.md")
    found = article(reading, "billing-refund-rules")
    assert found.title == "First heading with code"
    assert (found.category, found.url, found.language) == ("Billing", "/articles/billing-refund-rules", "en")
    assert found.audience == ("public",)
    assert len(found.updated) == 10
    assert found.path == "Billing/Refund rules.md"


def test_a_file_without_heading_is_named_after_the_file(tmp_path: Path):
    assert article(read_one(tmp_path, "Text", "set_up-sso.md"), "set-up-sso").title == "set up sso"


def test_title_no_is_the_title_no(tmp_path: Path):
    assert article(read_one(tmp_path, front(id="a", title="no") + "x"), "a").title == "no"


@pytest.mark.parametrize("audience", ["[public]", "[public, staff]", '["public"]', "\n  - public"])
def test_documented_spellings_of_public(tmp_path: Path, audience: str):
    found = article(read_one(tmp_path, front(id="a", audience=audience) + "x"), "a")
    assert found.readable_by(frozenset({"public"}))


@pytest.mark.parametrize(
    "audience",
    [
        "Staff", "staf", "[staff", "internal", "", "null", "0", "true", "~", "[]", "public", "staff", "[Public]",
        "[public, staf]", "[[public]]", "{public: true}", '""', '[""]', "[public, ]x", "'public, staff'", "[pub lic]",
        "[рublic]", "!!seq [public]", "&a [public]", "*",
    ],
)  # fmt: skip
def test_any_other_audience_withholds_the_file(tmp_path: Path, audience: str):
    reading = read_one(tmp_path, front(id="a", audience=audience) + "secret")
    assert ids(reading) == ["other"]
    assert withheld(reading)["one.md"][1] in (2, 3, 4)


@pytest.mark.parametrize(
    "key",
    [
        "role", "roles", "Audience", "audiance", "аudience", "access", "visible_to", "permissions", "draft", "private",
        "statuss", "<<", "ａｕｄｉｅｎｃｅ", "аudіеnсе", "login_required", "members-only", "state",
        "expiryDate", "publishDate",
    ],
)  # fmt: skip
def test_a_key_that_looks_like_an_access_rule_withholds_the_file(tmp_path: Path, key: str):
    reading = read_one(tmp_path, front(**{"id": "a", key: "[staff]"}) + "secret")
    assert ids(reading) == ["other"]
    assert "access rule" in withheld(reading)["one.md"][0]


def test_other_unknown_keys_are_served_and_reported(tmp_path: Path):
    reading = read_one(tmp_path, front(id="a", tags="[x]", seo="{a: b}") + "x")
    assert "a" in ids(reading)
    assert {(n.path, n.line) for n in reading.report.warnings} == {("one.md", 3), ("one.md", 4)}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("id", "Has Capitals"), ("id", "a" * 65), ("id", "../x"), ("id", "[a]"), ("status", "publishd"), ("status", ""),
        ("visibility", "hidden"), ("language", "english language"), ("updated", "yesterday"), ("updated", "2026-02-30"),
        ("priority", "high"), ("priority", "nan"), ("redirect_from", "[Old Id]"), ("translation_of", "No Id"),
        ("title", "[a, b]"), ("url", "javascript:alert(1)"), ("url", "data:text/html,x"), ("url", "//evil.test/x"),
        ("url", "http://u:p@h/"), ("url", "https:///x"), ("url", "/\\evil.test"), ("url", "ftp://h/x"), ("url", "x"),
        ("url", '"https://h/\\nx"'), ("url", "https://h:port/"),
    ],
)  # fmt: skip
def test_a_wrong_value_withholds_the_file_with_its_line(tmp_path: Path, key: str, value: str):
    reading = read_one(tmp_path, front(owner="x", **{key: value}) + "x")
    assert ids(reading) == ["other"]
    assert withheld(reading)["one.md"][1] == 3
    assert key in withheld(reading)["one.md"][0]


@pytest.mark.parametrize(
    ("url", "served"),
    [
        ("/refunds", "/refunds"),
        ("https://help.example/a_(b)/c d?x=[1]", "https://help.example/a_%28b%29/c%20d?x=%5B1%5D"),
        ("https://help.example/a%20b", "https://help.example/a%20b"),
        ("https://help.example/100%", "https://help.example/100%25"),
        ("https://příklad.test/č", "https://xn--pklad-zsa96e.test/%C4%8D"),
    ],
)
def test_an_address_is_encoded_once(tmp_path: Path, url: str, served: str):
    assert article(read_one(tmp_path, front(id="a", url=f'"{url}"') + "x"), "a").url == served


@pytest.mark.parametrize("status", ["draft", "archived"])
def test_unpublished_files_exist_for_nobody(tmp_path: Path, status: str):
    reading = read_one(tmp_path, front(id="a", status=status) + "x")
    assert ids(reading) == ["other"]
    assert reading.report.unpublished == 1
    assert withheld(reading) == {}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (front(id="same", audience="[staff]"), front(id="same")),
        (front(id="same"), front(id="b", redirect_from="[same]")),
        (front(id="a", redirect_from="[old]"), front(id="b", redirect_from="[old]")),
        (front(id="same", audience="[staf]"), front(id="same")),
    ],
)
@pytest.mark.parametrize("names", [("1.md", "2.md"), ("2.md", "1.md")])
def test_a_contested_id_is_nobodys_in_either_order(tmp_path: Path, first: str, second: str, names: tuple[str, str]):
    write(tmp_path, {names[0]: first + "x", names[1]: second + "y", "other.md": "z"})
    reading = read_corpus(tmp_path)
    assert ids(reading) == ["other"]
    assert set(withheld(reading)) == {"1.md", "2.md"}


def test_a_draft_does_not_contest_an_id(tmp_path: Path):
    write(tmp_path, {"1.md": front(id="a") + "x", "2.md": front(id="a", status="draft") + "y"})
    assert ids(read_corpus(tmp_path)) == ["a"]


def test_ids_from_names_in_other_scripts_are_sane_and_distinct(tmp_path: Path):
    names = ["Возврат.md", "Оплата.md", "返金.md", "Postup vydání.md", "a" * 100 + ".md", "c++.md", "c.md", "!!!.md"]
    reading = read_corpus(write(tmp_path, dict.fromkeys(names, "Text")))
    assert len(reading.articles) == len(names)
    assert "postup-vydani" in ids(reading)
    assert all(len(name) <= 64 and name.strip("abcdefghijklmnopqrstuvwxyz0123456789-") == "" for name in ids(reading))


def test_staff_is_built_in_and_other_roles_are_declared(tmp_path: Path):
    files = {"s.md": front(audience="[staff]") + "x", "p.md": front(audience="[partner]") + "x", "o.md": "x"}
    reading = read_corpus(write(tmp_path, files, toml=None))
    assert ids(reading) == ["o", "s"]
    assert ids(read_corpus(write(tmp_path, files, toml=TOML))) == ["o", "p", "s"]


def test_languages_are_recognised_without_the_file(tmp_path: Path):
    reading = read_corpus(
        write(
            tmp_path,
            {
                "a.md": "Deník najdete v nastavení, kde ho můžete také vypnout a zapnout.",
                "b.md": "Vrátíme vám peníze do třiceti dnů, pokud o to požádáte.",
                "c.md": "Возврат возможен в течение тридцати дней после покупки.",
            },
            toml=None,
        )
    )
    assert reading.centre.name == tmp_path.name
    assert reading.centre.languages == ("cs", "ru")
    assert article(reading, "c").language == "ru"
