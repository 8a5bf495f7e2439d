"""LAY004."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.shapes.name_families import named_fields
from tsaudit.analysis.significance import ALIKE, NEARLY_ALL
from tsaudit.model.change import Change, SplitMeasurement
from tsaudit.model.figures import SERIES_KINDS
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MeasureName
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.text import listed, many, number, percent, under

if TYPE_CHECKING:
    from tsaudit.analysis.rows.column_groups import FieldGroup, Groups

_RARE: Final = 0.05
"""Share of the rows below which they are exceptions, not a kind of their own."""


@rule(
    code="LAY004",
    title="Rows of different kinds share a table",
    guidelines=("D4", "G2"),
    follows_from={"LAY010": Reach.MEASUREMENT, "NAM006": Reach.MEASUREMENT},
    requires={"row_patterns", "field_types"},
    uses={"options"},
    kinds=SERIES_KINDS,
)
def mixed_rows(case: Case) -> Iterator[Finding]:
    """Tables with several kinds of rows, where each kind fills columns that no other kind fills.

    On Timestream, each measure name is checked separately, since rows with different measure names may well differ.
    Columns that every row fills are ignored; the others are split into groups of which each row fills one. The finding
    lists those with at least 5% of the rows.
    GreptimeDB's tables for traces are left out, because their columns are the attributes of all kinds of spans; so are
    columns for one value of any type, such as `str_v` and `dbl_v`. The finding is a note: a null takes a bit or less on
    most engines.

    ## Why it matters

    Queries have to know which kind of row they want, and a sum over `price` misses the rows where another source calls
    it `cost`.

    ## Example

    Two exchanges write to one table: one writes `source`, `code`, and `price`, the other `src`, `currency`, `cost`, and
    `volume`. Half of all cells are null.

    ## Fix

    Either make both write the same columns (`src` as `source`, `currency` as `code`, `cost` as `price`), or use a
    separate table for each kind of row.

    ## References

    - Measure names for kinds of data, Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Homogeneous measurements:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#measurement-schemas-should-be-homogenous
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    from tsaudit.analysis.rows import column_groups
    from tsaudit.analysis.rows.column_groups import typed_values

    if case.engine.has_given_columns(measurement):
        return
    for part in measurement.parts:
        found = part.row_patterns
        if found is None or found.rows < ALIKE or found.is_split:
            continue
        keyed = _keyed(case, measurement) | typed_values(field.key for field in measurement.fields)
        divided = column_groups.groups(((frozenset(p.columns) - keyed, p.rows) for p in found.patterns), found.rows)
        kinds = [group for group in divided.groups if group.rows >= _RARE * divided.rows]
        if len(kinds) > 1 and divided.coverage >= NEARLY_ALL:
            yield _finding(measurement, part, divided, kinds)
            return


def _keyed(case: Case, measurement: Measurement) -> set[str]:
    """Fields of documents whose names are data, so that each occurs in few documents."""
    if not case.engine.keeps_documents:
        return set()
    return {field.key for field in measurement.fields} - {field.key for field in named_fields(measurement)}


def _finding(
    measurement: Measurement, part: Measurement | MeasureName, divided: Groups, kinds: Sequence[FieldGroup]
) -> Finding:
    assert part.row_patterns is not None
    return Finding(
        subject=subject_of(measurement),
        message=f"Its rows{under(part)} are of {number(len(kinds))} kinds: "
        + "; ".join(f"{percent(g.rows / divided.rows)} fill {listed(g.columns, 6)}" for g in kinds)
        + ".",
        headline=f"Its rows{under(part)} are of {number(len(kinds))} kinds, which fill different columns",
        fix="Where the kinds have much in common, write what means the same under one name instead.",
        changes=_split(measurement, kinds),
        observed=float(len(kinds)),
        unit="kinds of rows",
        evidence=(
            *(Evidence(f"columns of kind {n}", listed(group.columns, 20)) for n, group in enumerate(kinds, start=1)),
            Evidence("columns of all kinds", listed(divided.common, 20)),
            Evidence("rows read", many(divided.rows, "row")),
        ),
        facts=("row_patterns",),
        source=part.row_patterns.source,
    )


def _split(measurement: Measurement, kinds: Sequence[FieldGroup]) -> tuple[Change, ...]:
    """A measurement for each kind except the first, which stays where it is."""
    return tuple(
        SplitMeasurement(subject_of(measurement), f"{measurement.name}_{group.columns[0]}", tuple(group.columns))
        for group in kinds[1:]
    )
