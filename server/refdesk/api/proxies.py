"""Whose request it is, where proxies stand in front: only what configured proxies say counts.

Whatever a client writes into X-Forwarded-For itself stands left of what the first trusted proxy has added, and is never
reached. X-Forwarded-Proto and -Host are not looked at: nothing depends on them, since the console's cookies are Secure
in any case and an own page is known by its Host and Origin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from litestar.types import HTTPScope

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

WITH_PORT = re.compile(r"\[([^\]]*)\](?::[0-9]{1,5})?|([0-9.]+):[0-9]{1,5}")


def set_client(scope: HTTPScope, trusted: Sequence[Network]) -> None:
    """Makes the request's client the one whom the trusted proxies name."""
    client = scope["client"]
    if client is not None:
        values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
        scope["client"] = (client_behind(client[0], ",".join(values), trusted), client[1])


def client_behind(peer: str, forwarded: str, trusted: Sequence[Network]) -> str:
    """The first address, from the peer on backwards, that is no trusted proxy. What is no address ends the search: the
    proxy that let it in answers for it."""
    known = address_in(peer)
    if known is None:
        return peer
    for hop in reversed(forwarded.split(",")):
        if not within(known, trusted):
            break
        named = address_in(hop.strip())
        if named is None:
            break
        known = named
    return str(known)


def address_in(text: str) -> Address | None:
    """With or without a port; an IPv4 address that is mapped into IPv6 is that IPv4 address."""
    port = WITH_PORT.fullmatch(text)
    try:
        address = ip_address((port[1] or port[2] or "") if port else text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address


def within(address: Address, networks: Iterable[Network]) -> bool:
    return any(address in network for network in networks)
