"""What rules propose for a bucket of InfluxDB 2.x: in InfluxQL by its mapping, and nothing that another bucket gets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import history_of, judge
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.timeline import Timeline
from tsaudit.rules import all_rules

RULES = {rule.code: rule for rule in all_rules()}
BUCKET = "it's mine"


def found(code: str, profile: Profile, timeline: Timeline | None = None) -> tuple[Finding, ...]:
    return judge(RULES[code], profile, {}, timeline).findings


def in_bucket(name: str = "select", path: tuple[str, ...] = (), **changes: object) -> Measurement:
    return replace(a_measurement(name, 3, database=BUCKET, tags=(a_tag("host"), a_tag("id", 3))), path=path, **changes)


@pytest.mark.parametrize("code", ["NAM003", "NAM004", "FLD003"])
def test_statement_names_database_and_policy_of_the_mapping(code: str) -> None:
    fields = (a_field("select", ("float", "string")), a_field("host"))
    mapped, unmapped = (in_bucket(path=path, fields=fields) for path in (("old", "1y"), ()))
    texts = [f.fix for f in found(code, a_profile(mapped, engine="influxdb2")) if f.subject.measurement]
    assert texts
    assert all('FROM "old"."1y"."select"' in text and "dbrp" not in text for text in texts)
    for finding in found(code, a_profile(unmapped, engine="influxdb2")):
        if finding.subject.measurement:
            assert "could not reach this bucket by InfluxQL" in finding.fix
            assert "influx v1 dbrp create --bucket-id ID" in finding.fix


@pytest.mark.parametrize("code", ["CAR005", "NAM002"])
def test_measurements_are_deleted_from_their_bucket_by_name(code: str) -> None:
    names = [f"load_host{i:03}" for i in range(60)]
    profile = a_profile(*(in_bucket(name, ("old", "1y")) for name in names), engine="influxdb2")
    fixes = [f.fix for f in found(code, profile)]
    assert fixes
    for fix in fixes:
        assert "DROP" not in fix
        assert """influx delete --bucket 'it'"'"'s mine' --start 1970-01-01T00:00:00Z""" in fix
        assert """--predicate '_measurement="load_host000"'""" in fix


def test_values_of_a_growing_tag_are_shown_and_deleted_in_their_bucket() -> None:
    growing = replace(in_bucket("req", ("old", "1y")), series=a_measurement("req", 50_000).series)
    growing = replace(growing, tags=(a_tag("host"), a_tag("id", 50_000)))
    profile = a_profile(growing, engine="influxdb2")
    (finding,) = found("CAR004", profile, history_of(profile, [0.02 + i * 0.98 / 40 for i in range(40)], "id"))
    assert "DELETE FROM" not in finding.fix
    assert """--predicate '_measurement="req" AND "id"="..."'""" in finding.fix
    assert f'schema.measurementTagValues(bucket: "{BUCKET}", measurement: "req", tag: "id")' in finding.fix
