"""Things that stay, against IDs of events."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import PASSING, RECURRING, a_tag, a_turnover, values_over_time
from tsaudit.analysis.cardinality.fleets import is_churn, is_fleet, keeps_coming, names_device
from tsaudit.model.profile import Reports, Turnover


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


@pytest.mark.parametrize(
    ("lasting", "seen", "known", "churn"),
    [
        (1.0, PASSING, "unbounded", True),
        (0.5, PASSING, None, True),
        # Sessions are over in minutes, requests at once.
        (0.4, PASSING, "unbounded", False),
        (1.0, RECURRING, None, False),
        (1.0, PASSING, "bounded", False),
    ],
)
def test_sources_that_others_replace_are_churn(lasting: float, seen: Turnover, known: str | None, churn: bool) -> None:
    over_time = values_over_time(known) if known else None
    reports = Reports(per_value=12.0, hours=48.0, lasting_ratio=lasting)
    seen = replace(seen, lasting_ratio=lasting)
    assert is_churn(a_tag("pod", 2000, turnover=seen, over_time=over_time, reports=reports)) is churn


def test_nothing_is_churn_without_rows() -> None:
    assert not is_churn(a_tag("pod", 2000))


@pytest.mark.parametrize(("again", "by", "coming"), [(50, ("unit",), True), (20, None, True), (21, None, False)])
def test_rows_of_a_few_series_miss_what_occurs_again(again: int, by: tuple[str, ...] | None, coming: bool) -> None:
    assert keeps_coming(a_tag("dst", 2000, turnover=a_turnover(100, again, 100, by=by))) is coming
