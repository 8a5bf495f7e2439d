"""A small line chart of a figure over time, the same in the report's index and on Dagster's pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

WIDTH: Final = 360
HEIGHT: Final = 60
_EDGE: Final = 4
_NEAR: Final = 3
"""If the limit is more than this multiple of the highest value, it is left out because it would flatten the line."""


def svg(values: Sequence[float], limit: float | None = None) -> str:
    """The values as a line, oldest first, and the limit as a dashed line if they come near it. Empty with fewer than
    two values.

    Its colors are readable on light and on dark backgrounds; a style sheet may set others for `.spark`. Hidden from
    screen readers: put the figure next to it.
    """
    if len(values) < 2:
        return ""
    highest = max(values)
    shown = limit if limit is not None and limit <= _NEAR * highest else None
    bottom = min([*values, 0.0])
    reach = (max([highest, shown or 0.0]) - bottom) or 1.0
    step = (WIDTH - 2 * _EDGE) / (len(values) - 1)

    def height(value: float) -> str:
        return f"{HEIGHT - _EDGE - (value - bottom) / reach * (HEIGHT - 2 * _EDGE):.1f}"

    points = " ".join(f"{_EDGE + i * step:.1f},{height(value)}" for i, value in enumerate(values))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="spark" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">'
        f'<polyline points="{points}" fill="none" stroke="#4f7cdb" stroke-width="2"/>'
        f"{_dashed(height(shown)) if shown is not None else ''}</svg>"
    )


def _dashed(y: str) -> str:
    return f'<path d="M0 {y}H{WIDTH}" stroke="#d9534f" stroke-width="1.5" stroke-dasharray="5 4"/>'
