"""Rules that judged and no longer do, over days made by hand and kept in a history."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Final

import pytest

from tests.builders import DAY, NOW, a_finding, a_measurement, a_profile, a_result, a_rule_result
from tsaudit.collect import of_its_day
from tsaudit.config.settings import Incidents
from tsaudit.history import incidents
from tsaudit.history.store import Store
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import DEGRADED_CODE, AuditResult, Outcome, RuleResult, Severity, Verdict
from tsaudit.not_audited import Missed, degraded_rules, outcomes_of, result_of, whole
from tsaudit.summary import of_finding

GAP: Final = Gap("series_listing", Reason.TIMED_OUT, "took longer than 60 s", "main", "cpu")
OTHER: Final = a_rule_result(code="NAM001")
"""A rule that judges on every day."""


def judged(code: str = "CAR001") -> RuleResult:
    return a_rule_result(code=code)


def found(code: str = "CAR001") -> RuleResult:
    return a_rule_result(a_finding(), code=code, gaps=(GAP,))


def lacking(code: str = "CAR001", gap: Gap = GAP) -> RuleResult:
    return a_rule_result(code=code, outcome=Outcome.OPEN, gaps=(gap,), reason=f"1 gap, the first: {gap.detail}")


def broken(code: str = "CAR001") -> RuleResult:
    return a_rule_result(code=code, outcome=Outcome.ERROR, reason="KeyError: 'x'")


def does_not_apply(code: str = "CAR001") -> RuleResult:
    return a_rule_result(code=code, outcome=Outcome.NOT_APPLICABLE, reason="does not apply to duckdb")


def not_audited() -> AuditResult:
    return a_result(result_of([whole("the password was refused")]))


def a_day(*rules: RuleResult) -> AuditResult:
    return a_result(*rules, OTHER)


def last(*days: AuditResult, after: int = 3) -> RuleResult | None:
    """What is said on the last of the days, which follow one another."""
    outcomes = [outcomes_of(day) for day in days[:-1]]
    return degraded_rules(days[-1], outcomes[::-1], after)


def test_unknown_for_as_many_audits_as_configured_and_not_before() -> None:
    days = [a_day(judged()), *[a_day(lacking())] * 3]
    assert last(*days[:3]) is None
    said = last(*days)
    assert said is not None
    (finding,) = said.findings
    assert (said.code, finding.subject, finding.severity) == (DEGRADED_CODE, Subject(), Severity.WARNING)
    assert finding.message == ("main/cpu: took longer than 60 s, so 1 rule has been unknown for 3 audits: CAR001")
    assert last(*days, after=4) is None
    assert last(*days[:2], after=1) is not None


@pytest.mark.parametrize("reason", [Reason.DENIED, Reason.OVER_BUDGET])
def test_what_worked_before_and_does_not_come_back_by_itself_is_said_at_once(reason: Reason) -> None:
    gap = Gap("series_listing", reason, "of about 1,020,000 rows at most 1,000,000 may be read", "main", "cpu")
    said = last(a_day(judged()), a_day(lacking(gap=gap)))
    assert said is not None
    cause = "main/cpu: of about 1,020,000 rows at most 1,000,000 may be read"
    assert said.findings[0].message == f"{cause}, so 1 rule that worked before is unknown: CAR001"
    said = last(a_day(judged()), *[a_day(lacking(gap=gap))] * 2)
    assert said is not None
    assert "so 1 rule has been unknown for 2 audits" in said.findings[0].message
    assert last(a_day(lacking(gap=gap))) is None
    assert last(a_day(does_not_apply()), a_day(lacking(gap=gap))) is None


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (Reason.DENIED, "GRANT SELECT ON public.cpu TO tsaudit"),
        (Reason.OVER_BUDGET, "set `budget: {max_scan_rows: 10000000}`"),
    ],
)
def test_the_headline_names_the_place_and_the_cause_and_the_first_step_is_what_helps(
    reason: Reason, advice: str
) -> None:
    gap = Gap("series_listing", reason, "only a part of cpu is read", "public", "cpu", fix=advice)
    said = last(*[a_day(*(lacking(f"CAR0{i:02}", gap=gap) for i in range(1, 19)), lacking("TAG001"))] * 3)
    assert said is not None
    summary = of_finding(said.findings[0], said.code, (), "t", DAY)
    assert summary.headline.startswith("public/cpu: only a part of cpu is read, so 19 rules have been unknown")
    assert "(1 for other reasons)" in said.findings[0].message
    assert summary.first_step == f"{advice[0].upper()}{advice[1:]}."


def test_what_a_past_day_cannot_know_counts_on_no_day() -> None:
    past = a_profile(a_measurement("log", tags={}, fields=(), time_column=None), engine="duckdb")
    past = replace(past, facts=frozenset({"row_sample"}), collected_at=past.window.end + timedelta(days=9))
    (gap,) = of_its_day(past).gaps
    assert last(*[a_day(lacking(gap=gap))] * 5) is None
    assert last(a_day(judged()), *[a_day(lacking())] * 2, *[a_day(lacking(gap=gap))] * 9) is None
    assert last(*[a_day(lacking())] * 2, a_day(lacking(gap=gap)), a_day(lacking())) is not None


def test_a_rule_that_broke_is_unknown_too() -> None:
    said = last(a_day(judged()), a_day(broken()), a_day(lacking()), a_day(broken()))
    assert said is not None
    assert said.findings[0].message.startswith("CAR001 broke: KeyError: 'x', so 1 rule")


def test_a_rule_that_finds_something_judges_whatever_it_lacks() -> None:
    assert last(a_day(judged()), a_day(lacking()), a_day(found()), a_day(lacking())) is None
    assert last(a_day(found()), *[a_day(lacking())] * 3) is not None


@pytest.mark.parametrize("before", [[], [a_day(does_not_apply())] * 9, [not_audited()] * 9])
def test_a_rule_that_never_worked_counts_like_one_that_stopped(before: list[AuditResult]) -> None:
    assert last(*before, *[a_day(lacking())] * 2) is None
    result = last(*before, *[a_day(lacking())] * 3)
    assert result is not None
    assert result.findings[0].message.endswith(", so 1 rule has been unknown for 3 audits: CAR001")


def test_what_a_server_never_supported_does_not_count() -> None:
    gap = Gap("activity", Reason.UNSUPPORTED, "this server does not support it (no such command: 'top')", "main")
    unsupported = a_day(lacking(gap=gap))
    assert last(*[unsupported] * 9) is None
    assert last(a_day(judged()), *[unsupported] * 3) is not None, "it worked before an upgrade, or a move"
    slow, denied = (
        a_day(a_rule_result(code="CAR001", outcome=Outcome.OPEN, gaps=(gap, other)))
        for other in (GAP, replace(GAP, reason=Reason.DENIED))
    )
    assert last(*[unsupported] * 4, slow) is None
    assert last(*[denied] * 3) is not None
    assert last(*[a_day(lacking(gap=replace(gap, fix="set [monitor] store-enabled to true")))] * 3) is not None
    assert last(*[a_day(lacking(gap=replace(gap, measurement="cpu")))] * 3) is not None


def test_a_rule_that_does_not_apply_any_more_does_not_count() -> None:
    assert last(a_day(judged()), *[a_day(does_not_apply())] * 9) is None


def test_audits_that_did_not_take_place_are_skipped() -> None:
    days = [a_day(judged()), a_day(lacking()), not_audited(), not_audited(), a_day(lacking())]
    assert last(*days) is None, "two audits in which it was unknown"
    assert last(*days, a_day(lacking())) is not None


def test_nothing_is_said_on_a_day_without_an_audit() -> None:
    days = [a_day(judged()), *[a_day(lacking())] * 5]
    gone = a_result(result_of([whole("no route to host")]), *a_day(lacking()).results)
    assert last(*days, gone) is None


def test_what_a_database_that_was_not_audited_lacks_is_said_by_that() -> None:
    gap = Gap("series_listing", Reason.DENIED, "no right on b", "b")
    missed = result_of(
        [Missed(Subject("b"), "no right on b", "Database b could not be audited: no right on b", "Grant.")]
    )
    partly = a_result(lacking(gap=gap), OTHER, missed)
    assert last(a_day(judged()), *[partly] * 9) is None
    both = a_rule_result(code="CAR001", outcome=Outcome.OPEN, gaps=(gap, GAP), reason="2 gaps")
    assert last(a_day(judged()), *[a_result(both, OTHER, missed)] * 3) is not None


def test_many_rules_are_one_finding_the_longest_silent_first() -> None:
    codes = [f"CAR0{i:02}" for i in range(1, 14)]
    days = [
        a_day(*map(judged, codes)),
        a_day(lacking(codes[5]), *map(judged, [c for c in codes if c != codes[5]])),
        *[a_day(*map(lacking, codes))] * 3,
    ]
    dated = [a_result(*day.results, day=DAY + timedelta(days=i)) for i, day in enumerate(days)]
    said = last(*dated)
    assert said is not None
    (finding,) = said.findings
    assert "so 13 rules have been unknown for at least 3 audits: CAR006, CAR001" in finding.message
    assert finding.message.endswith(" and 3 more")
    assert len(finding.evidence) == 13
    assert finding.since == DAY + timedelta(days=1)


# --- In a history ------------------------------------------------------------------------------------------------


def audit(store: Store, day: date, *rules: RuleResult, policy: Incidents | None = None) -> dict[str, str]:
    """Audit the day as `tsaudit.run` does; the kind of each change of `TGT002` and `TGT001`."""
    chosen = policy or Incidents(resolve_after=1)
    result = a_result(*rules, day=day)
    said = degraded_rules(result, store.rule_outcomes("demo", before=day), chosen.unknown_after)
    if said is not None:
        result = a_result(*rules, said, day=day)
    store.save(None, result, None)
    changes = incidents.update(store, result, chosen, lambda *_: "default")
    return {c.incident.code: str(c.kind) for c in changes if c.incident.code.startswith("TGT")}


@pytest.fixture
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store.open(f"sqlite:///{tmp_path_factory.mktemp('history')}/history.db")


def on(days: int) -> date:
    return DAY + timedelta(days=days)


def test_incident_opens_goes_on_and_closes_when_they_judge_again(store: Store) -> None:
    assert [audit(store, on(i), rule, OTHER) for i, rule in enumerate([judged(), lacking(), lacking()])] == [{}] * 3
    assert audit(store, on(3), lacking(), OTHER) == {DEGRADED_CODE: "opened"}
    assert store.result("demo", on(3)).verdict is Verdict.WARNING
    assert audit(store, on(4), lacking(), OTHER) == {DEGRADED_CODE: "continued"}
    assert audit(store, on(5), judged(), OTHER) == {DEGRADED_CODE: "resolved"}
    assert audit(store, on(6), lacking(), OTHER) == {}


def test_uneven_days_count_audits(store: Store) -> None:
    """Fridays, weekends left out, an outage of ten days: three audits are three."""
    days = [0, 3, 4, 14]
    assert [audit(store, on(i), rule, OTHER) for i, rule in zip(days, [judged(), *[lacking()] * 3], strict=True)] == [
        {},
        {},
        {},
        {DEGRADED_CODE: "opened"},
    ]


def test_auditing_a_day_again_counts_it_once(store: Store) -> None:
    audit(store, on(0), judged(), OTHER)
    for _ in range(5):
        assert audit(store, on(1), lacking(), OTHER) == {}
    audit(store, on(2), lacking(), OTHER)
    assert audit(store, on(3), lacking(), OTHER) == {DEGRADED_CODE: "opened"}
    assert audit(store, on(3), lacking(), OTHER) == {DEGRADED_CODE: "opened"}
    assert audit(store, on(3), judged(), OTHER) == {DEGRADED_CODE: "resolved"}


def test_past_days_audited_within_minutes_are_no_days_without_a_result(store: Store) -> None:
    """Eight of them and today are one morning, not nine audits."""
    for i in range(-8, -1):
        result = a_result(lacking(), OTHER, day=on(i), audited_at=NOW)
        assert degraded_rules(result, store.rule_outcomes("demo", before=on(i)), 2) is None
        store.save(None, result, None)
    assert audit(store, on(0), lacking(), OTHER) == {}
    assert audit(store, on(1), lacking(), OTHER) == {}
    assert audit(store, on(2), lacking(), OTHER) == {DEGRADED_CODE: "opened"}


def test_an_outage_neither_closes_it_nor_opens_it(store: Store) -> None:
    for i, rule in enumerate([judged(), *[lacking()] * 3]):
        audit(store, on(i), rule, OTHER)
    (gone,) = not_audited().results
    assert audit(store, on(4), gone) == {DEGRADED_CODE: "continued", "TGT001": "opened"}
    assert audit(store, on(5), lacking(), OTHER) == {DEGRADED_CODE: "continued", "TGT001": "resolved"}


def test_it_opens_at_once_however_long_findings_are_watched(store: Store) -> None:
    policy = Incidents(open_after=5, resolve_after=1, unknown_after=2)
    seen = [audit(store, on(i), rule, OTHER, policy=policy) for i, rule in enumerate([judged(), lacking(), lacking()])]
    assert seen == [{}, {}, {DEGRADED_CODE: "opened"}]


def test_a_day_is_judged_by_the_days_before_it_alone(store: Store) -> None:
    audit(store, on(0), judged(), OTHER)
    for i in (7, 8, 9):
        audit(store, on(i), lacking(), OTHER)
    assert audit(store, on(3), lacking(), OTHER) == {}
    assert [one.day for one in store.rule_outcomes("demo", before=on(8))] == [on(7), on(3), on(0)]
