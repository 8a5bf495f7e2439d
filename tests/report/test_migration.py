"""Where tables of Timestream could move."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.builders import (
    DAY,
    NOW,
    a_count,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_result,
    a_rule_result,
    a_source,
    a_tag,
)
from tests.databases import write
from tests.engines.timestream.devops import devops
from tests.engines.timestream.double import Timestream
from tsaudit.collect import collect
from tsaudit.engines.opening import open_connection
from tsaudit.model.profile import (
    Contribution,
    Cost,
    Count,
    Database,
    How,
    Measurement,
    MeasureNames,
    Profile,
    Retention,
    TagSets,
)
from tsaudit.model.timeline import Timeline
from tsaudit.report import html
from tsaudit.report.tables import Move, moves


def _table(keys: int | None, name: str = "cpu", **changes: Any) -> Measurement:
    counted = None if keys is None else a_count(keys, How.ESTIMATE)
    return a_measurement(name, measure_names=MeasureNames(a_count(2), (), series_keys=counted), **changes)


def _move(table: Measurement) -> Move:
    found = moves(a_profile(table, engine="timestream"))
    assert found is not None
    (move,) = found.tables
    return move


@pytest.mark.parametrize(
    ("keys", "instance"),
    [
        (99_999, "db.influx.large"),
        (100_000, "db.influx.2xlarge"),
        (1_000_000, "db.influx.4xlarge"),
        (9_999_999, "db.influx.8xlarge"),
        (10_000_000, ""),
        (None, ""),
    ],
)
def test_instance_by_the_number_of_series(keys: int | None, instance: str) -> None:
    assert _move(_table(keys)).instance == instance


def test_dimension_that_makes_most_series_becomes_a_field() -> None:
    tags = (a_tag("host", 50), a_tag("request_id", 2000))
    left = (Contribution("request_id", (), 50), Contribution("host", (), 2000))
    sets = TagSets(2000, 100_000, 100_000, (), ("request_id",), left, left, a_source())
    move = _move(_table(2000, tags=tags, tag_sets=sets))
    assert (move.as_field, move.series_left) == ("request_id", 50)
    # Where the listing would have been the table, its values are known roughly.
    move = _move(_table(2000, tags=tags, rows=a_count(3999)))
    assert (move.as_field, move.series_left) == ("request_id", None)
    assert _move(_table(2000, tags=tags, rows=a_count(4000))).as_field == ""


def test_total_only_where_all_were_counted() -> None:
    found = moves(a_profile(_table(5), _table(7, "mem"), engine="timestream"))
    assert found is not None
    assert ([m.measurement.name for m in found.tables], found.total) == (["mem", "cpu"], 12)
    found = moves(a_profile(_table(5), _table(None, "mem"), engine="timestream"))
    assert found is not None
    assert found.total is None
    assert moves(a_profile(_table(5), engine="influxdb1")) is None


def _section(profile: Profile) -> str:
    options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": None}
    page = html.page(html.contents_of(a_result(), profile, Timeline(), **options))
    found = re.search(r"Ready to move to Timestream.*?</table>", page, re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", found[0])) if found else ""


def test_report_says_where_each_table_could_move() -> None:
    text = _section(a_profile(_table(11_000_000), _table(None, "mem"), _table(50_000, "disk"), engine="timestream"))
    assert "cpu ≈ 11,000,000 110% InfluxDB 3" in text
    assert "disk ≈ 50,000 0.5% InfluxDB 2 on db.influx.large" in text
    assert "mem \N{EN DASH} \N{EN DASH} not known" in text
    assert not _section(a_profile(engine="influxdb1"))


def test_example_of_aws_is_counted_as_its_own_script_does(timestream: Timestream) -> None:
    """With a request id as dimension each record is a series there; as a measure, each host with each measure name."""
    for request_id, as_field in (("measure", ""), ("dimension", "request_id")):
        dataset = devops(hosts=12, request_id=request_id)
        with open_connection(target := write(dataset, "timestream", timestream)) as connection:
            profile = collect(target, connection, day=DAY, now=NOW)
        (rows,) = [m.rows.value for m in profile.measurements if m.rows]
        found = moves(profile)
        assert found is not None
        assert found.tables[0].as_field == as_field
        assert found.total == pytest.approx(rows if as_field else 2 * 12, rel=0.1)


def test_lifetime_of_a_table_is_its_own() -> None:
    policies = (Retention("cpu", 86_400, None, default=False), Retention("mem", 172_800, None, default=False))
    profile = a_profile(
        a_measurement(), a_measurement("mem"), engine="timestream", databases=(Database("main", None, policies),)
    )
    options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": None}
    page = html.page(html.contents_of(a_result(), profile, Timeline(), **options))
    kept = re.findall(r"<code>(cpu|mem)</code>.*?<td>([^<\n]*)\n", page)
    assert dict(kept) == {"cpu": "1 day", "mem": "2 days"}


def _page(profile: Profile) -> str:
    options: dict[str, Any] = {"incidents": (), "full_values": False, "run_url": None, "previous": None}
    return html.page(html.contents_of(a_result(a_rule_result(a_finding())), profile, Timeline(), **options))


def test_bill_at_the_top_where_the_provider_charges() -> None:
    cost = Cost("row_sample", 5, 2.5, 900, None, 14_100_000, 50_000_000)
    assert "5 statements</a>, 2.5 seconds, 50 MB billed." in _page(a_profile(costs=(cost,)))
    free = Cost("row_sample", 5, 2.5, 900, None)
    assert "charged for" not in _page(a_profile(costs=(free,)))


def test_tables_of_one_name_in_the_heat_map_are_told_apart() -> None:
    tables = [a_measurement(database=name, fields=(a_field(null_ratio=0.5),)) for name in ("main", "other")]
    (heat,) = re.findall(r'<table class="heat">.*?</table>', _page(a_profile(*tables)), re.DOTALL)
    assert re.findall(r'<span class="db">(\w+)/</span>cpu', heat) == ["main", "other"]


def test_rows_that_all_values_are_of_are_said_once() -> None:
    source = a_source(How.SAMPLED, scope="the newest 900 rows")
    fields = [a_field(key, distinct=Count(7, source)) for key in ("usage", "load")]
    (table,) = re.findall(r"<caption><b>Fields\..*?</table>", _page(a_profile(a_measurement(fields=fields))), re.DOTALL)
    assert table.count("the newest 900 rows") == 1
    fields.append(a_field("idle", distinct=a_count(3)))
    (table,) = re.findall(r"<caption><b>Fields\..*?</table>", _page(a_profile(a_measurement(fields=fields))), re.DOTALL)
    assert table.count("the newest 900 rows") == 2
