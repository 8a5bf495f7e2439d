"""Columns that nobody fills anymore, and columns whose values are gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, timedelta
from typing import Final

from tsaudit.analysis.columns.columns import is_integer, is_number, types_read_apart
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.model.change import Diagnose
from tsaudit.model.columns import Field, FieldEnd, PartOfRows
from tsaudit.model.figures import SERIES_KINDS, How, Ratio, TableKind
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, subject_of
from tsaudit.text import duration, listed, many, number, percent, plural

HAVE_ALL_COLUMNS: Final = SERIES_KINDS | {TableKind.EVENTS, None}
"""Kinds of rows of which each may be expected to have all columns."""
_OVER_H: Final = 24
"""From so many hours without a value on, a column is over: what runs once a day would have filled it."""
_WEEK_H: Final = 7 * 24
"""What is filled later by a job that runs once a week is filled by then."""
_LATER: Final = timedelta(hours=2)
"""An end that is so much later in the next audit was none: rows are filled later."""
_WEEKEND: Final = (4, 5, 6)
"""Friday to Sunday."""
_WEEKEND_H: Final = 72
"""What is not filled on weekends is filled again by then, from its end on a Friday to Sunday on."""
_MOSTLY: Final = 0.5
_ALWAYS: Final = 0.9
"""Share of the rows that a column has which nobody leaves out for a day each week."""
_ABOUT: Final = 1.2
"""An estimate of all rows may be so many times the rows counted although there are no others."""


def ended_columns(
    case: Case, measurement: Measurement, fields: Iterable[Field]
) -> Iterator[tuple[Field, Finding | None]]:
    """The fields of which the newest rows have no value although most rows had one; None is reported while a job that
    runs later may still fill the field.
    """
    may_be_filled_later = measurement.kind not in HAVE_ALL_COLUMNS and measurement.time_column is not None
    for field in fields:
        if case.engine.has_series_index and not case.engine.reads_each_type and types_read_apart(field.types):
            # Newer rows may have it with another type.
            continue
        hours, end = _hours(case, measurement, field), field.end
        if end is None or hours is None or end.filled_before <= _MOSTLY or end.rows_after < ENOUGH:
            continue
        if end.erased:
            yield field, _of_erased(case, measurement, field, end, hours)
            continue
        if hours < _OVER_H or may_be_filled_later:
            continue
        before = _before(case, measurement, field)
        if before is not None and before.end is not None and end.time - before.end.time >= _LATER:
            yield field, None
            continue
        is_seen, was_filled = _is_seen(before, hours), _was_filled(case, measurement, field, hours)
        yield field, _of_end(measurement, field, hours, is_seen=is_seen, was_filled=was_filled)


def _hours(case: Case, measurement: Measurement, field: Field) -> float | None:
    """For how long the rows that had the field have been without it; None if they have it, or it is not known."""
    has_times = measurement.time_column is not None and not (field.end and field.end.erased)
    if field.end is None or (field.end.of is None and has_times):
        return field.idle_hours
    last = measurement.last_time if has_times else case.profile.window.end
    # No schedule is on time to the second.
    return None if last is None else round((last - field.end.time) / timedelta(hours=1))


def _before(case: Case, measurement: Measurement, field: Field) -> Field | None:
    """The field in the previous snapshot; None if it was not in it."""
    before = case.timeline.earlier(measurement)
    return next((one for one in before.fields if one.key == field.key), None) if before else None


def _is_seen(before: Field | None, hours: float) -> bool:
    """Whether the previous audit saw the same end, a week ago or longer, or rows that have the field up to then."""
    if before is None:
        return False
    if before.end is not None:
        return hours >= _WEEK_H
    return before.idle_hours is not None and before.idle_hours < _OVER_H


def _was_filled(case: Case, measurement: Measurement, field: Field, hours: float) -> bool:
    """Whether the rows of the window had the field up to its end, on an earlier day, or now if all days have as many
    rows; also True if that is not known. Otherwise, it may be one that nobody fills on weekends. On the first days
    after an end on one, False unless it was filled on two earlier ones.
    """
    first, last, end, nulls = measurement.first_time, measurement.last_time, field.end, field.null_ratio
    if measurement.time_column is None or end is None:
        return True
    earlier = case.timeline.of("null_ratio", subject_of(measurement, field.key))
    ended = end.of.first if end.of else end.time
    if (
        hours < _WEEKEND_H
        and ended.astimezone(UTC).weekday() in _WEEKEND
        and _weekends_filled(measurement, field, end, earlier) < 2
    ):
        return False
    if end.of or nulls is None or nulls.source.how is How.SAMPLED:
        return True
    share = 1 - nulls.value
    if first and last:
        share *= (last - first) / max(end.time - first, timedelta(hours=1))
    return max(share, 1 - min((point.value for point in earlier), default=1.0)) >= _ALWAYS


def _weekends_filled(measurement: Measurement, field: Field, end: FieldEnd, earlier: Sequence[Point]) -> int:
    """Number of weekends of the window before the end on which all rows are known to have the field, now or because
    none was without it on an earlier day: on weekends there may be few rows.
    """
    first, rows, nulls = measurement.first_time, measurement.rows, field.null_ratio
    if first is None:
        return 0
    until = first.date()
    if end.of:
        # Older rows with these values were read.
        until = end.of.first.date()
    elif rows and nulls and nulls.source.how is How.EXACT:
        full = [point.day for point in earlier if point.value == 0]
        full += [end.time.date()] if round(rows.value * nulls.value) <= end.rows_after else []
        until = max(full, default=until)
    days = (first.date() + timedelta(days=n) for n in range(1, (until - first.date()).days))
    return sum(day.weekday() == max(_WEEKEND) for day in days)


def _of_end(measurement: Measurement, field: Field, hours: float, *, is_seen: bool, was_filled: bool) -> Finding:
    """`hours`: for how long it has been empty. `is_seen`: whether the previous audit confirms that no later job fills
    it. `was_filled`: as from `_was_filled`.
    """
    assert field.end is not None
    end, last = field.end, f"{field.end.time.astimezone(UTC):%Y-%m-%d %H:%M}"
    day = f"{end.of.first.astimezone(UTC):%Y-%m-%d %H:%M}" if end.of else last
    before = "all" if end.filled_before == 1 else percent(end.filled_before)
    is_measured = measurement.has_series or any(is_number(t) and not is_integer(t) for t in field.types)
    renamed = _renamed(field, end)
    may_be_off = end.of is not None and end.of.sources < 2 and not end.begun
    is_sure = (
        not may_be_off
        and end.filled_before >= NEARLY_ALL
        and (bool(renamed) or (was_filled and is_measured and (measurement.has_series or is_seen)))
    )
    of, which = _of_rows(end.of) if end.of else ("", "")
    which += f", the last of them since {last} UTC" if last != day else ""
    missed = f"Queries of {field.key}{of} find nothing since then, and of longer periods, only what is older."
    if measurement.time_column is None:
        missed = f"Sums and means of {field.key} leave out all rows that were added since then."
    begins = ""
    fix = "Find what changed in its writer on that day: what is not written now is lost. If the source was meant to "
    fix += f"stop sending {field.key}{', or the source is off' if may_be_off else ''}, nothing has to be done."
    if begun := renamed or end.begun:
        begins = f", where {listed(begun, 3)} {plural(len(begun), 'begins', 'begin')}"
        fix = f"If the writer was meant to change, query {listed([field.key, *begun], 4)} together, or move the older "
        fix += "values. Otherwise find what changed in it on that day."
    then, after, newest = "read up to then", "read after it", "newest row with a value"
    if measurement.time_column is None:
        then, after, newest = "there were then", "added since then", "audit before the first of these rows"
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=Impact(Currency.ANSWERS, how="rows read before and after", consequence=missed) if is_sure else None,
        headline=f"{field.key}{of} is not filled anymore since {day}{begins}",
        message=f"{field.key}{of} is not filled anymore since {day} UTC{which}{begins}: it has a value in {before} of "
        f"the {number(end.rows_before)} rows {then}, and in none of the {number(end.rows_after)} {after}.",
        fix=fix,
        changes=(Diagnose(subject_of(measurement), "sources", field.key),) if end.of and end.of.count > 1 else (),
        observed=float(round(hours)),
        unit="hours without a value",
        main_contributor=field.key,
        since=(end.of.first if end.of else end.time).astimezone(UTC).date(),
        evidence=(Evidence(newest, f"{last} UTC"),),
        facts=("null_ratios", "row_count"),
        source=field.distinct.source if field.distinct else None,
    )


def _renamed(field: Field, end: FieldEnd) -> tuple[str, ...]:
    """The columns that begin at the end whose names say the same."""
    from tsaudit.analysis.rows.column_groups import is_same_but_for_affix

    return tuple(key for key in end.begun if is_same_but_for_affix(field.key, key))


def _is_gone(case: Case, measurement: Measurement, field: Field, end: FieldEnd) -> bool:
    """Whether the values of the rows that had the field are gone for sure: the previous audit found none, either, or
    another column has them, or as many rows as then are there, with what else they had. Rows without a time may be
    others, such as those of a table that is written again every day, and some columns hold a state.
    """
    before, then = _before(case, measurement, field), case.timeline.earlier(measurement)
    if _renamed(field, end) or (before and before.end and before.end.erased):
        return True
    if then is None or measurement.time_column is None or measurement.kind not in HAVE_ALL_COLUMNS:
        return False
    had, has = then.filled_rows, measurement.filled_rows
    full = {key for key, count in had.items() if count >= NEARLY_ALL * end.rows_before and has.get(key)}
    return end.rows_after >= end.rows_before and all(has[key] >= had[key] for key in full)


def _of_erased(case: Case, measurement: Measurement, field: Field, end: FieldEnd, hours: float) -> Finding:
    """`hours`: since the audit that saw its values."""
    then = f"{end.time.astimezone(UTC):%Y-%m-%d %H:%M}"
    span = counted_span(case, measurement, field.null_ratio) if field.null_ratio else ""
    of = f" of {span}" if span else ""
    before = "all" if end.filled_before == 1 else percent(end.filled_before)
    begins, fix = "", "Find what changed it, and restore its values. If it was meant to be emptied, drop the column."
    if begun := _renamed(field, end) or end.begun:
        begins = f", where {listed(begun, 3)} {plural(len(begun), 'begins', 'begin')}"
        fix = f"If its values were moved, query {listed(begun, 3)} instead, and drop {field.key}. Otherwise find what "
        fix += "changed it, and restore its values."
    missed = f"Queries of {field.key} find nothing anymore, "
    missed += f"in rows of {span}." if span else "of older rows either."
    is_sure = _is_gone(case, measurement, field, end)
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=Impact(Currency.ANSWERS, how="rows counted before and after", consequence=missed) if is_sure else None,
        headline=f"All values of {field.key}{of} are gone since the audit of {then}{begins}",
        message=f"All values of {field.key}{of} are gone since the audit of {then} UTC{begins}: {before} of the "
        f"{number(end.rows_before)} rows there were then had one, and none of the {number(end.rows_after)} rows now.",
        fix=fix,
        observed=float(round(hours)),
        unit="hours without a value",
        main_contributor=field.key,
        since=end.time.astimezone(UTC).date(),
        evidence=(Evidence("audit before", f"{then} UTC"),),
        facts=("null_ratios", "row_count"),
        source=field.null_ratio.source if field.null_ratio else None,
    )


def _of_rows(part: PartOfRows) -> tuple[str, str]:
    """The rows in words, and which values these are, if they are several."""
    if part.count == 1:
        return f" of rows with {part.tag} {part.values[0]}", ""
    others = [f"{number(part.count - len(part.values))} more"] if part.count > len(part.values) else []
    return (
        f" of rows with any of {number(part.count)} of the {many(part.known, 'value')} of {part.tag}",
        f" ({listed([*part.values, *others])})",
    )


def counted_span(case: Case, measurement: Measurement, ratio: Ratio) -> str:
    """The time of the rows that the share of nulls is about; empty if it is that of all rows."""
    window, rows = measurement.own_window or case.profile.window, measurement.rows
    is_counted = measurement.time_column is not None and ratio.source.how is not How.ESTIMATE
    total = measurement.rows_total
    is_all = total is not None and rows is not None and total.source.how is How.EXACT and total.value <= rows.value
    is_young = total is None or rows is None or total.value <= _ABOUT * rows.value
    is_young &= measurement.first_time is not None and measurement.first_time - window.start >= timedelta(days=1)
    if case.engine.keeps_documents or not is_counted or is_all or is_young:
        return ""
    its = "the" if measurement.own_window is None else "its"
    return f"{its} last {duration((window.end - window.start).total_seconds())}"
