"""Runs whose process is gone while their launcher says that it is at work."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from dagster_tsaudit.lost_runs import alive, end_lost_runs
from dagster_tsaudit.plan import JOB_TAG, AssetPlan
from tests.dagster_tsaudit.runs import a_plan, execute, fake_audits, write_config
from tsaudit import run
from tsaudit.history import lease
from tsaudit.history.store import Store

STARTED = dg.DagsterRunStatus.STARTED


@pytest.fixture
def plan(tmp_path: Path) -> AssetPlan:
    return a_plan(write_config(tmp_path, "a"))


@pytest.fixture
def store(plan: AssetPlan) -> Iterator[Store]:
    with Store.open(plan.load().history.get_secret_value()) as opened:
        yield opened


def a_run(instance: dg.DagsterInstance, tags: dict[str, str]) -> str:
    created = instance.add_run(dg.DagsterRun("audit_shop", status=STARTED, tags=tags))
    return created.run_id


def status(instance: dg.DagsterInstance, run_id: str) -> str:
    found = instance.get_run_by_id(run_id)
    assert found is not None
    return found.status.value


def look(plan: AssetPlan, instance: dg.DagsterInstance, cursor: dict[str, tuple[str, float]], now: float):
    said, after = end_lost_runs(plan, instance, cursor, now)
    # As Dagster keeps it.
    return said, json.loads(json.dumps(after))


def test_run_that_beats_is_left_alone_and_one_that_stopped_is_ended(
    plan: AssetPlan, store: Store, kept_instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = a_run(kept_instance, {JOB_TAG: "shop"})
    monkeypatch.setattr(lease, "BEAT_S", 0.05)
    now, cursor = 1000.0, {}
    with alive(store, run_id, plan.steps[0]):
        for _ in range(4):
            threading.Event().wait(0.3)
            now += lease.STALE_S
            said, cursor = look(plan, kept_instance, cursor, now)
            assert said == "1 run in progress, 0 of them lost"
        name = lease.identity_of_run(run_id, plan.steps[0].name)
        last = lease.beats(store, [name])[name]
        row = {"name": name, "holder": "gone", "beat": 7, "process": "", "who": "a killed worker"}
    with store.writing("test") as connection:
        connection.execute(lease.insert(lease.lease).values(row))
    assert last != "gone/7"
    _, cursor = look(plan, kept_instance, cursor, now)
    said, cursor = look(plan, kept_instance, cursor, now + lease.STALE_S - 1)
    assert (said, status(kept_instance, run_id)) == ("1 run in progress, 0 of them lost", "STARTED")
    said, cursor = look(plan, kept_instance, cursor, now + lease.STALE_S)
    assert (said, cursor) == ("1 run in progress, 1 of them lost", {})
    assert status(kept_instance, run_id) == "FAILURE"
    assert lease.beats(store, [name]) == {}
    assert look(plan, kept_instance, cursor, now) == ("no run is in progress", {})


def test_what_the_lost_process_held_is_free_at_once(
    plan: AssetPlan, store: Store, kept_instance: dg.DagsterInstance
) -> None:
    run_id = a_run(kept_instance, {JOB_TAG: "shop"})
    name = lease.identity_of_run(run_id, plan.steps[0].name)
    rows = [(name, "boot/ns/7/1"), ("database a", "boot/ns/7/1"), ("database b", "boot/ns/8/1"), ("database c", "")]
    with store.writing("test") as connection:
        for held, process in rows:
            row = {"name": held, "holder": held, "beat": 1, "process": process, "who": "somebody"}
            connection.execute(lease.insert(lease.lease).values(row))
    _, cursor = look(plan, kept_instance, {}, 0.0)
    look(plan, kept_instance, cursor, lease.STALE_S)
    assert set(lease.beats(store, [held for held, _ in rows])) == {"database b", "database c"}


def test_run_that_has_not_begun_gets_more_time(
    plan: AssetPlan, store: Store, kept_instance: dg.DagsterInstance
) -> None:
    run_id = a_run(kept_instance, {JOB_TAG: "shop"})
    _, cursor = look(plan, kept_instance, {}, 0.0)
    _, cursor = look(plan, kept_instance, cursor, lease.STALE_S + 29)
    assert status(kept_instance, run_id) == "STARTED"
    waiting = dataclasses.replace(plan, pool="warehouse")
    look(waiting, kept_instance, cursor, 1e6)
    assert status(kept_instance, run_id) == "STARTED"
    look(plan, kept_instance, cursor, lease.STALE_S + 30)
    assert status(kept_instance, run_id) == "FAILURE"


def test_clock_that_was_set_back_ends_nothing(plan: AssetPlan, store: Store, kept_instance: dg.DagsterInstance) -> None:
    run_id = a_run(kept_instance, {JOB_TAG: "shop"})
    _, cursor = look(plan, kept_instance, {}, 10_000.0)
    _, cursor = look(plan, kept_instance, cursor, 0.0)
    look(plan, kept_instance, cursor, 80.0)
    assert status(kept_instance, run_id) == "STARTED"


def test_runs_of_others_are_left_alone(plan: AssetPlan, store: Store, kept_instance: dg.DagsterInstance) -> None:
    run_id = a_run(kept_instance, {JOB_TAG: "other"})
    said, cursor = look(plan, kept_instance, {run_id: ("", 0.0)}, 1e6)
    assert (said, cursor, status(kept_instance, run_id)) == ("no run is in progress", {}, "STARTED")


def test_history_that_cannot_be_read_ends_nothing(tmp_path: Path, kept_instance: dg.DagsterInstance) -> None:
    config = write_config(tmp_path, "a")
    config.write_text(config.read_text().replace("sqlite:///history.db", "sqlite:///${TSAUDIT_TEST_NOT_SET}"))
    plan = a_plan(config)
    run_id = a_run(kept_instance, {JOB_TAG: "shop"})
    said, cursor = look(plan, kept_instance, {run_id: ["x", 0.0]}, 1e6)
    assert said.startswith("runs in progress could not be checked: ")
    assert "TSAUDIT_TEST_NOT_SET" in said
    assert (cursor, status(kept_instance, run_id)) == ({run_id: ["x", 0.0]}, "STARTED")


def test_step_holds_its_lease_while_it_works_and_not_longer(
    plan: AssetPlan, store: Store, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def audit_targets(targets, settings, opened, **options):
        with opened.reading() as connection:
            seen.append(len(connection.execute(lease.select(lease.lease)).all()))
        return fake_audits()(targets, settings, opened)

    monkeypatch.setattr(run, "audit_targets", audit_targets)
    assert execute(plan, instance).success
    assert seen == [1]
    with store.reading() as connection:
        assert connection.execute(lease.select(lease.lease)).all() == []


def test_task_that_a_queue_hands_out_twice_audits_once(plan: AssetPlan, store: Store) -> None:
    with (
        alive(store, "run", plan.steps[0]),
        pytest.raises(dg.Failure, match="is being audited by process"),
        alive(store, "run", plan.steps[0]),
    ):
        raise AssertionError("both are at work")
