"""What the changes of a plan would do, by the figures of a profile: only what was looked at as a whole is exact."""

from __future__ import annotations

import pytest

from tests.builders import a_field, a_finding, a_measurement, a_profile, a_rule_result, a_source, a_tag
from tsaudit.engines.rendering import Place, renderers_of
from tsaudit.model.change import MakeField
from tsaudit.model.plan import Effect, Step
from tsaudit.model.profile import (
    Contribution,
    How,
    Listed,
    Measurement,
    Profile,
    RowsApart,
    Selection,
    SetApart,
    TagSets,
)
from tsaudit.model.subject import Subject
from tsaudit.planning import words
from tsaudit.planning.effects import effect_of
from tsaudit.planning.plans import plans_of

PART = "at least; by 1,000 of 90,000 rows"


def measurement(how: How, scope: str = "", sampled: int | None = None, apart: RowsApart | None = None) -> Measurement:
    """`host` alone tells its 30 series apart; `rack` follows from it."""
    left = (Contribution("rack", (), 30), Contribution("host", (), 3))
    sets = TagSets(30, 90, 30, (), ("host",), left, left, a_source(how, scope=scope), sampled=sampled)
    tags = (a_tag("host", 30), a_tag("rack", 3))
    return a_measurement("cpu", 300, tags=tags, fields=(a_field("usage"),), tag_sets=sets, rows_apart=apart)


def compared(how: How, rows: int = 0, complete: bool = True) -> RowsApart:
    """Rows read, so many of which would be like another one without `host`."""
    return RowsApart(
        5_000, (SetApart(("host",), rows),) if rows else (), complete, a_source(how, scope="the newest rows")
    )


def without(tag: str, found: Measurement) -> Effect:
    return effect_of(found, [MakeField(Subject("main", "cpu"), tag)])


def test_all_series_are_known() -> None:
    effect = without("rack", measurement(How.EXACT))
    assert (effect.series_after, effect.is_exact, effect.collisions, effect.keeps_rows) == (30, True, 0, True)
    assert "no two series become one" in words.effect(effect)


def test_interval_is_named() -> None:
    assert without("rack", measurement(How.EXACT, "rows of May")).collisions_how == (
        "no two series become one in rows of May"
    )


@pytest.mark.parametrize(
    ("how", "scope", "sampled"), [(How.SAMPLED, PART, None), (How.ESTIMATE, "at most: x", None), (How.EXACT, "", 10)]
)
def test_part_of_the_series_proves_nothing(how: How, scope: str, sampled: int | None) -> None:
    """What tells the series of a part apart may not tell those apart that nobody looked at."""
    effect = without("rack", measurement(how, scope, sampled))
    assert not effect.is_exact
    assert effect.collisions is None
    assert not effect.keeps_rows


def test_series_of_a_part_are_compared_with_those_of_the_part() -> None:
    effect = without("rack", measurement(How.SAMPLED, PART))
    assert words.effect(effect).startswith(f"Series: 30 now, 30 afterward ({PART}).")


@pytest.mark.parametrize(
    ("apart", "keeps"),
    [
        (compared(How.EXACT), True),
        (compared(How.SAMPLED), False),
        (compared(How.EXACT, rows=7), False),
        (compared(How.SAMPLED, rows=7), False),
        (compared(How.EXACT, complete=False), False),
        (None, False),
    ],
)
def test_none_in_a_sample_is_not_none(apart: RowsApart | None, keeps: bool) -> None:
    """`host` tells the series apart: without it rows may become one, which only all of the rows can deny."""
    effect = without("host", measurement(How.EXACT, apart=apart))
    assert effect.keeps_rows is keeps


@pytest.mark.parametrize("engine", ["influxdb1", "influxdb2", "influxdb3", "timestream", "greptimedb"])
@pytest.mark.parametrize(("how", "decides"), [(How.EXACT, False), (How.SAMPLED, True)])
def test_what_is_not_known_stays_a_decision(engine: str, how: How, decides: bool) -> None:
    found = measurement(How.EXACT, apart=compared(how))
    profile = a_profile(found, engine=engine)
    change = MakeField(Subject("main", "cpu"), "host")
    place = Place(profile, "main", found, effect_of(found, [change]))
    steps: list[Step] = list(renderers_of(engine)[MakeField](place, [change]))
    said = [step.loses for step in steps if "the newest rows" in step.loses]
    assert bool(said) is decides
    assert all("if there are any" in loses for loses in said)


def test_changes_that_touch_no_tag_do_nothing() -> None:
    assert without("usage", measurement(How.EXACT)) == Effect()
    assert Effect().keeps_rows


def steps_with(change: MakeField, profile: Profile) -> list[Step]:
    result = a_rule_result(a_finding(change.at, changes=(change,)))
    (plan,) = plans_of(profile, [result])
    return list(plan.steps)


@pytest.mark.parametrize("engine", ["influxdb1", "influxdb2"])
@pytest.mark.parametrize(
    ("selection", "left_out", "is_told"),
    [
        (Selection(), 0, False),
        (Selection(exclude=("tmp_*",)), 4, False),  # `cpu_new` would have been looked at
        (Selection(exclude=("*_new",)), 4, True),
        (Selection(include=("cpu",)), 4, True),
        (Selection(include=("cpu",)), 0, False),  # it left nothing out
    ],
)
def test_name_that_may_be_there_unseen_is_looked_up_first(
    engine: str, selection: Selection, left_out: int, is_told: bool
) -> None:
    found = measurement(How.EXACT)
    profile = a_profile(found, engine=engine, selection=selection, listed=(Listed("main", 1 + left_out, left_out),))
    steps = steps_with(MakeField(Subject("main", "cpu"), "rack"), profile)
    assert any("cpu_new" in step.text or "cpu_new" in step.words for step in steps)
    told = [step for step in steps if step.words.startswith("Make sure that")]
    assert bool(told) is is_told
    assert not told or (steps[0] == told[0] and "cpu_new" in told[0].words)
