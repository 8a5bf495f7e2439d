"""NAM006: measure names that are hashes."""

from __future__ import annotations

from tests.builders import a_count, a_measurement, a_profile, a_tag
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.timestream.rules.hashed_measure_name import hashed_measure_name as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.rows import MeasureName, MeasureNames

CASES = (
    Case(breaks=devops("hashed"), keeps=devops("multi"), subject=Subject("", "devops")),
    Case(breaks=devops("hashed", hosts=9), keeps=devops("single", hosts=3), subject=Subject("", "devops")),
)
SEED = ("6445", "6399", "640", "2093", "7051")
"""Those of AWS's example."""


def _profile(*names: str, **changes: object) -> Profile:
    found = MeasureNames(a_count(len(names)), tuple(MeasureName(name, "multi", ()) for name in names))
    return a_profile(a_measurement(measure_names=found, **changes), engine="timestream")


BUCKETS = tuple(str(900 * i) for i in range(9))


def test_finding_when_just_enough_are_numbers() -> None:
    assert run_rule(rule, _profile(*SEED)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(*BUCKETS, "events")).outcome is Outcome.FAIL
    assert run_rule(rule, _profile(*BUCKETS, "events", "metrics")).outcome is Outcome.PASS


def test_silence_when_the_numbers_are_no_buckets() -> None:
    assert run_rule(rule, _profile(*(str(8192 + i) for i in range(20)))).outcome is Outcome.PASS
    assert run_rule(rule, _profile(*(str(-400 * i) for i in range(20)))).outcome is Outcome.FAIL
    assert run_rule(rule, a_profile(engine="timestream")).outcome is Outcome.PASS


def test_silence_when_the_numbers_are_those_of_channels() -> None:
    channels = _profile(*(str(100 + 50 * i) for i in range(40)))
    assert run_rule(rule, channels).outcome is Outcome.PASS


def test_key_when_it_is_proposed() -> None:
    tags = (a_tag("host", 900), a_tag("region", 3), a_tag("request_id", 90_000))
    (finding,) = with_steps(rule, _profile(*BUCKETS, tags=tags, rows=a_count(100_000)))
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    # An id of requests has more values, and is nothing to ask for.
    assert "to a new table that is partitioned by host:" in finding.fix
    (finding,) = run_rule(rule, _profile(*BUCKETS, tags=tags, options={"CompositePartitionKey": "region"})).findings
    assert "to this table: it is partitioned by region already." in finding.fix
    (finding,) = run_rule(rule, _profile(*BUCKETS, tags=())).findings
    assert "use the dimension that most queries filter by." in finding.fix
