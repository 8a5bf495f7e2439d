"""InfluxDB 2.x as it is: rights, metrics, mappings, servers without InfluxQL, and answers that break off."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
import urllib3

from tests.builders import DAY, NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.influx.family import SMALL
from tests.engines.influxdb2.conversations import Answer, Conversation, Tampering
from tsaudit.collect import collect, earlier_days
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import FOREVER, Reason, Subject
from tsaudit.model.finding import Outcome, RuleResult
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline, figures, stored_bytes
from tsaudit.rules.retention.growing_storage import growing_storage


def _hosts(name: str = "cpu", count: int = 6) -> Table:
    rows = [Row(t, {"host": f"h{h}"}, {"ms": float(i)}) for i, t in enumerate(times(4)) for h in range(count)]
    return Table(name, ("host",), {"ms": "float"}, rows)


def _databases(profile: Profile) -> list[str]:
    return [database.name for database in profile.databases]


def _with(target: Target, **settings: object) -> Target:
    return Target(**{"name": "t", "engine": "influxdb2", "url": target.url, "password": target.password} | settings)


# --- Buckets and rights ------------------------------------------------------------------------------------------


def test_all_buckets_are_audited_but_the_servers_own(influxdb2: Conversation) -> None:
    kept = Dataset([_hosts()], retention=timedelta(days=9000), partition=timedelta(days=30), database="kept/9000d")
    target = write(kept, "influxdb2", influxdb2)
    write(Dataset([_hosts("mem")], database="plain"), "influxdb2", influxdb2)
    profile = collected(_with(target))
    assert {"kept/9000d", "plain"} <= set(_databases(profile))
    assert not {"_monitoring", "_tasks"} & set(_databases(profile))
    found = {d.name: d.retention for d in profile.databases}
    (kept_for,), (plain,) = found["kept/9000d"] or (), found["plain"] or ()
    assert (kept_for.duration_s, kept_for.partition_s) == (9000 * 86400, 30 * 86400)
    assert (plain.duration_s, plain.partition_s) == (FOREVER, 7 * 86400)


def test_token_reads_one_bucket_only(influxdb2: Conversation) -> None:
    mine = write(Dataset([_hosts()], database="mine"), "influxdb2", influxdb2)
    write(Dataset([_hosts("mem")], database="other"), "influxdb2", influxdb2)
    narrow = influxdb2.reader_of("mine")
    profile = collected(_with(mine, password=narrow))
    assert profile.gaps == ()
    assert _databases(profile) == ["mine"]
    assert profile.measurements[0].rows is not None
    # It can do no harm: the server refuses to be written to.
    headers = {"Authorization": f"Token {narrow}"}
    (bucket,) = urllib3.request("GET", f"{influxdb2.url}/api/v2/buckets?name=mine", headers=headers).json()["buckets"]
    to = f"{influxdb2.url}/api/v2/write?orgID={bucket['orgID']}&bucket={bucket['id']}"
    assert urllib3.request("POST", to, body="cpu,host=new ms=1", headers=headers).status == 403
    named = collected(_with(mine, password=narrow, databases=("mine", "other")))
    assert [m.database for m in named.measurements] == ["mine"]
    assert {g.database for g in named.gaps} == {"other"}
    assert "it does not exist, or the token has no permission to read it" in named.gaps[0].detail
    # The day before, everything was to be seen: what is not listed now is not said to be dropped, on any day.
    before = collected(_with(mine, databases=()), wanted=frozenset({"tag_keys", "field_types"}))
    for number in (1, 2):
        unlisted = collected(_with(mine, password=narrow, databases=()), previous=before)
        after = dataclasses.replace(unlisted, day=DAY + timedelta(days=number))
        found = [(rule.code, f) for rule, f in evaluate(after, Timeline(previous=before)).findings()]
        (missed,) = (f for code, f in found if code == "TGT001" and f.subject == Subject("other"))
        assert "either it was dropped, or the account lost `read` on the bucket" in missed.message
        assert not [f for code, f in found if code == "DRF001" and f.subject.database == "other"]
        before = after
    hidden = dataclasses.replace(named, day=DAY + timedelta(days=1))
    found_named = evaluate(hidden, Timeline(previous=before)).findings()
    assert not [f for rule, f in found_named if rule.code == "DRF001" and f.subject.database == "other"]


def test_token_is_unknown(influxdb2: Conversation) -> None:
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    profile = collected(_with(target, password="wrong-secret"))
    assert profile.measurements == ()
    assert {g.reason for g in profile.gaps} == {Reason.DENIED}
    assert "the token is wrong, or was revoked" in profile.gaps[0].detail
    assert "wrong-secret" not in str(profile)


def test_organization_is_named(influxdb2: Conversation) -> None:
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    profile = collected(_with(target, url=f"{influxdb2.url}?org=nobody", databases=target.databases))
    assert {g.reason for g in profile.gaps} <= {Reason.FAILED, Reason.DENIED}
    assert profile.gaps
    assert profile.measurements == ()


def test_buckets_fill_more_than_a_page(influxdb2: Conversation) -> None:
    """The server's pages are made shorter than they are, so that it need not hold a hundred buckets."""
    names = [f"page {i}" for i in range(3)]
    targets = [write(Dataset([], database=name), "influxdb2", influxdb2) for name in names]
    everything: list[dict[str, str]] = []

    def paged(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
        if not path.startswith("/api/v2/buckets?limit=100"):
            return true()
        if not everything:
            everything.extend(b for b in json.loads(true().body)["buckets"] if b["name"] in names)
        filler = [everything[0] | {"type": "system"}] * 99
        after = path.partition("after=")[2]
        ids = [b["id"] for b in everything]
        rest = everything[ids.index(after) + 1 :] if after else everything
        page = [*(filler if len(rest) > 1 else []), *rest[:1]]
        return Answer(200, {"Content-Type": "application/json"}, json.dumps({"buckets": page}).encode())

    influxdb2.tampering = paged
    profile = collected(_with(targets[0]), wanted=frozenset({"retention"}))
    assert _databases(profile) == names
    assert {c.fact: c.statements for c in profile.costs}["databases"] == 3


def test_measurements_that_have_not_moved_are_not_measured_again(
    influxdb2: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(earlier_days, "utc_now", lambda: NOW)
    target = write(Dataset([_hosts("a"), _hosts("b")], database="moving"), "influxdb2", influxdb2)
    before = collected(target)
    after = collected(target, previous=before, now=NOW + timedelta(hours=1))
    assert (after.reused, after.measurements) == (2, before.measurements)
    assert not {c.fact for c in after.costs} & {"series_listing", "row_sample"}
    write(Dataset([_hosts("a", 7), _hosts("b")], database="moving"), "influxdb2", influxdb2)
    assert collected(target, previous=before, now=NOW + timedelta(hours=1)).reused == 0


# --- How many series ---------------------------------------------------------------------------------------------


def test_series_are_counted_by_the_metrics_where_they_are_there(influxdb2: Conversation) -> None:
    # A series that is in two shards counts once.
    rows = [Row(NOW - timedelta(days=d), {"host": f"h{h}"}, {"v": 1.0}) for d in (1, 20) for h in range(40)]
    target = write(Dataset([Table("cpu", ("host",), {"v": "float"}, rows)]), "influxdb2", influxdb2)
    by_flux = collected(target)
    influxdb2.wait_for_metrics(target.databases[0], 40)
    by_metrics = collected(target)
    counted = [profile.databases[0].series for profile in (by_flux, by_metrics)]
    assert [count.value for count in counted if count] == [40, 40]
    assert [(c.source.query, c.source.scope) for c in counted if c] == [
        ("influxdb2/database_series.flux", "tag sets of all time, counted by influxdb.cardinality"),
        ("influxdb2/database_series.json", "tag sets of all time, from /metrics"),
    ]
    assert by_metrics.databases[0].statements["database_series"] == "GET /metrics"


def test_bytes_are_those_of_the_files_as_metrics_tell_them(influxdb2: Conversation) -> None:
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    influxdb2.wait_for_metrics(target.databases[0], 6)
    profile = collected(target)
    (database,) = profile.databases
    assert database.storage is not None
    # 24 points, in the write-ahead log as yet, which is compressed.
    assert 40 < (database.storage.data_bytes or 0) < 10_000
    assert (database.storage.index_bytes, database.storage.disk_bytes) == (None, None)
    assert stored_bytes(profile) == database.storage.data_bytes
    assert database.statements["database_bytes"] == "GET /metrics"
    # One page tells bytes and series.
    assert [asked for asked in influxdb2.asked if asked.startswith("/metrics")] == ["/metrics\n"]
    assert _growing_storage(profile).outcome is Outcome.PASS


def test_bytes_when_metrics_are_kept_back_or_empty(influxdb2: Conversation) -> None:
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)

    def storage() -> tuple[Profile, list[str]]:
        with open_connection(target) as connection:
            profile = collect(target, connection, day=DAY, now=NOW)
        return profile, [g.detail for g in profile.gaps if g.fact == "database_bytes"]

    profile, gaps = storage()
    assert gaps == ["only /metrics reports bytes, and it cannot be read (HTTP 403); see sql/influxdb2/grants.md"]
    assert profile.databases[0].storage is None
    assert _growing_storage(profile).outcome is Outcome.OPEN
    influxdb2.metrics = True
    influxdb2.tampering = lambda path, _, true: Answer(200, {}, b"go_info 1\n") if path == "/metrics" else true()
    assert storage()[1] == ["/metrics reports no bucket; InfluxDB 2.2 and later do"]


def _growing_storage(profile: Profile) -> RuleResult:
    (result,) = evaluate(profile, rules=[growing_storage]).results
    return result


def test_cloud_counts_fields_and_its_number_is_kept_apart(influxdb2: Conversation) -> None:
    def cloud(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
        answer = true()
        if path == "/ping":
            return dataclasses.replace(answer, headers=answer.headers | {"X-Influxdb-Build": "Cloud"})
        return answer

    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    influxdb2.tampering = cloud
    profile = collected(target)
    assert profile.server_version == "Cloud"
    result = _growing_storage(profile)
    assert (result.outcome, result.reason) == (
        Outcome.NOT_APPLICABLE,
        "does not apply to influxdb2 Cloud: the service does not report bytes",
    )
    (database,) = profile.databases
    assert database.series is None
    assert database.series_with_fields is not None
    assert database.series_with_fields.source.scope.startswith("tag sets with their fields of all time")
    assert not any(asked.startswith("/metrics") for asked in influxdb2.asked)
    names = [f.name for f in figures(profile) if f.subject.database == database.name and not f.subject.measurement]
    assert "series_with_fields" in names
    assert "series" not in names


# --- Which way InfluxQL and Flux reach a bucket ------------------------------------------------------------------


def _without_influxql(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
    return Answer(404, {"Content-Type": "text/plain"}, b"404 page not found") if path == "/query" else true()


def test_flux_lists_the_tag_sets_where_there_is_no_influxql(influxdb2: Conversation) -> None:
    tables = [table for table in SMALL.tables if table.name != "conflict"]
    target = write(Dataset(tables), "influxdb2", influxdb2)
    usual = {m.name: m for m in collected(target).measurements}
    influxdb2.tampering = _without_influxql
    profile = collected(target)
    assert {(g.fact, g.reason) for g in profile.gaps} == {
        ("row_sample", Reason.UNSUPPORTED),
        ("row_count", Reason.UNSUPPORTED),
    }
    for m in profile.measurements:
        same = usual[m.name]
        assert m.series is not None
        assert m.series.source.query == "influxdb2/series_listing.flux"
        assert same.series is not None
        assert m.series.value == same.series.value
        assert [(t.key, t.sample, t.values and t.values.value) for t in m.tags] == [
            (t.key, t.sample, t.values and t.values.value) for t in same.tags
        ]
        assert [(f.key, f.types) for f in m.fields] == [(f.key, f.types) for f in same.fields]
        assert (m.path, same.path) == ((), (same.database, "autogen"))
    # It is tried once.
    assert sum(asked.startswith("/query") for asked in influxdb2.asked[-60:]) <= len(usual) * 4


def test_series_that_flux_leaves_out_are_missed(influxdb2: Conversation) -> None:
    """Of a field with two types Flux reads one: on the real server it drops series, and says nothing of it."""
    target = write(Dataset([t for t in SMALL.tables if t.name == "conflict"]), "influxdb2", influxdb2)
    influxdb2.tampering = _without_influxql
    profile = collected(target)
    (gap,) = [g for g in profile.gaps if g.fact == "series_listing"]
    assert gap.reason is Reason.FAILED
    assert gap.detail.startswith("Flux shows 1 of 2 series")
    assert profile.measurements[0].series is None


def test_bucket_has_a_name_of_its_own_in_influxql(influxdb2: Conversation) -> None:
    target = write(Dataset([_hosts()], database="mapped"), "influxdb2", influxdb2)
    influxdb2.map("mapped", 'old "db"', "1y")
    profile = collected(target)
    assert profile.gaps == ()
    assert profile.measurements[0].statements["series_listing"] == 'SHOW SERIES ON "old \\"db\\"" FROM "1y"."cpu"'
    assert profile.databases[0].statements["tag_keys"] == 'SHOW TAG KEYS ON "old \\"db\\""'
    assert profile.measurements[0].path == ('old "db"', "1y")


def test_bucket_is_not_the_default_of_its_database(influxdb2: Conversation) -> None:
    """SHOW TAG KEYS would answer for another bucket: Flux is asked, the rest is not affected."""
    main = write(Dataset([_hosts("main_only")], database="plant"), "influxdb2", influxdb2)
    write(Dataset([_hosts("long_only")], database="plant/long"), "influxdb2", influxdb2)
    profile = collected(_with(main, databases=("plant", "plant/long")))
    assert profile.gaps == ()
    assert [
        (m.database, m.name, [t.key for t in m.tags], m.series and m.series.value) for m in profile.measurements
    ] == [
        ("plant", "main_only", ["host"], 6),
        ("plant/long", "long_only", ["host"], 6),
    ]
    assert [m.path for m in profile.measurements] == [("plant", "autogen"), ("plant", "long")]
    assert "keys()" in profile.databases[1].statements["tag_keys"]
    assert all("SHOW FIELD KEYS" in database.statements["field_types"] for database in profile.databases)


# Line protocol reads a backslash before a quote as an escape: such a name cannot be written.
HOSTILE = ('"]) |> drop(', "'; DROP MEASUREMENT x; --", 'back\\sl"ash', "${now()}", "https://x // y", "%20/{{ x }}")


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("by_flux", [False, True])
def test_names_are_hostile(influxdb2: Conversation, name: str, by_flux: bool) -> None:
    """In the place of every name: what comes back is the row that was written."""
    tag, field, value = f"t {name}", f"f {name}", f"v {name}"
    rows = [Row(t, {tag: value, "z": "z"}, {field: float(i)}) for i, t in enumerate(times(4))]
    bucket = f"b {name}".replace('"', "''")  # the server takes no others
    dataset = Dataset([Table(name, (tag, "z"), {field: "float"}, rows)], database=bucket)
    target = write(dataset, "influxdb2", influxdb2)
    influxdb2.tampering = _without_influxql if by_flux else None
    profile = collected(target)
    assert {g.fact for g in profile.gaps} == ({"row_count", "row_sample"} if by_flux else set())
    (m,) = profile.measurements
    assert (m.database, m.name, {t.key for t in m.tags}) == (bucket, name, {tag, "z"})
    assert [(f.key, f.types) for f in m.fields] == [(field, ("float",))]
    found = m.tag(tag)
    assert found is not None
    assert found.sample == (value,)
    assert by_flux or m.fields[0].sample == ("0", "1", "2", "3")
    (database,) = profile.databases
    assert database.series is not None
    assert database.series.value == 1


# --- Answers that are not what they should be --------------------------------------------------------------------


def _on(place: str, change: Callable[[Answer], Answer]) -> Tampering:
    """Change the answers to requests whose path or body holds `place`."""

    def tampering(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
        return change(true()) if place in path or place in body.decode() else true()

    return tampering


@pytest.mark.parametrize("statement", ["SHOW+SERIES", "distinct("])
def test_answer_breaks_off(influxdb2: Conversation, statement: str) -> None:
    """A short count is never given: of the listing, or of the measurements."""
    target = write(Dataset([_hosts(count=50)]), "influxdb2", influxdb2)
    influxdb2.tampering = _on(statement, lambda answer: dataclasses.replace(answer, broken=True))
    profile = collected(target)
    assert profile.gaps
    assert {g.reason for g in profile.gaps} == {Reason.FAILED}
    assert "the connection broke (connection lost); the server still responds" in {g.detail for g in profile.gaps}
    assert not [m for m in profile.measurements if m.series]


def test_error_follows_rows_under_200(influxdb2: Conversation) -> None:
    error = b"\r\n#datatype,string,string\r\n,error,reference\r\n,query terminated: out of memory,897\r\n"
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    influxdb2.tampering = _on("distinct(", lambda answer: dataclasses.replace(answer, body=answer.body + error))
    profile = collected(target)
    assert profile.measurements == ()
    assert {g.detail for g in profile.gaps} == {"the response broke off: query terminated: out of memory"}
    assert {"measurements", "series_listing"} <= {g.fact for g in profile.gaps}


@pytest.mark.wall_clock
def test_server_asks_to_wait(influxdb2: Conversation) -> None:
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    waits = iter(["1"])

    def quota(path: str, body: bytes, true: Callable[[], Answer]) -> Answer:
        wait = next(waits, None) if path == "/query" else None
        return Answer(429, {"Retry-After": wait}, b"{}") if wait else true()

    influxdb2.tampering = quota
    began = time.monotonic()
    profile = collected(target)
    assert profile.gaps == ()
    assert time.monotonic() - began >= 1
    assert {c.fact: c.statements for c in profile.costs}["tag_keys"] == 3  # the look-up of the mapping, and twice


@pytest.mark.wall_clock
@pytest.mark.parametrize(("wait", "detail"), [({"Retry-After": "4000"}, "it asks to wait 4000 s"), ({}, "HTTP 429")])
def test_server_asks_to_wait_too_long(influxdb2: Conversation, wait: dict[str, str], detail: str) -> None:
    target = write(Dataset([_hosts()]), "influxdb2", influxdb2)
    influxdb2.tampering = _on("SHOW+SERIES", lambda _: Answer(429, wait, b"{}"))
    began = time.monotonic()
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    assert time.monotonic() - began < 10
    (gap,) = [g for g in profile.gaps if g.fact == "series_listing"]
    assert (gap.reason, gap.measurement) == (Reason.TIMED_OUT, "cpu")
    assert detail in gap.detail
    assert profile.measurements[0].series is None
