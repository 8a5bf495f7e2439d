"""DOC012: TTL indexes that remove nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pymongo
import pytest

from tests.builders import NOW, a_field, a_profile
from tests.collecting import collected
from tests.databases import Collection, Dataset, times, write
from tests.engines.mongodb import mongosh
from tests.engines.mongodb.builders import a_collection
from tests.rules.cases import Case, plans, run_rule
from tsaudit.config.settings import Harm, Target
from tsaudit.engines.mongodb.rules.ineffective_expiry import ineffective_expiry as rule
from tsaudit.evaluation import evaluate
from tsaudit.model.change import ChangeType
from tsaudit.model.columns import Field
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.storage import Index
from tsaudit.rules.fields.conflicting_types import conflicting_types

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


# --- A date in some documents -----------------------------------------------------------------------------------------


def _cache(kept: Callable[[datetime], Any], count: int = 1_200) -> Dataset:
    """Locks with a date, of a hundred bytes; and what a plug-in writes, each a hundred times as large."""
    ats = [*times(count, timedelta(minutes=30))]
    locks = [{"_id": f"l{n}", "expireAt": at + timedelta(days=40)} for n, at in enumerate(ats[: count // 2])]
    pages = [{"_id": f"p{n}", "data": b"x" * 4_000, "expireAt": kept(at)} for n, at in enumerate(ats)]
    mixed = [one for n, page in enumerate(pages) for one in [page, *locks[n // 2 : (n + 1) // 2]]]
    return Dataset(collections=[Collection("objects", mixed, expire={"expireAt": 0})])


def _milliseconds(at: datetime) -> float:
    return at.timestamp() * 1_000


def _found_in(dataset: Dataset, url: str, **harm: Any) -> tuple[Profile, Target, dict[str, Finding]]:
    target = write(dataset, "mongodb", url)
    profile = collected(target)
    rules = [rule, conflicting_types]
    results = evaluate(profile, rules=rules, harm=Harm(**harm)).results
    return profile, target, {result.code: one for result in results for one in result.findings}


@pytest.mark.parametrize(
    ("kept", "kind"),
    [
        (_milliseconds, "double"),
        (lambda at: int(at.timestamp()), "int"),
        (lambda at: at.isoformat(), "string"),
        (lambda at: [int(at.timestamp())], "array"),
        (lambda at: {"at": at}, "object"),
    ],
)
def test_documents_of_another_type_are_kept(mongodb: str, kept: Callable[[datetime], Any], kind: str) -> None:
    """Two of three documents take nearly all of the bytes, and never expire."""
    _, _, found = _found_in(_cache(kept), mongodb, min_bytes=1_000_000)
    finding = found["DOC012"]
    assert finding.subject.column == "expireAt"
    assert f"TTL index expireAt_1 is to remove documents at expireAt, but expireAt is {kind} in " in finding.message
    assert " in 667 of 1,000 documents read, which never expire (67%, about 1,200 of 1,800; " in finding.message
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    assert finding.impact.now == pytest.approx(1_200 * 4_050, rel=0.05)
    assert finding.severity is Severity.WARNING
    # What has several types follows from it.
    assert "FLD003" not in found
    assert any(one.label == "also FLD003" for one in finding.evidence)


@pytest.mark.parametrize(("made", "said"), [(lambda at: [1], "array"), (_milliseconds, "double")])
def test_no_document_expires_if_none_has_a_date(mongodb: str, made: Callable[[datetime], Any], said: str) -> None:
    _, _, found = _found_in(_clicks(made), mongodb)
    assert f"createdAt is {said} and never a date in 300 documents read" in found["DOC012"].message


@pytest.mark.parametrize(
    "kept",
    [
        pytest.param(lambda at: None, id="null"),
        pytest.param(lambda at: -1, id="one value for never"),
        pytest.param(lambda at: [at + timedelta(days=40)], id="arrays with a date"),
    ],
)
def test_documents_that_are_kept_on_purpose_are_silence(mongodb: str, kept: Callable[[datetime], Any]) -> None:
    _, _, found = _found_in(_cache(kept), mongodb, min_bytes=1)
    assert "DOC012" not in found


def test_few_bytes_are_a_note_beside_what_has_several_types(mongodb: str) -> None:
    _, _, found = _found_in(_cache(_milliseconds, 60), mongodb)
    assert {code: one.severity for code, one in found.items()} == {
        "DOC012": Severity.NOTE,
        "FLD003": Severity.WARNING,
    }


@pytest.mark.parametrize("kept", [_milliseconds, lambda at: int(at.timestamp()), lambda at: at.isoformat()])
def test_plan_converts_what_is_stored(mongodb: str, kept: Callable[[datetime], Any]) -> None:
    """Documents with a date stay as they are, and so does a number that is no time."""
    dataset = _cache(kept, 300)
    documents = [*dataset.collections[0].documents, {"_id": "never", "expireAt": -1.0}]
    dataset = dataclasses.replace(
        dataset, collections=[dataclasses.replace(dataset.collections[0], documents=documents)]
    )
    profile, target, _ = _found_in(dataset, mongodb)
    (plan,) = plans(rule, profile)
    steps = {step.kind: step for step in plan.steps}
    assert steps[StepKind.WRITER].words == (
        "Write expireAt as a date, the only type that its TTL index looks at, in all documents."
    )
    assert "At the next run of the TTL monitor" in steps[StepKind.STORED].words
    assert "past their expiry" in steps[StepKind.STORED].loses
    mongosh.run([steps[StepKind.FIND].text, steps[StepKind.STORED].text, steps[StepKind.STORED].text], mongodb)
    with pymongo.MongoClient[dict[str, Any]](mongodb, tz_aware=True) as client:
        stored = {one["_id"]: one["expireAt"] for one in client[target.databases[0]]["objects"].find()}
    ats = [*times(300, timedelta(minutes=30))]
    assert stored.pop("never") == -1.0
    assert stored == {
        **{f"l{n}": at + timedelta(days=40) for n, at in enumerate(ats[:150])},
        **{f"p{n}": at for n, at in enumerate(ats)},
    }
