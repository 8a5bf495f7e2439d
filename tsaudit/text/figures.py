"""Measured figures in words, and how they were measured."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Final

from tsaudit.text.numbers import NOT_KNOWN, many, number, percent, rounded
from tsaudit.text.times import day as formatted_day

if TYPE_CHECKING:
    from tsaudit.model.profile import Count, Measurement, MeasureName, Ratio, ValuesOverTime

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


def under(part: Measurement | MeasureName) -> str:
    """Which rows of a table are meant: ` under measure name x`; empty for all of them."""
    from tsaudit.model.profile import MeasureName

    return f" under measure name {part.name}" if isinstance(part, MeasureName) else ""


def figure(value: Count | Ratio | None, day: date, usual_scope: str = "") -> FigureText:
    """A count or ratio, and how it was measured. `day`: the audited day; older figures include their own day.

    `usual_scope`: the scope of most figures, which the page states once, so it is not repeated.
    """
    from tsaudit.model.profile import How, Ratio

    if value is None:
        return FigureText(NOT_KNOWN, NOT_MEASURED, measured=False)
    write = percent if isinstance(value, Ratio) else number
    text, source, notes = write(value.value), value.source, []
    scope = source.scope
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
    if source.as_of.date() < day:
        notes.append(f"as of {formatted_day(source.as_of)}")
    return FigureText(text, ", ".join(notes))
