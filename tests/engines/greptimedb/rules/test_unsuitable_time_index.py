"""STO012: which time is the index."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import a_field
from tests.databases import Dataset, Row, Table, times
from tests.engines.greptimedb.cases import a_table, findings
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.unsuitable_time_index import unsuitable_time_index as rule
from tsaudit.model.columns import Field, TimeLag
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Measurement


def _readings(index: str, other: str, lag: timedelta) -> Dataset:
    rows = [
        Row(t, {"sensor": f"s{i % 3}"}, {other: t - lag * (1 + i % 4), "value": i / 7})
        for i, t in enumerate(times(150))
    ]
    fields = {other: "time", "value": "float"}
    return dataset(Table("readings", ("sensor",), fields, rows, key=(index, "sensor"), time=index))


CASES = (
    Case(
        breaks=_readings("ingested_at", "measured_at", timedelta(seconds=4)),
        keeps=_readings("measured_at", "ingested_at", timedelta(seconds=-4)),
        subject=Subject("", "readings", "ingested_at"),
        main_contributor="ingested_at",
    ),
    Case(
        breaks=_readings("ts", "at", timedelta(seconds=4)),
        keeps=_readings("ts", "installed_at", timedelta(days=400)),
        subject=Subject("", "readings", "ts"),
    ),
)


def _table(
    index: str = "ingested_at", other: str = "measured_at", options: dict[str, str] | None = None, **lag: Any
) -> Measurement:
    known: dict[str, Any] = {"rows": 1000, "before_ratio": 1.0, "median_s": 2.5, "spread_s": 8.0}
    field = _field(other, TimeLag(**(known | lag)))
    return a_table(options=options, time_column=index, fields=(a_field("value", ("double",)), field))


def _field(key: str, lag: TimeLag | None) -> Field:
    return a_field(key, ("timestamp(3)",), lag=lag)


def test_message_when_names_say_so() -> None:
    (finding,) = findings(rule, _table())
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert finding.message == (
        "measured_at is before the time index ingested_at in 100% of the rows read, with a median of 2.5 s: the "
        "index is the arrival time."
    )
    assert "again with the time index measured_at" in finding.fix


@pytest.mark.parametrize(
    ("index", "other", "said"),
    [
        ("ts", "at", "it may be the time of the sample."),
        ("event_time", "start_time", "it may be the time of the sample."),
        ("ts", "event_time", "the index is the arrival time."),
        ("greptime_timestamp", "at", "the index is the arrival time."),
    ],
)
def test_message_follows_from_the_names(index: str, other: str, said: str) -> None:
    (finding,) = findings(rule, _table(index, other))
    assert finding.message.endswith(said)


def test_limits_when_just_reached_and_just_over() -> None:
    assert findings(rule, _table(before_ratio=0.95))
    assert not findings(rule, _table(before_ratio=0.94))
    assert findings(rule, _table(median_s=604_800))
    assert not findings(rule, _table(median_s=604_801))
    assert not findings(rule, _table(median_s=-1))
    assert not findings(rule, _table(spread_s=604_801))
    assert not findings(rule, _table(rows=99))
    assert findings(rule, _table(rows=100))


def test_the_one_named_like_an_event_when_there_are_several() -> None:
    lag = TimeLag(1000, 1.0, 2.5, 8.0)
    table = a_table(time_column="ts", fields=(_field("checked", lag), _field("event_time", lag), _field("none", None)))
    (finding,) = findings(rule, table)
    assert finding.message.startswith("event_time is before")
    assert finding.evidence[1].value == "checked and event_time"
