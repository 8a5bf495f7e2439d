"""RET001: data kept forever."""

from __future__ import annotations

from datetime import timedelta

from tests.builders import a_count, a_measurement, a_profile
from tests.rules.cases import Case, dataset, history_of, hosts, judge, table
from tsaudit.dialect import INFLUXQL_ENGINES
from tsaudit.finding import Outcome, Severity, Subject
from tsaudit.profile import FOREVER, Database, Forever, Profile, Retention
from tsaudit.rules.unbounded_retention import unbounded_retention as rule

GROWING = tuple(1.1 ** (i - 40) for i in range(40))
FLAT = (1.0,) * 40
LONG = timedelta(days=3650)

CASES = (
    Case(
        breaks=dataset(table("raw", hosts(120))),
        keeps=dataset(table("raw", hosts(120)), retention=LONG),
        subject=Subject(""),
        engines=INFLUXQL_ENGINES,  # that count the series of a database
        history=lambda profile: history_of(profile, GROWING),
        quiet_history=lambda profile: history_of(profile, GROWING),
        limits={"unbounded-retention.min_series": 100},
    ),
    Case(
        breaks=dataset(table("raw", hosts(3))),
        keeps=dataset(table("raw", hosts(3)), retention=LONG),
        subject=Subject(""),
        severity=Severity.INFO,
    ),
)


def _profile(duration: int | Forever = FOREVER, series: int = 2000, rows: tuple[int, ...] = (1000,)) -> Profile:
    policies = (Retention("autogen", duration, 604_800, default=True), Retention("other", FOREVER, None, default=False))
    measurements = [a_measurement(f"m{i}", rows=a_count(n)) for i, n in enumerate(rows)]
    database = Database("main", a_count(series), policies)
    return a_profile(*measurements, engine="influxdb1", databases=(database,))


def test_information_when_nothing_grows() -> None:
    profile = _profile()
    for timeline in (None, history_of(profile, FLAT)):
        (finding,) = judge(rule, profile, timeline=timeline).findings
        assert finding.severity is Severity.INFO
    assert 'ALTER RETENTION POLICY "autogen" ON "main"' in finding.fix


def test_warning_when_series_grow() -> None:
    profile = _profile()
    (finding,) = judge(rule, profile, timeline=history_of(profile, GROWING)).findings
    assert finding.severity is Severity.WARN
    assert finding.baseline is not None
    assert finding.baseline < 2000


def test_information_when_what_grows_is_small() -> None:
    profile = _profile(series=999)
    (finding,) = judge(rule, profile, timeline=history_of(profile, GROWING)).findings
    assert finding.severity is Severity.INFO


def test_silence_when_the_default_policy_ends() -> None:
    assert judge(rule, _profile(86_400)).outcome is Outcome.PASS


def test_evidence_when_rates_differ_and_measurements_are_idle() -> None:
    (finding,) = judge(rule, _profile(rows=(1_000_000, 1000, 0))).findings
    assert {e.label: e.value for e in finding.evidence} == {
        "measurements": "3",
        "busiest measurement": "m0: 1,000,000 rows in the window, > 99.9 % of all",
        "measurements with other rates under the same policy": "m1",
        "measurements without a row in the window, kept all the same": "m2",
    }
    (finding,) = judge(rule, _profile(rows=(1_000_000, 1001))).findings
    assert len(finding.evidence) == 1
