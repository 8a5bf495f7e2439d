"""DOC006: a metaField that is too fine."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.builders import a_count, a_profile, a_source, a_tag
from tests.databases import Collection, Dataset, times
from tests.engines.mongodb.mongosh import one_line
from tests.engines.mongodb.rules.test_collection_per_period import a_collection
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.scattered_buckets import scattered_buckets as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Buckets
from tsaudit.model.subject import Subject

SERIES = {"timeseries": {"timeField": "at", "metaField": "meta"}}


def _requests(by_request: bool) -> Dataset:
    documents: list[dict[str, Any]] = []
    for i, at in enumerate(times(60)):
        meta = {"host": f"h{i % 3}"} | ({"request": f"r{i}"} if by_request else {})
        documents.append({"at": at, "meta": meta, "ms": i / 2} | ({} if by_request else {"request": f"r{i}"}))
    return Dataset(collections=[Collection("requests", documents, options=SERIES)])


CASES = (
    Case(
        breaks=_requests(by_request=True),
        keeps=_requests(by_request=False),
        subject=Subject("", "requests", "meta.request"),
        severity=Severity.CRITICAL,
        main_contributor="meta.request",
        limits={"scattered-buckets.min_buckets": 3},
    ),
)


def _found(rows: float | None, sources: int = 900, count: int = 1000, **options: str) -> tuple[Finding, ...]:
    buckets = Buckets(count, 1000, sources, rows, a_source())
    tags = (a_tag("meta.host"), a_tag("meta.request", values=900, sample=("r1", "r2")))
    found = {"type": "timeseries", "timeseries.timeField": "at", "timeseries.metaField": "meta"} | options
    measurement = dataclasses.replace(a_collection("requests"), tags=tags, buckets=buckets, options=found)
    return with_steps(rule, a_profile(measurement, engine="mongodb"))


def test_message_and_main_contributor() -> None:
    (finding,) = _found(3.5)
    assert finding.severity is Severity.WARNING
    assert finding.message == "Half of its 1,000 buckets contain 3.5 measurements or fewer; they are from 900 sources."
    assert (finding.main_contributor, finding.samples) == ("meta.request", ("r1", "r2"))
    assert "meta.request belongs beside it" in finding.fix


def test_severity_follows_from_rows_and_sources() -> None:
    assert _found(10) == ()
    assert [f.severity for f in _found(9.5)] == [Severity.WARNING]
    assert [f.severity for f in _found(2, sources=899)] == [Severity.WARNING]
    assert [f.severity for f in _found(2, sources=900)] == [Severity.CRITICAL]
    # Of many buckets, a thousand that are all of different sources.
    assert [f.severity for f in _found(2, sources=1000, count=50_000)] == [Severity.CRITICAL]


def test_span_is_named_where_sources_come_again() -> None:
    # 5,000 sources with ten buckets each: nearly all that were drawn are different.
    (finding,) = _found(2, sources=906, count=50_000, **{"timeseries.granularity": "seconds"})
    assert finding.severity is Severity.WARNING
    assert finding.message.endswith("sources, each in about 11.")
    assert (finding.subject.column, finding.main_contributor) == ("", "meta")
    assert 'collMod: "requests", timeseries: { granularity: "minutes" }' in one_line(finding.fix)
    (finding,) = _found(2, sources=3, **{"timeseries.granularity": "hours"})
    assert "bucketMaxSpanSeconds" in finding.fix
    assert "collMod" not in finding.fix


def test_silence_when_buckets_are_few_or_not_known() -> None:
    assert _found(1, count=999) == ()
    assert _found(None) == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
    assert a_count(1).value == 1
