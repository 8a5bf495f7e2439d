"""LAY004: rows of different kinds."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tests.builders import DAY, NOW, a_field, a_measurement, a_profile, a_source, a_tag
from tests.databases import Row, Table, times, write
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3
from tests.rules.cases import Case, dataset, plans, run_rule
from tsaudit.collect import collect
from tsaudit.engines.opening import open_connection
from tsaudit.model.change import SplitMeasurement
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.rows import RowPattern, RowPatterns
from tsaudit.rules.layout.mixed_rows import mixed_rows as rule

HOURS = times(4, timedelta(hours=1))
PRICES = (16588.45865, 16559.49871, 16577.46667, 16591.36998)
COSTS = (16159.5806, 16131.3694, 16148.8727, 16162.4167)
VOLUMES = (16749450200.0, 16829683245.0, 17151722208.0, 17311854919.0)

SEEDS_ROWS = [
    *(
        Row(at, {"source": "src1", "code": "USD", "crypto": "bitcoin"}, {"price": price})
        for at, price in zip(HOURS, PRICES, strict=True)
    ),
    *(
        Row(at, {"src": "2", "currency": "EUR", "crypto": "bitcoin"}, {"cost": cost, "volume": volume})
        for at, cost, volume in zip(HOURS, COSTS, VOLUMES, strict=True)
    ),
]
"""The eight rows of the guideline's own example: two sources in one table."""
ONE_VOCABULARY = [
    *(Row(r.time, r.tags, r.fields | {"volume": 1.5e10}) for r in SEEDS_ROWS[:4]),
    *(
        Row(
            r.time,
            {"source": "src2", "code": "EUR", "crypto": "bitcoin"},
            {"price": r.fields["cost"], "volume": r.fields["volume"]},
        )
        for r in SEEDS_ROWS[4:]
    ),
]


def _longer(rows: list[Row]) -> list[Row]:
    """The same again, hour after hour: eight rows do not show what a table is."""
    return [Row(r.time - n * (HOURS[-1] - HOURS[0]) * 4 / 3, r.tags, r.fields) for n in range(5) for r in rows]


def _crypto(rows: list[Row]) -> Table:
    tags = sorted({tag for row in rows for tag in row.tags})
    fields = {key: "float" for row in rows for key in row.fields}
    return Table("crypto", tags, fields, rows)


CASES = (
    Case(
        breaks=dataset(_crypto(_longer(SEEDS_ROWS))),
        keeps=dataset(_crypto(_longer(ONE_VOCABULARY))),
        subject=Subject("", "crypto"),
    ),
)


def test_the_guidelines_example_on_influxdb_3(influxdb3: InfluxDB3 | RealInfluxDB3) -> None:
    target = write(dataset(_crypto(_longer(SEEDS_ROWS))), "influxdb3", influxdb3)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    (finding,) = run_rule(rule, profile).findings
    assert "under one name" in finding.fix
    (plan,) = plans(rule, profile)
    writer = next(step for step in plan.steps if step.kind is StepKind.WRITER)
    assert writer.words.startswith("Write cost, currency, src, and volume to crypto_cost, a table of its own")
    assert "cost=" not in writer.text


FIRST, SECOND = ("code", "crypto", "price", "source"), ("cost", "crypto", "currency", "src", "volume")


def _measurement(*patterns: tuple[tuple[str, ...], int], pairs: int = 6, complementary: int = 0) -> Measurement:
    found = tuple(RowPattern(columns, rows) for columns, rows in patterns)
    return a_measurement(
        "crypto",
        tags=(
            a_tag("code", sample=("USD",)),
            a_tag("crypto", sample=("bitcoin",)),
            a_tag("currency", sample=("EUR",)),
            a_tag("source", sample=("src1",)),
            a_tag("src", sample=("2",)),
        ),
        fields=(
            a_field("cost", sample=tuple(str(c) for c in COSTS)),
            a_field("price", sample=tuple(str(p) for p in PRICES)),
            a_field("volume", sample=tuple(str(v) for v in VOLUMES)),
        ),
        row_patterns=RowPatterns(found, sum(r for _, r in patterns), pairs, complementary, a_source()),
    )


def _found(*patterns: tuple[tuple[str, ...], int]) -> tuple[Finding, ...]:
    return run_rule(rule, a_profile(_measurement(*patterns))).findings


def test_the_guidelines_example_is_two_sources() -> None:
    (finding,) = _found((FIRST, 12), (SECOND, 12))
    assert finding.message == (
        "Its rows are of 2 kinds: 50% fill code, price, and source; 50% fill cost, currency, src, and volume."
    )
    assert finding.changes == (SplitMeasurement(finding.subject, "crypto_cost", ("cost", "currency", "src", "volume")),)


def test_at_the_limits() -> None:
    assert _found((FIRST, 10), (SECOND, 9)) == ()
    assert _found((FIRST, 10), (SECOND, 10)) != ()
    assert _found((FIRST, 95), (SECOND, 5)) != ()
    assert _found((FIRST, 96), (SECOND, 4)) == ()


def test_an_optional_column_makes_no_kind_of_rows() -> None:
    assert _found((("crypto", "price"), 50), (("crypto", "price", "source"), 50)) == ()


def test_rows_that_fill_columns_of_both_kinds_join_them() -> None:
    assert _found((FIRST, 40), (SECOND, 40), ((*FIRST, "cost"), 20)) == ()
    assert _found((FIRST, 600), (SECOND, 395), ((*FIRST, "cost"), 5)) != ()


def test_one_source_that_spreads_its_fields_is_another_rules_matter() -> None:
    profile: Profile = a_profile(_measurement((FIRST, 50), (SECOND, 50), pairs=10, complementary=9))
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_silence_when_no_rows_were_read() -> None:
    nothing: dict[str, Any] = {"row_patterns": None}
    assert run_rule(rule, a_profile(a_measurement(**nothing))).outcome is Outcome.PASS
    assert run_rule(rule, a_profile()).outcome is Outcome.PASS


def test_silence_about_documents_whose_fields_are_named_by_data() -> None:
    names = [f"scores.user_{n}" for n in range(1001, 1021)]
    patterns = RowPatterns(tuple(RowPattern(("_id", name), 10) for name in names), 200, 0, 0, a_source())
    games = a_measurement("games", tags=(), fields=tuple(map(a_field, ("_id", *names))), row_patterns=patterns)
    assert run_rule(rule, a_profile(games, engine="mongodb")).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(games)).outcome is Outcome.FAIL
