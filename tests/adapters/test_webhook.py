"""Where the webhook connects to, and how it signs."""

from __future__ import annotations

import hashlib
import hmac
import socket
from typing import Any

import pytest

from refdesk.adapters.webhook import Webhook, public_address, signature


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> None:
    def found(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", found)


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "169.254.169.254", "192.168.0.9", "100.64.0.1", "::1", "::ffff:10.1.2.3",
     "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:c0a8:1::1", "::127.0.0.1",
     "224.0.0.1", "ff02::1", "fe80::1%2"],
)  # fmt: skip
async def test_a_name_must_not_lead_into_a_private_network(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolving(monkeypatch, "93.184.216.34", address)
    with pytest.raises(ValueError, match="private network"):
        await public_address("https://hooks.example.com/x")
    assert not await Webhook("https://hooks.example.com/x", "s").deliver("e_1", b"{}", at=1)


@pytest.mark.parametrize("name", ["2130706433", "0x7f000001", "127.1"])
async def test_a_number_that_is_an_address_to_the_system_is_no_way_in(name: str) -> None:
    with pytest.raises((ValueError, OSError)):
        await public_address(f"http://{name}/x")


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1::1", "64:ff9b::5db8:d822", "2002:5db8:d822::1"])
async def test_a_public_name_is_connected_to_where_it_was_found(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    resolving(monkeypatch, address)
    assert await public_address("https://hooks.example.com/x") == address


@pytest.mark.parametrize("address", ["10.1.2.3", "127.0.0.1", "::1"])
async def test_an_address_that_was_written_down_is_meant(address: str) -> None:
    host = f"[{address}]" if ":" in address else address
    assert await public_address(f"http://{host}:8080/x") == address


async def test_nobody_there_is_no_error() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    assert not await Webhook(f"http://127.0.0.1:{port}/x", "s").deliver("e_1", b"{}", at=1)


def test_the_signature_covers_time_and_body() -> None:
    wanted = hmac.new(b"secret", b"1700000000.{}", hashlib.sha256).hexdigest()
    assert signature("secret", 1_700_000_000, b"{}") == f"t=1700000000,v1={wanted}"
