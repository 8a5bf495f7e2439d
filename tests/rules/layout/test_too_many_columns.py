"""LAY001: wide tables, and many tags."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import psycopg
import pytest

from tests.builders import DAY, a_field, a_measurement, a_profile, a_source, a_tag
from tests.collecting import collected
from tests.engines.greptimedb.cases import a_table, findings
from tests.rules.cases import Case, dataset, hosts, planned, run_rule, table
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Profile, TableKind, TagSets
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.layout.too_many_columns import too_many_columns as rule
from tsaudit.text import percent


def _wide(fields: int) -> dict[str, str]:
    return {f"f{i}": "float" for i in range(fields)}


def _values(fields: int) -> dict[str, float]:
    return {f"f{i}": i + 0.5 for i in range(fields)}


def _tag_sets(tags: int) -> list[dict[str, str | None]]:
    return [{f"t{i:02}": f"v{s if i == 0 else s % 2}" for i in range(tags)} for s in range(10)]


CASES = (
    Case(
        breaks=dataset(table("machine", hosts(2), _wide(18), lambda s, r: _values(18))),
        keeps=dataset(table("machine", hosts(2), _wide(5), lambda s, r: _values(5))),
        subject=Subject("", "machine"),
        limits={"too-many-columns.engine_columns": 20, "too-many-columns.engine_fields": 20},
        # Their fields and tags are no columns.
        engines=rule.engines - {"influxdb1", "influxdb2"},
    ),
    Case(
        breaks=dataset(table("pods", _tag_sets(16))),
        keeps=dataset(table("pods", _tag_sets(15))),
        subject=Subject("", "pods"),
        engines=rule.engines - {"greptimedb", "timestream"},
    ),
    Case(
        breaks=dataset(table("pods", _tag_sets(64))),
        keeps=dataset(table("pods", _tag_sets(63))),
        subject=Subject("", "pods"),
        engines=frozenset({"timestream"}),
    ),
    Case(
        breaks=dataset(table("pods", _tag_sets(6))),
        keeps=dataset(table("pods", _tag_sets(5))),
        subject=Subject("", "pods"),
        engines=frozenset({"greptimedb"}),
    ),
)


def _profile(fields: int, engine: str = "duckdb") -> Profile:
    return a_profile(a_measurement(fields=tuple(a_field(f"f{i}") for i in range(fields))), engine=engine)


def _impact(profile: Profile, timeline: Timeline | None = None) -> Impact:
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    assert finding.impact is not None
    return finding.impact


def _severity(profile: Profile, timeline: Timeline | None = None) -> Severity:
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    return finding.severity


def test_silence_below_half_of_the_limit() -> None:
    assert run_rule(rule, _profile(797, "postgresql")).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _profile(798, "postgresql")).findings
    assert finding.message == "800 columns, 50% of what postgresql allows."
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(("engine", "limit"), [("sqlite", 2000), ("postgresql", 1600)], ids=["sqlite", "postgresql"])
def test_severity_by_the_room_that_is_left(engine: str, limit: int) -> None:
    impact = _impact(_profile(limit * 8 // 10 - 2, engine))
    assert (impact.currency, impact.now, impact.whole) == (Currency.LIMIT, limit * 8 // 10, limit)
    severities = [_severity(_profile(columns - 2, engine)) for columns in (limit * 8 // 10 - 1, limit * 8 // 10)]
    assert severities == [Severity.NOTE, Severity.WARNING]
    severities = [_severity(_profile(columns - 2, engine)) for columns in (limit * 95 // 100 - 1, limit * 95 // 100)]
    assert severities == [Severity.WARNING, Severity.CRITICAL]


def test_the_rate_of_the_last_weeks_counts() -> None:
    profile = _profile(1000, "postgresql")

    def grown(by: int) -> Timeline:
        points = (Point(DAY - timedelta(days=20), 1000.0 - by),)
        return Timeline(points={("fields", Subject("main", "cpu")): points})

    assert _impact(profile, grown(100)).days_left == pytest.approx(598 / 5)
    assert [_severity(profile, grown(by)) for by in (100, 200, 900)] == [
        Severity.NOTE,
        Severity.WARNING,
        Severity.CRITICAL,
    ]
    # Less than a week says nothing.
    young = Timeline(points={("fields", Subject("main", "cpu")): (Point(DAY - timedelta(days=6), 100.0),)})
    assert _severity(profile, young) is Severity.NOTE


@pytest.mark.parametrize(
    ("version", "limit"),
    [("Core 3.4.1", 500), ("Enterprise 3.9.2, over HTTP", 500), ("Cloud Serverless", 200), ("Cloud Dedicated", 250)],
)
def test_limit_when_products_of_one_engine_differ(version: str, limit: int) -> None:
    profile = dataclasses.replace(_profile(limit - 2, "influxdb3"), server_version=version)
    (finding,) = run_rule(rule, profile).findings
    assert (finding.severity, finding.observed) == (Severity.CRITICAL, limit)
    assert finding.limit is not None
    assert (finding.limit.value, finding.limit.origin) == (limit, f"engine influxdb3 {profile.edition}")
    assert finding.message.endswith(f"100% of what influxdb3 {profile.edition} allows.")
    # More than the limit proves that this server was given another one.
    more = dataclasses.replace(_profile(limit - 1, "influxdb3"), server_version=version)
    assert _severity(more) is Severity.NOTE
    unknown = dataclasses.replace(profile, server_version="3.4.1")
    assert run_rule(rule, unknown).outcome is Outcome.PASS


def test_fields_count_where_they_have_a_limit_of_their_own() -> None:
    impact = _impact(_profile(1000, "timestream"))
    assert (impact.now, impact.whole, impact.unit) == (1000, 1024, "fields")


def test_silence_when_the_engine_has_no_limit() -> None:
    for engine in ("duckdb", "greptimedb", "influxdb1"):
        assert run_rule(rule, _profile(1798, engine)).outcome is Outcome.PASS


def _tagged(tags: int) -> Profile:
    sets = TagSets(10, 10, 10, (), ("t0",), (), (), a_source())
    return a_profile(a_measurement(tags=tuple(a_tag(f"t{i}") for i in range(tags)), tag_sets=sets))


def test_finding_when_just_over_the_limit() -> None:
    assert run_rule(rule, _tagged(15)).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _tagged(16)).findings
    assert finding.message == "16 tags, more than 15; t0 alone identifies its series."
    assert finding.impact is None
    assert run_rule(rule, _tagged(16), {"max_tags": 16}).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("dimensions", "severity"),
    [(64, "note"), (102, "note"), (103, "warning"), (121, "warning"), (122, "critical"), (128, "critical")],
)
def test_dimensions_near_the_limit_of_the_product(dimensions: int, severity: str) -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(dimensions))
    (finding,) = run_rule(rule, a_profile(a_measurement(tags=tags), engine="timestream")).findings
    assert finding.message == f"{dimensions} dimensions, {percent(dimensions / 128)} of what timestream allows."
    assert finding.severity == severity
    assert finding.impact is not None
    assert (finding.impact.now, finding.impact.whole) == (dimensions, 128)
    assert finding.limit is not None
    assert finding.limit.source.endswith("/ts-limits.html")
    assert run_rule(rule, a_profile(a_measurement(tags=tags[:63]), engine="timestream")).outcome is Outcome.PASS


def test_dimensions_that_come_every_week() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(70))
    points = {("tags", Subject("main", "cpu")): (Point(DAY - timedelta(days=14), 56.0),)}
    profile = a_profile(a_measurement(tags=tags), engine="timestream")
    (finding,) = run_rule(rule, profile, timeline=Timeline(points=points)).findings
    assert finding.impact is not None
    assert (finding.impact.days_left, finding.severity) == (58, "warning")


def test_all_tags_when_the_tag_sets_are_not_known() -> None:
    profile = a_profile(a_measurement(tags=tuple(a_tag(f"t{i}") for i in range(16))))
    (finding,) = run_rule(rule, profile).findings
    assert finding.message == "16 tags, more than 15."


def test_five_columns_of_the_key_when_it_is_greptimedb() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(6))
    assert not findings(rule, a_table(tags=tags[:5]))
    (finding,) = findings(rule, a_table(tags=tags))
    assert finding.message == "6 tags, more than 5."
    # Which of them could go was not measured, and a copy with the same key would help nobody.
    assert finding.fix == "Keep as tags what queries filter and group by, and write the others as fields."
    assert not finding.changes
    assert not findings(rule, a_table(tags=tags, options={"engine": "metric"}))


def test_copy_has_the_shorter_key_when_it_is_greptimedb() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(6))
    sets = TagSets(10, 10, 10, (), ("t0", "t1"), (), (), a_source())
    table = a_table(tags=tags, key=tuple(f"t{i}" for i in range(6)), tag_sets=sets)
    steps = planned(rule, a_profile(table, engine="greptimedb"))
    assert 'PRIMARY KEY ("t0", "t1")' in steps


def test_the_nearest_of_several_limits_is_named() -> None:
    tags, fields = tuple(a_tag(f"t{i}") for i in range(70)), tuple(a_field(f"f{i}") for i in range(1000))
    (finding,) = run_rule(rule, a_profile(a_measurement(tags=tags, fields=fields), engine="timestream")).findings
    assert finding.message == "1,000 fields, 98% of what timestream allows."
    assert finding.evidence[0].value.startswith("70: t0, t1")


def test_silence_about_many_tags_of_what_has_no_series() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(16))
    entity = a_measurement(tags=tags, kind=TableKind.ENTITY)
    assert run_rule(rule, a_profile(entity)).outcome is Outcome.PASS


def test_columns_that_postgresql_has_dropped(postgresql: Postgresql) -> None:
    """1,598 of 1,600 numbers are used up; in the other table, a few."""
    cycles = """DO $$ BEGIN FOR i IN 1..{} LOOP
      ALTER TABLE {} ADD COLUMN temporary INT; ALTER TABLE {} DROP COLUMN temporary; END LOOP; END $$"""
    made = [(name, cycles.format(count, name, name)) for name, count in (("worn", 1_596), ("fresh", 50))]
    tables = [f"CREATE TABLE {name} (ts TIMESTAMPTZ, v FLOAT)" for name, _ in made]
    schema = postgresql.new_schema(*tables, *(cycle for _, cycle in made))
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    (finding,) = run_rule(rule, collected(target)).findings
    assert finding.subject.measurement == "worn"
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "1,598 columns, 1,596 of them dropped, 99.9% of what postgresql allows."
    assert "VACUUM FULL" in finding.fix
    add = f"ALTER TABLE {schema}.worn ADD COLUMN c{{}} INT"
    for number in range(2):
        postgresql.execute(add.format(number))
    with pytest.raises(psycopg.errors.TooManyColumns):
        postgresql.execute(add.format(2))
