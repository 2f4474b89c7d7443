"""What a person sees in a browser where a program gets JSON; the words of the plain pages in the reader's language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from refdesk_server import RefdeskServer

from refdesk.api.page_frame import WORDS

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def centre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefdeskServer]:
    """In English, Czech, German and Japanese."""
    server = RefdeskServer(tmp_path_factory.mktemp("people"))
    settings = server.corpus / "help-center.toml"
    text = re.sub(r"^languages = .*\n", "", settings.read_text("utf-8") if settings.exists() else "", flags=re.M)
    settings.write_text(f'languages = ["en", "cs", "de", "ja"]\n{text}', "utf-8")
    yield server.start()
    assert server.stop() == 0


@pytest.mark.parametrize("path", ["/articles/none", "/articles/runbook", "/nowhere", "/articles/a/b", "/demo/none.css"])
def test_a_person_gets_a_page_and_a_program_a_problem(centre: RefdeskServer, path: str) -> None:
    with centre.client(accept=BROWSER) as person, centre.client(accept="*/*") as program:
        page, problem = person.get(path), program.get(path)
    assert (page.status_code, problem.status_code) == (404, 404)
    assert page.headers["content-type"].startswith("text/html")
    assert WORDS["not_found"]["en"] in page.text
    assert 'href="/articles"' in page.text
    assert "code" not in page.text
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.json()["status"] == 404


def test_the_page_of_a_restricted_article_is_that_of_a_missing_one(centre: RefdeskServer) -> None:
    with centre.client(accept=BROWSER) as person:
        assert person.get("/articles/runbook").content == person.get("/articles/none").content


@pytest.mark.parametrize("path", ["/v1/none", "/v1/articles/none", "/health/none", "/static/none", "/media/none.png"])
def test_what_is_for_programs_answers_browsers_like_programs(centre: RefdeskServer, path: str) -> None:
    with centre.client(accept=BROWSER) as person:
        assert person.get(path).headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("wanted", "language"),
    [
        ("", "en"),
        ("cs,en;q=0.5", "cs"),
        ("fr,de-AT;q=0.8", "de"),
        ("ja", "ja"),
        ("fr", "en"),
        ("ru", "en"),
        (",;,", "en"),
    ],
)
def test_pages_are_in_the_readers_language_as_far_as_the_help_centre_has_it(
    centre: RefdeskServer, wanted: str, language: str
) -> None:
    with centre.client(accept=BROWSER, **{"accept-language": wanted}) as person:
        for path, name in (("/", "question"), ("/articles", "articles"), ("/articles/none", "not_found")):
            page = person.get(path)
            assert f'<html lang="{language}"' in page.text
            assert f">{WORDS[name][language]}<" in page.text
            assert "accept-language" in page.headers["vary"].lower()


def test_every_word_is_there_in_every_language() -> None:
    languages = set(WORDS["ask"])
    assert all(set(texts) == languages and all(texts.values()) for texts in WORDS.values())


def test_pages_have_an_icon(centre: RefdeskServer) -> None:
    with centre.client(accept=BROWSER) as person:
        for path in ("/", "/articles", "/console/sign-in"):
            link = re.search(r'<link rel="icon" href="([^"]+)"', person.get(path).text)
            assert link is not None
            for address in (link[1], "/favicon.ico"):
                icon = person.get(address)
                assert (icon.status_code, icon.headers["content-type"]) == (200, "image/svg+xml")


def test_a_database_that_is_down_is_told_as_a_page(
    new_server: Callable[..., RefdeskServer],
) -> None:
    server = new_server(REFDESK_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none").start()
    with server.client(accept=BROWSER, authorization="Bearer " + "x" * 43) as person:
        page = person.get("/articles/none")
    assert page.status_code in (401, 503)
    assert page.headers["content-type"].startswith("text/html")
