"""Formats numbers, percentages, sizes, and quantities."""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Decimal
from typing import Final

NOT_KNOWN: Final = "\N{EN DASH}"
"""Shown in a table for a missing figure."""
_MINUS: Final = "\N{MINUS SIGN}"
_READABLE: Final = 1e15
_SAME_IN_PLURAL: Final = ("series", "times")
_HISSING: Final = ("s", "x", "z", "ch", "sh")
_LINKS: Final = frozenset({"by", "of", "in", "per", "on", "to", "until", "that", "than", "within", "with", "x", "and"})
"""Words after which the rest of a unit only describes what is counted."""


def number(value: float) -> str:
    """A number as text: `1,234,567`; a number that is not an integer has three significant digits: `0.125`, `12.3`.
    So has one of 16 digits or more, with a power of ten, because nobody reads them all.
    """
    if not math.isfinite(value):
        return "not a number" if math.isnan(value) else "∞" if value > 0 else f"{_MINUS}∞"
    if abs(value) >= _READABLE:
        digits, _, exponent = f"{float(value):.2e}".partition("e")
        return f"{float(digits):g} \N{MULTIPLICATION SIGN} 10^{int(exponent)}"
    if value == round(value) or abs(value) >= 999.5:
        return f"{round(value):,}"
    short = f"{value:.3g}"
    return f"{Decimal(short):f}" if abs(value) >= 1e-9 else short


def rounded(value: float, error: float | None = None) -> float:
    """An estimate without the digits that it does not have: at most three significant ones are kept. `error`: its
    standard error, which may leave fewer; None if that is not known.
    """
    relative = error / abs(value) if error and value else 0.0
    return float(f"{value:.{1 if relative >= 0.1 else 2 if relative >= 0.01 else 3}g}")


def rounded_down(value: float) -> float:
    """A lower bound without the digits that it does not have, so that it stays one: `101,000` for 101,950."""
    exact = Decimal(str(value))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), ROUND_FLOOR)) if value else value


def short(value: float) -> str:
    """A number with three significant digits, for an axis: `950`, `12k`, `1.2M`, `3B`."""
    digits = rounded(value)
    for scale, suffix in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(digits) >= (scale if suffix != "k" else 1e4):
            return f"{number(rounded(digits / scale))}{suffix}"
    return number(digits)


def in_full(value: float) -> str:
    """A number with all its digits, as in settings: `1,000,000`, `0.0625`."""
    return f"{value:,.12g}"


def change(value: float) -> str:
    """A difference, always with a sign: `+12`, `±0`."""
    return f"+{number(value)}" if value > 0 else f"{_MINUS}{number(-value)}" if value < 0 else "±0"


def percent(ratio: float, *, is_least: bool = False) -> str:
    """A ratio as a percentage: `42%`. Values close to 0 or 1 are never rounded to them: `99.9%`, `< 0.1%`, `> 100%`.

    `is_least`: a lower bound, which is rounded down.
    """
    if not math.isfinite(ratio):
        return number(ratio)
    if ratio < 0:
        return f"{_MINUS}{percent(-ratio)}"
    if 0 < ratio < 0.001:
        return "< 0.1%"
    if 0.999 < ratio < 1.001 and ratio != 1:
        return "> 99.9%" if ratio < 1 else "> 100%"
    digits = 1 if ratio < 0.01 or 0.99 <= ratio < 1.1 else 0
    if is_least:
        ratio = float(Decimal(str(ratio)).quantize(Decimal(1).scaleb(-2 - digits), ROUND_FLOOR))
    return f"{ratio * 100:,.{digits}f}".removesuffix(".0") + "%"


def size(count: float) -> str:
    """Bytes in decimal units: `512 B`, `12.3 MB`."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if rounded(value) < 1000 or unit == "TB":
            break
        value /= 1000
    return f"{number(rounded(value))} {unit}"


def many(value: float, noun: str, plural_noun: str = "") -> str:
    """`1 tag`, `3 tags`, `3 indexes`, `3 series`; `plural_noun` if the plural is irregular."""
    return f"{number(value)} {plural(value, noun, plural_noun)}"


def plural(value: float, noun: str, plural_noun: str = "") -> str:
    """The noun to put after the number: singular after `1` as displayed, plural otherwise."""
    if number(value) == "1":
        return noun
    if plural_noun or noun.endswith(_SAME_IN_PLURAL):
        return plural_noun or noun
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(_HISSING) else f"{noun}s"


def quantity(value: float, unit: str = "") -> str:
    """A value with its unit: `1 tag`, `12 series`, `25% of the rows`, `5 GB`.

    `unit` is as in limits and findings: a plural, `ratio`, `share of the rows`, `of the disk`, `bytes`, or empty.
    """
    rest = _unit(unit, value)
    return f"{amount(value, unit)} {rest}" if rest else amount(value, unit)


def amount(value: float, unit: str = "") -> str:
    """`quantity` without the noun, if the noun is already mentioned: `12`, `25%`, `5 GB`."""
    if _is_share(unit):
        return percent(value)
    return size(value) if unit.split(" ")[0] == "bytes" and math.isfinite(value) else number(value)


def _is_share(unit: str) -> bool:
    return unit in ("ratio", "share") or unit.startswith(("share of ", "of "))


def _unit(unit: str, value: float) -> str:
    """The part of the unit to put after the amount."""
    if _is_share(unit):
        return unit.removeprefix("ratio").removeprefix("share").strip()
    words = unit.split(" ")
    if words[0] == "bytes":
        return " ".join(words[1:])
    return " ".join(_singular(words)) if number(value) == "1" else unit


def _singular(words: list[str]) -> list[str]:
    """The words, with the noun before the first preposition in the singular."""
    head = next((n for n, word in enumerate(words) if word in _LINKS), len(words))
    nouns = [n for n, word in enumerate(words[:head]) if word.endswith("s")]
    if not nouns or words[nouns[-1]].endswith(_SAME_IN_PLURAL):
        return words
    noun = words[nouns[-1]]
    stem = noun[:-1]
    if noun.endswith("ies"):
        stem = f"{noun[:-3]}y"
    elif noun.endswith("es") and noun[:-2].endswith(_HISSING) and not noun.endswith("ses"):
        stem = noun[:-2]
    return [*words[: nouns[-1]], stem, *words[nouns[-1] + 1 :]]
