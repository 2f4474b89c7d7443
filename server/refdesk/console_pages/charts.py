"""Where the bars and lines of a chart stand: plain numbers, which a template draws as SVG."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

WIDTH, HEIGHT = 720, 160
LINE_WIDTH, LINE_HEIGHT = 90, 22


class Segment(msgspec.Struct, frozen=True):
    kind: str
    x: float
    y: float
    width: float
    height: float


def stacked(columns: Sequence[dict[str, int]]) -> list[Segment]:
    """One column for each of `columns`, its parts one upon the other; the highest fills the height."""
    highest = max((sum(parts.values()) for parts in columns), default=0)
    if not highest:
        return []
    step = WIDTH / len(columns)
    segments = []
    for number, parts in enumerate(columns):
        base = float(HEIGHT)
        for kind, count in parts.items():
            height = HEIGHT * count / highest
            base -= height
            if count:
                segments.append(
                    Segment(kind, round(number * step, 1), round(base, 1), round(step * 0.8, 1), round(height, 1))
                )
    return segments


def line(values: Sequence[float]) -> str:
    """Points of a polyline from left to right; zero lies on the base line."""
    highest, steps = max(values, default=0) or 1, max(len(values) - 1, 1)
    return " ".join(
        f"{LINE_WIDTH * number / steps:.1f},{1 + (LINE_HEIGHT - 2) * (1 - value / highest):.1f}"
        for number, value in enumerate(values)
    )
