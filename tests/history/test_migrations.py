"""A history of the version before, with value sets: it goes on, also after an upgrade that was interrupted."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import inspect, text

from tests.history.test_value_sets import HOST, audit, in_order, on, rows, stored
from tsaudit.history import database, value_sets
from tsaudit.history.compaction import compact
from tsaudit.history.store import Store
from tsaudit.history.value_set_chains import MOST_CHANGES, Form

DAYS = 2 * (MOST_CHANGES + 1)
"""So many that the newest day is the first after a full set."""
NAMES = [f"host-{n}" for n in range(500)]


def names(number: int) -> list[str]:
    return NAMES[number:]


@pytest.fixture
def old(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Its address; it has what version 0009 stored."""
    with Store.open(address) as store:
        with monkeypatch.context() as patch:
            patch.setattr(value_sets, "_shorten", lambda *_: None)
            for number in range(DAYS):
                audit(store, on(number), (HOST, names(number)))
        with store.writing("test") as connection:
            connection.execute(text("ALTER TABLE value_set DROP COLUMN changes"))
            connection.execute(text(f"UPDATE {database.VERSION_TABLE} SET version_num = '0009'"))
    return address


def test_value_sets_of_the_version_before_go_on(old: str) -> None:
    with Store.open(old) as store:
        for number in range(DAYS, 3 * DAYS):
            audit(store, on(number), (HOST, names(number)))
            compact(store, "demo", on(number))
        forms = [row.whole for row in rows(store) if row.whole]
        # Of the sets that were there, it is not known what their days changed.
        assert forms == [Form.WHOLE, Form.WHOLE, Form.WAS_WHOLE, Form.WAS_WHOLE, Form.WAS_WHOLE, Form.WHOLE]
        for until in range(3 * DAYS + 1):
            assert stored(store, on(until)) == in_order({number: names(number) for number in range(until)})


def test_an_upgrade_that_is_interrupted_changes_nothing(old: str, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = database._upgrade

    def killed(*arguments: Any) -> None:
        complete(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(database, "_upgrade", killed)
        with pytest.raises(KeyboardInterrupt):
            Store.open(old)
        patch.setattr(database, "_upgrade", lambda *_: None)
        with Store.open(old) as store, store.reading() as connection:
            assert "changes" not in {column["name"] for column in inspect(connection).get_columns("value_set")}
            assert database._revision(connection) == "0009"
    with Store.open(old) as store:
        assert stored(store, on(DAYS)) == in_order({number: names(number) for number in range(DAYS)})
