"""The demo's runaway, audited day by day as a team would: on whom it is blamed, since when, and how it is shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest

from dagster_project import tables
from dagster_project.world import World
from tsaudit.analysis.shapes.shapes import redact
from tsaudit.config.settings import Report, Settings, Target
from tsaudit.history.store import Store
from tsaudit.model.columns import ValuesOverTime
from tsaudit.model.figures import Subject
from tsaudit.run import AuditRun, audit_target

pytestmark = pytest.mark.full

FIRST = date(2026, 3, 1)
WATCHED_FROM = tables.DEPLOYMENT - 5
WEEK_IN = tables.DEPLOYMENT + 7
REQUEST_ID = Subject("main", "http_requests", "request_id")


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuditRun]:
    """The audit a week after the deployment, the days before it audited too, one of them twice."""
    folder = tmp_path_factory.mktemp("demo")
    target = Target.model_validate({"name": "demo", "engine": "duckdb", "url": f"duckdb:///{folder}/demo.duckdb"})
    settings = Settings(targets=(target,), report=Report(folder=str(folder / "reports")))
    world = World(folder / "demo.duckdb")
    with pytest.MonkeyPatch.context() as patch, Store.open(f"sqlite:///{folder}/history.db") as store:
        patch.setattr(tables, "EVERY_DAY", tables.EVERY_DAY[-1:])
        for number in range(WEEK_IN + 1):
            world.advance(FIRST + timedelta(days=number))
            for _ in range(0 if number < WATCHED_FROM else 2 if number == tables.DEPLOYMENT + 1 else 1):
                done = audit_target(target, settings, store, day=FIRST + timedelta(days=number))
        yield done


def test_growth_is_blamed_on_the_request_id_since_its_first_day(audited: AuditRun) -> None:
    assert audited.result is not None
    finding = next(f for _, f in audited.result.findings() if f.subject == REQUEST_ID)
    deployed = FIRST + timedelta(days=tables.DEPLOYMENT)
    assert finding.main_contributor == "request_id"
    assert "gains 3,072 a day and is not leveling off" in finding.message
    (growth,) = (e.value for e in finding.evidence if e.label == "also CAR004")
    # Half of the hosts write ids on the first day, all of them on the seven days after it.
    assert f"of 23,040 new series since {deployed}, 100% carry a new value of tag request_id" in growth
    assert f"(first seen {deployed}, shape: hash)" in growth


def test_tags_are_told_apart_by_their_days(audited: AuditRun) -> None:
    assert audited.profile is not None
    requests = next(m for m in audited.profile.measurements if m.name == "http_requests")
    over_time: dict[str, ValuesOverTime] = {tag.key: tag.over_time for tag in requests.tags if tag.over_time}
    kinds = {key: (known.kind, known.days, known.new_values) for key, known in over_time.items()}
    assert kinds.pop("request_id") == ("unbounded", 8, 3072)
    assert set(kinds.values()) == {("bounded", WEEK_IN - WATCHED_FROM + 1, 0)}
    assert (over_time["request_id"].beta, over_time["request_id"].turnover) == (pytest.approx(1, abs=0.05), 1.0)


def test_report_and_its_twin_tell_it_with_redacted_examples(audited: AuditRun) -> None:
    assert audited.result is not None
    assert audited.report is not None
    finding = next(f for _, f in audited.result.findings() if f.subject == REQUEST_ID)
    page = Path(audited.report.path).read_text()
    twin = json.loads(Path(audited.report.path).with_suffix(".json").read_text())
    shown = next(f for f in twin["findings"] if f["message"] == finding.message)
    assert len(finding.samples) == 3
    for sample in finding.samples:
        assert sample not in page
        assert redact(sample) in page
    assert shown["samples"] == [redact(sample) for sample in finding.samples]
    assert not set(finding.samples) & set(json.dumps(twin).split('"'))
