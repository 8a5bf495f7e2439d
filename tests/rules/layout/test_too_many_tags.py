"""LAY002: many tags."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import DAY, a_measurement, a_profile, a_source, a_tag
from tests.engines.greptimedb.cases import a_table, findings
from tests.rules.cases import Case, dataset, planned, run_rule, table
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile, TagSets
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.layout.too_many_tags import too_many_tags as rule


def _tag_sets(tags: int) -> list[dict[str, str | None]]:
    return [{f"t{i:02}": f"v{s if i == 0 else s % 2}" for i in range(tags)} for s in range(10)]


CASES = (
    Case(
        breaks=dataset(table("pods", _tag_sets(16))),
        keeps=dataset(table("pods", _tag_sets(15))),
        subject=Subject("", "pods"),
        engines=rule.engines - {"greptimedb", "timestream"},
    ),
    Case(
        breaks=dataset(table("pods", _tag_sets(64))),
        keeps=dataset(table("pods", _tag_sets(63))),
        subject=Subject("", "pods"),
        engines=frozenset({"timestream"}),
    ),
    Case(
        breaks=dataset(table("pods", _tag_sets(6))),
        keeps=dataset(table("pods", _tag_sets(5))),
        subject=Subject("", "pods"),
        engines=frozenset({"greptimedb"}),
    ),
)


def _profile(tags: int) -> Profile:
    sets = TagSets(10, 10, 10, (), ("t0",), (), (), a_source())
    return a_profile(a_measurement(tags=tuple(a_tag(f"t{i}") for i in range(tags)), tag_sets=sets))


def test_finding_when_just_over_the_limit() -> None:
    assert run_rule(rule, _profile(15)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(16)).findings
    assert finding.message == "16 tags, more than 15; t0 alone identifies its series."
    assert finding.impact is None
    assert run_rule(rule, _profile(16), {"max_tags": 16}).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("dimensions", "severity"),
    [(64, "note"), (102, "note"), (103, "warning"), (121, "warning"), (122, "critical"), (128, "critical")],
)
def test_dimensions_near_the_limit_of_the_product(dimensions: int, severity: str) -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(dimensions))
    (finding,) = run_rule(rule, a_profile(a_measurement(tags=tags), engine="timestream")).findings
    assert finding.message == f"{dimensions} dimensions, of 128 that a table can have."
    assert finding.severity == severity
    assert finding.impact is not None
    assert (finding.impact.now, finding.impact.whole) == (dimensions, 128)
    assert finding.limit is not None
    assert finding.limit.source.endswith("/ts-limits.html")
    assert run_rule(rule, a_profile(a_measurement(tags=tags[:63]), engine="timestream")).outcome is Outcome.PASS


def test_dimensions_that_come_every_week() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(70))
    points = {("tags", Subject("main", "cpu")): (Point(DAY - timedelta(days=14), 56.0),)}
    profile = a_profile(a_measurement(tags=tags), engine="timestream")
    (finding,) = run_rule(rule, profile, timeline=Timeline(points=points)).findings
    assert finding.impact is not None
    assert (finding.impact.days_left, finding.severity) == (58, "warning")


def test_all_tags_when_the_tag_sets_are_not_known() -> None:
    profile = a_profile(a_measurement(tags=tuple(a_tag(f"t{i}") for i in range(16))))
    (finding,) = run_rule(rule, profile).findings
    assert finding.message == "16 tags, more than 15."


def test_five_columns_of_the_key_when_it_is_greptimedb() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(6))
    assert not findings(rule, a_table(tags=tags[:5]))
    (finding,) = findings(rule, a_table(tags=tags))
    assert finding.message == "6 tags, more than 5."
    # Which of them could go was not measured, and a copy with the same key would help nobody.
    assert finding.fix == "Keep as tags what queries filter and group by, and write the others as fields."
    assert not finding.changes
    assert not findings(rule, a_table(tags=tags, options={"engine": "metric"}))


def test_copy_has_the_shorter_key_when_it_is_greptimedb() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(6))
    sets = TagSets(10, 10, 10, (), ("t0", "t1"), (), (), a_source())
    table = a_table(tags=tags, key=tuple(f"t{i}" for i in range(6)), tag_sets=sets)
    steps = planned(rule, a_profile(table, engine="greptimedb"))
    assert 'PRIMARY KEY ("t0", "t1")' in steps
