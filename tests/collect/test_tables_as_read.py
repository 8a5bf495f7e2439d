"""What `tsaudit check` shows of tables: what an audit finds, and a setting that says the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from tests.builders import DAY, NOW
from tests.collecting import Tampered, collected
from tests.engines.traits import ARE_FILES
from tests.layouts.catalog import all_layouts
from tests.layouts.layout import Layout
from tests.layouts.running import written
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Columns, Target
from tsaudit.engines.opening import open_connection, with_connection
from tsaudit.model.profile import Measurement, Profile
from tsaudit.text.table_roles import override

pytestmark = pytest.mark.full

EMBEDDED = [one for one in all_layouts() if one.engine in ARE_FILES]
SOME = EMBEDDED[::3]
"""Reading all of them takes half a minute, and they differ little in this."""


def read(target: Target, most: int = 100, previous: Profile | None = None) -> tuple[tuple[Measurement, ...], int]:
    probed = with_connection(
        target,
        lambda connection, end: probe(target, connection, NOW, end, most_tables=most, previous=previous),
    )
    return probed.tables, probed.others


def roles(measurements: tuple[Measurement, ...]) -> dict[str, tuple[object, ...]]:
    return {m.name: (m.kind, m.time_column, [t.key for t in m.tags], [f.key for f in m.fields]) for m in measurements}


@pytest.mark.parametrize("layout", SOME, ids=lambda layout: layout.name)
def test_tables_are_read_as_an_audit_reads_them_and_as_the_settings_say(layout: Layout, tmp_path: Path) -> None:
    made = layout.dirty or layout.clean
    assert made is not None
    target = written(made(), layout.engine, tmp_path / "it.db")
    audited = collected(target, day=DAY, now=NOW)
    found, others = read(target)
    assert roles(found) == {name: of for name, of in roles(audited.measurements).items() if name in roles(found)}
    assert others == 0

    chosen = yaml.safe_load("\n".join(override(m) for m in found))
    assert len(chosen) == len(found)
    columns = {name: Columns.model_validate(one) for name, one in chosen.items()}
    again, _ = read(target.model_copy(update={"columns": columns}))
    assert roles(again) == roles(found)


def test_the_biggest_tables_come_first(tmp_path: Path) -> None:
    sizes = {"a": 3, "b": 300, "c": 30}
    with duckdb.connect(tmp_path / "it.db") as connection:
        for name, rows in sizes.items():
            connection.execute(f"CREATE TABLE {name} AS SELECT now() AS at, i AS value FROM range({rows}) t(i)")
    target = Target(name="test", engine="duckdb", url=f"duckdb:///{tmp_path / 'it.db'}")
    found, others = read(target, most=2)
    assert ([m.name for m in found], others) == (["b", "c"], 1)


def test_roles_are_kept_from_the_last_audit(tmp_path: Path) -> None:
    layout = next(one for one in EMBEDDED if one.name == "table-per-device-sqlite")
    assert layout.dirty is not None
    target = written(layout.dirty(), layout.engine, tmp_path / "it.db")
    before = collected(target, day=DAY - timedelta(days=1), now=NOW - timedelta(days=1))
    assert roles(read(target, previous=before)[0]) == roles(read(target)[0])


def test_the_catalog_is_read_once_for_gaps_and_tables(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "it.db") as connection:
        connection.execute("CREATE TABLE a AS SELECT now() AS at, i AS value FROM range(30) t(i)")
    target = Target(name="t", engine="duckdb", url=f"duckdb:///{tmp_path / 'it.db'}")
    asked: Counter[str] = Counter()

    def counting(fact: str, _: Mapping[str, Any]) -> None:
        asked[fact] += 1

    with open_connection(target) as connection:
        probed = probe(target, Tampered(connection, counting), NOW, most_tables=9)
    assert [table.name for table in probed.tables] == ["a"]
    assert {fact: asked[fact] for fact in ("databases", "measurements", "columns")} == {
        "databases": 1,
        "measurements": 1,
        "columns": 1,
    }
