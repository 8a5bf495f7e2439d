"""TAG007: attributes as tags."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.builders import a_measurement, a_profile, a_source, a_tag
from tests.databases import Dataset, Row, Table, times
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.model.change import MakeField
from tsaudit.model.columns import Contribution, Dependency, TagChanges, TagSets
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Outcome
from tsaudit.model.profile import Measurement
from tsaudit.rules.tags.mutable_tag import mutable_tag as rule

MACHINES = 6
ROWS = 40


def _machines(as_tag: bool) -> Dataset:
    """Each machine is painted once, at a time of its own."""
    rows = []
    for r, time in enumerate(times(ROWS)):
        for m in range(MACHINES):
            colour = "blue" if r >= 10 + 3 * m else "red"
            tags = {"machine": f"m-{m}", "hall": f"h{m % 2}"} | ({"colour": colour} if as_tag else {})
            rows.append(Row(time, tags, {"speed": 1.5 + m + r / 7} | ({} if as_tag else {"colour": colour})))
    names = ("machine", "hall", "colour") if as_tag else ("machine", "hall")
    fields = {"speed": "float"} if as_tag else {"speed": "float", "colour": "string"}
    return dataset(Table("machines", names, fields, rows, key=("time", *names)))


def _levels() -> Dataset:
    """A log: the level is another at every row, and pods are replaced."""
    rows = [
        Row(
            time,
            {
                "app": f"a{a}",
                "pod": f"a{a}-{'x' if r < ROWS / 2 else 'y'}7k{a}",
                "level": ("info", "warn")[(r + a) % 2],
            },
            {"lines": r * 7 % 11},
        )
        for r, time in enumerate(times(ROWS))
        for a in range(4)
    ]
    return dataset(Table("log_lines", ("app", "pod", "level"), {"lines": "integer"}, rows, key=("time", "app", "pod")))


CASES = (
    Case(
        breaks=_machines(True),
        keeps=_machines(False),
        subject=Subject("", "machines", "colour"),
        main_contributor="colour",
    ),
    Case(breaks=_machines(True), keeps=_levels(), subject=Subject("", "machines", "colour")),
)


def _seen(**changes: Any) -> TagChanges:
    known: dict[str, Any] = {"by": ("machine",), "sources": 20, "changing": 5, "pairs": 500, "changes": 6}
    known |= {"by_chance": 240.0, "values": 4, "shared": 4, "instants": 2000, "clashes": 0, "roughness": None}
    return TagChanges(source=a_source(), **(known | changes))


def _measurement(*seen: TagChanges, left: int = 10) -> Measurement:
    tags = (a_tag("machine", 20), a_tag("colour", 4, ("blue", "red"), changes=seen))
    sets = TagSets(20, 80, 80, (), ("machine", "colour"), (Contribution("colour", (), left),), (), a_source())
    return a_measurement("machines", 20, tags=tags, tag_sets=sets)


def _outcome(*seen: TagChanges) -> Outcome:
    return run_rule(rule, a_profile(_measurement(*seen), engine="influxdb1")).outcome


def test_finding_when_read() -> None:
    (finding,) = run_rule(rule, a_profile(_measurement(_seen()), engine="influxdb1")).findings
    assert finding.message == "Tag colour changes over time for the same machine: 6 times in 5 of 20 sources."
    assert [e.value for e in finding.evidence] == [
        "machine",
        "5 of 20",
        "6; in random order 240",
        "10 instead of 20",
    ]
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.SERIES, 10)


@pytest.mark.parametrize(("left", "shown"), [(10, "10 instead of 20"), (20, "20, none fewer")])
def test_series_that_are_left_without_it(left: int, shown: str) -> None:
    (finding,) = run_rule(rule, a_profile(_measurement(_seen(), left=left), engine="influxdb1")).findings
    assert finding.evidence[-1].value == shown
    assert finding.observed == (2.0 if left == 10 else None)


def test_a_tag_that_another_one_determines_saves_nothing_alone() -> None:
    """Each paint has one colour, and comes and goes with it."""
    of_rows = dataclasses.replace(a_source(), scope="the newest 900 rows from 2026-03-01 00:00 to 2026-03-31 00:00 UTC")
    made = _measurement(dataclasses.replace(_seen(), source=of_rows))
    sets = made.tag_sets
    assert sets is not None
    contributions = (Contribution("colour", ("paint",), 5), Contribution("paint", (), 10))
    sets = dataclasses.replace(sets, contributions=contributions, dependencies=(Dependency("paint", "colour"),))
    made = dataclasses.replace(made, tags=(*made.tags, a_tag("paint", 9)), tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(made, engine="influxdb1")).findings
    assert finding.message == (
        "Tag colour changes over time for the same machine: 6 times in 5 of 20 sources, in the newest 900 rows."
    )
    assert (finding.observed, finding.share) == (None, None)
    assert [(e.label, e.value) for e in finding.evidence[-2:]] == [
        ("series without it", "20, none fewer"),
        ("series without colour and paint", "5"),
    ]
    assert [change.tag for change in finding.changes if isinstance(change, MakeField)] == ["colour", "paint"]
    assert finding.fix == (
        "Write colour and paint as fields of machines, not as tags. Then a change of colour and paint no longer starts "
        "another series of the same machine."
    )


def test_limits_when_just_reached_and_just_over() -> None:
    assert _outcome(_seen(changing=2)) is Outcome.FAIL
    assert _outcome(_seen(changing=1)) is Outcome.PASS
    assert _outcome(_seen(changes=72)) is Outcome.FAIL
    assert _outcome(_seen(changes=73)) is Outcome.PASS
    assert _outcome(_seen(clashes=20)) is Outcome.FAIL
    assert _outcome(_seen(clashes=21)) is Outcome.PASS
    assert _outcome(_seen(changes=2, by_chance=10.0)) is Outcome.FAIL
    assert _outcome(_seen(changes=2, by_chance=9.9)) is Outcome.PASS
    assert _outcome(_seen(shared=2)) is Outcome.FAIL
    assert _outcome(_seen(shared=1)) is Outcome.PASS


def test_silence_when_all_rows_are_of_one_source_or_none_was_read() -> None:
    assert _outcome(_seen(by=())) is Outcome.PASS
    assert _outcome() is Outcome.PASS
    assert _outcome(_seen(changing=0, changes=0, by_chance=0.0)) is Outcome.PASS


def test_the_way_that_shows_more_when_there_are_two() -> None:
    hidden = _seen(by=("machine", "model"), changing=2, changes=2)
    (finding,) = run_rule(rule, a_profile(_measurement(hidden, _seen()), engine="influxdb1")).findings
    assert finding.evidence[0].value == "machine"
