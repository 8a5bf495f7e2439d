"""STO005: keys of append-only tables."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import pytest

from tests.builders import NOW, a_count, a_tag
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import IDS, LINES, a_table, findings, steps
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.unnecessary_primary_key import unnecessary_primary_key as rule
from tsaudit.model.finding import Severity
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject


def _logs(tag: str, values: tuple[str, ...]) -> Dataset:
    rows = [Row(t, {tag: values[i % len(values)]}, {"message": LINES[i]}) for i, t in enumerate(times(200))]
    append_only = Greptime(options={"append_mode": "true"})
    return dataset(Table("logs", (tag,), {"message": "string"}, rows, key=("time", tag), greptime=append_only))


LIMITS = {"unnecessary-primary-key.min_rows": 100}
CASES = (
    Case(
        breaks=_logs("request_id", IDS[:200]),
        keeps=_logs("application", ("shop", "search", "billing")),
        subject=Subject("", "logs"),
        main_contributor="request_id",
        limits=LIMITS,
    ),
    Case(
        breaks=_logs("application", ("shop",)),
        keeps=_logs("application", ("shop", "search")),
        subject=Subject("", "logs"),
        main_contributor="application",
        limits=LIMITS,
    ),
)


def _table(series: int, rows: int = 100_000, append: str = "true") -> Measurement:
    tags = (a_tag("host", series),)
    return a_table(options={"append_mode": append}, series=series, rows=a_count(rows), tags=tags)


def test_finding_when_rows_per_key_are_just_too_few() -> None:
    assert not findings(rule, _table(10_000))
    (finding,) = findings(rule, _table(10_001))
    assert finding.message == (
        "The key (host) of an append-only table has no benefit: 10,001 values of the key for 100,000 rows, none of "
        "which is ever merged."
    )
    assert not findings(rule, _table(10_001), min_rows_per_key=9)


@pytest.mark.parametrize(
    ("series", "first", "expected"),
    [
        (1_001, NOW - timedelta(days=30), Severity.WARNING),
        # 250 in thirty days are 750 more in ninety.
        (251, NOW - timedelta(days=30), Severity.WARNING),
        (250, NOW - timedelta(days=30), Severity.NOTE),
        (900, NOW - timedelta(days=30_000), Severity.NOTE),
    ],
)
def test_cost_is_the_values_of_the_key_that_would_be_gone(series: int, first: datetime, expected: Severity) -> None:
    (finding,) = findings(rule, dataclasses.replace(_table(series, rows=1_000), first_time=first))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.SERIES
    assert (finding.impact.now, finding.impact.whole) == (series - 1, series)
    assert finding.impact.per_day == pytest.approx((series - 1) / ((NOW - first) / timedelta(days=1)))
    assert finding.impact.how == "series with and without host"
    assert finding.severity is expected


def test_columns_that_sort_rows_stay_in_the_key() -> None:
    tags = (a_tag("site", 1), a_tag("app", 4), a_tag("region", 30), a_tag("request_id", 90_000))
    table = a_table(
        options={"append_mode": "true"},
        key=("site", "app", "region", "request_id"),
        tags=tags,
        series=90_000,
        rows=a_count(100_000),
    )
    (finding,) = findings(rule, table)
    assert finding.message == (
        "The key (site, app, region, request_id) of an append-only table has columns without benefit: 90,000 values "
        "of the key for 100,000 rows, none of which is ever merged."
    )
    assert finding.main_contributor == "request_id"
    assert finding.impact is not None
    assert (finding.impact.now, finding.severity) == (89_999, Severity.WARNING)
    assert finding.impact.how == "series with and without site, request_id"
    assert 'PRIMARY KEY ("app", "region")\n' in steps(rule, table)
    assert "Where most queries filter by app and region, a key of them helps." in finding.fix
    # 4 x 30 values with 900 rows each would be too many for blocks of 1,000.
    assert 'PRIMARY KEY ("app")\n' in steps(rule, table, min_rows_per_key=1_000)


def test_copy_has_no_key_when_it_is_left_out() -> None:
    text = steps(rule, _table(10_001))
    assert "PRIMARY KEY" not in text.split("CREATE TABLE")[1]
    assert "WITH ('append_mode'='true')" in text


def test_silence_when_rows_are_few_or_are_merged_by_the_key() -> None:
    assert findings(rule, _table(1000, rows=1000))
    assert not findings(rule, _table(999, rows=999))
    assert not findings(rule, _table(50_000, append="false"))
    metric = a_table(options={"append_mode": "true", "engine": "metric"}, series=900_000)
    assert not findings(rule, metric)


def test_information_when_the_key_begins_with_a_column_of_one_value() -> None:
    tags = (a_tag("host", 5), a_tag("site", 1), a_tag("zone", 1))
    (finding,) = findings(rule, a_table(tags=tags, key=("zone", "site", "host")))
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith(
        "The key (zone, site, host) starts with zone and site, which has the same value in all rows"
    )
    assert finding.fix.startswith("When you recreate the table for another reason, set its key to (host, zone, site).")
    assert "CREATE TABLE" not in steps(rule, a_table(tags=tags, key=("zone", "site", "host")))
    assert not findings(rule, a_table(tags=tags, key=("host", "site", "zone")))
    assert not findings(rule, a_table(tags=tags[1:], key=("site", "zone")))
    assert not findings(rule, dataclasses.replace(a_table(tags=tags), indexes=None))
