"""Tags that only together make the series: what is said of them, and what the plan changes."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest

from tests.builders import a_count, a_measurement, a_profile, a_source, a_tag
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.evaluation import evaluate
from tsaudit.model.change import MakeField
from tsaudit.model.finding import AuditResult, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.planning.describe import of_finding
from tsaudit.policy import LimitPolicy
from tsaudit.text.findings import headline

_EVENTS = 2_000


def _spans(ids: Sequence[str], methods: int = 1, name: str = "spans") -> Measurement:
    """Events of 20 hosts, each with IDs of which any one tells most of them apart, by each of so many methods."""
    chance = random.Random(7)
    events = [
        {"host": f"web-{n % 20:02}"} | {tag: f"{chance.randrange(1_900):08x}" for tag in ids} for n in range(_EVENTS)
    ]
    rows = [event | {"method": f"m{n}"} for event in events for n in range(methods)]
    counter = TagSetCounter(sorted(rows[0]))
    counter.add(pa.RecordBatch.from_pylist(rows))
    sets = counter.tag_sets(a_source())
    tags = [a_tag(key, column.values.value, column.sample) for key, column in counter.columns().items()]
    return a_measurement(name, sets.series, tags=tuple(tags), tag_sets=sets, rows=a_count(len(rows)))


def _audited(*measurements: Measurement, engine: str) -> AuditResult:
    limits = LimitPolicy(target={"high-series-cardinality.max_series": 1_000})
    return evaluate(a_profile(*measurements, engine=engine), policy=limits)


def _of(result: AuditResult, code: str) -> list[Finding]:
    return [finding for rule, finding in result.findings() if rule.code == code]


@pytest.mark.parametrize("engine", ["influxdb1", "sqlite"])
@pytest.mark.parametrize(
    ("ids", "methods"),
    [(("span", "trace"), 1), (("span", "trace", "user"), 1), (("span", "trace"), 10), (("request",), 10)],
)
def test_all_tags_that_only_together_make_the_series_are_named_and_changed(
    ids: tuple[str, ...], methods: int, engine: str
) -> None:
    result = _audited(_spans(ids, methods), engine=engine)
    (finding,) = _of(result, "CAR001")
    assert {finding.main_contributor, *finding.together_with} == {*ids}
    assert finding.share is not None
    assert finding.share >= 0.9
    assert all(tag in headline(finding) for tag in ids)
    plan = of_finding(finding, result.plans)
    assert plan is not None
    assert {one.change.tag for one in plan.changes if isinstance(one.change, MakeField)} == {*ids}
    assert len(plan.steps) <= 5
    assert plan.effect.series_after == 20 * methods
    assert not plan.effect.next_tag


def test_limit_that_the_same_tags_exceed_in_several_measurements_is_one_finding() -> None:
    spans = [_spans(("span", "trace"), methods, name) for methods, name in ((1, "jobs"), (2, "spans"), (3, "tasks"))]
    result = _audited(*spans, _spans(("request",), 10, name="calls"), engine="influxdb1")
    own, together = sorted(_of(result, "CAR001"), key=lambda one: one.subject)
    assert (own.subject.measurement, together.subject.measurement) == ("calls", "jobs")
    assert together.message.endswith("Similar findings are about 2 more measurements: spans and tasks.")
    assert {at.measurement for change in together.changes if (at := change.at)} == {"jobs", "spans", "tasks"}
    plan = of_finding(together, result.plans)
    assert plan is not None
    assert [one.measurement for one in plan.also] == ["spans", "tasks"]


@pytest.mark.parametrize("ids", [("span", "trace"), ("span", "trace", "user")])
def test_tags_without_bound_that_only_together_make_the_series_are_priced_together(ids: tuple[str, ...]) -> None:
    result = _audited(_spans(ids), engine="influxdb1")
    found = _of(result, "TAG002")
    assert {finding.main_contributor for finding in found} <= {*ids}
    for finding in found:
        assert finding.severity is not Severity.NOTE
        assert {finding.main_contributor, *finding.together_with} == {*ids}
        assert all(tag in headline(finding) for tag in ids)
