"""Timestream: pages, counters, rights, throttling and cancelling, with boto3 itself against the stand-in."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
from botocore.exceptions import ClientError

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.timestream import double as timestream_double
from tests.engines.timestream.double import AUDITOR, CALLS_PER_S, STRANGER, Timestream, shipped_policy
from tests.query_parameters import filled
from tests.serving import Handler, serving_http
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.engines.opening import open_connection
from tsaudit.engines.timestream import connector
from tsaudit.model.figures import FOREVER, How, Reason
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Profile
from tsaudit.model.server import StoredQuery

pytestmark = pytest.mark.usefixtures("aws_credentials")

WINDOW = {"start": NOW - timedelta(days=30), "end": NOW, "time": "time", "time_kind": "timestamp"}
CPU = {**WINDOW, "database": "shop", "measurement": "cpu", "tags": ["host"], "fields": ["usage"]}


@contextlib.contextmanager
def running(**settings: Any) -> Iterator[Timestream]:
    server = Timestream(**settings)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def server() -> Iterator[Timestream]:
    with running() as started:
        yield started


def _cpu(hosts: int = 3, rows: int = 10, name: str = "cpu", **settings: Any) -> Table:
    written = [
        Row(t, {"host": f"h{h:05}"}, {"usage": h + i / 7}) for i, t in enumerate(times(rows)) for h in range(hosts)
    ]
    return Table(name, ("host",), {"usage": "float"}, written, **settings)


def _target(server: Timestream, *tables: Table, **settings: Any) -> Target:
    dataset = Dataset(tables or (_cpu(),), database="shop", retention=timedelta(days=400))
    return write(dataset, "timestream", server, **settings)


def _rows(profile: Profile) -> dict[str, int | None]:
    return {m.name: m.rows and m.rows.value for m in profile.measurements}


# --- The services ------------------------------------------------------------------------------------------------


def test_endpoints_are_discovered(server: Timestream, monkeypatch: pytest.MonkeyPatch) -> None:
    _target(server)
    for service in ("QUERY", "WRITE"):
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_TIMESTREAM_{service}", server.address)
    target = Target(name="t", engine="timestream", url="timestream://eu-central-1")
    assert _rows(collected(target)) == {"cpu": 30}
    assert server.operations[0] == "DescribeEndpoints"
    server.operations.clear()
    collected(_target(server))
    assert "DescribeEndpoints" not in server.operations


@pytest.mark.full
def test_lists_of_more_than_twenty_come_in_pages(server: Timestream) -> None:
    profile = collected(_target(server, *(_cpu(1, 2, f"t{i:02}") for i in range(45))))
    assert profile.gaps == ()
    assert len(profile.measurements) == 45
    costs = {c.fact: c.statements for c in profile.costs}
    # One listing of the tables serves three facts; each table is described apart.
    assert (costs["measurements"], costs["retention"], costs["options"], costs["columns"]) == (3, 0, 0, 45)
    assert server.operations.count("ListTables") == 3


def test_only_tables_that_are_audited_are_described(server: Timestream) -> None:
    tables = [_cpu(1, 2, name) for name in ("cpu", "cpu_old", "mem")]
    profile = collected(_target(server, *tables, include=("cpu*",), budget={"max_measurements": 1}))
    described = [s for s in server.statements if s.startswith("DESCRIBE")]
    assert described == [f'DESCRIBE "shop"."{profile.measurements[0].name}"']
    assert profile.measurements[0].name != "mem"


def test_three_scans_a_table_at_most(server: Timestream) -> None:
    collected(_target(server))
    assert len([s for s in server.statements if s.startswith("SELECT")]) == 3


@pytest.mark.parametrize("empty_pages", [0, 1, 3])
def test_answers_come_in_pages_that_may_be_empty(empty_pages: int) -> None:
    with running(empty_pages=empty_pages) as server:
        target = _target(server, _cpu(2_500, 1))
        with open_connection(target) as connection:
            rows = connection.query("series_listing", 60, filled("series_listing", **CPU, limit=10_000))
            pages = [batch for batch in rows if batch.num_columns]
        assert [page.num_rows for page in pages] == [1000, 1000, 500]
        assert len(set(pa.Table.from_batches(pages).column("host").to_pylist())) == 2_500
        assert server.cancelled == []


def test_bytes_are_those_of_the_last_page() -> None:
    with running(empty_pages=2) as server:
        target = _target(server)
        with open_connection(target) as connection:
            rows = connection.query("measure_name_counts", 60, filled("measure_name_counts", **CPU))
            so_far = [rows.bytes_scanned for _ in rows]
        assert so_far == sorted(so_far)
        assert so_far[0] < so_far[-1]
        # Host, measure name, time and value of 30 rows; ten megabytes are billed at least.
        assert rows.bytes_scanned is not None
        assert rows.bytes_scanned > 30 * 16
        assert rows.bytes_metered == 10_000_000


def test_bytes_that_are_not_told_are_not_on_the_bill(server: Timestream, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on an account that pays by compute unit, perhaps."""
    as_told = Timestream._next_page

    def without_bytes(self: Timestream, *arguments: Any) -> dict[str, Any]:
        answer = as_told(self, *arguments)
        return answer | {"QueryStatus": {"ProgressPercentage": answer["QueryStatus"]["ProgressPercentage"]}}

    monkeypatch.setattr(Timestream, "_next_page", without_bytes)
    profile = collected(_target(server))
    assert (profile.gaps, _rows(profile)) == ((), {"cpu": 30})
    assert {(c.bytes_scanned, c.bytes_metered) for c in profile.costs} == {(None, None)}


def test_budget_of_bytes_ends_the_audit_with_gaps(server: Timestream) -> None:
    tables = [_cpu(name=name) for name in ("a", "b", "c")]
    # Two statements about each table's schema are billed, too. What is cheap comes first, for all tables.
    profile = collected(_target(server, *tables, budget={"max_bytes_scanned": 95_000_000}))
    assert {g.reason for g in profile.gaps} == {Reason.OVER_BUDGET}
    assert all("raise budget.max_bytes_scanned" in g.detail for g in profile.gaps)
    assert _rows(profile) == {"a": 30, "b": 30, "c": 30}
    assert [m.tag_sets is not None for m in profile.measurements] == [False, False, False]
    assert sum(c.bytes_metered or 0 for c in profile.costs) <= 100_000_000
    assert len(server.cancelled) == 1


@pytest.mark.wall_clock
def test_query_is_cancelled_when_its_time_is_up(server: Timestream) -> None:
    target = _target(server)
    server.delay_s = 60.0
    with open_connection(target) as connection:
        rows = connection.query("measure_name_counts", 2, filled("measure_name_counts", **CPU))
        with pytest.raises(FactError) as raised:
            list(rows)
    assert (raised.value.reason, raised.value.detail) == (Reason.TIMED_OUT, "canceled after 2 s")
    assert len(server.cancelled) == 1


def test_query_is_cancelled_when_it_is_given_up(server: Timestream) -> None:
    with open_connection(_target(server, _cpu(2_500, 1))) as connection:
        rows = connection.query("series_listing", 60, filled("series_listing", **CPU, limit=10_000))
        next(iter(rows))
        rows.close()
    assert len(server.cancelled) == 1


@pytest.mark.waits
def test_query_that_could_not_be_cancelled_is_said_to_go_on() -> None:
    with running(policy=_policy_without("CancelQuery")) as server:
        target = _target(server)
        server.delay_s = 60.0
        with open_connection(target) as connection, pytest.raises(FactError) as raised:
            # A busy machine needs a second to learn the ID of the query.
            list(connection.query("measure_name_counts", 60, filled("measure_name_counts", **CPU)))
    assert raised.value.reason is Reason.TIMED_OUT
    assert raised.value.detail.startswith("abandoned after 60 s, and not canceled: User: ")
    assert "not authorized to perform: timestream:CancelQuery" in raised.value.detail


@pytest.mark.wall_clock
def test_page_that_does_not_come_ends_the_query(server: Timestream) -> None:
    target = _target(server)
    server.delay_s = 60.0
    with open_connection(target) as connection:
        rows = iter(connection.query("measure_name_counts", 1, filled("measure_name_counts", **CPU)))
        next(rows)
        server.patience_s = 4.0
        with pytest.raises(FactError) as raised:
            next(rows)
    # Its id came with the first page.
    assert (raised.value.reason, raised.value.detail) == (Reason.TIMED_OUT, "canceled after 1 s")
    assert len(server.cancelled) == 1


@pytest.mark.wall_clock
def test_call_without_an_answer_ends_with_the_statement(server: Timestream) -> None:
    target = _target(server)
    server.delay_s, server.patience_s = 60.0, 4.0
    with open_connection(target) as connection, pytest.raises(FactError) as raised:
        list(connection.query("measure_name_counts", 0.5, filled("measure_name_counts", **CPU)))
    assert raised.value.reason is Reason.TIMED_OUT
    assert "no ID to cancel" in raised.value.detail


@pytest.mark.wall_clock
def test_throttling_is_waited_out_and_then_is_a_gap(server: Timestream) -> None:
    target = _target(server)
    with open_connection(target) as connection:
        server.throttled = 2
        assert [b.num_rows for b in connection.query("measurements", 60, filled("measurements", database="shop"))] == [
            1
        ]
        server.throttled = 1_000
        with pytest.raises(FactError) as raised:
            list(connection.query("measurements", 0.5, filled("measurements", database="shop")))
    assert raised.value.reason is Reason.TIMED_OUT
    assert "Request rate limit exceeded" in raised.value.detail


def test_failures_of_the_service_are_tried_again_and_then_are_a_gap(server: Timestream) -> None:
    target = _target(server)
    with open_connection(target) as connection:
        server.failing = 2
        assert [b.num_rows for b in connection.query("measurements", 60, filled("measurements", database="shop"))] == [
            1
        ]
        server.failing = 1_000
        before = len(server.operations)
        with pytest.raises(FactError, match="The service failed") as raised:
            list(connection.query("measurements", 60, filled("measurements", database="shop")))
    assert raised.value.reason is Reason.FAILED
    assert len(server.operations) == before + 3


def test_token_of_another_query_is_refused(server: Timestream) -> None:
    _target(server)
    client = boto3.client("timestream-query", "eu-central-1", endpoint_url=server.address)
    first = client.query(QueryString='SELECT host FROM "shop"."cpu"')
    with pytest.raises(ClientError, match="Invalid pagination token"):
        client.query(QueryString='SELECT usage FROM "shop"."cpu"', NextToken=first["NextToken"])
    client.cancel_query(QueryId=first["QueryId"])
    with pytest.raises(ClientError, match="ConflictException"):
        client.query(QueryString='SELECT host FROM "shop"."cpu"', NextToken=first["NextToken"])


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ('DELETE FROM "shop"."cpu"', "only queries are run"),
        ('SELECT "Host" FROM "shop"."cpu"', "Column 'Host' does not exist"),
        ('SELECT host FROM "shop"."nothing"', "does not exist"),
        ('SELECT host FROM "nowhere"."cpu"', "Requested database 'nowhere' not found"),
        ('SELECT host FROM "shop"."cpu" TABLESAMPLE BERNOULLI (10)', "not registered"),
        ('SELECT count(*) FILTER (WHERE usage > 1) FROM "shop"."cpu"', "not registered"),
        ('SELECT md5(host) FROM "shop"."cpu"', "not registered"),
        ("SELECT FROM WHERE", "syntax is invalid"),
        ('SELECT host FROM "shop"."cpu";', "mismatched input"),
        ('SELECT host FROM "cpu"', "Requested database '' not found"),
        ('SELECT host AS "measure_value::varchar" FROM "shop"."cpu"', "alias 'measure_value::varchar' is not valid"),
    ],
)
def test_what_the_service_does_not_document_is_refused(server: Timestream, statement: str, said: str) -> None:
    _target(server)
    client = boto3.client("timestream-query", "eu-central-1", endpoint_url=server.address)
    with pytest.raises(ClientError, match=said):
        client.query(QueryString=statement)


# --- Tables ------------------------------------------------------------------------------------------------------


def test_table_that_nothing_was_written_to(server: Timestream) -> None:
    profile = collected(_target(server, _cpu(), Table("empty", ("host",), {"usage": "float"})))
    assert {(gap.measurement, gap.reason) for gap in profile.gaps} == {("empty", Reason.FAILED)}
    (empty,) = [m for m in profile.measurements if m.name == "empty"]
    assert (empty.rows, empty.series, empty.tags, empty.fields) == (None, None, (), ())
    with open_connection(_target(server)) as connection, pytest.raises(FactError, match="does not exist"):
        list(
            connection.query("series_listing", 60, filled("series_listing", **CPU | {"measurement": "empty"}, limit=1))
        )


def test_table_that_is_being_deleted_is_left_out(server: Timestream) -> None:
    profile = collected(_target(server, _cpu(), _cpu(name="old", timestream={"TableStatus": "DELETING"})))
    assert (profile.gaps, _rows(profile)) == ((), {"cpu": 30})


def test_column_of_an_attribute_that_is_not_documented(server: Timestream, monkeypatch: pytest.MonkeyPatch) -> None:
    as_described = timestream_double._description

    def otherwise(table: Any) -> pa.Table:
        found = as_described(table)
        attributes = ["PARTITION_KEY" if a == "DIMENSION" else a for a in found.column(2).to_pylist()]
        return found.set_column(2, found.column_names[2], pa.array(attributes))

    monkeypatch.setattr(timestream_double, "_description", otherwise)
    (cpu,) = collected(_target(server)).measurements
    assert [(tag.key, tag.role_reason) for tag in cpu.tags] == [("host", "a varchar column without values to look at")]


def test_what_the_service_tells_of_a_table(server: Timestream) -> None:
    told = {
        "RetentionProperties": {"MemoryStoreRetentionPeriodInHours": 24, "MagneticStoreRetentionPeriodInDays": 400},
        "MagneticStoreWriteProperties": {
            "EnableMagneticStoreWrites": True,
            "MagneticStoreRejectedDataLocation": {"S3Configuration": {"EncryptionOption": "SSE_KMS", "KmsKeyId": "k2"}},
        },
        "Schema": {"CompositePartitionKey": [{"Type": "DIMENSION", "Name": "host", "EnforcementInRecord": "REQUIRED"}]},
    }
    dataset = Dataset([_cpu(timestream=told), _cpu(name="mem")], database="shop", timestream={"KmsKeyId": "k1"})
    profile = collected(write(dataset, "timestream", server))
    cpu, mem = profile.measurements
    assert cpu.options == {
        "CompositePartitionKey": "host",
        "EnableMagneticStoreWrites": "true",
        "EnforcementInRecord": "REQUIRED",
        "KmsKeyId": "k1",
        "MagneticStoreRejectedDataLocation.EncryptionOption": "SSE_KMS",
        "MagneticStoreRejectedDataLocation.KmsKeyId": "k2",
        "MagneticStoreRetentionPeriodInDays": "400",
        "MemoryStoreRetentionPeriodInHours": "24",
    }
    assert mem.options is not None
    assert "CompositePartitionKey" not in mem.options
    (shop,) = profile.databases
    durations = {r.policy: r.duration_s for r in shop.retention or ()}
    assert durations == {"cpu": 400 * 86_400, "mem": FOREVER}


def test_single_values_and_several_share_a_table(server: Timestream) -> None:
    rows = []
    for t in times(20):
        rows.append(Row(t, {"host": "a"}, {"measure_value::double": 1.5}, "load"))
        rows.append(Row(t, {"host": "a"}, {"measure_value::bigint": 3}, "users"))
        rows.append(Row(t, {"host": "a", "disk": "sda"}, {"read": 1.0, "written": 2.0}, "disk"))
    fields = {"measure_value::double": "float", "measure_value::bigint": "integer", "read": "float", "written": "float"}
    (m,) = collected(_target(server, Table("host", ("host", "disk"), fields, rows))).measurements
    assert m.measure_names is not None
    assert m.measure_names.count.value == 3
    names = {n.name: (n.data_type, n.dimensions, n.rows, dict(n.filled)) for n in m.measure_names.names}
    assert {n.name: n.series for n in m.measure_names.names} == {"load": 1, "users": 1, "disk": 1}
    assert m.measure_names.series_keys is not None
    assert (m.measure_names.series_keys.value, m.measure_names.series_keys.source.how) == (3, How.ESTIMATE)
    assert names == {
        "load": ("double", ("host",), 20, {"host": 20, "measure_value::double": 20}),
        "users": ("bigint", ("host",), 20, {"host": 20, "measure_value::bigint": 20}),
        "disk": ("multi", ("disk", "host"), 20, {"host": 20, "disk": 20, "read": 20, "written": 20}),
    }
    # By measure name nothing is missing.
    assert {f.key: f.null_ratio and f.null_ratio.value for f in m.fields} == dict.fromkeys(fields, 0.0)
    shared = m.measure_names.shared
    assert shared is not None
    assert (shared.names, shared.rows, shared.instants) == (("load", "users"), 40, 20)
    # host + a, the name, time and value of each: 5 + 4 + 8 + 8 and 5 + 5 + 8 + 8.
    assert shared.bytes_now == 20 * (25 + 26)
    assert shared.bytes_merged == 20 * (5 + 8 + 4 + (4 + 8) + (5 + 8))


@pytest.mark.full
def test_listing_is_left_out_where_it_would_be_the_table(server: Timestream) -> None:
    rows = [
        Row(NOW - timedelta(milliseconds=100 * i + 1), {"host": f"h{i % 5}", "request_id": f"{i:032x}"}, {"ms": 1.0})
        for i in range(60_000)
    ]
    table = Table("requests", ("host", "request_id"), {"ms": "float"}, rows)
    profile = collected(_target(server, table, budget={"max_rows": 1_000}))
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("series_listing", Reason.OVER_BUDGET)
    assert (
        gap.detail == "tag request_id has a different value in most of 60,000 rows: a listing would return all of them"
    )
    assert not any("DISTINCT" in statement for statement in server.statements)
    (m,) = profile.measurements
    values = {t.key: t.values.value for t in m.tags if t.values}
    assert values["host"] == 5
    assert values["request_id"] == pytest.approx(60_000, rel=0.1)
    assert m.series is not None
    assert (m.series.value, m.series.source.how) == (values["request_id"], How.ESTIMATE)
    assert all(len(value) == 32 for value in m.tags[1].sample)
    # The newest rows are read from the newest part of the window only.
    (statement,) = [s for s in server.statements if "ORDER BY" in s]
    since = datetime.fromisoformat(statement.split("TIMESTAMP '")[1][:26])
    assert timedelta(seconds=100) <= NOW.replace(tzinfo=None) - since <= timedelta(seconds=400)
    assert m.row_patterns is not None
    assert m.row_patterns.rows == 1_000
    assert "the newest 1,000 rows from 2026-03-31 05:56" in m.row_patterns.source.scope


# --- Rights ------------------------------------------------------------------------------------------------------


def test_shipped_policy_suffices_and_writes_nothing(server: Timestream) -> None:
    assert collected(_target(server)).gaps == ()
    actions = {a for part in shipped_policy()["Statement"] for a in part["Action"]}
    assert all(a.removeprefix("timestream:").startswith(("List", "Describe", "Select", "CancelQuery")) for a in actions)


def _policy_without(action: str) -> dict[str, Any]:
    actions = [a for part in shipped_policy()["Statement"] for a in part["Action"]]
    actions.remove(f"timestream:{action}")
    return {"Statement": [{"Action": actions}]}


@pytest.mark.parametrize(
    "action",
    [
        *("ListDatabases", "Select"),
        *(
            pytest.param(action, marks=pytest.mark.full)
            for action in (
                "ListTables",
                "DescribeTable",
                "ListMeasures",
                "ListScheduledQueries",
                "DescribeScheduledQuery",
            )
        ),
    ],
)
def test_right_that_is_missing_is_named_in_the_gap(action: str) -> None:
    with running(policy=_policy_without(action)) as server:
        target = _target(server)
        server.scheduled_queries = [_scheduled(1)]
        profile = collected(target.model_copy(update={"databases": ()}))
        assert profile.gaps
        assert {g.reason for g in profile.gaps} == {Reason.DENIED}
        assert all(f"timestream:{action}" in g.detail and "grants.md" in g.detail for g in profile.gaps)
        if action == "ListDatabases":
            assert collected(target).gaps == ()
        if action == "Select":
            assert profile.measurements[0].measure_names is not None
        with open_connection(target) as connection:
            assert all(f"timestream:{action}" in g.detail for g in probe(target, connection, NOW).profile.gaps)


@pytest.mark.full
def test_key_of_a_database_that_may_not_be_listed() -> None:
    place = {"S3Configuration": {"BucketName": "b", "EncryptionOption": "SSE_KMS", "KmsKeyId": "other"}}
    told = {"MagneticStoreWriteProperties": {"MagneticStoreRejectedDataLocation": place}}
    dataset = Dataset([_cpu(timestream=told)], database="shop", timestream={"KmsKeyId": "own"})
    policy = _policy_without("ListDatabases")
    with running(policy=policy) as server:
        target = write(dataset, "timestream", server)
        (cpu,) = collected(target).measurements
        assert (cpu.options or {})["KmsKeyId"] == "own"
        policy["Statement"][0]["Action"].remove("timestream:DescribeDatabase")
        profile = collected(target)
        assert [(g.fact, g.reason) for g in profile.gaps] == [("options", Reason.DENIED)]
        assert "timestream:DescribeDatabase" in profile.gaps[0].detail
        # Where there is nothing to compare it with, it is not asked for.
        assert collected(_target(server)).gaps == ()


def test_right_to_discover_endpoints_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with running(policy=_policy_without("DescribeEndpoints")) as server:
        for service in ("QUERY", "WRITE"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_TIMESTREAM_{service}", server.address)
        profile = collected(Target(name="t", engine="timestream", url="timestream://eu-central-1"))
    assert profile.gaps
    assert all("timestream:DescribeEndpoints" in g.detail and "grants.md" in g.detail for g in profile.gaps)


def test_rights_on_some_tables_leave_the_others_as_gaps() -> None:
    named, account = "arn:aws:timestream:eu-central-1:123456789012", shipped_policy()
    own = {"Resource": [f"{named}:database/shop", f"{named}:database/shop/table/cpu"]}
    policy = {"Statement": [dict(account["Statement"][0]) | own, account["Statement"][1]]}
    with running(policy=policy) as server:
        profile = collected(_target(server, _cpu(), _cpu(name="mem")))
    cpu, mem = profile.measurements
    assert (cpu.rows and cpu.rows.value, mem.rows, mem.measure_names) == (30, None, None)
    assert {(g.measurement, g.reason) for g in profile.gaps} == {("mem", Reason.DENIED)}
    assert {"columns", "measure_names", "series_listing"} <= {g.fact for g in profile.gaps}
    assert all(f"on resource: {named}:database/shop/table/mem" in g.detail for g in profile.gaps)
    refused = {g.detail.split("to perform: timestream:")[1].split()[0] for g in profile.gaps}
    assert refused == {"DescribeTable", "ListMeasures"}


def test_identity_without_rights(server: Timestream, monkeypatch: pytest.MonkeyPatch) -> None:
    target = _target(server)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", STRANGER)
    profile = collected(target)
    assert profile.measurements == ()
    assert {g.reason for g in profile.gaps} == {Reason.DENIED}


# --- Connecting --------------------------------------------------------------------------------------------------


def test_credentials_that_aws_does_not_know(server: Timestream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIANOBODY")
    with pytest.raises(ConnectorError, match="AWS does not accept the credentials: The security token"):
        open_connection(_target(server)).__enter__()


@pytest.mark.parametrize(
    ("changes", "config", "said"),
    [
        ({"AWS_ACCESS_KEY_ID": None}, "", "Unable to locate credentials"),
        ({"AWS_SECRET_ACCESS_KEY": None}, "", "Partial credentials found in env"),
        ({"AWS_PROFILE": "nobody"}, "", r"The config profile \(nobody\) could not be found"),
        ({"AWS_PROFILE": "odd"}, "[profile odd", "Unable to parse config file"),
        (
            {"AWS_PROFILE": "gone", "AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None},
            "[profile gone]\ncredential_process = false\n",
            "Error when retrieving credentials from custom-process",
        ),
        (
            {"AWS_PROFILE": "sso", "AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None},
            (
                "[profile sso]\nsso_session = s\nsso_account_id = 123456789012\nsso_role_name = r\n"
                "[sso-session s]\nsso_start_url = https://example.com\nsso_region = eu-central-1\n"
            ),
            "Error loading SSO Token",
        ),
    ],
)
def test_no_credentials(
    server: Timestream,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    changes: dict[str, str | None],
    config: str,
    said: str,
) -> None:
    target = _target(server)
    tmp_path.joinpath("config").write_text(config)
    for name, value in ({"AWS_CONFIG_FILE": str(tmp_path / "config"), "HOME": str(tmp_path)} | changes).items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    with pytest.raises(ConnectorError, match=f"^eu-central-1: no AWS credentials: {said}.*; set AWS_PROFILE or"):
        open_connection(target).__enter__()


def test_credentials_that_end_in_the_middle(server: Timestream) -> None:
    with open_connection(_target(server)) as connection:
        del server.rights[AUDITOR]
        with pytest.raises(FactError) as raised:
            list(connection.query("measurements", 60, filled("measurements", database="shop")))
    assert raised.value.reason is Reason.DENIED
    assert raised.value.detail.startswith("AWS does not accept the credentials: The security token")


def test_region_without_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in ("QUERY", "WRITE"):
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_TIMESTREAM_{service}", "http://127.0.0.1:1")
    target = Target(name="t", engine="timestream", url="timestream://eu-north-1")
    with pytest.raises(ConnectorError, match=r"eu-north-1 does not respond: .*; it is available in .*eu-central-1"):
        open_connection(target).__enter__()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": "https://eu-central-1"}, "not of the form timestream://eu-central-1"),
        ({"url": "timestream://eu-central-1?org=x"}, "not of the form"),
        ({"url": "timestream://eu-central-1/shop"}, "not of the form"),
        (
            {"url": "timestream://eu-central-1?endpoint=http://127.0.0.1:1"},
            "Timestream at http://127.0.0.1:1 does not respond",
        ),
        ({"url": "timestream://nowhere%20?endpoint=http://127.0.0.1:1"}, "nowhere"),
        ({"url": "timestream://?endpoint=http://127.0.0.1:1"}, "not of the form timestream://eu-central-1"),
        ({"url": "timestream://eu-central-1?endpoint=127.0.0.1"}, "`endpoint` in the URL is not an address"),
        ({"url": "timestream://eu-central-1?query_endpoint=https://"}, "`query_endpoint` in the URL is not an address"),
        ({"password": "secret"}, "do not set `password`"),
        ({"username": "nobody"}, r"The config profile \(nobody\) could not be found"),
    ],
)
def test_settings_that_lead_nowhere(changes: dict[str, Any], said: str) -> None:
    settings: dict[str, Any] = {"name": "t", "engine": "timestream", "url": "timestream://eu-central-1"}
    with pytest.raises(ConnectorError, match=said):
        open_connection(Target(**settings | changes)).__enter__()


@pytest.mark.parametrize(
    ("status", "body"), [(501, b"<html>Unsupported method</html>"), (200, b"<html>It works!</html>"), (404, b"")]
)
def test_server_of_another_kind(server: Timestream, status: int, body: bytes) -> None:
    del server  # for its credentials
    with answering(status, body) as address:
        target = Target(name="t", engine="timestream", url=f"timestream://eu-central-1?endpoint={address}")
        with pytest.raises(ConnectorError, match=f"^the server at {address} is not Timestream: "):
            open_connection(target).__enter__()


@contextlib.contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """A server that gives the same answer to everything; its address."""

    class Same(Handler):
        def do_POST(self) -> None:
            self.answer(status, body)

    with serving_http(Same) as other:
        yield f"http://127.0.0.1:{other.server_port}"


def test_server_that_is_gone(server: Timestream) -> None:
    target = _target(server)
    with open_connection(target) as connection:
        server.stop()
        # A new one: the stand-in goes on with connections that are open.
        with pytest.raises(FactError) as raised:
            list(connection.reconnect().query("measurements", 60, filled("measurements", database="shop")))
    assert raised.value.reason is Reason.UNREACHABLE
    assert "connection refused" in raised.value.detail


# --- Typed values ------------------------------------------------------------------------------------------------


def _scalar(text: str | None) -> dict[str, Any]:
    return {"NullValue": True} if text is None else {"ScalarValue": text}


@pytest.mark.parametrize(
    ("described", "data", "read"),
    [
        ({"ScalarType": "VARCHAR"}, [_scalar("é"), _scalar(None)], ["é", None]),
        ({"ScalarType": "BIGINT"}, [_scalar("-9223372036854775808")], [-(2**63)]),
        ({"ScalarType": "INTEGER"}, [_scalar("7")], [7]),
        (
            {"ScalarType": "DOUBLE"},
            [_scalar("1.0E10"), _scalar("NaN"), _scalar("-Infinity")],
            [1e10, None, -float("inf")],
        ),
        ({"ScalarType": "BOOLEAN"}, [_scalar("false"), _scalar("true")], [False, True]),
        (
            {"ScalarType": "TIMESTAMP"},
            [_scalar("2026-03-31 05:59:00.123456789"), _scalar(None)],
            [datetime(2026, 3, 31, 5, 59, 0, 123456), None],  # noqa: DTZ001 -- without a zone, as the service has it
        ),
        ({"ScalarType": "UNKNOWN"}, [_scalar(None)], [None]),
        ({"ScalarType": "INTERVAL_DAY_TO_SECOND"}, [_scalar("1 00:00:00.000000000")], ["1 00:00:00.000000000"]),
        (
            {"ArrayColumnInfo": {"Type": {"ScalarType": "BIGINT"}}},
            [{"ArrayValue": [_scalar("1"), _scalar(None)]}, {"NullValue": True}],
            [[1, None], None],
        ),
        (
            {"RowColumnInfo": [{"Name": "a", "Type": {"ScalarType": "VARCHAR"}}, {"Type": {"ScalarType": "DOUBLE"}}]},
            [{"RowValue": {"Data": [_scalar("x"), _scalar("2.5")]}}],
            [{"a": "x", "1": 2.5}],
        ),
    ],
)
def test_typed_values(described: dict[str, Any], data: list[dict[str, Any]], read: list[Any]) -> None:
    answer = {"ColumnInfo": [{"Type": described}], "Rows": [{"Data": [datum]} for datum in data]}
    values = connector.read_page(answer).column(0).to_pylist()
    assert [None if v != v else v for v in values] == read
    assert connector.read_page(answer).schema.names == ["0"]


def test_page_that_is_none() -> None:
    with pytest.raises(ValueError, match="fewer or more values than there are columns"):
        connector.read_page({"ColumnInfo": [], "Rows": [{"Data": [_scalar("x")]}]})


def test_dimensions_that_are_told_as_json(server: Timestream, monkeypatch: pytest.MonkeyPatch) -> None:
    target = _target(server)
    as_told = connector.read_page

    def as_json(answer: Any, names: Any = ()) -> pa.RecordBatch:
        batch = as_told(answer, names)
        if batch.num_columns != 3 or not pa.types.is_list(batch.schema.types[2]):
            return batch
        texts = pa.array([json.dumps(value) for value in batch.column(2).to_pylist()])
        return batch.set_column(2, "dimensions", texts)

    monkeypatch.setattr(connector, "read_page", as_json)
    (cpu,) = collected(target).measurements
    assert cpu.measure_names is not None
    assert [n.dimensions for n in cpu.measure_names.names] == [("host",)]


# --- Scheduled queries -------------------------------------------------------------------------------------------


_RUNS = {"PreviousInvocationTime": 1_775_000_000.5, "NextInvocationTime": 1_775_000_300.5}
"""Every five minutes; in seconds, as the API has times."""


def _scheduled(number: int, state: str = "ENABLED", **run: Any) -> dict[str, Any]:
    name = f"q{number:03}"
    arn = f"arn:aws:timestream:eu-central-1:123456789012:scheduled-query/{name}"
    return {"Arn": arn, "Name": name, "State": state, "QueryString": "SELECT 1", "LastRunSummary": run, **_RUNS}


def test_scheduled_queries_are_read_and_not_run(server: Timestream) -> None:
    run = {
        "ExecutionStats": {"CumulativeBytesScanned": 5_000},
        "QueryInsightsResponse": {
            "QuerySpatialCoverage": {"Max": {"Value": 0.25, "TableArn": "x"}},
            "QueryTemporalRange": {"Max": {"Value": 3_600_000_000_000, "TableArn": "x"}},
        },
    }
    target = _target(server)
    server.scheduled_queries = [_scheduled(1, **run), _scheduled(2, "DISABLED"), _scheduled(3)]
    # One that never ran.
    del server.scheduled_queries[2]["PreviousInvocationTime"]
    profile = collected(target)
    assert profile.gaps == ()
    assert profile.stored_queries == (
        StoredQuery("q001", "SELECT 1", 5_000, 0.25, 3600.0, 300.0),
        StoredQuery("q003", "SELECT 1", None, None, period_s=None),
    )
    assert "ExecuteScheduledQuery" not in server.operations
    assert from_json(Profile, to_json(profile)) == profile


def test_scheduled_queries_when_there_are_very_many(server: Timestream) -> None:
    target = _target(server)
    server.scheduled_queries = [_scheduled(i) for i in range(205)]
    profile = collected(target)
    assert len(profile.stored_queries or ()) == 200
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("scheduled_queries", Reason.OVER_BUDGET)
    assert gap.detail == "5 of 205 scheduled queries were skipped: each needs a call"


@pytest.mark.full
def test_scheduled_queries_when_the_account_allows_few_calls(server: Timestream) -> None:
    target = _target(server, budget={"statement_timeout_s": 6})
    server.calls_per_s = CALLS_PER_S
    server.scheduled_queries = [_scheduled(i) for i in range(60)]
    profile = collected(target, wanted=frozenset({"scheduled_queries"}))
    (gap,) = (gap for gap in profile.gaps if gap.fact == "scheduled_queries")
    assert gap.reason is Reason.OVER_BUDGET
    looked_at = len(profile.stored_queries or ())
    # Four a second in the four seconds until there are two left, and the first burst.
    assert 8 <= looked_at <= 25
    assert gap.detail == f"{60 - looked_at} of 60 scheduled queries were skipped: each needs a call"
    refused = [o for o in server.operations if o == "DescribeScheduledQuery"]
    assert len(refused) <= looked_at + 4, "the quota is kept once the service has told of it"


def test_scheduled_queries_when_they_may_not_be_read() -> None:
    with running(policy=_policy_without("ListScheduledQueries")) as server:
        profile = collected(_target(server))
    assert profile.stored_queries is None
    assert [(g.fact, g.reason) for g in profile.gaps] == [("scheduled_queries", Reason.DENIED)]
