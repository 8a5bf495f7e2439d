"""The page docs/accuracy.md: a row for each layout, and what they come to in sum."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.layouts.running import Score

PAGE: Final = Path(__file__).parents[2] / "docs" / "accuracy.md"
_START: Final = "| Layout | Engine | Wanted | Found | Missed | False | Clean twin |\n|---|---|---|---|---|---|---|\n"
_ROW: Final = re.compile(r"\| \[(?P<name>[^]]+)\].*\n")
_TEXT: Final = """# Accuracy

How often tsaudit is right about databases that well-known programs write. Each layout below follows a program's public
documentation. Most come in two versions: one with typical mistakes, and a clean twin that nobody would need to change.
For each layout we wrote down what an expert would want to hear before we first ran tsaudit on it. "Wanted" counts these
findings; "false" counts every other warning or critical finding in either version.

In {layouts} layouts, tsaudit finds **{found} of {wanted}** wanted findings (recall {recall}) and reports **{false}**
false ones (precision {precision}). {clean} of {twins} clean twins get the verdict `ok`.

The tests write this page (`make golden`) and fail when a row changes.

"""


def row(score: Score) -> str:
    """The layout's line of the table."""
    layout = score.layout
    wanted = len(layout.wanted)
    missed = _named([f"{w.codes.replace('|', ' or ')} {w.subject}".strip() for w in score.missed])
    false = _named([line.removeprefix("clean: ").split(":")[0] for line in score.false])
    clean = f"`{score.clean}`" if score.clean else "none"
    link = f"[{layout.name}]({layout.source})" if layout.source.startswith("http") else f"[{layout.name}]()"
    return f"| {link} | {layout.engine} | {wanted} | {len(score.found)} | {missed} | {false} | {clean} |\n"


def _named(things: list[str]) -> str:
    if not things:
        return "0"
    shown = ", ".join(f"`{thing}`" for thing in sorted(set(things))[:4])
    more = ", ..." if len(set(things)) > 4 else ""
    return f"{len(things)}: {shown}{more}"


def rows() -> dict[str, str]:
    """Layout to its row in the page."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {match["name"]: match[0] for match in _ROW.finditer(text)}


def totals(known: dict[str, str]) -> dict[str, float]:
    """What the rows come to: layouts, wanted, found, false, twins, clean, recall, precision."""
    cells = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in known.values()]
    wanted = sum(int(c[2]) for c in cells)
    found = sum(int(c[3]) for c in cells)
    false = sum(int(c[5].split(":")[0]) for c in cells)
    return {
        "layouts": len(cells),
        "wanted": wanted,
        "found": found,
        "false": false,
        "twins": sum(c[6] != "none" for c in cells),
        "clean": sum(c[6] == "`ok`" for c in cells),
        "recall": found / wanted if wanted else 1.0,
        "precision": found / (found + false) if found + false else 1.0,
    }


def write(known: dict[str, str]) -> None:
    """Write the page from its rows."""
    sums = {k: f"{v:.3f}" if isinstance(v, float) else str(v) for k, v in totals(known).items()}
    body = "".join(known[name] for name in sorted(known))
    PAGE.write_text(_TEXT.format(**sums) + _START + body)
