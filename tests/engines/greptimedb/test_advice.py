"""What is advised about a table of GreptimeDB, run on the stand-in: ALTER TABLE, or one new table with all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import a_field, a_finding, a_measurement, a_place, a_profile, a_result, a_rule_result, a_tag
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.double import GreptimeDB
from tests.planning.places import server_of
from tests.planning.runner import misshapen
from tsaudit.engines.greptimedb.advice import GreptimeAdvice
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    DropPartitions,
    DropRepeats,
    MakeField,
    MakeTag,
    Merged,
    MergeMeasurements,
    SetOption,
    SetRetention,
)
from tsaudit.model.figures import Subject
from tsaudit.model.plan import Plan, Step, StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.planning.plans import plans_of

NAME = 'lo"gs, by'
AT = Subject("shop", NAME)
VALUES = ("1.5", "007", "abc", "2", "")
COUNT = 40


@pytest.fixture(scope="module")
def server() -> Iterator[GreptimeDB]:
    running = GreptimeDB()
    yield running
    running.stop()


Make = Callable[..., dict[StepKind, Step]]


def _plan(profile: Profile, *changes: Change, at: Subject = AT) -> Plan:
    changes = tuple(replace(change, at=at) for change in changes)
    findings = a_finding(at, changes=changes)
    (plan,) = plans_of(profile, [a_rule_result(findings)])
    assert not misshapen(plan, profile, a_result(a_rule_result(findings), plans=(plan,)))
    return plan


def _written(server: GreptimeDB, *, same_time: bool = False, options: dict[str, str] | None = None) -> Make:
    """Writes a table, and returns what makes changes of it as the plan says, and returns the plan's steps.

    `same_time`: whether rows that differ in `trace` alone have their time in common, and traces have several rows.
    """
    at = times(COUNT, timedelta(hours=2))
    rows = [
        Row(
            at[i // 2 if same_time else i],
            {
                "app": "a",
                "trace": f"t{i % 16 if same_time else i}",
                "place": f"loc-x{i % 2 if not same_time else 0}.r1",
            },
            {"v": VALUES[i % 5], "u": i / 4, "line": "x"},
        )
        for i in range(COUNT)
    ]
    key = ("app", "place", "trace")
    settled = Greptime(options={"ttl": "7days", **(options or {})}, indexes={"line": "fulltext", "v": "skipping"})
    fields = {"v": "string", "u": "float", "line": "string"}
    table = Table(NAME, key, fields, rows, key=key, greptime=settled)
    target = write(Dataset([table], database="shop"), "greptimedb", server)

    def make(*changes: Change) -> dict[StepKind, Step]:
        plan = _plan(collected(target), *changes)
        for step in plan.steps:
            server_of("greptimedb", server, target).run(step)
        return {step.kind: step for step in plan.steps}

    return make


def test_all_changes_are_made_in_one_new_table(server: GreptimeDB) -> None:
    make = _written(server)
    steps = make(
        MakeField(AT, "trace"),
        AddIndex(AT, ("trace",), "skipping"),
        DropIndex(AT, "FULLTEXT_INDEX_line", ("line",), "fulltext"),
        SetRetention(AT, timedelta(days=365)),
    )
    text = steps[StepKind.SCHEMA].text
    assert text.count("CREATE TABLE") == 1
    assert "MODIFY COLUMN" not in text
    table = server.tables["shop", NAME]
    assert list(table.key) == ["app", "place"]
    # Each row had a key of its own, so that none overwrote another one; without `trace`, some would.
    assert table.options == {"ttl": "365d", "append_mode": "true"}
    assert {c: k for c, k in table.indexes.items() if k} == {"trace": ["skipping"], "v": ["skipping"]}
    assert ("shop", f"{NAME}_new") not in server.tables
    assert len(server.rows(server.tables["shop", f"{NAME}_old"])) == COUNT, "until somebody drops it"
    assert steps[StepKind.SCHEMA].loses == "all rows older than 365 days"
    stored = steps[StepKind.STORED]
    assert not stored.text
    assert stored.words.startswith(f"Rows stored until then stay in {NAME}_old. Moving them takes an INSERT ... SELECT")


def test_what_moving_the_stored_rows_would_lose_is_counted(server: GreptimeDB) -> None:
    steps = _written(server, same_time=True, options={"append_mode": "false"})(MakeField(AT, "trace"))
    assert "would lose 20 of the 40 rows" in steps[StepKind.STORED].words
    assert "20 of the 40 rows" in steps[StepKind.WRITER].loses


def test_an_inverted_index_does_not_stay_on_what_leaves_the_key(server: GreptimeDB) -> None:
    make = _written(server)
    make(AddIndex(AT, ("trace",), "inverted"))
    assert server.tables["shop", NAME].indexes["trace"] == ["inverted"]
    make(MakeField(AT, "trace"))
    assert server.tables["shop", NAME].indexes["trace"] == ["skipping"]


def test_nothing_is_copied_that_alter_table_does(server: GreptimeDB) -> None:
    steps = _written(server)(
        SetOption(AT, "append_mode", "true"),
        AddIndex(AT, ("u",), "inverted"),
        DropIndex(AT, "SKIPPING_INDEX_v", ("v",), "skipping"),
    )
    assert StepKind.STORED not in steps
    table = server.tables["shop", NAME]
    assert list(table.key) == ["app", "place", "trace"]
    assert table.options["append_mode"] == "true"
    assert {c: k for c, k in table.indexes.items() if k} == {"line": ["fulltext"], "u": ["inverted"]}
    assert "cannot be undone" in steps[StepKind.SCHEMA].words


def test_a_field_becomes_part_of_the_key(server: GreptimeDB) -> None:
    _written(server)(MakeTag(AT, "line"))
    assert list(server.tables["shop", NAME].key) == ["app", "place", "trace", "line"]


def test_rows_that_are_kept_twice_are_counted(server: GreptimeDB) -> None:
    steps = _written(server, options={"append_mode": "true"})(DropRepeats(AT, "3 of 7 rows read"))
    assert list(steps) == [StepKind.WRITER, StepKind.STORED, StepKind.VERIFY], "what is copied before comes again"
    assert steps[StepKind.STORED].loses == "rows that equal another one in all columns: 3 of 7 rows read"


def test_what_writers_change_is_said_with_rows_that_are_kept_twice(server: GreptimeDB) -> None:
    options = {"append_mode": "true"}
    alone = _written(server, options=options)(MakeField(AT, "trace"))[StepKind.WRITER]
    both = _written(server, options=options)(MakeField(AT, "trace"), DropRepeats(AT, "3 of 7 rows"))[StepKind.WRITER]
    once, _, others = both.words.partition(" has sent. ")
    assert once.startswith("First have the sender write each row once: ")
    assert (others, both.text) == (alone.words, alone.text)
    assert others.startswith("Write trace as a field of ")


def test_the_type_is_changed_in_place_and_what_is_lost_is_named(server: GreptimeDB) -> None:
    make = _written(server)
    steps = make(ChangeType(AT, "v", "float"))
    assert "read as NULL" in steps[StepKind.SCHEMA].loses
    values = [row["v"] for row in server.rows(server.tables["shop", NAME]).to_pylist()]
    assert {*values} == {1.5, 7.0, None, 2.0}
    make = _written(server)
    steps = make(ChangeType(AT, "v", "float", ("abc",)))
    rows = server.rows(server.tables["shop", NAME]).to_pylist()
    assert {row["v"] for row in rows} == set(VALUES)
    assert {row["v_float"] for row in rows} == {None}
    assert not steps[StepKind.SCHEMA].loses


def test_partitions_are_given_up(server: GreptimeDB) -> None:
    bounds = ("app < 'm'", "app >= 'm'")
    rows = [Row(at, {"app": "an"[i % 2]}, {"u": 1.5 * i}) for i, at in enumerate(times(COUNT))]
    settled = Greptime(partition_by=("app",), partitions=bounds)
    table = Table(NAME, ("app",), {"u": "float"}, rows, key=("app",), greptime=settled)
    target = write(Dataset([table], database="shop"), "greptimedb", server)
    plan = _plan(collected(target), DropPartitions(AT))
    for step in plan.steps:
        server_of("greptimedb", server, target).run(step)
    assert not server.tables["shop", NAME].partition_by


def test_a_wide_table_is_not_printed(server: GreptimeDB) -> None:
    """Its definition would not fit on a screen: SHOW CREATE TABLE prints it, and the words say what to change."""
    fields = {f"a_field_with_a_long_name_{n}": "float" for n in range(60)}
    rows = [Row(at, {"app": "a", "id": f"i{i}"}, dict.fromkeys(fields, 1.5)) for i, at in enumerate(times(COUNT))]
    table = Table(NAME, ("app", "id"), fields, rows, key=("app", "id"))
    target = write(Dataset([table], database="shop"), "greptimedb", server)
    plan = _plan(collected(target), MakeField(AT, "id"))
    schema, stored = (s for s in plan.steps if s.kind in (StepKind.SCHEMA, StepKind.STORED))
    assert schema.text == 'SHOW CREATE TABLE "shop"."lo""gs, by";'
    assert "with the key (app)" in schema.words
    assert not stored.text


def test_a_family_gets_one_table(server: GreptimeDB) -> None:
    tables = [
        Table(f"cpu_{n}", ("core",), {"usage": "float"}, [Row(at, {"core": "0"}, {"usage": 1.5}) for at in times(3)],
              key=("core",), greptime=Greptime(options={"ttl": "7days"}))
        for n in range(3)
    ]  # fmt: skip
    target = write(Dataset(tables, database="family"), "greptimedb", server)
    members = tuple(Merged(f"cpu_{n}", (("host", str(n)),)) for n in range(3))
    at = Subject("family")
    plan = _plan(collected(target), MergeMeasurements(at, "cpu", "cpu_{host}", members), at=at)
    for step in plan.steps:
        server_of("greptimedb", server, target).run(step)
    made = server.tables["family", "cpu"]
    assert [c.name for c in made.columns] == ["time", "host", "core", "usage"]
    assert list(made.key) == ["host", "core"]
    assert made.options == {"ttl": "7days"}
    assert "3 old tables" in next(step for step in plan.steps if step.kind is StepKind.STORED).words


def test_new_values_of_a_day_by_source(server: GreptimeDB) -> None:
    make = _written(server)
    steps = make(Diagnose(AT, "new values", "trace"))
    assert "now() - INTERVAL '1 day'" in steps[StepKind.FIND].text


# --- Tables that the server makes -------------------------------------------------------------------------------------

METRIC = a_measurement(
    "http_requests_total",
    tags=(a_tag("job"), a_tag("instance"), a_tag("path")),
    fields=(a_field("greptime_value", ("double",)),),
    options={"engine": "metric", "ttl": "7d"},
    time_column="greptime_timestamp",
)
LOGS = a_measurement(
    "opentelemetry_logs",
    tags=(a_tag("scope_name"), a_tag("pod"), a_tag("request")),
    fields=tuple(a_field(name, ("string",)) for name in ("body", "severity_number", "log_attributes")),
    options={},
    time_column="timestamp",
)


def _advice(measurement: Measurement, *changes: Change) -> GreptimeAdvice:
    place = a_place(a_profile(measurement, engine="greptimedb", server_version="1.1.4"), "main", measurement)
    return GreptimeAdvice(place, changes)


def test_labels_are_left_out_where_they_are_sent() -> None:
    at = Subject("main", METRIC.name)
    advice = _advice(METRIC, MakeField(at, "path"), SetRetention(at, timedelta(days=30)))
    writer, schema, stored = advice.writer(), advice.schema(), advice.stored()
    assert writer is not None
    assert schema is not None
    assert stored is not None
    assert writer.words.startswith("Stop writing path to http_requests_total.")
    assert "write_relabel_configs" in writer.text
    assert "CREATE" not in schema.text
    assert schema.text == "ALTER TABLE \"main\".\"http_requests_total\" SET 'ttl'='30d';"
    assert not stored.text


def test_each_metric_has_series_of_its_own() -> None:
    writer = _advice(METRIC, MakeField(Subject("main", METRIC.name), "__table_id")).writer()
    assert writer is not None
    assert writer.words.startswith("Write only the metrics that somebody looks at")
    assert "action: drop" in writer.text


def test_keys_of_logs_are_taken_out_of_the_header_that_makes_tags_of_them() -> None:
    at = Subject("main", LOGS.name)
    writer = _advice(LOGS, MakeField(at, "request")).writer()
    assert writer is not None
    assert "X-Greptime-Log-Extract-Keys: 'pod'" in writer.text
    other = _advice(LOGS, MakeField(at, "scope_name")).writer()
    assert other is not None
    assert "X-Greptime" not in other.text
