"""The console's pages: who sees which, signing in with a form, and what no other site may do."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import httpx2
import pytest
from page_matrix import PAGES
from people import COOKIE, PASSWORD, cookie_of, new_account, session_of, with_cookie
from refdesk_server import SHOP, RefdeskServer

from refdesk.console_pages.routes import ROUTER
from refdesk.console_pages.texts import TEXTS

CALLERS = ("none", "agent", "admin")
FORM = "application/x-www-form-urlencoded"


def page_routes() -> list[str]:
    found = {f"{method} {route.path}" for route in ROUTER.routes for method in route.methods}  # type: ignore[attr-defined]
    return sorted(re.sub(r":\w+\}", "}", route) for route in found if not route.startswith(("HEAD", "OPTIONS")))


def ask_for(client: httpx2.Client, route: str) -> httpx2.Response:
    method, path = route.split(" ")
    address = re.sub(r"\{\w+\}", "none", path)
    return client.request(method, address, data={} if method == "POST" else None, headers={"content-type": FORM})


def test_every_page_has_a_row() -> None:
    assert sorted(PAGES) == page_routes()


@pytest.fixture(scope="module")
def cookies(server: RefdeskServer) -> dict[str, str]:
    return {"none": "", **{role: session_of(server, new_account(server, role)) for role in ("agent", "admin")}}


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("route", PAGES)
def test_page(server: RefdeskServer, cookies: dict[str, str], route: str, caller: str) -> None:
    ends = route.endswith("sign-out") and caller != "none"
    cookie = session_of(server, new_account(server, caller)) if ends else cookies[caller]
    with with_cookie(server, cookie) as client:
        answer = ask_for(client, route)
    assert answer.status_code == PAGES[route][CALLERS.index(caller)], answer.text
    if PAGES[route][0] == 303 and caller == "none" and route.startswith("GET"):
        assert answer.headers["location"].startswith("/console/sign-in?next=%2Fconsole")


@pytest.mark.parametrize("route", [route for route in PAGES if route.startswith("POST")])
def test_no_other_page_can_send_a_form(server: RefdeskServer, cookies: dict[str, str], route: str) -> None:
    cookie = cookies["admin"]
    for headers in ({"origin": SHOP}, {"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}):
        with with_cookie(server, cookie, **headers) as client:
            assert ask_for(client, route).status_code == 403
    with with_cookie(server, cookie) as client:
        assert client.get("/v1/console/me").status_code == 200, "it is still signed in"


@pytest.mark.parametrize(
    "path", ["/console", "/console/sign-in", "/console/conversations", "/console/conversations?status=x"]
)
def test_a_page_allows_no_script_or_style_but_files_of_its_own(
    server: RefdeskServer, cookies: dict[str, str], path: str
) -> None:
    with with_cookie(server, cookies["admin"]) as client:
        answer = client.get(path, follow_redirects=True)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
    assert answer.headers["cache-control"] == "no-store"
    found = Outside()
    found.feed(answer.text)
    assert found.wrong == []


@pytest.mark.parametrize("path", ["/console", "/console/conversations", "/console/gaps", "/console/sign-in"])
def test_the_script_of_a_page_is_small(server: RefdeskServer, cookies: dict[str, str], path: str) -> None:
    with with_cookie(server, cookies["admin"], **{"accept-encoding": "gzip"}) as client:
        scripts = re.findall(r'<script src="([^"]+)"', client.get(path).text)
        with client.stream("GET", scripts[0] if scripts else "/console/static/htmx.min.js") as answer:
            sent = sum(len(piece) for piece in answer.iter_raw())
    with server.client(**{"accept-encoding": "identity"}) as plain:
        assert "content-encoding" not in plain.get("/console/static/htmx.min.js").headers
    assert len(scripts) <= 1
    assert 10_000 < sent < 30_000


class Outside(HTMLParser):
    """Collects what a page would run or fetch besides the server's own files."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            own = (value or "").startswith(("/console/", "/v1/console/", "#", "/console", "/static/")) and not (
                value or ""
            ).startswith("//")
            fetched = name in ("src", "srcset", "poster", "background", "data") or (name == "href" and tag == "link")
            if name == "style" or name.startswith("on") or (fetched and not own):
                self.wrong.append(f"{tag} {name}={value}")
        if tag in ("style", "iframe", "object", "embed", "img", "base") or (
            tag == "script" and not dict(attrs).get("src")
        ):
            self.wrong.append(tag)


# --- signing in ------------------------------------------------------------------------------


def test_signing_in_with_a_form_leads_to_what_was_asked_for(server: RefdeskServer) -> None:
    name = new_account(server)
    wanted = "/console/conversations?status=answered"
    with server.client(origin=server.url) as client:
        form = {"name": name, "password": PASSWORD, "next": wanted}
        answer = client.post("/console/sign-in", data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, wanted)
        flags = answer.headers["set-cookie"].lower()
        assert flags.startswith(COOKIE.lower())
        assert all(f in flags for f in ("httponly", "secure", "samesite=strict", "path=/"))
    with with_cookie(server, cookie_of(answer)) as client:
        assert name in client.get(wanted).text
        left = client.post("/console/sign-out", data={})
        assert (left.status_code, left.headers["location"]) == (303, "/console/sign-in")
        assert client.get(wanted).status_code == 303, "the session is closed"


@pytest.mark.parametrize(
    "next_page",
    [
        "https://evil.example",
        "//evil.example",
        "/console\\@evil",
        "/console/\r\nx: y",
        "javascript:1",
        "/v1/x",
        "/console/../v1/x",
        "/console/gaps/..",
        "/console/%2e%2e/v1/x",
        "/console/%2E./v1/x",
    ],
)
def test_signing_in_leads_to_no_other_site(server: RefdeskServer, next_page: str) -> None:
    form = {"name": new_account(server), "password": PASSWORD, "next": next_page}
    with server.client() as client:
        assert client.post("/console/sign-in", data=form).headers["location"] == "/console"


def test_a_dot_in_a_query_is_no_way_out(server: RefdeskServer) -> None:
    wanted = "/console/conversations?q=.."
    form = {"name": new_account(server), "password": PASSWORD, "next": wanted}
    with server.client() as client:
        assert client.post("/console/sign-in", data=form).headers["location"] == wanted


@pytest.mark.parametrize(
    ("host", "headers", "told"),
    [
        ("127.0.0.1", {}, False),
        ("localhost", {}, False),
        ("[::1]", {}, False),
        ("192.0.2.7", {}, True),
        ("192.0.2.7", {"sec-fetch-site": "none"}, False),
    ],
)
def test_where_http_drops_the_session_the_page_says_so(
    server: RefdeskServer, host: str, headers: dict[str, str], told: bool
) -> None:
    """A browser sends `Sec-Fetch-Site` over https only: there a proxy has taken the https off."""
    with server.client(host=f"{host}:{server.port}", **headers) as client:
        pages = [client.get("/console/sign-in"), client.post("/console/sign-in", data={"name": "x", "password": "y"})]
    assert [answer.status_code for answer in pages] == [200, 401]
    assert [TEXTS["unsafe"][0] in answer.text for answer in pages] == [told, told]


def test_a_wrong_password_is_told_in_the_page_and_the_name_stays_typed(server: RefdeskServer) -> None:
    with server.client(**{"accept-language": "cs,en;q=0.5"}) as client:
        answer = client.post("/console/sign-in", data={"name": '"><b>x', "password": "no"})
    assert answer.status_code == 401
    assert TEXTS["login_failed"][2] in answer.text
    assert "<b>x" not in answer.text
    assert "&gt;&lt;b&gt;x" in answer.text
    assert "set-cookie" not in answer.headers


def test_too_many_wrong_passwords_say_when_to_try_again(server: RefdeskServer) -> None:
    name = new_account(server)
    with server.client() as client:
        answers = [client.post("/console/sign-in", data={"name": name, "password": "no"}) for _ in range(6)]
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) > 0


def test_a_link_from_another_site_asks_once_more_from_here(server: RefdeskServer) -> None:
    """The browser holds the strict cookie back on such a link, also from whoever is signed in."""
    with server.client(**{"sec-fetch-site": "cross-site"}) as client:
        answer = client.get("/console/conversations?q=a%22b")
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0">' in answer.text
    assert 'href="/console/conversations?q=a%22b"' in answer.text


def test_a_piece_of_a_page_gets_nothing_instead_of_a_sign_in_page(server: RefdeskServer) -> None:
    with server.client(**{"hx-request": "true"}) as client:
        answer = client.get("/console/conversations/news")
    assert (answer.status_code, answer.content) == (204, b"")


def test_only_the_pages_take_forms(server: RefdeskServer) -> None:
    with server.client() as client:
        assert client.post("/v1/console/login", data={"name": "a", "password": "b"}).status_code == 415
        files = {"name": ("x", b"y")}
        assert client.post("/console/sign-in", files=files).status_code == 415


# --- texts -----------------------------------------------------------------------------------


def test_the_language_is_the_browsers_until_one_is_chosen(server: RefdeskServer) -> None:
    for wanted, place in (("ru-RU,ru;q=0.9", 1), ("de,cs;q=0.8", 2), ("de", 0), ("", 0)):
        with server.client(**{"accept-language": wanted}) as client:
            page = client.get("/console/sign-in").text
        assert f'<html lang="{("en", "ru", "cs")[place]}">' in page
        assert f"<h1>{TEXTS['sign_in'][place]}</h1>" in page
    with server.client(**{"accept-language": "cs"}) as client:
        answer = client.post("/console/language", data={"language": "ru", "next": "/console/sign-in?next=%2Fconsole"})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console/sign-in?next=%2Fconsole")
        cookie = answer.headers["set-cookie"].partition(";")[0]
        assert TEXTS["sign_in"][1] in client.get("/console/sign-in", headers={"cookie": cookie}).text
