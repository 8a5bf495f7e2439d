"""Findings about times in a wrong unit, in another form, or of a wrong clock. `mistyped-field` reports them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import ALIKE
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MisdatedRows, OtherTimes, RowsAhead
from tsaudit.rule import Case, subject_of, table_of
from tsaudit.text import day, duration, instant, listed, many, number, percent

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


def ahead(case: Case, measurement: Measurement, found: RowsAhead) -> Finding:
    """Rows of some sources that are later than now: what is written today seems to be of later."""
    offset, time = duration(found.offset_s), measurement.time_column or ""
    of, all_values = f"{many(found.values, 'value')} of {found.column}", number(found.values + found.others)
    missed = f"Queries up to now leave out the newest {offset} of {of}, and queries by hour compare different hours."
    impact = Impact(Currency.ANSWERS, how="the newest time of each value, compared with now", consequence=missed)
    is_standard = case.engine.infers_roles and case.engine.enforces_types
    statement = ""
    if is_standard and (measurement.time_type or "").upper().startswith("TIMESTAMP"):
        table = case.engine.quoted(table_of(measurement))
        column, source = case.engine.quoted(time), case.engine.quoted(found.column)
        back = f"{column} - INTERVAL '{round(found.offset_s / 60)} minutes'"
        # For people, who fill in the rest.
        statement = f": `UPDATE {table} SET {column} = {back} WHERE {source} IN (...) AND {column} >= '...'`"  # noqa: S608
    return Finding(
        subject=subject_of(measurement, time),
        impact=impact,
        message=f"Rows of {number(found.values)} of {all_values} values of {found.column} are about {offset} ahead: "
        f"the newest is from {instant(found.newest)}, while the others end at about now.",
        fix="Correct the clock or the time zone of what writes these rows, or let it send UTC. Then move back by "
        f"{offset} what they have stored since that began, with the other times in these rows{statement}.",
        observed=float(found.values),
        unit="values",
        main_contributor=found.column,
        samples=found.examples,
        evidence=(
            Evidence(f"such values of {found.column}", listed([redact_unless_name(one) for one in found.examples])),
            Evidence("ahead by", offset),
            Evidence("rows read that are later than now", number(found.rows.value)),
            Evidence("values that end at about now", number(found.others)),
        ),
        facts=("field_values",),
        source=found.rows.source,
    )
