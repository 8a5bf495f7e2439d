"""Small pictures for Dagster's pages, which render Markdown but no HTML."""

import base64
from collections.abc import Sequence
from typing import Final

_WIDTH: Final = 360
_HEIGHT: Final = 60
_EDGE: Final = 4


def sparkline(values: Sequence[float], limit: float | None = None) -> str:
    """Markdown image of the values as a line, with the limit as a dashed one where the values come near it.

    Empty with fewer than two values. The colours can be read on light and on dark ground.
    """
    if len(values) < 2:
        return ""
    shown = limit if limit is not None and limit <= 3 * max(values) else None
    top = max([*values, shown or 0.0]) or 1.0
    bottom = min([*values, 0.0])
    step = (_WIDTH - 2 * _EDGE) / (len(values) - 1)

    def height(value: float) -> float:
        return _HEIGHT - _EDGE - (value - bottom) / (top - bottom) * (_HEIGHT - 2 * _EDGE)

    points = " ".join(f"{_EDGE + i * step:.1f},{height(v):.1f}" for i, v in enumerate(values))
    line = f'<polyline points="{points}" fill="none" stroke="#4f7cdb" stroke-width="2"/>'
    if shown is not None:
        y = f"{height(shown):.1f}"
        line += f'<path d="M0 {y}H{_WIDTH}" stroke="#d9534f" stroke-width="1.5" stroke-dasharray="5 4"/>'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}">{line}</svg>'
    return f"![series over time](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"
