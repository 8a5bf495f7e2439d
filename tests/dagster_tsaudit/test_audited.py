"""What the history adds to an audited target."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from dagster_tsaudit.audited import audited
from tests.builders import a_finding, a_result, a_rule_result
from tests.dagster_tsaudit.runs import a_failed_audit, an_audit
from tsaudit.config.settings import Incidents
from tsaudit.history import decisions, incidents
from tsaudit.history.store import Store
from tsaudit.model.finding import fingerprint
from tsaudit.model.subject import Subject


def test_accepted_and_snoozed_findings_are_settled_and_acknowledged_ones_are_not(tmp_path: Path) -> None:
    today = datetime.now(UTC).date()
    places = {kind: Subject("main", kind) for kind in ("accept", "snooze", "ack", "nothing")}
    marks = {kind: fingerprint("demo", "CAR001", place) for kind, place in places.items()}
    result = a_result(a_rule_result(*map(a_finding, places.values())), day=today)
    run = an_audit(result=result, day=today)
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        store.save(None, result, None)
        incidents.update(store, result, Incidents(), lambda *_: "team")
        assert audited(run, store).settled == frozenset()
        for kind in ("accept", "snooze", "ack"):
            until = None if kind == "ack" else today + timedelta(days=30)
            decisions.decide(store, marks[kind], kind, "ada", "known", until)
        assert audited(run, store).settled == {marks["accept"], marks["snooze"]}
        assert audited(a_failed_audit("demo"), store).settled == frozenset()
