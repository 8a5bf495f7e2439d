"""DRF002."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from tsaudit import costs
from tsaudit.model.figures import READ_BY_TIME, TableKind
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import ExcessRows, LargerColumn
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import day as written
from tsaudit.text import listed, number, percent, size

_A_DAY: Final = timedelta(days=1)


@rule(
    code="DRF002",
    title="Far more is written each day than before",
    costs={Currency.BYTES},
    guidelines=("H5",),
    requires={"row_sample", "null_counts"},
    uses={"field_values"},
    shows={"storage"},
    engines=lambda engine: engine.infers_roles,
)
def multiplied_rows(case: Case) -> Iterator[Finding]:
    """Tables to which far more is added each day than before: rows, most of them with one value of a column, or bytes,
    in columns whose values have become larger.

    Of rows, all of this has to hold:

    - Each of the last days had at least three times as many rows as the busiest of the days before, of which there have
      to be a week. An audit of an earlier day has to show it, too: where old rows are thinned out, the newest are
      always more.
    - One value of a column, which was there before, brings half of the additional rows or more, at least twice the
      share that it had.
    - Its rows are of the same sources as before, by the values of the other columns that recur: more sources that each
      write as usual are growth.
    - It has lasted for a day, and goes on, so old rows that are loaded, and a storm that is over, are not reported.

    It is reported until the newest rows are no longer three times as many as before. The cost is the bytes of the
    additional rows of the value. What it needs is read, about 10,000 rows from all of the window, if more than twice as
    many rows a day have come since the previous audit as on the days until then. Tables of entities, reference data,
    and queues are not examined.

    Values have become larger if on each of the last days, at most 30, the mean size of a column was three times that of
    the largest of the days before, of which there have to be a week. The audits of two days have to see that it began
    at the same time: where old values are emptied, the newest are always larger. What is read for that is the size of
    wide values in 4,000 rows from all parts of the table, on PostgreSQL and SQLite.

    ## Why it matters

    A writer that lost its settings reports each value it sees, or each second instead of each hour. One that was set
    to debug stores whole requests, or payloads. Every query still answers, only slower, until the disk is full; and the
    rows of all others are hard to find among these.

    ## Example

    `history (timestamp, device, reading, value)` of a home got 5,000 rows a day. Since an update, the power meter logs
    each second: 91,000 rows a day, 94% of them of one reading.

    ## Fix

    Find out what changed on that day at what writes these rows: an interval, that only changes are written, or what is
    stored of a payload. Then delete what nobody needs of the rows since then. If it is meant, mute the finding.

    ## References

    - Writing only changes, or not more often than after a time, FHEM: https://wiki.fhem.de/wiki/DbLog
    - What is recorded, and what is left out, Home Assistant: https://www.home-assistant.io/integrations/recorder/
    """
    for measurement in case.measurements:
        if measurement.excess is not None:
            yield _finding(case, measurement, measurement.excess)
        if measurement.kind is None or measurement.kind in READ_BY_TIME - {TableKind.QUEUE}:
            yield from _larger(case, measurement)


def _larger(case: Case, measurement: Measurement) -> Iterator[Finding]:
    """What the columns cost whose values have become larger: one finding for all that have since the same day."""
    read, rows, added = measurement.row_bytes, costs.rows_a_day(case, measurement), costs.added_a_day(case, measurement)
    if read is None or not rows or not added:
        return
    by_day: dict[date, list[LargerColumn]] = {}
    for one in sorted((one for one in read.larger if one.is_confirmed), key=lambda one: one.before - one.now):
        # It is known to the day, about.
        at = next((d for d in by_day if abs(d - one.since.date()) <= _A_DAY), one.since.date())
        by_day.setdefault(at, []).append(one)
    for larger in by_day.values():
        now, before = sum(one.now for one in larger), sum(one.before for one in larger)
        since, names = larger[0].since, [one.column for one in larger]
        per_day, days = (now - before) * rows, max((case.profile.window.end - since) / _A_DAY, 0.0)
        how = "bytes of these columns in rows from all parts of the table"
        priced = costs.of_bytes(case, measurement, per_day * days, how=how)
        # What is deleted in the end stays as long as the rows that are there.
        is_deleted = costs.rows_growth(case, measurement) == 0
        kept_days = 1 / added if is_deleted and priced.kept_days is None else priced.kept_days
        share = (now - before) / max(_row_bytes(priced, measurement) + now - sum(map(read.of, names)), now)
        impact = replace(
            priced, per_day=per_day, kept_days=kept_days, ahead_days=None, added_share=share, is_saved_by_writer=True
        )
        bytes_, earlier = f"{size(round(now))} a row", f"{size(round(before))} before"
        yield Finding(
            subject=subject_of(measurement, names[0]),
            impact=impact,
            message=f"{listed(names)} {'takes' if len(names) == 1 else 'take'} {bytes_} since {written(since)}, "
            f"{earlier}: about {size(round(per_day))} more a day, {percent(share)} of what is added.",
            headline=f"{listed(names)} {'takes' if len(names) == 1 else 'take'} {bytes_} since {written(since)}, "
            f"{earlier}",
            fix=f"Find out what changed on {written(since)} at what writes {listed(names)}: whole payloads that are "
            "stored, or a setting for debugging. Set it as it was, or keep them elsewhere and for a shorter time; then "
            "remove from these columns what nobody needs. If it is meant, mute the finding.",
            observed=now,
            unit="bytes a row",
            baseline=before,
            main_contributor=names[0],
            evidence=(
                *(
                    Evidence(
                        f"bytes of {one.column} in a row",
                        f"{number(_round(one.before))}, now {number(_round(one.now))}",
                    )
                    for one in larger
                ),
                Evidence("rows a day", f"about {number(_round(rows))}"),
            ),
            since=since.date(),
            facts=("row_sample", "null_counts"),
            source=read.source,
        )


def _row_bytes(priced: Impact, measurement: Measurement) -> float:
    """The mean bytes of a row, as the table takes them; 0 if that is not known."""
    rows = measurement.rows_total or measurement.rows
    return (priced.whole or 0.0) / rows.value if rows and rows.value else 0.0


def _finding(case: Case, measurement: Measurement, found: ExcessRows) -> Finding:
    days = max((case.profile.window.end - found.since) / _A_DAY, 0.0)
    priced = costs.of_bytes(case, measurement, 0, how=f"the additional rows of {_value(found)}, as large as all others")
    row_bytes = _row_bytes(priced, measurement)
    per_day, added = found.excess_per_day * row_bytes, found.excess_per_day * days
    now = costs.at_most(added * row_bytes, priced.whole)
    share = min(found.excess_per_day / found.per_day, 1.0)
    impact = replace(priced, now=now, per_day=per_day, ahead_days=None, added_share=share, is_saved_by_writer=True)
    since, before, after = written(found.since), number(_round(found.before_per_day)), number(_round(found.per_day))
    also = [f"{column}={value}" for column, value in found.also]
    of = f"{_value(found)} ({', '.join(also)})" if also else _value(found)
    cost = f"; about {size(per_day)} more a day" if row_bytes else ""
    return Finding(
        subject=subject_of(measurement, found.column),
        impact=impact if row_bytes else None,
        severity_reason="" if row_bytes else "the bytes of the table are not known",
        message=f"Rows rose from about {before} to {after} a day since {since}: {percent(found.share)} of those since "
        f"then are of {of}, which had {percent(found.share_before)} before{cost}.",
        headline=f"Rows rose to {after} a day since {since}, most of them with {_value(found)}",
        fix=f"Find out what changed on {since} at what writes {of}: the interval, or that only changes are written. "
        f"Set it as it was, then delete what nobody needs of these rows. "
        "If it is meant, or a season has begun, mute the finding.",
        observed=found.per_day,
        unit="rows a day",
        baseline=found.before_per_day,
        main_contributor=found.column,
        evidence=(
            Evidence("rows a day before", f"about {before}"),
            Evidence("rows a day since then", f"about {after}"),
            Evidence(f"additional rows of {of}", f"about {number(_round(found.excess_per_day))} a day"),
        ),
        since=found.since.date(),
        facts=("row_sample", "null_counts"),
        source=found.source,
    )


def _value(found: ExcessRows) -> str:
    return f"{found.column}={found.value}"


def _round(rows: float) -> int:
    """To three digits: it is an estimate."""
    return int(float(f"{rows:.3g}"))
