"""Settings that bound what strangers can make a deployment do: counts, dollars, prices, and whose word is taken."""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_network

from refdesk.domain.prices import Price
from refdesk.errors import SettingError

MOST = 1_000_000
MOST_DOLLARS = 1_000_000.0
LONGEST_WAIT_S = 10.0


def items(value: str) -> list[str]:
    return [item for item in re.split(r"[\s,]+", value) if item]


def parse_count(name: str, value: str) -> int:
    """0 means no limit."""
    if not re.fullmatch("[0-9]{1,7}", value) or int(value) > MOST:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a whole number up to {MOST}; 0: no limit")
    return int(value)


def parse_seconds(name: str, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1
    if not 0 < seconds <= 3600:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a number of seconds above 0, up to 3600")
    return seconds


def parse_days(name: str, value: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", value) or not 1 <= int(value) <= 36_500:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a number of days from 1 to 36500")
    return int(value)


def parse_visitors(name: str, value: str) -> int:
    if not re.fullmatch("[0-9]{1,4}", value) or not 1 <= int(value) <= 1000:
        raise SettingError(name, f"{value!r} is not allowed; allowed: a number of visitors from 1 to 1000")
    return int(value)


def parse_wait(name: str, value: str) -> float:
    seconds = number(value)
    if seconds is None or seconds > LONGEST_WAIT_S:
        raise SettingError(name, f"{value!r} is not allowed; allowed: seconds from 0 to {LONGEST_WAIT_S:g}")
    return seconds


def parse_dollars(name: str, value: str) -> float:
    """0 means no cap."""
    dollars = number(value or "0")
    if dollars is None or dollars > MOST_DOLLARS:
        raise SettingError(name, f"{value!r} is not allowed; allowed: US dollars, such as 0.05 or 20; empty: no cap")
    return dollars


def number(text: str) -> float | None:
    """Not below zero, in plain digits."""
    return float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?|\.[0-9]+", text, re.A) else None


def parse_prices(name: str, value: str) -> dict[str, Price]:
    """`MODEL=INPUT/OUTPUT,…` in US dollars for a million tokens."""
    prices: dict[str, Price] = {}
    for item in items(value):
        model, _, price = item.partition("=")
        paid, _, got = price.partition("/")
        told = (number(paid), number(got))
        if not model or model in prices or told[0] is None or told[1] is None:
            allowed = "MODEL=INPUT/OUTPUT in US dollars for a million tokens, comma-separated"
            raise SettingError(name, f"{item!r} is no price; allowed: {allowed}: claude-haiku-5-5=0.10/0.50")
        prices[model] = Price(told[0], told[1])
    return prices


def parse_networks(name: str, value: str) -> tuple[IPv4Network | IPv6Network, ...]:
    networks = []
    for item in items(value):
        try:
            networks.append(ip_network(item))
        except ValueError:
            allowed = "addresses or networks, comma-separated: 10.0.0.0/8, 2001:db8::/32"
            raise SettingError(name, f"{item!r} is no network; allowed: {allowed}") from None
    return tuple(networks)
