"""What has not moved is not measured again, until it is too old; what has moved always is."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.analysis.cardinality.test_arrivals import Memory
from tests.builders import NOW, a_field, a_measurement, a_profile, a_source, a_tag
from tests.collecting import Writer, collected
from tests.databases import Dataset, Row, Table, times, write, write_lines
from tests.engines.traits import SHARE_SQL
from tests.servers import Influxd
from tsaudit.collect import catalog, earlier_days
from tsaudit.collect.catalog import _fingerprint
from tsaudit.collect.draft import Column, Draft
from tsaudit.collect.earlier_days import ended_queries, take_over
from tsaudit.config.settings import Columns, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.columns import Arrivals, SeriesSince
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Count, Gap, How, Reason, Window
from tsaudit.model.profile import Profile
from tsaudit.model.server import StoredQuery

DEAR = {"series_listing", "row_sample", "null_counts", "row_count"}


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_days, "utc_now", lambda: NOW)


def _dataset() -> Dataset:
    rows = [Row(t, {"host": f"h{i % 3}"}, {"v": float(i)}) for i, t in enumerate(times(30, end=NOW))]
    return Dataset([Table(name, ("host",), {"v": "float"}, rows, key=("time", "host")) for name in ("a", "b")])


@pytest.fixture
def target(tmp_path: Path) -> Target:
    return write(_dataset(), "duckdb", tmp_path / "x.duckdb")


def _collected(target: Target, days: float = 0, **settings: Any) -> Profile:
    now = NOW + timedelta(days=days)
    return collected(target, now=now, day=now.date(), **settings)


def _append(target: Target, table: str) -> None:
    with duckdb.connect(target.url.get_secret_value().removeprefix("duckdb:///")) as connection:
        connection.execute(f"INSERT INTO {table} SELECT max(time) + INTERVAL 1 SECOND, 'new', 1 FROM {table}")


def test_measurement_has_not_moved(target: Target) -> None:
    before = _collected(target)
    after = _collected(target, 1, previous=before)
    assert after.reused == 2
    assert after.measurements == before.measurements
    assert after.measurements[0].series is not None
    assert after.measurements[0].series.source.as_of == NOW
    assert not {c.fact for c in after.costs} & DEAR
    # Taken over once more, the figures keep their age.
    third = _collected(target, 2, previous=after)
    assert (third.reused, third.measurements) == (2, before.measurements)


def test_only_the_measurement_that_moved_is_measured(target: Target) -> None:
    before = _collected(target)
    _append(target, "a")
    after = _collected(target, 0.01, previous=before)
    assert after.reused == 1
    a, b = after.measurements
    assert (a.series and a.series.value, b.series and b.series.value) == (4, 3)
    assert b == before.measurements[1]
    assert {c.fact: c.statements for c in after.costs if c.fact in DEAR} == {
        "series_listing": 1,
        "row_sample": 1,
        "null_counts": 1,
    }


def test_figures_are_too_old(target: Target) -> None:
    before = _collected(target)
    assert _collected(target, 7, previous=before).reused == 2
    after = _collected(target, 7.01, previous=before)
    assert after.reused == 0
    assert after.measurements[0].series is not None
    assert after.measurements[0].series.source.as_of > NOW


def test_schema_has_changed(target: Target) -> None:
    before = _collected(target)
    with duckdb.connect(target.url.get_secret_value().removeprefix("duckdb:///")) as connection:
        connection.execute("ALTER TABLE b ADD COLUMN w DOUBLE")
    after = _collected(target, 1, previous=before)
    assert after.reused == 1
    assert [f.key for f in after.measurements[1].fields] == ["v", "w"]


def test_something_was_missing_before(target: Target) -> None:
    before = _collected(target)
    gap = Gap("null_counts", Reason.TIMED_OUT, "canceled after 1 s", "main", "a")
    after = _collected(target, 1, previous=dataclasses.replace(before, gaps=(gap,)))
    assert after.reused == 1
    assert after.gaps == ()


def test_more_is_wanted_than_before(target: Target) -> None:
    before = _collected(target, wanted=frozenset({"tag_values"}))
    assert before.measurements[0].fields[0].null_ratio is None
    after = _collected(target, 1, previous=before)
    assert after.reused == 0
    assert after.measurements[0].fields[0].null_ratio is not None


def test_profile_of_a_version_that_knew_fewer_facts(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(catalog, "FACTS", {name: fact for name, fact in FACTS.items() if name != "row_patterns"})
        before = _collected(target)
    assert _collected(target, 1, previous=before).reused == 0


def test_roles_are_configured_anew(target: Target) -> None:
    before = _collected(target)
    changed = target.model_copy(update={"columns": {"a": Columns(tags=("v",))}})
    after = _collected(changed, 1, previous=before)
    assert after.reused == 1
    assert [t.key for t in after.measurements[0].tags] == ["host", "v"]


def test_influxdb_has_not_moved(influxd: Influxd) -> None:
    target = write(_dataset(), "influxdb1", influxd.url)
    before = _collected(target)
    after = _collected(target, 1, previous=before)
    assert (after.reused, after.measurements) == (2, before.measurements)
    assert not {c.fact for c in after.costs} & DEAR
    write_lines(influxd.url, target.databases[0], iter([f"a,host=new v=1 {round(NOW.timestamp()) * 10**9}"]))
    again = _collected(target, 1, previous=before)
    assert again.reused == 0
    assert again.measurements[0].series is not None
    assert again.measurements[0].series.value == 4


@pytest.mark.parametrize(("age", "taken"), [(None, True), (1, False), (7, True)])
def test_listing_of_an_index_is_taken_over_if_no_series_came_in_a_week(age: int | None, taken: bool) -> None:
    """As many tenants may have left as came, and the number of series is the same."""
    days = [NOW.date() - timedelta(days=n) for n in (40, *([] if age is None else [age]))]
    arrivals = Arrivals(days[-1], days[0], days[0], 20, tuple(SeriesSince(day, 60) for day in days))
    source = a_source(as_of=NOW - timedelta(hours=20))
    series = Count(120, source)
    before = a_measurement(
        "a", series=120, arrivals=arrivals, fingerprint="f", fingerprint_as_of=NOW, tags=(), fields=(), rows=None
    )
    before = dataclasses.replace(before, series=series)
    today = dataclasses.replace(before, series=None, arrivals=None)
    draft = Draft(today, is_indexed=True, previous=before)
    assert take_over(draft, Window(NOW - timedelta(days=30), NOW), timedelta(days=7)).reused is taken


def test_measurements_beyond_the_budget_do_not_keep_the_others_from_reuse(target: Target) -> None:
    tight = target.model_copy(update={"budget": target.budget.model_copy(update={"max_measurements": 1})})
    before = _collected(tight)
    assert before.gaps
    after = _collected(tight, 1, previous=before)
    assert (after.reused, after.measurements, after.gaps) == (1, before.measurements, before.gaps)


def test_value_sets_only_of_what_was_listed_whole(target: Target) -> None:
    """A listing taken over, or broken off, is no observation: nothing is read as gone."""
    memory = Memory()
    before = _collected(target, memory=memory)
    _append(target, "a")
    after = _collected(target, 1, previous=before, memory=memory)
    a, b = after.measurements
    assert a.arrivals is not None
    assert (a.arrivals.new_series, a.arrivals.before) == (1, NOW.date())
    assert a.tags[0].over_time is not None
    assert (a.tags[0].over_time.new_values, a.tags[0].over_time.examples) == (1, ("new",))
    assert b.arrivals == before.measurements[1].arrivals
    assert b.arrivals is not None
    known = dict(memory.sets)
    assert len(known) == 4

    few = target.model_copy(update={"budget": target.budget.model_copy(update={"max_listed": 2})})
    broken = _collected(few, 2, memory=memory)
    assert {gap.fact for gap in broken.gaps} >= {"series_listing"}
    assert memory.sets == known
    assert [m.arrivals for m in broken.measurements] == [None, None]

    sampling = target.model_copy(update={"budget": target.budget.model_copy(update={"max_series": 1})})
    sampled = _collected(sampling, 3, memory=memory)
    assert {m.series.source.how for m in sampled.measurements if m.series} == {How.ESTIMATE}
    assert memory.sets == known
    assert [m.arrivals for m in sampled.measurements] == [None, None]


def _run(target: Target, *statements: str) -> None:
    with duckdb.connect(target.url.get_secret_value().removeprefix("duckdb:///")) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.full
def test_past_days_are_neither_reused_nor_a_source_of_reuse(tmp_path: Path) -> None:
    """Nothing is written between the audits, and each day has a source of rows of its own."""
    rows = [Row(NOW - timedelta(days=d, minutes=1), {"id": f"u{d}"}, {"v": 1.0}) for d in range(15)]
    target = write(Dataset([Table("t", ("id",), {"v": "float"}, rows, key=("time", "id"))]), "duckdb", tmp_path / "x")
    previous, counted = None, []
    for d in range(14, -1, -1):
        previous = _collected(target, -d, previous=previous)
        assert previous.reused == 0
        counted.append(previous.measurements[0].series and previous.measurements[0].series.value)
    assert counted == list(range(1, 16))
    # Among the fingerprints only that of the present vouches for its figures.
    past, present = _collected(target, -1), _collected(target)
    assert [m.fingerprint_as_of for m in (*past.measurements, *present.measurements)] == [None, NOW]


def test_rows_that_lay_in_the_future_enter_the_window(target: Target) -> None:
    """Forecasts, or rows written while the audit ran: with them the same table is another one a day later."""
    _run(target, f"INSERT INTO a SELECT TIMESTAMP '{NOW:%Y-%m-%d %H:%M:%S}' + INTERVAL 3 HOUR, 'later', 1")
    before = _collected(target)
    after = _collected(target, 1, previous=before)
    assert [m.later_rows for m in before.measurements] == [True, False]
    assert after.reused == 1
    assert after.measurements[0].series is not None
    assert after.measurements[0].series.value == 4


@pytest.mark.parametrize("key", [("time", "host"), ("host", "time")])
@pytest.mark.parametrize("ahead", [-1, 0, 3600])
@pytest.mark.parametrize("written_table", sorted(SHARE_SQL | {"greptimedb"}), indirect=True)
def test_rows_after_the_window_are_noted_where_figures_are_taken_over(
    written_table: Writer, key: tuple[str, ...], ahead: int
) -> None:
    end = NOW.replace(microsecond=0)
    rows = [Row(t, {"host": "h"}, {"v": 1.0}) for t in (*times(3, end=end), end + timedelta(seconds=ahead))]
    target = written_table(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=key)]))
    (t,) = collected(target, now=end).measurements
    assert (t.rows and t.rows.value) == (4 if ahead < 0 else 3)
    # On SQLite nothing cheap says whether a table has changed, and nothing is ever taken over.
    assert t.later_rows is (ahead >= 0 if ENGINES[written_table.engine].enforces_types else None)
    (past,) = collected(target, now=end - timedelta(minutes=2, days=1)).measurements
    assert past.later_rows is None


def test_rows_leave_the_window_of_a_table_that_is_not_written_to(target: Target) -> None:
    short = target.model_copy(update={"window": timedelta(days=2)})
    _run(short, f"INSERT INTO a SELECT TIMESTAMP '{NOW:%Y-%m-%d %H:%M:%S}' - INTERVAL 40 HOUR, 'early', 1")
    before = _collected(short)
    after = _collected(short, 1, previous=before)
    assert after.reused == 1
    assert after.measurements[0].series is not None
    assert after.measurements[0].series.value == 3
    # Once all rows have left, nothing is known of the tables but that: it is looked again each time.
    empty = _collected(short, 3, previous=after)
    assert empty.reused == 0
    assert {g.reason for g in empty.gaps} == {Reason.INCONSISTENT}
    assert _collected(short, 4, previous=empty).reused == 0


@pytest.mark.parametrize("database", ["main", None])
def test_figures_that_were_contradicted_together_are_measured_again(target: Target, database: str | None) -> None:
    before = _collected(target)
    gap = Gap("series_listing", Reason.INCONSISTENT, "5 series listed is not 7", database)
    assert _collected(target, 1, previous=before).reused == 2
    assert _collected(target, 1, previous=dataclasses.replace(before, gaps=(gap,))).reused == 0


def test_retention_deletes_as_many_rows_as_a_load_brings(target: Target) -> None:
    before = _collected(target)
    _run(target, "DELETE FROM a WHERE host = 'h0'", "INSERT INTO a SELECT time, 'new', 1 FROM b WHERE host = 'h0'")
    _run(target, "CHECKPOINT")
    after = _collected(target, 1, previous=before)
    assert after.reused == 1
    assert set(after.measurements[0].tags[0].sample) == {"h1", "h2", "new"}


@pytest.mark.parametrize("change", ["DELETE FROM a WHERE host = 'h0'", "UPDATE a SET host = 'x' WHERE host = 'h0'"])
def test_rows_are_only_deleted_or_changed(target: Target, change: str) -> None:
    before = _collected(target)
    _run(target, change)
    after = _collected(target, 1, previous=before)
    assert after.reused == 1
    assert "h0" not in after.measurements[0].tags[0].sample


def _a_draft(**changes: Any) -> Draft:
    columns = (Column("time", "TIMESTAMP", 1), Column("host", "VARCHAR", 2), Column("v", "DOUBLE"))
    own = {"columns": columns, "policies": ("autogen",)}
    known = {"tags": (a_tag("host"),), "fields": (a_field("v", ("float",)),)}
    of_draft = own | {name: value for name, value in changes.items() if name in own}
    of_measurement = known | {name: value for name, value in changes.items() if name in known}
    return Draft(a_measurement("a", **of_measurement), **of_draft)


def _fingerprint_of(draft: Draft, state: int | None, settings: str) -> str:
    return _fingerprint(draft, draft.policies, state, settings)


@pytest.mark.parametrize(
    "changed",
    [
        {"columns": (Column("time", "TIMESTAMP", 1), Column("host", "VARCHAR"), Column("v", "DOUBLE"))},
        {"columns": (Column("time", "TIMESTAMP", 1), Column("host", "VARCHAR", 2), Column("v", "FLOAT"))},
        {"columns": (Column("time", "TIMESTAMP", 1), Column("host", "VARCHAR", 2), Column("w", "DOUBLE"))},
        {"tags": (a_tag("host"), a_tag("rack"))},
        {"tags": ()},
        {"fields": (a_field("v", ("float", "string")),)},
        {"fields": (a_field("w", ("float",)),)},
        {"policies": ("autogen", "raw")},
    ],
    ids=["key", "type", "name", "a tag more", "a tag less", "type of a field", "field", "policy"],
)
def test_any_change_of_the_schema_makes_another_fingerprint_of(changed: dict[str, Any]) -> None:
    """Also where as many rows or series are there as before: figures of another schema are not taken over."""
    assert _fingerprint_of(_a_draft(**changed), 7, '["s"]') != _fingerprint_of(_a_draft(), 7, '["s"]')


def test_a_fingerprint_stands_for_the_state_and_the_settings() -> None:
    before = _fingerprint_of(_a_draft(), 7, '["30 days"]')
    assert before == _fingerprint_of(_a_draft(), 7, '["30 days"]')
    assert len(before) == 16
    assert _fingerprint_of(_a_draft(), 8, '["30 days"]') != before
    assert _fingerprint_of(_a_draft(), 7, '["7 days"]') != before
    assert _fingerprint_of(_a_draft(), None, '["30 days"]') == "", "nothing cheap says whether it has moved"
    in_order, in_another = (_a_draft(tags=tuple(map(a_tag, keys))) for keys in ("ab", "ba"))
    assert _fingerprint_of(in_another, 7, "[]") == _fingerprint_of(in_order, 7, "[]")


def test_the_window_is_configured_anew(target: Target) -> None:
    before = _collected(target)
    after = _collected(target.model_copy(update={"window": timedelta(days=7)}), 1, previous=before)
    assert after.reused == 0


def test_index_of_the_present_is_no_observation_of_a_past_day(influxd: Influxd) -> None:
    """All its series would count as there on that day already, and none as new since."""
    target, memory = write(_dataset(), "influxdb1", influxd.url), Memory()
    past = _collected(target, -5, memory=memory)
    assert [m.arrivals for m in past.measurements] == [None, None]
    assert memory.sets == {}
    # The night after a day still shows it.
    _collected(target, -0.9, memory=memory)
    assert len(memory.sets) == 4


def test_queries_that_are_not_listed_anymore_are_kept() -> None:
    def of(*names: str) -> tuple[StoredQuery, ...]:
        return tuple(StoredQuery(name, f"SELECT {name}", None, None, database="d") for name in names)

    previous = a_profile(stored_queries=of("a", "b"), ended_queries=of("c", "d"))
    assert ended_queries(of("b", "d"), previous) == of("c", "a")
    # If they cannot be listed, nobody knows, and the next audit still does.
    assert ended_queries(None, previous) == of("c", "d", "a", "b")
    assert ended_queries((), None) == ()
    many = of(*(f"q{n}" for n in range(150)))
    assert ended_queries((), dataclasses.replace(previous, stored_queries=many)) == many[50:]
