"""What the SQL databases are advised to do, run on real ones: every statement is accepted, and nothing is lost."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from tests.builders import a_count, a_finding, a_measurement, a_place, a_profile, a_rule_result, a_tag
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write, writing_of
from tests.engines.traits import SHARE_SQL
from tests.planning.places import server_of
from tests.planning.runner import misshapen
from tests.rules.cases import dataset, hosts, run_rule, table
from tsaudit.config.settings import Columns, Target
from tsaudit.engines.quoting import Qualified
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.statements import shown
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    DropRepeats,
    LeaveOut,
    MakeField,
    MakeTag,
    Merged,
    MergeMeasurements,
)
from tsaudit.model.columns import Tag
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Severity
from tsaudit.model.plan import Plan, Step, StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.planning.plans import plans_of
from tsaudit.rules.layout.repeated_rows import repeated_rows

HOSTILE: Final = 'or"der, by'
COUNT: Final = 24
NOWHERE: Final = Subject()


@dataclass(frozen=True, slots=True)
class Where:
    """A database that a data set was written to."""

    engine: str
    target: Target
    server: Any
    """A `places.Statements`."""

    def profile(self) -> Profile:
        return collected(self.target)

    @property
    def measurement(self) -> Measurement:
        return self.profile().measurements[0]

    def rows(self, query: str, name: str = HOSTILE) -> list[Any]:
        """`{t}` stands for the table."""
        database = self.profile().databases[0].name
        return self.server.rows(query.format(t=ENGINES[self.engine].quoted(Qualified(database, name))))

    def plan(self, *changes: Change, name: str = "") -> Plan:
        """The only plan for the changes, whose measurement is set here."""
        profile = self.profile()
        here = next(m for m in profile.measurements if name in ("", m.name))
        plan = plan_of(profile, here, *changes)
        assert not misshapen(plan, profile, _result(plan, changes)), plan
        return plan

    def make(self, *changes: Change, name: str = "") -> dict[StepKind, Step]:
        """Makes the changes as the plan says; its steps."""
        plan = self.plan(*changes, name=name)
        for step in plan.steps:
            self.server.run(step)
        return {step.kind: step for step in plan.steps}


def plan_of(profile: Profile, here: Measurement | None, *changes: Change) -> Plan:
    at = Subject(profile.databases[0].name, here.name if here else "")
    finding = a_finding(at, changes=tuple(replace(change, at=at) for change in changes))
    (plan,) = plans_of(profile, [a_rule_result(finding)])
    return plan


def _result(plan: Plan, changes: tuple[Change, ...]) -> AuditResult:
    from tests.builders import a_result

    finding = a_finding(plan.subject, changes=tuple(replace(change, at=plan.subject) for change in changes))
    return a_result(a_rule_result(finding), plans=(plan,))


@pytest.fixture(params=sorted(SHARE_SQL))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Dataset], Where]:
    engine = request.param

    def written(data: Dataset) -> Where:
        where = writing_of(engine).place(request, tmp_path)
        target = write(data, engine, where)
        return Where(engine, target, server_of(engine, where, target))

    return written


def _readings(**more: Any) -> Table:
    return table(
        HOSTILE,
        [{"host": "a.b-1", "site": "x"}],
        {"val'ue": "string", "usage": "float"},
        lambda s, r: {"val'ue": f"{r}.5", "usage": r / 7},
        rows=COUNT,
        **more,
    )


# --- Indexes ----------------------------------------------------------------------------------------------------------


def test_indexes_come_and_go(place: Callable[[Dataset], Where]) -> None:
    where = place(dataset(_readings(indexes=(("usage",), ("host",)), key=False)))
    found = {i.columns: i.name for i in where.measurement.indexes or ()}
    steps = where.make(
        DropIndex(NOWHERE, found["usage",], ("usage",)),
        DropIndex(NOWHERE, found["host",], ("host",)),
        AddIndex(NOWHERE, ("time",)),
    )
    assert [i.columns for i in where.measurement.indexes or ()] == [("time",)]
    schema = steps[StepKind.SCHEMA]
    assert schema.text.count("DROP INDEX") == 2
    assert schema.text.count("CREATE INDEX") == 1
    assert StepKind.WRITER not in steps
    assert "slow queries" in steps[StepKind.VERIFY].words
    if where.engine == "postgresql":
        assert schema.text.count("CONCURRENTLY") == 3
        assert "outside" not in schema.locks
        assert "SHARE UPDATE EXCLUSIVE" in schema.locks
        assert "inside a transaction" in schema.words
        assert "invalid index" in schema.words


def test_an_index_that_is_there_is_not_created_again(place: Callable[[Dataset], Where]) -> None:
    where = place(dataset(_readings(indexes=(("time",),), key=False)))
    assert StepKind.SCHEMA not in {
        step.kind
        for step in where.plan(MakeTag(NOWHERE, "usage"), AddIndex(NOWHERE, ("time",))).steps
        if '("time")' in step.text
    }


def test_indexes_of_many_tables_are_counted(place: Callable[[Dataset], Where]) -> None:
    """One plan for the same index of many tables, whose statements stay on a screen."""
    names = [f"t{n:02}" for n in range(30)]
    where = place(dataset(*(table(n, hosts(1), indexes=(("usage",),), key=False) for n in names)))
    profile = where.profile()
    changes = [
        DropIndex(Subject(m.database, m.name), i.name, i.columns)
        for m in profile.measurements
        for i in m.indexes or ()
        if i.columns == ("usage",)
    ]
    assert len(changes) == 30
    findings = [a_finding(change.at, changes=(change,)) for change in changes]
    (plan,) = plans_of(profile, [a_rule_result(*findings)])
    assert len(plan.also) == 29
    schema = next(step for step in plan.steps if step.kind is StepKind.SCHEMA)
    lines = schema.text.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "-- 21 more statements of the same form"
    assert "The same for the 29 other tables" in schema.words
    where.server.run(replace(schema, text="\n".join(lines[:-1])))
    assert sum(bool(m.indexes) for m in where.profile().measurements) == 21


# --- Copies of rows ---------------------------------------------------------------------------------------------------


def test_copies_go_and_do_not_come_again(place: Callable[[Dataset], Where]) -> None:
    """Two stations number their trades from 1 on; one of them sends some again."""
    stations: list[dict[str, str | None]] = [{"station": "binance", "pair": "a"}, {"station": "kraken", "pair": "a"}]
    made = table(
        HOSTILE,
        stations,
        {"trade_id": "integer", "pri'ce": "float"},
        lambda s, r: {"trade_id": r, "pri'ce": s + r / 7},
        rows=300,
        key=False,
    )
    rows: list[Row] = list(made.rows)
    again = [row for row in rows if row.tags["station"] == "binance"][::3]
    where = place(dataset(replace(made, rows=[*rows, *again])))
    (finding,) = run_rule(repeated_rows, where.profile()).findings
    assert finding.severity is Severity.WARNING
    assert "all with station=binance, the same in all columns, even in trade_id" in finding.message
    (change,) = finding.changes
    assert isinstance(change, DropRepeats)
    steps = where.make(change)
    assert where.rows("SELECT count(*) FROM {t}") == [(600,)]
    assert "100 of 700 rows read" in steps[StepKind.STORED].loses
    assert not where.rows(steps[StepKind.FIND].text.rstrip(";"))
    assert not run_rule(repeated_rows, where.profile()).findings
    (index,) = where.measurement.indexes or ()
    assert index.unique
    assert index.columns == ("station", "trade_id", "time")
    assert steps[StepKind.WRITER].text.endswith("VALUES (...)\nON CONFLICT DO NOTHING;")
    copied = "INSERT INTO {t} SELECT * FROM {t} ON CONFLICT DO NOTHING"
    database = where.profile().databases[0].name
    own = ENGINES[where.engine].quoted(Qualified(database, HOSTILE))
    # SQLite takes ON for a join without a WHERE.
    where.server.run(Step(StepKind.SCHEMA, "", copied.replace(" ON ", " WHERE true ON ").format(t=own) + ";", "sql"))
    assert where.rows("SELECT count(*) FROM {t}") == [(600,)]


def test_the_copy_that_came_first_stays(place: Callable[[Dataset], Where]) -> None:
    made = table(
        HOSTILE,
        [{"exchange": "binance"}],
        {"trade_id": "integer", "loa'ded": "integer"},
        lambda _, r: {"trade_id": r, "loa'ded": r},
        rows=30,
        key=False,
    )
    again = [replace(row, fields={**row.fields, "loa'ded": 1_000 * n}) for row in made.rows[:10] for n in (2, 1)]
    where = place(dataset(replace(made, rows=[*again, *made.rows])))
    steps = where.make(DropRepeats(Subject(), "20 of 50 rows", ("trade_id",), ignored=("loa'ded",)))
    assert where.rows("""SELECT count(*), max("loa'ded") FROM {t}""") == [(30, 29)]
    # Nobody says that no other trade will have this ID.
    assert StepKind.SCHEMA not in steps
    assert "a unique key of what identifies a row, which only they know" in steps[StepKind.WRITER].words


# --- Columns and names ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("indexed", [(), (("val'ue",), ("host", "time"))], ids=["bare", "indexed"])
def test_text_becomes_a_number(place: Callable[[Dataset], Where], indexed: Any) -> None:
    where = place(dataset(_readings(indexes=indexed)))
    steps = where.make(ChangeType(NOWHERE, "val'ue", "float"))
    here = where.measurement
    if not ENGINES[where.engine].enforces_types:
        assert "val'ue_float" in here.columns
        assert steps[StepKind.STORED].words.startswith("Rows stored until then keep their values in val'ue.")
    else:
        assert where.rows('SELECT sum("val\'ue") FROM {t}') == [(sum(n + 0.5 for n in range(COUNT)),)]
        assert "fails and changes nothing" in steps[StepKind.SCHEMA].words
        assert not steps[StepKind.WRITER].text, "an INSERT into the same columns would show nothing"
    assert sorted(i.columns for i in here.indexes or () if not i.constraint) == sorted(indexed)


def test_amounts_of_money_are_added_up_exactly(place: Callable[[Dataset], Where]) -> None:
    data = table("t", hosts(1), {"v": "string"}, lambda s, r: {"v": "0.10"}, rows=COUNT, key=False)
    where = place(dataset(data))
    if "decimal" not in ENGINES[where.engine].sql_types:
        return
    where.make(ChangeType(NOWHERE, "v", "decimal"))
    if where.engine == "duckdb":
        # A cast would round what has more digits than the type, without an error.
        assert "v_decimal" in where.measurement.columns
    else:
        ((total,),) = where.rows("SELECT sum(v) FROM {t}", "t")
        assert total == Decimal("0.10") * COUNT


def test_a_value_that_does_not_convert_stops_the_conversion(place: Callable[[Dataset], Where]) -> None:
    data = table("t", hosts(1), {"v": "string"}, lambda s, r: {"v": "n/a" if r == 3 else "1"}, rows=COUNT, key=False)
    where = place(dataset(data))
    plan = where.plan(ChangeType(NOWHERE, "v", "integer"))
    schema = next(step for step in plan.steps if step.kind is StepKind.SCHEMA)
    if ENGINES[where.engine].enforces_types:
        with pytest.raises(Exception, match="n/a"):
            where.server.run(schema)
    assert where.rows("SELECT count(*) FROM {t} WHERE v = 'n/a'", "t") == [(1,)]
    known = where.plan(ChangeType(NOWHERE, "v", "integer", ("n/a",)))
    assert 'ADD COLUMN "v_integer"' in next(step.text for step in known.steps if step.kind is StepKind.SCHEMA)


@pytest.mark.parametrize(("kind", "fields"), [("time", {"v": "string"}), ("integer", {"v": "float"})])
def test_what_could_convert_wrongly_is_not_converted(
    place: Callable[[Dataset], Where], kind: str, fields: dict[str, str]
) -> None:
    """Times without a zone, and floats that a cast rounds."""
    value = "2026-03-30 10:00:00" if kind == "time" else 1.5
    where = place(dataset(table("t", hosts(1), fields, lambda s, r: {"v": value}, rows=COUNT, key=False)))
    steps = where.make(ChangeType(NOWHERE, "v", kind))
    assert list(steps).index(StepKind.SCHEMA) < list(steps).index(StepKind.WRITER)
    assert f"v_{kind}" in steps[StepKind.SCHEMA].text
    # What writers send names the column that is there by then, not the one that keeps its type.
    assert f'"v_{kind}"' in steps[StepKind.WRITER].text
    assert '"v"' not in steps[StepKind.WRITER].text
    assert where.rows("SELECT DISTINCT v FROM {t}", "t") == [(value,)]


def test_statements_that_belong_together_are_not_cut(place: Callable[[Dataset], Where]) -> None:
    """DuckDB alters no table with an index: those that are dropped would not be created again."""
    fields = {f"f{n}": "string" for n in range(8)}
    indexes = (*((name,) for name in fields), ("time",))
    data = table(
        "t", hosts(1), {**fields, "v": "string"}, lambda s, r: dict.fromkeys((*fields, "v"), "1"), indexes=indexes
    )
    where = place(dataset(data))
    steps = where.make(ChangeType(NOWHERE, "v", "integer"))
    schema = steps[StepKind.SCHEMA]
    if where.engine == "duckdb":
        assert not schema.text
        assert schema.words.endswith("Drop its 9 indexes before, and create them again after.")
    assert len([i for i in where.measurement.indexes or () if not i.constraint]) == 9


def test_what_is_left_out_is_named_by_its_form() -> None:
    same = [f"DROP INDEX i{n};" for n in range(12)]
    assert shown(same).splitlines()[-1] == "-- 3 more statements of the same form"
    assert shown([*same[:9], "ALTER TABLE t\n  ADD COLUMN x TEXT;"]).splitlines()[-1] == (
        "-- 1 more statement (ALTER TABLE)"
    )
    assert shown(same[:10]) == "\n".join(same[:10])


# --- Tags -------------------------------------------------------------------------------------------------------------


def test_a_tag_becomes_a_plain_column(place: Callable[[Dataset], Where]) -> None:
    rows = [Row(at, {"host": "h", "request": f"r{n:04}"}, {"ms": n / 7}) for n, at in enumerate(times(200))]
    where = place(
        dataset(Table("requests", ("host", "request"), {"ms": "float"}, rows, key=("host", "request", "time")))
    )
    steps = where.make(MakeField(NOWHERE, "request"))
    assert steps[StepKind.WRITER].words.startswith("Keep request as a plain column of requests, in no index except")
    assert steps[StepKind.VERIFY].text == 'columns:\n  "requests":\n    fields: ["request"]'
    assert "should count 1 series of requests; now there are 200" in steps[StepKind.VERIFY].words


def test_a_tag_that_tsaudit_yaml_declares_is_no_longer_written(place: Callable[[Dataset], Where]) -> None:
    """To declare it as a field would only hide how many series it makes."""
    rows = [Row(at, {"host": "h", "route": f"/o/{n:04}"}, {"ms": n / 7}) for n, at in enumerate(times(200))]
    where = place(dataset(Table("requests", ("host", "route"), {"ms": "float"}, rows)))
    if ENGINES[where.engine].infers_roles:
        columns = {"requests": Columns(kind="series", tags=("host", "route"))}
        where = replace(where, target=where.target.model_copy(update={"columns": columns}))
        steps = {step.kind: step for step in where.plan(MakeField(NOWHERE, "route")).steps}
        assert steps[StepKind.WRITER].words.startswith("Leave route out of the rows of requests, or write names there")
        assert "route" not in steps[StepKind.WRITER].text
        assert steps[StepKind.STORED].words.startswith("Rows stored until then keep their values in route.")
        verify = steps[StepKind.VERIFY]
        assert verify.words.startswith("The next audits should find no new value of route. In ")
        assert verify.text == ""
        assert "tsaudit.yaml" not in verify.words
    writer = {step.kind: step for step in where.plan(MakeField(NOWHERE, "route")).steps}[StepKind.WRITER]
    assert "Or keep route as it is, but write a name in place of each ID: /orders/:id." in writer.words


def test_a_declared_tag_that_telegraf_writes_is_excluded_there(place: Callable[[Dataset], Where]) -> None:
    """A setting that makes a field of it would go on writing the column."""
    rows = [Row(at, {"host": "h", "cpu": f"c{n:04}"}, {"usage_idle": n / 7}) for n, at in enumerate(times(200))]
    where = place(dataset(Table("cpu", ("host", "cpu"), {"usage_idle": "float"}, rows)))
    if ENGINES[where.engine].infers_roles:
        columns = {"cpu": Columns(kind="series", tags=("host", "cpu"))}
        where = replace(where, target=where.target.model_copy(update={"columns": columns}))
        writer = {step.kind: step for step in where.plan(MakeField(NOWHERE, "cpu")).steps}[StepKind.WRITER]
        assert writer.words.endswith("If Telegraf writes it:")
        assert "exclude" in writer.text
        assert "converter" not in writer.text


def test_a_declared_tag_of_the_key_has_to_stay(place: Callable[[Dataset], Where]) -> None:
    rows = [Row(at, {"host": "h", "route": f"/o/{n:04}"}, {"ms": n / 7}) for n, at in enumerate(times(200))]
    where = place(dataset(Table("requests", ("host", "route"), {"ms": "float"}, rows, key=("host", "route", "time"))))
    if ENGINES[where.engine].infers_roles:
        columns = {"requests": Columns(kind="series", tags=("host", "route"))}
        where = replace(where, target=where.target.model_copy(update={"columns": columns}))
        verify = {step.kind: step for step in where.plan(MakeField(NOWHERE, "route")).steps}[StepKind.VERIFY]
        # Declared a second time, it would be an error.
        assert verify.words.startswith(
            "In tsaudit.yaml, move route to `fields` in the line of requests below `columns:`."
        )
        assert verify.text == ""


def test_a_column_that_names_a_source_is_indexed(place: Callable[[Dataset], Where]) -> None:
    where = place(dataset(_readings(key=False)))
    steps = where.make(MakeTag(NOWHERE, "usage"))
    of_source = ("usage",) if where.engine == "duckdb" else ("usage", "time")
    assert [i.columns for i in where.measurement.indexes or ()] == [of_source]
    assert steps[StepKind.VERIFY].text == f'columns:\n  {json.dumps(HOSTILE)}:\n    tags: ["usage"]'
    assert StepKind.WRITER not in steps


def test_the_source_that_writes_most_values_comes_first(place: Callable[[Dataset], Where]) -> None:
    # `api` writes 60 requests in two zones, `web` writes 20 in one; `version` is the same everywhere.
    rows = [
        Row(
            time,
            {
                "request": f"r{number:03}",
                "app": "web" if number % 4 == 0 else "api",
                "zone": "z2" if number % 4 == 3 else "z1",
                "version": "1",
            },
            {"ms": number / 7},
        )
        for number, time in enumerate(times(80))
    ]
    where = place(Dataset([Table("requests", ("app", "request", "version", "zone"), {"ms": "float"}, rows)]))
    plan = where.plan(Diagnose(NOWHERE, "new values", "request"))
    (step,) = plan.steps
    assert step.kind is StepKind.FIND
    found = where.server.rows(step.text)
    # The sources with their counts, and no value, which a report would redact.
    assert sorted(found) == [("api", "z1", 40), ("api", "z2", 20), ("web", "z1", 20)]
    assert found[0][2] == 40


def test_the_tables_of_a_database_are_listed(place: Callable[[Dataset], Where]) -> None:
    rows = [Row(time, {"host": "a"}, {"v": 1.5}) for time in times(5)]
    where = place(Dataset([Table(name, ("host",), {"v": "float"}, rows) for name in ("one", "two")]))
    plan = plan_of(where.profile(), None, Diagnose(Subject(where.profile().databases[0].name), "measurements"))
    (step,) = plan.steps
    assert step.words.startswith("List the tables of ")
    assert sorted(where.server.rows(step.text)) == [("one",), ("two",)]


def _writers(*tags: Tag) -> tuple[str, ...]:
    here = a_measurement(tags=(a_tag("id", values=200), *tags))
    return a_place(a_profile(here), "main", here).writers_of("id")


def test_writers_are_tags_with_far_fewer_values() -> None:
    assert _writers(a_tag("host", values=20), a_tag("zone", values=2)) == ("host", "zone")
    assert _writers(a_tag("twin", values=200), a_tag("host", values=21), a_tag("version", values=1)) == ()
    assert _writers(a_tag("uncounted", values=a_count(2).value, label_of="labels")) == ()
    several = [a_tag(f"t{n}", values=n + 2) for n in range(5)]
    assert _writers(*several) == ("t4", "t3", "t2")


def test_writers_are_no_tag_that_the_plan_removes() -> None:
    here = a_measurement(tags=(a_tag("id", values=200), a_tag("step", values=20), a_tag("host", values=2)))
    found = a_place(a_profile(here), "main", here)
    assert dataclasses.replace(found, removed_tags=frozenset({"id", "step"})).writers_of("id") == ("host",)


# --- Tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.full
def test_tables_of_one_family_get_one_table(place: Callable[[Dataset], Where]) -> None:
    names = [f"cpu_{n:03}" for n in range(120)]
    where = place(
        dataset(*(table(n, hosts(1), {"usage": "float"}, lambda s, r: {"usage": 1.5}, rows=2) for n in names))
    )
    members = tuple(Merged(name, (("host", name.removeprefix("cpu_")),)) for name in names)
    profile = where.profile()
    change = MergeMeasurements(Subject(profile.databases[0].name), "cpu", "cpu_{host}", members)
    plan = plan_of(profile, None, change)
    assert not misshapen(plan, profile, _result(plan, (change,)))
    steps = {step.kind: step for step in plan.steps}
    for step in plan.steps:
        where.server.run(step)
    made = where.rows("SELECT host_in_name, time, host, usage FROM {t}", "cpu")
    assert made == []
    assert '"host_in_name"' in steps[StepKind.WRITER].text
    assert "120 old tables" in steps[StepKind.STORED].words
    assert not steps[StepKind.STORED].text


def test_a_family_of_different_types_is_left_to_the_reader(place: Callable[[Dataset], Where]) -> None:
    one = table("cpu_a", hosts(1), {"usage": "float"}, lambda s, r: {"usage": 1.5}, rows=2)
    other = table("cpu_b", hosts(1), {"usage": "string"}, lambda s, r: {"usage": "x"}, rows=2)
    where = place(dataset(one, other))
    members = tuple(Merged(name, (("part", name[-1]),)) for name in ("cpu_a", "cpu_b"))
    plan = plan_of(where.profile(), None, MergeMeasurements(NOWHERE, "cpu", "cpu_{part}", members))
    schema = next(step for step in plan.steps if step.kind is StepKind.SCHEMA)
    assert not schema.text
    assert "usage does not have the same type in all of them" in schema.words


# --- Labels in one column ---------------------------------------------------------------------------------------------

AT: Final = Subject("main", "metrics")
LABEL: Final = "labels.pod"


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Where:
    path = tmp_path_factory.mktemp("labels") / "t.db"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE metrics (time TIMESTAMP, host VARCHAR, v DOUBLE, labels JSON)")
        labels = [json.dumps({"pod": f"p-{i % 20}", "zone": f"z{i % 2}"}) for i in range(600)]
        at = [f"2026-03-30 {i // 60:02}:{i % 60:02}:00" for i in range(600)]
        rows = [(at[i], f"h{i % 3}", i / 7, labels[i]) for i in range(600)]
        connection.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?)", rows)
    target = Target(name="t", engine="duckdb", url=f"duckdb:///{path}")
    found = Where("duckdb", target, server_of("duckdb", path, target))
    assert LABEL in {tag.key for tag in found.measurement.tags}
    return found


@pytest.mark.costly
@pytest.mark.parametrize(
    "change",
    [
        MakeField(AT, LABEL),
        MakeField(AT, LABEL, "float"),
        MakeTag(AT, LABEL),
        ChangeType(AT, LABEL, "integer"),
        LeaveOut(AT, LABEL),
        Diagnose(AT, "sources", "v"),
    ],
    ids=lambda change: type(change).__name__,
)
def test_no_statement_names_a_label_as_if_it_were_a_column(change: Change, metrics: Where) -> None:
    plan = plan_of(metrics.profile(), metrics.measurement, change)
    with duckdb.connect(metrics.target.url.get_secret_value().partition("///")[2]) as connection:
        connection.begin()
        for step in plan.steps:
            if step.language == "sql":
                connection.execute(step.text)
        connection.rollback()


def test_a_label_becomes_a_column(metrics: Where) -> None:
    steps = {step.kind: step for step in metrics.plan(MakeField(AT, LABEL)).steps}
    assert steps[StepKind.WRITER].words.startswith("Write pod of metrics to a column of its own, not as a label.")
    assert '"pod"' in steps[StepKind.WRITER].text
    assert steps[StepKind.SCHEMA].text == 'ALTER TABLE "metrics" ADD COLUMN "pod" VARCHAR;'
    assert steps[StepKind.VERIFY].text == 'columns:\n  "metrics":\n    fields: ["labels.pod"]'
