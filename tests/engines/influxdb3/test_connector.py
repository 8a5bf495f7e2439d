"""InfluxDB 3: two ways to one answer, what errors mean, and the window that shrinks."""

from __future__ import annotations

import contextlib
import io
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
import urllib3

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.influxdb3.double import ADMIN, READER, InfluxDB3, in_messages, metrics
from tests.engines.influxdb3.server import RealInfluxDB3, influxdb3_server, need_stand_in
from tests.query_parameters import filled
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.engines.influxdb3 import client
from tsaudit.engines.influxdb3.client import batches
from tsaudit.engines.opening import open_connection
from tsaudit.engines.queries import render
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Gap, Reason
from tsaudit.model.finding import Outcome
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import stored_bytes

WINDOW = {"start": NOW - timedelta(days=30), "end": NOW, "time": "time", "time_kind": "timestamp"}


@contextlib.contextmanager
def stand_in(**settings: Any) -> Iterator[InfluxDB3]:
    need_stand_in("can be told what to be, to refuse, and when")
    server = InfluxDB3(**settings)
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def running(*, with_flight: bool = True) -> Iterator[InfluxDB3 | RealInfluxDB3]:
    server = influxdb3_server(with_flight=with_flight)
    try:
        yield server
    finally:
        server.stop()


def _table(rows: int = 60) -> Table:
    written = [
        Row(
            at,
            {"host": f"h{i % 6}", "region": None if i % 6 == 0 else "eu"},
            {"ms": float(i), "error": None if i % 9 else "x", "up": i % 2 == 0, "n": i},
        )
        for i, at in enumerate(times(rows, timedelta(hours=1)))
    ]
    return Table(
        "http", ("host", "region"), {"ms": "float", "error": "string", "up": "boolean", "n": "integer"}, written
    )


DATA = Dataset([_table()], database="shop", retention=timedelta(days=400))


def _target(server: InfluxDB3 | RealInfluxDB3, token: str = "", **settings: Any) -> Target:
    server.write(DATA)
    known: dict[str, Any] = {"databases": ("shop",), **server.login} | ({"password": token} if token else {})
    return Target(**{"name": "t", "engine": "influxdb3", "url": server.url} | known | settings)


def _gaps(profile: Profile) -> dict[str, Gap]:
    return {gap.fact: gap for gap in profile.gaps}


def _comparable(profile: Profile) -> Profile:
    import dataclasses

    return dataclasses.replace(profile, server_version="", costs=(), collected_at=NOW)


def test_http_when_flight_does_not_come_through_gives_the_same_profile() -> None:
    with running() as both:
        by_flight = collected(_target(both))
    with running(with_flight=False) as http_only:
        by_http = collected(_target(http_only))
    assert by_flight.gaps == by_http.gaps == ()
    assert by_http.server_version == f"{by_flight.server_version}, over HTTP"
    assert by_flight.server_version.startswith("Core 3.")
    assert by_flight.edition == by_http.edition == "Core"
    assert to_json(_comparable(by_flight)) == to_json(_comparable(by_http))
    assert all(cost.bytes is None for cost in by_flight.costs if cost.fact != "server_counters")
    assert all(cost.bytes for cost in by_http.costs)


@pytest.mark.full
@pytest.mark.parametrize("with_flight", [True, False])
def test_several_connections_go_the_same_way(with_flight: bool) -> None:
    with running(with_flight=with_flight) as server:
        server.write(
            Dataset(
                [Table(f"m{i}", ("a",), {"v": "float"}, [Row(times(1)[0], {"a": "x"}, {"v": 1.0})]) for i in range(6)],
                database="many",
            )
        )
        target = _target(server, databases=("many",), budget={"concurrency": 3})
        profile = collected(target)
    assert profile.gaps == ()
    assert len(profile.measurements) == 6


def test_roles_by_arrow_types_when_there_is_no_schema_table() -> None:
    with stand_in() as newer, stand_in(with_schema_table=False) as older:
        first, second = collected(_target(newer)), collected(_target(older))
    assert second.gaps == ()
    assert first.measurements == second.measurements
    (http,) = second.measurements
    assert {t.key: t.data_type for t in http.tags} == {"host": "string", "region": "string"}
    assert {f.key: f.types for f in http.fields} == {
        "error": ("string",),
        "ms": ("float",),
        "n": ("integer",),
        "up": ("boolean",),
    }
    assert {c.fact: c.statements for c in first.costs}["columns"] == 1
    assert {c.fact: c.statements for c in second.costs}["columns"] == 2


def test_text_field_of_a_table_without_tags_is_no_tag() -> None:
    table = Table("log", (), {"line": "string"}, [Row(at, {}, {"line": "a"}) for at in times(3)])
    with running() as server:
        profile = collected(write(Dataset([table]), "influxdb3", server))
    (log,) = profile.measurements
    assert (log.tags, [f.key for f in log.fields]) == ((), ["line"])
    assert log.fields[0].role_reason == "the engine keeps it as a field"


@pytest.mark.parametrize("with_flight", [True, False])
def test_databases_when_the_token_may_not_list_them(with_flight: bool) -> None:
    with stand_in(with_flight=with_flight) as server:
        named = collected(_target(server, READER))
        unnamed = collected(_target(server, READER, databases=()))
    assert [m.name for m in named.measurements] == ["http"]
    gap = _gaps(named)["retention"]
    assert set(_gaps(named)) == {"retention"}
    assert gap.reason is Reason.DENIED
    assert gap.detail.endswith("this needs an admin token, see sql/influxdb3/grants.md")
    assert unnamed.measurements == ()
    assert {g.reason for g in unnamed.gaps} == {Reason.DENIED}
    assert _gaps(unnamed)["databases"].detail.endswith("or list the databases in `databases:`")


def test_databases_when_an_administrator_lists_them() -> None:
    with running() as server:
        profile = collected(_target(server, databases=()))
    (database,) = [d for d in profile.databases if d.name == "shop"]
    assert [(r.policy, r.duration_s, r.default) for r in database.retention or ()] == [("shop", 400 * 86_400, True)]


@pytest.mark.parametrize("with_flight", [True, False])
def test_unknown_table_and_database(with_flight: bool) -> None:
    with running(with_flight=with_flight) as server, open_connection(_target(server)) as connection:
        about = {"database": "shop", "measurement": "no\npe", "tags": ["a"], "limit": 1, "fields": []}
        with pytest.raises(FactError) as caught:
            list(connection.query("series_listing", 60, filled("series_listing", **about, **WINDOW)))
        assert caught.value.reason is Reason.FAILED
        assert "\n" not in caught.value.detail
        assert "no pe" in caught.value.detail
        with pytest.raises(FactError) as caught:
            list(connection.query("measurements", 60, filled("measurements", database="elsewhere")))
        assert caught.value.detail == "database not found: elsewhere"


@pytest.mark.parametrize("with_flight", [True, False])
def test_deleted_table_is_no_measurement(with_flight: bool) -> None:
    rows = [Row(at, {"a": "x"}, {"v": 1.0}) for at in times(2)]
    tables = [Table(name, ("a",), {"v": "float"}, rows) for name in ("kept", "gone", "like-20260331T060000")]
    with running(with_flight=with_flight) as server:
        target = write(Dataset(tables), "influxdb3", server)
        server.delete_table(target.databases[0], "gone")
        profile = collected(target)
    assert profile.gaps == ()
    # A name alone does not tell: the server says which are deleted.
    assert [m.name for m in profile.measurements] == ["kept", "like-20260331T060000"]


@pytest.mark.parametrize("settings", [{"token": READER}, {"with_internal_tables": False}])
def test_deleted_table_is_told_by_its_name_where_the_server_does_not(settings: dict[str, Any]) -> None:
    token = settings.pop("token", ADMIN)
    with stand_in(**settings) as server:
        target = _target(server, token)
        server.delete_table("shop", "http")
        profile = collected(target)
    assert profile.measurements == ()
    told = {gap.reason for gap in profile.gaps if gap.fact in ("measurements", "columns")}
    assert told == {Reason.NOTHING_THERE}
    assert {c.fact: c.statements for c in profile.costs}["measurements"] == 2


@pytest.mark.parametrize("with_flight", [True, False])
def test_table_whose_first_point_was_refused_is_a_gap(with_flight: bool) -> None:
    (at,) = times(1)
    half = Table("half", ("host",), {"host": "float"}, [Row(at, {"host": "a"}, {"host": 1.0})])
    with running(with_flight=with_flight) as server:
        profile = collected(write(Dataset([half, _table(3)]), "influxdb3", server))
    assert {(gap.measurement, gap.reason) for gap in profile.gaps} == {("half", Reason.FAILED)}
    half_written, http = profile.measurements
    assert (half_written.name, half_written.rows, half_written.series) == ("half", None, None)
    assert http.rows is not None
    assert http.rows.value == 3


def test_catalogue_says_the_same_in_both_of_its_forms() -> None:
    rows = [Row(at, {"from": "x", "From": "y"}, {"where": 1.5, "Where": 2, "it's": "z"}) for at in times(2)]
    fields = {"where": "float", "Where": "integer", "it's": "string"}
    names = ("select", "Select", "it's", "_x")
    # Without a time, a table has no columns that could be asked for.
    half = Table("half", ("host",), {"host": "float"}, [Row(rows[0].time, {"host": "a"}, {"host": 1.0})])
    with running() as server:
        database = server.write(Dataset([half, *(Table(name, ("from", "From"), fields, rows) for name in names)]))
        columns = [
            server.rows(database, render("influxdb3", "columns", catalog=catalog))
            for catalog in ("influxdb_schema", "information_schema")
        ]
        tables = [
            server.rows(asked, render("influxdb3", "measurements", catalog=catalog, database=database))
            for asked, catalog in (("_internal", "system"), (database, "information_schema"))
        ]
    assert columns[0] == columns[1]
    assert len(columns[0]) == len(names) * 6
    assert tables[0] == tables[1] == [{"measurement": name} for name in sorted(("half", *names))]


@pytest.mark.parametrize("with_flight", [True, False])
def test_key_words_and_names_that_differ_in_case_alone(with_flight: bool) -> None:
    rows = [Row(at, {"from": "x", "From": f"y{i}"}, {"where": 1.5, "Where": i}) for i, at in enumerate(times(2))]
    tables = [
        Table(name, ("from", "From"), {"where": "float", "Where": "integer"}, rows) for name in ("select", "Select")
    ]
    with running(with_flight=with_flight) as server:
        profile = collected(write(Dataset(tables), "influxdb3", server))
    assert profile.gaps == ()
    assert [m.name for m in profile.measurements] == ["Select", "select"]
    for found in profile.measurements:
        assert {t.key: t.values and t.values.value for t in found.tags} == {"From": 2, "from": 1}
        assert {f.key: (f.types, f.sample) for f in found.fields} == {
            "Where": (("integer",), ("0", "1")),
            "where": (("float",), ("1.5",)),
        }


def test_errors_are_told_in_the_same_words_over_flight_and_http() -> None:
    said = []
    for with_flight in (True, False):
        with running(with_flight=with_flight) as server, open_connection(_target(server)) as connection:
            about = {"database": "shop", "measurement": "nope", "tags": ["a"], "limit": 1, "fields": []}
            with pytest.raises(FactError) as caught:
                list(connection.query("series_listing", 60, filled("series_listing", **about, **WINDOW)))
            said.append(caught.value.detail)
    assert said[0] == said[1]
    assert said[0].lower().startswith("table 'public.iox.nope' not found")


@pytest.mark.wall_clock
@pytest.mark.parametrize("with_flight", [True, False])
def test_statement_is_given_up_when_it_takes_too_long(with_flight: bool) -> None:
    with stand_in(with_flight=with_flight) as server, open_connection(_target(server)) as connection:
        server.delay_s = 2
        with pytest.raises(FactError) as caught:
            list(connection.query("measurements", 0.3, filled("measurements", database="shop")))
        assert caught.value.reason is Reason.TIMED_OUT
        server.delay_s = 0
        *at_work, batch = connection.query("measurements", 60, filled("measurements", database="shop"))
        assert not any(waiting.num_columns for waiting in at_work)
        assert batch.to_pydict() == {"measurement": ["http"]}


def test_window_is_halved_until_the_files_are_few_enough() -> None:
    with stand_in(file_limit=20) as server:
        profile = collected(_target(server))
    assert profile.gaps == ()
    (http,) = profile.measurements
    assert http.rows is not None
    # 30 days, 15, 7.5, 3.75, 1.9 and at last 22.5 hours, in which there are 22 files; then 11 hours and a quarter.
    assert (http.rows.value, http.rows.source.scope) == (
        11,
        "rows from 2026-03-30 18:45 to 2026-03-31 06:00 UTC, as many as the server reads in one query",
    )
    assert http.series is not None
    assert http.series.source.scope == http.rows.source.scope
    assert http.fields[0].distinct is not None
    assert "from 2026-03-30 18:45" in http.fields[0].distinct.source.scope
    asked = {c.fact: c.statements for c in profile.costs}
    # What one fact found out the next one knows.
    assert sorted(asked[f] for f in ("row_sample", "series_listing", "null_counts")) == [1, 1, 7]


def test_gap_when_even_the_shortest_window_has_too_many_files() -> None:
    with stand_in(file_limit=0) as server:
        rows = [Row(NOW - timedelta(seconds=1), {"a": "x"}, {"v": 1.0})]
        profile = collected(write(Dataset([Table("t", ("a",), {"v": "float"}, rows)]), "influxdb3", server))
    gaps = _gaps(profile)
    assert {"series_listing", "null_counts", "row_sample"} <= set(gaps)
    assert {g.reason for g in profile.gaps} == {Reason.OVER_BUDGET}
    assert "are in more files than the server reads in one query (" in gaps["series_listing"].detail
    (t,) = profile.measurements
    assert (t.series, t.rows) == (None, None)
    assert [x.key for x in t.tags] == ["a"]


def test_probe_with_the_token_of_a_reader() -> None:
    with stand_in() as server:
        target = _target(server, READER)
        with open_connection(target) as connection:
            assert {gap.fact for gap in probe(target, connection, NOW).profile.gaps} == {"retention"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (
            {"version": "2.7.12", "build": "OSS"},
            "is InfluxDB 2.7.12, and this engine is for 3.x; set `engine: influxdb2`",
        ),
        ({"build": ""}, "responds, but not like InfluxDB 3 (HTTP 200)"),
    ],
)
def test_server_is_another_product(settings: dict[str, Any], expected: str) -> None:
    with stand_in(**settings) as server:
        target = Target(name="t", engine="influxdb3", url=server.url, password=ADMIN)
        with pytest.raises(ConnectorError) as caught, open_connection(target):
            pass
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("login", "expected"), [({"password": "wrong"}, "rejects the token"), ({}, "requires a token as `password`")]
)
def test_token_is_refused(login: dict[str, str], expected: str) -> None:
    with running() as server:
        if not server.login:
            pytest.skip("the server asks for no token")
        target = Target(name="t", engine="influxdb3", url=server.url, **login)
        with pytest.raises(ConnectorError, match=expected), open_connection(target):
            pass


@pytest.mark.parametrize("url", ["localhost:8181", "http://", "http://localhost:8181?db=x"])
def test_url_is_of_another_form(url: str) -> None:
    with (
        pytest.raises(ConnectorError, match="not of the form"),
        open_connection(Target(name="t", engine="influxdb3", url=url)),
    ):
        pass


def test_server_is_not_there() -> None:
    target = Target(name="t", engine="influxdb3", url="http://127.0.0.1:9")
    with pytest.raises(ConnectorError, match="does not respond"), open_connection(target):
        pass


@pytest.mark.parametrize("with_flight", [True, False])
def test_server_goes_away_in_the_middle(with_flight: bool) -> None:
    with stand_in(with_flight=with_flight) as server:
        target = _target(server)
        with open_connection(target) as connection:
            server.stop()
            with pytest.raises(FactError) as caught:
                list(connection.query("measurements", 60, filled("measurements", database="shop")))
            assert caught.value.reason is Reason.UNREACHABLE


@pytest.mark.parametrize(
    ("status", "body", "reason", "detail"),
    [
        (429, b"too many requests", Reason.TIMED_OUT, "too many requests"),
        (503, b"", Reason.UNREACHABLE, "HTTP 503"),
        (400, b"ResourceExhausted: would need 3 GB", Reason.OVER_BUDGET, "would need 3 GB"),
        (
            400,
            b"Error while planning query: Query would exceed file limit of 432 parquet files",
            Reason.OVER_BUDGET,
            "Query would exceed file limit of 432 parquet files",
        ),
        (500, b"oops\nat line 3", Reason.FAILED, "oops at line 3"),
        (500, b"query error: External error: no time\n\nStack backtrace:\n 0: x::y", Reason.FAILED, "no time"),
        (404, b'{"error":"query error: database not found: d"}', Reason.FAILED, "database not found: d"),
        (200, b'{"measurement": "a"}\n{"measu', Reason.FAILED, "the response broke off"),
    ],
)
def test_errors_over_http(status: int, body: bytes, reason: Reason, detail: str) -> None:
    with _canned(status, body) as url:
        target = Target(name="t", engine="influxdb3", url=url, password="x", databases=("d",))
        with open_connection(target) as connection, pytest.raises(FactError) as caught:
            list(connection.query("measurements", 60, filled("measurements", database="d")))
    assert caught.value.reason is reason
    assert detail in caught.value.detail
    assert "x::y" not in caught.value.detail


@contextlib.contextmanager
def _canned(status: int, body: bytes) -> Iterator[str]:
    """A server that knows `/ping`, no HTTP/2, and one answer to everything else."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                guest, _ = listening.accept()
                with guest:
                    request = guest.recv(1 << 16)
                    ping = request.startswith(b"GET /ping")
                    head = b"HTTP/1.1 %d X\r\nConnection: close\r\nx-influxdb-version: 3.0.0\r\n" % (
                        200 if ping else status
                    )
                    guest.sendall(
                        head + b"Content-Length: %d\r\n\r\n" % (0 if ping else len(body)) + (b"" if ping else body)
                    )

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        listening.close()


def test_json_lines_without_types() -> None:
    lines = [b'{"a": 1, "b": "x"}', b"", b'{"a": 2.5}', b"{}"]
    (batch,) = batches(lines, ("a", "b", "c"), as_text=False)
    assert batch.to_pydict() == {"a": [1.0, 2.5, None], "b": ["x", None, None], "c": [None, None, None]}
    assert batch.schema.types == [pa.float64(), pa.string(), pa.string()]
    (batch,) = batches(lines, ("a",), as_text=True)
    assert batch.to_pydict() == {"a": ["1", "2.5", None]}
    assert list(batches([], ("a",), as_text=True)) == []


def test_counters_are_those_of_the_page_of_metrics() -> None:
    with stand_in() as server:
        target = write(Dataset([_table()], database="test"), "influxdb3", server)
        server.metrics = metrics(lines=900, rejected=40, ooms=2)
        status = collected(target).server
        assert status is not None
        assert (status.counted("points_written", "test"), status.counted("points_dropped", "test")) == (900, 40)
        assert status.counted("queries_out_of_memory", "") == 2
        assert status.started == datetime.fromtimestamp(1.7e9, UTC)
        server.metrics = b""
        refused = collected(target)
    assert refused.server is None
    assert [(gap.fact, gap.reason) for gap in refused.gaps] == [("server_counters", Reason.DENIED)]
    outcomes = {result.code: result.outcome for result in evaluate(refused).results}
    assert (outcomes["SRV001"], outcomes["SRV002"]) == (Outcome.OPEN, Outcome.OPEN)


def test_bytes_are_those_of_all_files_each_once() -> None:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(500)]
    tables = [Table(name, ("host",), {"v": "float"}, rows[: 100 * (i + 1)]) for i, name in enumerate("abcde")]
    small, large = Dataset(tables[:2], database="small"), Dataset(tables[2:], database="large")
    dataset = replace(small, beside=[large, Dataset([], database="none")])
    files = "SELECT path, size_bytes, table_name FROM system.parquet_files"
    with stand_in() as server:
        profile = collected(write(dataset, "influxdb3", server))
        listed = {name: server.rows(name, files) for name in ("small", "large", "none")}
    assert profile.gaps == ()
    found = {d.name: d.storage.data_bytes or 0 for d in profile.databases if d.storage}
    sizes = {name: {row["path"]: row["size_bytes"] for row in rows} for name, rows in listed.items()}
    assert found == {name: sum(kept.values()) for name, kept in sizes.items()}
    assert found["large"] > found["small"] > found["none"] == 0
    # The server lists them under the names of the other database's tables, too.
    assert {row["table_name"] for row in listed["small"]} == {"a", "b", "c", "d"}
    assert stored_bytes(profile) == sum(found.values())


@pytest.mark.parametrize("product", ["Cloud Serverless", "Cloud Dedicated"])
def test_cloud_is_not_asked_for_files(product: str) -> None:
    with stand_in() as server, open_connection(write(Dataset([_table()]), "influxdb3", server)) as connection:
        connection.server_version = product
        with pytest.raises(FactError, match="no table of files"):
            connection.query("database_bytes", 60, filled("database_bytes", database="test"))
        assert not any("parquet_files" in statement for statement in server.statements)


@pytest.mark.parametrize(
    ("host", "build", "edition"),
    [
        # A service names itself in general; its host says which product it is.
        ("us-east-1-1.aws.cloud2.influxdata.com", "Cloud", "Cloud Serverless"),
        ("us-east-1-1.aws.cloud2.influxdata.com", "", "Cloud Serverless"),
        ("cluster-id.a.influxdb.io", "Cloud", "Cloud Dedicated"),
        ("db.example", "Core", "Core"),
        ("cloud2.influxdata.com.example", "Enterprise", "Enterprise"),
    ],
)
def test_product_by_the_name_of_its_host(host: str, build: str, edition: str) -> None:
    greeting = urllib3.HTTPResponse(io.BytesIO(), status=204, headers={"X-Influxdb-Build": build} if build else {})
    assert client.server_version(f"https://{host}", "token", greeting) == edition


@pytest.mark.parametrize(("rows", "columns", "messages"), [(0, 3, 1), (8_192, 3, 1), (8_192, 500, 16)])
def test_wide_rows_come_in_several_messages(rows: int, columns: int, messages: int) -> None:
    """A server never sends the 8,192 rows of a table of 500 columns at once: what is not read is a larger message."""
    column = pa.nulls(rows, pa.float64())
    sent = list(in_messages(pa.RecordBatch.from_arrays([column] * columns, [f"c{i}" for i in range(columns)])))
    assert sum(one.num_rows for one in sent) == rows
    assert len(sent) == pytest.approx(messages, abs=1)
    assert all(one.nbytes < 2_200_000 for one in sent)


def test_a_row_is_never_divided() -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(["x" * 3_000_000] * 2)], ["line"])
    assert [one.num_rows for one in in_messages(batch)] == [1, 1]
