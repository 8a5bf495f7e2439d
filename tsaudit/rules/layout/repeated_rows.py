"""LAY009."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.analysis.columns.types import is_integer, is_number
from tsaudit.analysis.significance import ALIKE
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import SERIES_KINDS, Measurement, Repeats, TableKind
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import number, percent


@rule(
    code="LAY009",
    title="Rows are stored twice",
    guidelines=("F3",),
    requires={"repeats"},
    kinds=SERIES_KINDS | {TableKind.EVENTS},
    engines=lambda engine: engine.infers_roles,
)
def repeated_rows(case: Case) -> Iterator[Finding]:
    """Tables of sources or measured values in which rows are the same as another one, in time and all other columns.

    Reported from `harm.max_overwritten_share` of the rows read on, and from 20 rows on. Columns that the database
    fills, such as a serial ID, do not distinguish rows. The finding is a note: rows of events with a coarse time may be
    the same and still be two events, which only those who write them know.

    ## Why it matters

    A sender that gets no answer sends a batch again, and without a unique key both are kept: each sum and each count is
    too high, and nothing shows it.

    ## Example

    `trades (id serial, at, market, price, amount)`: after a restart, the collector reads the last minutes again. Each
    of their rows is there twice, under two IDs.

    ## Fix

    Delete what is there twice, then declare a unique key of what identifies a row, and write with
    `ON CONFLICT DO NOTHING`.

    ## References

    - Rows that are in conflict with a key: https://www.postgresql.org/docs/current/sql-insert.html#SQL-ON-CONFLICT
    """
    for measurement in case.measurements:
        found = measurement.repeats
        least = max(ALIKE, case.harm.max_overwritten_share * found.rows) if found else 0
        if found is not None and found.identical >= least and _says_enough(measurement):
            yield _finding(measurement, found)


def _says_enough(measurement: Measurement) -> bool:
    """Whether two rows about different things would hardly ever be identical, because rows have a source or a measured
    value.
    """
    types = {t for field in measurement.fields for t in field.types}
    return bool(measurement.tags) or any(is_number(t) and not is_integer(t) for t in types)


def _finding(measurement: Measurement, found: Repeats) -> Finding:
    share, tags = found.identical / found.rows, [tag.key for tag in measurement.tags]
    key = f", such as ({', '.join([measurement.time_column or '', *tags])})," if tags else " of what identifies a row,"
    return Finding(
        subject=subject_of(measurement),
        message=f"{percent(share)} of the rows read are the same as another one in all columns, so sums and counts are "
        "too high, unless each is an event of its own.",
        fix=f"If they were sent twice, delete the copies, and declare a unique key{key} so that ON CONFLICT DO NOTHING "
        "keeps the next ones out.",
        observed=share,
        unit="share of the rows read",
        evidence=(
            Evidence("rows that are the same in all columns", f"{number(found.identical)} of {number(found.rows)}"),
            Evidence("rows with the tags and time of another", f"{number(found.repeated)} of {number(found.rows)}"),
        ),
        facts=("repeats",),
        source=found.source,
    )
