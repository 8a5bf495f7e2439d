"""Flux of plans: what is shown is what was parsed, checked, and run.

`flux.json` holds each statement. All of them were parsed and type-checked, with the library's signatures, by the
language server 0.8.40, which is the server's own parser. Those that read a bucket were also run, by the engine 0.50, on
`GIVEN` in place of it, with its times as the range.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.builders import a_field, a_measurement, a_place, a_profile, a_tag
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import Change, Diagnose, LeaveOut, MakeField
from tsaudit.model.figures import Subject
from tsaudit.model.plan import Effect

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "flux.json").read_text(encoding="utf-8"))
ODD: Final = 'a "b" \\ ${c} / é, d=1'
"""A name of what strings of Flux take for something else."""
FIRST, SECOND = "2026-03-31T01:00:00Z", "2026-03-31T02:00:00Z"
TAGS: Final = {"host": "a", ODD: "p1", "a-b": "q", "load": "1.5"}
GIVEN: Final[list[dict[str, Any]]] = [
    {
        "measurement": ODD,
        "tags": TAGS,
        "field": "v",
        "type": "float",
        "points": [[FIRST, "1"], [SECOND, "2"]],
    },
    {"measurement": ODD, "tags": TAGS, "field": "n n", "type": "float", "points": [[FIRST, "10"]]},
    {"measurement": ODD, "tags": TAGS, "field": "alarm", "type": "string", "points": [[SECOND, "on"]]},
    # Tags that some points lack.
    {
        "measurement": ODD,
        "tags": {"host": "b", ODD: "p2", "load": "2"},
        "field": "v",
        "type": "float",
        "points": [[FIRST, "3"]],
    },
    {
        "measurement": ODD,
        "tags": {"host": "a", ODD: "p3", "a-b": "q", "load": "1.5"},
        "field": "v",
        "type": "float",
        "points": [["2026-03-31T03:00:00Z", "4"]],
    },
    {"measurement": "other", "tags": {"host": "z"}, "field": "v", "type": "float", "points": [[FIRST, "9"]]},
]


def rendered() -> dict[str, str]:
    at, bucket = Subject(ODD, ODD), Subject(ODD, "")
    return dict(
        [
            *_statements("fields", MakeField(at, ODD), MakeField(at, "load", "float")),
            *_statements("left out", LeaveOut(at, ODD), LeaveOut(at, "alarm")),
            *_statements("schema", Diagnose(at, "schema")),
            *_statements("measurements", Diagnose(bucket, "measurements")),
            *_statements("sources", Diagnose(at, "new values", ODD), known=True),
        ]
    )


def _statements(name: str, *changes: Change, known: bool = False) -> Iterator[tuple[str, str]]:
    """`known`: how many values the tags have, so that a tag shows who writes."""
    counts = {ODD: 90, "host": 2} if known else {ODD: 1}
    here = a_measurement(
        ODD,
        database=ODD,
        tags=tuple(a_tag(key, values=counts.get(key, 1)) for key in TAGS),
        fields=(a_field("v"), a_field("n n"), a_field("alarm", ("string",))),
    )
    about = here if changes[0].at.measurement else None
    found = ENGINES["influxdb2"].advice()(a_place(a_profile(here, engine="influxdb2"), ODD, about, Effect()), changes)
    for step in (found.find(), found.stored()):
        if step is not None and step.language == "flux":
            yield f"{name}: {step.kind}", step.text


def test_statements_are_those_that_were_parsed_and_run() -> None:
    assert rendered() == {name: run["text"] for name, run in RECORDED.items()}


def test_none_was_refused() -> None:
    assert [name for name, run in RECORDED.items() if run["parsed"] is not True or "error" in run.get("out", ())] == []


def test_the_source_that_writes_most_values_comes_first() -> None:
    assert RECORDED["sources: find"]["out"] == [[{}, {"host": "a", "_value": "2"}], [{}, {"host": "b", "_value": "1"}]]
