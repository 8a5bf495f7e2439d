"""What a finding costs, in words."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from tsaudit import rules
from tsaudit.model.finding import Currency, Impact
from tsaudit.text import impacts


@pytest.mark.parametrize(
    ("days_left", "expected"),
    [
        (None, "something that the database relies on is off, or fails"),
        (0.02, "less than an hour left"),
        (0.4, "10 hours left"),
        (1.9, "46 hours left"),
        (12.0, "12 days left"),
        (-0.66, "ended 16 hours ago"),
        (-3.1, "ended 3 days ago"),
    ],
)
def test_a_mechanism_ends_or_has_ended(days_left: float | None, expected: str) -> None:
    assert impacts.reason(Impact(Currency.MECHANISM, days_left=days_left), 30) == expected


@pytest.mark.parametrize(
    ("is_enforced", "expected"),
    [
        (True, "Since it ended, rows have been rejected."),
        (None, "Since it ended, rows have been rejected, unless a partition for them was created."),
        (False, "Since it ended, rows have gone to the wrong partition."),
    ],
)
def test_what_has_ended_is_told_in_the_past(is_enforced: bool | None, expected: str) -> None:
    impact = Impact(Currency.MECHANISM, days_left=-3.1, is_enforced=is_enforced)
    assert impacts.consequence(impact, 30) == expected


@pytest.mark.parametrize(
    ("days_left", "reason", "consequence"),
    [
        (None, "80% of the limit of 100 series", "Anything beyond 100 series is rejected."),
        (0.0, "80% of the limit of 100 series, reached", "Anything beyond 100 series is rejected."),
        (
            0.4,
            "80% of the limit of 100 series, reached in less than a day",
            "In less than a day, anything beyond 100 series is rejected.",
        ),
        (
            12.0,
            "80% of the limit of 100 series, reached in about 12 days",
            "In about 12 days, anything beyond 100 series is rejected.",
        ),
        # The time left is no reason for it.
        (
            10_950.0,
            "80% of the limit of 100 series",
            "In about 30 years, anything beyond 100 series is rejected.",
        ),
    ],
)
def test_a_limit_is_reached_now_or_later(days_left: float | None, reason: str, consequence: str) -> None:
    impact = Impact(Currency.LIMIT, 80, 100, 0.0, days_left=days_left, unit="series")
    assert (impacts.reason(impact, 30), impacts.consequence(impact, 30)) == (reason, consequence)


@pytest.mark.parametrize(
    ("now", "days_left", "expected"),
    [
        (80, 3.0, "In about 3 days, it exceeds the limit of 100 series that was set here."),
        (90, None, "Little is left of the limit of 100 series that was set here."),
        (120, 0.0, "It stays at or above the limit of 100 series that was set here."),
        (100, 0.0, "It stays at or above the limit of 100 series that was set here."),
    ],
)
def test_a_limit_of_the_owner_rejects_nothing(now: float, days_left: float | None, expected: str) -> None:
    impact = Impact(Currency.LIMIT, now, 100, days_left=days_left, unit="series", is_owners=True)
    assert impacts.consequence(impact, 30) == expected


@pytest.mark.parametrize(("is_enforced", "rejected"), [(True, "is rejected"), (None, "may be rejected")])
def test_a_limit_that_may_not_be_enforced_is_told_in_a_short_sentence(is_enforced: bool | None, rejected: str) -> None:
    """It is a headline of reports, in which the caveat must not be cut off."""
    about = "values of one tag"
    impact = Impact(Currency.LIMIT, 400, 5_000, 90.0, days_left=51.0, unit=about, is_enforced=is_enforced)
    assert impacts.consequence(impact, 30) == f"In about 51 days, anything beyond 5,000 {about} {rejected}."


@pytest.mark.parametrize(("now", "is_open"), [(80, True), (100, False)])
def test_when_a_limit_is_reached_is_open_only_before(now: float, is_open: bool) -> None:
    said = impacts.consequence(Impact(Currency.LIMIT, now, 100, per_day=None, unit="series"), 30)
    assert ("not known yet" in said) is is_open


def test_tags_that_cause_series_together_are_named() -> None:
    impact = Impact(Currency.SERIES, 900, 1_000, tags=("job", "page"))
    assert impacts.reason(impact, 30) == "900 avoidable series by job and page together, 90% of the database"
    alone = Impact(Currency.SERIES, 900, 1_000, tags=("job",))
    assert impacts.reason(alone, 30) == "900 avoidable series, 90% of the database"


@pytest.mark.parametrize(
    ("kept_days", "ahead_days", "when"),
    [(None, None, "a year"), (None, 60.0, "60 days"), (30.0, 6.0, "6 days")],
)
def test_growth_ends_when_as_much_is_removed_as_is_added(
    kept_days: float | None, ahead_days: float | None, when: str
) -> None:
    impact = Impact(Currency.SERIES, 1_000, per_day=100, kept_days=kept_days, ahead_days=ahead_days)
    assert impacts.reason(impact, 365).endswith(f" in {when}")
    assert impacts.consequence(impact, 365).endswith(f" in {when}.")
    assert impact.after(365) == impact.after(impact.stops_after(365))


@pytest.mark.parametrize("currency", [Currency.SERIES, Currency.BYTES, Currency.MONEY, Currency.FAMILY])
def test_growth_that_was_not_measured_is_not_said_to_be_none(currency: Currency) -> None:
    said = impacts.consequence(Impact(currency, 4_000, 9_000), 30)
    assert said.startswith("It stays at ")
    assert said.endswith(" or grows: which of the two is not known yet.")
    assert impacts.consequence(Impact(currency, 4_000, 9_000, 0.0), 30).startswith("Nothing more: it stays at ")


@pytest.mark.parametrize("per_day", [None, 0.0, 0.001])
@pytest.mark.parametrize(
    ("currency", "now", "unit"),
    [
        (Currency.SERIES, 45_678, ""),
        (Currency.BYTES, 7_899_000_000, ""),
        (Currency.BYTES, 999_600, ""),
        (Currency.MONEY, 15.9, ""),
        (Currency.MONEY, 0.238, ""),
        (Currency.FAMILY, 20_990, "tables"),
    ],
)
def test_what_follows_is_never_less_than_there_is(
    currency: Currency, now: float, unit: str, per_day: float | None
) -> None:
    """Both are read next to each other: 46,000 series above, at least 45,600 below would contradict it."""
    impact = Impact(currency, now, per_day=per_day, unit=unit)
    assert impacts.reason(impact, 30) in impacts.consequence(impact, 30)


def test_reads_of_less_than_a_day_are_at_least_those_of_a_day() -> None:
    impact = Impact(Currency.READS, 5_678_901, counted_s=600)
    assert impacts.reason(impact, 30) == "5,680,000 rows read unnecessarily in 10 minutes"
    assert impacts.consequence(impact, 30).startswith("Each day, about 5,680,000 rows read unnecessarily or more, and")


def test_what_is_removed_after_its_retention_levels_off() -> None:
    """4,000 series a day that are kept for 14 days: 56,000 is where it ends, not how fast it grows."""
    impact = Impact(Currency.SERIES, 52_000, per_day=4_000, kept_days=14)
    assert impacts.consequence(impact, 30) == "It levels off at about 56,000 avoidable series."
    assert impacts.reason(impact, 30) == "52,000 avoidable series, levels off at 56,000"
    assert impacts.consequence(replace(impact, kept_days=90), 30).endswith(" in 30 days.")


def test_what_does_not_grow_falls_where_data_expires() -> None:
    kept = impacts.consequence(Impact(Currency.SERIES, 4_000, 9_000, 0.0, kept_days=90), 30)
    assert kept == "Nothing more: it stays at 4,000 avoidable series, or falls as data expires."


def test_what_the_server_rejects_is_not_added() -> None:
    impact = Impact(Currency.SERIES, 200_000, 205_000, per_day=10_000, room=795_000)
    assert impacts.reason(impact, 365).endswith(", 995,000 in 80 days, when the server's limit is reached")
    full = "It grows to 995,000 avoidable series in 80 days. Then the server's limit is reached, and more is rejected."
    assert impacts.consequence(impact, 365) == full
    assert impacts.reason(impact, 30).endswith(", 500,000 in 30 days")
    # What expires leaves room.
    assert not replace(impact, kept_days=60).fills_up(365)
    assert replace(impact, kept_days=120).fills_up(365)


def test_what_does_not_work_costs_what_its_rule_says_or_is_left_out() -> None:
    assert impacts.consequence(Impact(Currency.MECHANISM), 30) == ""
    known = Impact(Currency.MECHANISM, consequence="Each write goes on maintaining it.")
    assert impacts.consequence(known, 30) == "Each write goes on maintaining it."


def test_rule_that_finds_wrong_answers_says_which_queries() -> None:
    calls = [
        node
        for file in Path(rules.__file__).parents[1].rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.args[0]) == "Currency.ANSWERS"
    ]
    assert len(calls) > 10
    assert [ast.unparse(call) for call in calls if "consequence" not in {k.arg for k in call.keywords}] == []
    assert impacts.consequence(Impact(Currency.ANSWERS, consequence="Which ones."), 30) == "Which ones."


def test_names_that_were_counted_are_not_rounded() -> None:
    impact = Impact(Currency.FAMILY, now=3_142, per_day=0.0, unit="measurements")
    assert impacts.reason(impact, 30).startswith("3,142 measurements of one family")
