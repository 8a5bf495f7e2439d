"""The seams held fast: one real profile, what it is judged to be, and what its owner is told.

The profile is the demo's, twelve days after its deployment. `make golden` writes the other two files anew, and into
this one what profiles have come to hold since.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from tsaudit import alerts
from tsaudit.config.settings import Owner, Settings, Target
from tsaudit.evaluation import evaluate
from tsaudit.history import deliveries, incidents
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy

GOLDEN = Path(__file__).parent / "golden"
HTTP = Subject("main", "http_requests")


def golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("TSAUDIT_REBASELINE"):
        path.write_text(text)
    assert text == path.read_text()


@pytest.fixture(scope="module")
def profile() -> Profile:
    return from_json(Profile, (GOLDEN / "profile.json").read_bytes())


@pytest.fixture(scope="module")
def result(profile: Profile) -> AuditResult:
    """The profile after 23 quiet days and eleven on which series were added."""
    counts = [768.0] * 23 + [2304.0 + 3072 * day for day in range(11)]
    first = profile.day - timedelta(days=len(counts))
    series = tuple(Point(first + timedelta(days=i), count) for i, count in enumerate(counts))
    ids = tuple(Point(p.day, p.value - 768) for p in series if p.value > 768)
    request_id = Subject("main", "http_requests", "request_id")
    timeline = Timeline(points={("series", HTTP): series, ("tag_values", request_id): ids})
    policy = LimitPolicy(target={"high-series-cardinality.max_series": 60_000})
    return evaluate(profile, timeline, policy, now=datetime(2026, 11, 21, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as opened:
        yield opened


@pytest.mark.golden
def test_profile_reads_back_as_it_was_written(profile: Profile) -> None:
    golden("profile.json", to_json(profile, indent=1).decode() + "\n")


@pytest.mark.golden
def test_profile_is_judged_as_reviewed(result: AuditResult) -> None:
    # Processors differ in the last digits of a long sum: nine are reviewed.
    digits = json.loads(to_json(result), parse_float=lambda text: float(f"{float(text):.9g}"))
    golden("audit.json", json.dumps(digits, indent=1, ensure_ascii=False) + "\n")


@pytest.mark.golden
def test_owner_is_told_as_reviewed(profile: Profile, result: AuditResult, store: Store) -> None:
    target = Target(name=profile.target, engine="duckdb", url=SecretStr("duckdb:///demo.duckdb"))
    settings = Settings(owners={"default": Owner(channel="#data")}, targets=(target,))
    store.save(profile, result, None)
    changes = incidents.update(store, result, settings.incidents, alerts.owner_of(settings, target))
    context = alerts.RunContext(
        target=target.name,
        engine=target.engine,
        day=result.day,
        verdict=result.verdict,
        report_url="https://reports.example.com/demo/2026-11-20.html",
        run_url="https://dagster.example.com/runs/1",
    )

    alerts.queue(store, settings, changes, context)

    with store.reading() as connection:
        told = deliveries.newest(
            connection, deliveries.thread_of("default", target.name), deliveries.DeliveryKind.ALERT
        )
    assert told is not None
    golden("slack.json", json.dumps(told.payload, indent=1, ensure_ascii=False) + "\n")
