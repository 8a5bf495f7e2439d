"""Flux of plans: what is shown is what was parsed, checked, and run.

`flux.json` holds each statement. All of them were parsed and type-checked, with the library's signatures, by the
language server 0.8.40, which is the server's own parser. Those that copy or count were also run, by the engine 0.50,
on given rows in place of a bucket; what they write is recorded in place of being written: what is in the group key is
the measurement and a tag, the rest fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tsaudit.engines.rendering import Place, renderers_of
from tsaudit.model.change import (
    Change,
    Inspect,
    MakeField,
    Merged,
    MergeMeasurements,
    Rename,
    SplitMeasurement,
)
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "flux.json").read_text(encoding="utf-8"))
ODD: Final = 'a "b" \\ ${c} / é, d=1'
"""A name of what strings of Flux take for something else."""
_MEASUREMENT: Final = a_measurement(
    ODD,
    database=ODD,
    tags=(a_tag("host"), a_tag(ODD), a_tag("a-b"), a_tag("load")),
    fields=(a_field("v"), a_field("n n"), a_field("alarm", ("string",))),
)
_DAYS: Final = [
    a_measurement(f"cpu_{host}", tags=(a_tag("core"),), fields=(a_field("value"),)) for host in ("web1", "web2")
]


REBUILT: Final = (
    MakeField(Subject(ODD, ODD), ODD),
    MakeField(Subject(ODD, ODD), "load", "float"),
    Rename(Subject(ODD, ODD), "a-b", "a_b"),
    Rename(Subject(ODD, ODD), "n n", "n_n"),
    Rename(Subject(ODD, ODD), "", "new"),
    SplitMeasurement(Subject(ODD, ODD), f"{ODD} events", ("alarm",)),
)


def _as_if_in_flux(measurements: list[Measurement], *changes: Change) -> list[tuple[str, str]]:
    """What would be shown if nothing were left to a program: the recorded rows have no point that Flux would lose."""
    with patch("tsaudit.engines.influxdb2.changes._beyond", return_value=[]):
        return list(_statements(measurements, *changes))


def _statements(measurements: list[Measurement], *changes: Change) -> Iterator[tuple[str, str]]:
    here = next((m for m in measurements if m.name == changes[0].at.measurement), None)
    place = Place(a_profile(*measurements, engine="influxdb2"), changes[0].at.database, here)
    renderers = renderers_of("influxdb2")
    for render in {renderers[type(change)]: None for change in changes}:
        for step in render(place, changes):
            if step.language == "flux":
                yield step.phase, step.text


def rendered() -> dict[str, str]:
    at, bucket = Subject(ODD, ODD), Subject(ODD, "")
    whats = ("new values", "schema")
    found = {
        "one measurement": _as_if_in_flux([_MEASUREMENT], *REBUILT),
        "names that hold data": _statements(
            _DAYS,
            MergeMeasurements(
                Subject("main", ""),
                "cpu",
                "cpu_{host}",
                tuple(Merged(m.name, (("host", m.name.removeprefix("cpu_")),), "usage") for m in _DAYS),
            ),
        ),
        "looks": (
            pair
            for what in (
                *(Inspect(at, what, column=ODD) for what in whats),
                Inspect(bucket, "measurements"),
                Inspect(bucket, "customers", column=ODD),
                Inspect(bucket, "databases", values=(ODD, "(x")),
            )
            for pair in _statements([_MEASUREMENT], what)
        ),
    }
    return {
        f"{name}: {phase} {number}": text
        for name, pairs in found.items()
        for number, (phase, text) in enumerate(pairs, 1)
    }


def test_statements_are_those_that_were_parsed_and_run() -> None:
    assert rendered() == {name: run["text"] for name, run in RECORDED.items()}


def test_points_with_moved_fields_only_are_left_to_a_program() -> None:
    """A former tag of theirs is in neither copy in Flux: one has none of these points, the other no such field."""
    copies = [text for phase, text in _statements([_MEASUREMENT], *REBUILT) if phase == "copy"]
    assert len(copies) == 2
    assert not any("wideTo" in text or "filter(fn: (r) => r._field" in text for text in copies)


def test_none_was_refused() -> None:
    assert [name for name, run in RECORDED.items() if not run["parsed"] or "error" in run] == []


def test_nothing_was_lost() -> None:
    """What an expert expects: each value where the plan says, once; other measurements are not touched."""
    first, second = "2026-03-31T01:00:00Z", "2026-03-31T02:00:00Z"
    tags = {"_measurement": "new", "host": "a", "a_b": "q"}
    was_tags = {ODD: "p1", "load_text": "1.5"}
    assert _rows("one measurement: copy 1") == [
        (tags, {"_time": first, "v": "1", "n_n": "10"} | was_tags),
        (tags, {"_time": second, "v": "2"} | was_tags),
        # A tag that some points lack.
        ({"_measurement": "new", "host": "b"}, {"_time": first, "v": "3", ODD: "p2", "load_text": "2"}),
    ]
    moved = {"_measurement": f"{ODD} events", "host": "a", "a_b": "q"}
    assert _rows("one measurement: copy 2") == [(moved, {"_time": second, "alarm": "on"})]
    assert _rows("one measurement: check 3") == [
        ({"_field": "alarm"}, {"_value": "1"}),
        ({"_field": "n n"}, {"_value": "1"}),
        ({"_field": "v"}, {"_value": "3"}),
    ]
    for number in (1, 2):
        series = {"_measurement": "cpu", "_field": "usage", "core": "0"}
        # The tag is not in the group key; `to` writes all texts as tags.
        assert _rows(f"names that hold data: copy {number}") == [
            (series, {"_time": first, "_value": "1", "host": f"web{number}"}),
            (series, {"_time": second, "_value": "2", "host": f"web{number}"}),
        ]


def _rows(name: str) -> list[tuple[dict[str, str], dict[str, str]]]:
    return sorted(
        ((key, values) for key, values in RECORDED[name]["out"]),
        key=lambda r: (sorted(r[0].items()), sorted(r[1].items())),
    )
