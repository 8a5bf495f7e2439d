"""The statements that are proposed, run on tables with names of any kind."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_finding, a_rule_result
from tests.collecting import collected
from tests.databases import Dataset, Greptime, Row, Table, times, write
from tests.engines.greptimedb.double import GreptimeDB
from tests.examples import examples
from tests.planning.places import server_of
from tsaudit.config.settings import Target
from tsaudit.model.change import Change, DropIndex, MakeField, SetOption
from tsaudit.model.figures import Subject
from tsaudit.planning.plans import plans_of

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
_NAMES = st.lists(st.sampled_from(_PARTS), max_size=1).map(lambda parts: "n" + "".join(parts))
"""Short enough for a plan to show the statements: longer ones are only described."""


@pytest.fixture(scope="module")
def server() -> Iterator[GreptimeDB]:
    running = GreptimeDB()
    yield running
    running.stop()


@settings(deadline=None, max_examples=examples(15))
@given(database=_NAMES, measurement=_NAMES, tag=_NAMES, field=_NAMES, value=_NAMES)
def test_a_new_table_is_what_the_old_one_was(
    server: GreptimeDB, database: str, measurement: str, tag: str, field: str, value: str
) -> None:
    rows = [Row(at, {f"t{tag}": value, "z": str(i % 3)}, {f"f{field}": float(i)}) for i, at in enumerate(times(9))]
    settled = Greptime(options={"comment": value, "ttl": "7days"}, indexes={f"f{field}": "skipping"})
    key = (f"t{tag}", "z")
    table = Table(measurement, key, {f"f{field}": "float"}, rows, key=key, time=f"x{tag}", greptime=settled)
    target = write(Dataset([table], database=database), "greptimedb", server)
    at = Subject(database, measurement)
    held = server.rows(server.tables[database, measurement])

    _run(server, target, MakeField(at, "z"))
    created = server.tables[database, measurement]
    assert list(created.key) == [f"t{tag}"]
    assert created.options == {"comment": value, "ttl": "7days"}
    assert created.indexes[f"f{field}"] == ["skipping"]
    assert server.rows(server.tables[database, f"{measurement}_old"]) == held
    assert set(server.tables) & {(database, f"{measurement}_new"), (database, f"{measurement}_old")} == {
        (database, f"{measurement}_old")
    }
    server.drop(server.tables[database, f"{measurement}_old"])

    _run(server, target, DropIndex(at, "", (f"f{field}",), "skipping"), SetOption(at, "append_mode", "true"))
    changed = server.tables[database, measurement]
    assert (changed.indexes[f"f{field}"], changed.options["append_mode"]) == ([], "true")


def _run(server: GreptimeDB, target: Target, *changes: Change) -> None:
    """Makes the changes as the plan says."""
    (plan,) = plans_of(collected(target), [a_rule_result(a_finding(changes=changes))])
    for step in plan.steps:
        server_of("greptimedb", server, target).run(step)
