"""Things that stay, against IDs of events."""

from __future__ import annotations

import pytest

from tests.builders import a_tag, values_over_time
from tsaudit.analysis.cardinality.fleets import is_churn, is_fleet, names_device
from tsaudit.model.profile import Reports


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
    ("key", "recurring", "known", "fleet"),
    [
        ("meter_id", None, None, True),
        ("request_id", None, None, False),
        # What was read overrules the name, and listings of a week overrule both.
        ("request_id", 0.9, None, True),
        ("meter_id", 0.1, None, False),
        ("meter_id", 0.9, "unbounded", False),
        ("request_id", 0.1, "bounded", True),
        ("meter_id", None, "unknown", True),
    ],
)
def test_listings_count_more_than_rows_and_rows_more_than_names(
    key: str, recurring: float | None, known: str | None, fleet: bool
) -> None:
    over_time = values_over_time(known) if known else None
    assert is_fleet(a_tag(key, 2000, recurring=recurring, over_time=over_time)) is fleet


@pytest.mark.parametrize(
    ("lasting", "recurring", "known", "churn"),
    [
        (1.0, 0.0, "unbounded", True),
        (0.5, 0.0, None, True),
        # Sessions are over in minutes, requests at once.
        (0.4, 0.0, "unbounded", False),
        (1.0, 0.9, None, False),
        (1.0, 0.0, "bounded", False),
    ],
)
def test_sources_that_others_replace_are_churn(
    lasting: float, recurring: float | None, known: str | None, churn: bool
) -> None:
    over_time = values_over_time(known) if known else None
    reports = Reports(per_value=12.0, hours=48.0, lasting_ratio=lasting)
    assert is_churn(a_tag("pod", 2000, recurring=recurring, over_time=over_time, reports=reports)) is churn


def test_nothing_is_churn_without_rows() -> None:
    assert not is_churn(a_tag("pod", 2000))
