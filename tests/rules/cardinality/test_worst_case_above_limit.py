"""CAR002: what the tags allow against what there is."""

from __future__ import annotations

from tests.builders import a_field, a_measurement, a_profile, a_source, a_tag
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Dependency, Measurement, TagSets
from tsaudit.model.subject import Subject
from tsaudit.rules.cardinality.worst_case_above_limit import worst_case_above_limit as rule

CASES = (
    Case(
        breaks=dataset(table("m", [{"a": f"a{i % 20}", "b": f"b{(i * 7 + i // 20) % 20}"} for i in range(40)])),
        keeps=dataset(table("m", [{"a": f"a{i}", "b": f"b{i // 2}"} for i in range(40)])),
        subject=Subject("", "m"),
        limits={"worst-case-above-limit.max_series": 100},
    ),
)


def _measurement(worst: int, independent: int, series: int, fields: int = 3) -> Measurement:
    sets = TagSets(series, worst, independent, (Dependency("tag1", "tag2"),), ("tag1",), (), (), a_source())
    tags = (a_tag("tag1", 2), a_tag("tag2", 2))
    return a_measurement(series=series, tags=tags, tag_sets=sets, fields=tuple(a_field(f"f{i}") for i in range(fields)))


def test_silence_when_at_the_limit() -> None:
    result = run_rule(rule, a_profile(_measurement(100, 100, 2)), {"max_series": 300})
    assert result.outcome is Outcome.PASS


def test_information_when_just_over() -> None:
    (finding,) = run_rule(rule, a_profile(_measurement(101, 101, 2)), {"max_series": 300}).findings
    assert [e.value for e in finding.evidence] == ["303", "303", "6 (2 series with 3 fields each)"]
    assert "tag1" in finding.fix


def test_silence_when_the_actual_number_is_over_too() -> None:
    assert not run_rule(rule, a_profile(_measurement(200, 200, 150)), {"max_series": 300}).findings


def test_silence_when_only_dependent_tags_make_the_product() -> None:
    """The guide's example: 2 x 2 tag values and 3 fields are 12 in the worst case, but 6 in fact."""
    assert not run_rule(rule, a_profile(_measurement(4, 2, 2)), {"max_series": 6}).findings
