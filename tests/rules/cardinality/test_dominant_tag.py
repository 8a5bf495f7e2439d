"""CAR006: one tag makes nearly all series."""

from __future__ import annotations

import dataclasses

from tests.builders import a_measurement, a_profile, a_source, a_tag
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Bucketing, Contribution, How, Measurement, TagSets
from tsaudit.model.subject import Subject
from tsaudit.rules.cardinality.dominant_tag import dominant_tag as rule

CASES = (
    Case(
        breaks=dataset(table("req", [{"user": f"u{i}", "host": f"h{(i * i) % 3}"} for i in range(200)])),
        keeps=dataset(
            table("req", [{"a": f"a{i % 8}", "b": f"b{i // 8 % 8}", "c": f"c{i // 64}"} for i in range(192)])
        ),
        subject=Subject("", "req", "user"),
        main_contributor="user",
        limits={"dominant-tag.min_series": 100, "dominant-tag.warn_series": 100},
    ),
)


def _measurement(series: int, left: int) -> Measurement:
    contributions = (Contribution("user", (), left), Contribution("host", (), series))
    sets = TagSets(series, series * 5, series * 5, (), ("user",), contributions, contributions[:1], a_source())
    return a_measurement(series=series, tags=(a_tag("user", series), a_tag("host", 5)), tag_sets=sets)


def test_finding_when_at_the_limit_and_silence_when_just_over() -> None:
    assert run_rule(rule, a_profile(_measurement(1000, 100))).outcome is Outcome.FAIL
    assert run_rule(rule, a_profile(_measurement(1000, 101))).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(_measurement(1000, 101)), {"max_left_ratio": 0.2}).outcome is Outcome.FAIL


def test_silence_when_series_are_few() -> None:
    assert run_rule(rule, a_profile(_measurement(999, 1))).outcome is Outcome.PASS


def test_note_that_says_what_each_tag_contributes() -> None:
    (finding,) = run_rule(rule, a_profile(_measurement(100_000, 50), engine="influxdb1")).findings
    assert (finding.severity, finding.impact) == (Severity.NOTE, None)
    assert finding.message == "Without tag user 50 of 100,000 series would be left (< 0.1%)."
    assert {e.label: e.value for e in finding.evidence} == {
        "without user": "50 series left (> 99.9% fewer)",
        "without host": "100,000 series left (0% fewer)",
        "dropping one after the other": "100,000 → 50 without user",
    }


def test_determining_tags_when_the_tag_cannot_go_alone() -> None:
    together = (Contribution("region", ("host",), 1), Contribution("host", (), 6))
    sets = TagSets(1000, 6000, 1000, (), ("host",), together, (), a_source())
    measurement = a_measurement(series=1000, tags=(a_tag("host", 1000), a_tag("region", 6)), tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.main_contributor == "host"


def test_what_a_sample_leaves_open_is_told_as_an_interval() -> None:
    left = (Contribution("user", (), 900, at_least=50), Contribution("host", (), 2_000_000, at_least=1000))
    sets = TagSets(2_000_000, 10**7, 10**7, (), ("user",), left, left[:1], a_source(How.ESTIMATE), sampled=1000)
    sets = dataclasses.replace(sets, bucketings=(Bucketing("user", 10, 500),))
    measurement = a_measurement(series=2_000_000, tags=(a_tag("user", 10**6), a_tag("host", 5)), tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.message == (
        "Without tag user 50 to 900 of about 2,000,000 series would be left (< 0.1%, on a sample of 1,000 series)."
    )
    told = {e.label: e.value for e in finding.evidence}
    assert told["user in 10 buckets"] == "at most 500 series left"
    assert told["checked"] == "1,000 of about 2,000,000 series"
    assert told["without user"] == "50 to 900 series left (at least > 99.9% fewer)"
