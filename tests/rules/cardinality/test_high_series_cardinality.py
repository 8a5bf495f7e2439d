"""CAR001: series per measurement, database and target against the limit."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.builders import RECURRING, a_count, a_field, a_measurement, a_profile, a_source, a_tag, a_turnover
from tests.engines.greptimedb.cases import a_table, findings
from tests.rules.cases import Case, dataset, hosts, plans, run_rule, table
from tsaudit.evaluation import evaluate
from tsaudit.model.columns import Contribution, Dependency, Tag, TagSets
from tsaudit.model.figures import Gap, How, Reason, Subject
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.rows import MeasureNames
from tsaudit.model.server import ServerStatus
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.high_series_cardinality import high_series_cardinality as rule

CASES = (
    Case(
        breaks=dataset(table("cpu", hosts(60, region="eu"))),
        keeps=dataset(table("cpu", hosts(20, region="eu"))),
        subject=Subject("", "cpu"),
        main_contributor="host",
        limits={"high-series-cardinality.max_series": 50},
    ),
    Case(
        breaks=dataset(table("cpu", hosts(40)), table("disk", hosts(40))),
        keeps=dataset(table("cpu", hosts(20)), table("disk", hosts(20))),
        subject=Subject(""),
        limits={"high-series-cardinality.max_series": 60},
    ),
)
LIMIT = {"max_series": 1000}


def test_silence_when_below_the_warning_share() -> None:
    assert run_rule(rule, a_profile(a_measurement(series=799)), LIMIT).outcome is Outcome.PASS


def test_warning_when_at_the_warning_share_and_critical_before_the_limit_is_reached() -> None:
    for series, severity in ((800, Severity.WARNING), (949, Severity.WARNING), (950, Severity.CRITICAL)):
        (finding,) = run_rule(rule, a_profile(a_measurement(series=series)), LIMIT).findings
        assert finding.severity is severity
        assert finding.subject == Subject("main", "cpu")


def test_critical_when_just_over_a_limit_somebody_set() -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement(series=1001)), LIMIT).findings
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "1,001 series, 100.1% of the limit of 1,000."
    assert finding.limit is not None
    assert finding.limit.origin == "target"


@pytest.mark.parametrize("engine", ["duckdb", "influxdb2"])
def test_note_when_over_a_number_that_nobody_set(engine: str) -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement(series=1_000_001), engine=engine)).findings
    assert (finding.severity, finding.impact) == (Severity.NOTE, None)


@pytest.mark.parametrize(
    ("series", "severity", "is_enforced"),
    [
        (800_000, Severity.WARNING, None),
        (1_000_000, Severity.WARNING, None),
        # A server that held the limit would have rejected the last one.
        (1_000_001, Severity.NOTE, False),
    ],
)
def test_limit_of_the_engine_that_the_server_may_not_enforce(
    series: int, severity: Severity, is_enforced: bool | None
) -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement(series=series), engine="influxdb1")).findings
    assert finding.impact is not None
    assert (finding.severity, finding.impact.is_enforced) == (severity, is_enforced)
    assert finding.limit is not None
    assert finding.limit.origin == "engine influxdb1"


@pytest.mark.parametrize(
    ("in_memory", "series", "severity"),
    [(1, 800_000, Severity.WARNING), (1, 950_000, Severity.CRITICAL), (0, 950_000, Severity.NOTE)],
)
def test_limit_that_the_server_enforces_as_its_index_says(in_memory: int, series: int, severity: Severity) -> None:
    server = ServerStatus({"max_series_per_database": 1_000_000.0, "index_in_memory": float(in_memory)})
    profile = a_profile(a_measurement(series=series), engine="influxdb1", server=server)
    found = run_rule(rule, profile).findings
    assert {finding.severity for finding in found} == {severity}
    assert all(("raise `max-series-per-database`" in one.fix) is bool(in_memory) for one in found)


def test_note_when_a_vendor_only_recommends_a_limit() -> None:
    found = run_rule(rule, a_profile(a_table(series=95_000), engine="greptimedb")).findings
    assert {finding.severity for finding in found} == {Severity.NOTE}
    assert "engine greptimedb flat" in {finding.limit.origin for finding in found if finding.limit}


def test_a_default_is_not_called_the_limit() -> None:
    (finding,) = run_rule(rule, a_profile(a_table(series=2_000_000), engine="duckdb")).findings[:1]
    assert finding.message.startswith("2,000,000 series, 200% of the default of 1,000,000")


def test_information_when_the_limit_is_that_of_another_engine() -> None:
    names = MeasureNames(a_count(24), ())
    cpu = a_measurement(series=12_000_000, measure_names=names)
    (finding,) = run_rule(rule, a_profile(cpu, engine="timestream")).findings
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith(
        "12,000,000 series, 120% of the limit of 10,000,000 for which AWS recommends InfluxDB 2 as a replacement"
    )
    assert finding.evidence[-1].value == "24"
    (finding,) = run_rule(rule, a_profile(cpu, engine="timestream"), LIMIT).findings
    assert finding.severity is Severity.CRITICAL


def test_measure_names_when_the_limit_is_that_of_another_engine() -> None:
    names = MeasureNames(a_count(24), (), series_keys=a_count(24_000_000, How.ESTIMATE))
    cpu = a_measurement(series=1_000_000, measure_names=names)
    (finding,) = run_rule(rule, a_profile(cpu, engine="timestream")).findings
    assert finding.observed == 24_000_000
    # By a limit of one's own, series are combinations of dimensions.
    assert run_rule(rule, a_profile(cpu, engine="timestream"), {"max_series": 2_000_000}).outcome is Outcome.PASS


def test_limit_of_a_measurement_when_a_pattern_matches() -> None:
    policy = LimitPolicy(measurements={"http_*": {"high-series-cardinality.max_series": 10}})
    profile = a_profile(a_measurement("cpu", series=11), a_measurement("http_in", series=11))
    (result,) = evaluate(profile, policy=policy, rules=[rule]).results
    assert [f.subject.measurement for f in result.findings] == ["http_in"]


def test_database_when_only_the_sum_is_over() -> None:
    profile = a_profile(a_measurement("a", series=600), a_measurement("b", series=600))
    (finding,) = run_rule(rule, profile, LIMIT).findings
    assert finding.subject == Subject("main")
    assert [e.value for e in finding.evidence] == ["600 (50%)", "600 (50%)"]


def test_target_when_only_all_databases_together_are_over() -> None:
    profile = a_profile(a_measurement("a", 600, database="x"), a_measurement("b", 600, database="y"))
    (finding,) = run_rule(rule, profile, LIMIT).findings
    assert finding.subject == Subject()


def test_database_when_a_measurement_in_it_is_milder() -> None:
    profile = a_profile(a_measurement("a", series=900), a_measurement("b", series=600))
    findings = run_rule(rule, profile, LIMIT).findings
    assert [(f.subject.measurement, f.severity) for f in findings] == [("", Severity.CRITICAL), ("a", Severity.WARNING)]


def test_own_count_of_the_database_when_measurements_are_not_known() -> None:
    profile = a_profile(a_measurement(series=0), databases=(Database("main", a_count(1500)),))
    (finding,) = run_rule(rule, profile, LIMIT).findings
    assert finding.observed == 1500


def test_unknown_when_the_listing_failed() -> None:
    gap = Gap("series_listing", Reason.TIMED_OUT, "took too long", "main", "cpu")
    result = run_rule(rule, a_profile(dataclasses.replace(a_measurement(), series=None), gaps=(gap,)), LIMIT)
    assert result.outcome is Outcome.OPEN


def test_fix_when_a_tag_is_to_blame() -> None:
    tags = (a_tag("host", 50), a_tag("user_id", 2000))
    left = (Contribution("user_id", (), 50), Contribution("host", (), 2000))
    sets = TagSets(2000, 100_000, 100_000, (), ("user_id",), left, left, a_source())
    measurement = a_measurement("requests", 2000, tags=tags, tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1"), LIMIT).findings
    assert finding.main_contributor == "user_id"
    assert finding.share == 0.975
    assert finding.message.endswith("; tag user_id of requests causes 98% of them.")
    assert finding.fix.startswith("Write user_id as a field of requests, not as a tag.")
    (plan,) = plans(rule, a_profile(measurement, engine="influxdb1"), LIMIT)
    assert (plan.effect.series_now, plan.effect.series_after) == (2000, 50)
    texts = {step.kind: step.text for step in plan.steps}
    assert 'string = ["user_id"]' in texts[StepKind.WRITER]
    # No rows were compared, so nobody knows how many a copy would lose.
    assert texts[StepKind.STORED] == 'USE "main"\nDROP SERIES FROM "requests" WHERE "user_id" != \'\''


def test_fields_counted_in_when_the_plan_does_so() -> None:
    """The guide's air sensors: 8 sensors x 3 fields are 24 series."""
    fields = tuple(a_field(name) for name in ("co", "humidity", "temperature"))
    sensors = a_measurement("airSensors", 8, tags=(a_tag("sensor_id", 8),), fields=fields)
    database = Database("main", a_count(8))
    profile = a_profile(sensors, databases=(database,))
    (finding,) = run_rule(rule, profile, {"max_series": 23, "count_fields": 1}).findings
    assert finding.observed == 24
    assert finding.message == "24 series (tag sets x fields), 104.3% of the limit of 23."
    assert run_rule(rule, profile, {"max_series": 23}).outcome is Outcome.PASS
    counted = a_profile(sensors, databases=(dataclasses.replace(database, series_with_fields=a_count(30)),))
    (_, finding) = sorted(
        run_rule(rule, counted, {"max_series": 27, "count_fields": 1}).findings, key=lambda f: f.observed or 0
    )
    assert (finding.subject, finding.observed) == (Subject("main"), 30)


@pytest.mark.parametrize(
    ("series", "error", "severity", "said"),
    [
        (1500, 30.0, Severity.CRITICAL, "About 1,500 series (estimated, ± 60), 150% of the limit of 1,000"),
        (1030, 30.0, Severity.CRITICAL, "too close to tell whether it is exceeded"),
        (770, 30.0, Severity.WARNING, "About 770 series (estimated, ± 60)"),
        (700, 30.0, None, ""),
    ],
)
def test_estimate_when_its_error_reaches_the_limit_is_no_pass(
    series: int, error: float, severity: Severity | None, said: str
) -> None:
    counted = a_count(series, How.ESTIMATE, standard_error=error)
    profile = a_profile(dataclasses.replace(a_measurement("requests"), series=counted))
    findings = run_rule(rule, profile, LIMIT).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    assert all(said in f.message for f in findings)


@pytest.mark.parametrize(
    ("options", "version", "severity"),
    [
        # The vendor's number is a recommendation: the server takes more.
        ({"sst_format": "primary_key"}, "1.1.4", Severity.NOTE),
        ({}, "0.17.2", Severity.NOTE),
        ({"sst_format": "flat"}, "1.1.4", Severity.NOTE),
        ({}, "1.0.2", Severity.NOTE),
    ],
)
def test_limit_of_a_table_by_the_format_of_its_files(options: dict[str, str], version: str, severity: Severity) -> None:
    (finding,) = findings(rule, a_table(options=options, series=100_001), version)
    assert finding.severity is severity
    assert finding.limit is not None
    assert finding.limit.value == 100_000
    assert not findings(rule, a_table(options=options, series=79_999), version)
    (finding,) = findings(rule, a_table(options=options, series=60_000), version, max_series=50_000)
    assert finding.severity is Severity.CRITICAL


def test_no_limit_of_a_table_when_it_is_of_the_metric_engine() -> None:
    metric = a_table(options={"engine": "metric", "sst_format": "primary_key"}, series=500_000)
    assert not findings(rule, metric)
    (finding,) = findings(rule, dataclasses.replace(metric, series=a_count(1_000_001)))
    assert finding.severity is Severity.NOTE


def _estimated(name: str, series: int, error: float, **changes: Any) -> Measurement:
    return dataclasses.replace(
        a_measurement(name, **changes), series=a_count(series, How.ESTIMATE, standard_error=error)
    )


@pytest.mark.parametrize("databases", [("x", "y"), ("x", "x")], ids=["target", "database"])
def test_errors_of_a_sum_add_up_as_squares(databases: tuple[str, str]) -> None:
    """Each measurement alone is well below; 6,000 ± 600 and 6,000 ± 800 are 12,000 ± 1,000."""
    profile = a_profile(
        *(_estimated(n, 6000, e, database=d) for n, e, d in zip("ab", (300.0, 400.0), databases, strict=True))
    )
    (finding,) = run_rule(rule, profile, {"max_series": 10_000}).findings
    assert finding.subject == (Subject() if databases == ("x", "y") else Subject("x"))
    assert finding.severity is Severity.CRITICAL
    assert finding.message.startswith("About 12,000 series (estimated, ± 1,000)")
    assert [e.label for e in finding.evidence] == ["series in b", "series in a"]


def test_error_of_the_count_that_the_database_keeps() -> None:
    """The target adds up what its databases say of themselves, with their errors."""
    own = tuple(
        Database(name, a_count(6000, How.ESTIMATE, standard_error=error))
        for name, error in (("x", 300.0), ("y", 400.0))
    )
    profile = a_profile(a_measurement(database="x"), a_measurement(database="y"), databases=own)
    for limit, subjects, severity in (
        (8_500, [Subject()], Severity.CRITICAL),  # 6,800 is 80% of it, and 6,000 + 800 reaches just that
        (11_500, [Subject()], Severity.CRITICAL),  # 12,000 ± 1,000 may be below it
        (16_250, [Subject()], Severity.WARNING),  # 80% of it are 13,000
        (16_260, [], None),
    ):
        found = run_rule(rule, profile, {"max_series": limit}).findings
        assert [f.subject for f in found if not f.subject.database] == subjects, limit
        assert {f.severity for f in found if not f.subject.database} == ({severity} if severity else set()), limit


def test_share_of_a_tag_is_that_of_all_series_in_the_database() -> None:
    """Without user_id 9 of 900 series are left: 891 of the 1,500 in the database are due to it, 59%."""
    tags = (a_tag("host", 9), a_tag("user_id", 900))
    left = (Contribution("user_id", (), 9), Contribution("host", (), 900))
    sets = TagSets(900, 8100, 8100, (), ("user_id",), left, left, a_source())
    requests = a_measurement("requests", 900, tags=tags, tag_sets=sets)
    for others in (a_measurement("cpu", 600), a_measurement("z", 600)):
        profile = a_profile(requests, others)
        (finding,) = run_rule(rule, profile, {"max_series": 1200}).findings
        assert finding.subject == Subject("main")
        assert (
            finding.message == "1,500 series, 125% of the limit of 1,200; tag user_id of requests causes 59% of them."
        )
        assert finding.share == pytest.approx(891 / 1500)


def test_evidence_has_worst_case_actual_number_and_what_each_tag_adds() -> None:
    """The guide's example: 2 x 2 tag values and 3 fields are 12 in the worst case, but 6 in fact."""
    contributions = (Contribution("tag1", (), 1), Contribution("tag2", ("tag1",), 1))
    sets = TagSets(2, 4, 2, (Dependency("tag1", "tag2"),), ("tag1",), contributions, contributions[:1], a_source())
    fields = tuple(a_field(f"field{i}") for i in range(3))
    measurement = a_measurement("m", 2, tags=(a_tag("tag1", 2), a_tag("tag2", 2)), fields=fields, tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(measurement), {"max_series": 2}).findings
    assert {e.label: e.value for e in finding.evidence} == {
        "series in m": "2 (100%)",
        "worst case (tag values x fields)": "12",
        "without dependent tags": "6",
        "actual (tag sets x fields)": "6 (2 series with 3 fields each)",
        "determined by other tags": "tag2 by tag1",
        "without tag1": "1 series left (50% fewer)",
        "without tag2 + tag1": "1 series left (50% fewer)",
        "dropping one after the other": "2 → 1 without tag1",
    }


def test_what_a_sample_leaves_open_is_told_as_an_interval() -> None:
    left = (Contribution("user", (), 900, at_least=50), Contribution("host", (), 2_000_000, at_least=1000))
    sets = TagSets(2_000_000, 10**7, 10**7, (), ("user",), left, left[:1], a_source(How.ESTIMATE), sampled=1000)
    measurement = a_measurement(series=2_000_000, tags=(a_tag("user", 10**6), a_tag("host", 5)), tag_sets=sets)
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    told = {e.label: e.value for e in finding.evidence}
    assert told["checked"] == "1,000 of about 2,000,000 series"
    assert told["without user"] == "50 to 900 series left (at least > 99.9% fewer)"


def _of_one_tag(name: str, tag: Tag, series: int) -> Measurement:
    left = (Contribution(tag.key, (), 1),)
    sets = TagSets(series, series, series, (), (tag.key,), left, left, a_source())
    return a_measurement(name, series, tags=(tag,), tag_sets=sets)


def test_id_is_named_before_the_lasting_source_that_has_more_series() -> None:
    ids = tuple(f"7f3e9a52-1c4b-4d2e-9f0a-6b8c7d5e4f{i:02}" for i in range(10))
    parts = [_of_one_tag(f"http{i}", a_tag("id", 45, ids), 45) for i in range(10)]
    hosts_of = _of_one_tag("cpu", a_tag("host", 500, turnover=RECURRING), 500)
    database = Database("main", series=a_count(950))
    found = run_rule(rule, a_profile(hosts_of, *parts, databases=(database,)), LIMIT).findings
    (finding,) = [one for one in found if one.subject == Subject("main")]
    assert finding.severity is Severity.CRITICAL
    assert finding.message.endswith("tag id, in 10 tables, causes 46% of them.")
    assert len(finding.changes) == 10


def test_of_two_that_do_not_last_the_one_with_more_series_is_named() -> None:
    """Whatever they look like: addresses of visitors cause more of the series than the IDs of requests."""
    ids = tuple(f"7f3e9a52-1c4b-4d2e-9f0a-6b8c7d5e4f{i:02}" for i in range(10))
    visitors = tuple(f"person{i * 7919}@example.org" for i in range(10))
    once = a_turnover(500, 0, 500)
    logins = _of_one_tag("logins", a_tag("user", 600, visitors, turnover=once), 600)
    requests = _of_one_tag("requests", a_tag("id", 350, ids, turnover=once), 350)
    database = Database("main", series=a_count(950))
    found = run_rule(rule, a_profile(logins, requests, databases=(database,)), LIMIT).findings
    (finding,) = [one for one in found if one.subject == Subject("main")]
    assert "tag user of logins causes 63% of them" in finding.message
