"""LAY005: fields of one source with timestamps of their own."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_source
from tests.rules.cases import Case, dataset, hosts, run_rule, table
from tests.rules.storage.test_unused_or_redundant_index import an_index
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Outcome
from tsaudit.model.profile import Profile
from tsaudit.model.rows import RowPattern, RowPatterns
from tsaudit.model.storage import Storage
from tsaudit.rules.layout.split_rows import split_rows as rule

FIELDS = {"fieldA": "float", "fieldB": "float"}


def _in_turn(series: int, row: int) -> dict[str, float | None]:
    return {"fieldA": row + 0.5 if row % 2 else None, "fieldB": None if row % 2 else row + 0.5}


def _together(series: int, row: int) -> dict[str, float | None]:
    return dict.fromkeys(FIELDS, row + 0.5)


CASES = (
    Case(
        breaks=dataset(table("readings", hosts(2), FIELDS, _in_turn, rows=40)),
        keeps=dataset(table("readings", hosts(2), FIELDS, _together, rows=40)),
        subject=Subject("", "readings"),
    ),
    Case(
        # A slow field that comes with its own timestamp is no half of a reading.
        breaks=dataset(table("readings", hosts(2), FIELDS, _in_turn, rows=40)),
        keeps=dataset(
            table(
                "readings",
                hosts(2),
                FIELDS,
                lambda s, r: {"fieldA": None if r % 6 == 5 else r + 0.5, "fieldB": r + 0.5 if r % 6 == 5 else None},
                rows=60,
            )
        ),
        subject=Subject("", "readings"),
    ),
)


def _profile(pairs: int, complementary: int, **changes: Any) -> Profile:
    patterns = (RowPattern(("fieldA", "host"), 60), RowPattern(("fieldB", "host"), 60))
    found = RowPatterns(patterns, 120, pairs, complementary, a_source())
    return a_profile(a_measurement("readings", **{"row_patterns": found} | changes))


def test_at_the_limit_and_just_over_it() -> None:
    assert run_rule(rule, _profile(100, 80)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(100, 81)).findings
    assert (finding.impact, finding.observed) == (None, 0.81)


def test_of_many_columns_that_are_filled_together_one_is_named() -> None:
    pumps = [tuple(f"pump{n}_{what}" for what in ("amps", "bar", "rpm", "state")) for n in (1, 2)]
    found = RowPatterns(tuple(RowPattern((*pump, "host"), 60) for pump in pumps), 120, 100, 90, a_source())
    fields = tuple(a_field(key) for pump in pumps for key in pump)
    (finding,) = run_rule(rule, _profile(100, 90, row_patterns=found, fields=fields)).findings
    assert finding.message.startswith("pump1_amps with 3 more and pump2_amps with 3 more alternate: 90% of")


def test_silence_when_pairs_are_few_or_rows_were_not_read() -> None:
    assert run_rule(rule, _profile(19, 19)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(20, 20)).outcome is Outcome.FAIL
    assert run_rule(rule, _profile(0, 0, row_patterns=None)).outcome is Outcome.PASS
    assert run_rule(rule, a_profile()).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("rows", "changes", "severity"),
    [
        # Half of the rows go, at 36 + 32 bytes each: 34 MB of a million, and 12 times as much in a year.
        (1_000_000, {}, "warning"),
        (200_000, {}, "note"),
        # On its first day, and closed.
        (20_000, {"first_time": NOW - timedelta(hours=8)}, "warning"),
        (1_000_000, {"last_time": NOW - timedelta(days=8)}, "note"),
        (3_000_000, {"last_time": NOW - timedelta(days=8)}, "warning"),
        # Nothing but names says what the series are.
        (1_000_000, {"indexes": ()}, "note"),
    ],
)
def test_rows_that_one_row_for_each_reading_would_save(rows: int, changes: dict[str, Any], severity: str) -> None:
    settings = {
        "rows": a_count(rows),
        "fields": (a_field("fieldA"), a_field("fieldB")),
        "storage": Storage(80 * rows, 32 * rows),
        "indexes": (an_index("key", "time", "host", unique=True),),
    }
    (measurement,) = _profile(100, 100, **settings | changes).measurements
    (finding,) = run_rule(rule, a_profile(measurement, engine="postgresql")).findings
    assert finding.severity == severity
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.BYTES, rows / 2 * 68)
    (elsewhere,) = run_rule(rule, a_profile(measurement, engine="duckdb")).findings
    assert elsewhere.impact is None
