"""The self-check: what it says where all is well, and that each of its verdicts can be the other one."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from help_stub import STRICT, TAG, HelpStub
from playwright.sync_api import Page, Route, expect
from refdesk_server import RefdeskServer

WELL = {"storage", "framing", "script", "duplicate", "csp", "buffering", "clock", "origin"}
READ = "(list) => Object.fromEntries([...list.children].map((each) => [each.dataset.check, each.dataset.good]))"


def on_the_page_itself(page: Page, server: RefdeskServer) -> dict[str, dict[str, Any]]:
    """The line of /demo/check, as an owner pastes it into the console of their page."""
    line = f'import("{server.url}/widget/check.js").then((check) => check.report())'
    return {each["name"]: each for each in page.evaluate(line)}


def bad(verdicts: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, verdict in verdicts.items() if verdict["good"] is False}


def embedding(server: RefdeskServer) -> str:
    return TAG.replace("{src}", server.url)


# --- on /demo/check ---


def test_a_verdict_for_each_from_what_the_owner_says(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    page.goto(f"{server.url}/demo/check")
    page.locator("#verdicts[data-done]").wait_for()
    page.get_by_label("Address of your page").fill(f"{host.url}/some/page")
    page.get_by_label("Content-Security-Policy").fill(f"default-src 'self'; script-src {server.url}; connect-src *")
    page.get_by_role("button", name="Check").click()
    page.locator("#verdicts[data-done]").wait_for()
    assert page.locator("#verdicts").evaluate(READ) == {**dict.fromkeys(WELL, "true"), "csp": "false"}
    expect(page.locator("[data-check=csp]")).to_contain_text(f"Add: img-src {server.url}")
    page.get_by_label("Address of your page").fill("https://foreign.example")
    page.get_by_role("button", name="Check").click()
    expect(page.locator("[data-check=origin]")).to_contain_text("add it to REFDESK_ALLOWED_ORIGINS")


@pytest.mark.parametrize(
    ("policy", "missing"),
    [
        ("script-src 'self' {url}; connect-src {url}; img-src {url}", []),
        ("Content-Security-Policy: default-src {url}", []),
        ("default-src 'none'; script-src http:; connect-src *; img-src http:", []),
        ("style-src 'none'", []),
        ("script-src https://127.0.0.1:{port}", ["script-src"]),
        ("script-src *.0.0.1:{port}; connect-src *.example.com", ["connect-src"]),
        ("default-src 'self'", ["script-src", "connect-src", "img-src"]),
    ],
)
def test_policies_are_read_as_browsers_read_them(
    page: Page, server: RefdeskServer, policy: str, missing: list[str]
) -> None:
    page.goto(f"{server.url}/demo/check")
    page.locator("#verdicts[data-done]").wait_for()
    page.get_by_label("Content-Security-Policy").fill(policy.format(url=server.url, port=server.port))
    page.get_by_role("button", name="Check").click()
    add = "Add: " + "; ".join(f"{name} {server.url}" for name in missing) if missing else "lets the widget in"
    expect(page.locator("[data-check=csp]")).to_contain_text(add)


def test_a_proxy_that_collects_the_stream_and_a_wrong_clock_are_seen(page: Page, server: RefdeskServer) -> None:
    beat = f"data: {json.dumps({'now': time.time() - 900, 'allowed': None})}\n\n"

    def at_once(route: Route) -> None:
        route.fulfill(body=beat * 5, content_type="text/event-stream")

    page.route("**/v1/widget/check*", at_once)
    page.goto(f"{server.url}/demo/check")
    page.locator("#verdicts[data-done]").wait_for()
    expect(page.locator("[data-check=buffering]")).to_contain_text("switch off buffering")
    expect(page.locator("[data-check=clock]")).to_contain_text("900 s away")


def test_the_page_gives_the_line_for_the_owners_console(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    page.goto(f"{server.url}/demo/check")
    line = page.locator("#line").inner_text()
    page.goto(host.page(path="/line", head=embedding(server)))
    page.locator(".launcher").wait_for()
    assert {each["name"] for each in page.evaluate(line)} == WELL


# --- on the owner's own page ---


def test_where_all_is_well(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    host.page(path="/well", head=embedding(server))
    strict = {"Content-Security-Policy": STRICT.replace("{host}", server.url)}
    host.pages["/well"] = (host.pages["/well"][0], strict)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{host.url}/well")
    page.locator(".launcher").wait_for()
    verdicts = on_the_page_itself(page, server)
    assert {name: verdict["good"] for name, verdict in verdicts.items()} == dict.fromkeys(WELL, True)
    assert [line for line in said if line.startswith("Good: ")] == [
        f"Good: {each['text']}" for each in verdicts.values()
    ]


def test_a_policy_that_lets_the_script_in_and_nothing_else(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    host.page(path="/half", head=embedding(server))
    policy = {"Content-Security-Policy": f"default-src 'none'; script-src {server.url}"}
    host.pages["/half"] = (host.pages["/half"][0], policy)
    page.goto(f"{host.url}/half")
    page.locator(".launcher").wait_for()
    verdicts = on_the_page_itself(page, server)
    assert bad(verdicts) == {"csp"}
    assert f"connect-src {server.url}" in verdicts["csp"]["text"]
    assert f"img-src {server.url}" in verdicts["csp"]["text"]
    assert verdicts["origin"]["good"] is None
    page.evaluate("violations.length = 0")


def test_an_origin_that_is_not_allowed(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    address = host.page(path="/not-allowed", head=embedding(server)).replace("127.0.0.1", "localhost")
    page.goto(address)
    page.locator(".launcher").wait_for()
    verdicts = on_the_page_itself(page, server)
    assert bad(verdicts) == {"origin"}
    assert "add it to REFDESK_ALLOWED_ORIGINS" in verdicts["origin"]["text"]


def test_no_tag_two_tags_and_blocked_storage(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    page.goto(host.page(path="/none", head=""))
    assert bad(on_the_page_itself(page, server)) == {"script"}
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError') }})"
    )
    page.goto(host.page(path="/two", head=embedding(server) * 2))
    page.locator(".launcher").wait_for()
    assert bad(on_the_page_itself(page, server)) == {"duplicate", "storage"}


def test_a_page_in_a_frame(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    host.page(path="/framed", head=embedding(server))
    page.goto(host.page('<iframe src="/framed" title="Shop"></iframe>', path="/outer", head=""))
    frame = page.frame(url="**/framed")
    assert frame
    frame.locator(".launcher").wait_for()
    line = f'import("{server.url}/widget/check.js").then((check) => check.report())'
    assert [each["name"] for each in frame.evaluate(line) if each["good"] is False] == ["framing"]
