"""What rules propose for a bucket of InfluxDB 2.x: in InfluxQL by its mapping, and nothing that another bucket gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import history_of, planned, run_rule
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.timeline import Timeline
from tsaudit.rules import all_rules

RULES = {rule.code: rule for rule in all_rules()}
BUCKET = "it's mine"


def found(code: str, profile: Profile, timeline: Timeline | None = None) -> tuple[Finding, ...]:
    return run_rule(RULES[code], profile, {}, timeline).findings


def in_bucket(name: str = "select", path: tuple[str, ...] = (), **changes: object) -> Measurement:
    return replace(a_measurement(name, 3, database=BUCKET, tags=(a_tag("host"), a_tag("id", 3))), path=path, **changes)


@pytest.mark.parametrize("code", ["NAM004", "FLD003"])
def test_statement_names_database_and_policy_of_the_mapping(code: str) -> None:
    fields = (a_field("select", ("float", "string")), a_field("host"))
    mapped, unmapped = (in_bucket(path=path, fields=fields) for path in (("old", "1y"), ()))
    text = planned(RULES[code], a_profile(mapped, engine="influxdb2"))
    assert 'FROM "old"."1y"."select"' in text
    assert "dbrp" not in text
    text = planned(RULES[code], a_profile(unmapped, engine="influxdb2"))
    assert "could not reach this bucket by InfluxQL" in text
    assert "influx v1 dbrp create --bucket-id ID" in text


def test_measurements_are_deleted_from_their_bucket_by_name() -> None:
    names = [f"load_host{i:03}" for i in range(60)]
    profile = a_profile(*(in_bucket(name, ("old", "1y")) for name in names), engine="influxdb2")
    text = planned(RULES["NAM002"], profile)
    assert "DROP" not in text
    assert """influx delete --bucket 'it'"'"'s mine' --start 1970-01-01T00:00:00Z""" in text
    assert """--predicate '_measurement="load_host000"'""" in text


def test_values_of_a_growing_tag_are_shown_in_their_bucket() -> None:
    growing = replace(in_bucket("req", ("old", "1y")), series=a_measurement("req", 50_000).series)
    growing = replace(growing, tags=(a_tag("host"), a_tag("id", 50_000)))
    profile = a_profile(growing, engine="influxdb2")
    timeline = history_of(profile, [0.02 + i * 0.98 / 40 for i in range(40)], "id")
    steps = [step.text for plan in evaluate(profile, timeline, rules=[RULES["CAR004"]]).plans for step in plan.steps]
    assert f'from(bucket: "{BUCKET}")' in "\n".join(steps)
    assert not any("DELETE FROM" in text for text in steps)
