"""Figures and lists as words: how every rule writes them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from tsaudit.model.profile import Count, How, Measurement, MeasureName, ValuesOverTime


def number(value: float) -> str:
    """`1,234,567`; what is no whole number has three digits that count: `0.125`, `12.3`."""
    if value == round(value):
        return f"{round(value):,}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def count(figure: Count) -> str:
    """The number, with how it was had where it is not exact: `1,200 (estimate)`."""
    suffix = "" if figure.source.how is How.EXACT else f" ({figure.source.how})"
    return number(figure.value) + suffix


def values_of(figure: Count, noun: str = "value") -> str:
    """The number of distinct values in words: `at least 1,200 values` where only a part of the rows was looked at."""
    at_least = "at least " if figure.source.how is How.SAMPLED else ""
    return f"{at_least}{many(figure.value, noun)}"


def over_time(known: ValuesOverTime) -> str:
    """Whether a tag's values end, and by which figures: `churning over 28 days: beta 0.3, ...`."""
    said = f"{known.kind} over {many(known.days, 'day')}"
    if known.beta is None or known.turnover is None:
        return said
    return f"{said}: beta {number(known.beta)}, {percent(known.turnover)} of a week's values new in it"


def size(count: float) -> str:
    """Bytes in decimal units: `512 B`, `12.3 MB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{number(float(f'{value:.3g}'))} {unit}"


def percent(ratio: float) -> str:
    """`42 %`; what is close to none or all, but not it, is never rounded to it: `99.9 %`, `< 0.1 %`, `> 100 %`."""
    if ratio in (0, 1):
        return f"{round(ratio * 100)} %"
    if ratio < 0.001:
        return "< 0.1 %"
    if 0.999 < ratio < 1.001:
        return "> 99.9 %" if ratio < 1 else "> 100 %"
    digits = 1 if ratio < 0.01 or 0.99 <= ratio < 1.1 else 0
    return f"{ratio * 100:,.{digits}f} %"


def many(value: float, noun: str) -> str:
    """`1 tag`, `3 tags`, `3 indexes`."""
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    plural = noun + "es" if noun.endswith("x") else plural
    return f"{number(value)} {noun if value == 1 or noun.endswith('s') else plural}"


def listed(words: Sequence[str], most: int = 8) -> str:
    """`a, b and c`; beyond `most` the rest is counted: `a, b and 7 more`."""
    if not words:
        return "none"
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} and {number(len(words) - most + 1)} more"
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def nearest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str:
    """`, did you mean x?`; empty when nothing is close. Case does not count."""
    names = {name.lower(): name for name in choices}
    start = word.lower()
    found = [n for n in names if len(start) > 2 and n and (n.startswith(start) or start.startswith(n))]
    found = found[:3] or difflib.get_close_matches(start, names, n=1, cutoff=cutoff)
    return f", did you mean {' or '.join(names[n] for n in found)}?" if found else ""


def under(part: Measurement | MeasureName) -> str:
    """Which rows of a table are meant: ` under measure name x`; empty for all of them."""
    return f" under measure name {part.name}" if isinstance(part, MeasureName) else ""
