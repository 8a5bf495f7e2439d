"""DRF002."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import ExcessRows
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import day as written
from tsaudit.text import number, percent, size

_A_DAY: Final = timedelta(days=1)


@rule(
    code="DRF002",
    title="One value accounts for most of the new rows",
    costs={Currency.BYTES},
    guidelines=("H5",),
    requires={"row_sample", "null_counts"},
    shows={"storage"},
    engines=lambda engine: engine.infers_roles,
)
def multiplied_rows(case: Case) -> Iterator[Finding]:
    """Tables to which far more rows are added each day than before, most of them with one value of a column.

    All of this has to hold:

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

    ## Why it matters

    A writer that lost its settings reports each value it sees, or each second instead of each hour. Every query still
    answers, only slower, until the disk is full; and the rows of all others are hard to find among these.

    ## Example

    `history (timestamp, device, reading, value)` of a home got 5,000 rows a day. Since an update, the power meter logs
    each second: 91,000 rows a day, 94% of them of one reading.

    ## Fix

    Find out what changed on that day at what writes these rows: an interval, or that only changes are written. Then
    delete what nobody needs of the rows since then. If it is meant, mute the finding.

    ## References

    - Writing only changes, or not more often than after a time, FHEM: https://wiki.fhem.de/wiki/DbLog
    - What is recorded, and what is left out, Home Assistant: https://www.home-assistant.io/integrations/recorder/
    """
    for measurement in case.measurements:
        if measurement.excess is not None:
            yield _finding(case, measurement, measurement.excess)


def _finding(case: Case, measurement: Measurement, found: ExcessRows) -> Finding:
    days = max((case.profile.window.end - found.since) / _A_DAY, 0.0)
    priced = costs.of_bytes(case, measurement, 0, how=f"the additional rows of {_value(found)}, as large as all others")
    rows = measurement.rows_total or measurement.rows
    row_bytes = (priced.whole or 0.0) / rows.value if rows and rows.value else 0.0
    per_day, added = found.excess_per_day * row_bytes, found.excess_per_day * days
    now = costs.at_most(added * row_bytes, priced.whole)
    impact = replace(priced, now=now, per_day=per_day, ahead_days=None, is_saved_by_writer=True)
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
