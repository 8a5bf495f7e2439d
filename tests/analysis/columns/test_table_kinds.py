"""Which kind of rows a table has: schemas of several trades, and what the user decides."""

from __future__ import annotations

import random
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.engines.sql.kinds import schemas
from tests.engines.sql.kinds.making import Schema, text
from tests.servers import Postgresql
from tsaudit.analysis.columns.columns import Column
from tsaudit.analysis.columns.table_kinds import KindEvidence, Seen, decide, ids_of_rows, never_source
from tsaudit.collect.roles import NOT_CLASSIFIED
from tsaudit.config.settings import Columns, Target
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import TableKind
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile


def profile_of(schema: Schema, folder: Path, **settings: Any) -> Profile:
    path = folder / f"{schema.name}.db"
    connection = sqlite3.connect(path)
    with connection:
        for statement in schema.statements:
            connection.execute(statement)
        for table, rows in schema.rows.items():
            if rows:
                connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.close()
    return collected(Target(name="t", engine="sqlite", url=f"sqlite:///{path}", **settings), now=NOW)


@pytest.mark.parametrize("schema", schemas.SCHEMAS, ids=lambda schema: schema.name)
def test_kinds_and_sources_of_every_table(schema: Schema, tmp_path: Path) -> None:
    profile = profile_of(schema, tmp_path)
    found = {m.name: (m.kind, m.kind_reason) for m in profile.measurements}
    wrong = {name: said for name, said in found.items() if said[0] not in schema.expected(name)}
    assert wrong == {}
    assert all(reason for _, reason in found.values())
    tags = {m.name: {t.key for t in m.tags} for m in profile.measurements if m.tags or m.name in schema.tags}
    # What has no series has no tags either.
    series = {name for name, (kind, _) in found.items() if kind and kind.has_series}
    assert {name: keys for name, keys in tags.items() if name in schema.tags or name not in series} == schema.tags


def test_table_without_series_is_not_judged_as_series_and_says_so(tmp_path: Path) -> None:
    result = evaluate(profile_of(next(s for s in schemas.SCHEMAS if s.name == "forum"), tmp_path))
    (ids,) = (r for r in result.results if r.code == "TAG002")
    assert ids.outcome is Outcome.NOT_APPLICABLE
    assert ids.reason.startswith("there are only ")
    assert "topics" in ids.reason
    (types,) = (r for r in result.results if r.code == "FLD002")
    assert types.outcome is not Outcome.NOT_APPLICABLE
    (few,) = (
        r
        for r in evaluate(profile_of(next(s for s in schemas.SCHEMAS if s.name == "sensors"), tmp_path)).results
        if r.code == "TAG002"
    )
    assert few.outcome is Outcome.PASS
    assert "alarms" in few.not_evaluated
    assert "readings" not in few.not_evaluated


def test_kind_by_configuration(tmp_path: Path) -> None:
    forum = next(s for s in schemas.SCHEMAS if s.name == "forum")
    chosen = {"topics": Columns(kind=TableKind.SERIES), "votes": Columns(tags=("user_id",))}
    found = {m.name: m for m in profile_of(forum, tmp_path, columns=chosen).measurements}
    assert (found["topics"].kind, found["topics"].kind_reason) == (TableKind.SERIES, "set in tsaudit.yaml")
    assert found["topics"].series is not None
    # Who names tags says that there are series.
    assert found["votes"].kind is TableKind.SERIES
    assert "user_id" in {t.key for t in found["votes"].tags}
    assert found["posts"].series is None
    assert found["posts"].tags == ()


@pytest.mark.parametrize(
    ("ended", "update", "expected"),
    [
        pytest.param("ended", "", TableKind.EVENTS, id="written when it had ended"),
        pytest.param(
            "ended", "UPDATE run SET ended = ended + INTERVAL '1 s' WHERE id < 90", TableKind.ENTITY, id="later"
        ),
        # As of the tables that are copied each night.
        pytest.param("updated", "", TableKind.ENTITY, id="changed where it was copied from"),
        pytest.param("CASE WHEN id % 9 > 0 THEN ended END", "", TableKind.ENTITY, id="not yet ended there"),
    ],
)
def test_rows_with_an_end_are_events_if_the_server_has_updated_none(
    postgresql: Postgresql, ended: str, update: str, expected: TableKind
) -> None:
    """A log of test runs, each written once, with its begin and its end."""
    name = "updated" if ended == "updated" else "ended"
    taken = f"at + (5 + 40 * random()) * INTERVAL '1 s' AS {name}"
    schema = postgresql.new_schema(
        f"CREATE TABLE run (id BIGINT PRIMARY KEY, at TIMESTAMPTZ NOT NULL, {name} TIMESTAMPTZ, suite TEXT, log TEXT)",
        f"INSERT INTO run SELECT id, at, {ended}, 'suite ' || id % 7, md5(random()::TEXT) || ' passed' "
        f"FROM (SELECT id, at, {taken} FROM (SELECT id, TIMESTAMPTZ '2026-03-30 06:00+00' + id * INTERVAL '99 s' AS at "
        "FROM generate_series(1, 900) AS id) AS of_id) AS of_run",
        *([update] if update else []),
        "ANALYZE run",
        "SELECT pg_stat_force_next_flush()",
    )
    (run,) = collected(
        Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,)), now=NOW
    ).measurements
    assert run.time_column == "at"
    assert run.kind is expected, run.kind_reason
    said = "each row has a begin and an end (ended)" if expected is TableKind.EVENTS else f"rows change later ({name})"
    assert said in run.kind_reason


def test_kind_is_kept_from_the_day_before_if_the_evidence_is_close() -> None:
    columns = (Column("ts", "TIMESTAMP"), Column("who", "TEXT"), Column("v", "REAL"))
    seen = {"who": Seen(3, is_text=True), "v": Seen(is_measure=True)}
    close = KindEvidence(columns, "ts", seen=seen, rows=900, coverage=0.4)
    assert decide(close)[0] is TableKind.SERIES  # type: ignore[index]
    assert decide(close, TableKind.EVENTS)[0] is TableKind.EVENTS  # type: ignore[index]
    clear = KindEvidence(columns, "ts", seen=seen, rows=900, coverage=1.0, regular_share=1.0)
    assert decide(clear, TableKind.EVENTS)[0] is TableKind.SERIES  # type: ignore[index]


@pytest.mark.parametrize(
    ("name", "changes", "is_of_row"),
    [
        ("uid", {"is_random": True, "distinct": 1_000}, True),
        ("ID", {"distinct": 960}, True),
        ("trade", {"distinct": 1_000}, False),
        ("uid", {"is_random": True, "distinct": 940}, False),
        ("request_id", {"is_random": True, "distinct": 1_000}, False),
    ],
)
def test_id_that_differs_in_nearly_all_rows_is_no_source(name: str, changes: dict[str, Any], is_of_row: bool) -> None:
    columns = [Column("ts", "TIMESTAMP"), Column(name, "VARCHAR"), Column("value", "DOUBLE")]
    seen = {name: Seen(is_text=True, **changes), "value": Seen(is_measure=True)}
    assert (name in never_source(KindEvidence(columns, "ts", seen=seen, rows=1_000))) == is_of_row
    assert name not in never_source(KindEvidence(columns, "ts", seen=seen, rows=999)), "too few rows"


def _made(name: str, statement: str, rows: list[tuple[Any, ...]]) -> Schema:
    return Schema(name, (statement,), {name: rows}, {})


def _at(minutes: float) -> str:
    return text(NOW - timedelta(minutes=minutes)) or ""


def test_table_that_is_not_classified_gets_no_rule_about_tags(tmp_path: Path) -> None:
    few = _made("few", "CREATE TABLE few (at DATETIME, host TEXT, n INTEGER)", [(_at(i), f"h{i}", i) for i in range(9)])
    profile = profile_of(few, tmp_path)
    (table,) = profile.measurements
    assert (table.kind, table.tags, table.series) == (TableKind.OTHER, (), None)
    assert "could not classify" in table.kind_reason
    result = evaluate(profile)
    assert list(result.findings()) == []
    outcomes = {r.code: r.outcome for r in result.results}
    skipped = {code for code, outcome in outcomes.items() if outcome is Outcome.NOT_APPLICABLE}
    assert {"CAR001", "TAG002"} <= skipped
    # An index costs the same whatever the rows are.
    assert outcomes["STO001"] is Outcome.PASS


def test_emptied_table_is_what_it_was(tmp_path: Path) -> None:
    """Nothing was read that would say otherwise; a row that says nothing does not keep yesterday's kind."""
    statement = "CREATE TABLE jobs (at DATETIME, title TEXT, state TEXT, n INTEGER)"
    rows = [(_at(i * i / 9), f"job {i}", "done", i) for i in range(300)]
    before = profile_of(_made("jobs", statement, rows), tmp_path)
    (full,) = before.measurements
    assert full.kind is not None
    assert not full.kind.has_series
    target = Target(name="t", engine="sqlite", url=f"sqlite:///{tmp_path / 'jobs.db'}")
    for change, expected in (
        ("DELETE FROM jobs", (full.kind, full.kind_reason)),
        (f"INSERT INTO jobs VALUES ('{_at(1)}', 'x', 'y', 1)", (TableKind.OTHER, NOT_CLASSIFIED)),
    ):
        with sqlite3.connect(tmp_path / "jobs.db") as connection:
            connection.execute(change)
        (now,) = collected(target, now=NOW, previous=before).measurements
        assert (now.kind, now.kind_reason) == expected


def test_unread_table_is_not_taken_for_an_unclassified_one(tmp_path: Path) -> None:
    (table,) = profile_of(_made("none", "CREATE TABLE none (at DATETIME, host TEXT)", []), tmp_path).measurements
    assert table.kind is None


def test_numbers_that_partitions_force_into_the_key_name_no_source() -> None:
    columns = (Column("id", "BIGINT", 1), Column("at", "TIMESTAMP", 2), Column("host", "TEXT"), Column("v", "REAL"))
    seen = {
        "id": Seen(2_000, is_integer=True, is_unique=True),
        "host": Seen(5, is_text=True),
        "v": Seen(is_measure=True),
    }
    of_rows = ids_of_rows(("id", "at"), "at", seen, 2_000)
    assert of_rows == {"id"}
    assert ids_of_rows(("id", "at"), "at", seen, 999) == frozenset(), "too few rows"
    assert ids_of_rows(("id", "at", "host"), "at", seen, 2_000) == frozenset(), "the others are the key"
    evidence = KindEvidence(columns, "at", seen=seen, rows=2_000, sequences=of_rows, coverage=1.0, regular_share=1.0)
    decided = decide(evidence)
    assert decided is not None
    assert decided[0] is TableKind.SERIES
    assert "key" not in decided[1]


@pytest.mark.parametrize("is_empty", [True, False])
def test_empty_table_is_not_said_to_have_no_time(is_empty: bool, tmp_path: Path) -> None:
    """Only rows show that numbers are times."""
    rows = [] if is_empty else [(n, f"switch-{n}", n % 7 / 3) for n in range(9)]
    table = "CREATE TABLE alarms (alarm_id INTEGER PRIMARY KEY, source TEXT, raised REAL)"
    profile = profile_of(Schema("alarms", (table,), {"alarms": rows}, {"alarms": "reference"}), tmp_path)
    (reason,) = {m.kind_reason for m in profile.measurements}
    assert ("without a time" in reason) is not is_empty
    assert ("no row was read that shows a time" in reason) is is_empty


def test_reviews_by_the_time_as_their_number_are_events() -> None:
    """The layout of Anki."""
    columns = (Column("id", "INTEGER", 1), Column("cid", "INTEGER"), Column("ivl", "INTEGER"))
    seen = {"cid": Seen(900, is_integer=True), "ivl": Seen(300, is_integer=True, is_measure=True)}
    logged = decide(KindEvidence(columns, "id", seen=seen, rows=6_000, coverage=0.9, regular_share=0.0))
    assert logged is not None
    assert logged[0] is TableKind.EVENTS
    station = decide(KindEvidence((columns[0], columns[2]), "id", seen={"ivl": seen["ivl"]}, rows=6_000))
    assert station is not None
    assert station[0] is TableKind.SERIES, "the only source"


def test_word_alone_makes_no_log() -> None:
    columns = (Column("at", "TIMESTAMP"), Column("host", "TEXT"), Column("event", "TEXT"), Column("v", "REAL"))
    seen = {"host": Seen(5, is_text=True), "event": Seen(4, is_text=True), "v": Seen(is_measure=True)}
    decided = decide(KindEvidence(columns, "at", seen=seen, rows=2_000, coverage=1.0))
    assert decided is not None
    assert decided[0] is TableKind.SERIES


def test_readings_by_name_are_values_by_attribute(tmp_path: Path) -> None:
    """The layout of FHEM: numbers and texts in one column, and a text that repeats each row."""
    rows: list[tuple[Any, ...]] = []
    for minute in range(2_000):
        value = f"{20 + minute % 37 / 10}"
        rows.append((_at(minute), f"Thermostat_{minute % 8}", f"temperature: {value}", "temperature", value))
        if minute % 3 == 0:
            rows.append((_at(minute), f"Thermostat_{minute % 8}", "battery: ok", "battery", "ok"))
    statement = "CREATE TABLE history (TIMESTAMP TIMESTAMP, DEVICE TEXT, EVENT TEXT, READING TEXT, VALUE TEXT)"
    profile = profile_of(_made("history", statement, rows), tmp_path)
    (table,) = profile.measurements
    assert table.kind is TableKind.ATTRIBUTE_VALUE
    assert [field.key for field in table.fields] == ["VALUE"]
    (found,) = (finding for result, finding in evaluate(profile).findings() if result.code == "FLD002")
    assert "by READING, its values are numbers (temperature) or texts (battery)" in found.message


@pytest.mark.parametrize(("column", "kind"), [("pump", TableKind.OTHER), ("pump_id", TableKind.OTHER), ("code", None)])
def test_one_row_for_each_row_of_another_table_is_no_series(
    column: str, kind: TableKind | None, tmp_path: Path
) -> None:
    """Limits that were set one after the other, whose only ID of a thing is that of another table."""
    noise = random.Random(3)
    rows = [(str(NOW - timedelta(hours=3 * n + 1)), f"{noise.getrandbits(60):015x}", n / 7) for n in range(120)]
    statements = (
        "CREATE TABLE pumps (id TEXT PRIMARY KEY, maker TEXT)",
        f"CREATE TABLE bounds (created TEXT, {column} TEXT, highest REAL)",
    )
    schema = Schema("limits", statements, {"bounds": rows, "pumps": [(row[1], "acme") for row in rows]}, {}, {})
    (found,) = (m for m in profile_of(schema, tmp_path).measurements if m.name == "bounds")
    assert (found.kind is not None and found.kind.has_series) is (kind is None), found.kind_reason
    assert ("which is in another table" in found.kind_reason) is (kind is not None)
