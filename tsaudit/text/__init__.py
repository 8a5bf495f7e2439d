"""The wording shared by all outputs: numbers, times, names, and measured figures in words.

Messages of rules, the report, Slack, the command line, JSON, and Dagster all use it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Final

from tsaudit.secrets import mask

if TYPE_CHECKING:
    from tsaudit.model.columns import ValuesOverTime
    from tsaudit.model.figures import Count, Ratio
    from tsaudit.model.profile import Measurement
    from tsaudit.model.rows import MeasureName


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


_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def day(moment: date) -> str:
    """The date as `2026-03-31`; for a time, its date in UTC."""
    return (moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment).isoformat()


def instant(moment: datetime) -> str:
    """`2026-03-31 06:00 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def span(start: datetime, end: datetime) -> str:
    """`2026-03-01 00:00 to 2026-03-31 00:00 UTC`."""
    return f"{start.astimezone(UTC):%Y-%m-%d %H:%M} to {instant(end)}"


def duration(seconds: float) -> str:
    """A duration in words: `0.25 seconds`, `1 minute 30 seconds`, `30 days`; from one minute on, rounded to
    the second.
    """
    if not math.isfinite(seconds):
        return f"{number(seconds)} seconds"
    if (short := float(f"{round(seconds, 6):.3g}")) < 60:
        return many(short, "second")
    left, parts = round(seconds), []
    for unit, length in _UNITS:
        count, left = divmod(left, length)
        if count:
            parts.append(many(count, unit))
    return " ".join(parts)


def retention(seconds: float | str | None) -> str:
    """How long rows are kept: `30 days`, `no retention` if nothing deletes them, empty if not known."""
    if seconds is None:
        return ""
    return "no retention" if isinstance(seconds, str) else duration(seconds)


def short_fingerprint(fingerprint: str) -> str:
    """The first characters of a fingerprint, which people see and type; commands accept any unique prefix."""
    return fingerprint[:8]


def listed(words: Sequence[str], most: int = 8, last: str = "and") -> str:
    """`a and b`; `a, b, and c`; beyond `most`, the rest is only counted: `a, b, and 7 more`.

    `last`: the word before the last one, such as `or`.
    """
    if not words:
        return "none"
    if len(words) > most:
        words = [*words[: most - 1], f"{number(len(words) - most + 1)} more"]
    if len(words) <= 2:
        return f" {last} ".join(words)
    return f"{', '.join(words[:-1])}, {last} {words[-1]}"


def nearest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str:
    """A suggestion, `, did you mean x?`; empty if no choice is similar, or the word is too short to compare. Case is
    ignored.
    """
    import difflib

    names = {name.lower(): name for name in choices}
    start = word.lower()
    found = [n for n in names if len(start) > 2 and n and (n.startswith(start) or start.startswith(n))]
    found = found[:3] or (difflib.get_close_matches(start, names, n=1, cutoff=cutoff) if len(start) > 2 else [])
    return f", did you mean {' or '.join(names[n] for n in found)}?" if found else ""


def near_rule(word: str, rules: Mapping[str, str]) -> str:
    """What to append to `no rule is called ...`: rules with similar names, or where all are listed. `rules`: code to
    name.
    """
    return nearest(word.replace("_", "-"), (*rules, *rules.values())) or "; `tsaudit rules` lists them"


def ended(text: str) -> str:
    """The text with a period, unless it ends as a question."""
    said = text.strip().rstrip(".")
    return said if said.endswith("?") else f"{said}."


def printable(text: str, longest: int = 200) -> str:
    """`text` on one line, limited in length, with unprintable characters written as escapes.

    That covers control characters, ANSI sequences, line separators, and the invisible marks that reverse text: text
    from a database must not move a terminal's cursor. Secrets of the configuration are masked before anything is cut
    off.
    """
    text = mask(text)
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in short)


NOT_MEASURED: Final = "not measured"


@dataclass(frozen=True, slots=True)
class FigureText:
    """A figure in words."""

    text: str
    note: str
    """How the figure was measured; empty for an exact figure of the audited day."""
    measured: bool = True


def count(figure: Count) -> str:
    """The number, and how it was measured if it is not exact: `1,200 (estimate)`."""
    how = figure.source.how
    value = rounded(figure.value, figure.standard_error) if how == "estimate" else figure.value
    return number(value) + ("" if how == "exact" else f" ({how})")


def values_of(figure: Count, noun: str = "value") -> str:
    """The number of distinct values in words: `at least 1,234 values` if only part of the rows was read, `about 1,230
    values` for an estimate.
    """
    if figure.source.how == "estimate":
        return f"about {many(rounded(figure.value, figure.standard_error), noun)}"
    at_least = "at least " if figure.source.how == "sampled" else ""
    return f"{at_least}{many(figure.value, noun)}"


def rows_of(figure: Count) -> str:
    """The number of rows in words: `about 5,000 rows` if they were not counted, `at least` if only some were."""
    if figure.source.how != "exact" and not figure.is_lower_bound:
        return f"about {many(rounded(figure.value, figure.standard_error), 'row')}"
    return f"{'at least ' if figure.is_lower_bound else ''}{many(figure.value, 'row')}"


def over_time(known: ValuesOverTime) -> str:
    """Whether a tag's values level off, with the figures that show it: `churning over 28 days: beta 0.3, ...`."""
    said = f"{known.kind} over {many(known.days, 'day')}"
    if known.beta is None or known.turnover is None:
        return said
    return f"{said}: beta {number(known.beta)}, {percent(known.turnover)} of a week's values were new"


def new_values(known: ValuesOverTime) -> str:
    """How many values are new: `3,072 a day`; if only one day had so many, `44,180 on 2026-03-31, 1,450 a day before`,
    or `44,180 on 2026-03-31, none in the week before`; empty if that is not known.
    """
    if known.new_per_day is None:
        return ""
    if (burst := known.burst) is None:
        return f"{number(known.new_per_day)} a day"
    before = f"{number(per_day)} a day" if (per_day := round(known.per_day_before)) else "none in the week"
    return f"{number(burst.values or 0)} on {day(burst.day)}, {before} before"


def under(part: Measurement | MeasureName) -> str:
    """Which rows of a table are meant: ` under measure name x`; empty for all of them."""
    from tsaudit.model.rows import MeasureName

    return f" under measure name {part.name}" if isinstance(part, MeasureName) else ""


def figure(value: Count | Ratio | None, audited: date, usual_scope: str = "") -> FigureText:
    """A count or ratio, and how it was measured. `audited`: the audited day; older figures include their own day.

    `usual_scope`: the scope of most figures, which the page states once, so it is not repeated.
    """
    from tsaudit.model.figures import How, Ratio

    if value is None:
        return FigureText(NOT_KNOWN, NOT_MEASURED, measured=False)
    write = percent if isinstance(value, Ratio) else number
    text, source, notes = write(value.value), value.source, []
    scope = source.words
    if usual_scope:
        scope = "" if scope == usual_scope else scope.replace(usual_scope, "rows")
    if source.how is How.ESTIMATE:
        text = f"≈ {text}"
        error = value.standard_error
        notes.append(f"estimate ± {write(error)}" if error is not None else "estimate, error unknown")
    elif source.how is How.SAMPLED:
        notes.append(f"sampled: {scope}" if scope else "sampled")
    elif scope:
        notes.append(scope)
    if source.as_of.date() < audited:
        notes.append(f"as of {day(source.as_of)}")
    return FigureText(text, ", ".join(notes))
