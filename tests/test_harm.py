"""The policy: which cost is a warning, which is critical, and that nothing else is."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_finding, a_rule_result
from tsaudit.config.settings import Harm, Settings, Target
from tsaudit.harm import decided, severity_of, worst_of
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Basis, Currency, Finding, Impact, Limit, Severity
from tsaudit.policy import harm_policy

NOTE, WARNING, CRITICAL = Severity
HARM = Harm()
MB = 1_000_000


def impact(currency: Currency, now: float = 0.0, **changes: Any) -> Impact:
    return Impact(currency, now, **{"per_day": 0.0} | changes)


@pytest.mark.parametrize(
    ("cost", "expected"),
    [
        (impact(Currency.REJECTED, 0), NOTE),
        (impact(Currency.REJECTED, 1, whole=1_000_000), WARNING),
        (impact(Currency.REJECTED, 1_000, whole=1_000_000), CRITICAL),
        (impact(Currency.REJECTED, 1, whole=1_000_000, goes_on=True), CRITICAL),
        (impact(Currency.OVERWRITTEN, 1, whole=1_000, goes_on=True), WARNING),
        (impact(Currency.OVERWRITTEN, 10, whole=1_000), CRITICAL),
        # They may have been the same points again.
        (impact(Currency.OVERWRITTEN, 900, whole=1_000, is_enforced=None), WARNING),
        (impact(Currency.OVERWRITTEN, 9, whole=1_000, is_enforced=None), NOTE),
        (impact(Currency.LIMIT, 79, whole=100), NOTE),
        (impact(Currency.LIMIT, 80, whole=100), WARNING),
        (impact(Currency.LIMIT, 95, whole=100), CRITICAL),
        (impact(Currency.LIMIT, 10, whole=100, days_left=90), WARNING),
        (impact(Currency.LIMIT, 10, whole=100, days_left=91), NOTE),
        (impact(Currency.LIMIT, 10, whole=100, days_left=14), CRITICAL),
        (impact(Currency.LIMIT, 100, whole=100, is_enforced=None), WARNING),
        (impact(Currency.LIMIT, 100, whole=100, is_enforced=False), NOTE),
        (impact(Currency.SERIES, 99_999, whole=100_000), NOTE),
        (impact(Currency.SERIES, 100_000, whole=2_000_000), WARNING),
        (impact(Currency.SERIES, 100_000, whole=2_010_000), NOTE),
        # As soon as the rate is known, what is kept at the horizon counts: 500 a day for a year, or for half of it.
        (impact(Currency.SERIES, 1_000, whole=9_000, per_day=500), WARNING),
        (impact(Currency.SERIES, 1_000, whole=9_000, per_day=500, kept_days=200), WARNING),
        (impact(Currency.SERIES, 1_000, whole=9_000, per_day=500, kept_days=199), NOTE),
        (impact(Currency.SERIES, 999, whole=1_000, per_day=None), NOTE),
        (impact(Currency.SERIES, 1_000, whole=20_000, per_day=None), WARNING),
        (impact(Currency.SERIES, 1_000, whole=20_100, per_day=None), NOTE),
        (impact(Currency.SERIES, 1_000_000, unit_bytes=600), WARNING),
        (impact(Currency.BYTES, 999 * MB, whole=2_000 * MB), WARNING),
        (impact(Currency.BYTES, 999 * MB, whole=2_000 * MB, is_saved_by_writer=True), NOTE),
        (impact(Currency.BYTES, 1_000 * MB, whole=2_000 * MB, is_saved_by_writer=True), WARNING),
        (impact(Currency.FAMILY, 999), NOTE),
        (impact(Currency.FAMILY, 10, per_day=11), WARNING),
        (impact(Currency.BYTES, 99 * MB, whole=200 * MB), NOTE),
        (impact(Currency.BYTES, 100 * MB, whole=200 * MB), WARNING),
        (impact(Currency.BYTES, 100 * MB, whole=2_100 * MB), NOTE),
        (impact(Currency.BYTES, 1 * MB, whole=10 * MB, per_day=0.3 * MB), WARNING),
        (impact(Currency.BYTES, 1 * MB, whole=10 * MB, per_day=0.3 * MB, kept_days=30), NOTE),
        (impact(Currency.MONEY, 9, whole=10), NOTE),
        (impact(Currency.MONEY, 10, whole=100), WARNING),
        (impact(Currency.MECHANISM), WARNING),
        (impact(Currency.MECHANISM, days_left=14), CRITICAL),
        (impact(Currency.MECHANISM, days_left=14, is_enforced=False), WARNING),
        (impact(Currency.ANSWERS), WARNING),
        (impact(Currency.READS, 499_999_999), NOTE),
        (impact(Currency.READS, 500_000_000), WARNING),
        (impact(Currency.READS, 10**12), WARNING),
    ],
)
def test_table(cost: Impact, expected: Severity) -> None:
    assert severity_of(cost, HARM) is expected


@pytest.mark.parametrize("currency", Currency)
def test_worst_of_a_currency_is_what_its_worst_cost_is(currency: Currency) -> None:
    worst = Impact(currency, 1e15, whole=1e15, per_day=1e12, days_left=0, unit_bytes=600, goes_on=True)
    assert worst_of({currency}) is severity_of(worst, Harm(max_memory=512 * MB))


def test_worst_of_several_currencies_is_that_of_the_worst() -> None:
    assert worst_of(()) is NOTE
    assert worst_of({Currency.BYTES, Currency.ANSWERS}) is WARNING
    assert worst_of(Currency) is CRITICAL


@pytest.mark.parametrize(("memory", "expected"), [("500MB", CRITICAL), ("700MB", WARNING), (None, WARNING)])
def test_series_are_critical_if_they_take_the_memory_that_the_owner_names(
    memory: str | None, expected: Severity
) -> None:
    harm = Harm.model_validate({"max_memory": memory})
    assert severity_of(impact(Currency.SERIES, 1_000_000, unit_bytes=600), harm) is expected


def of(*findings: Finding, harm: Harm = HARM) -> list[Finding]:
    return list(decided([a_rule_result(findings=findings)], harm)[0].findings)


def priced(cost: Impact | None, *, at: Subject | None = None, basis: Basis = Basis.MEASURED) -> Finding:
    place = at or Subject("main", "cpu", "id")
    return a_finding(subject=place, severity=CRITICAL, impact=cost, basis=basis)


def test_without_an_impact_a_finding_is_a_note() -> None:
    assert of(priced(None))[0].severity is NOTE


@given(st.sampled_from(Currency), st.floats(0, 1e12), st.floats(0, 1e12), st.booleans())
def test_what_rests_on_a_guess_is_a_note(currency: Currency, now: float, per_day: float, goes_on: bool) -> None:
    cost = Impact(currency, now, per_day=per_day, goes_on=goes_on, days_left=0)
    assert of(priced(cost, basis=Basis.INFERRED))[0].severity is NOTE


@given(st.sampled_from(Currency), st.floats(0, 1e9), st.floats(1, 1e9), st.floats(0, 1e6), st.floats(1, 10))
def test_what_costs_more_is_never_less_severe(
    currency: Currency, now: float, whole: float, per_day: float, times: float
) -> None:
    less = Impact(currency, now, whole=whole + now, per_day=per_day)
    more = Impact(currency, now * times, whole=whole + now, per_day=per_day * times)
    assert severity_of(less, HARM).rank <= severity_of(more, HARM).rank


def test_one_tag_in_many_measurements_is_one_cost() -> None:
    places = [Subject("main", f"m{i}", "id") for i in range(10)]
    findings = of(*(priced(impact(Currency.SERIES, 20_000, whole=400_000), at=place) for place in places))
    assert {finding.severity for finding in findings} == {WARNING}
    assert {finding.severity_reason for finding in findings} == {"200,000 avoidable series, 50% of the database"}
    alone = of(priced(impact(Currency.SERIES, 20_000, whole=400_000)))
    assert alone[0].severity is NOTE


def test_what_a_table_wastes_is_one_cost_and_a_small_part_of_it_stays_a_note() -> None:
    large = [priced(impact(Currency.BYTES, 60 * MB, whole=200 * MB), at=Subject("main", "cpu", c)) for c in "ab"]
    small = priced(impact(Currency.BYTES, 5 * MB, whole=200 * MB), at=Subject("main", "cpu", "c"))
    assert [finding.severity for finding in of(*large, small)] == [WARNING, WARNING, NOTE]


def test_what_a_table_wastes_in_many_small_parts_is_one_cost() -> None:
    """None of them is a tenth of the sum: then all of them are what to act on."""
    parts = [
        priced(impact(Currency.BYTES, 20 * MB, whole=900 * MB), at=Subject("main", "cpu", f"c{n}")) for n in range(12)
    ]
    assert {finding.severity for finding in of(*parts)} == {WARNING}


def test_two_tags_of_one_measurement_are_one_cost_if_two_rules_report_them() -> None:
    cost = impact(Currency.SERIES, 60_000, whole=200_000)
    ids, texts = (priced(cost, at=Subject("main", "cpu", column)) for column in ("id", "text"))
    results = [a_rule_result(code=code, findings=(one,)) for code, one in (("TAG002", ids), ("TAG001", texts))]
    assert [f.severity for result in decided(results, HARM) for f in result.findings] == [WARNING, WARNING]
    # One rule says of each of its tags what they cost together.
    assert {finding.severity for finding in of(ids, texts)} == {NOTE}


def test_what_several_rules_say_of_one_tag_counts_once() -> None:
    cost = impact(Currency.SERIES, 60_000, whole=200_000)
    whole, column = Subject("main", "cpu"), Subject("main", "cpu", "id")
    for places in ((column, column), (column, whole), (whole, column)):
        results = [a_rule_result(code=f"R{n}", findings=(priced(cost, at=at),)) for n, at in enumerate(places)]
        assert {f.severity for result in decided(results, HARM) for f in result.findings} == {NOTE}


def test_guesses_are_not_part_of_a_sum() -> None:
    cost = impact(Currency.SERIES, 60_000, whole=100_000)
    sure = priced(cost, at=Subject("main", "a", "id"))
    guessed = priced(cost, at=Subject("main", "b", "id"), basis=Basis.INFERRED)
    assert {finding.severity for finding in of(sure, guessed)} == {NOTE}


@pytest.mark.parametrize("currency", Currency)
@pytest.mark.parametrize("per_day", [0.0, 5_000_000.0])
@pytest.mark.parametrize("basis", [Basis.DECLARED, Basis.INFERRED])
def test_every_cost_says_what_happens_if_nothing_is_done(currency: Currency, per_day: float, basis: Basis) -> None:
    cost = Impact(currency, 5_000_000_000, whole=6_000_000_000, per_day=per_day, days_left=5, unit_bytes=600)
    (finding,) = of(priced(cost, basis=basis))
    assert finding.consequence.endswith(".")
    assert finding.severity_reason


@pytest.mark.parametrize(
    ("cost", "basis", "why"),
    [
        (None, Basis.DECLARED, "it costs nothing that can be measured"),
        (
            impact(Currency.SERIES, 20_000, whole=30_000),
            Basis.INFERRED,
            "it rests on what was inferred, such as the role of a column",
        ),
        (
            impact(Currency.SERIES, 2_000, whole=30_000),
            Basis.DECLARED,
            "2,000 avoidable series, 7% of the database; a warning from 100,000 and 5% of all on",
        ),
        (
            impact(Currency.SERIES, 500, whole=9_000, per_day=None),
            Basis.DECLARED,
            "500 avoidable series, 6% of the database; a warning from 1,000 and 5% of all on",
        ),
    ],
)
def test_note_says_why_it_is_no_warning(cost: Impact | None, basis: Basis, why: str) -> None:
    (finding,) = of(priced(cost, basis=basis))
    assert (finding.severity, finding.severity_reason) == (NOTE, why)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((None, None), "It stays at 12,000 avoidable series or grows: which of the two is not known yet."),
        ((0.0, None), "It stays at 12,000 avoidable series or grows: which of the two is not known yet."),
        ((0.0, 0.0), "Nothing more: it stays at 12,000 avoidable series."),
        ((100.0, None), "It grows to 13,000 avoidable series in 10 days."),
    ],
)
def test_a_rate_that_is_not_known_is_not_told_as_rest(rates: tuple[float | None, ...], said: str) -> None:
    """Of what two rules report, which is a warning only together."""
    harm = Harm(min_series=12_000, min_unmeasured_series=12_000, horizon=timedelta(days=10))
    results = [
        a_rule_result(
            code=f"R{n}",
            findings=(
                priced(impact(Currency.SERIES, 6_000, whole=20_000, per_day=rate), at=Subject("main", "cpu", f"id{n}")),
            ),
        )
        for n, rate in enumerate(rates)
    ]
    found = [finding for result in decided(results, harm) for finding in result.findings]
    assert {finding.consequence for finding in found} == {said}


def test_what_a_table_wastes_in_several_ways_says_that_it_is_a_sum() -> None:
    """An index of 60 MB is a warning together with another one, not because of texts that another writer could save."""
    table = Subject("main", "cpu")
    index = impact(Currency.BYTES, 60 * MB, whole=500 * MB)
    texts = replace(index, is_saved_by_writer=True)
    both = decided([a_rule_result(findings=(priced(index, at=table), priced(index, at=table)))], HARM)[0].findings
    assert {(one.severity, one.severity_reason) for one in both} == {
        (WARNING, "120 MB of avoidable storage in 2 findings together, 24% of 500 MB")
    }
    apart = decided([a_rule_result(findings=(priced(index, at=table), priced(texts, at=table)))], HARM)[0].findings
    assert {one.severity for one in apart} == {NOTE}
    assert apart[0].severity_reason.endswith("a warning from 100 MB and 5% of the table on")
    assert apart[1].severity_reason.endswith("a warning from 1 GB and 20% of the table on")


@pytest.mark.parametrize(
    ("share", "added", "is_by_writer", "severity"),
    [
        (0.04, None, False, NOTE),
        (0.06, None, False, WARNING),
        (0.19, None, True, NOTE),
        (0.21, None, True, WARNING),
        # What rows have begun to have counts by the rows to come.
        (0.01, 0.21, True, WARNING),
        (0.01, 0.19, True, NOTE),
    ],
)
def test_share_of_the_table_that_is_worth_a_change(
    share: float, added: float | None, is_by_writer: bool, severity: Severity
) -> None:
    wasted = impact(Currency.BYTES, share * 100_000 * MB, whole=100_000 * MB)
    cost = replace(wasted, added_share=added, is_saved_by_writer=is_by_writer)
    assert of(priced(cost))[0].severity is severity


def test_limit_of_which_the_rate_is_not_known_says_so() -> None:
    near = impact(Currency.LIMIT, 9, whole=10, unit="columns", per_day=None)
    assert (
        of(priced(near))[0].consequence
        == "Anything beyond 10 columns is rejected. When it is reached is not known yet."
    )


@pytest.mark.parametrize("days", [0, 1, 30, 365, 3_650])
def test_what_is_removed_again_does_not_add_up(days: int) -> None:
    assert impact(Currency.BYTES, 100, per_day=10, kept_days=30).after(days) == min(100 + 10 * days, 300)
    assert impact(Currency.BYTES, 500, per_day=10, kept_days=30).after(days) == 500


def test_target_overrides_what_the_file_says_for_all() -> None:
    target = Target(name="shop", engine="duckdb", url="duckdb:///x.duckdb", harm={"min_bytes": "1GB"})
    settings = Settings(targets=(target,), harm={"min_bytes": 5, "min_series": 7, "horizon": "30d"})
    harm = harm_policy(settings, target)
    assert (harm.min_bytes, harm.min_series, harm.horizon) == (10**9, 7, timedelta(days=30))


@pytest.mark.parametrize(
    ("days_left", "is_enforced", "said"), [(11.0, None, True), (60.0, None, False), (11.0, True, False)]
)
def test_warning_close_to_a_limit_says_why_it_is_not_critical(
    days_left: float, is_enforced: bool | None, said: bool
) -> None:
    """A server may keep its index in a form that has no limit, and not say which."""
    cost = impact(Currency.LIMIT, 30, whole=100, days_left=days_left, is_enforced=is_enforced)
    (result,) = decided([a_rule_result(a_finding(impact=cost))], Harm())
    assert ("which it does not report" in result.findings[0].severity_reason) is said


def test_warning_close_to_a_limit_names_the_setting_that_makes_it_critical() -> None:
    cost = impact(Currency.LIMIT, 900_000, whole=1_000_000, days_left=3, is_enforced=None)
    limit = Limit("unbounded-tag.engine_values", 1_000_000, "series", "the vendor", "engine influxdb1")
    (result,) = decided([a_rule_result(a_finding(impact=cost, limit=limit))], Harm())
    setting = "if it does, set `limits: {unbounded-tag.engine_values: 1000000}`"
    assert result.findings[0].severity_reason.endswith(setting)
