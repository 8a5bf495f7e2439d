"""AWS's DevOps example on Timestream, as all rules together see it: done right, and each way to do it wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import DAY, NOW
from tests.databases import write
from tests.engines.timestream.devops import devops, partitioned_by
from tests.engines.timestream.double import Timestream
from tsaudit.collect import collect
from tsaudit.config.settings import Harm
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Profile

pytestmark = pytest.mark.full


def _collected(server: Timestream, *arguments: Any, **settings: Any) -> Profile:
    target = write(devops(*arguments, **settings), "timestream", server)
    with open_connection(target) as connection:
        return collect(target, connection, day=DAY, now=NOW)


def _said(profile: Profile, **harm: float) -> dict[str, Finding]:
    result = evaluate(profile, harm=Harm(**harm))
    assert {r.code: r.reason for r in result.results if r.outcome in (Outcome.ERROR, Outcome.OPEN)} == {}
    return {rule.code: finding for rule, finding in result.findings()}


def _warned(profile: Profile, **harm: float) -> dict[str, Finding]:
    said = _said(profile, **harm)
    return {code: finding for code, finding in said.items() if finding.severity is not Severity.NOTE}


def test_silence_when_metrics_and_events_are_records_of_several_values(timestream: Timestream) -> None:
    profile = _collected(timestream, "multi", hosts=120, table=partitioned_by("instance_name"))
    assert _warned(profile) == {}
    (table,) = profile.measurements
    assert table.measure_names is not None
    assert [(n.name, n.is_multi, len(n.dimensions)) for n in table.measure_names.names] == [
        ("metrics", True, 8),
        ("events", True, 8),
    ]


def test_request_id_when_it_is_a_measure_or_a_dimension(timestream: Timestream) -> None:
    key = partitioned_by("instance_name")
    assert _warned(_collected(timestream, hosts=120, request_id="measure", table=key)) == {}
    found = _said(_collected(timestream, hosts=120, request_id="dimension", table=key))
    assert found["TAG002"].subject.column == "request_id"
    assert "Write request_id as a measure" in found["TAG002"].fix


def test_saving_when_each_value_is_a_record(timestream: Timestream) -> None:
    # A rate needs an hour.
    found = _warned(_collected(timestream, "single", instants=70), min_money=1)
    # memory_free is both a metric and a part of events, with other dimensions: records of several values end that too.
    assert set(found) == {"LAY010"}
    finding = found["LAY010"]
    also = {e.label: e.value for e in finding.evidence}
    assert "under measure name memory_free" in also["also LAY004"]
    # 20 metrics and 5 events at once: between five and twenty times the rows.
    assert finding.observed is not None
    assert 10 < finding.observed <= 20
    assert "24 measure names share their timestamps" in finding.message


def test_storage_when_merged_is_as_in_the_example(timestream: Timestream) -> None:
    """AWS gives about 8 times less storage for 25 values; plain bytes come near it."""
    (table,) = _collected(timestream, "single").measurements
    assert table.measure_names is not None
    shared = table.measure_names.shared
    assert shared is not None
    assert 6 < shared.bytes_now / shared.bytes_merged < 10


@pytest.mark.parametrize(("mode", "codes"), [("one_name", {"LAY004"}), ("hashed", {"NAM006"})])
def test_measure_names_when_they_say_nothing(timestream: Timestream, mode: str, codes: set[str]) -> None:
    found = _said(_collected(timestream, mode, hosts=40))
    assert codes <= set(found)
    if mode == "one_name":
        assert "Its rows under measure name metrics are of 2 kinds" in found["LAY004"].message


def test_cost_when_it_is_audited(timestream: Timestream) -> None:
    timestream.statements.clear()
    profile = _collected(timestream)
    assert len([s for s in timestream.statements if s.startswith("SELECT")]) == 3
    assert sum(c.bytes_metered or 0 for c in profile.costs) >= 30_000_000
    assert profile.window.end - profile.window.start == timedelta(days=30)
