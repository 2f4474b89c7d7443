"""What tokens cost, in US dollars for a million of them, as the makers of the models listed it in October 2026.

A price list ages: REFDESK_PRICES and `refdesk eval --price` overrule it, and what a model costs that is in neither
cannot be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from refdesk.domain.conversation import Usage

LISTED = "October 2026"
CACHE_WRITE = 1.25
"""Times the price of input."""
CACHE_READ = 0.1


class Price(msgspec.Struct, frozen=True):
    input: float
    output: float

    def cost(self, usage: Usage) -> float:
        read = usage.input_tokens + CACHE_WRITE * usage.cache_write_tokens + CACHE_READ * usage.cache_read_tokens
        return (self.input * read + self.output * usage.output_tokens) / 1_000_000


PRICES = {
    "claude-haiku-5-5": Price(0.10, 0.50),  # prompts of up to 100,000 tokens: a turn of ours has at most 60,000
    "claude-haiku-4-5": Price(1, 5),
    "claude-sonnet-5-5": Price(2, 10),
    "claude-sonnet-5": Price(2, 10),
    "claude-sonnet-4-6": Price(3, 15),
    "claude-opus-5-5": Price(4, 20),
    "claude-opus-5": Price(5, 25),
}


def price_of(model: str, own: Mapping[str, Price] = MappingProxyType({})) -> Price | None:
    """Also of a dated name (`claude-haiku-4-5-20251001`). `own`: the operator's prices, which go before the list's."""
    for prices in (own, PRICES):
        names = [name for name in prices if model == name or model.startswith(f"{name}-2")]
        if names:
            return prices[names[0]]
    return None
