"""Whose request it is, where proxies stand in front of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import httpx2
import pytest
from refdesk_server import RefdeskServer

from refdesk.api.limits import client_key
from refdesk.api.proxies import client_behind
from refdesk.setting_limits import parse_networks

TRUSTED = parse_networks("", "127.0.0.0/8, 10.0.0.0/8, 2001:db8:1::/48")


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.1", "198.51.100.1", "192.0.2.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "203.0.113.9, 198.51.100.1, 10.1.2.3", "198.51.100.1"),
        ("127.0.0.1", "10.1.2.3,10.1.2.4", "10.1.2.3"),
        ("::ffff:127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("2001:db8:1::5", "2001:db8:2::7", "2001:db8:2::7"),
        ("127.0.0.1", "198.51.100.1:4711", "198.51.100.1"),
        ("127.0.0.1", "[2001:db8:2::7]:4711", "2001:db8:2::7"),
        ("127.0.0.1", "[2001:db8:2::7]", "2001:db8:2::7"),
        ("127.0.0.1", "198.51.100.1, unknown", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1, 10.0.0.7, <script>", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1, , 10.0.0.7", "10.0.0.7"),
        ("127.0.0.1", "198.51.100.1,", "127.0.0.1"),
        ("127.0.0.1", "999.1.1.1", "127.0.0.1"),
        ("127.0.0.1", "[", "127.0.0.1"),
        ("/run/socket", "198.51.100.1", "/run/socket"),
    ],
)
def test_the_client_is_the_nearest_address_that_is_no_trusted_proxy(peer: str, forwarded: str, client: str) -> None:
    assert client_behind(peer, forwarded, TRUSTED) == client


def test_without_trusted_proxies_the_peer_is_the_client() -> None:
    assert client_behind("127.0.0.1", "198.51.100.1", ()) == "127.0.0.1"


def test_a_zone_is_no_part_of_a_network_of_64_bits() -> None:
    assert client_key("fe80::1%eth0") == client_key("fe80::2")


def sessions(client: httpx2.Client, forwarded: list[str]) -> list[int]:
    """The statuses of as many requests for a session."""
    return [client.post("/v1/session", json={}, headers={"x-forwarded-for": said}).status_code for said in forwarded]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., RefdeskServer]]:
    made: dict[str, RefdeskServer] = {}

    def make(trusted: str) -> RefdeskServer:
        if trusted not in made:
            settings = {"REFDESK_RATE_LIMITS": "on", "REFDESK_SESSIONS_PER_ADDRESS": "5"}
            folder = tmp_path_factory.mktemp("limited")
            made[trusted] = RefdeskServer(folder, REFDESK_TRUSTED_PROXIES=trusted, **settings).start()
        return made[trusted]

    yield make
    for server in made.values():
        server.kill()


def test_whoever_invents_addresses_is_one_client(limited: Callable[..., RefdeskServer]) -> None:
    with limited("").client() as client:
        statuses = sessions(client, [f"198.51.100.{number}" for number in range(20)])
    assert statuses == [201] * 5 + [429] * 15


def test_behind_a_trusted_proxy_the_right_most_hop_counts(limited: Callable[..., RefdeskServer]) -> None:
    with limited("127.0.0.1").client() as client:
        spoofed = sessions(client, [f"203.0.113.{number}, 198.51.100.1" for number in range(10)])
        others = sessions(client, [f"198.51.100.1, 198.51.100.{number}" for number in range(2, 12)])
        network = sessions(client, [f"2001:db8:5:6::{number}" for number in range(10)])
        mapped = sessions(client, ["::ffff:198.51.100.50", "198.51.100.50"] * 5)
    assert spoofed == [201] * 5 + [429] * 5
    assert others == [201] * 10
    assert network == [201] * 5 + [429] * 5
    assert mapped == [201] * 5 + [429] * 5


def test_several_headers_are_one_list(limited: Callable[..., RefdeskServer]) -> None:
    with limited("127.0.0.1").client() as client:
        statuses = []
        for number in range(10):
            headers = [("x-forwarded-for", f"203.0.113.{number}"), ("x-forwarded-for", "198.51.100.99")]
            statuses.append(client.post("/v1/session", json={}, headers=headers).status_code)
    assert statuses == [201] * 5 + [429] * 5
