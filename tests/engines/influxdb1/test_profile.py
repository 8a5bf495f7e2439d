"""InfluxDB 1.x as it really is: many series over many shards, rights, crashes, and its own notions of a schema."""

from __future__ import annotations

import dataclasses
import re
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.builders import DAY, NOW
from tests.collecting import collected, collected_with
from tests.databases import (
    CROWDED_SERIES,
    CROWDED_WEEKS,
    Dataset,
    Row,
    Table,
    influxql,
    times,
    write,
    write_crowded,
    write_lines,
)
from tests.examples import examples
from tests.servers import ADMIN, Influxd, wait_until
from tsaudit.collect import collect
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.engines.influx import measuring
from tsaudit.engines.influxdb1.connector import Client
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import How, Reason
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile
from tsaudit.model.server import ServerStatus
from tsaudit.model.timeline import stored_bytes


@pytest.fixture(scope="module")
def crowded(influxd: Influxd) -> Target:
    return write_crowded(influxd.url)


@pytest.fixture(scope="module")
def crowded_profile(crowded: Target) -> Profile:
    return collected(crowded)


@pytest.mark.full
def test_series_are_counted_once_though_the_server_counts_shards(crowded_profile: Profile, influxd: Influxd) -> None:
    (hits,) = crowded_profile.measurements
    assert hits.series is not None
    assert (hits.series.value, hits.series.source.how) == (CROWDED_SERIES, How.EXACT)
    (database,) = crowded_profile.databases
    assert database.series is not None
    assert database.series.value == CROWDED_SERIES
    # The trap: the form of the statement that is called exact counts a series once in each shard.
    answer = influxql(influxd.url, "SHOW SERIES EXACT CARDINALITY FROM hits", db="crowded")
    assert answer["results"][0]["series"][0]["values"] == [[CROWDED_SERIES * CROWDED_WEEKS]]


@pytest.mark.full
def test_main_contributor_of_many_series(crowded_profile: Profile) -> None:
    assert crowded_profile.gaps == ()
    (hits,) = crowded_profile.measurements
    assert hits.tag_sets is not None
    found = {(d.determinant, d.dependent) for d in hits.tag_sets.dependencies}
    assert {("user_id", "host"), ("user_id", "region"), ("host", "region")} <= found
    assert hits.tag_sets.minimal_key == ("user_id",)
    left = {c.tag: (c.series_left, c.together_with) for c in hits.tag_sets.contributions}
    assert left["user_id"] == (50, ())
    assert left["region"] == (1, ("host", "user_id"))
    assert {t.key: t.values.value for t in hits.tags if t.values} == {"host": 50, "region": 5, "user_id": 100_000}


def _with_default_limits(profile: Profile) -> Profile:
    """As if the server had the vendor's defaults, which the tests' has not."""
    limits = {"max_series_per_database": 1_000_000.0, "max_values_per_tag": 100_000.0}
    return dataclasses.replace(profile, server=ServerStatus(limits))


@pytest.mark.full
def test_audit_of_many_series_names_the_main_contributor_and_those_that_depend_on_it(crowded_profile: Profile) -> None:
    result = evaluate(_with_default_limits(crowded_profile))
    (found,) = (finding for rule, finding in result.findings() if rule.code == "TAG002")
    assert (found.subject.column, found.main_contributor) == ("user_id", "user_id")
    shown = {e.label: e.value for e in found.evidence}
    assert shown["determined by other tags"] == "region by host; host by user_id"
    assert shown["without user_id"] == "50 series left (> 99.9% fewer)"


@pytest.mark.full
def test_audit_of_a_sample_of_the_series_blames_the_same_tag(crowded: Target) -> None:
    budget = crowded.budget.model_copy(update={"max_series": 2000})
    profile = collected(crowded.model_copy(update={"budget": budget}))
    (hits,) = profile.measurements
    assert hits.series is not None
    assert hits.series.standard_error is not None
    assert abs(hits.series.value - CROWDED_SERIES) < 3 * hits.series.standard_error
    assert hits.tag_sets is not None
    assert 0 < (hits.tag_sets.sampled or 0) <= 2000
    found = {(d.determinant, d.dependent) for d in hits.tag_sets.dependencies}
    assert {("user_id", "host"), ("user_id", "region"), ("host", "region")} <= found
    # Of 50 hosts each has a fiftieth of the sample: what is left without users shows in full.
    assert (hits.tag_sets.drop_curve[0].tag, hits.tag_sets.drop_curve[0].at_least) == ("user_id", 50)
    found = {rule.code: finding for rule, finding in evaluate(_with_default_limits(profile)).findings()}
    assert found["TAG002"].main_contributor == "user_id"
    assert "checked" in {e.label for e in found["TAG002"].evidence}


@pytest.mark.full
def test_rows_of_many_series_are_sampled(crowded_profile: Profile) -> None:
    (hits,) = crowded_profile.measurements
    assert hits.rows is not None
    assert hits.rows.source.how is How.ESTIMATE
    assert hits.rows.standard_error is not None
    # Each of the series has a row in each week: the estimate cannot be off.
    assert (hits.rows.value, hits.rows.standard_error) == (400_000, 0.0)
    fields = {f.key: f for f in hits.fields}
    null_ratio = fields["error"].null_ratio
    assert null_ratio is not None
    assert null_ratio.source.how is How.SAMPLED
    assert "64 series, an even sample of 100,000" in null_ratio.source.scope
    # Exactly 0.9 over all series; 64 of them give or take three standard errors.
    assert 0.75 < null_ratio.value < 1.0
    assert hits.statements["row_sample"].count("user_id") == 64 + 1
    assert hits.statements["row_sample"].count("region") == 1


def test_row_estimate_is_within_its_error(influxd: Influxd) -> None:
    rows = [
        Row(NOW - timedelta(minutes=1 + k), {"id": f"i{i}"}, {"v": 1.0}) for i in range(2000) for k in range(1 + i % 9)
    ]
    target = write(Dataset([Table("t", ("id",), {"v": "float"}, rows)]), "influxdb1", influxd.url)
    (t,) = collected(target).measurements
    assert t.rows is not None
    assert (t.rows.value, t.rows.source.how) == (len(rows), How.EXACT), "a slice of all series has all rows"
    # Cut off, so that the server counts.
    budget = target.budget.model_copy(update={"max_rows": 100})
    (t,) = collected(target.model_copy(update={"budget": budget})).measurements
    assert t.rows is not None
    assert t.rows.source.how is How.ESTIMATE
    assert t.rows.standard_error is not None
    assert 0 < t.rows.standard_error < 2000
    assert abs(t.rows.value - len(rows)) < 4 * t.rows.standard_error


def test_rows_are_counted_by_the_server_when_the_sample_is_cut_off(influxd: Influxd) -> None:
    rows = [
        Row(t, {"host": f"h{i % 3}"}, {"v": float(i), "w": 1.0 if i % 2 else None}) for i, t in enumerate(times(300))
    ]
    dataset = Dataset([Table("t", ("host",), {"v": "float", "w": "float"}, rows)])
    target = write(dataset, "influxdb1", influxd.url, budget={"max_rows": 100})
    (t,) = collected(target).measurements
    assert t.rows is not None
    assert (t.rows.value, t.rows.source.how, t.rows.source.query) == (300, How.EXACT, "influxdb1/row_count.influxql")
    assert t.fields[0].distinct is not None
    assert (t.fields[0].distinct.value, t.fields[0].distinct.source.how) == (100, How.SAMPLED)
    assert t.fields[0].sample[0] == "200"  # the newest rows


def test_measurements_with_the_same_many_series_are_seen_to_have_the_same_points(influxd: Influxd) -> None:
    """Rows are read of a few series only: of the same ones, or there would be nothing to compare."""

    def table(name: str, late_s: int) -> Table:
        instants = [at - timedelta(seconds=late_s) for at in times(6)]
        rows = [Row(at, {"host": f"h{i}"}, {"value": i + 0.5}) for at in instants for i in range(1200)]
        return Table(name, ("host",), {"value": "float"}, rows)

    tables = [table("load", 0), table("uptime", 0), table("users", 7)]
    profile = collected(write(Dataset(tables), "influxdb1", influxd.url))
    assert {m.point_sample is not None and len(m.point_sample.points) for m in profile.measurements} == {64}
    found = [f for r, f in evaluate(profile).findings() if r.code == "LAY007"]
    assert [f.message.split(" contain")[0] for f in found] == ["load and uptime"]
    assert found[0].observed == 1.0


def test_field_has_two_types_and_the_name_of_a_tag(influxd: Influxd) -> None:
    older, newer = NOW - timedelta(days=20), NOW - timedelta(minutes=1)
    rows = [
        Row(older, {"same": "tag"}, {"mixed": 1, "same": 1.5}),
        Row(newer, {"same": "tag"}, {"mixed": "text", "same": 2.5}),
    ]
    target = write(Dataset([Table("t", ("same",), {"mixed": "any", "same": "any"}, rows)]), "influxdb1", influxd.url)
    profile = collected(target)
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert {f.key: f.types for f in t.fields} == {"mixed": ("integer", "string"), "same": ("float",)}
    assert t.tags[0].sample == ("tag",)
    assert {f.key: f.sample for f in t.fields}["same"] == ("1.5", "2.5")


def test_sampled_series_have_no_rows_in_the_window(influxd: Influxd) -> None:
    old = NOW - timedelta(days=100)
    rows = [Row(old, {"id": f"i{i}"}, {"v": 1.0}) for i in range(1100)]
    written = Table("u", ("id",), {"v": "float"}, [Row(NOW - timedelta(minutes=1), {"id": "i"}, {"v": 1.0})])
    target = write(Dataset([Table("t", ("id",), {"v": "float"}, rows), written]), "influxdb1", influxd.url)
    profile = collected(target)
    (gap,) = (g for g in profile.gaps if g.database is not None)
    assert (gap.fact, gap.reason, gap.measurement) == ("row_sample", Reason.FAILED, "t")
    assert "none of 64 series" in gap.detail
    t = profile.measurements[0]
    assert t.fields[0].null_ratio is None


def test_rows_are_sampled_though_the_listing_was_too_long(influxd: Influxd) -> None:
    rows = [Row(NOW - timedelta(minutes=1), {"id": f"i{i}", "dc": "x"}, {"v": 1.0}) for i in range(1500)]
    dataset = Dataset([Table("t", ("id", "dc"), {"v": "float"}, rows)])
    target = write(dataset, "influxdb1", influxd.url, budget={"max_listed": 1200})
    profile = collected(target)
    (gap,) = profile.gaps
    assert (gap.fact, gap.reason) == ("series_listing", Reason.OVER_BUDGET)
    (t,) = profile.measurements
    assert t.series is not None
    assert t.rows is not None
    # A chunk came before the listing was stopped, and the values of a tag end where the budget does.
    assert (t.series.value, t.rows.value) == (1500, 1201)
    assert t.series.is_lower_bound
    assert t.rows.is_lower_bound
    null_ratio = t.fields[0].null_ratio
    assert null_ratio is not None
    assert (null_ratio.value, null_ratio.source.how) == (0.0, How.SAMPLED)
    assert "of 64 values of tag id" in null_ratio.source.scope


def test_reader_may_do_all_that_an_audit_needs(influxd_auth: Influxd) -> None:
    login = {"u": ADMIN[0], "p": ADMIN[1]}
    url = influxd_auth.url
    for statement in (
        "CREATE DATABASE mine",
        "CREATE DATABASE other",
        "CREATE USER reader WITH PASSWORD 'it''s'".replace("''", "\\'"),
        "GRANT READ ON mine TO reader",
        "CREATE USER nobody WITH PASSWORD 'n'",
    ):
        influxql(url, statement, **login)
    _let_read_notes(influxd_auth, "reader")
    minute = round((NOW - timedelta(minutes=9)).timestamp()) * 10**9
    write_lines(url, "mine", iter([f"t,host=b v=2 {minute}"]), **login)
    target = Target(name="auth", engine="influxdb1", url=url, username="reader", password="it's")
    profile = collected(target)
    assert profile.gaps == ()
    assert [d.name for d in profile.databases] == ["mine"]
    assert profile.measurements[0].rows is not None
    with open_connection(target) as connection:
        assert probe(target, connection).profile.gaps == ()
    # Nothing that the audit does could write: with these rights the server refuses it.
    reader = {"u": "reader", "p": "it's"}
    with pytest.raises(AssertionError, match="not authorized to write"):
        write_lines(url, "mine", iter([f"t,host=c v=2 {minute}"]), **reader)
    for statement in ("DROP MEASUREMENT t", "DELETE FROM t", "DROP SERIES FROM t WHERE host = 'b'"):
        with pytest.raises(AssertionError, match="not authorized"):
            influxql(url, statement, db="mine", **reader)


def _let_read_notes(server: Influxd, user: str) -> None:
    """Grant READ on the database in which the server notes statistics of itself, once there are some."""
    login = {"u": ADMIN[0], "p": ADMIN[1]}

    def noted() -> bool:
        (listed,) = influxql(server.url, "SHOW DATABASES", **login)["results"][0]["series"]
        if ["_internal"] not in listed["values"]:
            return False
        return "series" in influxql(server.url, 'SHOW SERIES ON _internal FROM "shard"', **login)["results"][0]

    wait_until(noted)
    influxql(server.url, f'GRANT READ ON "_internal" TO {user}', **login)


def test_bytes_and_counters_are_the_server_s_whoever_asks(influxd_auth: Influxd) -> None:
    url, login = influxd_auth.url, {"u": ADMIN[0], "p": ADMIN[1]}
    for statement in (
        "CREATE DATABASE held",
        "CREATE DATABASE nothing",
        "CREATE USER counter WITH PASSWORD 'c'",
        "GRANT READ ON held TO counter",
        "GRANT READ ON nothing TO counter",
    ):
        influxql(url, statement, **login)
    seconds = round(NOW.timestamp())
    write_lines(
        url, "held", iter([f"t,host=h{i % 9} v={i} {seconds - i * 3600}000000000" for i in range(5000)]), **login
    )
    databases = ("held", "nothing")
    target = Target(name="t", engine="influxdb1", url=url, username="counter", password="c", databases=databases)
    denied = collected(target)
    assert {(g.fact, g.reason, g.database) for g in denied.gaps} == {
        *(("database_bytes", Reason.DENIED, name) for name in databases),
        ("server_status", Reason.DENIED, None),
    }
    assert all('`GRANT READ ON "_internal" TO "counter"` lets others see it' in gap.detail for gap in denied.gaps)
    (unmeasured,) = (result for result in evaluate(denied).results if result.code == "SRV001")
    assert unmeasured.outcome is Outcome.OPEN
    assert _asked(denied) == 2, "refused once, both databases are told the same"
    files = [p for p in influxd_auth.folder.glob("*/held/**/*") if p.suffix in (".tsm", ".wal")]
    kept = sum(path.stat().st_size for path in files)
    admin = collected(target.model_copy(update={"username": ADMIN[0], "password": SecretStr(ADMIN[1])}))
    assert admin.gaps == ()
    assert {d.name: d.storage and d.storage.data_bytes for d in admin.databases} == {"held": kept, "nothing": 0}
    assert _asked(admin) == 1
    assert stored_bytes(admin) == kept
    _let_read_notes(influxd_auth, "counter")
    wait_until(lambda: stored_bytes(collected(target)) == kept)
    noted = collected(target)
    assert noted.gaps == ()
    # When the retention of a shard passes is not recorded.
    assert noted.databases[0].storage is not None
    assert noted.databases[0].storage.expired_shards is None
    storage = dataclasses.replace(noted.databases[0].storage, expired_shards=0, expired_bytes=0)
    assert (dataclasses.replace(noted.databases[0], storage=storage), *noted.databases[1:]) == admin.databases
    assert '"_internal"' in noted.databases[0].statements["database_bytes"]
    assert noted.server is not None
    assert admin.server is not None
    assert noted.server.settings == {}
    for name, value in (("points_written", 5000), ("points_dropped", 0)):
        assert noted.server.counted(name, "held") == admin.server.counted(name, "held") == value
    for name in ("continuous_queries_failed", "subscriptions_failed", "server_errors", "compactions_failed"):
        assert noted.server.counted(name, "") == admin.server.counted(name, "") == 0
    assert _asked(noted) == 2


def _asked(profile: Profile) -> int:
    """Statements that were sent for the bytes."""
    (cost,) = [c for c in profile.costs if c.fact == "database_bytes"]
    return cost.statements


def test_bytes_when_the_server_notes_nothing_or_breaks_off(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(at, {}, {"v": 1.0}) for at in times(3)]
    target = write(Dataset([Table("t", (), {"v": "float"}, rows)]), "influxdb1", influxd.url)
    true = Client.series
    said: dict[str, FactError | None] = {}

    def series(self: Client, statement: str, *how: Any) -> Iterator[Any]:
        for part, error in said.items():
            if part in statement:
                if error:
                    raise error
                return iter(())
        return true(self, statement, *how)

    monkeypatch.setattr(Client, "series", series)
    both = ("database_bytes", "server_status")
    said |= {"SHOW STATS": FactError(Reason.DENIED, "not authorized"), "_internal": None}
    gaps = collected(target).gaps
    assert [(gap.fact, gap.reason) for gap in gaps] == [(fact, Reason.UNSUPPORTED) for fact in both]
    assert all("[monitor] store-enabled" in gap.detail for gap in gaps)
    said["_internal"] = FactError(Reason.TIMED_OUT, "cancelled")
    assert [(gap.fact, gap.reason) for gap in collected(target).gaps] == [(fact, Reason.TIMED_OUT) for fact in both]
    said["SHOW STATS"] = FactError(Reason.FAILED, "broke off")
    found = {gap.fact: gap.reason for gap in collected(target).gaps}
    assert found == {"server_status": Reason.FAILED, "database_bytes": Reason.FAILED}


# Line protocol has no way to write a backslash before what it escapes, or at the end.
_ENDS = re.compile(r"""\\([,= "]|$)""")
_NAMES = (
    st.lists(st.sampled_from(["a", "é", '"', "'", "\\", ";", "--", " ", ",", "=", '"]) |> drop(', "'; --", "{{ x }}"]))
    .map(lambda parts: "n" + "".join(parts))
    .filter(lambda name: not re.search(_ENDS, name) and not name.endswith(" "))
)


@pytest.mark.full
@settings(deadline=None, max_examples=examples(40))
@given(measurement=_NAMES, tag=_NAMES, field=_NAMES, value=_NAMES)
def test_whatever_it_is_called_comes_back_as_it_was_written(
    influxd: Influxd, measurement: str, tag: str, field: str, value: str
) -> None:
    rows = [Row(at, {f"t{tag}": value}, {f"f{field}": 1.5}) for at in times(2)]
    table = Table(measurement, (f"t{tag}",), {f"f{field}": "float"}, rows)
    profile = collected(write(Dataset([table]), "influxdb1", influxd.url))
    assert profile.gaps == ()
    (found,) = profile.measurements
    assert (found.name, [t.key for t in found.tags], [f.key for f in found.fields]) == (
        measurement,
        [f"t{tag}"],
        [f"f{field}"],
    )
    assert found.tags[0].sample == (value,)
    assert found.fields[0].sample == ("1.5",)
    assert found.rows is not None
    assert found.rows.value == 2


@pytest.mark.parametrize("databases", [(), ("mine",)])
def test_rights_are_missing(influxd_auth: Influxd, databases: tuple[str, ...]) -> None:
    influxql(influxd_auth.url, "CREATE DATABASE mine", u=ADMIN[0], p=ADMIN[1])
    influxql(influxd_auth.url, "CREATE USER nobody WITH PASSWORD 'n'", u=ADMIN[0], p=ADMIN[1])
    secret = "wrong-secret"
    for password in ("n", secret):
        target = Target(
            name="auth",
            engine="influxdb1",
            url=influxd_auth.url,
            username="nobody",
            password=password,
            databases=databases,
        )
        profile = collected(target)
        assert profile.measurements == ()
        assert {g.reason for g in profile.gaps} == {Reason.DENIED}
        assert {"measurements", "series_listing", "row_sample", "retention"} <= {g.fact for g in profile.gaps}
        assert not any(secret in g.detail for g in profile.gaps)
        with open_connection(target) as connection:
            assert {g.reason for g in probe(target, connection).profile.gaps} == {Reason.DENIED}


@pytest.mark.wall_clock
def test_server_is_killed_midway(own_influxd: Influxd) -> None:
    dataset = Dataset(
        [
            Table(f"m{i:02}", ("host",), {"v": "float"}, [Row(t, {"host": "a"}, {"v": 1.0}) for t in times(3)])
            for i in range(20)
        ]
    )
    target = write(dataset, "influxdb1", own_influxd.url)
    listed: list[str] = []

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == "series_listing":
            listed.append(parameters["measurement"])
            if len(listed) == 5:
                own_influxd.kill()

    began = time.monotonic()
    profile = collected_with(target, tampering)
    assert time.monotonic() - began < 10
    assert listed == [f"m{i:02}" for i in range(5)]
    assert {g.reason for g in profile.gaps} == {Reason.UNREACHABLE}
    missing = {g.measurement for g in profile.gaps if g.fact == "series_listing"}
    assert missing == {f"m{i:02}" for i in range(4, 20)}
    assert [m.name for m in profile.measurements if m.series] == [f"m{i:02}" for i in range(4)]
    with pytest.raises(ConnectorError, match="does not respond"), open_connection(target):
        pass
    own_influxd.start()
    again = collected(target)
    assert again.gaps == ()
    assert all(m.series for m in again.measurements)


@pytest.mark.waits
def test_server_is_killed_in_the_middle_of_an_answer(own_influxd: Influxd) -> None:
    target = write_crowded(own_influxd.url, weeks=1)
    killer = threading.Timer(0.2, own_influxd.kill)
    killer.start()
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    killer.join()
    listing = [g for g in profile.gaps if g.fact == "series_listing"]
    series = [m.series.value for m in profile.measurements if m.series]
    # Killed before, during or after the listing: never a short count.
    assert (series == [CROWDED_SERIES] and not listing) or (series == [] and listing)
    assert {g.reason for g in profile.gaps} <= {Reason.UNREACHABLE}
    own_influxd.start()
    assert collected(target).gaps == ()


@pytest.mark.waits
def test_statement_that_takes_too_long_is_cancelled_on_the_server(crowded: Target, influxd: Influxd) -> None:
    hurried = crowded.model_copy(update={"budget": crowded.budget.model_copy(update={"statement_timeout_s": 0.05})})
    profile = collected(hurried)
    (gap,) = [g for g in profile.gaps if g.fact == "series_listing"]
    assert gap.reason is Reason.TIMED_OUT
    assert gap.detail.startswith("canceled after 0.05 s")
    series = profile.measurements[0].series
    assert series is None or series.is_lower_bound
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        running = influxql(influxd.url, "SHOW QUERIES")["results"][0]["series"][0]["values"]
        if not any("SHOW SERIES" in str(row[1]) for row in running):
            return
        time.sleep(0.1)
    raise AssertionError(f"still running: {running}")


def test_values_of_some_fields_are_read_where_there_are_thousands(
    influxd: Influxd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of each container is in the names of its fields. The server would open a cursor for each of them, and
    took 18 GB for 76,000.
    """
    monkeypatch.setattr(measuring, "_MOST_FIELDS", 50)
    monkeypatch.setattr(measuring, "_MOST_CELLS", 5_000)
    start = round((NOW - timedelta(hours=3)).timestamp())
    influxql(influxd.url, "CREATE DATABASE containers")
    lines = (f"docker,host=a job{n // 2:03}.cpu=1.5,job{n // 2:03}.mem={n}i {start + n}000000000" for n in range(240))
    write_lines(influxd.url, "containers", lines)
    profile = collected(Target(name="t", engine="influxdb1", url=influxd.url, databases=("containers",)))
    (docker,) = profile.measurements
    assert profile.gaps == ()
    assert len(docker.fields) == 240
    assert sum(field.null_ratio is not None for field in docker.fields) == 48
    assert docker.statements["row_sample"].count("::field") == 48
    assert docker.statements["row_sample"].endswith("LIMIT 100")
    # Each row has two fields of its own, of which the rows read may lack both.
    assert docker.rows is not None
    assert (docker.rows.is_lower_bound, docker.rows.value) == (True, 96)
    (finding, other) = [found for rule, found in evaluate(profile).findings() if rule.code == "NAM005"]
    assert {finding.observed, other.observed} == {120}
