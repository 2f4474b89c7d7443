"""A price that the operator names instead of the list's."""

from __future__ import annotations

from refdesk.domain.prices import LISTED, Price, price_of
from refdesk.errors import SettingError

__all__ = ["LISTED", "Price", "price_of", "read_price"]


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
