"""LAY005."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit import costs
from tsaudit.analysis.significance import ALIKE
from tsaudit.model.figures import SERIES_KINDS
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MeasureName, RowPatterns
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, number, percent, under

_NAMED: Final = 3
"""Columns that are filled together and are all named; of more, the first is."""


@rule(
    code="LAY005",
    title="One reading is spread over several rows",
    costs={Currency.BYTES},
    guidelines=("D5",),
    requires={"row_patterns", "field_types"},
    kinds=SERIES_KINDS,
)
def split_rows(case: Case) -> Iterator[Finding]:
    """Tables where rows of one source alternate: each fills only fields that the previous row left null.

    Reported if more than 80% of consecutive rows in a series have no field in common, from 20 pairs of rows on.

    On PostgreSQL, the cost is what the rows too many take: 36 bytes each for the row itself, as measured on PostgreSQL
    15, and their part of the indexes. Elsewhere the finding is a note, because nobody measured a price; and where the
    series are guessed, since no key contains them.

    ## Why it matters

    A source that reports `temperature` and, a moment later, `humidity` writes two rows for one reading: twice the rows,
    half of their cells null, and a query has to join the table with itself to compare the two.

    ## Example

    `fieldA` is written for a tag set, then `fieldB` for the same tag set with another timestamp: two rows, each with a
    null.

    ## Fix

    Give the fields of one reading the same timestamp, for example by rounding to the measuring interval.

    ## References

    - Fields with different timestamps:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#writing-individual-fields-with-different-timestamps
    """
    for measurement in case.measurements:
        for part in measurement.parts:
            found = part.row_patterns
            if found is not None and found.pairs >= ALIKE and found.is_split:
                yield _finding(case, measurement, part, found)
                break


def _finding(case: Case, measurement: Measurement, part: Measurement | MeasureName, found: RowPatterns) -> Finding:
    fields = {field.key for field in measurement.fields}
    parts = [tuple(c for c in pattern.columns if c in fields) for pattern in found.patterns]
    parts = [part for part in dict.fromkeys(parts) if part]
    ratio = found.complementary_ratio
    return Finding(
        subject=subject_of(measurement),
        impact=_impact(case, measurement, found, len(parts)),
        basis=Basis.INFERRED if case.engine.infers_roles and not _is_keyed(measurement) else Basis.MEASURED,
        message=f"{listed([_in_short(part) for part in parts], 4)} alternate{under(part)}: {percent(ratio)} "
        "of consecutive rows in a series have no field in common.",
        fix=f"Have the writer collect {listed(sorted({c for part in parts for c in part}))} of one source and write "
        "them with one timestamp, such as that of the start of the cycle. Rows of one key and time are then one row.",
        observed=ratio,
        unit="share of pairs",
        evidence=(
            *(Evidence("filled together", listed(part, 20)) for part in parts[:8]),
            Evidence("pairs of rows", number(found.pairs)),
            Evidence("rows read", many(found.rows, "row")),
        ),
        facts=("row_patterns",),
        source=found.source,
    )


def _impact(case: Case, measurement: Measurement, found: RowPatterns, parts: int) -> Impact | None:
    """The bytes that writing one row per reading would save; None if the engine has no cost per row."""
    rows, price = measurement.rows_total or measurement.rows, case.engine.row_bytes
    if price is None or rows is None or not rows.value or parts < 2:
        return None
    saved = rows.value * found.complementary_ratio * (1 - 1 / parts)
    indexes = measurement.storage.index_bytes if measurement.storage else None
    each = price + (indexes or 0) / rows.value
    return costs.of_bytes(
        case, measurement, saved * each, how=f"{number(round(saved))} rows too many; {case.engine.row_price}"
    )


def _is_keyed(measurement: Measurement) -> bool:
    """Whether a key of the table shows what identifies a series at one instant."""
    columns = {measurement.time_column, *(tag.key for tag in measurement.tags)}
    return any(i.unique and {*i.columns} == columns for i in measurement.indexes or ())


def _in_short(part: Sequence[str]) -> str:
    """Columns that are filled together, in a list of others."""
    return " and ".join(part) if len(part) <= _NAMED else f"{part[0]} with {number(len(part) - 1)} more"
