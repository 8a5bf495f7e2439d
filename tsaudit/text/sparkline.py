"""A small line chart of a figure over time, the same in the report's index and on Dagster's pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 360
HEIGHT: Final = 60
_EDGE: Final = 4
_NEAR: Final = 3
"""If the limit is more than this many times the highest value, it is left out, because it would flatten the line."""


def svg(values: Sequence[float], limit: float | None = None, width: int = WIDTH) -> str:
    """The chart as SVG: the values as a line, oldest first, and the limit as a dashed line if the values come near it.
    Empty for fewer than two values. `width` is in pixels.

    Its colors are readable on light and on dark backgrounds; a style sheet may set others for `.spark`. The chart is
    hidden from screen readers, so put the figure next to it.
    """
    if len(values) < 2:
        return ""
    highest = max(values)
    shown = limit if limit is not None and limit <= _NEAR * highest else None
    bottom = min([*values, 0.0])
    reach = (max([highest, shown or 0.0]) - bottom) or 1.0
    step = (width - 2 * _EDGE) / (len(values) - 1)

    def height(value: float) -> str:
        return f"{HEIGHT - _EDGE - (value - bottom) / reach * (HEIGHT - 2 * _EDGE):.1f}"

    points = " ".join(f"{_EDGE + i * step:.1f},{height(value)}" for i, value in enumerate(values))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spark" width="{width}" height="{HEIGHT}"'
        f' viewBox="0 0 {width} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<polyline points="{points}" fill="none" stroke="#4f7cdb" stroke-width="2"/>'
        f"{_dashed(height(shown), width) if shown is not None else ''}</svg>"
    )


def _dashed(y: str, width: int) -> str:
    return f'<path d="M0 {y}H{width}" stroke="#d9534f" stroke-width="1.5" stroke-dasharray="5 4"/>'
