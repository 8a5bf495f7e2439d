"""Names made anew for each period, told from names that only look like it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.analysis.shapes.periods import Period, period_families

FIRST = date(2012, 1, 1)
DAYS = [FIRST + timedelta(days=i) for i in range(120)]


@pytest.mark.parametrize(
    ("form", "template", "count"),
    [
        ("users_%Y_%m_%d", "users_{day}", 120),
        ("users-%Y-%m-%d", "users-{day}", 120),
        ("u.%Y.%m.%d.v2", "u.{day}.v2", 120),
        ("u%Y%m%d", "u{day}", 120),
        ("u_%d-%m-%Y", "u_{day}", 120),
        ("u_%m-%d-%Y", "u_{day}", 120),
        ("temperatures.%B-%d-%Y", "temperatures.{day}", 120),
        ("users_%Gw%V", "users_{week}", 18),
        ("users_%G_w%V", "users_{week}", 18),
        ("users-%G-W%V", "users-{week}", 18),
        ("users_%Gkw%V", "users_{week}", 18),
        ("weekly-%G-%V", "weekly-{week}", 18),
        ("users_%Y_%m", "users_{month}", 4),
        ("users%Y%m", "users{month}", 4),
        ("users_%Y_%b", "users_{month}", 4),
        ("%b_%Y_users", "{month}_users", 4),
        ("u_%d%m%Y", "u_{day}", 120),
        ("u_%m%d%Y", "u_{day}", 120),
        ("u%d.%m.%y", "u{day}", 120),
        ("u_%m-%d-%y", "u_{day}", 120),
        ("u_%y_%m_%d", "u_{day}", 120),
        ("u_%y%m%d", "u_{day}", 120),
        ("u_y%Ym%md%d", "u_{day}", 120),
        ("events_y%Ym%m", "events_{month}", 4),
        ("events_%Ym%m", "events_{month}", 4),
        (".ds-logs-%Y.%m.%d-000001", ".ds-logs-{day}-000001", 120),
    ],
)
def test_family_when_names_are_made_from_dates(form: str, template: str, count: int) -> None:
    (family,) = period_families(sorted({day.strftime(form) for day in DAYS}))
    assert (family.template, len(family.members)) == (template, count)
    assert family.unit in family.template
    assert [m.start for m in family.members] == sorted(m.start for m in family.members)
    assert all(a.end == b.start for a, b in zip(family.members, family.members[1:], strict=False))
    first = FIRST - timedelta(days=FIRST.weekday()) if family.unit == "week" else FIRST
    assert family.members[0].start.date() == first


@pytest.mark.parametrize(
    ("names", "template"),
    [
        ([f"u_2012_1_{d}" for d in range(1, 20)], "u_{day}"),
        ([f"u_20121003{h:02}" for h in range(1, 20)], "u_{hour}"),
        ([f"u_2012_10_03T{h:02}" for h in range(1, 20)], "u_{hour}"),
        ([f"sales_{y}Q{q}" for y in (2011, 2012) for q in (1, 2, 3, 4)], "sales_{quarter}"),
        ([f"archive_{y}" for y in range(2010, 2015)], "archive_{year}"),
        ([f"orders_{y}{m:02}" for y in (23, 24) for m in range(1, 13)], "orders_{month}"),
        ([f"orders_{y}-{m:02}" for y in (23, 24) for m in range(1, 13)], "orders_{month}"),
        ([f"u_2012_10_{d:02}_2012_10_{d + 1:02}" for d in range(1, 20)], "u_{day}_{day}"),
    ],
)
def test_family_when_names_are_of_other_periods(names: list[str], template: str) -> None:
    assert [f.template for f in period_families(names)] == [template]


@pytest.mark.parametrize(
    "names",
    [
        ["order_201210"],
        ["order_201210", "order_201305", "order_201907"],
        ["order_201210", "order_198811", "order_203001", "order_200012"],
        ["sku_20121003", "sku_20150101", "sku_20180101"],
        ["archive_2012", "archive_2013"],
        ["a_2012_13", "a_2013_14", "a_2014_15"],
        ["a_20129999", "a_20129998", "a_20129997"],
        ["sensor_2010x", "sensor_2011x", "sensor_2012x"],
        ["part_0001", "part_0002", "part_0003"],
        # Numbers of orders and rooms, some of which could be read as times.
        [f"order_{n}" for n in range(201201, 201260)],
        [f"room_{n}" for n in range(1800, 2100)],
        [f"users_2012_{w:02}" for w in range(1, 53)],
        # Short years prove nothing while they do not go on to the next.
        [f"room_{n}" for n in range(1801, 1813)],
        [f"port_{n}" for n in range(8001, 8013)],
        [f"sku_{n}" for n in range(100101, 100132)],
        [f"order_{n}" for n in range(240101, 240401)],
        [f"rack_{a:02}_{b:02}_{c:02}" for a in range(1, 5) for b in range(1, 5) for c in range(1, 21)],
        [f"dev_{a:02}_{b:02}" for a in range(1, 13) for b in range(1, 13)],
    ],
)
def test_no_family_when_names_only_look_like_dates(names: list[str]) -> None:
    assert period_families(names) == []


def test_families_side_by_side_have_one_stem() -> None:
    forms = ("users_%Y_%m_%d", "users_%Gw%V", "users_%Y_%m", "logins_%Y_%m_%d")
    names = {day.strftime(form) for form in forms for day in DAYS} | {"users", "order_201210"}
    found = {f.template: f for f in period_families(sorted(names))}
    assert {t: f.stem for t, f in found.items()} == {
        "users_{day}": "users",
        "users_{week}": "users",
        "users_{month}": "users",
        "logins_{day}": "logins",
    }
    assert found["users_{month}"].members[-1] == Period(
        "users_2012_04", datetime(2012, 4, 1, tzinfo=UTC), datetime(2012, 5, 1, tzinfo=UTC)
    )


def test_names_of_a_time_to_come_are_of_no_family() -> None:
    rooms = [f"room_{n}" for n in range(2001, 2041)]
    assert len(period_families(rooms)) == 1
    assert period_families(rooms, now=datetime(2012, 6, 1, tzinfo=UTC)) == []
    # A few periods may be made before they begin.
    months = [f"users_2012_{m:02}" for m in range(1, 13)]
    assert len(period_families(months, now=datetime(2012, 2, 1, tzinfo=UTC))) == 1


def test_name_that_is_no_date_leaves_a_family_what_it_is() -> None:
    names = [day.strftime("users_%Y_%m_%d") for day in DAYS]
    (family,) = period_families([*names, "users_0000_00_00"])
    assert len(family.members) == 120


@given(st.lists(st.text(alphabet="abu_-.0123456789wq", max_size=24), max_size=30))
def test_no_name_is_in_two_families(names: list[str]) -> None:
    members = [period.name for family in period_families(names) for period in family.members]
    assert len(members) == len(set(members))
    assert set(members) <= set(names)
