"""STO005."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from tsaudit import costs
from tsaudit.engines.greptimedb.tables import is_append_only, is_metric, primary_key
from tsaudit.model.change import MakeField
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, many, number


@rule(
    code="STO005",
    title="A primary key has no benefit",
    costs={Currency.SERIES},
    guidelines=("E2",),
    # The column without which the key would have a benefit.
    follows_from={"TAG002": Reach.MEASUREMENT},
    requires={"options", "tag_values", "series_listing"},
    uses={"null_counts", "indexes"},
    thresholds=(
        Threshold("min_rows", 1_000, "rows", "our default: with fewer, that few share a key may be a coincidence"),
        Threshold(
            "min_rows_per_key",
            10,
            "rows per value of the key",
            "our default: with fewer, rows with one value do not fill a block that could be read alone",
        ),
    ),
)
def unnecessary_primary_key(case: Case) -> Iterator[Finding]:
    """Append-only tables with a primary key that neither deduplicates nor sorts rows in a way that helps queries.

    An append-only table keeps every row, so its key only sorts them. Even that is useless if all its columns have one
    value, or if there are fewer than `min_rows_per_key` rows per value of the key. The audit does not know which
    columns queries filter by, so columns with enough rows per value can stay in the key. The cost is the values of the
    key, each of which takes memory, that would not be there without the other columns. A key with a single value costs
    nothing. On any table, it is a note if the key starts with a column of one value, because the first column is the
    one that divides files best.

    ## Why it matters

    Rows are sorted by the key before the time. Rows of the same hour are then spread over the files, memory is used for
    each value of the key, and inserts take longer. For logs that are searched by time, all of this is pure cost.

    ## Example

    `http_logs` with `PRIMARY KEY (request_id)` and `append_mode = 'true'`: each row has a different key, and no rows
    are ever merged.

    ## Fix

    Remove the key, or its columns with many values. If queries look up single values of such a column, use a skipping
    index.

    ## References

    - The primary key is optional:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        rows, series = measurement.rows, measurement.series
        if not measurement.tags or rows is None or series is None or is_metric(measurement):
            continue
        if rows.value < case.limit("min_rows", measurement).value:
            continue
        per_key = rows.value / max(series.value, 1)
        if is_append_only(measurement) and (why := _why(case, measurement, per_key)):
            yield _unnecessary(case, measurement, per_key, why)
        elif last := _to_put_last(measurement):
            yield _led_by(measurement, last)


def _why(case: Case, measurement: Measurement, per_key: float) -> str:
    """Why the key has no benefit; empty if it has one."""
    assert measurement.rows is not None
    assert measurement.series is not None
    if all(t.values is not None and t.values.value <= 1 for t in measurement.tags):
        return "all its rows have the same key value, which sorts nothing"
    if per_key >= case.limit("min_rows_per_key", measurement).value:
        return ""
    keys, rows = many(measurement.series.value, "value"), many(measurement.rows.value, "row")
    return f"{keys} of the key for {rows}, none of which is ever merged"


def _to_put_last(measurement: Measurement) -> tuple[str, ...]:
    """The columns with one value at the start of the key, before one with several; none if its order is not known."""
    if not any(i.kind == "primary" for i in measurement.indexes or ()):
        return ()
    values = {t.key: t.values.value for t in measurement.tags if t.values is not None}
    key = primary_key(measurement)
    leading = tuple(itertools.takewhile(lambda column: values.get(column) == 1, key))
    return leading if len(leading) < len(key) and values.get(key[len(leading)], 0) > 1 else ()


def _led_by(measurement: Measurement, last: tuple[str, ...]) -> Finding:
    key = primary_key(measurement)
    better = (*key[len(last) :], *last)
    assert measurement.series is not None
    return Finding(
        subject=subject_of(measurement),
        message=f"The key ({', '.join(key)}) starts with {listed(last)}, which has the same value in all rows: "
        "the first column divides files best, and this one divides nothing.",
        fix=f"When you recreate the table for another reason, set its key to ({', '.join(better)}). A key begins "
        "best with what queries filter by most.",
        main_contributor=key[0],
        evidence=(Evidence("key", ", ".join(key)), Evidence("better", ", ".join(better))),
        facts=("tag_values", "indexes"),
        source=measurement.series.source,
    )


def _kept(case: Case, measurement: Measurement) -> list[str]:
    """The columns of the key that sort rows usefully: each combination of their values has enough rows."""
    values = {t.key: t.values.value for t in measurement.tags if t.values is not None}
    rows = measurement.rows.value if measurement.rows else 0
    kept, blocks = list[str](), case.limit("min_rows_per_key", measurement).value
    for column in primary_key(measurement):
        if values.get(column, 0) > 1 and blocks * values[column] <= rows:
            kept.append(column)
            blocks *= values[column]
    return kept


def _unnecessary(case: Case, measurement: Measurement, per_key: float, why: str) -> Finding:
    key, kept = primary_key(measurement), _kept(case, measurement)
    values = {t.key: t.values.value for t in measurement.tags if t.values is not None}
    use = "has columns without benefit" if kept else "has no benefit"
    may_stay = f" Where most queries filter by {listed(kept)}, a key of {'it' if len(kept) == 1 else 'them'} helps."
    counts = [f"{t.key}: {number(t.values.value)}" for t in measurement.tags if t.values is not None]
    assert measurement.series is not None
    return Finding(
        subject=subject_of(measurement),
        impact=costs.of_series(case, measurement, [column for column in key if column not in kept]),
        message=f"The key ({', '.join(key)}) of an append-only table {use}: {why}.",
        changes=tuple(MakeField(subject_of(measurement), column) for column in key if column not in kept),
        fix=f"Rows sorted by time alone are the vendor's baseline for such a table.{may_stay if kept else ''}",
        observed=per_key,
        limit=case.limit("min_rows_per_key", measurement),
        unit="rows per value of the key",
        main_contributor=max(key, key=lambda column: values.get(column, 0)),
        evidence=(
            Evidence("columns of the key, with their distinct values", listed(counts, 20)),
            Evidence("rows per value of the key", number(per_key)),
        ),
        facts=("options", "tag_values", "series_listing", "null_counts"),
        source=measurement.series.source,
    )
