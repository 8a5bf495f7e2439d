"""Numbers that are written so that no cast reads them, in a column of which most values are plain numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tsaudit.analysis.shapes.shapes import number_kind
from tsaudit.analysis.significance import NEARLY_ALL

PLACEHOLDER: Final = r"^\s*(-+|[nN]/?[aA]|(?i:null|none|nil|nan|undefined)|\\N|\?+)?\s*$"
"""A string that stands for no value. States such as `unknown` do not: somebody may look for them."""
MOST: Final = 2 / 3
"""Share of the distinct values that are plain numbers where a column is meant for numbers: twice as many as others."""

_POINT: Final = r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d+)?"
_COMMA: Final = r"[+-]?(?:0|[1-9]\d{0,14}),\d+"
_PREFIX: Final = "[kKMGTmuµμn]?"
_SYMBOL: Final = (
    rf"(?:[%‰€$£Ω]|°[CF]?|{_PREFIX}(?:g|m|s|W|V|A|Wh|VA|Pa|bar|Hz|l|L|J|N|Ω|T|mol|lx|lm|bps|bit)|[KMGT]i?B"
    r"|[dcKhtFC]|cm|dm|min|hPa|dBm?|pp[mb]|rpm|psi|EUR|USD|GBP|CHF)[²³23]?"
)
_UNIT: Final = rf"{_SYMBOL}(?:/{_SYMBOL})?"
_FORMS: Final = {
    "a comparison sign": re.compile(rf"(?:[<>≤≥~≈]=?|[cC]a\.)\s*(?:{_POINT}|{_COMMA})(?:\s*{_UNIT})?"),
    "a decimal comma": re.compile(_COMMA),
    "thousands separators": re.compile(
        r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3})+(?:\.\d+)?|(?:\.\d{3})+,\d+|(?:['\u2019 \u00a0\u202f]\d{3})+(?:[.,]\d+)?)"
    ),
    "a unit": re.compile(rf"(?:{_POINT}|{_COMMA})\s*{_UNIT}"),
}
"""How else a number may be written, as what it is written with."""
_WHOLE_AND_LETTER: Final = re.compile(r"\d+[A-Za-z]")
"""May be the number of a house or a seat, or a size."""
_SURE: Final = frozenset("sVAWgl")
"""Units of one letter that nothing else ends with, among fractions."""


def plain_numbers(values: Sequence[str]) -> list[str]:
    """The values that a cast to a number reads."""
    return [value for value in values if number_kind((value,)) in ("integer", "float")]


def other_forms(values: Sequence[str]) -> dict[str, str]:
    """How else numbers are written in a column whose distinct values are mostly plain ones, each with an example; empty
    if there are none, or too few plain ones, or if others are no numbers, such as versions, dates, ranges, or sizes.

    What stands for no value does not count. Between whole numbers, a comma or a blank may as well separate two.
    """
    said = [value.strip() for value in values if not re.search(PLACEHOLDER, value)]
    plain = plain_numbers(said)
    are_plain = set(plain)
    others = [value for value in said if value not in are_plain]
    if not others or len(plain) < MOST * len(said):
        return {}
    has_fractions = number_kind(plain) == "float"
    found: dict[str, str] = {}
    unknown = 0
    for value in others:
        form = next((form for form, pattern in _FORMS.items() if pattern.fullmatch(value)), None)
        may_be_two = form == "a decimal comma" or (form == "thousands separators" and "," not in value)
        is_code = _WHOLE_AND_LETTER.fullmatch(value) and not (has_fractions and value[-1] in _SURE)
        if form is None or is_code or (may_be_two and not has_fractions):
            unknown += 1
        else:
            found.setdefault(form, value)
    return found if unknown <= (1 - NEARLY_ALL) * len(others) else {}
