"""Findings about times that were written in a wrong unit or another form. `mistyped-field` reports them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import ALIKE
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement, MisdatedRows, OtherTimes
from tsaudit.rule import Case, subject_of
from tsaudit.text import day, instant, listed, many, number, percent

_DATE_DIGITS: Final = 4
"""Fewest digits of a date; what has fewer stands for none."""


def is_mixed(found: OtherTimes) -> bool:
    """Whether both forms are of times, and not one of them of what stands for none."""
    return all(sum(map(str.isdecimal, one)) >= _DATE_DIGITS for one in (found.usual, found.other))


_UNIT_BY_DIGITS: Final = {10: "seconds", 13: "milliseconds", 16: "microseconds", 19: "nanoseconds"}
"""By the digits of the number since 1970, from 2001 to 2286."""


def other_times(measurement: Measurement, found: OtherTimes) -> Finding:
    """Values that compare differently from the others: in SQLite, a number is below each text."""
    column, all_values = found.column, found.values + found.others
    units = [_UNIT_BY_DIGITS.get(len(one)) if one.isdecimal() else None for one in (found.other, found.usual)]
    form = f"are {units[0]} since 1970, not {units[1]}" if all(units) else "have another form than the others"
    missed = f"Queries for a range of {column} leave out the rows with these {number(found.others)} values."
    impact = Impact(Currency.ANSWERS, how="values counted by their form", consequence=missed)
    return Finding(
        subject=subject_of(measurement, column),
        impact=impact if found.others >= ALIKE else None,
        message=f"{number(found.others)} of {number(all_values)} values of {column} "
        f"({percent(found.others / all_values)}) {form}: ranges of times leave their rows out, and they sort before or "
        "after all others.",
        fix="Convert them to the form of the others, or to a time type if the database has one, and find what writes "
        "them. A CHECK constraint rejects others.",
        observed=float(found.others),
        unit="values",
        main_contributor=column,
        samples=(found.other, found.usual),
        evidence=(
            Evidence("in another form", redact_unless_name(found.other)),
            Evidence("form of most", redact_unless_name(found.usual)),
        ),
        facts=("time_extents",),
        source=found.source,
    )


_UNITS: Final = {1_000: "microseconds", 1_000_000: "milliseconds", 1_000_000_000: "seconds"}
"""By how much nanoseconds are too small to the unit of the numbers."""


def misdated(case: Case, measurement: Measurement, found: MisdatedRows) -> Finding:
    """Rows that no query for a recent time finds, and that a retention would delete or reject."""
    is_line = case.engine.takes_line_protocol
    row = "point" if is_line else "row"
    rows = many(found.rows.value, row) if found.rows else f"{row}s"
    taken = (
        f"{_UNITS[found.factor]} were written as nanoseconds"
        if is_line
        else f"their unit was mistaken for one that is {number(found.factor)} times smaller"
    )
    is_one = found.rows is not None and found.rows.value == 1
    verb = "is" if is_one else "are"
    common = [f"{key} ({redact_unless_name(value)})" for key, value in found.common]
    of = f", all with the same {listed(common, 3)}," if common and not is_one else ""
    where = f"{rows[0].upper()}{rows[1:]}{of} {verb}, unlike all others,"
    if found.are_all:
        where = f"Its only {row} is" if is_one else f"All its {rows} are"
    # As nanoseconds, seconds are cut off: what is stored counts microseconds.
    meant = instant(found.meant) if found.factor < 1_000_000_000 else day(found.meant)
    stored = f"from {_precise(found.first)} to {_precise(found.last)} UTC"
    # A deletion acts on each measurement of the name, whatever retention policy has it.
    is_alone = sum(one.name == measurement.name for one in case.profile.measurements) == 1
    table = case.quoted([measurement.name]) if is_alone else ""
    is_rare = not found.are_all and found.rows is not None and found.rows.value < ALIKE
    missed = f"Queries for any time but January 1970 leave out {f'this {row}' if is_one else f'these {rows}'}."
    impact = Impact(Currency.ANSWERS, how="the first and the last time that are stored", consequence=missed)
    return Finding(
        subject=subject_of(measurement),
        impact=None if is_rare else impact,
        message=f"{where} in January 1970: {taken}. Times stored: {stored}; in the right unit, the newest is {meant}.",
        fix=case.engine.misdated_fix(found, table, f"the {rows}"),
        observed=float(found.rows.value) if found.rows else None,
        unit=f"{row}s" if found.rows else "",
        evidence=(
            Evidence("first time stored", f"{_precise(found.first)} UTC"),
            Evidence("last time stored", f"{_precise(found.last)} UTC"),
            Evidence(f"first time, {number(found.factor)} times as long after 1970", day(found.began)),
            Evidence(f"last time, {number(found.factor)} times as long after 1970", meant),
            *([Evidence(f"{row}s in January 1970", number(found.rows.value))] if found.rows else []),
        ),
        since=found.began.date(),
        facts=("early_rows", "row_count", "null_counts"),
        source=found.rows.source if found.rows else None,
    )


def _precise(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
