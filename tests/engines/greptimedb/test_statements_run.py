"""The statements that are proposed, run on tables with names of any kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.ddl import execute, statements
from tests.engines.greptimedb.double import GreptimeDB
from tsaudit.engines.greptimedb import statements as greptime_statements
from tsaudit.model.timeline import Timeline
from tsaudit.rule import Case, LimitPolicy
from tsaudit.rules import all_rules

_PARTS = [
    "a",
    "é",
    '"',
    "'",
    "`",
    "\\",
    ";",
    "--",
    "/*",
    " ",
    ",",
    "=",
    "%s",
    "'; --",
    "{{ x }}",
    "$1",
    'DROP TABLE "x";',
]
_NAMES = st.lists(st.sampled_from(_PARTS)).map(lambda parts: "n" + "".join(parts))


@pytest.fixture(scope="module")
def server() -> Iterator[GreptimeDB]:
    running = GreptimeDB()
    yield running
    running.stop()


@settings(deadline=None, max_examples=15)
@given(database=_NAMES, measurement=_NAMES, tag=_NAMES, field=_NAMES, value=_NAMES)
def test_a_copy_holds_what_the_table_held(
    server: GreptimeDB, database: str, measurement: str, tag: str, field: str, value: str
) -> None:
    rows = [Row(at, {f"t{tag}": value, "z": str(i)}, {f"f{field}": float(i)}) for i, at in enumerate(times(3))]
    settled = Greptime(options={"comment": value, "ttl": "7days"}, indexes={f"f{field}": "skipping"})
    key = (f"t{tag}", "z")
    table = Table(measurement, key, {f"f{field}": "float"}, rows, key=key, time=f"x{tag}", greptime=settled)
    target = write(Dataset([table], database=database), "greptimedb", server)
    before = collected(target)
    (measured,) = before.measurements
    case = Case(all_rules()[0], before, Timeline(), LimitPolicy())
    held = server.rows(server.tables[database, measurement])

    for statement in statements(greptime_statements.without_key_columns(case, measured, {"z"})):
        execute(server, statement)
    copied = server.tables[database, measurement]
    assert list(copied.key) == [f"t{tag}"]
    assert copied.options == {"comment": value, "ttl": "7days"}
    assert copied.indexes[f"f{field}"] == ["skipping"]
    assert server.rows(copied).to_pylist() == held.to_pylist()
    assert set(server.tables) & {(database, f"{measurement}_new"), (database, f"{measurement}_old")} == set()

    execute(server, greptime_statements.unset_index(case, measured, f"f{field}", "skipping"))
    execute(server, greptime_statements.set_option(case, measured, "append_mode", "true"))
    changed = server.tables[database, measurement]
    assert (changed.indexes[f"f{field}"], changed.options["append_mode"]) == ([], "true")
