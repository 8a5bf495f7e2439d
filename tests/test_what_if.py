"""What-if on real databases of each engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import NOW
from tests.collecting import collected, writer_to
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.traits import KEEP_DOCUMENTS, SPEAK_INFLUXQL
from tests.servers import Influxd
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.influx import row_slice
from tsaudit.engines.registry import ENGINES
from tsaudit.what_if import Collisions, Left, TagReduction, UnknownNameError, answer

BY_USER = TagReduction(frozenset({"user_id"}))
BY_HOST = TagReduction(frozenset({"host"}))


def cpu() -> Table:
    """Twelve users, three on each of four hosts, all at ten instants: 120 rows, 12 series."""
    rows = [
        Row(at, {"host": f"h{user % 4}", "region": "eu", "user_id": f"u{user}"}, {"usage": user + i / 7})
        for i, at in enumerate(times(10))
        for user in range(12)
    ]
    tags = ("host", "region", "user_id")
    return Table("cpu", tags=tags, fields={"usage": "float"}, rows=rows, key=("time", *tags))


@pytest.fixture(params=sorted(ENGINES.keys() - KEEP_DOCUMENTS))
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    return writer_to(request.param, request, tmp_path)(Dataset([cpu()]))


def crowd(influxd: Influxd, users_per_host: int, *, together: bool) -> Target:
    """1,200 users on InfluxDB, so that not all are read; they write at the same instant, or one after the other."""
    rows = [
        Row(at, {"host": f"h{user // users_per_host}", "user_id": f"u{user}"}, {"usage": 1.0})
        for user, at in enumerate(times(1) * 1200 if together else times(1200))
    ]
    table = Table("cpu", tags=("host", "user_id"), fields={"usage": "float"}, rows=rows)
    return write(Dataset([table]), "influxdb1", influxd.url)


@pytest.mark.parametrize("users_per_host", [3, 600])
def test_collisions_of_many_series_are_those_of_all(users_per_host: int, influxd: Influxd) -> None:
    target = crowd(influxd, users_per_host, together=True)
    found = answer(target, None, "cpu", BY_USER, with_collisions=True, now=NOW)
    hosts = 1200 // users_per_host
    assert found.left == Left(1200, hosts)
    assert found.collisions == Collisions(1200, 0, 1200 - hosts)
    assert found.collisions_how.startswith("exact: all 1,200 series, 2026-03-01 06:00 to ")
    assert next(cost.rows for cost in found.costs if cost.fact == "row_slice") == 1200


def test_no_collision_among_all_series_is_a_figure(influxd: Influxd) -> None:
    target = crowd(influxd, 600, together=False)
    found = answer(target, None, "cpu", BY_USER, with_collisions=True, now=NOW)
    assert found.collisions == Collisions(1200, 0, 0)


def test_collisions_of_more_series_than_may_be_read(influxd: Influxd, monkeypatch: pytest.MonkeyPatch) -> None:
    """No tag but the one to drop divides them."""
    monkeypatch.setattr(row_slice, "MOST_SERIES", 1000)
    target = crowd(influxd, 1200, together=True)
    found = answer(target, None, "cpu", BY_USER, with_collisions=True, now=NOW)
    assert found.collisions is None
    assert found.collisions_how == "not measured: there are too many series to read rows of all"


def test_series_of_which_none_become_one_cannot_collide(influxd: Influxd) -> None:
    found = answer(crowd(influxd, 3, together=True), None, "cpu", BY_HOST, with_collisions=True, now=NOW)
    assert found.collisions == Collisions(0, 0, 0)
    assert found.collisions_how == "exact: no two series would become one"


@pytest.fixture
def sqlite(tmp_path: Path) -> Callable[..., Target]:
    return lambda **settings: write(Dataset([cpu()]), "sqlite", tmp_path / "b.db", **settings)


def test_one_tag_when_dropped_is_answered_from_the_snapshot_alone(target: Target) -> None:
    profile = collected(target)
    gone = target.model_copy(update={"url": "nowhere"})
    user, host = (answer(gone, profile, "cpu", change, now=NOW) for change in (BY_USER, BY_HOST))
    assert (user.left, user.costs) == (Left(12, 4), ())
    assert user.left_how.startswith(f"exact, from the snapshot of {profile.day}, measured at 2026-03-31 06:00 UTC")
    assert ("rows from" in user.left_how) == (target.engine not in SPEAK_INFLUXQL)
    assert (user.collisions, host.left) == (None, Left(12, 12, ("user_id",), 1))


def test_several_tags_when_dropped_are_listed_live(target: Target) -> None:
    found = answer(target, None, "cpu", TagReduction(frozenset({"host", "user_id"})), now=NOW)
    assert found.left == Left(12, 1)
    assert found.left_how.startswith("exact, live")
    assert next(c.rows for c in found.costs if c.fact == "series_listing") == 12


def test_buckets_are_counted_on_the_listing(target: Target) -> None:
    found = answer(target, collected(target), "cpu", TagReduction(buckets={"user_id": 2}), now=NOW)
    assert found.left is not None
    assert 4 <= found.left.after <= 8


def test_points_collide_when_the_tag_that_tells_them_apart_goes(target: Target) -> None:
    found = answer(target, None, "cpu", BY_USER, with_collisions=True, now=NOW)
    assert found.collisions == Collisions(120, 0, 80)
    assert found.collisions_how.startswith("exact: all 120 rows")
    assert answer(target, None, "cpu", BY_HOST, with_collisions=True, now=NOW).collisions == Collisions(120, 0, 0)


def test_collisions_when_the_budget_ends_are_sampled(sqlite: Callable[..., Target]) -> None:
    found = answer(sqlite(budget=Budget(max_rows=100)), None, "cpu", BY_USER, with_collisions=True, now=NOW)
    assert found.collisions is not None
    assert (found.collisions.rows, found.collisions.now) == (100, 0)
    assert found.collisions.after >= 60
    assert found.collisions_how.startswith("sampled: the newest 100 rows")


def test_series_beyond_the_budget_are_not_measured(sqlite: Callable[..., Target]) -> None:
    found = answer(sqlite(budget=Budget(max_listed=5)), None, "cpu", TagReduction(buckets={"host": 2}), now=NOW)
    assert found.left is None
    assert "raise budget.max_listed" in found.left_how


def test_series_beyond_the_ceiling_are_estimated(sqlite: Callable[..., Target]) -> None:
    found = answer(sqlite(budget=Budget(max_series=5)), None, "cpu", BY_USER, now=NOW)
    assert found.left is not None
    assert (found.left.after, found.left.after_error) == (4, None)
    assert found.left.now_error is not None
    assert abs(found.left.now - 12) < 4 * found.left.now_error
    assert found.left_how.startswith(f"estimated, live, standard error of now ± {found.left.now_error:,.0f}")


def test_collisions_when_no_row_is_in_the_window_are_not_none_found(target: Target) -> None:
    later = NOW.replace(year=NOW.year + 1)
    found = answer(target, None, "cpu", BY_USER, with_collisions=True, now=later)
    if ENGINES[target.engine].infers_roles:
        # A table whose rows are all older is measured in a window of its own.
        assert found.collisions is not None
        assert "no row is within the audit's window" in found.collisions_how
        return
    assert found.collisions is None
    assert found.collisions_how.startswith("not measured")


@pytest.mark.parametrize("name", ["cpu", "main/cpu"])
def test_a_whole_name_comes_before_one_behind_its_database(tmp_path: Path, name: str) -> None:
    """A measurement's own name may begin with that of its database and a slash."""
    tables = [replace(cpu(), name=table) for table in ("cpu", "main/cpu")]
    target = write(Dataset(tables), "sqlite", tmp_path / "paths.db")
    for profile in (None, collected(target)):
        assert answer(target, profile, name, BY_USER, now=NOW).measurement == name
    assert answer(target, None, f"main/{name}", BY_USER, now=NOW).measurement == "main/cpu"


def test_name_when_unknown_has_the_nearest_one_beside_it(target: Target) -> None:
    with pytest.raises(UnknownNameError, match="did you mean cpu"):
        answer(target, None, "cpus", BY_USER, now=NOW)
    for profile in (None, collected(target)):
        with pytest.raises(UnknownNameError, match="no tag `user`, did you mean user_id"):
            answer(target, profile, "cpu", TagReduction(frozenset({"user"})), now=NOW)


def test_server_when_it_does_not_answer_is_unreachable() -> None:
    target = Target(name="x", engine="influxdb1", url="http://127.0.0.1:9")
    with pytest.raises(ConnectorError):
        answer(target, None, "cpu", BY_USER)
