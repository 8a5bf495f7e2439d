"""An audit that cannot be saved, and a history that is locked: reported like any other failure, and in time."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy import event

from tests.builders import DAY
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tsaudit.collect import catalog_facts
from tsaudit.config.settings import Incidents, Report, Settings, Target
from tsaudit.history import incidents
from tsaudit.history import store as history_store
from tsaudit.history.lifecycle import ChangeKind
from tsaudit.history.store import Store
from tsaudit.library import AuditSession
from tsaudit.model.figures import Reason
from tsaudit.model.finding import UNREACHABLE_CODE, Verdict


def _target(tmp_path: Path) -> Target:
    rows = [Row(at, {"host": f"h{i % 5}"}, {"usage": i / 7}) for i, at in enumerate(times(60))]
    table = Table("cpu", tags=("host",), fields={"usage": "float"}, rows=rows, key=("time", "host"))
    return write(Dataset([table]), "sqlite", tmp_path / "a.db")


def _settings(tmp_path: Path, target: Target) -> Settings:
    return Settings(
        history=SecretStr(f"sqlite:///{tmp_path}/history.db"),
        report=Report(folder=str(tmp_path / "reports")),
        incidents=Incidents(open_after=1, resolve_after=1),
        targets=(target,),
    )


@pytest.mark.parametrize("broken", ["figures", "incidents"])
def test_what_cannot_be_saved_is_an_incident_a_message_and_no_half(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    target = _target(tmp_path)
    settings = _settings(tmp_path, target)
    rows, update = history_store._figure_rows, incidents.update

    def twice(*given: Any) -> list[dict[str, Any]]:
        return rows(*given) * 2

    def fails_once(store: Store, result: Any, *given: Any) -> Any:
        if result.not_audited is None:
            raise KeyError("a bug")
        return update(store, result, *given)

    with AuditSession.open(settings) as session:
        with monkeypatch.context() as patch:
            if broken == "figures":
                patch.setattr(history_store, "_figure_rows", twice)
            else:
                patch.setattr(incidents, "update", fails_once)
            (done,) = session.run([target], day=DAY)
        cause = "UNIQUE constraint failed" if broken == "figures" else "KeyError: 'a bug'"
        assert done.verdict is Verdict.UNKNOWN
        assert done.error is not None
        assert cause in done.error
        assert "\n" not in done.error
        assert session.not_audited == [f"{target.name}: {done.error}"], "the command exits with 3"
        assert [(c.incident.code, c.kind) for c in done.changes] == [(UNREACHABLE_CODE, ChangeKind.OPENED)]
        said: list[str] = []
        session.notify(said.append)
        assert sum(cause in text for text in said) == 1
        stored = session.store.result(target.name, DAY)
        assert stored is not None
        assert stored.failure is not None
        assert stored.has_measured is (broken == "incidents"), "what was saved before it broke is kept"
        assert (session.store.profile(target.name, DAY) is None) is (broken == "figures")
        (again,) = session.run([target], day=DAY)
        assert again.error is None
        assert session.store.profile(target.name, DAY) is not None


def test_audit_waits_for_a_locked_history_no_longer_than_its_deadline(tmp_path: Path) -> None:
    patient = _target(tmp_path)
    target = patient.model_copy(update={"budget": patient.budget.model_copy(update={"deadline_s": 0.2})})
    settings = _settings(tmp_path, target)
    waits_ms: list[int] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if found := re.fullmatch(r"PRAGMA busy_timeout = (\d+)", statement):
            waits_ms.append(int(found[1]))

    with AuditSession.open(settings) as session:
        other = sqlite3.connect(tmp_path / "history.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        event.listen(session.store.engine, "before_cursor_execute", note)
        (done,) = session.run([target], day=DAY)
        session.write_index()
        other.execute("ROLLBACK")
        other.close()
        assert done.error is not None
        assert "locked" in done.error
        assert done.result is None
        assert waits_ms
        assert max(waits_ms) <= 5000
        (again,) = session.run([patient], day=DAY)
        assert again.error is None


@pytest.mark.parametrize("fact", ["measurements", "columns", "databases"])
def test_what_a_server_lists_twice_is_measured_once_and_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fact: str
) -> None:
    target = _target(tmp_path)
    once = collected(target)
    each_once = catalog_facts._each_once

    def doubled(runner: Any, about: str, rows: list[Any], given: Any) -> Any:
        return each_once(runner, about, rows * 2 if about == fact else rows, given)

    monkeypatch.setattr(catalog_facts, "_each_once", doubled)
    profile = collected(target)
    assert [m.name for m in profile.measurements] == [m.name for m in once.measurements]
    assert [m.columns for m in profile.measurements] == [m.columns for m in once.measurements]
    assert once.gaps == ()
    assert {(g.fact, g.reason) for g in profile.gaps} == {(fact, Reason.FAILED)}
    assert all("twice" in g.detail for g in profile.gaps)
