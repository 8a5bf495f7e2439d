"""LAY003."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from tsaudit.analysis.shapes.name_families import named_fields
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.model.change import Diagnose
from tsaudit.model.figures import Ratio, TableKind
from tsaudit.model.finding import Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MeasureName
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.ended_columns import HAVE_ALL_COLUMNS, counted_span, ended_columns
from tsaudit.text import listed, many, number, percent, plural, under

_RISE: Final = 0.25
"""Share of the rows that newly lack a value: more is no coincidence, and is noticed before half of the values are
missing.
"""
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
    """Tables where more than `max_null_ratio` of the field cells are null, and columns that are no longer filled.

    Empty cells are notes, because a null takes a bit or less on most engines, and a byte on SQLite:

    - More than `max_null_ratio` of the field cells of a table are null. Columns for one value of any type, such as
      `str_v` and `dbl_v`, do not count: each row fills one of them.
    - The share of nulls in a column rose by more than a quarter of the rows since the start of the history: its source
      may have stopped.
    - A column is null in more than 95% of the rows of an otherwise filled table. In a table of events, more than 50
      columns have to be.

    Where the table may have rows before the window, the shares are those of the window. On InfluxDB 1 and 2, where an
    absent field costs nothing, empty cells are not reported, and of GreptimeDB's tables for traces, whose columns are
    the attributes of spans, not the share of all cells.

    A column that is no longer filled gives queries wrong answers:

    - Most rows had it, and those of the last day or more do not have it with any type; on InfluxDB 2, whose queries
      return one type only, fields with several are left out. The finding says when it had its last value. In a
      table without a time, of whatever kind, the rows that were added since an earlier audit do not have it. In a table
      too big to look for the last value, an end that an audit found is reported for as long as the newest rows are
      without the column, with its time to the hour. On InfluxDB 1 and 2, an end before the newest rows read is only
      reported if the previous audit saw it, too.
    - The same holds for the rows with some values of a tag, such as those of one kind of sensor, or of the hosts with a
      new agent, if these are at least 5% of the rows.
    - Its values are gone: nearly all rows had one at the previous audit, and none has although about as many rows are
      there. This is reported at once.

    The finding names the columns that begin there. It is a note if the end may be meant, or pass. If a column begins
    there whose name says the same, such as `price_text` where `price` ends, only the first case applies:

    - Not nearly all rows had the column.
    - The rows are of one source, which may be off, and no column begins there.
    - It does not contain what was measured.
    - Nobody may fill it on weekends: a tenth of the rows of the window were without it before, or it ended on a Friday
      to Sunday in the last three days, and not all rows of two earlier weekends had it.
    - Rows that are no measurements may be changed later, as an order that gets its invoice. What ended before the first
      audit is a note for a week, and if the next audit sees a later end, nothing is reported.
    - The values of rows that may be others are gone: there are fewer rows, or they have no time, or are no measurements
      or events. It is no longer a note when the next audit finds none, either.

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
    for field, finding in ended_columns(case, measurement, chosen):
        nulls.pop(field.key, None)
        if finding is not None:
            yield finding
    if case.engine.has_series_index:
        # What is absent takes no space there.
        return
    if nulls and measurement.rows_known >= ENOUGH and measurement.kind in HAVE_ALL_COLUMNS:
        yield from _evaluate_nulls(case, measurement, nulls)


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
    span = counted_span(case, measurement, ratio)
    return f"In the rows of {span}, " if span else ""


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
