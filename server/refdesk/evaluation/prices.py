"""What tokens cost, in US dollars for a million of them, as the makers of the models listed it in October 2026.

A price list ages: `--price` overrules it, and a model that is not in it costs nothing that could be told.
"""

from __future__ import annotations

import msgspec

from refdesk.domain.conversation import Usage
from refdesk.errors import SettingError

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


def price_of(model: str) -> Price | None:
    """Also of a dated name (`claude-haiku-4-5-20251001`)."""
    names = [name for name in PRICES if model == name or model.startswith(f"{name}-2")]
    return PRICES[names[0]] if names else None


def read_price(text: str) -> Price:
    """`INPUT/OUTPUT`. Raises SettingError."""
    try:
        paid, got = map(float, text.split("/"))
        if not (0 <= paid < 1e6 and 0 <= got < 1e6):
            raise ValueError
    except ValueError as error:
        raise SettingError(
            "--price", f"{text!r} is no price; write US dollars per million tokens as INPUT/OUTPUT: 0.10/0.50"
        ) from error
    return Price(paid, got)
