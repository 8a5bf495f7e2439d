"""Whatever statement an audit is killed at, each of its steps has changed everything or nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import event, select

from tests.builders import DAY, a_profile
from tests.history.test_incidents_properties import audit
from tests.history.test_value_sets import HOST
from tsaudit.config.settings import Incidents
from tsaudit.history import incidents
from tsaudit.history.removal import compact, remove_day
from tsaudit.history.schema import metadata
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues

POLICY: Final = Incidents(open_after=1, resolve_after=1)


class _Killed(BaseException):
    """Not an error that anything could handle."""


def save(store: Store, number: int, *values: str) -> None:
    day = DAY + timedelta(days=number)
    remembered = RememberedValues(store, "t", day)
    remembered.keep(HOST, remembered.of(HOST).observe(values, day))
    store.save(a_profile(target="t", day=day), audit("t", "warning", day), None, remembered.write)


def update(store: Store, number: int, sight: str) -> None:
    result = audit("t", sight, DAY + timedelta(days=number))
    incidents.update(store, result, POLICY, lambda *_: "team")


STEPS: Final[dict[str, Callable[[Store], object]]] = {
    "a new day": lambda store: save(store, 210, "a", "new"),
    "the newest day again": lambda store: save(store, 200, "b"),
    "a past day": lambda store: save(store, 198, "c"),
    "a failed audit": lambda store: store.save(None, audit("t", "unknown", DAY + timedelta(days=200)), None),
    "incidents": lambda store: update(store, 201, "good"),
    "compaction": lambda store: compact(store, "t", DAY + timedelta(days=200)),
    "removal": lambda store: remove_day(store, "t", DAY + timedelta(days=197), POLICY, lambda *_: "team"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_step_that_is_killed_at_any_statement_changes_nothing(store: Store, step: Callable[[Store], object]) -> None:
    for number in (0, 1, 40, 100, 195, 196, 197, 200):
        save(store, number, "a", f"v{number}")
        update(store, number, "warning")
    before = content(store)
    for number in itertools.count(1):
        with killed_at(store, number) as seen:
            try:
                step(store)
                break
            except _Killed:
                pass
        assert content(store) == before
    assert len(seen) == number - 1 > 3
    assert content(store) != before


@contextmanager
def killed_at(store: Store, number: int) -> Iterator[list[str]]:
    """What was executed; the statement of that number is not."""
    seen: list[str] = []

    def listen(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith(("BEGIN", "SELECT set_config")):
            return  # The transaction has not begun.
        if len(seen) + 1 == number:
            raise _Killed
        seen.append(statement)

    event.listen(store.engine, "before_cursor_execute", listen)
    try:
        yield seen
    finally:
        event.remove(store.engine, "before_cursor_execute", listen)


def content(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    with store.reading() as connection:
        return {
            name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for name, table in metadata.tables.items()
        }
