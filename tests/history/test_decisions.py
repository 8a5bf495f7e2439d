"""What people decide: nothing is overwritten silently, what gets worse comes back, and everything can be undone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import DAY, NOW, a_finding, a_result, a_rule_result
from tests.history.conftest import EXAMPLES
from tsaudit.config.settings import Incidents
from tsaudit.history import clock, decisions, incidents
from tsaudit.history.decisions import Baseline, DecidedError, IncidentSelection, Mute
from tsaudit.history.lifecycle import Incident
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import (
    UNREACHABLE_CODE,
    Currency,
    Finding,
    Impact,
    Limit,
    Outcome,
    RuleResult,
    Severity,
    fingerprint,
)

LATER: Final = DAY + timedelta(days=30)
QUICK: Final = Incidents(open_after=1, resolve_after=1)
WARN, CRITICAL = Severity.WARNING, Severity.CRITICAL


@pytest.fixture(autouse=True)
def _midnight_never_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (clock, incidents):
        monkeypatch.setattr(module, "utc_now", lambda: NOW)


names: Final = (f"t{number}" for number in itertools.count())
"""Targets: examples of one test share a history."""


def place(number: int) -> Subject:
    return Subject("main", f"m{number}")


def fingerprint_of(target: str, number: int = 0) -> str:
    return fingerprint(target, "CAR001", place(number))


def of_size(observed: float | None, number: int = 0, severity: Severity = WARN, **changes: object) -> Finding:
    changes = {"observed": observed, "unit": "series", "limit": None} | changes
    return replace(a_finding(place(number), severity), **changes)  # type: ignore[arg-type]  # Finding's own fields


def audited(store: Store, target: str, *rules: RuleResult, day: date = DAY) -> None:
    result = a_result(*rules, day=day, target=target)
    store.save(None, result, None)
    incidents.update(store, result, QUICK, lambda _finding, _rule: "team")


def with_findings(store: Store, *findings: Finding, target: str = "shop", day: date = DAY) -> None:
    audited(store, target, a_rule_result(*findings), day=day)


def standing(store: Store, target: str = "shop") -> dict[str, Incident]:
    return {i.subject.measurement: i for i in incidents.current(store, target)}


def kind_of(store: Store, target: str = "shop") -> str | None:
    (found,) = incidents.current(store, target)
    return found.decision and str(found.decision.kind)


def a_mute(**changes: object) -> Mute:
    return replace(Mute("ann", "baseline", LATER), **changes)  # type: ignore[arg-type]  # its own fields


def numbers(found: Sequence[Incident]) -> list[str]:
    return sorted(i.subject.measurement for i in found)


# One decision at a time


@pytest.mark.parametrize(
    ("kind", "owner", "reason", "until"),
    [
        ("mute", "bob", "known", LATER),
        ("mute", "ann", "another reason", LATER),
        ("mute", "ann", "known", LATER + timedelta(days=1)),
        ("ack", "ann", "known", None),
    ],
)
def test_another_decision_is_refused_unless_it_is_to_replace_the_first(
    store: Store, kind: str, owner: str, reason: str, until: date | None
) -> None:
    with_findings(store, of_size(10))
    mark = fingerprint_of("shop")
    decisions.decide(store, [mark], "mute", "ann", "known", LATER)
    with pytest.raises(DecidedError, match=rf"shop CAR001 main/m0 is muted by ann until {LATER} \(known\)"):
        decisions.decide(store, [mark], kind, owner, reason, until)
    assert [(e.kind, e.owner) for e in incidents.decisions_made(store, {mark})] == [("mute", "ann")]
    (decided,) = decisions.decide(store, [mark], kind, owner, reason, until, replace=True)
    assert decided.decision is not None
    assert (decided.decision.kind, decided.decision.owner, decided.decision.reason) == (kind, owner, reason)
    assert [e.kind for e in incidents.decisions_made(store, {mark})] == ["mute", kind], "the first one is kept"


def test_of_several_incidents_all_are_decided_about_or_none(store: Store) -> None:
    with_findings(store, *(of_size(10, n) for n in range(3)))
    marks = [fingerprint_of("shop", n) for n in range(3)]
    decisions.decide(store, marks[1:2], "ack", "bob", "on it")
    with pytest.raises(DecidedError, match="main/m1 is acknowledged by bob"):
        decisions.decide(store, marks, "mute", "ann", "known", LATER)
    assert [i.decision and i.decision.owner for i in standing(store).values()].count("ann") == 0
    decided = decisions.decide(store, [*marks, *marks], "mute", "ann", "known", LATER, replace=True)
    assert [i.fingerprint for i in decided] == marks
    assert len(incidents.decisions_made(store, marks)) == 4


def test_the_same_decision_again_changes_nothing(store: Store) -> None:
    with_findings(store, of_size(10))
    mark = fingerprint_of("shop")
    for _ in range(3):
        decisions.decide(store, [mark], "mute", "ann", "known", LATER)
    assert len(incidents.decisions_made(store, {mark})) == 1


def test_a_decision_that_has_ended_is_in_nobodys_way(store: Store) -> None:
    before = DAY - timedelta(days=9)
    with_findings(store, of_size(10), day=before)
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "on holiday", before + timedelta(days=2))
    decisions.decide(store, [fingerprint_of("shop")], "mute", "bob", "known", LATER)
    assert kind_of(store) == "mute"


def test_the_log_says_who_decided_what_and_when(store: Store) -> None:
    with_findings(store, of_size(10))
    mark = fingerprint_of("shop")
    decisions.decide(store, [mark], "mute", " ann ", "moving", LATER)
    decisions.reopen(store, IncidentSelection(), "bob", "moved")
    muted, reopened = incidents.decisions_made(store, {mark})
    assert (muted.kind, muted.owner, muted.reason, muted.until) == ("mute", "ann", "moving", LATER)
    assert (reopened.kind, reopened.owner, reopened.reason, reopened.until) == ("reopen", "bob", "moved", None)
    assert muted.made_at <= reopened.made_at <= datetime.now(UTC)
    assert incidents.decisions_made(store, {"0" * 16}) == []


# What gets worse comes back

LOWER: Final = Limit("a-rule.min_rows", 1000.0, "series", "our default: for the test", "default")


@pytest.mark.parametrize(
    ("before", "after", "applies"),
    [
        (of_size(100), of_size(100), True),
        (of_size(100), of_size(150), True),
        (of_size(100), of_size(151), False),
        (of_size(100), of_size(3), True),
        (of_size(100), of_size(100, severity=CRITICAL), False),
        (of_size(100, severity=CRITICAL), of_size(100), True),
        (of_size(300, limit=LOWER), of_size(200, limit=LOWER), True),
        (of_size(300, limit=LOWER), of_size(199, limit=LOWER), False),
        (of_size(300, limit=LOWER), of_size(900, limit=LOWER), True),
        (of_size(100), of_size(9000, unit="bytes"), True),
        (of_size(100), of_size(None), True),
        (of_size(None), of_size(9000), True),
        (of_size(0.4, unit=""), of_size(0.61, unit=""), False),
    ],
)
def test_a_mute_covers_what_is_not_much_worse(store: Store, before: Finding, after: Finding, applies: bool) -> None:
    with_findings(store, before, day=DAY - timedelta(days=1))
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", LATER)
    assert kind_of(store) == "mute"
    with_findings(store, after)
    (found,) = incidents.current(store)
    assert (found.decision is not None, found.exceeded is not None) == (applies, not applies)
    assert bool(decisions.outgrown(found)) == (not applies)


def costing(currency: Currency, now: float, per_day: float = 0.0, places: int = 1) -> Finding:
    return replace(
        of_size(31, unit="distinct values"), impact=Impact(currency, now=now, per_day=per_day, places=places)
    )


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (costing(Currency.READS, 3e9), costing(Currency.READS, 4.4e9), ""),
        (
            costing(Currency.READS, 3e9),
            costing(Currency.READS, 9e9),
            "covers up to 4,500,000,000 rows read unnecessarily a day, now 9,000,000,000 rows read unnecessarily a day",
        ),
        # As fast as it was; then faster.
        (costing(Currency.BYTES, 20e6, 1e6), costing(Currency.BYTES, 80e6, 1e6), ""),
        (
            costing(Currency.BYTES, 20e6, 1e6),
            costing(Currency.BYTES, 21e6, 2e6),
            "covers up to 578 MB of avoidable storage in a year, now 751 MB of avoidable storage in a year",
        ),
        # Five findings were muted; with a sixth place, they are one, which costs what all of them do.
        (costing(Currency.SERIES, 1_000), costing(Currency.SERIES, 6_000, places=6), ""),
        (costing(Currency.SERIES, 6_000, places=6), costing(Currency.SERIES, 1_100), ""),
        (
            costing(Currency.SERIES, 6_000, places=6),
            costing(Currency.SERIES, 19_000, places=7),
            "covers up to 9,000 avoidable series in all places, now 19,000 avoidable series in all places",
        ),
        # What cannot be counted is covered by what was observed.
        (costing(Currency.ANSWERS, 0), costing(Currency.ANSWERS, 0), ""),
        (
            costing(Currency.ANSWERS, 0),
            replace(costing(Currency.ANSWERS, 0), observed=90),
            "covers up to 46.5",
        ),
    ],
)
def test_a_mute_covers_what_it_cost(store: Store, before: Finding, after: Finding, said: str) -> None:
    with_findings(store, before, day=DAY - timedelta(days=1))
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", LATER)
    with_findings(store, after)
    (found,) = incidents.current(store)
    assert bool(found.exceeded) == bool(said)
    assert decisions.outgrown(found).startswith(said)


CONNECTIONS: Final = Limit("near-limit.max_connections", 1000.0, "connections", "the server's setting", "server")


@pytest.mark.parametrize(
    "growing",
    [
        {"impact": Impact(Currency.LIMIT, now=200, whole=1000, unit="connections", days_left=40)},
        {"impact": Impact(Currency.FAMILY, now=200, per_day=20)},
        # Of another figure: bytes of a document of which the connections are items.
        {"impact": Impact(Currency.LIMIT, now=5_000_000, whole=16_000_000, per_day=1_000_000, days_left=40)},
    ],
)
def test_what_grows_toward_a_limit_comes_back_when_it_is_higher(store: Store, growing: dict[str, Any]) -> None:
    def using(count: float) -> Finding:
        return replace(of_size(count, limit=CONNECTIONS, unit="connections"), **growing)

    with_findings(store, using(200), day=DAY - timedelta(days=1))
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "on holiday", LATER)
    assert decisions.ends_early(muted).startswith("above 300 connections, or if critical")
    with_findings(store, using(90))
    assert kind_of(store) == "mute", "fewer are no worse"
    with_findings(store, using(301))
    (found,) = incidents.current(store)
    assert found.exceeded
    assert decisions.outgrown(found) == "covers up to 300 connections, now 301 connections"


@pytest.mark.parametrize(
    "growing",
    [
        {"per_day": 200.0, "unit": "avoidable series"},
        {"impact": Impact(Currency.SERIES, now=200, per_day=200), "unit": "avoidable series"},
        {"impact": Impact(Currency.LIMIT, now=200, per_day=200, whole=100_000, days_left=499), "unit": "values"},
    ],
    ids=["seen", "cost", "limit"],
)
def test_known_growth_does_not_end_a_mute(store: Store, growing: dict[str, Any]) -> None:
    """200 more a day until the mute ends in two days are 800, and half as many again is no news."""
    unit = growing["unit"]
    with_findings(store, replace(of_size(200, limit=CONNECTIONS), **growing))
    until = DAY + timedelta(days=2)
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "until Monday", until)
    assert decisions.ends_early(muted).startswith(f"above 1,200 {unit}")
    far = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", date(2099, 12, 31), replace=True)
    assert decisions.ends_early(far[0]).startswith(f"above {(200 + 90 * 200) * 1.5:,.0f} {unit}")


def test_growth_that_retention_ends_is_not_covered(store: Store) -> None:
    impact = Impact(Currency.SERIES, now=7_000, per_day=1_000, kept_days=7)
    with_findings(store, replace(of_size(7_000, limit=CONNECTIONS, unit="series"), impact=impact))
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", DAY + timedelta(days=89))
    assert decisions.ends_early(muted).startswith("above 10,500 avoidable series")


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (0.6, ", or when no time is left, in about 1 day"),
        (6.2, ", or with 1 day left, in about 6 days"),
        (40, ", or with 14 days left, in about 26 days"),
    ],
)
def test_a_mute_that_lasts_longer_than_what_is_left_says_so(store: Store, left: float, said: str) -> None:
    impact = Impact(Currency.LIMIT, now=900, whole=1000, unit="connections", days_left=left)
    with_findings(store, replace(of_size(900, limit=CONNECTIONS, unit="connections"), impact=impact))
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "on holiday", LATER)
    assert decisions.ends_early(muted) == f"above 1,350 connections, or if critical{said}"


def test_a_mute_ends_when_a_step_of_urgency_is_reached(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At 20 days left it was no hurry; with less than 14 it is one, though the figure has hardly grown."""

    def with_left(left: float, day: int) -> Incident:
        for module in (clock, incidents):
            monkeypatch.setattr(module, "utc_now", lambda: NOW + timedelta(days=day))
        impact = Impact(Currency.LIMIT, now=800, whole=1000, unit="connections", days_left=left)
        finding = replace(of_size(800, limit=CONNECTIONS, unit="connections"), impact=impact)
        with_findings(store, finding, day=DAY + timedelta(days=day))
        (found,) = incidents.current(store)
        return found

    with_left(20.0, 0)
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "on holiday", LATER)
    assert "or with 14 days left" in decisions.ends_early(muted)
    assert with_left(19.0, 1).is_muted
    ended = with_left(13.2, 2)
    assert ended.exceeded
    assert decisions.outgrown(ended) == "does not cover the last 14 days"
    assert with_left(14.8, 3).exceeded, "the estimate wavers"
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "still on holiday", LATER)
    assert with_left(13.0, 4).exceeded
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "back next week", LATER)
    assert with_left(12.0, 5).is_muted
    assert with_left(6.0, 6).exceeded


def test_what_ends_a_mute_is_known_when_it_is_made(store: Store) -> None:
    with_findings(store, of_size(300, limit=LOWER))
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", LATER)
    assert decisions.ends_early(muted) == "below 200 series, or if critical"
    with_findings(store, of_size(None, severity=CRITICAL))
    (muted,) = decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", LATER, replace=True)
    assert decisions.ends_early(muted) == ""
    (acked,) = decisions.decide(store, [fingerprint_of("shop")], "ack", "ann", "known", replace=True)
    assert decisions.ends_early(acked) == ""


def test_what_came_back_says_what_was_covered(store: Store) -> None:
    with_findings(store, of_size(100), day=DAY - timedelta(days=1))
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", LATER)
    with_findings(store, of_size(1000))
    assert decisions.outgrown(standing(store)["m0"]) == "covers up to 150 series, now 1,000 series"
    with_findings(store, of_size(100))
    assert kind_of(store) == "mute", "it applies again when that is over"


def test_what_came_back_can_be_muted_again_without_replacing_anything(store: Store) -> None:
    with_findings(store, of_size(100), day=DAY - timedelta(days=1))
    decisions.decide(store, [fingerprint_of("shop")], "mute", "ann", "known", LATER)
    with_findings(store, of_size(1000))
    decisions.decide(store, [fingerprint_of("shop")], "mute", "bob", "the new customer", LATER)
    assert kind_of(store) == "mute"


# A baseline


def test_baseline_mutes_what_is_open_or_watched_and_only_once(store: Store) -> None:
    with_findings(store, *(of_size(10, n) for n in range(3)), of_size(10, 3, CRITICAL))
    slow = a_result(a_rule_result(of_size(10, 4)), day=DAY, target="slow")
    incidents.update(store, slow, Incidents(open_after=5), lambda _finding, _rule: "team")
    assert numbers(decisions.mute_all(store, a_mute(), dry_run=True).muted) == ["m0", "m1", "m2", "m4"]
    assert not [i for i in incidents.current(store) if i.decision]

    found = decisions.mute_all(store, a_mute())
    assert (numbers(found.muted), numbers(found.too_severe)) == (["m0", "m1", "m2", "m4"], ["m3"])
    again = decisions.mute_all(store, a_mute(until=LATER + timedelta(days=1)))
    assert (again.muted, numbers(again.decided)) == ((), ["m0", "m1", "m2", "m4"])
    assert numbers([i for i in incidents.current(store) if i.decision]) == ["m0", "m1", "m2", "m4"]


def test_baseline_with_critical_ones(store: Store) -> None:
    with_findings(store, of_size(10, 0, CRITICAL))
    assert decisions.mute_all(store, a_mute()).muted == ()
    assert numbers(decisions.mute_all(store, a_mute(up_to=CRITICAL)).muted) == ["m0"]


def test_baseline_leaves_what_somebody_decided_about_and_replaces_it_on_request(store: Store) -> None:
    with_findings(store, of_size(10, 0), of_size(10, 1), of_size(10, 2))
    decisions.decide(store, [fingerprint_of("shop", 0)], "mute", "bob", "moving", LATER)
    decisions.decide(store, [fingerprint_of("shop", 1)], "ack", "cyd", "on it", None)
    found = decisions.mute_all(store, a_mute())
    assert (numbers(found.muted), numbers(found.decided)) == (["m2"], ["m0", "m1"])
    found = decisions.mute_all(store, a_mute(replace=True))
    assert (numbers(found.muted), numbers(found.decided)) == (["m0", "m1"], ["m2"]), "m2 is as asked for"
    assert {i.decision and i.decision.owner for i in incidents.current(store)} == {"ann"}
    assert decisions.mute_all(store, a_mute(replace=True)).muted == ()


def test_baseline_of_some_targets_and_rules(store: Store) -> None:
    other = a_rule_result(of_size(10, 5), code="TAG001")
    audited(store, "shop", a_rule_result(of_size(10, 0)), other)
    with_findings(store, of_size(10, 1), target="plant")
    only = IncidentSelection(targets=frozenset({"shop"}), codes=frozenset({"CAR001"}))
    assert numbers(decisions.mute_all(store, a_mute(selection=only)).muted) == ["m0"]
    assert numbers([i for i in incidents.current(store) if i.decision is None]) == ["m1", "m5"]


def test_baseline_never_hides_that_something_was_not_audited(store: Store) -> None:
    missed = a_rule_result(a_finding(Subject("other")), code=UNREACHABLE_CODE, outcome=Outcome.ERROR)
    audited(store, "shop", a_rule_result(of_size(10)), missed)
    found = decisions.mute_all(store, a_mute(up_to=CRITICAL, replace=True))
    assert (numbers(found.muted), [i.code for i in found.about_audit]) == (["m0"], [UNREACHABLE_CODE])


def test_new_and_worse_findings_are_open_after_a_baseline(store: Store) -> None:
    with_findings(store, of_size(10, 0), of_size(10, 1), day=DAY - timedelta(days=1))
    decisions.mute_all(store, a_mute())
    with_findings(store, of_size(10, 0), of_size(99, 1), of_size(10, 2))
    assert numbers([i for i in incidents.current(store) if i.decision is None]) == ["m1", "m2"]


def test_baseline_is_all_or_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with_findings(store, *(of_size(10, n) for n in range(3)))

    def breaks(*_given: object) -> float:
        if next(calls) == 2:
            raise RuntimeError("broken")
        return 1.0

    calls = itertools.count()
    monkeypatch.setattr(incidents, "bound_of", breaks)
    with pytest.raises(RuntimeError):
        decisions.mute_all(store, a_mute())
    assert not [i for i in incidents.current(store) if i.decision]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reason": " "}, "give a reason"),
        ({"owner": ""}, "name the person"),
        ({"until": DAY - timedelta(days=1)}, "is over: shop was audited on"),
    ],
)
def test_baseline_refuses_what_says_too_little(store: Store, changes: dict[str, object], message: str) -> None:
    with_findings(store, of_size(10))
    with pytest.raises(ValueError, match=message):
        decisions.mute_all(store, a_mute(**changes))


# Reopening


def test_reopen_ends_every_kind_of_decision_once(store: Store) -> None:
    with_findings(store, *(of_size(10, n) for n in range(3)), day=DAY - timedelta(days=1))
    for number, (kind, until) in enumerate([("ack", None), ("mute", LATER)]):
        decisions.decide(store, [fingerprint_of("shop", number)], kind, "ann", "why", until)
    assert numbers(decisions.reopen(store, IncidentSelection(), "bob", dry_run=True)) == ["m0", "m1"]
    found = decisions.reopen(store, IncidentSelection(), "bob")
    assert numbers(found) == ["m0", "m1"]
    assert [i.decision and str(i.decision.kind) for i in found] == ["ack", "mute"]
    assert not [i for i in incidents.current(store) if i.decision]
    assert decisions.reopen(store, IncidentSelection(), "bob") == []
    with pytest.raises(ValueError, match="name the person"):
        decisions.reopen(store, IncidentSelection(), " ")


def test_reopen_of_one_target_or_incident_leaves_the_others_alone(store: Store) -> None:
    for target in ("shop", "plant"):
        with_findings(store, of_size(10, 0), of_size(10, 1), target=target)
    decisions.mute_all(store, a_mute())
    one = IncidentSelection(fingerprints=frozenset({fingerprint_of("shop", 1)}))
    assert [(i.target, i.subject.measurement) for i in decisions.reopen(store, one, "bob")] == [("shop", "m1")]
    plant = IncidentSelection(targets=frozenset({"plant"}))
    assert numbers(decisions.reopen(store, plant, "bob")) == ["m0", "m1"]
    assert numbers([i for i in incidents.current(store) if i.decision]) == ["m0"]


def test_reopen_also_ends_what_would_apply_again_later(store: Store) -> None:
    with_findings(store, of_size(10), day=DAY - timedelta(days=1))
    decisions.mute_all(store, a_mute())
    with_findings(store, of_size(99))
    assert numbers(decisions.reopen(store, IncidentSelection(), "bob")) == ["m0"]
    with_findings(store, of_size(10))
    assert kind_of(store) is None


# Several people at once


def at_once(address: str, *calls: Callable[[Store], object]) -> list[object]:
    """What each call returned or raised; each with a history of its own, as in processes of their own."""

    def one(call: Callable[[Store], object]) -> object:
        with Store.open(address) as store:
            try:
                return call(store)
            except DecidedError as error:
                return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(one, calls))


def deciding(owner: str, number: int = 0, **options: bool) -> Callable[[Store], object]:
    return lambda store: decisions.decide(
        store, [fingerprint_of("shop", number)], "mute", owner, "moving", LATER, **options
    )


def test_of_several_people_at_once_one_decides_and_the_others_hear_who(address: str) -> None:
    with Store.open(address) as store:
        with_findings(store, of_size(10))
    done = at_once(address, *(deciding(f"p{n}") for n in range(6)))
    ((won,),) = [one for one in done if isinstance(one, list)]
    assert won.decision is not None
    refused = [one for one in done if isinstance(one, DecidedError)]
    assert len(refused) == 5
    assert {one.decision.owner for one in refused} == {won.decision.owner}
    with Store.open(address) as store:
        assert [e.owner for e in incidents.decisions_made(store, {fingerprint_of("shop")})] == [won.decision.owner]


def test_of_several_people_who_replace_at_once_every_decision_is_kept(address: str) -> None:
    with Store.open(address) as store:
        with_findings(store, of_size(10))
    at_once(address, *(deciding(f"p{n}", replace=True) for n in range(6)))
    with Store.open(address) as store:
        made = incidents.decisions_made(store, {fingerprint_of("shop")})
        assert sorted(e.owner for e in made) == [f"p{n}" for n in range(6)]
        (found,) = incidents.current(store)
        assert found.decision is not None
        assert found.decision.owner == made[-1].owner


def test_baselines_and_mutes_at_once_decide_about_each_incident_once(address: str) -> None:
    with Store.open(address) as store:
        with_findings(store, *(of_size(10, n) for n in range(8)))
    baselines = [lambda store, n=n: decisions.mute_all(store, a_mute(owner=f"a{n}")) for n in range(3)]
    done = at_once(address, *baselines, *(deciding("bob", number) for number in range(0, 8, 3)))
    with Store.open(address) as store:
        made = incidents.decisions_made(store, {fingerprint_of("shop", n) for n in range(8)})
    assert sorted(e.fingerprint for e in made) == sorted(fingerprint_of("shop", n) for n in range(8))
    muted = [i.fingerprint for one in done if isinstance(one, Baseline) for i in one.muted]
    assert sorted(muted) == sorted(e.fingerprint for e in made if e.owner != "bob")
    assert sum(isinstance(one, list) for one in done) == sum(e.owner == "bob" for e in made)


# Any sequence of audits and decisions


@dataclass
class Model:
    """What applies to one incident, told as simply as possible."""

    size: float = 10
    rank: int = 1
    made: tuple[str, str, str, date | None, float, int] | None = None
    """Kind, owner, reason, last day, and the size and severity that it covers."""

    def holds(self, day: date) -> bool:
        if self.made is None:
            return False
        kind, _, _, until, size, rank = self.made
        return kind == "ack" or (until is not None and until >= day and self.size <= 1.5 * size and self.rank <= rank)


PEOPLE: Final = st.sampled_from(["ann", "bob"])
STEPS: Final = st.one_of(
    st.tuples(st.just("audit"), st.sampled_from([5.0, 10.0, 15.0, 16.0, 40.0]), st.sampled_from([1, 2])),
    st.tuples(
        st.just("decide"),
        st.sampled_from(["ack", "mute"]),
        PEOPLE,
        st.sampled_from(["x", "y"]),
        st.integers(0, 3),
        st.booleans(),
    ),
    st.tuples(st.just("baseline"), PEOPLE, st.integers(0, 3), st.booleans(), st.booleans()),
    st.tuples(st.just("reopen"), PEOPLE),
)


def test_decisions_follow_the_model(store: Store) -> None:
    @settings(max_examples=EXAMPLES[store.engine.dialect.name], deadline=None)
    @given(steps=st.lists(STEPS, max_size=10))
    def holds(steps: Sequence[tuple[object, ...]]) -> None:
        follow_the_model(store, steps)

    holds()


def follow_the_model(store: Store, steps: Sequence[tuple[object, ...]]) -> None:
    target = next(names)
    only, mark = IncidentSelection(targets=frozenset({target})), fingerprint_of(target)
    model, written = Model(), 0
    day = DAY - timedelta(days=len(steps))

    def audit() -> None:
        severity = {1: WARN, 2: CRITICAL}[model.rank]
        with_findings(store, of_size(model.size, severity=severity), target=target, day=day)

    audit()
    for step in steps:
        match step:
            case ("audit", float(size), int(rank)):
                day += timedelta(days=1)
                model.size, model.rank = size, rank
                audit()
            case ("decide", str(kind), str(owner), str(reason), int(days), bool(force)):
                until = None if kind == "ack" else DAY + timedelta(days=days)
                asked = (kind, owner, reason, until)
                same = model.holds(DAY) and model.made is not None and model.made[:4] == asked
                if model.holds(DAY) and not same and not force:
                    with pytest.raises(DecidedError):
                        decisions.decide(store, [mark], kind, owner, reason, until, replace=force)
                else:
                    decisions.decide(store, [mark], kind, owner, reason, until, replace=force)
                    if not same:
                        model.made, written = (*asked, model.size, model.rank), written + 1
            case ("baseline", str(owner), int(days), bool(force), bool(all_of_them)):
                until = DAY + timedelta(days=days)
                up_to = CRITICAL if all_of_them else WARN
                wanted = Mute(owner, "base", until, up_to, force, only)
                asked = ("mute", owner, "base", until)
                same = model.holds(DAY) and model.made is not None and model.made[:4] == asked
                free = not model.holds(DAY) or (force and not same)
                expected = free and (all_of_them or model.rank == 1)
                assert bool(decisions.mute_all(store, wanted, dry_run=True).muted) == expected
                assert bool(decisions.mute_all(store, wanted).muted) == expected
                if expected:
                    model.made, written = (*asked, model.size, model.rank), written + 1
            case ("reopen", str(owner)):
                ended = decisions.reopen(store, only, owner)
                assert bool(ended) == (model.made is not None)
                if model.made is not None:
                    model.made, written = None, written + 1
        (found,) = incidents.current(store, target)
        assert (found.decision is not None) == model.holds(day)
        if found.decision is not None and model.made is not None:
            made = found.decision
            assert (str(made.kind), made.owner, made.reason, made.until) == model.made[:4]
        assert len(incidents.decisions_made(store, {mark})) == written, "nothing that was decided is lost"


@pytest.mark.parametrize("looked_up", [0, 1, 500])
def test_decisions_are_the_same_however_they_are_read(
    store: Store, looked_up: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One by one for a few incidents, all at once for many, with those of other targets."""
    monkeypatch.setattr(incidents, "_LOOKED_UP", looked_up)
    with_findings(store, *(of_size(10, number) for number in range(2)), target="first")
    with_findings(store, of_size(10), target="second")
    decisions.decide(store, [fingerprint_of("first", 1)], "mute", "ann", "moving", LATER)
    decisions.decide(store, [fingerprint_of("second")], "mute", "bob", "known", LATER)
    decisions.decide(store, [fingerprint_of("second")], "mute", "ann", "known", LATER, replace=True)
    first, second = standing(store, "first"), standing(store, "second")
    assert [first[name].decision is None for name in ("m0", "m1")] == [True, False]
    assert second["m0"].decision is not None
    assert second["m0"].decision.owner == "ann"
    assert {i.fingerprint for i in incidents.current(store) if i.decision} == {
        fingerprint_of("first", 1),
        fingerprint_of("second"),
    }
