"""LAY009."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit import costs
from tsaudit.analysis.columns.columns import is_load_stamp, names_source
from tsaudit.model.change import DropRepeats
from tsaudit.model.figures import How
from tsaudit.model.finding import Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Copies
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, number, percent, span
from tsaudit.text.table_roles import is_guess


@rule(
    code="LAY009",
    title="Rows are stored twice",
    costs={Currency.ANSWERS},
    guidelines=("F3",),
    requires={"row_sample"},
    engines=lambda engine: engine.infers_roles,
)
def repeated_rows(case: Case) -> Iterator[Finding]:
    """Tables in which rows are the same as another one, in time and all other columns.

    Reported from `harm.max_overwritten_share` of the rows read on, and from 20 rows on. Columns that the database
    fills, such as a serial ID, single whole numbers with a unique index, and columns that say when a row was loaded,
    such as `loaded_at`, do not distinguish rows. Rows that are equal by chance are not reported: three times as many
    pairs of rows must be equal as there would be if rows of one instant had any of the values of the table.

    Copies give wrong answers in two cases:

    - Even an ID is the same, which differs in nearly all other rows, in the table or for each value of another column,
      and which few different rows share: two payments of an order are no copies.
    - That many are in periods in which nearly all rows have a copy, as when a batch is sent again.

    Otherwise the finding is a note: rows of events with a coarse time may be the same and still be two events, which
    only those who write them know. In a table without a time, rows are only reported if nearly all that have an equal
    one have equally many, and always as a note.

    A file that was loaded twice may be of any month. Unless a unique index keeps rows apart, about 10,000 rows from all
    of the table are read, too: those with some of the values of the column with the most, because copies have the same
    ones. In tables with more than `budget.max_scan_rows` rows, these are rows at eight older places, in DuckDB or with
    an index on the time.

    ## Why it matters

    A sender that gets no answer sends a batch again, and without a unique key both are kept: each sum and each count is
    too high, and nothing shows it.

    ## Example

    `trades (id serial, at, market, price, amount)`: after a restart, the collector reads the last minutes again. Each
    of their rows is there twice, under two IDs.

    ## Fix

    Delete what is there twice, then declare a unique key of what identifies a row, and write with
    `ON CONFLICT DO NOTHING`. The plan names a key only if it is a single ID, or an ID within a source.

    ## References

    - Rows that are in conflict with a key: https://www.postgresql.org/docs/current/sql-insert.html#SQL-ON-CONFLICT
    """
    for measurement in case.measurements:
        found = measurement.copies
        if found is not None and costs.are_many_copies(case, found.copies, found):
            yield _finding(case, measurement, found)


def _finding(case: Case, measurement: Measurement, found: Copies) -> Finding:
    share = found.copies / found.rows
    columns = "all columns" + (f" but {listed(found.left_out, 3)}" if found.left_out else "")
    # A copy far from its row is missed where rows are read here and there.
    words = {How.SAMPLED: "at least ", How.ESTIMATE: "about "}
    least = words.get(found.source.how, "") if share < 1 else ""
    message = f"{least}{percent(share)} of the {many(found.rows, 'row')} read are copies of another one"
    message += f", all with {costs.place_of(found)}" if found.column else ""
    message += f", the same in {columns}"
    if found.first and found.last and costs.are_many_copies(case, found.in_bulk, found):
        when = span(found.first, found.last)
        message += f": nearly all those from {when} are there more than once. Sums and counts are too high."
    elif found.key:
        message += f", even in {found.key[-1]}. Sums and counts are too high."
    else:
        message += ", so sums and counts are too high, unless each is an event of its own."
    there = many(found.rows_there, "row")
    changes = (_dropped(measurement, found, f"{least}{number(found.copies)}"),) if found.key else ()
    return Finding(
        subject=subject_of(measurement),
        impact=costs.of_copies(case, found),
        message=message,
        changes=changes,
        fix="" if changes else _fix(measurement, found),
        observed=share,
        unit="share of the rows read",
        evidence=(
            Evidence(f"rows that are the same in {columns}", f"{number(found.copies)} of {number(found.rows)}"),
            *([Evidence(_alike(measurement, found), listed(found.key))] if found.key else []),
            *(
                [Evidence(f"copies with {costs.place_of(found)}", f"{number(found.copies)} of {there}")]
                if found.column
                else []
            ),
        ),
        facts=("row_sample",),
        source=found.source,
    )


def _dropped(measurement: Measurement, found: Copies, copies: str) -> DropRepeats:
    # The time at which a row came is another one for each copy.
    time = [name for name in (measurement.time_column,) if name and name not in found.left_out]
    of_rows = f"{copies} of {many(found.rows, 'row')} read"
    return DropRepeats(
        subject_of(measurement),
        of_rows,
        tuple(dict.fromkeys((*found.key, *time))),
        ignored=found.left_out,
        identifies_rows=_identifies_rows(measurement, found),
    )


def _alike(measurement: Measurement, found: Copies) -> str:
    return "a row is identified by" if _identifies_rows(measurement, found) else "copies, and hardly any others, share"


def _identifies_rows(measurement: Measurement, found: Copies) -> bool:
    """Whether one column does, or one within each source. Within an attribute that happens to keep rows apart, rows to
    come may be the same and still be two.
    """
    within = [measurement.tag(name) for name in found.key[:-1]]
    return all(tag is not None and (names_source(tag.key) or not is_guess(tag.role_reason)) for tag in within)


def _fix(measurement: Measurement, found: Copies) -> str:
    key = [*filter(None, [measurement.time_column]), *(tag.key for tag in measurement.tags)]
    declared = f"such as ({', '.join(key)})," if measurement.tags else "of what identifies a row,"
    if any(map(is_load_stamp, found.left_out)):
        again = "If loads bring again what earlier ones brought, delete the copies, and let loads merge by a unique key"
        return f"{again} {declared} instead of appending."
    again = "If they were sent twice, delete the copies, and declare a unique key"
    return f"{again} {declared} so that ON CONFLICT DO NOTHING keeps the next ones out."
