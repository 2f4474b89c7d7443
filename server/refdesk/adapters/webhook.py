"""Posts events to the operator's address, signed. Follows no redirect, and no name into a private network.

`Refdesk-Signature: t=SECONDS,v1=HEX`: HMAC-SHA256 under the shared secret of `SECONDS.BODY`. A receiver refuses what is
older than it likes, and knows by `Refdesk-Event` what it has had before.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import socket
from urllib.parse import urlsplit

import httpx2
import structlog

log = structlog.get_logger()

SECONDS = 10.0
NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("::/96"))
"""Networks of IPv6 whose addresses end with the IPv4 address that they lead to (RFC 6052, RFC 4291)."""


def signature(secret: str, at: int, body: bytes) -> str:
    """`at`: seconds since 1970."""
    digest = hmac.new(secret.encode(), b"%d." % at + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


class Webhook:
    def __init__(self, url: str, secret: str) -> None:
        self._url, self._secret = url, secret

    async def deliver(self, event_id: str, body: bytes, *, at: int) -> bool:
        """Whether it was taken (2xx). Raises nothing; what went wrong is logged."""
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Refdesk",
            "Refdesk-Event": event_id,
            "Refdesk-Signature": signature(self._secret, at, body),
        }
        try:
            async with asyncio.timeout(SECONDS):
                address = await public_address(self._url)
                return await self._post(address, headers, body)
        except (OSError, TimeoutError, ValueError, httpx2.HTTPError) as error:
            log.warning("webhook not told", event_id=event_id, error=type(error).__name__, detail=str(error)[:200])
            return False

    async def _post(self, address: str, headers: dict[str, str], body: bytes) -> bool:
        """To the very address that was looked at: a name may mean another one in the next moment."""
        url = httpx2.URL(self._url)
        pinned = url.copy_with(host=address)
        host = url.netloc.decode("ascii").rpartition("@")[2]
        async with httpx2.AsyncClient(follow_redirects=False, trust_env=False, timeout=SECONDS) as client:
            answer = await client.post(
                pinned, content=body, headers={**headers, "Host": host}, extensions={"sni_hostname": url.host}
            )
        if not answer.is_success:
            log.warning("webhook not told", event_id=headers["Refdesk-Event"], status=answer.status_code)
        return answer.is_success


async def public_address(url: str) -> str:
    """The address to connect to. An address that the operator wrote down is taken as it is, and so is `localhost`; a
    name must not lead into a private network, whoever answers for it. Raises OSError, ValueError."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    port = parts.port or (443 if parts.scheme == "https" else 80)
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [str(address[0]) for *_, address in found]
    if host != "localhost" and not all(is_public(ipaddress.ip_address(address)) for address in addresses):
        raise ValueError("the webhook's name leads into a private network; write its address down if that is meant")
    return addresses[0]


def is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """One host of the internet; an IPv4 address that stands in one of IPv6 counts for what it is."""
    if isinstance(address, ipaddress.IPv6Address):
        within = address.ipv4_mapped or address.sixtofour
        if any(address in network for network in NAT64):
            within = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if within is not None:
            return is_public(within)
    return address.is_global and not address.is_multicast
