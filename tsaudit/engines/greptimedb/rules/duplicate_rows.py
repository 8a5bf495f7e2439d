"""STO010."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit import costs
from tsaudit.analysis.columns.types import is_text
from tsaudit.engines.greptimedb.tables import is_append_only, primary_key
from tsaudit.model.change import Change, DropRepeats, SetOption
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Measurement, Repeats
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, number, percent


@rule(
    code="STO010",
    title="An append-only table contains duplicate rows",
    costs={Currency.BYTES},
    guidelines=("E9",),
    requires={"options", "repeats"},
    uses={"indexes", "storage"},
    thresholds=(
        Threshold(
            "max_repeated_ratio", 0.01, "share of the rows read", "our default: an occasional retry causes fewer"
        ),
    ),
)
def duplicate_rows(case: Case) -> Iterator[Finding]:
    """Append-only tables where more than `max_repeated_ratio` of the rows read are duplicates.

    A row is a duplicate if all its columns equal those of another row. In a table that has a key and otherwise only
    numbers, the same key and time are enough: then one of the rows corrects the other, and both are counted. The cost
    is the duplicates' share of the table's bytes, as `information_schema.region_statistics` reports them.

    ## Why it matters

    An append-only table keeps everything that is sent. A sender that repeats a batch it believes lost doubles every sum
    and count, and nothing removes the duplicates.

    ## Example

    `payments` with `append_mode = 'true'`: after a timeout the batch is sent again, and the day's revenue is doubled.

    ## Fix

    Make the table deduplicate, with a key that identifies its rows, or make the sender write only once.

    ## References

    - Deduplication and append-only tables:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        seen = measurement.repeats
        if seen is None or not is_append_only(measurement):
            continue
        limit = case.limit("max_repeated_ratio", measurement)
        repeated = seen.repeated if _is_of_numbers(measurement) else seen.identical
        if repeated > limit.value * seen.rows:
            yield _finding(case, measurement, seen, repeated)


def _is_of_numbers(measurement: Measurement) -> bool:
    return bool(measurement.tags) and not any(is_text(t) for f in measurement.fields for t in f.types)


def _impact(case: Case, measurement: Measurement, share: float) -> Impact | None:
    """The duplicates' share of the table; None if its bytes are not known."""
    held = measurement.storage.data_bytes if measurement.storage else None
    if held is None:
        return None
    how = "share of duplicates among the rows read, times the table's bytes by region_statistics"
    return costs.of_bytes(case, measurement, share * held, how=how)


def _finding(case: Case, measurement: Measurement, seen: Repeats, repeated: int) -> Finding:
    limit, key = case.limit("max_repeated_ratio", measurement), primary_key(measurement)
    same = "are the same in all columns" if repeated == seen.identical else "have the same key and time"
    subject = subject_of(measurement)
    # Of numbers the one that was written last is right; of texts each may be an event of its own.
    change: Change = SetOption(subject, "append_mode", "false")
    if not _is_of_numbers(measurement):
        change = DropRepeats(subject, f"{number(seen.identical)} of {number(seen.rows)} rows read repeat another one")
    return Finding(
        subject=subject,
        impact=_impact(case, measurement, repeated / seen.rows),
        message=f"{percent(repeated / seen.rows)} of the rows read {same} as another one, and all of them are kept.",
        changes=(change,),
        fix="Have the sender write each row once: otherwise they repeat again.",
        observed=repeated / seen.rows,
        limit=limit,
        unit=limit.unit,
        evidence=(
            Evidence("rows with the key and time of another", f"{number(seen.repeated)} of {number(seen.rows)}"),
            Evidence("rows that are the same in all columns", f"{number(seen.identical)} of {number(seen.rows)}"),
            Evidence("key", listed(key)),
        ),
        facts=("options", "repeats", "indexes", "storage"),
        source=seen.source,
    )
