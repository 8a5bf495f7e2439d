"""GreptimeDB: five versions of its catalog, and what its answers conceal."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime, timedelta

import pymysql
import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.double import ADMIN, READER
from tests.engines.greptimedb.server import a_table, a_target, asked, running, sent
from tests.query_parameters import filled
from tsaudit.collect.probing import probe
from tsaudit.engines.connection import FactError
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Gap, Reason
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Index, Retention

VERSIONS = ("0.12.2", "0.17.2", "1.0.2", "1.1.4", "1.2.0")
BETWEEN = [pytest.param(version, marks=pytest.mark.full) for version in VERSIONS[1:-1]]
ON_VERSIONS = pytest.mark.parametrize("version", [VERSIONS[0], *BETWEEN, VERSIONS[-1]])


def _gaps(profile: Profile) -> dict[str, Gap]:
    return {gap.fact: gap for gap in profile.gaps}


def _untold(version: str) -> set[str]:
    """Facts that a server of the version does not tell: which files it has, up to 0.17; their format, 1.0."""
    return (
        {"stored_rows"} if version.startswith("0.") else {"effective_options"} if version.startswith("1.0") else set()
    )


def _only(profile: Profile) -> Measurement:
    (measurement,) = profile.measurements
    return measurement


# --- Versions ----------------------------------------------------------------------------------------------------


def test_profile_is_the_same_whatever_the_version_of_the_catalogue() -> None:
    profiles = []
    for version in VERSIONS:
        with running(version) as server:
            profile = collected(a_target(server))
        assert set(_gaps(profile)) == _untold(version), version
        assert profile.server_version == version
        http = _only(profile)
        # Which view tells of the indexes, and the format of files where it can be told.
        options = {k: v for k, v in (http.options or {}).items() if k != "sst_format"}
        assert (http.stored is None) == ("stored_rows" in _untold(version))
        same = dataclasses.replace(http, options=options, stored=None)
        profiles.append(to_json(same))
    assert len(set(profiles)) == 1


@ON_VERSIONS
def test_what_the_catalogue_tells(version: str) -> None:
    with running(version) as server:
        http = _only(collected(a_target(server)))
    assert http.time_column == "ts"
    assert [t.key for t in http.tags] == ["host", "region"]
    assert {t.role_reason for t in http.tags} == {"the engine keeps it as a tag"}
    assert {f.key: f.types for f in http.fields} == {
        "error": ("string",),
        "ms": ("double",),
        "n": ("bigint",),
        "up": ("boolean",),
    }
    options = {"append_mode": "true", "comment": "it's a\n'b' = \"c\"", "engine": "mito", "ttl": "30days"}
    formats = {"0.12.2": "primary_key", "0.17.2": "primary_key", "1.1.4": "flat", "1.2.0": "flat"}
    assert http.options == options | ({"sst_format": formats[version]} if version in formats else {})
    assert http.indexes == (
        _index("FULLTEXT_INDEX_error", "fulltext", "error"),
        _index("INVERTED_INDEX_region", "inverted", "region"),
        # The order of the key, which is not that of the columns.
        _index("PRIMARY", "primary", "host", "region"),
        _index("SKIPPING_INDEX_region", "skipping", "region"),
        _index("TIME INDEX", "time", "ts"),
    )
    assert http.retention == Retention("ttl", 30 * 86_400, None, default=True)
    assert http.partitioning is not None
    assert (http.partitioning.key, http.partitioning.count) == (("host",), 2)
    assert {(p.name, p.bounds, p.rows) for p in http.partitioning.partitions} == {
        ("p0", "host < 'h2'", 20),
        ("p1", "host >= 'h2'", 40),
    }
    assert http.storage is not None
    assert http.storage.data_bytes == sum(p.bytes or 0 for p in http.partitioning.partitions) > 0
    assert http.storage.index_bytes


def _index(name: str, kind: str, *columns: str) -> Index:
    return Index(name, kind, columns, unique=False, constraint=kind in ("primary", "time"), partial=False)


@ON_VERSIONS
def test_rows_in_files_are_versions_of_those_that_are_read(version: str) -> None:
    table = a_table(6)
    again = dataclasses.replace(
        table, rows=[*table.rows, *table.rows[:2]], greptime=dataclasses.replace(table.greptime, options={})
    )
    with running(version) as server:
        profile = collected(a_target(server, Dataset([again])))
    http = _only(profile)
    if "stored_rows" in _untold(version):
        assert _gaps(profile)["stored_rows"].detail == (
            "the server does not report its files; GreptimeDB 1.0 and later do"
        )
        return
    assert http.rows is not None
    assert http.stored is not None
    assert (http.stored.rows, http.rows.value) == (len(table.rows) + 2, len(table.rows))
    assert http.stored.first_time == http.first_time


@ON_VERSIONS
def test_partitions_without_bounds_are_none(version: str) -> None:
    with running(version) as server:
        whole = Dataset([a_table(6), dataclasses.replace(a_table(6, partition_by=("host",)), name="unbounded")])
        for measurement in collected(a_target(server, whole)).measurements:
            assert measurement.partitioning is None, measurement.name


@ON_VERSIONS
def test_catalogue_is_read_once_for_all_databases(version: str) -> None:
    with running(version) as server:
        for name in ("a", "b", "c"):
            tables = [dataclasses.replace(a_table(6, partition_by=("host",)), name=f"t{i}") for i in range(4)]
            a_target(server, Dataset(tables, database=name))
        server.statements.clear()
        profile = collected(a_target(server), wanted=None)
        everything = collected(a_target(server).model_copy(update={"databases": ()}))
    assert set(_gaps(profile)) == set(_gaps(everything)) == _untold(version)
    assert len(everything.measurements) == 13
    # Once in each of the two audits.
    for view in ("tables", "columns", "partitions", "region_statistics", "schemata"):
        read = [s for s in server.statements if re.search(rf"information_schema\.{view}\b", s)]
        assert len(read) == 2, view
    definitions = sent(server, "SHOW CREATE TABLE")
    assert len(definitions) == 14
    assert len(set(definitions)) == 13
    costs = {cost.fact: cost for cost in everything.costs}
    assert costs["storage"].statements == 0, "its statement was sent for another fact"


@ON_VERSIONS
def test_tables_that_are_not_looked_at_are_not_asked_for(version: str) -> None:
    with running(version) as server:
        tables = [dataclasses.replace(a_table(6, partition_by=("host",)), name=f"t{i}") for i in range(4)]
        target = a_target(server, Dataset(tables, database="a"))
        profile = collected(target.model_copy(update={"include": ("t1",)}))
        assert [m.name for m in profile.measurements] == ["t1"]
        assert [s.rpartition(".")[2] for s in sent(server, "SHOW CREATE TABLE")] == ['"t1"']


# --- What the server conceals ------------------------------------------------------------------------------------


def test_no_rows_when_the_regions_do_not_tell_means_unknown() -> None:
    with running(counted=False) as server:
        rows = asked(server, "SELECT table_rows FROM information_schema.tables WHERE table_schema = 'shop'")
        profile = collected(a_target(server))
        rows = asked(server, "SELECT table_rows FROM information_schema.tables WHERE table_schema = 'shop'")
    assert rows == [(0,)], "which is what the server says"
    assert {g.fact for g in profile.gaps} == {"row_estimate", "storage", "partitions"}
    assert _gaps(profile)["storage"].detail == "(Internal): Failed to collect region statistics"
    http = _only(profile)
    assert (http.storage, http.partitioning, http.fingerprint) == (None, None, "")
    assert http.rows is not None
    assert http.rows.value == 60


def test_no_rows_in_any_region_means_unknown() -> None:
    table = dataclasses.replace(a_table(), rows=[])
    with running() as server, open_connection(a_target(server, Dataset([table], database="shop"))) as connection:
        (batch,) = connection.query("row_estimate", 60, filled("row_estimate", database="shop", measurements=["http"]))
        assert batch.to_pylist() == [{"measurement": "http", "rows": None}]


def test_nulls_are_counted_where_a_plain_count_does_not_see_them() -> None:
    with running() as server:
        target = a_target(server)
        counted = 'SELECT count(*), count("error") FROM "shop"."http"'
        assert asked(server, counted) == [(60, 60)], "statistics that know of no null"
        assert asked(server, f"{counted} WHERE \"ts\" >= '1970-01-01 00:00:00+00:00'") == [(60, 7)]
        http = _only(collected(target))
    (error,) = [f for f in http.fields if f.key == "error"]
    assert error.null_ratio is not None
    assert error.null_ratio.value == pytest.approx(53 / 60)
    assert http.rows is not None
    assert http.rows.value == 60
    assert not re.search(r"\bcount\((?!\*)", http.statements["null_counts"])


def test_samples_are_not_asked_for_by_a_clause_that_is_ignored() -> None:
    with running() as server:
        profile = collected(a_target(server))
        assert asked(server, 'SELECT count(*) FROM "shop"."http" TABLESAMPLE (1 ROWS)') == [(60,)]
        assert not sent(server, "SAMPLE")[:-1]
    assert profile.gaps == ()


def test_a_reader_is_refused_every_setting_and_audits_all_the_same() -> None:
    with running() as server:
        target = a_target(server)
        assert target.username == READER[0]
        profile = collected(target)
        # Tried once, never again.
        assert len(sent(server, "SET max_execution_time")) == 1
        with pytest.raises(pymysql.err.OperationalError, match=r"\(PermissionDenied\)"):
            asked(server, "SET time_zone = 'UTC'", user=READER)
    assert profile.gaps == ()


@pytest.mark.wall_clock
def test_an_administrator_sets_the_limit_and_the_server_keeps_it() -> None:
    user, password = ADMIN
    with running() as server, open_connection(a_target(server, username=user, password=password)) as connection:
        server.delay_s = 2
        with pytest.raises(FactError) as caught:
            list(connection.query("databases", 0.5, filled("databases")))
        assert (caught.value.reason, caught.value.detail) == (
            Reason.TIMED_OUT,
            "(Cancelled): Query execution was cancelled: timeout",
        )
        server.delay_s = 0
        assert len(list(connection.query("databases", 60, filled("databases")))) == 1
        assert len(sent(server, "SET max_execution_time")) == 3, "anew where the time left is another"


@pytest.mark.wall_clock
def test_statement_is_given_up_when_the_server_keeps_no_time() -> None:
    with running() as server, open_connection(a_target(server)) as connection:
        server.delay_s = 2
        with pytest.raises(FactError) as caught:
            list(connection.query("databases", 0.5, filled("databases")))
        assert caught.value.reason is Reason.TIMED_OUT
        assert caught.value.detail.startswith("given up after 0.")
        server.delay_s = 0
        (batch,) = connection.query("databases", 60, filled("databases"))
        assert batch.to_pydict() == {"database": ["public", "shop"]}


def test_series_whose_ids_are_in_the_order_of_time() -> None:
    ids = [Row(at, {"id": f"{i:08}"}, {"v": 1.0}) for i, at in enumerate(times(200, timedelta(seconds=1)))]
    with running() as server:
        http = _only(collected(a_target(server, Dataset([Table("t", ("id",), {"v": "float"}, ids)], database="ids"))))
        guess = asked(server, "SELECT max(num_series) FROM information_schema.ssts_manifest")
    assert guess == [(1,)], "the server's estimate looks at times only"
    assert http.series is not None
    assert http.series.value == 200


@pytest.mark.parametrize("zone", ["Asia/Shanghai", "America/New_York"])
def test_times_do_not_depend_on_the_zone_of_the_connection(zone: str) -> None:
    with running() as utc, running(zone=zone) as elsewhere:
        expected, found = collected(a_target(utc)), collected(a_target(elsewhere))
        naive = 'SELECT max("ts") FROM "shop"."http"'
        assert asked(utc, naive) != asked(elsewhere, naive)
    assert expected.gaps == found.gaps == ()
    assert expected.measurements == found.measurements
    assert _only(found).last_time == NOW - timedelta(hours=1)


@pytest.mark.parametrize("digits", [0, 3, 6, 9])
def test_times_of_any_precision(digits: int) -> None:
    with running() as server:
        profile = collected(a_target(server, Dataset([a_table(time_digits=digits)], database="shop")))
    http = _only(profile)
    assert profile.gaps == ()
    assert (http.first_time, http.last_time) == (NOW - timedelta(hours=60), NOW - timedelta(hours=1))


@pytest.mark.parametrize(("digits", "end"), [(0, "06:00:01.000000"), (3, "06:00:00.124000"), (6, "06:00:00.123456")])
def test_bounds_of_the_window_are_instants_of_the_time_column(digits: int, end: str) -> None:
    now = NOW + timedelta(microseconds=123_456)
    on_time = [now.replace(microsecond=0), now - timedelta(seconds=1), now + timedelta(seconds=1)]
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in on_time]
    table = Table("t", ("host",), {"v": "float"}, rows, greptime=Greptime(time_digits=digits))
    with running() as server:
        t = _only(collected(a_target(server, Dataset([table], database="d")), now=now))
    assert f"< '2026-03-31 {end}+00:00'" in t.statements["null_counts"]
    assert t.rows is not None
    assert t.rows.value == 2


def test_years_that_mysql_does_not_know() -> None:
    far = [-62_000_000_000_000, 253_402_300_800_000, 9_000_000_000_000_000, None, 0]
    rows = [Row(at, {"host": "a"}, {"due": value, "v": 1.0}) for at, value in zip(times(len(far)), far, strict=True)]
    rows += [Row(datetime(800, 1, 1, tzinfo=UTC), {"host": "a"}, {"due": 0, "v": 1.0})]
    table = Table("t", ("host",), {"due": "time", "v": "float"}, rows, greptime=Greptime(time_digits=3))
    with running() as server:
        profile = collected(a_target(server, Dataset([table], database="d")))
        for column in ("due", "time"):
            with pytest.raises(pymysql.err.Error, match="outside MySQL DATETIME range"):
                asked(server, f'SELECT "{column}" FROM "d"."t"')
    assert profile.gaps == ()
    t = _only(profile)
    assert t.rows is not None
    assert t.rows.value == 5
    due = t.fields[0]
    assert due.null_ratio is not None
    assert due.null_ratio.value == pytest.approx(1 / 5)
    assert due.distinct is not None
    assert due.distinct.value == 4


def test_documents_which_the_server_does_not_cut_off() -> None:
    long = '{"text": "' + "x" * 5_000 + '"}'
    rows = [Row(at, {"host": "a"}, {"doc": long if i else None}) for i, at in enumerate(times(4))]
    with running() as server:
        profile = collected(a_target(server, Dataset([Table("t", ("host",), {"doc": "json"}, rows)], database="d")))
        with pytest.raises(pymysql.err.Error, match=r"UTF-?8"):
            asked(server, 'SELECT left("doc", 10) FROM "d"."t"')
    assert profile.gaps == ()
    (doc,) = _only(profile).fields
    assert doc.types == ("json",)
    assert doc.null_ratio is not None
    assert doc.null_ratio.value == pytest.approx(1 / 4)
    assert [text[:12] for text in doc.sample] == ['{"text": "xx']


def test_rows_of_one_key_and_time() -> None:
    (at,) = times(1)
    rows = [Row(at, {"host": "a"}, {"x": 1.0}), Row(at, {"host": "a"}, {"y": 2.0})]
    options = {"last": {}, "filled": {"merge_mode": "last_non_null"}, "all": {"append_mode": "true"}}
    tables = [
        Table(name, ("host",), {"x": "float", "y": "float"}, rows, greptime=Greptime(options=kept))
        for name, kept in options.items()
    ]
    with running() as server, open_connection(target := a_target(server, Dataset(tables, database="d"))) as connection:
        found = {m.name: m for m in collected(target).measurements}
        (estimate,) = connection.query(
            "row_estimate", 60, filled("row_estimate", database="d", measurements=list(options))
        )
    assert {name: m.rows and m.rows.value for name, m in found.items()} == {"all": 2, "filled": 1, "last": 1}
    samples = {name: [f.sample for f in m.fields] for name, m in found.items()}
    assert samples == {"all": [("1",), ("2",)], "filled": [("1",), ("2",)], "last": [(), ("2",)]}
    assert estimate.column("rows").to_pylist() == [2, 2, 2], "with the versions that are not read any more"


# --- The metric engine -------------------------------------------------------------------------------------------


def _metric(name: str, *labels: str) -> Table:
    rows = [
        Row(at, {label: f"{label}{i % 3}" for label in labels}, {"greptime_value": float(i)})
        for i, at in enumerate(times(6))
    ]
    fields = {"greptime_value": "float"}
    return Table(
        name, labels, fields, rows, time="greptime_timestamp", greptime=Greptime(physical="phy", time_digits=3)
    )


@ON_VERSIONS
def test_logical_tables_are_counted_through_the_physical_one(version: str) -> None:
    with running(version) as server:
        metrics = Dataset([_metric("up", "job"), _metric("load", "host", "job")], database="prom")
        target = a_target(server, metrics)
        profile = collected(target)
        with open_connection(target) as connection:
            assert {gap.fact for gap in probe(target, connection, NOW).profile.gaps} == _untold(version)
    assert set(_gaps(profile)) == _untold(version)
    phy = _only(profile)
    assert phy.name == "phy"
    assert phy.time_column == "greptime_timestamp"
    # Which metric a row is of is named; the hash of its series says nothing more.
    assert {t.key: t.sample for t in phy.tags} == {
        "__table_id": ("load", "up"),
        "host": ("host0", "host1", "host2"),
        "job": ("job0", "job1", "job2"),
    }
    assert {t.key: t.metrics for t in phy.tags} == {"__table_id": (), "host": ("load",), "job": ()}
    assert phy.series is not None
    assert phy.series.value == 6
    assert [f.key for f in phy.fields] == ["greptime_value"]
    assert phy.rows is not None
    assert phy.rows.value == 12
    assert (phy.options or {})["engine"] == "metric"
    # The server makes that of the number of the metric.
    assert [(i.kind, i.columns) for i in phy.indexes or () if not i.constraint] == [("skipping", ("__table_id",))]


# --- Files -------------------------------------------------------------------------------------------------------


def test_window_is_halved_until_the_files_are_few_enough() -> None:
    with running(file_limit=20) as server:
        profile = collected(a_target(server))
    assert profile.gaps == ()
    http = _only(profile)
    assert http.rows is not None
    # 30 days, 15, 7.5, 3.75, 1.9 and at last 22.5 hours, in which there are 22 files; then 11 hours and a quarter.
    assert (http.rows.value, http.rows.source.scope) == (
        11,
        "rows from 2026-03-30 18:45 to 2026-03-31 06:00 UTC, as many as the server reads in one query",
    )
    asked = {c.fact: c.statements for c in profile.costs}
    assert sorted(asked[f] for f in ("row_sample", "series_listing", "null_counts")) == [1, 1, 7]


def test_table_in_too_many_files_is_batched_facts_with_others_once() -> None:
    def table(name: str, rows: int) -> Table:
        return Table(
            name,
            ("a",),
            {"v": "float"},
            [Row(time, {"a": "x"}, {"v": 1.0}) for time in times(rows, timedelta(hours=1))],
        )

    with running(file_limit=20) as server:
        few = [table(f"few{n}", 3) for n in range(3)]
        profile = collected(a_target(server, Dataset([*few, table("many", 100)], database="d")))
    assert profile.gaps == ()
    # First about all four and then about each; from then on about the three, and about the other one.
    asked = {c.fact: c.statements for c in profile.costs}
    assert asked["series_listing"] == asked["null_counts"] == 2


@pytest.mark.full
def test_gap_when_even_the_shortest_window_has_too_many_files() -> None:
    with running(file_limit=0) as server:
        rows = [Row(NOW - timedelta(seconds=1), {"a": "x"}, {"v": 1.0})]
        profile = collected(a_target(server, Dataset([Table("t", ("a",), {"v": "float"}, rows)], database="d")))
    gaps = _gaps(profile)
    assert {"series_listing", "null_counts", "row_sample"} <= set(gaps)
    assert {g.reason for g in profile.gaps} == {Reason.OVER_BUDGET}
    assert "(RateLimited): Too many files to read concurrently: 1, max allowed: 0" in gaps["series_listing"].detail
