"""DOC001: a collection per period."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_profile, a_source
from tests.databases import Collection, Dataset
from tests.engines.mongodb import visits
from tests.engines.mongodb.mongosh import one_line
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.analysis.tables.collection_families import CollectionFamily
from tsaudit.engines.mongodb.rules.closed_period_kept import closed_period_kept
from tsaudit.engines.mongodb.rules.collection_per_period import collection_per_period as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Database, DatabaseStorage, Documents, Gap, Index, Measurement, Reason, Storage
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline

FALSE_FRIENDS = [Collection(name, [{"total": 9.5}]) for name in ("order_201210", "order_201305", "sku_20121003")]
CASES = (
    Case(
        breaks=visits.visits(24),
        keeps=Dataset(collections=[*visits.counted(24).collections, *FALSE_FRIENDS]),
        subject=Subject("", "visits_{day}"),
    ),
)


def a_collection(
    name: str, documents: int | None = 100, data: int | None = 3500, field: str = "user_id"
) -> Measurement:
    """One with an index beside that of `_id`. `data` None: others of its family were measured in its place."""
    measured = data is not None
    primary = Index("_id_", "btree", ("_id",), unique=True, constraint=True, partial=False, size_bytes=2000, scans=0)
    other = Index("user_id_1", "btree", (field,), unique=True, constraint=True, partial=False, size_bytes=1200, scans=9)
    found = a_measurement(
        name,
        tags=(),
        time_column=None,
        rows=None if documents is None else a_count(documents),
        fields=(a_field("_id", types=("objectId",)), a_field(field, types=("int",), value_bytes=4.0))
        if measured
        else (),
        storage=Storage(data, 3200) if data is not None else None,
        indexes=(primary, other) if measured else None,
        documents=Documents(100, 35.0, 35, a_source()) if measured else None,
        options={"type": "collection"},
    )
    return dataclasses.replace(found, series=None)


def days(count: int, form: str = "visits_%Y_%m_%d") -> list[str]:
    return [(DAY - timedelta(days=i)).strftime(form) for i in range(count)]


def test_message_and_evidence() -> None:
    (finding,) = with_steps(rule, a_profile(*map(a_collection, days(20)), engine="mongodb"))
    assert finding.subject == Subject("main", "visits_{day}")
    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "20 collections named visits_{day} contain 2,000 documents in 70 kB, and 64 kB of indexes."
    )
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["bytes of documents and indexes"] == "134 kB, measured"
    # Nineteen days are over: 19 times 6,700 bytes, less 110 for each count.
    assert evidence["a collection of counts would free"] == "125 kB"
    assert evidence["new files a year"] == "1,095"
    assert '.getCollection("visits").createIndex({ period: 1 }, { expireAfterSeconds: 34560000 });' in one_line(
        finding.fix
    )


def test_bytes_of_what_was_not_measured_follow_from_its_documents() -> None:
    names = sorted(days(21))
    members = [a_collection(name, data=3500 if i % 10 == 0 else None) for i, name in enumerate(names)]
    (finding,) = run_rule(rule, a_profile(*members, engine="mongodb")).findings
    assert "2,100 documents in 73.5 kB" in finding.message
    assert finding.evidence[1].value == (
        "141 kB, 3 of 21 collections measured, the others estimated from their number of documents"
    )


@pytest.mark.parametrize(
    ("count", "ends", "expected"),
    [
        # One more a day, a thousand in ninety days.
        (910, 0, Severity.WARNING),
        (909, 0, Severity.NOTE),
        (999, 2, Severity.NOTE),
        (1_000, 2, Severity.WARNING),
    ],
)
def test_cost_is_the_number_of_collections(count: int, ends: int, expected: Severity) -> None:
    names = days(count + ends)[ends:]
    (finding,) = run_rule(rule, a_profile(*map(a_collection, names), engine="mongodb")).findings
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.FAMILY, count)
    assert finding.impact.per_day == (0 if ends else 1)
    assert finding.severity is expected


def test_silence_when_they_prove_nothing() -> None:
    def found(*names: str) -> list[Severity]:
        return [f.severity for f in run_rule(rule, a_profile(*map(a_collection, names), engine="mongodb")).findings]

    assert found(*days(11)) == [Severity.NOTE]
    assert found(*days(2)) == []
    assert found("order_201210", "order_201305", "order_201907") == []


def test_silence_when_the_members_have_no_field_in_common() -> None:
    members = [a_collection(name, field=f"f{i}") for i, name in enumerate(days(12))]
    assert run_rule(rule, a_profile(*members, engine="mongodb")).outcome is Outcome.PASS


def test_family_stays_one_when_a_field_was_renamed_over_the_years() -> None:
    members = [a_collection(name, field="uid" if i < 4 else "user_id") for i, name in enumerate(sorted(days(12)))]
    assert len(run_rule(rule, a_profile(*members, engine="mongodb")).findings) == 1


def test_bytes_of_what_was_not_counted_follow_from_its_neighbours() -> None:
    names = sorted(days(21))
    members = [a_collection(n, data=3500 if i % 10 == 0 else None, documents=None) for i, n in enumerate(names)]
    (finding,) = run_rule(rule, a_profile(*members, engine="mongodb")).findings
    assert finding.message == "21 collections named visits_{day} take 73.5 kB, and 67.2 kB of indexes."
    assert (
        finding.evidence[1].value == "141 kB, 3 of 21 collections measured, the others estimated from their neighbors"
    )


def test_bytes_are_left_out_where_they_are_not_known() -> None:
    """Without the permission for $collStats; the names tell enough."""
    members = [dataclasses.replace(a_collection(name), storage=None) for name in days(20)]
    gap = Gap("storage", Reason.DENIED, "not authorized on main to execute command", "main")
    result = run_rule(rule, a_profile(*members, engine="mongodb", gaps=(gap,)))
    assert (result.outcome, result.gaps) == (Outcome.FAIL, ())
    (finding,) = result.findings
    assert finding.message == "20 collections named visits_{day} contain 2,000 documents."
    evidence = {e.label: e.value for e in finding.evidence}
    assert not evidence.keys() & {"bytes of documents and indexes", "a collection of counts would free"}
    assert evidence["new files a year"] == "1,095"
    assert run_rule(closed_period_kept, a_profile(*members, engine="mongodb")).findings == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb", gaps=(gap,))).outcome is Outcome.PASS


def test_family_is_gone_through_a_few_times_and_not_once_for_each_member(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, times = CollectionFamily.measured, []
    monkeypatch.setattr(CollectionFamily, "measured", property(lambda f: times.append(f) or measured.fget(f)))
    assert len(run_rule(rule, a_profile(*map(a_collection, days(200)), engine="mongodb")).findings) == 1
    assert 0 < len(times) < 10


@pytest.mark.parametrize(
    ("max_files", "expected"),
    [(76, Severity.NOTE), (75, Severity.WARNING), (64, Severity.WARNING), (63, Severity.CRITICAL)],
)
def test_severity_when_all_files_come_to_a_limit_that_was_set(max_files: int, expected: Severity) -> None:
    profile = a_profile(*map(a_collection, days(20)), engine="mongodb")
    (finding,) = run_rule(rule, profile, {"max_files": max_files}).findings
    assert finding.severity is expected
    assert finding.impact is not None
    if expected is Severity.NOTE:
        assert (finding.impact.currency, finding.limit) == (Currency.FAMILY, None)
        return
    assert (finding.impact.currency, finding.impact.now, finding.impact.whole) == (Currency.LIMIT, 60, max_files)
    assert finding.limit is not None
    assert finding.limit.name == "collection-per-period.max_files"


def test_no_limit_is_enforced_unless_somebody_sets_one() -> None:
    """What MongoDB advises is worth a word, and rejects nothing."""
    members = [dataclasses.replace(a_collection(n), indexes=(a_collection(n).indexes or ()) * 400) for n in days(12)]
    (finding,) = run_rule(rule, a_profile(*members, engine="mongodb")).findings
    assert finding.limit is not None
    assert finding.impact is not None
    assert (finding.impact.currency, finding.severity) == (Currency.FAMILY, Severity.NOTE)


def test_severity_when_their_number_comes_to_the_limit_soon() -> None:
    profile = a_profile(*map(a_collection, days(100)), engine="mongodb")
    growing = tuple(Point(DAY - timedelta(days=28 - i), 72.0 + i) for i in range(28))
    timeline = Timeline(points={("measurements", Subject()): growing})
    # A hundred collections with two indexes each: 300 files, three more a day.
    (finding,) = run_rule(rule, profile, {"max_files": 450}, timeline).findings
    assert finding.severity is Severity.WARNING
    assert finding.forecast is not None
    assert finding.forecast.days is not None
    assert 38 <= finding.forecast.days <= 60
    assert "; at this rate the limit of 450 files is reached in about " in finding.message
    (sooner,) = run_rule(rule, profile, {"max_files": 330}, timeline).findings
    assert sooner.severity is Severity.CRITICAL
    (later,) = run_rule(rule, profile, {"max_files": 900}, timeline).findings
    assert (later.severity, "at this rate" in later.message) == (Severity.NOTE, False)
    steady = Timeline(points={("measurements", Subject()): tuple(Point(p.day, 100.0) for p in growing)})
    assert run_rule(rule, profile, {"max_files": 376}, steady).findings[0].severity is Severity.NOTE


def test_database_for_each_period_is_told_too() -> None:
    def found(count: int) -> list[Finding]:
        names = [f"stats_2025_{m:02}" for m in range(1, count + 1)]
        users = [dataclasses.replace(a_collection("users"), database=name) for name in names]
        databases = tuple(Database(name, storage=DatabaseStorage(1000, 200, None, None)) for name in names)
        profile = a_profile(*users, engine="mongodb", databases=(*databases, Database("shop")))
        return list(run_rule(rule, profile).findings)

    (finding,) = found(12)
    assert (finding.subject, finding.severity) == (Subject("stats_{month}"), Severity.NOTE)
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.FAMILY, 12)
    # The last one ended in December.
    assert finding.impact.per_day == 0
    assert finding.message == "12 databases named stats_{month} contain 12 collections."
    assert [e.value for e in finding.evidence] == ["2025-01-01 to 2025-12-01, each month", "14.4 kB"]
    assert found(2) == []


def test_families_of_one_thing_are_told_together() -> None:
    names = {*days(60), *days(60, "visits_%Gw%V"), *days(60, "logins_%Gw%V")}
    result = run_rule(rule, a_profile(*map(a_collection, sorted(names)), engine="mongodb"))
    beside = {f.subject.measurement: [e.value for e in f.evidence if "same" in e.label] for f in result.findings}
    assert beside == {
        "visits_{day}": ["visits_{week} (10)"],
        "visits_{week}": ["visits_{day} (60)"],
        "logins_{week}": [],
    }


def test_names_are_enough_when_nothing_else_is_known() -> None:
    assert run_rule(rule, a_profile(a_collection("a"), engine="mongodb")).outcome is Outcome.PASS
    unmeasured = [a_collection(name, documents=None, data=None) for name in days(20)]
    (finding,) = run_rule(rule, a_profile(*unmeasured, engine="mongodb")).findings
    assert finding.message == "20 collections named visits_{day}."
    assert NOW.date() == DAY
