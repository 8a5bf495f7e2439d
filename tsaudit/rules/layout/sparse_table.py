"""LAY003."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from datetime import UTC, timedelta
from typing import Final

from tsaudit.analysis.columns.columns import is_integer, is_number
from tsaudit.analysis.shapes.name_families import named_fields
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.model.change import Diagnose
from tsaudit.model.columns import Field, FieldEnd, PartOfRows
from tsaudit.model.figures import SERIES_KINDS, How, Ratio, TableKind
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MeasureName
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import duration, listed, many, number, percent, plural, under

_RISE: Final = 0.25
"""Share of the rows that newly lack a value: more is no coincidence, and is noticed before half of the values are
missing.
"""
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
_KINDS: Final = SERIES_KINDS | {TableKind.EVENTS, None}
"""Kinds of rows of which each may be expected to have all columns."""
_FEWEST_FIELDS: Final = 3
"""Minimum number of fields: with fewer, there is little to split."""
_MOST_EMPTY: Final = 50
"""In a table of events, more than this many columns that are hardly ever set are reported: optional attributes are
normal, but nobody knows so many by name.
"""


@rule(
    code="LAY003",
    title="Columns are empty, or no longer filled",
    costs={Currency.ANSWERS},
    guidelines=("D3", "F3", "G4"),
    follows_from=dict.fromkeys(("NAM005", "LAY004"), Reach.MEASUREMENT),
    requires={"null_ratios", "field_types"},
    uses={"options", "row_sample"},
    shows={"row_count"},
    thresholds=(
        Threshold("max_null_ratio", 0.5, "share of cells without a value", "our default: more nulls than values"),
    ),
)
def sparse_table(case: Case) -> Iterator[Finding]:
    """Tables where more than `max_null_ratio` of the field cells are null, and columns that are hardly ever set.

    Reported too is a column whose share of nulls rose by more than a quarter of the rows since the start of the
    history, because its source may have stopped, and a single column that is null in more than 95% of the rows of an
    otherwise filled table. Of a table of events, only more than 50 such columns are reported. Columns for one value of
    any type, such as `str_v` and `dbl_v`, do not count: each row fills one of them. All of these are notes: a null
    takes a bit or less on most engines, and a byte on SQLite. Where the table may have rows before the window, the
    finding says that its shares are those of the window. A column that most rows had, and of which the rows of the last
    day or more have none, is reported with the time of its last value, and so is one that only the rows with some
    values of a tag, such as those of one kind of sensor, or of the hosts with a new agent, do not have anymore, if
    these are at least 5% of the rows. If these rows are of one source, which may be off, that is a note, unless another
    column begins there. In a table without a time, of whatever kind, it is one that none of the rows has that were
    added since an earlier audit. Where a table is too big to look for the last value, one that an audit found is
    reported for as long as the newest rows are without the column, with its time to the hour. A column that nearly all
    rows had at the previous audit, and of which no row has a value anymore although about as many are there, is
    reported at once, with the column that begins there. If the rows may be others, because there are fewer, or they
    have no time, or are no measurements or events, that is a note until another audit finds none, either. If nearly
    all rows had a column that ended, and it contains what was measured, queries get wrong answers. So they do whatever
    it contains, and of any rows, if another column begins there whose name says the same, such as `price_text` where
    `price` ends. Otherwise, one that a tenth of the rows of the window were without before, as if nobody fills it on
    weekends, is a note. So is one that ended on a Friday to Sunday for three days, unless all rows of two earlier
    weekends had it. Rows other than measurements may be changed later, as an order that gets its invoice: what ended
    before the first audit is a note for a week, and if the next audit sees a later end, nothing is reported.
    GreptimeDB's tables for traces are not reported as sparse, because their columns are the attributes of spans. On
    InfluxDB 1 and 2, where an absent field costs nothing, only fields that end are reported, and of those that ended
    before the newest rows read, only what the previous audit saw.

    ## Why it matters

    Nulls have to be skipped and explained. A sparse table is usually two tables in one (sources with different
    columns), or one reading spread over several rows because its fields were written with different timestamps. Both
    make queries longer and aggregates wrong in ways that are hard to notice.

    ## Example

    Prices from two exchanges in one table: one fills `price`, the other `cost` and `volume`. In every row, at least one
    of the three is null.

    ## Fix

    Use one table per kind of source, with the same column names for the same things, and one timestamp for the fields
    that a source reports together.

    ## References

    - Measures that do not come together, Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Sparse schemas:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#avoid-sparse-schemas
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    from tsaudit.analysis.rows.column_groups import typed_values

    # Fields whose names are data occur in few documents each; data-in-key-name reports them.
    fields = named_fields(measurement) if case.engine.keeps_documents else measurement.fields
    chosen = [f for f in fields if not case.engine.names_itself(f.key)]
    nulls = {f.key: f.null_ratio for f in chosen if f.null_ratio is not None}
    for key in typed_values(nulls):
        del nulls[key]
    may_be_filled_later = measurement.kind not in _KINDS and measurement.time_column is not None
    for field in chosen:
        hours, end = _hours(case, measurement, field), field.end
        if end is None or hours is None or end.filled_before <= _MOSTLY or end.rows_after < ENOUGH:
            continue
        if end.erased:
            nulls.pop(field.key, None)
            yield _of_erased(case, measurement, field, end, hours)
            continue
        if hours < _OVER_H or may_be_filled_later:
            continue
        nulls.pop(field.key, None)
        before = _before(case, measurement, field)
        if before is None or before.end is None or end.time - before.end.time < _LATER:
            is_seen, was_filled = _is_seen(before, hours), _was_filled(case, measurement, field, hours)
            yield _of_end(measurement, field, hours, is_seen=is_seen, was_filled=was_filled)
    if case.engine.has_series_index:
        # What is absent takes no space there.
        return
    if nulls and measurement.rows_known >= ENOUGH and measurement.kind in _KINDS:
        yield from _evaluate_nulls(case, measurement, nulls)


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
    if then is None or measurement.time_column is None or measurement.kind not in _KINDS:
        return False
    had, has = then.filled_rows, measurement.filled_rows
    full = {key for key, count in had.items() if count >= NEARLY_ALL * end.rows_before and has.get(key)}
    return end.rows_after >= end.rows_before and all(has[key] >= had[key] for key in full)


def _of_erased(case: Case, measurement: Measurement, field: Field, end: FieldEnd, hours: float) -> Finding:
    """`hours`: since the audit that saw its values."""
    then = f"{end.time.astimezone(UTC):%Y-%m-%d %H:%M}"
    span = _span(case, measurement, field.null_ratio) if field.null_ratio else ""
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


def _evaluate_nulls(case: Case, measurement: Measurement, nulls: dict[str, Ratio]) -> Iterator[Finding]:
    part, cells = _emptiest(measurement, nulls)
    # What no row has is not spread over several kinds of rows.
    cells = {key: ratio for key, ratio in cells.items() if ratio.value < 1}
    mean = _mean(cells)
    worst = sorted(nulls, key=lambda key: (-nulls[key].value, key))
    empty = [key for key in worst if nulls[key].value > NEARLY_ALL]
    limit, within = case.limit("max_null_ratio", measurement), _within(case, measurement, nulls[worst[0]])
    is_table_of_several = mean > limit.value and len(cells) >= _FEWEST_FIELDS
    if measurement.kind is TableKind.EVENTS:
        if len(empty) > _MOST_EMPTY:
            yield _of_events(case, measurement, nulls, empty, within)
    elif is_table_of_several and not case.engine.has_given_columns(measurement):
        message = f"{within}{percent(mean)} of the cells in its {many(len(cells), 'field')}{under(part)} are null."
        worst = sorted(cells, key=lambda key: (-cells[key].value, key))
        finding = _finding(case, measurement, cells, worst, message, mean)
        yield dataclasses.replace(finding, limit=limit, unit=limit.unit)
    elif risen := _risen(case, measurement, nulls):
        before, now = risen[0], nulls[risen[1]].value
        message = f"Nulls in {risen[1]} rose from {percent(before.value)} on {before.day} to {percent(now)}."
        finding = _finding(case, measurement, nulls, [risen[1]], message, now)
        began = before.day + timedelta(days=1)
        rise = f"from {percent(before.value)} to {percent(now)} of the rows"
        yield dataclasses.replace(
            finding,
            headline=f"Nulls in {risen[1]} rose {rise} since {began}",
            baseline=before.value,
            share=None,
            since=began,
            fix=f"If the source was meant to stop sending {risen[1]}, nothing has to be done.",
            changes=(Diagnose(subject_of(measurement), "sources", risen[1]),),
        )
    elif empty:
        share = nulls[empty[0]].value
        where = "them" if within else "the rows"
        often = "all" if share == 1 else percent(share)
        alike = [key for key in empty if percent(nulls[key].value) == percent(share)]
        others = empty[len(alike) :]
        also = f", and {listed(others)} nearly as often" if others else ""
        message = f"{within}{listed(alike)} {plural(len(alike), 'is', 'are')} null in {often} of {where}{also}."
        them = plural(len(empty), "it", "them")
        yield dataclasses.replace(
            _finding(case, measurement, nulls, empty, message, share),
            fix=f"If {listed(empty)} may be empty, or a source was meant to stop sending {them}, nothing has to be "
            "done. Otherwise find what changed in its writer.",
        )


def _within(case: Case, measurement: Measurement, ratio: Ratio) -> str:
    """The rows that the share of nulls is about, as the beginning of a sentence; empty if it is that of all rows."""
    span = _span(case, measurement, ratio)
    return f"In the rows of {span}, " if span else ""


def _span(case: Case, measurement: Measurement, ratio: Ratio) -> str:
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


def _of_events(case: Case, measurement: Measurement, nulls: dict[str, Ratio], empty: list[str], within: str) -> Finding:
    message = (
        f"{within}{number(len(empty))} of its {many(len(nulls), 'field')} are null in more than {percent(NEARLY_ALL)} "
        "of the rows."
    )
    finding = _finding(case, measurement, nulls, empty, message, float(len(empty)))
    return dataclasses.replace(
        finding,
        unit="columns",
        share=None,
        fix="Keep the attributes that few events have in one column of a map or JSON type, or in a table of their own.",
    )


def _emptiest(measurement: Measurement, nulls: dict[str, Ratio]) -> tuple[Measurement | MeasureName, dict[str, Ratio]]:
    """The part of the table with the largest share of nulls, and the share of nulls in each of its fields."""
    if measurement.measure_names is None:
        return measurement, nulls
    parts: list[tuple[MeasureName, dict[str, Ratio]]] = []
    for name in measurement.measure_names.names:
        cells = {
            key: dataclasses.replace(ratio, value=1 - name.filled[key] / name.rows)
            for key, ratio in nulls.items()
            if name.rows and key in name.filled
        }
        if len(cells) > 1:
            parts.append((name, cells))
    return max(parts, key=lambda one: _mean(one[1]), default=(measurement, {}))


def _mean(nulls: dict[str, Ratio]) -> float:
    return sum(r.value for r in nulls.values()) / len(nulls) if nulls else 0.0


def _risen(case: Case, measurement: Measurement, nulls: dict[str, Ratio]) -> tuple[Point, str] | None:
    """The lowest point of the column whose share of nulls rose most, on the newest day with that share, and the column;
    None if it rose by less than the limit.
    """
    rises: dict[str, tuple[float, Point]] = {}
    for key, ratio in nulls.items():
        points = case.timeline.of("null_ratio", subject_of(measurement, key))
        if points:
            lowest = min(reversed(points), key=lambda point: point.value)
            rises[key] = ratio.value - lowest.value, lowest
    worst = max(rises, key=lambda key: rises[key][0], default=None)
    if worst is None or rises[worst][0] <= _RISE:
        return None
    return rises[worst][1], worst


def _finding(
    case: Case,
    measurement: Measurement,
    nulls: dict[str, Ratio],
    columns: list[str],
    message: str,
    observed: float,
) -> Finding:
    return Finding(
        subject=subject_of(measurement),
        message=message,
        fix=f"Give rows that fill different columns a {case.engine.words.measurement} each. If the fields belong to "
        "one source, write them with one timestamp.",
        observed=observed,
        unit="share of rows without a value",
        main_contributor=columns[0],
        share=nulls[columns[0]].value / sum(r.value for r in nulls.values()),
        evidence=tuple(Evidence(f"nulls in {key}", percent(nulls[key].value)) for key in columns[:20]),
        facts=("null_ratios", "row_count"),
        source=nulls[columns[0]].source,
    )
