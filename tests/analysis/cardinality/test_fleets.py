"""Things that stay, against IDs of events."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import pytest

from tests.builders import PASSING, RECURRING, a_count, a_measurement, a_tag, a_turnover, values_over_time
from tsaudit.analysis.cardinality.fleets import (
    is_churn,
    is_fleet,
    is_written_once,
    keeps_coming,
    names_call,
    ongoing,
    recurs,
)
from tsaudit.analysis.columns.columns import names_device
from tsaudit.model.columns import Reports, Turnover


@pytest.mark.parametrize(
    "key",
    [
        *("meter_id", "dev_eui", "device", "deviceId", "serial", "serial_number", "mac", "imei", "vin", "sensor_name"),
        *("inverter_sn", "vehicle", "charger_uid", "hwid", "mac_address"),
    ],
)
def test_names_of_devices(key: str) -> None:
    assert names_device(key.replace("Id", "_id"))


@pytest.mark.parametrize(
    "key",
    [
        *("request_id", "trace_id", "order_id", "id", "user_id", "session", "pod", "host", "container_id", "job_id"),
        *("instance", "message", "url", "machination", "email", "device_status", "meter_reading"),
    ],
)
def test_names_of_what_may_pass(key: str) -> None:
    assert not names_device(key)


@pytest.mark.parametrize(
    ("key", "seen", "known", "fleet"),
    [
        ("meter_id", None, None, True),
        ("request_id", None, None, False),
        # What was read overrules the name, and listings of a week overrule both.
        ("request_id", RECURRING, None, True),
        ("meter_id", PASSING, None, False),
        ("meter_id", RECURRING, "unbounded", False),
        ("request_id", PASSING, "bounded", True),
        ("meter_id", None, "unknown", True),
    ],
)
def test_listings_count_more_than_rows_and_rows_more_than_names(
    key: str, seen: Turnover | None, known: str | None, fleet: bool
) -> None:
    over_time = values_over_time(known) if known else None
    tag = a_tag(key, 2000, turnover=seen, reports=Reports(2.0, 48.0, 0.0), over_time=over_time)
    assert is_fleet(tag) is fleet
    # What was read once could not be seen again.
    once = replace(tag, reports=Reports(1.9, 48.0, 0.0))
    assert is_fleet(once) is (fleet or (seen is PASSING and known is None))


@pytest.mark.parametrize(("rows", "read", "once"), [(2_000, 1.0, True), (8_000, 4.0, True), (8_000, 1.0, False)])
def test_a_report_may_be_several_rows(rows: int, read: float, once: bool) -> None:
    """One for each measure name. Rows that were not read may contain the same values again."""
    tag = a_tag("message", 2_000, reports=Reports(1.0, 48.0, 0.0, read))
    assert is_written_once(a_measurement("t", tags=(tag,), rows=a_count(rows)), tag) is once


GROWING: Final = a_turnover(1_000, 1_000, 60, hours=5.0)
"""Of what is repeated until a restart, and added to."""


@pytest.mark.parametrize(
    ("key", "lasting", "seen", "known", "churn"),
    [
        ("unit", 1.0, PASSING, "unbounded", True),
        ("unit", 0.5, PASSING, None, True),
        # Sessions are over in minutes, requests at once.
        ("unit", 0.4, PASSING, "unbounded", False),
        ("unit", 1.0, RECURRING, None, False),
        ("unit", 1.0, PASSING, "bounded", False),
        # Nothing ends: these do not take the place of others.
        ("unit", 1.0, GROWING, None, False),
        # A job of a minute is a source, and a request that is repeated for a day is none.
        ("pod_name", 0.0, PASSING, None, True),
        ("container_id", 0.0, GROWING, "unbounded", True),
        ("request_id", 1.0, PASSING, None, False),
        ("endpoint", 1.0, GROWING, None, False),
    ],
)
def test_sources_that_others_replace_are_churn(
    key: str, lasting: float, seen: Turnover, known: str | None, churn: bool
) -> None:
    over_time = values_over_time(known) if known else None
    reports = Reports(per_value=12.0, hours=48.0, lasting_ratio=lasting)
    seen = replace(seen, lasting_ratio=lasting)
    assert is_churn(a_tag(key, 2000, turnover=seen, over_time=over_time, reports=reports)) is churn


@pytest.mark.parametrize(
    ("values", "call"),
    [
        (("/shop/17/cart", "/shop/18/cart", "/health/live"), True),
        (("/kubepods/burstable/pod7a", "/docker/4be1/x", "/system.slice/sshd.service"), False),
        (("eu", "us"), False),
    ],
)
def test_paths_name_calls_unless_they_are_those_of_containers(values: tuple[str, ...], call: bool) -> None:
    assert names_call(a_tag("id", 3, values)) is call


@pytest.mark.parametrize(
    ("key", "seen", "again"),
    [
        # 60 new ones in less than three hours, beside 1,000 that all go on.
        ("page", a_turnover(1_000, 1_000, 60, hours=8.0), False),
        # Machines that somebody installs.
        ("sensor_id", a_turnover(1_000, 1_000, 60, hours=8.0), True),
        ("hostname", a_turnover(1_000, 1_000, 60, hours=8.0), True),
        # As many as by chance, of a fleet of which a tenth is rarely heard of; or in a month.
        ("page", a_turnover(1_000, 900, 60, hours=8.0), True),
        ("page", a_turnover(1_000, 1_000, 60, hours=3_000.0), True),
        ("page", a_turnover(1_000, 1_000, 60, hours=8.0, is_step=True), True),
    ],
)
def test_what_adds_up_does_not_recur(key: str, seen: Turnover, again: bool) -> None:
    assert recurs(a_tag(key, 2000, turnover=seen)) is again


@pytest.mark.parametrize(
    ("seen", "part"),
    [
        # One source with many values at a time adds only those that come.
        (a_turnover(1_000, 1_000, 50, pairs=1_150), 1.0),
        (a_turnover(1_000, 1_000, 50, pairs=1_150, going_on=10), 0.2),
        (a_turnover(1_000, 1_000, 0, pairs=1_000), 0.0),
        # Nothing new in a few hours is no rest.
        (a_turnover(1_000, 1_000, 0, pairs=1_000, hours=5.0), None),
        (a_turnover(64, 60, 2, by=None), 0.0),
        # None is new, but none of those that were there comes again either.
        (a_turnover(64, 1, 2, by=None), None),
        (a_turnover(64, 0, 60, by=None), 1.0),
        (None, None),
        # Many sources with a value each.
        (a_turnover(100, 0, 10, sources=100, pairs=190), pytest.approx(1 / 3)),
    ],
)
def test_part_of_the_growth_that_goes_on_counts_what_was_added(seen: Turnover | None, part: float | None) -> None:
    assert ongoing(a_tag("firmware", 2000, turnover=seen)) == part


def test_nothing_is_churn_without_rows() -> None:
    assert not is_churn(a_tag("pod", 2000))


@pytest.mark.parametrize(("again", "by", "coming"), [(50, ("unit",), True), (20, None, True), (21, None, False)])
def test_rows_of_a_few_series_miss_what_occurs_again(again: int, by: tuple[str, ...] | None, coming: bool) -> None:
    assert keeps_coming(a_tag("dst", 200, turnover=a_turnover(100, again, 100, by=by))) is coming


@pytest.mark.parametrize(
    ("values", "first", "again", "new", "coming"),
    [
        # Of 120 nodes that jobs run on, 20 and 15 have one in common by chance, and rarely none: it may be all of them.
        (120, 20, 1, 14, False),
        (120, 20, 3, 13, False),
        (400, 20, 0, 20, False),
        # Of 180, 30 and 30 have five in common.
        (180, 30, 0, 30, True),
        (9_000, 9_000, 1_800, 9_000, True),
    ],
)
def test_few_of_many_have_few_values_in_common(values: int, first: int, again: int, new: int, coming: bool) -> None:
    seen = a_turnover(first, again, new, by=None)
    assert keeps_coming(a_tag("host", values, turnover=seen)) is coming
    assert keeps_coming(a_tag("host", values, turnover=replace(seen, by=()))) is True
