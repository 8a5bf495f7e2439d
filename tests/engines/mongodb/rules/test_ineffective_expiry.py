"""DOC012: TTL indexes that remove nothing."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_field, a_profile
from tests.databases import Collection, Dataset, times
from tests.engines.mongodb.builders import a_collection
from tests.rules.cases import Case, run_rule
from tsaudit.engines.mongodb.rules.ineffective_expiry import ineffective_expiry as rule
from tsaudit.model.change import ChangeType
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Field, Index

_WEEK = 604_800


def _clicks(made: Any, step: timedelta = timedelta(minutes=30)) -> Dataset:
    documents = [{"_id": n, "url": f"/{n}", "createdAt": made(at)} for n, at in enumerate(times(300, step))]
    return Dataset(collections=[Collection("clicks", documents, expire={"createdAt": _WEEK})])


CASES = (
    Case(
        breaks=_clicks(lambda at: int(at.timestamp() * 1000)),
        keeps=_clicks(lambda at: at),
        subject=Subject("", "clicks", "createdAt"),
    ),
    Case(
        # 300 of 600 hours are older than a week.
        breaks=_clicks(lambda at: at, timedelta(hours=2)),
        keeps=_clicks(lambda at: at),
        subject=Subject("", "clicks", "createdAt"),
    ),
)


def _found(*fields: Field, expires_s: int = _WEEK, time: str | None = None, **index: Any) -> Finding | None:
    ttl = Index("at_1", "btree", ("at",), unique=False, constraint=False, partial=False, expires_s=expires_s)
    measurement = dataclasses.replace(
        a_collection("clicks"),
        fields=fields,
        indexes=(dataclasses.replace(ttl, **index),),
        time_column=time,
        first_time=NOW - timedelta(days=20),
    )
    result = run_rule(rule, a_profile(measurement, engine="mongodb"))
    return result.findings[0] if result.findings else None


def _dated(*ages: timedelta) -> Field:
    return a_field("at", types=("date",), sample=tuple((NOW - age).isoformat() for age in ages))


@pytest.mark.parametrize(
    ("field", "expected", "said"),
    [
        (a_field("at", types=("long",)), Severity.WARNING, "at is long and never a date in 100 documents read"),
        (
            a_field("at", types=("string",), sample=("2026-03-01",)),
            Severity.WARNING,
            "at is string and never a date in 1",
        ),
        (a_field("meta.AT", types=("date",)), Severity.WARNING, "no document has at, but meta.AT"),
        (a_field("url", types=("string",)), Severity.NOTE, "none of 100 documents read has at"),
        (_dated(timedelta(days=9), timedelta(days=3)), Severity.WARNING, "still there 2 days after they were due"),
        (_dated(timedelta(days=-9e3), timedelta(days=-8e3)), Severity.WARNING, "none of 2 times read is before 2048-"),
    ],
)
def test_severity_follows_from_what_is_known(field: Field, expected: Severity, said: str) -> None:
    finding = _found(field)
    assert finding is not None
    assert (finding.severity, said in finding.message) == (expected, True), finding.message
    assert finding.fix.count("Write at as a date.") == ("never a date" in said), "once, whoever says it"


@pytest.mark.parametrize(
    "field",
    [
        a_field("at", types=("array",)),
        a_field("at", types=("date", "string")),
        _dated(timedelta(days=6)),
        _dated(timedelta(days=7, minutes=59)),
        a_field("at", types=("date",), sample=("253402300800000",)),
        # A hundredth is due: the server is at it.
        _dated(timedelta(days=9), *(timedelta(days=1),) * 99),
        # Some are kept for good, and the others go.
        _dated(timedelta(days=-9e3), timedelta(days=6)),
    ],
)
def test_silence_when_documents_are_removed_or_may_be(field: Field) -> None:
    assert _found(field) is None


def test_other_indexes_say_nothing() -> None:
    numbers = a_field("at", types=("long",))
    assert _found(numbers, expires_s=None) is None
    assert _found(numbers, columns=("at", "url")) is None
    assert _found(_dated(timedelta(days=9)), partial=True) is None
    assert _found(_dated(timedelta(days=9)), expires_s=2**31 - 1) is None
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS


def test_time_of_the_documents_themselves() -> None:
    assert _found(time="at") is not None
    assert _found(time="at", expires_s=30 * 86_400) is None


def test_texts_that_are_times_are_converted() -> None:
    (iso, other) = (_found(a_field("at", types=("string",), sample=(s,))) for s in ("2026-03-01T10:00:00Z", "20260301"))
    assert iso is not None
    assert other is not None
    # Of the collection, so that its plan has the command that converts what is stored.
    assert iso.changes == (ChangeType(Subject("main", "clicks"), "at", "time"),)
    assert other.changes == ()
    assert datetime.fromisoformat(iso.samples[0]).year == 2026
