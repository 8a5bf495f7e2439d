"""Which kind of rows a table has: schemas of several trades, and what the user decides."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.engines.sql.kinds import schemas
from tests.engines.sql.kinds.making import Schema
from tsaudit.analysis.columns.columns import Column
from tsaudit.analysis.columns.row_evidence import Seen
from tsaudit.analysis.columns.table_kinds import KindEvidence, decide, never_source
from tsaudit.config.settings import Columns, Target
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile, TableKind


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
    assert ids.reason.startswith("does not apply: ")
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


def test_kind_is_kept_from_the_day_before_if_the_evidence_is_close() -> None:
    columns = (Column("ts", "TIMESTAMP"), Column("who", "TEXT"), Column("v", "REAL"))
    seen = {"who": Seen(3, is_text=True), "v": Seen(is_measure=True)}
    close = KindEvidence(columns, "ts", seen=seen, rows=900, coverage=0.4)
    assert decide(close).kind is TableKind.SERIES  # type: ignore[union-attr]
    assert decide(close, TableKind.EVENTS).kind is TableKind.EVENTS  # type: ignore[union-attr]
    clear = KindEvidence(columns, "ts", seen=seen, rows=900, coverage=1.0, regular_share=1.0)
    assert decide(clear, TableKind.EVENTS).kind is TableKind.SERIES  # type: ignore[union-attr]


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
