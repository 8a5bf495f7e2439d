"""How the connector to InfluxDB 2.x reads answers that no real server would give on demand."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.influxdb2.conversations import Answer, Conversation, conversation
from tests.examples import examples
from tests.query_parameters import filled
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.engines.influxdb2.client import read_records
from tsaudit.engines.opening import open_connection
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock

PING = {"X-Influxdb-Version": "v2.7.12", "X-Influxdb-Build": "OSS"}
BUCKET = {"id": "0a", "orgID": "0b", "name": "db", "type": "user", "retentionRules": []}


@pytest.fixture
def double() -> Iterator[Conversation]:
    with conversation("double", scripted=True) as server:
        server.metrics = True
        script(server, {})
        yield server


def script(server: Conversation, answers: dict[str, Answer | Callable[[], Answer]]) -> None:
    """Beginning of the path to the answer; it is a plain OSS server that knows one bucket otherwise."""
    usual: dict[str, Answer | Callable[[], Answer]] = {
        "/ping": Answer(204, PING, b""),
        "/api/v2/buckets": _json({"buckets": [BUCKET]}),
        "/api/v2/dbrps": _json({"content": [{"database": "db", "retention_policy": "autogen", "default": True}]}),
    }

    def tampering(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
        found = next(answer for start, answer in [*answers.items(), *usual.items()] if path.startswith(start))
        return found if isinstance(found, Answer) else found()

    server.tampering = tampering


def _json(content: Any, status: int = 200) -> Answer:
    return Answer(status, {"Content-Type": "application/json"}, json.dumps(content).encode())


def _flux(text: str) -> Answer:
    return Answer(200, {"Content-Type": "text/csv"}, text.replace("\n", "\r\n").encode())


def _target(server: Conversation, **settings: Any) -> Target:
    return Target(**{"name": "t", "engine": "influxdb2", "url": server.url, "password": "s3cret"} | settings)


def _asked(server: Conversation, fact: str = "measurements", timeout_s: float = 5, **about: Any) -> list[Any]:
    with open_connection(_target(server)) as connection:
        return [
            row
            for batch in connection.query(
                fact, timeout_s, filled(fact, **({} if fact == "databases" else {"database": "db"}), **about)
            )
            for row in batch.to_pylist()
        ]


def _failure(server: Conversation, fact: str = "measurements", **about: Any) -> FactError:
    with pytest.raises(FactError) as raised:
        _asked(server, fact, **about)
    assert "\n" not in raised.value.detail
    assert "s3cret" not in raised.value.detail
    return raised.value


NAMES = "#datatype,string,long,string\n,result,table,_value\n,_result,0,cpu\n\n"


@pytest.mark.parametrize(
    ("answer", "reason", "detail"),
    [
        (
            _json({"message": "unauthorized access"}, 401),
            Reason.DENIED,
            "unauthorized access (HTTP 401); the token is wrong, or was revoked",
        ),
        (_json({"message": "forbidden"}, 403), Reason.DENIED, "grant the token read on the bucket"),
        (_json({"message": "compilation failed:\nerror"}, 400), Reason.FAILED, "compilation failed: error (HTTP 400)"),
        (Answer(502, {}, b"<html>"), Reason.FAILED, "Bad Gateway (HTTP 502)"),
        (_json({"message": "took too long"}, 504), Reason.TIMED_OUT, "the server gave up: took too long"),
        (
            _json({"message": 'could not find bucket "db"'}, 404),
            Reason.FAILED,
            "or the token has no permission to read it",
        ),
        (Answer(503, {}, b""), Reason.TIMED_OUT, "the server is busy or its quota is used up (HTTP 503)"),
        (
            _flux(NAMES + "#datatype,string,string\n,error,reference\n,out of\n"),
            Reason.FAILED,
            "the response broke off: out of",
        ),
        (_flux("<html>\nnot,csv\n"), Reason.FAILED, "not annotated CSV"),
        (Answer(200, {}, NAMES.encode(), broken=True), Reason.UNREACHABLE, "the connection broke (connection lost)"),
    ],
)
def test_answer_is_an_error(double: Conversation, answer: Answer, reason: Reason, detail: str) -> None:
    script(double, {"/api/v2/query": answer})
    error = _failure(double)
    assert error.reason is reason
    assert detail in error.detail


def test_rest_answers_something_else(double: Conversation) -> None:
    script(double, {"/api/v2/buckets": Answer(200, {}, b"<html>")})
    assert "the response is a web page, not JSON" in _failure(double, "databases").detail


def test_bucket_is_not_listed(double: Conversation) -> None:
    script(double, {"/api/v2/buckets": _json({"buckets": []})})
    assert "no bucket db is visible" in _failure(double).detail


def test_two_organizations_have_the_bucket(double: Conversation) -> None:
    script(double, {"/api/v2/buckets": _json({"buckets": [BUCKET, BUCKET | {"orgID": "0c"}]})})
    assert "name one in the URL: ?org=NAME" in _failure(double, "databases").detail


def test_organization_is_sent(double: Conversation) -> None:
    target = _target(double, url=f"{double.url}/?org=a%26b")
    with open_connection(target) as connection:
        list(connection.query("databases", 60, filled("databases")))
    assert "/api/v2/buckets?limit=100&org=a%26b\n" in double.asked


def test_bucket_has_no_retention_rule_keeps_forever(double: Conversation) -> None:
    assert _asked(double, "retention") == [{"policy": "db", "duration_s": 0, "partition_s": None, "default": True}]


def test_server_does_not_say_how_many_series(double: Conversation) -> None:
    script(double, {"/metrics": _json({}, 403), "/api/v2/query": _flux("\n")})
    assert "does not report the number of series" in _failure(double, "database_series").detail


def test_metrics_are_read_once_for_all_buckets(double: Conversation) -> None:
    gauges = b'storage_bucket_series_num{bucket="0a"} 12\nstorage_bucket_series_num{bucket="0c"} 1.5e+06\n'
    buckets = [BUCKET, BUCKET | {"id": "0c", "name": "large"}]
    script(double, {"/metrics": Answer(200, {}, gauges), "/api/v2/buckets": _json({"buckets": buckets})})
    with open_connection(_target(double)) as connection:
        list(connection.query("databases", 60, filled("databases")))
        found = [
            row["series"]
            for name in ("db", "large")
            for batch in connection.query("database_series", 60, filled("database_series", database=name))
            for row in batch.to_pylist()
        ]
    assert found == [12, 1_500_000]
    assert sum(asked.startswith("/metrics") for asked in double.asked) == 1


def test_counters_are_those_of_the_buckets_that_the_token_sees(double: Conversation) -> None:
    shard = 'bucket="{bucket}",engine="tsm1",id="{id}",path="/e/{id}",walPath="/w/{id}"'
    page = "".join(
        f"{metric}{{{shard.format(bucket=bucket, id=number)}}} {value}\n"
        for metric, bucket, number, value in (
            ("storage_shard_write_sum", "0a", 1, 1_000),
            ("storage_shard_write_sum", "0a", 2, "2.5e+03"),
            ("storage_shard_write_err_sum", "0a", 2, 100),
            ("storage_shard_write_err_count", "0a", 2, 2),
            ("storage_cache_writes_err", "0a", 2, 2),
            ("storage_shard_write_dropped_sum", "0a", 2, 7),
            ("storage_shard_write_dropped_sum", "ff", 3, 99),
            ("storage_compactions_failed", "ff", 3, 2),
        )
    )
    page += 'influxdb_uptime_seconds{id="1"} 7200\nstorage_writer_err_points_sum{path="/e"} 1206\n'
    script(double, {"/metrics": Answer(200, {}, page.encode())})
    with open_connection(_target(double)) as connection:
        list(connection.query("databases", 60, filled("databases")))
        (batch,) = connection.query("server_counters", 60, filled("server_counters"))
    rows = {(row["kind"], row["name"], row["database"]): row["value"] for row in batch.to_pylist()}
    started = rows.pop(("started", "", ""))
    assert rows == {
        ("counter", "points_written", "db"): 3_393,
        ("counter", "points_failed", "db"): 100,
        ("counter", "points_dropped", "db"): 7,
        # Of a shard without counters; what was dropped of a bucket that the token does not see is not told.
        ("counter", "points_failed", ""): 1_000,
        ("counter", "points_dropped", ""): 7,
        ("counter", "compactions_failed", ""): 2,
    }
    assert started % 60 == 0
    assert 7_190 < time.time() - started < 7_400


def test_counters_when_the_page_is_refused(double: Conversation) -> None:
    script(double, {"/metrics": _json({}, 403)})
    with open_connection(_target(double)) as connection, pytest.raises(FactError, match=r"read \(HTTP 403"):
        list(connection.query("server_counters", 60, filled("server_counters")))


def test_no_mapping_can_be_read(double: Conversation) -> None:
    """Then InfluxQL does not know the bucket, as far as can be told."""
    script(double, {"/api/v2/dbrps": _json({}, 403)})
    error = _failure(double, "row_count", measurement="m", series=[])
    assert error.reason is Reason.UNSUPPORTED
    assert not any(asked.startswith("/query") for asked in double.asked)


def test_influxql_answers_an_error(double: Conversation) -> None:
    script(double, {"/query": _json({"results": [{"error": "database not found: db"}]})})
    assert _failure(double, "tag_keys").detail == "database not found: db"
    script(double, {"/query": _json({"message": "Unauthorized"}, 401)})
    assert _failure(double, "tag_keys").reason is Reason.DENIED


def test_cloud_listing_by_flux_says_that_it_cannot_be_checked(double: Conversation) -> None:
    rows = "".join(f",_result,0,m,h{i}\n" for i in range(10_001))
    script(
        double,
        {
            "/ping": Answer(204, {"X-Influxdb-Version": "x", "X-Influxdb-Build": "Cloud"}, b""),
            "/query": Answer(405, {}, b""),
            "/api/v2/query": _flux(f"#datatype,string,long,string,string\n,result,table,_measurement,host\n{rows}\n"),
        },
    )
    with open_connection(_target(double)) as connection:
        rows_read = connection.query(
            "series_listing", 30, filled("series_listing", database="db", measurement="m", tags=["host"])
        )
        assert [batch.num_rows for batch in rows_read] == [10_000, 1]
        assert "is missing" in rows_read.scope


@pytest.mark.wall_clock
def test_server_is_slow(double: Conversation) -> None:
    def slow() -> Answer:
        time.sleep(3)
        return _flux(NAMES)

    script(double, {"/api/v2/query": slow})
    began = time.monotonic()
    error = _failure(double, timeout_s=0.3)
    assert (error.reason, error.detail) == (Reason.TIMED_OUT, "canceled after 0.3 s")
    assert time.monotonic() - began < 2


@pytest.mark.wall_clock
def test_time_is_up_before_the_second_statement(double: Conversation) -> None:
    def slow() -> Answer:
        time.sleep(0.2)
        return _json({"buckets": [BUCKET]})

    script(double, {"/api/v2/buckets": slow})
    assert _failure(double, timeout_s=0.1).reason is Reason.TIMED_OUT


def test_server_is_gone(double: Conversation) -> None:
    script(double, {"/api/v2/query": Answer(200, {}, NAMES.encode(), broken=True)})
    with open_connection(_target(double)) as connection:
        rows = connection.query("measurements", 60, filled("measurements", database="db"))
        script(double, {"/api/v2/query": Answer(200, {}, NAMES.encode(), broken=True), "/ping": Answer(200, {}, b"")})
        with pytest.raises(FactError) as raised:
            list(rows)
    assert raised.value.reason is Reason.UNREACHABLE


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, "responds, but not like InfluxDB"),
        ({"X-Influxdb-Version": "1.8.10"}, "is InfluxDB 1.8.10, and this engine is for 2.x; set `engine: influxdb1`"),
        ({"X-Influxdb-Version": "3.4.0", "X-Influxdb-Build": "Core"}, "is InfluxDB 3.4.0"),
    ],
)
@pytest.mark.parametrize("status", [200, 404])
def test_server_is_another(double: Conversation, headers: dict[str, str], expected: str, status: int) -> None:
    script(double, {"/ping": Answer(status, headers, b"")})
    with pytest.raises(ConnectorError, match=expected), open_connection(_target(double)):
        pass


def test_certificate_is_not_trusted(double: Conversation) -> None:
    target = _target(double, url=double.url.replace("http://", "https://"))
    with pytest.raises(ConnectorError, match="does not respond") as raised, open_connection(target):
        pass
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("token", ["two words", "größe", "line\nend"])
def test_token_cannot_be_sent(double: Conversation, token: str) -> None:
    with (
        pytest.raises(ConnectorError, match="requires an API token") as raised,
        open_connection(_target(double, password=token)),
    ):
        pass
    assert token not in str(raised.value)


# --- Annotated CSV -----------------------------------------------------------------------------------------------

_CELL = st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"]), max_size=12)


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.lists(st.tuples(_CELL, _CELL), min_size=1, max_size=4), min_size=1, max_size=3))
def test_tables_come_back_as_they_were_written(tables: list[list[tuple[str, str]]]) -> None:
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    for number, rows in enumerate(tables):
        writer.writerows([["#datatype", "string", "long", "string"], ["", "result", f"table{number}", "v"]])
        writer.writerows([["", one, "1", other] for one, other in rows])
        file.write("\r\n")
    lines = iter(file.getvalue().encode().split(b"\n"))
    found = [(r.values["result"], r.values["v"]) for r in read_records(lines)]
    assert found == [row for rows in tables for row in rows]


def test_tables_have_columns_of_their_own() -> None:
    text = b"#datatype,string,long,double\n,result,table,x\n,,0,1.5\n\n"
    text += b"#datatype,string,long,long\n,result,table,y\n,,1,2\n"
    found = [(dict(r.types), dict(r.values)) for r in read_records(iter(text.split(b"\n")))]
    assert found == [
        ({"result": "string", "table": "long", "x": "double"}, {"result": "", "table": "0", "x": "1.5"}),
        ({"result": "string", "table": "long", "y": "long"}, {"result": "", "table": "1", "y": "2"}),
    ]
