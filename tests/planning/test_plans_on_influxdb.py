"""Plans of all rules, executed on an InfluxDB 1.x in the order shown: nothing is refused, nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests import plans as steps
from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, influxql, times, write
from tests.planning.on_influxdb1 import InfluxHand
from tests.rules.cases import Case
from tests.rules.test_on_engines import cases_of
from tests.servers import Influxd
from tsaudit.audit import audit
from tsaudit.model.finding import Severity
from tsaudit.model.plan import Phase
from tsaudit.rule import LimitPolicy, Rule
from tsaudit.rules import all_rules

HOSTS = ("a", "b")


def _table(name: str, tags: tuple[str, ...], fields: dict[str, str], value: Any, rows: int = 30) -> Table:
    """`value`: the fields of row number and host; both hosts write at each instant, over two days."""
    made = [
        Row(time, dict.fromkeys(tags, "x") | {tags[0]: host}, value(number, host))
        for number, time in enumerate(times(rows, timedelta(hours=1)))
        for host in HOSTS
    ]
    return Table(name, tags, fields, made)


def _day(day: int) -> Table:
    rows = [
        Row(datetime(2026, 3, day, hour, tzinfo=UTC), {"host": host}, {"v": day + hour / 100})
        for hour in range(5)
        for host in HOSTS
    ]
    return Table(f"events_2026_03_{day}", ("host",), {"v": "float"}, rows)


LAYOUTS = {
    # What an expert expects of each: the names are plain, every value is there, and no finding is left or new.
    "fields and a measurement that need quotes": Dataset(
        [
            _table(
                'or"der, by',
                ("host",),
                {"us-age": "float", "group": "integer"},
                lambda n, h: {"us-age": n / 7, "group": n},
            )
        ]
    ),
    "two measurements that would get one name": Dataset(
        [
            _table("a b", ("host",), {"v": "float"}, lambda n, h: {"v": n / 7}),
            _table("a-b", ("host",), {"v": "float"}, lambda n, h: {"v": n / 3}),
            _table("a_b", ("host",), {"v": "float"}, lambda n, h: {"v": n / 5}),
        ]
    ),
    "a tag and a field of one name": Dataset(
        [
            _table(
                "requests",
                ("status",),
                {"status": "integer", "ms": "float"},
                lambda n, h: {"status": n % 5, "ms": n / 7},
            )
        ]
    ),
    "names of one measurement and its fields too long": Dataset(
        [
            _table(
                "response_time_of_the_payment_service_as_seen_from_the_gateway_in_the_west",
                ("host",),
                {"milliseconds_that_the_ninety_ninth_percentile_of_all_requests_took_in_the_end": "float"},
                lambda n, h: {"milliseconds_that_the_ninety_ninth_percentile_of_all_requests_took_in_the_end": n / 7},
            )
        ]
    ),
    "days as measurements": Dataset([_day(day) for day in (29, 30, 31)]),
}


@pytest.mark.parametrize("layout", sorted(LAYOUTS))
def test_all_plans_of_a_database(layout: str, influxd: Influxd) -> None:
    target = write(LAYOUTS[layout], "influxdb1", influxd.url)
    hand = InfluxHand(influxd.url, target.databases[0])
    # A lifetime is a decision about old data; here nothing may go.
    policy = LimitPolicy(target={"data-in-measurement-name.min_names": 2})
    profile = collected(target)
    result = audit(profile, policy=policy)
    wanted = {code: f for code, f in ((r.code, f) for r, f in result.findings() if f.changes) if code != "RET001"}
    assert wanted
    plans = [plan for plan in result.plans if not all("RET001" in asked.rules for asked in plan.changes)]
    assert all(step.text and not step.copy for plan in plans for step in plan.steps if step.phase is Phase.COPY)
    before = hand.contents(profile)
    done = hand.carry_out(plans, NOW - timedelta(days=4), NOW)
    assert sum(run.executed for run in done)
    assert not [line for run in done for line in run.refused]
    assert not hand.lost(before, hand.contents(profile), plans, done, NOW)
    after = audit(collected(target), policy=policy)
    known = {r.code for r, _ in result.findings()}
    assert not [f for r, f in after.findings() if f.severity is not Severity.INFO and r.code not in known]
    assert not {r.code for r, f in after.findings()} & wanted.keys()


def test_text_that_was_a_tag_keeps_no_number_out(influxd: Influxd) -> None:
    """Writers send numbers from now on; what is stored is text, which must not make the server refuse them."""
    from tests.rules.cases import plans
    from tsaudit.rules import all_rules

    rows = [
        Row(time, {"sensor": "s1", "temperature": f"{20 + (n % 40) / 10:.1f}"}, {"ok": 1})
        for n, time in enumerate(times(120, timedelta(minutes=10)))
    ]
    target = write(
        Dataset([Table("room", ("sensor", "temperature"), {"ok": "integer"}, rows)]), "influxdb1", influxd.url
    )
    (database,) = target.databases
    (rule,) = (rule for rule in all_rules() if rule.code == "TAG006")
    (plan,) = plans(rule, collected(target))

    def execute(statement: str) -> None:
        (answer,) = influxql(influxd.url, statement, db=database)["results"]
        assert "error" not in answer, (statement, answer)

    steps.run(plan, execute, NOW - timedelta(days=4), NOW, without=())
    from tests.databases import write_lines

    write_lines(
        influxd.url, database, iter([f"room_new,sensor=s1 temperature=21.5,ok=1i {int(NOW.timestamp() * 1e9) - 1}"])
    )
    (series,) = influxql(influxd.url, "SELECT count(*) FROM room_new", db=database)["results"][0]["series"]
    counts = dict(zip(series["columns"], series["values"][0], strict=True))
    assert counts["count_temperature_text"] == 120
    assert counts["count_temperature"] == 1


# --- The cases of all rules ------------------------------------------------------------------------------------------

MOST_ROWS = 20_000
"""Rows of a case; what is found in more of them is found in fewer, too."""


def _cases() -> Iterator[Any]:
    for rule in all_rules():
        for position, case in enumerate(cases_of(rule)):
            rows = sum(len(table.rows) for table in case.breaks.tables)
            is_plain = case.history is None and case.before is None and not case.breaks.beside
            if "influxdb1" in (case.engines or rule.engines) and is_plain and rows <= MOST_ROWS:
                yield pytest.param(rule, case, id=f"{rule.code}-{position}")


@pytest.mark.parametrize(("rule", "case"), tuple(_cases()))
def test_what_is_found_is_gone_and_nothing_lost(rule: Rule, case: Case, influxd: Influxd) -> None:
    """All plans of the database, one after the other. Queries that only look or check are run, too."""
    target = write(case.breaks, "influxdb1", influxd.url)
    (database,) = target.databases
    policy = LimitPolicy(target=case.limits)
    profile = collected(target)
    result = audit(profile, policy=policy, rules=[rule])
    assert result.findings()
    first = min((m.first_time for m in profile.measurements if m.first_time), default=NOW)
    first = max(first, NOW - timedelta(days=10))
    hand = InfluxHand(influxd.url, database)
    before = hand.contents(profile)
    done = hand.carry_out(result.plans, first, NOW)
    assert not [line for run in done for line in run.refused]
    assert not hand.lost(before, hand.contents(profile), result.plans, done, NOW)
    made = {plan.subject for plan in result.plans if any(step.phase is Phase.COPY for step in plan.steps)}
    after = audit(collected(target), policy=policy, rules=[rule])
    known = {str(f.subject) for _, f in result.findings()}
    assert not [f for _, f in after.findings() if f.severity is not Severity.INFO and str(f.subject) not in known]
    gone = {str(f.subject) for _, f in result.findings() if f.changes and {c.at for c in f.changes} <= made}
    assert not gone & {str(f.subject) for _, f in after.findings()}
