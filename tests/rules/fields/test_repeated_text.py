"""FLD005: repeated texts."""

from __future__ import annotations

import dataclasses
import json
import re
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_source
from tests.collecting import audited_twice, collected, collected_with
from tests.databases import new_name
from tests.rules.cases import Case, dataset, run_rule, table
from tests.servers import Postgresql
from tsaudit.analysis.rows.column_groups import repeated_together
from tsaudit.analysis.significance import ENOUGH
from tsaudit.collect.draft import ReadColumn
from tsaudit.collect.row_bytes import repeated_columns
from tsaudit.config.settings import Target
from tsaudit.engines.connection import FactError, Rows
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Reason, Subject, TableKind
from tsaudit.model.finding import Currency, Finding, Impact, Outcome, worst_first
from tsaudit.model.profile import Profile
from tsaudit.model.rows import Copies, LargerColumn, RepeatedColumns, RowBytes
from tsaudit.model.storage import Storage
from tsaudit.rules.fields.repeated_text import repeated_text as rule


def _about(series: int, row: int) -> dict[str, Any]:
    return {"about": f"a pump of the north hall with the serial number {series}, made in 2019"}


CASES = (
    Case(
        breaks=dataset(
            table("messages", [{"device": f"d{i}"} for i in range(6)], {"about": "string"}, _about, rows=30),
        ),
        keeps=dataset(
            table(
                "messages",
                [{"device": f"d{i}"} for i in range(6)],
                {"about": "string"},
                lambda s, r: {"about": f"{_about(s, r)['about']}, message {r} of {s}"},
                rows=30,
            )
        ),
        subject=Subject("", "messages", "about"),
        main_contributor="about",
    ),
)


def _repeating(count: int, *groups: RepeatedColumns, read: int = 10_000, **changes: Any) -> Profile:
    """A table with 48 bytes of texts in 88 of each row, in the index as well."""
    columns = {"about": 38.0, "site": 10.0, "time": 8.0}
    settings = {
        "rows": a_count(count),
        "storage": Storage(count * 88, count * 12),
        "row_bytes": RowBytes(columns, groups, read, a_source()),
    }
    return a_profile(a_measurement(**settings | changes), engine="postgresql")


ABOUT = RepeatedColumns({"about": "jsonb", "site": "text"}, 24)


@pytest.mark.parametrize("kind", [*TableKind, None])
@pytest.mark.parametrize(
    ("rows", "changes", "severity"),
    [
        # 44 bytes a row could go: 88 MB of 2,000,000, and 13 times as much in a year.
        (2_000_000, {}, "warning"),
        (1_500_000, {}, "note"),
        # On its first day, and closed.
        (30_000, {"first_time": NOW - timedelta(hours=8)}, "warning"),
        (2_000_000, {"last_time": NOW - timedelta(days=8)}, "note"),
        (24_000_000, {"last_time": NOW - timedelta(days=8)}, "warning"),
        # Without times, and too big to be read: the planner says how many are within the window.
        (2_000_000, {"first_time": None, "last_time": None, "time_column": None}, "note"),
        (2_000_000, {"first_time": None}, "warning"),
    ],
)
def test_texts_that_each_row_repeats(rows: int, changes: dict[str, Any], severity: str, kind: TableKind | None) -> None:
    (finding,) = run_rule(rule, _repeating(rows, ABOUT, kind=kind, **changes)).findings
    # The rows of a queue go again.
    assert finding.severity == (severity if kind is not TableKind.QUEUE or rows > 10_000_000 else "note")
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.BYTES, (rows - 24) * 44)
    assert finding.message == (
        "Each row repeats about and site, 24 combinations in 10,000 rows read: 48 bytes a row, 44% of the table."
    )
    assert 'CREATE TABLE "main"."cpu_about" ("id" INTEGER PRIMARY KEY, "about" jsonb, "site" text)`.' in finding.fix


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, 1),
        ({"row_bytes": None}, 0),
        ({"rows": None}, 0),
        ({"options": {"timescaledb.compress": "true"}}, 0),
        # Less than a twentieth of the table.
        ({"storage": Storage(2_000_000 * 900, 0)}, 0),
        # What SQLite does not tell is taken from the rows.
        ({"storage": None}, 1),
        ({"read": 99}, 0),
    ],
)
def test_silence_where_a_table_of_texts_would_save_little(changes: dict[str, Any], found: int) -> None:
    assert len(run_rule(rule, _repeating(2_000_000, ABOUT, **changes)).findings) == found


@pytest.mark.parametrize(
    ("column", "severity"),
    [("uuid_ts", "note"), ("_fivetran_synced", "note"), ("loaded_at", "warning")],
)
def test_what_a_product_repeats_in_tables_that_it_loads_is_a_note(column: str, severity: str) -> None:
    """Who reads it can change neither the columns nor the loader; a load of one's own can be changed."""
    fields = (a_field("about", "jsonb"), a_field("site", "text"), a_field(column, "timestamptz"))
    (finding,) = run_rule(rule, _repeating(2_000_000, ABOUT, fields=fields)).findings
    assert finding.severity == severity
    assert ("fixes its columns" in finding.severity_reason) is (severity == "note")


@pytest.mark.parametrize(("rows", "found"), [(400, 0), (550, 1)])
def test_silence_where_the_whole_table_takes_hardly_a_page(rows: int, found: int) -> None:
    closed = _repeating(rows, ABOUT, last_time=NOW - timedelta(days=8), storage=None)
    assert len(run_rule(rule, closed).findings) == found


def test_subject_is_the_same_whichever_column_the_sample_shows_as_the_largest() -> None:
    read = [RepeatedColumns(dict.fromkeys(names, "text"), 24) for names in (("site", "about"), ("about", "site"))]
    subjects = {run_rule(rule, _repeating(2_000_000, group)).findings[0].subject for group in read}
    assert [subject.column for subject in subjects] == ["about"]


_SAVED = """INSERT INTO versions
  SELECT TIMESTAMP '2026-03-20' + i * INTERVAL '1 min', i % 90, before,
    CASE WHEN i % {changed} = 0 THEN before || ' ' ELSE before END
  FROM (SELECT i, '{{"title": "' || md5(i::TEXT) || '", "body": "' || md5(i::TEXT || 'b') || '"}}' AS before
    FROM generate_series(1, 9000) AS i) AS written"""


@pytest.mark.parametrize(("changed", "found"), [(100, 1), (10, 0)])
def test_what_was_before_is_the_same_as_what_came_after(postgresql: Postgresql, changed: int, found: int) -> None:
    """A program that logs what it saves, changed or not: an expert would not store the same document twice."""
    columns = "at TIMESTAMP, page INT, before TEXT, after TEXT"
    schema = postgresql.new_schema(f"CREATE TABLE versions ({columns})", _SAVED.format(changed=changed))
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    findings = run_rule(rule, collected(target)).findings
    assert len(findings) == found
    for finding in findings:
        assert finding.subject.column == "after"
        assert finding.message == (
            "after is the same as before in 99% of 9,000 rows read: 89.1 bytes a row, 39% of the table."
        )


def test_ids_are_references_and_of_equal_texts_each_but_one_is_a_copy(tmp_path: Path) -> None:
    """A workflow engine's history: each activity has the IDs of its process and of the root process, which are the same
    without subprocesses, and that of its definition. The title of the process, in two copies, is what repeats.
    """
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as connection:
        ids = "id_ TEXT, proc_inst_id_ TEXT, root_proc_inst_id_ TEXT, proc_def_id_ TEXT"
        connection.execute(
            f"CREATE TABLE activity (at TEXT, {ids}, owner TEXT, title TEXT, subject TEXT, caption TEXT)"
        )
        rows = []
        for i in range(3_000):
            process, one = f"process-{i:08}-4f5c-9c7d-0242ac120002", f"invoice {i} of the northern works, to be paid"
            definition = (
                f"invoice:{i % 13}:6f0c5c51-7d0e-11ee-b962-0242ac120002",
                f"the owner of {i % 13} in accounts",
            )
            at = f"{NOW - timedelta(minutes=i):%F %T}"
            rows.append((at, f"activity-{i:08}", process, process, *definition, one, one, one))
        connection.executemany("INSERT INTO activity VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
    connection.close()
    (measurement,) = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{path}")).measurements
    read = measurement.row_bytes
    assert read is not None
    assert [(one.column, one.other) for one in read.equal] == [("subject", "title"), ("caption", "title")]
    (group,) = read.repeated
    assert set(group.columns) == {"proc_def_id_", "owner"}

    def findings(**changes: Any) -> list[Finding]:
        changed = replace(measurement, row_bytes=replace(read, equal=(), **changes))
        return list(run_rule(rule, a_profile(changed, engine="sqlite")).findings)

    assert not findings(repeated=(RepeatedColumns({"proc_def_id_": "TEXT"}, 13, ("proc_def_id_",)),))
    (found,) = findings(columns={**read.columns, "owner": 60.0})
    assert found.message.startswith("Each row repeats owner, the same for each of 13 values of proc_def_id_, in")
    assert '"activity_owner" ("proc_def_id_" TEXT PRIMARY KEY, "owner" TEXT)`' in found.fix


def test_groups_of_columns_are_reported_apart() -> None:
    apart = [RepeatedColumns({name: "text"}, 3) for name in ("about", "site")]
    (finding,) = run_rule(rule, _repeating(2_000_000, *apart)).findings
    assert finding.message.startswith("Each row repeats about, 3 distinct values in 10,000 rows read: 38 bytes a row")
    (constant,) = run_rule(rule, _repeating(2_000_000, RepeatedColumns({"about": "text"}, 1))).findings
    assert constant.fix.startswith("All rows read have the same: stop writing it")


@pytest.mark.parametrize(
    ("groups", "row_bytes", "severities"),
    [
        # 400 MB each, together 1.2 GB of 2 GB.
        (3, 200, ["warning"] * 3),
        # Each is less than a fifth of the table, all of them are not, but for a wider one.
        (3, 500, ["warning"] * 3),
        (3, 1_000, ["note"] * 3),
        (1, 1_000, []),
        (2, 1_000, ["note"] * 2),
        # None is a large part of what all of them cost; so many that are alike are one finding.
        (12, 1_000, ["warning"]),
    ],
)
def test_what_groups_of_columns_repeat_is_one_cost(groups: int, row_bytes: int, severities: list[str]) -> None:
    names, rows = [f"text{n:02}" for n in range(groups)], 10_000_000
    repeated = tuple(RepeatedColumns({name: "text"}, 3) for name in names)
    closed = _repeating(
        rows,
        row_bytes=RowBytes(dict.fromkeys(names, 44.0), repeated, 10_000, a_source()),
        storage=Storage(rows * row_bytes, 0),
        last_time=NOW - timedelta(days=8),
    )
    found = run_rule(rule, closed).findings
    assert [finding.severity for finding in found] == severities


def test_a_short_name_stays_that_the_others_depend_on() -> None:
    columns = {"about": "text", "site": "text"}
    (finding,) = run_rule(rule, _repeating(2_000_000, RepeatedColumns(columns, 24, ("about", "site")))).findings
    assert finding.impact is not None
    assert finding.impact.now == (2_000_000 - 24) * 38
    assert finding.message.startswith(
        "Each row repeats about, the same for each of 24 values of site, in 10,000 rows read: 38 bytes a row"
    )
    assert '("site" text PRIMARY KEY, "about" text)`.' in finding.fix
    assert "and only site in cpu: `" in finding.fix
    # A long one is no name.
    (finding,) = run_rule(rule, _repeating(2_000_000, RepeatedColumns(columns, 24, ("about",)))).findings
    assert finding.message.startswith("Each row repeats about and site, 24 combinations")


def test_parts_whose_names_differ_only_in_what_joins_them_get_columns_of_their_own() -> None:
    kinds = dict.fromkeys(("doc.a.b", "doc.a_b", "doc.A_b", "doc_a_b"), "text")
    columns, parts = {"doc": 900.0, "doc_a_b": 80.0}, dict.fromkeys(("doc.a.b", "doc.a_b", "doc.A_b"), 200.0)
    read = RowBytes(columns, (RepeatedColumns(kinds, 24),), 10_000, a_source(), parts)
    (finding,) = run_rule(rule, _repeating(2_000_000, row_bytes=read)).findings
    assert (
        '("id" INTEGER PRIMARY KEY, "doc_a_b_" text, "doc_a_b__" text, "doc_A_b___" text, "doc_a_b" text)`.'
    ) in finding.fix


def test_columns_that_depend_on_each_other() -> None:
    rows = np.arange(1000)
    codes = {"model": rows % 10, "device": rows % 20, "own": rows, "constant": rows * 0, "other": rows // 34}
    found = list(repeated_together(codes, len(rows)))
    assert [(one.names, one.combinations, one.keys) for one in found] == [
        (("model", "device"), 20, ("device",)),
        (("constant",), 1, ("constant",)),
        (("other",), 30, ("other",)),
    ]


TAGS = """'{"site": "north", "model": "pump ' || i % 24 || '", "of": "' || repeat('x', 80) || '"}'"""


def test_documents_when_read_from_postgresql(postgresql: Postgresql) -> None:
    """Of any type, also of those without equality; not what differs beyond what is read, or is short."""
    schema = new_name()
    with postgresql.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        connection.execute(
            "CREATE TABLE message (at TIMESTAMPTZ, j JSON, b JSONB, a TEXT[], x TEXT, host TEXT, v FLOAT, long TEXT)"
        )
        connection.execute(
            "INSERT INTO message SELECT TIMESTAMPTZ '2026-03-30 06:00+00' + i * INTERVAL '40 s', "
            f"CAST({TAGS} AS JSON), CAST({TAGS} AS JSONB), ARRAY['pump ' || i % 24, repeat('y', 60)], "
            "md5(CAST(i AS TEXT)), 'h' || i % 24, i / 7.0, repeat('z', 1200) || i FROM generate_series(1, 2000) AS i"
        )
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute("ANALYZE message")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO tsaudit")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit")
    profile = collected(Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,)))
    (read,) = [m.row_bytes for m in profile.measurements]
    assert read is not None
    assert [(set(group.columns), group.combinations) for group in read.repeated] == [({"j", "b", "a"}, 24)]
    assert 100 < read.columns["j"] < 140
    assert read.columns["v"] == 8
    (finding,) = run_rule(rule, profile).findings
    assert finding.impact is not None
    assert 300 * 2000 < finding.impact.now < 450 * 2000
    assert finding.impact.share is not None


RANDOM = "(SELECT string_agg(md5('{name}' || {of} || '.' || n), '') FROM generate_series(1, {count}) AS n)"
"""Text that hardly compresses."""


def test_parts_of_documents_that_postgresql_stores_outside_of_the_row(postgresql: Postgresql) -> None:
    """Each alarm has its own ID and reading, and repeats the plan for its kind: 2.6 of about 2.7 kB. In the row there
    are 18 bytes of it. A manual of 2.9 kB comes with each, too, as a column, and nothing else is worth a word.
    """
    plan = RANDOM.format(name="plan", of="i % 8", count=80)
    schema = new_name()
    with postgresql.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"SET search_path = {schema}")
        connection.execute("CREATE TABLE alarm (at TIMESTAMPTZ, kind TEXT, doc JSONB, manual TEXT)")
        connection.execute(
            "INSERT INTO alarm SELECT TIMESTAMPTZ '2026-03-30 06:00+00' + i * INTERVAL '40 s', 'kind ' || i % 8, "
            f"jsonb_build_object('id', md5(CAST(i AS TEXT)), 'reading', i / 7.0, 'state', 'on', 'plan', {plan}), "
            f"{RANDOM.format(name='manual', of='i % 5', count=90)} FROM generate_series(1, 2000) AS i"
        )
        connection.execute("SELECT pg_stat_force_next_flush()")
        connection.execute("ANALYZE alarm")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO tsaudit")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit")
        true = connection.execute("SELECT avg(pg_column_size(doc)), avg(pg_column_size(manual)) FROM alarm").fetchone()
    profile = collected(Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,)))
    (alarm,) = profile.measurements
    assert alarm.row_bytes is not None
    assert true is not None
    assert alarm.status is not None
    assert alarm.status.widths["doc"] < 20, "what PostgreSQL's statistics say"
    assert [alarm.row_bytes.columns[name] for name in ("doc", "manual")] == pytest.approx([*map(float, true)], rel=0.02)
    assert alarm.row_bytes.parts == {"doc.plan": pytest.approx(float(true[0]) * 0.96, rel=0.03)}
    plan_, manual = sorted(run_rule(rule, profile).findings, key=lambda one: one.subject.column or "")
    assert plan_.message.startswith("Each row repeats doc.plan, the same for each of 8 values of kind, in 1,")
    assert '."alarm_doc_plan" ("kind" text PRIMARY KEY, "doc_plan" jsonb)`.' in plan_.fix
    assert '`CREATE TABLE "' + plan_.subject.database in plan_.fix
    assert plan_.impact is not None
    assert plan_.impact.now == pytest.approx(2000 * 2600, rel=0.05)
    assert re.match("Each row repeats manual, 5 distinct values in 1,... rows read: 2,8.. bytes a row", manual.message)


def test_parts_of_documents_when_read_from_sqlite(tmp_path: Path) -> None:
    """Within an envelope that differs; not a state of a few letters, and not a list."""
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE log (at TEXT, body TEXT)")
        of = [{"model": f"m{i}", "firmware": f"{i}" * 40, "site": "works " * 10} for i in range(6)]
        rows = [
            (
                f"2026-03-30 {i // 60:02}:{i % 60:02}:00",
                json.dumps({"nr": i, "event": {"nr": i, "device": of[i % 6], "state": "on"}, "steps": [i, "x" * 90]}),
            )
            for i in range(600)
        ]
        connection.executemany("INSERT INTO log VALUES (?, ?)", rows)
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    (finding,) = run_rule(rule, profile).findings
    assert finding.message.startswith("Each row repeats body.event.device, 6 distinct values in 600 rows read: 14")
    assert '"body_event_device" TEXT' in finding.fix
    assert "Leave that part out of the documents" in finding.fix


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"state": "on", "unit": "kWh", "mode": "auto", "by": "pump"}, id="short attributes"),
        pytest.param({}, id="nothing"),
    ],
)
def test_silence_about_documents_of_which_little_repeats(tmp_path: Path, body: dict[str, str]) -> None:
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE log (at TEXT, body TEXT)")
        connection.executemany(
            "INSERT INTO log VALUES (?, ?)",
            (
                (f"2026-03-30 {i // 60:02}:{i % 60:02}:00", json.dumps({"nr": i, "text": f"{i:0150}", **body}))
                for i in range(600)
            ),
        )
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    assert not run_rule(rule, profile).findings


def test_texts_when_read_from_sqlite(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "t.db")
    connection.execute("CREATE TABLE log (at TEXT, about, unit TEXT, note TEXT)")
    rows = [
        (f"2026-03-30 {i // 60:02}:{i % 60:02}:00", json.dumps({"site": "n" * 60, "of": i % 3}), "kWh", f"note {i}")
        for i in range(600)
    ]
    connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?)", rows)
    connection.commit()
    connection.close()
    (finding,) = run_rule(rule, collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))).findings
    assert finding.message.startswith("Each row repeats about, 3 distinct values in 600 rows read: 82 bytes a row")
    assert '"about" TEXT' in finding.fix


def test_what_older_rows_repeat_counts_and_constants_are_one_finding(tmp_path: Path) -> None:
    path, rows, texts = tmp_path / "pumps.db", 40_000, ("made by the northern works in 2019", "no maintenance is due")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE pumps (at TEXT, pump TEXT, flow REAL, origin TEXT, remark TEXT)")
        made = ((f"{NOW - timedelta(minutes=3 * i):%F %T}", f"p{i % 7}", i / 7, *texts) for i in range(rows))
        connection.executemany("INSERT INTO pumps VALUES (?, ?, ?, ?, ?)", made)
    connection.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{path}"))
    (measurement,) = profile.measurements
    assert measurement.rows is not None
    assert measurement.rows.value < rows
    assert measurement.rows_total is not None
    assert measurement.rows_total.value == rows
    (finding,) = run_rule(rule, profile).findings
    assert finding.message.startswith("Each row repeats origin and remark, 1 combination in")
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(rows * sum(len(text) for text in texts), rel=0.1)


COURIERS = "SELECT 'courier ' || (i % 60) AS courier, 'depot of the northern district, number ' || ({depot}) AS depot"
"""Parcels by courier. Those loaded first, twice as many as are read, have one depot for each courier."""
TRUE, ONLY_FIRST = "i % 60 / 2", "CASE WHEN i < 20000 THEN i % 60 / 2 ELSE i END"


@pytest.mark.parametrize(("depot", "found"), [(TRUE, 1), (ONLY_FIRST, 0)])
def test_a_dependency_of_the_first_rows_has_to_hold_in_all_parts_of_the_table(
    depot: str, found: int, postgresql: Postgresql, tmp_path: Path
) -> None:
    schema, rows = new_name(), COURIERS.format(depot=depot)
    with postgresql.connect() as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.parcel AS {rows} FROM generate_series(0, 59999) AS i")
        connection.execute(f"ANALYZE {schema}.parcel")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO tsaudit")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit")
    with sqlite3.connect(tmp_path / "t.db") as file:
        numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59999)"
        file.execute(f"CREATE TABLE parcel AS {numbers} {rows} FROM n")
    file.close()
    for target in (
        Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,)),
        Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"),
    ):
        profile = collected(target)
        assert [m.name for m in profile.measurements] == ["parcel"]
        findings = run_rule(rule, profile).findings
        assert len(findings) == found, target.engine
        if found:
            assert "the same for each of 60 values of courier" in findings[0].message
            assert findings[0].source is not None
            assert "rows from all parts of the table" in findings[0].source.scope


def test_no_dependency_where_all_parts_cannot_be_read(tmp_path: Path) -> None:
    """Without row numbers, only the first rows in the order of the key are known."""
    with sqlite3.connect(tmp_path / "t.db") as file:
        file.execute("CREATE TABLE parcel (id INTEGER PRIMARY KEY, courier TEXT, depot TEXT) WITHOUT ROWID")
        depots = (i % 60 // 2 for i in range(30_000))
        made = ((i, f"courier {i % 60}", f"depot of the northern district, number {d}") for i, d in enumerate(depots))
        file.executemany("INSERT INTO parcel VALUES (?, ?, ?)", made)
    file.close()
    profile = collected(Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db"))
    assert (run_rule(rule, profile).outcome, profile.gaps) == (Outcome.PASS, ())


def _shipments(path: Path, rows: int) -> Target:
    """A table in which each row repeats its carrier, and one without texts."""
    with sqlite3.connect(path) as file:
        file.execute("CREATE TABLE shipment (at TEXT, carrier TEXT, kilos REAL)")
        times = (f"{NOW - timedelta(minutes=i + 1):%F %T}" for i in range(rows))
        made = ((at, f"{i % 4}. carrier of the northern coast", i / 9) for i, at in enumerate(times))
        file.executemany("INSERT INTO shipment VALUES (?, ?, ?)", made)
        file.execute("CREATE TABLE tide AS SELECT at, kilos AS height FROM shipment")
    file.close()
    return Target(name="t", engine="sqlite", url=f"sqlite:///{path}")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (FactError(Reason.TIMED_OUT, "no response within 3 s"), Reason.TIMED_OUT),
        # Too few show nothing, and more than expected are those of the beginning.
        (ENOUGH - 1, None),
        (10**6, None),
    ],
)
def test_not_evaluated_where_all_parts_were_not_read(
    answer: FactError | int, reason: Reason | None, tmp_path: Path
) -> None:
    def tampering(fact: str, given: Mapping[str, Any]) -> Rows | None:
        if fact != "row_sample" or not given["partial_scan"]:
            return None
        if isinstance(answer, FactError):
            raise answer
        columns = {"at": pa.array([f"{NOW:%F %T}"]), "carrier": pa.array(["a carrier"])}
        return Rows("SELECT", iter([pa.record_batch({k: v.take([0] * answer) for k, v in columns.items()})]))

    profile = collected_with(_shipments(tmp_path / "t.db", 3_000), tampering)
    expected = [("repeated_columns", "shipment", reason)] if reason else []
    assert [(gap.fact, gap.measurement, gap.reason) for gap in profile.gaps] == expected
    results = evaluate(profile).results
    assert {result.code for result in results if result.gaps} == ({"FLD005"} if reason else set())
    found = {result.outcome for result in results if result.code == "FLD005"}
    assert found == {Outcome.OPEN if reason else Outcome.PASS}


def test_no_gap_where_there_are_too_few_rows_to_show_anything(tmp_path: Path) -> None:
    profile = collected(_shipments(tmp_path / "t.db", ENOUGH - 1))
    assert (run_rule(rule, profile).outcome, profile.gaps) == (Outcome.PASS, ())


def test_a_value_that_is_only_in_one_place_is_no_key() -> None:
    """Of pages, each has many rows of one value: other pages may have the value with others."""
    apart, together = np.arange(2000) % 20, np.arange(2000) // 100
    columns = {
        name: ReadColumn(pa.chunked_array([[f"{name} of {c}" for c in codes.tolist()]]))
        for name, codes in {"apart": apart, "also": apart, "batch": together, "made": together}.items()
    }
    texts, widths = dict.fromkeys(columns, "text"), dict.fromkeys(columns, 20.0)
    found = repeated_columns(columns, texts, widths, 1000, by_page=True)
    assert [(set(one.columns), one.keys) for one in found] == [
        ({"apart", "also"}, ("apart", "also")),
        ({"batch", "made"}, ()),
    ]


def test_what_copies_repeat_is_left_to_their_finding() -> None:
    copies = Copies(10_000, 5_000, 5_000, NOW - timedelta(days=1), NOW, (), a_source())
    (finding,) = run_rule(rule, _repeating(4_000_000, ABOUT, copies=copies)).findings
    assert finding.impact is not None
    assert finding.impact.now == (2_000_000 - 24) * 44
    assert finding.severity == "warning"
    wrong = Impact(Currency.ANSWERS, how="rows read", consequence="Sums are too high.")
    again = dataclasses.replace(finding, impact=wrong)
    assert worst_first("LAY009", again, finding.severity) < worst_first("FLD005", finding)


def test_texts_that_rows_have_begun_to_repeat() -> None:
    """They cost what the rows to come will have, which are as the newest ones, and not as all on average."""
    columns, only = {"time": 8.0, "about": 4.0}, RepeatedColumns({"about": "jsonb"}, 24)
    since = LargerColumn("about", 0.0, 80.0, NOW - timedelta(days=1.5), is_confirmed=True)
    before, now = (
        RowBytes(columns, (only,), 10_000, a_source(), larger=(replace(since, is_confirmed=is_confirmed),))
        for is_confirmed in (False, True)
    )
    assert not run_rule(rule, _repeating(2_000_000, row_bytes=before)).findings
    (finding,) = run_rule(rule, _repeating(2_000_000, row_bytes=now)).findings
    assert finding.severity == "warning"
    assert finding.impact is not None
    # A reference takes as much as there was of it on average.
    assert finding.impact.now == 0
    assert finding.impact.per_day == pytest.approx(2_000_000 / 30 * 76, rel=0.02)
    assert finding.impact.added_share == pytest.approx(76 / (88 + 12 + 76))
    assert "80 bytes a row by now, 43% of what is added, and 0% of the table." in finding.message


BEGUN = """INSERT INTO jobs
  SELECT CAST('2026-03-10' AS TIMESTAMP) + i * INTERVAL '30 s', i % 90, i / 7.0,
    CASE WHEN i > 51000 THEN '{"site": "' || repeat(CAST(i % 5 AS TEXT), 400) || '"}' END
  FROM generate_series(1, 57600) AS i"""


def test_a_column_of_the_newest_rows_when_read_from_postgresql(postgresql: Postgresql) -> None:
    """A deploy two days before the end of twenty: the server's statistics are about the rows before it, too."""
    schema = postgresql.new_schema(
        "CREATE TABLE jobs (at TIMESTAMP, job INT, took FLOAT, context TEXT)", BEGUN, "ANALYZE jobs"
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    _begun(target, of_all=6600 / 57600, within=0.5)


def test_a_column_of_the_newest_rows_when_read_from_sqlite(tmp_path: Path) -> None:
    """Its sizes are those of the rows read, which are the newest ones."""
    with sqlite3.connect(tmp_path / "t.db") as connection:
        connection.execute("CREATE TABLE jobs (at TEXT, job INT, took FLOAT, context TEXT)")
        made = (
            (
                f"{NOW - timedelta(seconds=30 * (57_600 - i)):%F %T}",
                i % 90,
                i / 7.0,
                f'{{"site": "{str(i % 5) * 400}"}}' if i > 42_000 else None,
            )
            for i in range(57_600)
        )
        connection.executemany("INSERT INTO jobs VALUES (?, ?, ?, ?)", made)
    connection.close()
    target = Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path}/t.db")
    _begun(target, of_all=15_600 / 57_600, within=0.15)


def _begun(target: Target, of_all: float, within: float) -> None:
    """`within`: whole pages of the table are read, chosen at random."""
    (jobs,) = (profile := audited_twice(target)).measurements
    assert jobs.row_bytes is not None
    assert jobs.row_bytes.columns["context"] == pytest.approx(412 * of_all, rel=0.15)
    assert jobs.row_bytes.newest("context") == pytest.approx(412, rel=within)
    (finding,) = run_rule(rule, profile).findings
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(2880 * 408, rel=within)
