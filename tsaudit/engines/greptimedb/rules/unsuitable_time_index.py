"""STO012."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.engines.greptimedb.tables import is_metric
from tsaudit.model.columns import Field, TimeLag
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, number, percent

_OF_ARRIVAL: Final = re.compile(
    r"(^|_)(ingest(ed|ion)?|insert(ed|ion)?|creat(ed|ion)|receiv(ed|e)|writ(ten|e)|load(ed)?|process(ed|ing)?|arriv(al|ed)|"
    r"import(ed)?|stor(ed|e)|index(ed)?|updat(ed|e)|modif(ied|y))(_|$)|^greptime_timestamp$",
    re.IGNORECASE,
)
_OF_EVENT: Final = re.compile(
    r"(^|_)(event|occur(red)?|happen(ed)?|sampl(ed|e|ing)|measur(ed|ement)|observ(ed|ation)|record(ed)?|read(ing)?|start(ed)?|"
    r"begin|log|access|emitted|sent|origin(al)?)(_|$)",
    re.IGNORECASE,
)
_A_WEEK_S: Final = 604_800
"""Maximum distance in seconds: a time further away has another meaning, such as a birthday or an expiry."""


@rule(
    code="STO012",
    title="The time index is not the time of the sample",
    guidelines=("E11",),
    requires={"columns", "row_sample"},
)
def unsuitable_time_index(case: Case) -> Iterator[Finding]:
    """Tables with a second time column that is shortly before the time index in nearly all rows.

    This is typical of rows indexed by arrival time. The finding says so if the names agree: the index is named like an
    arrival (`ingested_at`, `greptime_timestamp`), or the other column is named like an event (`event_time`,
    `measured_at`) and the index is not. The finding is always a note, because it is not known what queries by the other
    time read.

    ## Why it matters

    Rows are sorted, deduplicated, expired, and searched by the time index. With the arrival time, late rows are in the
    wrong hour, the same sample sent twice is two rows, and every query by the real time reads all files.

    ## Example

    `readings (sensor, measured_at, ingested_at TIME INDEX, value)`: after an outage, an hour of readings appears as one
    second.

    ## Fix

    Index the time when the sample was taken, and keep the other one as a field.

    ## References

    - Choosing the time index:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        found = [f for f in measurement.fields if f.lag and _precedes(f.lag)]
        if found and measurement.time_column and not is_metric(measurement):
            named = [f for f in found if _OF_EVENT.search(f.key) and not _OF_ARRIVAL.search(f.key)]
            yield _finding(measurement, measurement.time_column, (named or found)[0], found)


def _precedes(lag: TimeLag) -> bool:
    is_near = 0 <= lag.median_s <= _A_WEEK_S and lag.spread_s <= _A_WEEK_S
    return is_near and lag.rows >= ENOUGH and lag.before_ratio >= NEARLY_ALL


def _finding(measurement: Measurement, index: str, field: Field, found: list[Field]) -> Finding:
    assert field.lag is not None
    is_known = bool(_OF_ARRIVAL.search(index)) or (bool(_OF_EVENT.search(field.key)) and not _OF_EVENT.search(index))
    return Finding(
        subject=subject_of(measurement, index),
        message=f"{field.key} is before the time index {index} in {percent(field.lag.before_ratio)} of the "
        f"rows read, with a median of {number(round(field.lag.median_s, 3))} s: "
        + ("the index is the arrival time." if is_known else "it may be the time of the sample."),
        fix=f"If {field.key} is when a sample was taken or an event happened, create {measurement.name} again with the "
        f"time index {field.key}: no ALTER TABLE changes it.",
        observed=field.lag.before_ratio,
        unit="share of the rows read",
        main_contributor=index,
        evidence=(
            Evidence("time index", index),
            Evidence("other times that are before it", listed([f.key for f in found])),
            Evidence("lag, median", f"{number(round(field.lag.median_s, 3))} s"),
            Evidence("lag, 10th to 90th percentile", f"{number(round(field.lag.spread_s, 3))} s"),
        ),
        facts=("columns", "row_sample"),
        source=field.distinct.source if field.distinct else None,
    )
