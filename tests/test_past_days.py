"""Days in any order: outages, backfills, wrong clocks and reuse change nothing that daily audits would have found.

Every schedule is played on two histories over one small database. The model never reuses a figure and never has a wrong
clock; the other one does what tsaudit does.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import event, select

from tests.histories import clock_at
from tsaudit import run
from tsaudit.alerts.thread import notified_by
from tsaudit.config.settings import Incidents, Settings, Target
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.history import deliveries, incidents, removal
from tsaudit.history.lifecycle import IncidentState
from tsaudit.history.schema import incident_day
from tsaudit.history.store import Packers, Store
from tsaudit.history.value_sets import RememberedValues
from tsaudit.model.figures import Subject
from tsaudit.model.timeline import figures
from tsaudit.rules import all_rules

pytestmark = pytest.mark.full

RULES: Final = [rule for rule in all_rules() if rule.code in ("CAR001", "CAR004", "TAG002")]
FIRST: Final = date(2026, 3, 1)
HOUR: Final = 20
"""Of the daily audit, in UTC: a day's rows come in before and after it."""
LIMITS: Final = {
    "runaway-cardinality.min_series": 10.0,
    "high-series-cardinality.max_series": 150.0,
}

_numbers: Final = itertools.count()


@pytest.fixture(scope="module", autouse=True)
def quick() -> Iterator[None]:
    """Only the rules that look at the past, and no report."""
    patch = pytest.MonkeyPatch()
    patch.setattr(run, "required_facts", functools.partial(required_facts, rules=RULES))
    patch.setattr(run, "evaluate", functools.partial(evaluate, rules=RULES))
    patch.setattr(run, "_report", lambda *_: (None, None))
    yield
    patch.undo()


@dataclass
class World:
    """One table in a DuckDB file."""

    path: Path

    def __post_init__(self) -> None:
        self.write("CREATE TABLE t (time TIMESTAMP, host VARCHAR, id VARCHAR, v DOUBLE, PRIMARY KEY (time, host, id))")

    def write(self, *statements: str) -> None:
        with duckdb.connect(str(self.path)) as connection:
            for statement in statements:
                connection.execute(statement)

    def load(self, day: date, ids: int, at: str = "00:00") -> None:
        """Rows of a day: of one host, and of so many ids that no other day has, an hour of the day each."""
        self.write(
            f"INSERT INTO t SELECT TIMESTAMP '{day} {at}' + to_minutes(CAST(i AS BIGINT)), 'h', "
            f"'{day:%m%d}-' || i, 1 FROM range({ids}) AS r(i)"
        )

    def retain(self, since: date) -> None:
        self.write(f"DELETE FROM t WHERE time < TIMESTAMP '{since}'")

    def target(self) -> Target:
        return Target.model_validate(
            {
                "name": "past",
                "engine": "duckdb",
                "url": f"duckdb:///{self.path}",
                "window": "10d",
                "limits": LIMITS,
                "columns": {"t": {"time": "time", "tags": ["host", "id"]}},
            }
        )


@dataclass
class History:
    """A history of the world's target, and how it is audited."""

    folder: Path
    reuses: bool = True
    right: list[date] = field(default_factory=list)
    """Days audited with a right clock, in the order of their audits."""

    def __post_init__(self) -> None:
        self.store = Store.open(f"sqlite:///{self.folder}/{next(_numbers)}.db")
        event.listen(self.store.engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous = OFF"))
        self.store.engine.dispose()

    def audit(self, target: Target, day: date, now: datetime) -> run.AuditRun:
        known = Settings(
            history=SecretStr("sqlite:///unused.db"),
            incidents=Incidents(open_after=1, resolve_after=1),
            targets=(target,),
        )
        patch = pytest.MonkeyPatch()
        if not self.reuses:
            patch.setattr(import_module("tsaudit.collect.earlier_days"), "take_over", lambda draft, *_: draft)
        try:
            with clock_at(now):
                return run.audit_target(target, known, self.store, day=day)
        finally:
            patch.undo()

    def standing(self, day: date) -> list[tuple[object, ...]]:
        found = incidents.current(self.store, "past", day=day)
        return [(i.fingerprint, i.state, i.severity, i.first_seen, i.opened, i.resolved, i.day) for i in found]

    def all_told(self, day: date) -> bool:
        """Whether the message that its owner can see is of everything open, whatever was sent between."""
        still = {i.fingerprint for i in incidents.current(self.store, "past", day=day) if i.state is IncidentState.OPEN}
        with self.store.reading() as connection:
            alert = deliveries.newest(connection, "default/past", deliveries.DeliveryKind.ALERT)
            if alert is None:
                return not still
            family = deliveries.family(connection, alert.id)
        closed = any(row.kind is deliveries.DeliveryKind.RESOLVE for row in family)
        return closed == (not still) and still <= notified_by(family).keys()

    def states(self) -> list[Any]:
        with self.store.reading() as connection:
            query = select(incident_day).order_by(incident_day.c.day, incident_day.c.fingerprint)
            rows, packers = connection.execute(query).all(), Packers(connection)
            # The finding itself, whatever base it is stored with.
            return [row._asdict() | {"finding": packers.of("past", row.day).unpacked(row.finding)} for row in rows]

    def remembered(self, before: date) -> list[Any]:
        values = RememberedValues(self.store, "past", before)
        return [values.of(Subject("main", "t", column)) for column in ("", "host", "id")]


def said(done: run.AuditRun) -> list[tuple[object, ...]]:
    assert done.result is not None
    return [(r.code, f.subject, f.severity, f.observed, f.since) for r, f in done.result.findings()]


def counted(done: run.AuditRun) -> list[tuple[object, ...]]:
    assert done.profile is not None
    return [(f.name, f.subject, f.value) for f in figures(done.profile)]


Step = tuple[str, int]
"""What happens on a day, and how many days back a `backfill` or ahead a wrong clock reaches."""

STEPS: Final = st.one_of(
    st.just(("audit", 0)),
    st.just(("audit", 0)),
    st.just(("outage", 0)),
    st.tuples(st.just("backfill"), st.integers(1, 9)),
    st.tuples(st.just("ahead"), st.sampled_from([20, 40, 400])),
)
LOADS: Final = st.sampled_from(["static", "growing", "nightly", "late"])
"""All there is from the start, rows as the day goes by, the day's rows after its audit, or each load a day late."""


def load(world: World, how: str, number: int, retention: int | None) -> None:
    """What is written before the audit of a day."""
    day = FIRST + timedelta(days=number)
    if how == "growing":
        world.load(day, 6 + number)
    if how in ("nightly", "late"):
        world.load(day - timedelta(days=1), 20, at="00:00" if how == "late" else "21:00")
    if retention is not None and number > retention:
        world.retain(day - timedelta(days=retention))


@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # an audit takes too long to shrink by
    suppress_health_check=list(HealthCheck),
)
@given(how=LOADS, retention=st.sampled_from([None, 2, 5]), steps=st.lists(STEPS, min_size=4, max_size=7))
@example(how="static", retention=None, steps=[("backfill", 3), ("backfill", 2), ("backfill", 1), ("audit", 0)])
@example(how="late", retention=2, steps=[("audit", 0)] * 6)
@example(how="growing", retention=None, steps=[("audit", 0)] * 2 + [("ahead", 400)] + [("audit", 0)] * 3)
def test_every_schedule_comes_to_what_the_model_finds(
    tmp_path_factory: pytest.TempPathFactory, how: str, retention: int | None, steps: Sequence[Step]
) -> None:
    folder = tmp_path_factory.mktemp("past")
    world, ours, model = World(folder / "w.duckdb"), History(folder), History(folder, reuses=False)
    target, bogus = world.target(), []
    if how == "static":
        for number in range(-9, len(steps) + 1):
            world.load(FIRST + timedelta(days=number), 10 + 3 * (number + 9), at="22:00")
    for number, (what, size) in enumerate(steps):
        load(world, how, number, retention)
        today = FIRST + timedelta(days=number)
        now = datetime.combine(today, datetime.min.time(), UTC) + timedelta(hours=HOUR)
        if what == "outage":
            continue
        if what == "ahead":
            wrong = now + timedelta(days=size)
            ours.audit(target, wrong.date(), wrong)
            bogus.append(wrong.date())
            continue
        day = today - timedelta(days=size)
        mine, theirs = ours.audit(target, day, now), model.audit(target, day, now)
        assert counted(mine) == counted(theirs)
        assert said(mine) == said(theirs)
        assert [(c.kind, c.incident.fingerprint) for c in mine.changes] == [
            (c.kind, c.incident.fingerprint) for c in theirs.changes
        ]
        assert ours.standing(day) == model.standing(day)
        ahead = [d for d in bogus if d > today + timedelta(days=1)]
        assert bool(mine.error) == bool(ahead)
        if not size:
            with clock_at(now):
                assert ours.all_told(day)
    after = FIRST + timedelta(days=len(steps))
    for day in sorted(set(bogus)):
        with clock_at(datetime.combine(after, datetime.min.time(), UTC)):
            removal.remove_day(ours.store, "past", day, Incidents(open_after=1, resolve_after=1), lambda *_: "default")
    assert ours.store.days("past") == model.store.days("past")
    assert ours.states() == model.states()
    ours.store.close()
    model.store.close()


@settings(
    max_examples=1,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(order=st.permutations(range(7)), missing=st.sets(st.integers(0, 6), max_size=3))
@example(order=[6, 4, 2, 0, 5, 3, 1], missing=set())
def test_backfills_in_any_order_come_to_what_audits_in_order_find(
    tmp_path_factory: pytest.TempPathFactory, order: Sequence[int], missing: set[int]
) -> None:
    """A file that is not written to any more, all of it audited on one day, the newest day last."""
    folder = tmp_path_factory.mktemp("backfill")
    world, ours, model = World(folder / "w.duckdb"), History(folder), History(folder, reuses=False)
    for number in range(-3, 9):
        world.load(FIRST + timedelta(days=number), 20 + 30 * max(0, number - 2), at="10:00")
    now = datetime.combine(FIRST + timedelta(days=10), datetime.min.time(), UTC)
    audited = [number for number in order if number not in missing]
    for number in audited:
        ours.audit(world.target(), FIRST + timedelta(days=number), now)
    for number in sorted(audited):
        model.audit(world.target(), FIRST + timedelta(days=number), now)
    newest = FIRST + timedelta(days=7)
    mine, theirs = (history.audit(world.target(), newest, now) for history in (ours, model))
    assert counted(mine) == counted(theirs)
    assert said(mine) == said(theirs)
    assert ours.remembered(newest) == model.remembered(newest)
