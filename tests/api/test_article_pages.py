"""Articles and pictures as readers get them from a real server."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterator

import pytest
from help_centre import article
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer

HOSTILE = "|a|b|\n|-|-|\n" + "|\n" * 49_000
"""Takes seconds to be made into HTML."""
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefdeskServer]:
    server = RefdeskServer(tmp_path_factory.mktemp("hostile"))
    (server.corpus / "hostile.md").write_text(article("Hostile", HOSTILE), "utf-8")
    yield server.start()
    server.kill()


@pytest.mark.parametrize("path", ["/v1/articles/hostile", "/articles/hostile"])
def test_others_are_served_while_a_hostile_article_is_made_into_html(hostile: RefdeskServer, path: str) -> None:
    with socket.create_connection(("127.0.0.1", hostile.port), timeout=PATIENCE) as slow, hostile.client() as client:
        slow.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        for _ in range(3):  # the first may come before the article was asked for
            assert client.get("/health/live").status_code == 200
            assert client.get("/v1/articles/refunds").status_code == 200
        assert not select.select([slow], [], [], 0)[0], "the article was there first: it held everybody up"
        assert slow.recv(12) == b"HTTP/1.1 200"
        again = client.get(path)
    assert again.status_code == 200
    assert "<table>" in again.text or "\\u003ctable" in again.text


def test_a_picture_is_served_to_the_readers_of_its_article_and_runs_nothing(
    new_server: Callable[..., RefdeskServer],
) -> None:
    server = new_server()
    for name in ("open", "inside"):
        (server.corpus / f"{name}.svg").write_text(SVG, "utf-8")
    (server.corpus / "refunds.md").write_text(article("Refunds", "![how](open.svg)"), "utf-8")
    (server.corpus / "runbook.md").write_text(article("Runbook", "![how](inside.svg)", audience="[staff]"), "utf-8")
    (server.corpus / "alone.svg").write_text(SVG, "utf-8")
    server.start()
    with server.client() as anyone, server.client(STAFF_KEY) as staff:
        assert '<img src="/media/open.svg"' in anyone.get("/articles/refunds").text
        shown = anyone.get("/media/open.svg")
        assert shown.text == SVG
        assert shown.headers["content-type"] == "image/svg+xml"
        assert shown.headers["content-security-policy"].endswith("sandbox")
        assert shown.headers["x-content-type-options"] == "nosniff"
        assert [client.get("/media/inside.svg").status_code for client in (anyone, staff)] == [404, 200]
        assert anyone.get("/media/inside.svg").json()["code"] == anyone.get("/media/none.svg").json()["code"]
        for nothing in ("alone.svg", "refunds.md", "help-center.toml", "../data/refdesk.db", "%2e%2e/data/refdesk.db"):
            assert staff.get(f"/media/{nothing}").status_code == 404
