"""Which tags are determined by others, as a small layered graph: a determining tag is to the left of the others.

Inline SVG of its own size, with a title and a description. Tags that determine each other share a box, and an arrow
that follows from others (a to c, if a leads to b and b to c) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Final

from markupsafe import Markup, escape

from tsaudit.model.profile import Dependency
from tsaudit.report import untrusted
from tsaudit.text import listed

MOST_TAGS: Final = 24
"""Maximum number of tags to draw; with more, the graph is unreadable, and the tags are listed as text."""
_LONGEST: Final = 24
_LETTER: Final = 7.3
_BOX: Final = 28
_ROW: Final = 42
_BETWEEN: Final = 64
_EDGE: Final = 1

Box = tuple[str, ...]
"""Tags that determine each other, by name; usually one."""
Arrow = tuple[Box, Box]


def draw(dependencies: Sequence[Dependency], number: int) -> Markup:
    """The graph as HTML; empty without dependencies, and for more than MOST_TAGS tags.

    `number` makes its IDs unique on the page.
    """
    edges = {(d.determinant, d.dependent) for d in dependencies}
    if not edges or len({tag for pair in edges for tag in pair}) > MOST_TAGS:
        return Markup("")
    boxes, arrows = condensed(edges)
    places, width, height = _places(layers(boxes, arrows))
    lines = "".join(_arrow(places[a], places[b]) for a, b in arrows)
    nodes = "".join(_node(box, places[box]) for box in boxes)
    labels = f'role="img" aria-labelledby="dt{number} dd{number}"'
    return Markup(  # noqa: S704 -- made of numbers; texts are escaped where they are put in
        f'<svg class="follows" width="{width:g}" height="{height:g}" {labels}><title id="dt{number}">Tags '
        "determined by others</title><desc "
        f'id="dd{number}">{escape(_description(boxes, arrows))}</desc>{lines}{nodes}</svg>'
    )


def condensed(edges: set[tuple[str, str]]) -> tuple[list[Box], list[Arrow]]:
    """The boxes, and the fewest arrows that imply all the pairs (determinant, dependent)."""
    tags = sorted({tag for pair in edges for tag in pair})
    leads = set(edges)
    for middle, a, b in product(tags, repeat=3):  # Warshall: the outermost loop is over the intermediate nodes.
        if (a, middle) in leads and (middle, b) in leads:
            leads.add((a, b))
    box_of = {t: tuple(o for o in tags if o == t or ((t, o) in leads and (o, t) in leads)) for t in tags}
    boxes = sorted(set(box_of.values()))
    further = {(a, b) for a, b in product(boxes, repeat=2) if a != b and (a[0], b[0]) in leads}
    arrows = [(a, b) for a, b in sorted(further) if not any((a, c) in further and (c, b) in further for c in boxes)]
    return boxes, arrows


def layers(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> list[list[Box]]:
    """Columns of boxes from left to right; each box is to the right of all that lead to it, and at a similar height."""
    depth: dict[Box, int] = dict.fromkeys(boxes, 0)
    for _ in boxes:
        for a, b in arrows:
            depth[b] = max(depth[b], depth[a] + 1)
    found: list[list[Box]] = []
    row: dict[Box, float] = {}
    for level in range(max(depth.values()) + 1):
        here = [box for box in boxes if depth[box] == level]
        before = {box: [row[a] for a, b in arrows if b == box] for box in here}
        here.sort(key=lambda box: (sum(before[box]) / len(before[box]) if before[box] else 0.0, box))
        row |= {box: float(i) for i, box in enumerate(here)}
        found.append(here)
    return found


_Place = tuple[float, float, float]
"""Left, top, and width of a box."""


def _places(columns: Sequence[Sequence[Box]]) -> tuple[Mapping[Box, _Place], float, float]:
    """The position of each box, and the total size. Columns are centered vertically on the tallest one."""
    height = _ROW * max(map(len, columns)) - (_ROW - _BOX) + 2 * _EDGE
    places: dict[Box, _Place] = {}
    left = float(_EDGE)
    for column in columns:
        width = max(len(_label(box)) for box in column) * _LETTER + 20
        top = (height - (_ROW * len(column) - (_ROW - _BOX))) / 2
        for i, box in enumerate(column):
            places[box] = (round(left, 1), round(top + i * _ROW, 1), round(width, 1))
        left += width + _BETWEEN
    return places, round(left - _BETWEEN + _EDGE, 1), height


def _arrow(start: _Place, end: _Place) -> str:
    x, y = start[0] + start[2], start[1] + _BOX / 2
    to_x, to_y = end[0] - 6, end[1] + _BOX / 2
    bend = max(24.0, (to_x - x) / 2)
    line = f"M{x:g} {y:g}C{x + bend:g} {y:g} {to_x - bend:g} {to_y:g} {to_x:g} {to_y:g}"
    return f'<path class="line" d="{line}"/><path class="head" d="M{to_x:g} {to_y - 4:g}l6 4l-6 4z"/>'


def _node(box: Box, place: _Place) -> str:
    x, y, width = place
    frame = f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_BOX}" rx="6"/>'
    return f'{frame}<text x="{x + width / 2:g}" y="{y + _BOX / 2 + 4:g}">{escape(_label(box))}</text>'


def _label(box: Box) -> str:
    return " = ".join(_short(tag) for tag in box[:3]) + (f" = {len(box) - 3} more" if len(box) > 3 else "")


def _short(tag: str) -> str:
    text = untrusted.line(tag)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _description(boxes: Sequence[Box], arrows: Sequence[Arrow]) -> str:
    """The graph in words, for people who cannot see the picture."""
    each_other = [
        f"{listed([_short(t) for t in box], most=len(box))} determine each other." for box in boxes if len(box) > 1
    ]
    sources = dict.fromkeys(a for a, _ in arrows)
    lines = [
        f"{_label(a)} determines {listed([_label(b) for c, b in arrows if c == a], most=len(arrows))}." for a in sources
    ]
    return " ".join([*lines, *each_other])
