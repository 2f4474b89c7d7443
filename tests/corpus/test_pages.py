"""What readers are shown of articles: made once, remembered, and each reader's own."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import msgspec
import pytest

from refdesk.corpus import pages as pages_module
from refdesk.corpus.pages import ArticlePages, Edition
from refdesk.corpus.render import MOST_MARKS
from refdesk.domain.articles import ANONYMOUS, Article

STAFF = frozenset({"public", "staff"})


def article(name: str, body: str, *audience: str, version: str = "1") -> Article:
    readers = audience or ("public",)
    return Article(name, name.title(), body, "en", readers, version, url=f"/articles/{name}", path=f"{name}.md")


GUIDE = article("guide", "See [more](more.md#part), [inside](inside.md) and ![it](plan.png).\n")
MORE = article("more", "![it](img/a.png)\n")
INSIDE = article("inside", "![it](plan.png) ![secret](secret.png)\n", "staff")
FIRST = Edition("1", (GUIDE, MORE, INSIDE))


@pytest.fixture
def pages(tmp_path: Path):
    for name in ("plan.png", "secret.png", "img/a.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    made = ArticlePages(tmp_path)
    yield made
    made.close()


async def test_each_reader_gets_the_links_that_are_for_them(pages: ArticlePages) -> None:
    public, staff = await pages.html(FIRST, GUIDE, ANONYMOUS), await pages.html(FIRST, GUIDE, STAFF)
    assert public == await pages.html(FIRST, GUIDE, ANONYMOUS)
    assert 'href="/articles/more#part"' in public
    assert 'src="/media/plan.png"' in public
    assert "/articles/inside" not in public
    assert 'href="/articles/inside"' in staff


@pytest.mark.parametrize("written", ["more.md#úvod", "more.md#%C3%BAvod", "more.md#&uacute;vod"])
async def test_a_link_leads_to_a_heading_in_any_language(pages: ArticlePages, written: str) -> None:
    guide = article("guide", f"[there]({written}) [here](#úvod)\n")
    html = await pages.html(Edition("1", (guide, MORE)), guide, ANONYMOUS)
    assert 'href="/articles/more#%C3%BAvod"' in html
    assert 'href="#%C3%BAvod"' in html


async def test_a_changed_article_is_shown_as_it_is_now(pages: ArticlePages) -> None:
    await pages.html(FIRST, GUIDE, ANONYMOUS)
    changed = article("guide", "New words.\n", version="2")
    for edition in (FIRST, Edition("2", (changed,))):  # a sync may come between finding an article and showing it
        assert await pages.html(edition, changed, ANONYMOUS) == "<p>New words.</p>\n"
    open_now = msgspec.structs.replace(INSIDE, audience=("public",))
    assert "/articles/inside" in await pages.html(Edition("3", (GUIDE, MORE, open_now)), GUIDE, ANONYMOUS)


async def test_who_asks_at_once_gets_one_page_and_who_leaves_stops_nothing(
    pages: ArticlePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(found: Article, *more: object, **options: object) -> str:
        made.append(found.id)
        return "page"

    monkeypatch.setattr(pages_module, "article_html", counted)
    asking = [asyncio.create_task(pages.html(FIRST, GUIDE, ANONYMOUS)) for _ in range(20)]
    await asyncio.sleep(0)
    asking[0].cancel()
    done = await asyncio.gather(*asking, return_exceptions=True)
    assert done[1:] == ["page"] * 19
    assert made == ["guide"]


async def test_an_error_is_for_those_who_wait_and_not_remembered(
    pages: ArticlePages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*given: object, **options: object) -> str:
        raise ValueError("no page")

    with monkeypatch.context() as patched:
        patched.setattr(pages_module, "article_html", broken)
        with pytest.raises(ValueError, match="no page"):
            await pages.html(FIRST, GUIDE, ANONYMOUS)
    assert "See" in await pages.html(FIRST, GUIDE, ANONYMOUS)


@pytest.mark.parametrize("words", ["Words", "Слова", "言葉", "😀"])
async def test_what_is_remembered_is_bounded(words: str, pages: ArticlePages, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages_module, "KEPT", 1_000)
    many = [article(f"a{number}", f"{words} {number}.\n") for number in range(30)]
    for found in many * 2:
        page = await pages.html(Edition("1", many), found, ANONYMOUS)
        assert page == f"<p>{found.body.strip()}</p>\n"
    assert 500 < sum(map(sys.getsizeof, pages._made.values())) <= 1_000


async def test_a_picture_is_for_the_readers_of_an_article_that_shows_it(pages: ArticlePages) -> None:
    async def content(path: str, roles: frozenset[str], edition: Edition = FIRST) -> bytes | None:
        found = await pages.image(edition, path, roles)
        return None if found is None else found.data

    assert await content("plan.png", ANONYMOUS) == b"plan.png"
    assert await content("img/a.png", ANONYMOUS) == b"img/a.png"
    assert await content("secret.png", ANONYMOUS) is None
    assert await content("secret.png", STAFF) == b"secret.png"
    for nothing in ("guide.md", "../secret.png", "img/../secret.png", "", "none.png"):
        assert await content(nothing, STAFF) is None
    assert await content("plan.png", ANONYMOUS, Edition("2", (MORE, INSIDE))) is None


async def test_an_article_of_nothing_but_marks_is_plain_text(pages: ArticlePages) -> None:
    body = "<b>*bold* & so on</b>\n" + "|" * MOST_MARKS
    shown = await pages.html(FIRST, article("hostile", body), ANONYMOUS)
    assert shown.startswith("<pre>&lt;b&gt;*bold* &amp; so on")
    assert shown.count("<") == 2
