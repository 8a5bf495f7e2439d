"""CAR003: tags that follow from another tag."""

from __future__ import annotations

import dataclasses

from tests.builders import a_field, a_measurement, a_profile, a_source, a_tag
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Dependency, JointDependency, NearDependency, TagSets
from tsaudit.model.subject import Subject
from tsaudit.rules.cardinality.dependent_tag import dependent_tag as rule

CASES = (
    Case(
        breaks=dataset(table("cpu", [h | {"region": "eu" if i % 2 else "us"} for i, h in enumerate(hosts(12))])),
        keeps=dataset(table("cpu", [h | {"region": r} for h in hosts(12) for r in ("eu", "us")])),
        subject=Subject("", "cpu", "region"),
        main_contributor="region",
    ),
)


def test_worst_case_and_actual_when_one_tag_depends_on_the_other() -> None:
    """The guide's example: 2 x 2 tag values and 3 fields are 12 in the worst case, but 6 in fact."""
    sets = TagSets(2, 4, 2, (Dependency("tag1", "tag2"),), ("tag1",), (), (), a_source())
    fields = tuple(a_field(f"field{i}") for i in range(3))
    measurement = a_measurement("m", 2, tags=(a_tag("tag1", 2), a_tag("tag2", 2)), fields=fields, tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    figures = {e.label: e.value for e in finding.evidence}
    assert figures["worst case (tag values x fields)"] == "12"
    assert figures["actual (tag sets x fields)"] == "6 (2 series with 3 fields each)"
    assert figures["determined by"] == "tag1"
    assert finding.subject == Subject("main", "m", "tag2")


def test_closest_tag_when_several_determine_it() -> None:
    dependencies = (Dependency("host", "country"), Dependency("region", "country"))
    sets = TagSets(10, 200, 10, dependencies, ("host",), (), (), a_source())
    tags = (a_tag("country", 2), a_tag("host", 10), a_tag("region", 4))
    (finding,) = run_rule(rule, a_profile(a_measurement(series=10, tags=tags, tag_sets=sets))).findings
    assert "tag region" in finding.message


def test_silence_when_the_tag_has_one_value_or_there_is_one_series() -> None:
    sets = TagSets(10, 10, 10, (Dependency("host", "region"),), ("host",), (), (), a_source())
    tags = (a_tag("host", 10), a_tag("region", 1))
    assert not run_rule(rule, a_profile(a_measurement(series=10, tags=tags, tag_sets=sets))).findings
    tags = (a_tag("host", 10), a_tag("region", 2))
    profile = a_profile(a_measurement(series=10, tags=tags, tag_sets=sets))
    assert run_rule(rule, profile, {"min_series": 11}).outcome is Outcome.PASS
    assert run_rule(rule, profile, {"min_series": 10}).outcome is Outcome.FAIL


def _further(dependencies=(), **changes):
    tags = (a_tag("host", 1000), a_tag("rack", 40), a_tag("port", 9), a_tag("zone", 5))
    sets = TagSets(8000, 40_000, 8000, dependencies, ("host", "port"), (), (), a_source(), not_looked_for="")
    sets = dataclasses.replace(sets, **changes)
    return run_rule(rule, a_profile(a_measurement(series=8000, tags=tags, tag_sets=sets)))


NEAR = NearDependency("host", "rack", 12, 1000, 24, ("web-1", None, "web-7"))


def test_a_tag_that_two_determine_together() -> None:
    (finding,) = _further(joint=(JointDependency(("host", "port"), "zone"),)).findings
    assert finding.subject.column == "zone"
    assert finding.message.startswith("Tags host and port together determine zone, although neither does alone")


def test_a_tag_that_is_nearly_determined_names_what_breaks_it() -> None:
    (finding,) = _further(near=(NEAR,)).findings
    assert finding.message == "Tag host determines rack except for 12 of 1,000 values."
    assert finding.samples == ("web-1", "web-7")
    told = {e.label: e.value for e in finding.evidence}
    assert told["exceptions by value"] == "12 of 1,000 that occur in several series (including missing values)"
    assert told["exceptions by series"] == "24 of 8,000 (0.3%)"


def test_the_strongest_is_said_once_per_tag() -> None:
    near = (NEAR, NearDependency("port", "rack", 1, 9, 8, ("80",)), NearDependency("host", "zone", 1, 1000, 1, ()))
    joint = (JointDependency(("port", "zone"), "rack"),)
    found = {
        f.subject.column: f.message for f in _further((Dependency("host", "rack"),), joint=joint, near=near).findings
    }
    assert found["rack"].startswith("Each of the 1,000 values of tag host")
    assert found["zone"].startswith("Tag host determines zone except for")


def test_what_was_seen_on_a_sample_is_said_to_be() -> None:
    dependency = (Dependency("host", "rack"),)
    (finding,) = _further(dependency, sampled=2000, near=(dataclasses.replace(NEAR, dependent="rack"),)).findings
    assert finding.message.endswith("so rack adds no series, on a sample of 2,000 series.")


def test_what_was_not_looked_for_is_said() -> None:
    (finding,) = _further((Dependency("host", "rack"),), not_looked_for="too many tags").findings
    assert ("not searched", "too many tags") in {(e.label, e.value) for e in finding.evidence}


def test_of_several_near_determinants_the_one_with_fewest_exceptions_is_named() -> None:
    """By their share: 5 of 1,000 values are fewer than 1 of 9, though they are more."""
    port = NearDependency("port", "rack", 1, 9, 8, ("80",))
    host = dataclasses.replace(NEAR, broken=5)
    for near in ((port, host), (host, port)):
        (finding,) = _further(near=near).findings
        assert finding.message == "Tag host determines rack except for 5 of 1,000 values."


def test_of_equally_near_determinants_the_one_with_fewest_values_is_named() -> None:
    """It is the closest one: a tag of 9 values explains more than one of 1,000."""
    port, host = (NearDependency(tag, "rack", 1, 9, 8, ()) for tag in ("port", "host"))
    for near in ((port, host), (host, port)):
        (finding,) = _further(near=near).findings
        assert finding.message == "Tag port determines rack except for 1 of 9 values."
