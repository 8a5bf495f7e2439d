"""TAG008: numbers, times and positions as dimensions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import NOW, a_measurement, a_profile, a_source, a_tag
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, dataset, table, with_steps
from tsaudit.engines.timestream.rules.typed_value_in_dimension import typed_value_in_dimension as rule
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import TagChanges
from tsaudit.model.subject import Subject

VEHICLES = [{"vehicle": f"car-{i:03}", "latitude": f"{48 + i / 7:.4f}"} for i in range(20)]

CASES = (
    Case(
        breaks=dataset(table("vehicles", VEHICLES)),
        keeps=dataset(
            table(
                "vehicles",
                [{"vehicle": tags["vehicle"]} for tags in VEHICLES],
                {"latitude": "float", "sent": "time"},
                lambda s, r: {"latitude": 48 + s / 7, "sent": NOW},
            )
        ),
        subject=Subject("", "vehicles", "latitude"),
        main_contributor="latitude",
    ),
    Case(
        breaks=dataset(
            table("requests", [{"host": f"web-{i}", "sent": f"2026-03-30T05:{i:02}:00Z"} for i in range(9)])
        ),
        keeps=devops("multi"),
        subject=Subject("", "requests", "sent"),
        main_contributor="sent",
    ),
)


def _findings(key: str, values: int, sample: tuple[str, ...], **changes: Any) -> tuple[Finding, ...]:
    known: dict[str, Any] = {"by": ("host",), "sources": 20, "changing": 20, "pairs": 500, "changes": 400}
    known |= {"by_chance": 450.0, "values": values, "shared": 4, "instants": 2000, "clashes": 0, "roughness": None}
    seen = TagChanges(source=a_source(), **(known | changes))
    tag = a_tag(key, values, sample, changes=(seen,))
    return with_steps(rule, a_profile(a_measurement(tags=(tag,)), engine="timestream"))


def test_least_values_when_numbers_are_whole_or_not() -> None:
    fractions = ("1.5", "2.25", "3.75")
    assert not _findings("load", 3, fractions)
    (finding,) = _findings("load", 4, (*fractions, "4.5"))
    assert "load=... (DOUBLE)" in finding.fix
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    whole = tuple(str(i) for i in range(30))
    assert not _findings("level", 29, whole[:29])
    (finding,) = _findings("level", 30, whole)
    assert (
        finding.message == "Dimension level contains whole numbers as text: no query can compare them without a cast."
    )


@pytest.mark.parametrize("changes", [{"changing": 9}, {"clashes": 21}, {"by": ()}, {"changing": 0, "sources": 0}])
def test_silence_when_whole_numbers_name_a_source(changes: dict[str, Any]) -> None:
    """The number of a store: each host has one, or each product is in many."""
    whole = tuple(str(i) for i in range(40))
    assert _findings("store", 40, whole)
    assert not _findings("store", 40, whole, **changes)
    assert _findings("price", 40, tuple(f"{i}.5" for i in range(40)), **changes)


@pytest.mark.parametrize("key", ["device_id", "port", "zip", "vehicleId", "version", "imei", "serial_number", "msisdn"])
def test_silence_when_numbers_name_a_thing(key: str) -> None:
    assert not _findings(key, 64, tuple(str(8000 + i) for i in range(64)))


def test_positions_when_they_are_whole_numbers() -> None:
    (finding,) = _findings("geo_lat", 5, tuple(str(40 + i) for i in range(5)))
    assert "contains positions as text" in finding.message


def test_silence_when_values_are_words_or_unknown() -> None:
    assert not _findings("host", 64, tuple(f"web-{i}" for i in range(64)))
    assert not _findings("flag", 2, ("true", "false"))
