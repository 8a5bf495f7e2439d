"""Retention policies of InfluxDB 1.x, each of which that holds data is audited as a database, whatever the index."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_measurement, a_place, a_source
from tests.collecting import collected, collected_with
from tests.databases import influxql, write_lines
from tests.servers import Influxd, run_influxd
from tsaudit.collect.draft import Draft
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Target
from tsaudit.engines.connection import FactError, Rows
from tsaudit.engines.influx.measuring import InfluxMeasuring
from tsaudit.engines.influxdb1 import policies
from tsaudit.engines.influxdb1.connector import Client
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import FOREVER, How, Reason, utc_now
from tsaudit.model.finding import AuditResult, Verdict
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.timeline import stored_bytes
from tsaudit.policy import LimitPolicy

_NEWEST = round(NOW.timestamp()) - 600
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Server:
    """A running server and how it finds series."""

    url: str
    index: str


@pytest.fixture(scope="module", params=["tsi1", "inmem"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    for running in run_influxd(tmp_path_factory.mktemp("policies"), index=request.param):
        yield Server(running.url, request.param)


@pytest.fixture(scope="module")
def shared(influxd: Influxd) -> Server:
    """For what does not depend on the index."""
    return Server(influxd.url, influxd.index)


Layout = Mapping[str, Iterable[str]]
"""Policy to lines without times; the policy without a name is the default one."""


def written(server: Server, layout: Layout, **settings: Any) -> Target:
    """The layout in a database of its own, a point every millisecond up to ten minutes before NOW."""
    database = f"shop_{next(_numbers)}"
    influxql(server.url, f"CREATE DATABASE {database}")
    for policy, lines in layout.items():
        if policy:
            name = ENGINES["influxdb1"].language.identifier(policy)
            influxql(server.url, f"CREATE RETENTION POLICY {name} ON {database} DURATION INF REPLICATION 1")
        numbered = (f"{line} {_NEWEST * 10**9 - i * 10**6}" for i, line in enumerate(lines))
        write_lines(server.url, database, numbered, policy=policy)
    known = {"name": "t", "engine": "influxdb1", "url": server.url, "databases": (database,)}
    return Target(**known | {k: v for k, v in settings.items() if k != "databases"})


def named(profile: Profile) -> dict[tuple[str, str], Measurement]:
    """Policy, empty for the default one, and name to the measurement."""
    return {(m.database.partition("/")[2], m.name): m for m in profile.measurements}


def series(profile: Profile) -> dict[tuple[str, str], int | None]:
    """The same to its series; a figure that is not exact is none."""
    found = named(profile).items()
    return {key: m.series.value if m.series and m.series.source.how is How.EXACT else None for key, m in found}


def tags(profile: Profile) -> dict[tuple[str, str], list[str]]:
    return {key: [t.key for t in m.tags] for key, m in named(profile).items()}


def said(result: AuditResult, *codes: str) -> set[tuple[str, str, str]]:
    """Code, subject in the target's only database (`policy/measurement`) and main contributor."""
    return {
        (
            rule.code,
            "/".join(filter(None, (f.subject.database.partition("/")[2], f.subject.measurement))),
            f.main_contributor or "",
        )
        for rule, f in result.findings()
        if rule.code in codes
    }


def uuid(i: int) -> str:
    return f"4c4f{i % 65536:04x}-{i * 31 % 65536:04x}-4bbb-8ccc-{i * 104729:012x}"


def requests(count: int) -> Iterator[str]:
    return (f"req,host=h{i % 5},request_id={uuid(i)} ms={i}.5,bytes={i}i" for i in range(count))


def test_sum_over_a_policy_has_no_error_where_one_of_a_part_is_not_known() -> None:
    runner: Any = SimpleNamespace(gaps=[], source=lambda fact, how, scope: a_source(how, scope=scope))
    known, unknown = a_count(5, How.ESTIMATE, standard_error=2.0), a_count(5, How.ESTIMATE)
    for counts, how, error in (
        ((a_count(5), a_count(5)), How.EXACT, None),
        ((a_count(5), known), How.ESTIMATE, 2.0),
        ((unknown, known), How.ESTIMATE, None),
    ):
        drafts = [
            Draft(replace(a_measurement(name, database="shop/raw"), series=count))
            for name, count in zip("ab", counts, strict=True)
        ]
        (raw,) = InfluxMeasuring(runner).with_own_series([Database("shop/raw", policy_of="shop")], drafts)
        assert raw.series is not None
        assert (raw.series.value, raw.series.source.how, raw.series.standard_error) == (10, how, error)


# --- Layouts, with what somebody who knows them wants to see -----------------------------------------------------


@pytest.mark.costly
def test_measurement_is_in_two_policies(server: Server) -> None:
    """The default policy is as it should be; the other one has a request id as a tag."""
    layout = {"": (f"req,host=h{i} ms={i}.5" for i in range(5)), "raw": requests(3000)}
    target = written(server, layout)
    profile = collected(target)
    assert profile.gaps == ()
    assert series(profile) == {("", "req"): 5, ("raw", "req"): 3000}
    assert tags(profile) == {("", "req"): ["host"], ("raw", "req"): ["host", "request_id"]}
    assert [f.key for f in named(profile)["", "req"].fields] == ["ms"]
    assert [f.key for f in named(profile)["raw", "req"].fields] == ["bytes", "ms"]
    rows = {key: m.rows.value for key, m in named(profile).items() if m.rows}
    assert rows == {("", "req"): 5, ("raw", "req"): 3000}
    result = evaluate(profile)
    assert result.verdict is Verdict.WARNING
    assert said(result, "TAG002") == {("TAG002", "raw/req", "request_id")}
    assert said(result, "NAM001") == set()
    assert run_queries(server, target, result) == {"raw"}


def test_all_data_is_in_a_policy_that_is_not_the_default_one(server: Server) -> None:
    profile = collected(target := written(server, {"raw": requests(3000)}))
    assert profile.gaps == ()
    assert series(profile) == {("raw", "req"): 3000}
    assert [d.name.partition("/")[2] for d in profile.databases] == ["", "raw"]
    result = evaluate(profile)
    assert said(result, "TAG002") == {("TAG002", "raw/req", "request_id")}
    assert said(result, "RET001") == {("RET001", "raw", "")}, "nothing is kept by the default policy"
    assert not [r for r in result.results if r.outcome == "open"]
    assert run_queries(server, target, result) == {"raw"}


def test_old_data_is_kept_coarser_in_a_further_policy(server: Server) -> None:
    """What runs away does so in the policy `year` alone; that is what has to be named for the limit of the database."""
    cpu = [f"cpu,host=h{i} usage={i}.5" for i in range(5000)]
    runaway = (f"runaway,job=j{i % 4},session={uuid(i)} v={i}.5" for i in range(5000))
    profile = collected(target := written(server, {"": cpu[:5], "year": [*cpu, *runaway]}))
    assert profile.gaps == ()
    assert series(profile) == {("", "cpu"): 5, ("year", "cpu"): 5000, ("year", "runaway"): 5000}
    whole, year = profile.databases
    assert whole.series is not None
    assert year.series is not None
    assert whole.own_series is not None
    assert (whole.series.value, whole.own_series.value, year.series.value) == (10_000, 5, 10_000)
    assert profile.series == 10_000, "the five that are in both count once"
    assert "counts once" in whole.series.source.scope
    policy = LimitPolicy(target={"high-series-cardinality.max_series": 9_000})
    result = evaluate(profile, policy=policy)
    assert said(result, "CAR001") == {("CAR001", "year", "session")}
    found = said(result, "TAG002")
    assert ("TAG002", "year/runaway", "session") in found
    assert {subject.partition("/")[0] for _, subject, _ in found} == {"year"}
    (finding,) = [f for rule, f in result.findings() if rule.code == "CAR001"]
    assert finding.observed == 10_000
    assert run_queries(server, target, result) == {"year"}


def test_policies_hold_the_same_measurements(server: Server) -> None:
    """Where no measurement is missing in any policy, nothing shows whether the index tells policies apart."""
    layout = {"": (f"m,host=h{i} v=1" for i in range(7)), "week": (f"m,host=h{i} v=1" for i in range(4, 90))}
    profile = collected(written(server, layout))
    assert (profile.gaps, series(profile)) == ((), {("", "m"): 7, ("week", "m"): 86})


def test_data_is_made_coarser_step_by_step(server: Server) -> None:
    """The default policy is empty, a tag ends with the second step, and IDs of requests leak into the first alone."""
    cpu = [f"cpu,host=h{i % 20},core=c{i % 8} idle={i}.5" for i in range(160)]
    leak = (f"cpu,host=h{i % 20},core=c{i % 8},request={uuid(i)} idle={i}.5" for i in range(4000))
    coarse = [f"cpu,host=h{i} mean_idle={i}.5" for i in range(20)]
    target = written(server, {"2w": [*cpu, *leak], "1m": cpu, "1h": coarse, "10y": coarse})
    profile = collected(target)
    assert profile.gaps == ()
    counts = {("2w", "cpu"): 4040, ("1m", "cpu"): 40, ("1h", "cpu"): 20, ("10y", "cpu"): 20}
    assert series(profile) == counts
    assert tags(profile)["1m", "cpu"] == ["core", "host"]
    assert tags(profile)["10y", "cpu"] == ["host"]
    result = evaluate(profile)
    assert said(result, "TAG002") == {("TAG002", "2w/cpu", "request")}
    assert run_queries(server, target, result) == {"2w"}


def test_policies_have_odd_names_and_fields_of_different_types(server: Server) -> None:
    layout = {
        "": ["m,a=1 v=1i"],
        'ra w "é': ['m,b=1 v="text"', 'm,b=2 v="text"', "bare w=1"],
        "it's": ["m,c=1 v=1.5", "m,c=2 v=1.5", "m,c=3 v=1.5", "m v=1.5"],
        "empty": [],
    }
    target = written(server, layout)
    profile = collected(target)
    assert profile.gaps == ()
    assert series(profile) == {("", "m"): 1, ('ra w "é', "m"): 2, ('ra w "é', "bare"): 1, ("it's", "m"): 4}
    assert tags(profile) == {("", "m"): ["a"], ('ra w "é', "m"): ["b"], ('ra w "é', "bare"): [], ("it's", "m"): ["c"]}
    types = {key: [f.types for f in m.fields] for key, m in named(profile).items() if m.name == "m"}
    assert types == {("", "m"): [("integer",)], ('ra w "é', "m"): [("string",)], ("it's", "m"): [("float",)]}
    assert {(d.retention or ())[0].policy for d in profile.databases} == {"autogen", 'ra w "é', "it's"}
    assert all(len(d.retention or ()) == 1 for d in profile.databases)
    assert {key: m.rows.value for key, m in named(profile).items() if m.rows}["it's", "m"] == 4
    with open_connection(target) as connection:
        assert probe(target, connection).profile.gaps == ()


_SOURCE = re.compile(r'FROM ("([^"]+)"\."([^"]+)"\."[^"]*")')
"""A measurement, with its database and policy."""


def run_queries(server: Server, target: Target, result: AuditResult) -> set[str]:
    """Runs the queries that the plans propose; the policies that they are about."""
    (database,) = target.databases
    steps = [step for plan in result.plans for step in plan.steps if step.kind is StepKind.FIND]
    found = set()
    for step in steps:
        (source,) = _SOURCE.findall(step.text)
        assert source[1] == database
        # With no database and no policy in the request: the statement says it all.
        assert influxql(server.url, step.text)["results"][0]["series"]
        found.add(source[2])
    return found


# --- What is asked, and of what ----------------------------------------------------------------------------------


def test_policy_is_named_in_the_configuration(shared: Server) -> None:
    target = written(shared, {"": ["a v=1"], "raw": ["b v=1"], "year": ["c v=1"], "void": []})
    (database,) = target.databases

    def audited(*names: str) -> Profile:
        return collected(target.model_copy(update={"databases": names}))

    assert set(named(audited(f"{database}/raw"))) == {("raw", "b")}
    assert audited(f"{database}/raw").series == 1
    assert set(named(audited(f"{database}/autogen"))) == {("", "a")}
    assert set(named(audited(database, f"{database}/raw"))) == {("", "a"), ("raw", "b"), ("year", "c")}
    for name in ("void", "nope"):
        missing = audited(f"{database}/{name}")
        assert missing.measurements == ()
        (detail,) = {g.detail for g in missing.gaps}
        assert f"{database} (autogen), {database}/raw (raw), {database}/year (year)" in detail
    whole = audited(database)
    assert whole.gaps == ()
    takes = whole.selection.takes
    assert (takes(f"{database}/void"), takes(database), takes(f"{database}2/raw")) == (True, True, False)


def test_one_policy_costs_no_more_statements_than_before(shared: Server) -> None:
    def asked(layout: Layout) -> dict[str, int]:
        return {cost.fact: cost.statements for cost in collected(written(shared, layout)).costs if cost.statements}

    lines = ["a,host=x v=1", "b,host=x v=1"]
    once = dict.fromkeys(
        (
            "databases",
            "policies",
            "measurements",
            "tag_keys",
            "field_types",
            "database_series",
            "database_bytes",
            "early_rows",
            "kept_points",
            "scheduled_queries",
        ),
        1,
    )
    # This version tells only in its heap profile which index it has.
    once["server_status"] = 2
    assert asked({"": lines}) == once | {"series_listing": 1, "row_sample": 1}
    assert asked({"": lines, "void": []})["policies"] == 2
    several = asked({"": lines, "raw": [*lines, "c,host=y v=1"]})
    assert sum(several.values()) <= sum(asked({"": lines}).values()) + 3 * 2 + 6


@pytest.mark.parametrize("server", ["tsi1"], indirect=True)
def test_policy_that_is_not_the_default_one_keeps_the_name_of_its_own(server: Server) -> None:
    """The name of the database means what a query without a policy reads, whichever policy that is."""
    target = written(server, {"": ["a v=1"], "raw": ["b v=1"]})
    (database,) = target.databases
    assert set(named(collected(target))) == {("", "a"), ("raw", "b")}
    influxql(server.url, f"ALTER RETENTION POLICY raw ON {database} DEFAULT")
    profile = collected(target)
    assert (profile.gaps, set(named(profile))) == ((), {("", "b"), ("autogen", "a")})
    influxql(server.url, f"DROP RETENTION POLICY raw ON {database}")
    without_default = collected(target)
    assert (without_default.gaps, set(named(without_default))) == ((), {("autogen", "a")})


def test_retention_and_bytes_are_those_of_the_policy(shared: Server) -> None:
    target = written(shared, {"": ["a v=1"], "raw": requests(500)})
    (database,) = target.databases
    influxql(shared.url, f"ALTER RETENTION POLICY raw ON {database} DURATION 520w SHARD DURATION 4w")
    profile = collected(target)
    kept = {d.name: [(r.policy, r.duration_s, r.default) for r in d.retention or ()] for d in profile.databases}
    assert kept == {
        database: [("autogen", FOREVER, True)],
        f"{database}/raw": [("raw", 520 * 7 * 86400, False)],
    }
    held = {d.name: d.storage.data_bytes for d in profile.databases if d.storage and d.storage.data_bytes}
    assert held[f"{database}/raw"] > 10 * held[database] > 0
    assert stored_bytes(profile) == sum(held.values())
    # A note, which has no plan.
    (note,) = [finding for rule, finding in evaluate(profile).findings() if rule.code == "RET001"]
    step = ENGINES["influxdb1"].advice()(a_place(profile, database, None), note.changes).schema()
    assert step is not None
    assert step.text.startswith(f'ALTER RETENTION POLICY "autogen" ON "{database}" ')


def test_series_that_comes_to_a_further_policy_is_seen_the_next_day(shared: Server) -> None:
    """The server counts no more series than the day before, as each is counted once."""
    target = written(shared, {"": (f"m,host=h{i} v=1" for i in range(9)), "raw": ["m,host=h0 v=1"]})
    (database,) = target.databases
    present = utc_now()
    first = collected(target, now=present, day=present.date())
    assert series(first) == {("", "m"): 9, ("raw", "m"): 1}
    write_lines(shared.url, database, (f"m,host=h{i} v=1 {_NEWEST}000000000" for i in range(6)), policy="raw")
    later = present + timedelta(days=1)
    second = collected(target, now=later, day=later.date(), previous=first)
    assert (second.reused, series(second)) == (0, {("", "m"): 9, ("raw", "m"): 6})
    # Where one policy holds data, what has not moved is taken over as before.
    alone = written(shared, {})
    write_lines(shared.url, alone.databases[0], iter([f"m,host=h0 v=1 {int(present.timestamp()) - 60}000000000"]))
    first = collected(alone, now=present, day=present.date())
    assert collected(alone, now=later, day=later.date(), previous=first).reused == 1


# --- Where the index does not tell policies apart ----------------------------------------------------------------


def test_series_are_too_many_to_be_told_apart_by_rows(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policies, "MAX_DISTINGUISHED", 50)
    layout = {"": [f"m,host=h{i} v=1" for i in range(9)], "raw": [f"m,id=i{i} v=1" for i in range(60)]}
    profile = collected(written(server, layout))
    if server.index == "tsi1":
        # The default policy lists nine, which is few enough to look them up; of the other it is not known.
        assert series(profile) == {("", "m"): 9, ("raw", "m"): None}
        assert named(profile)["raw", "m"].series.value == 60
    else:
        assert series(profile) == {("", "m"): None, ("raw", "m"): None}
    told = [g for g in profile.gaps if g.fact == "series_listing"]
    assert {g.reason for g in told} == {Reason.UNSUPPORTED}
    assert all("inmem" in g.detail and "too many to look them up" in g.detail for g in told)
    count = named(profile)["raw", "m"].series
    assert count is not None
    assert count.source.scope.startswith("at most: ")
    assert evaluate(profile).verdict is not Verdict.OK


def test_index_shows_by_a_foreign_measurement_that_it_tells_policies_apart(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(policies, "MAX_DISTINGUISHED", 50)
    layout = {"": ["m,host=a v=1", "mine v=1"], "raw": [*(f"m,id=i{i} v=1" for i in range(60)), "other v=1"]}
    profile = collected(written(server, layout))
    if server.index == "tsi1":
        assert (profile.gaps, series(profile)["raw", "m"], series(profile)["", "m"]) == ((), 60, 1)
    else:
        assert (series(profile)["raw", "m"], series(profile)["", "m"]) == (None, None)
    assert series(profile)["", "mine"] == series(profile)["raw", "other"] == 1


def test_rows_cannot_be_looked_up(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    target = written(server, {"": ["m,host=a v=1"], "raw": ["m,host=b v=1"]})
    true = Client.series

    def refusing(self: Client, statement: str, *how: Any) -> Any:
        if "WHERE time" in statement and "SHOW SERIES" in statement:
            raise FactError(Reason.FAILED, "max-select-series limit exceeded")
        return true(self, statement, *how)

    monkeypatch.setattr(Client, "series", refusing)
    profile = collected(target)
    assert set(series(profile).values()) == {None}
    assert all("max-select-series" in g.detail for g in profile.gaps)
    assert len(profile.gaps) == 2


@pytest.mark.full
def test_policies_cannot_be_read(shared: Server) -> None:
    target = written(shared, {"": ["m,host=a v=1"], "raw": ["m,host=b v=1"]})

    def refusing(fact: str, parameters: Mapping[str, Any]) -> Rows | None:
        if fact == "policies":
            raise FactError(Reason.TIMED_OUT, "cancelled")
        return None

    profile = collected_with(target, refusing)
    assert profile.measurements == (), "of the default policy alone they would look like all there are"
    assert {g.reason for g in profile.gaps} == {Reason.TIMED_OUT}
    assert {"measurements", "series_listing", "row_sample"} <= {g.fact for g in profile.gaps}


def test_server_takes_no_policy_beside_the_statement(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before 1.6 the policy has to stand in the statement: asked as such a server has to be, the answer is the same."""
    target = written(server, {"": ["m,host=a v=1"], "raw": ["m,host=b v=1i", "n,id=1 w=2"]})
    now = collected(target)
    asked: list[str] = []
    true = Client.series

    def ignoring(self: Client, statement: str, timeout_s: float, rows: Rows, *_: Any) -> Any:
        asked.append(statement)
        return true(self, statement, timeout_s, rows)

    monkeypatch.setattr(Client, "series", ignoring)
    monkeypatch.setattr(Client, "_version", lambda *_: "1.5.4")
    before = collected(target)
    assert before.measurements == now.measurements
    assert any(statement.endswith('FROM "raw"./.*/') for statement in asked)
