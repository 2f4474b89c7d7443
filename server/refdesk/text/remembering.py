"""What functions of a visitor's words remember. `lru_cache` alone counts texts, whatever their length: of questions
without a space, each of them one word of 2,000 characters, a cache of 8,192 would hold 64 MB."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple

WORD = 64
"""Characters; what people write as one word is no longer."""
QUESTION = 300
"""Characters of nearly every question. What is remembered of whole questions serves the turn that asks it."""

Rest = TypeVarTuple("Rest")
Result = TypeVar("Result")


def remembers(
    most: int, longest: int = WORD
) -> Callable[[Callable[[str, *Rest], Result]], Callable[[str, *Rest], Result]]:
    """Keeps the results for the `most` texts that were used last; of texts of more than `longest` characters none."""

    def decorated(function: Callable[[str, *Rest], Result]) -> Callable[[str, *Rest], Result]:
        known = lru_cache(most)(function)

        @wraps(function)
        def remembering(text: str, *rest: *Rest) -> Result:
            return known(text, *rest) if len(text) <= longest else function(text, *rest)

        return remembering

    return decorated
