"""SRV003: how much of each limit of a server is used."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_profile, a_source, a_tag
from tests.collecting import collected
from tests.databases import Collection, Dataset
from tests.engines.greptimedb.cases import a_table
from tests.engines.mongodb.builders import a_collection
from tests.engines.timestream.devops import devops
from tests.rules.cases import Case, dataset, hosts, planned, run_rule, table
from tests.rules.storage.test_unused_or_redundant_index import an_index
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.engines.engine import ServerLimit
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.columns import TagSets
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import MeasureName, MeasureNames
from tsaudit.model.server import IdSequence, ServerCounter, ServerStatus, TableStatus
from tsaudit.model.storage import Partition, Partitioning
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.server.near_limit import near_limit as rule
from tsaudit.summary import of_finding
from tsaudit.text.findings import origin

MILLION = 1_000_000


def _values(fields: int) -> dict[str, float]:
    return {f"f{i}": i + 0.5 for i in range(fields)}


def _tag_sets(tags: int) -> list[dict[str, str | None]]:
    return [{f"t{i:02}": f"v{s if i == 0 else s % 2}" for i in range(tags)} for s in range(10)]


def _wide(fields: int) -> Dataset:
    return dataset(table("machine", hosts(2), dict.fromkeys(_values(fields), "float"), lambda s, r: _values(fields)))


def _forms(count: int) -> Dataset:
    """An index for each field, beside that on `_id`."""
    answers = [{f"field{i}": number for i in range(count)} for number in range(5)]
    return Dataset(collections=[Collection("answers", answers, indexes=[(f"field{i}",) for i in range(count)])])


CASES = (
    Case(
        breaks=_wide(18),
        keeps=_wide(5),
        subject=Subject("", "machine"),
        limits={"near-limit.fields": 20},
    ),
    Case(
        breaks=dataset(*(table(name, hosts(1)) for name in ("cpu", "mem", "disk", "swap"))),
        keeps=dataset(*(table(name, hosts(1)) for name in ("cpu", "mem", "disk"))),
        subject=Subject(""),
        limits={"near-limit.measurements": 4},
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
    Case(
        breaks=devops("hashed", hosts=9, instants=4),
        keeps=devops("multi", hosts=9, instants=4),
        subject=Subject("", "devops"),
        limits={"near-limit.measure_names": 12},
        engines=frozenset({"timestream"}),
    ),
    Case(breaks=_forms(60), keeps=_forms(5), subject=Subject("", "answers"), engines=frozenset({"mongodb"})),
)


# --- What any limit has in common ------------------------------------------------------------------------------------


def _columns(count: int, engine: str = "postgresql", **changes: Any) -> Profile:
    """A table with so many columns, one of them the time and one a tag."""
    fields = tuple(a_field("".join(letters)) for letters in itertools.islice(_words(), count - 2))
    return a_profile(a_measurement(fields=fields), engine=engine, **changes)


def _words() -> Iterator[tuple[str, ...]]:
    """Names without a family among them."""
    return itertools.product("abcdefghijkl", repeat=4)


def _found(profile: Profile, limits: Mapping[str, float] | None = None, timeline: Timeline | None = None) -> Finding:
    (finding,) = run_rule(rule, profile, limits, timeline).findings
    return finding


@pytest.mark.parametrize(
    ("columns", "severity"),
    [(799, None), (800, "note"), (1_279, "note"), (1_280, "warning"), (1_519, "warning"), (1_520, "critical")],
)
def test_severity_by_the_part_that_is_used(columns: int, severity: str | None) -> None:
    findings = run_rule(rule, _columns(columns)).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    if columns == 800:
        assert findings[0].message == "800 columns, 50% of the 1,600 that postgresql allows."


def test_the_rate_of_the_last_weeks_counts() -> None:
    def grown(by: int, days: int = 20) -> Timeline:
        points = (Point(DAY - timedelta(days=days), 998.0 - by),)
        return Timeline(points={("fields", Subject("main", "cpu")): points})

    finding = _found(_columns(1_000), timeline=grown(100))
    assert finding.impact is not None
    assert finding.impact.days_left == 600 / 5
    severities = [_found(_columns(1_000), timeline=grown(by)).severity for by in (100, 200, 900)]
    assert severities == ["note", "warning", "critical"]
    # Less than a week says nothing.
    assert _found(_columns(1_000), timeline=grown(900, days=6)).severity is Severity.NOTE
    # What will be reached soon is reported, however little of it is used.
    assert _found(_columns(700), timeline=grown(990)).severity is Severity.WARNING


@pytest.mark.parametrize(
    ("columns", "grown", "days_left", "severity"),
    [
        # A pump with its 15 columns is added a day: the next ones but two are too many.
        (1_560, (45, 30, 15), 40 / 15, "critical"),
        # One day without a pump, or a table that was made and is complete: nobody knows.
        (1_560, (30, 30, 15), None, "critical"),
        (1_560, (600, 15, 7), None, "critical"),
        (1_560, (30, 15), None, "critical"),
        # Below, three days say it, and raise no alarm, unless as many days again would leave no time to act.
        (1_510, (45, 30, 15), 6, "critical"),
        (1_239, (75, 60, 45, 30, 15), None, "note"),
        (1_460, (75, 60, 45, 30, 15), 140 / 15, "critical"),
        (1_500, (45, 30, 15), None, "warning"),
        (1_000, (45, 30, 15), None, "note"),
    ],
)
def test_days_of_even_growth_say_when_and_raise_an_alarm_only_where_waiting_takes_the_time_left(
    columns: int, grown: Sequence[int], days_left: float | None, severity: str
) -> None:
    ago = range(len(grown), 0, -1)
    points = tuple(Point(DAY - timedelta(days=n), columns - 2.0 - by) for n, by in zip(ago, grown, strict=True))
    finding = _found(_columns(columns), timeline=Timeline(points={("fields", Subject("main", "cpu")): points}))
    assert finding.impact is not None
    assert (finding.impact.days_left, finding.severity) == (days_left, severity)
    said = [one.value for one in finding.evidence if one.label == "grown evenly"]
    days = len(grown)
    assert said == ([f"by 15 a day in the last {days} days"] if {45, 30, 15} <= {*grown} else [])


@pytest.mark.parametrize(
    ("ovens", "others", "named", "fix"),
    [
        (40, 0, "; 800 are named oven{n}_aa or in 19 other ways with data in them.", "Write a row for each"),
        (40, 780, "; 800 are named oven{n}_aa or in 19 other ways with data in them.", "Write a row for each"),
        (40, 800, "; 800 are named oven{n}_aa or in 19 other ways with data in them.", "Split cpu by"),
        # Three phases of a machine are no machines.
        (3, 1_000, ".", "Split cpu by"),
    ],
)
def test_families_that_make_up_the_number_together(ovens: int, others: int, named: str, fix: str) -> None:
    """Each of many machines has columns of its own: none of the families has a tenth of the columns, and an expert says
    that the machine should be a tag, not that the table be split.
    """
    kinds = ["".join(two) for two in itertools.islice(itertools.product("abcdef", repeat=2), 20)]
    keys = [f"oven{n + 1}_{kind}" for n in range(ovens) for kind in kinds]
    keys += ["".join(letters) for letters in itertools.islice(_words(), others)]
    profile = a_profile(a_measurement(fields=tuple(map(a_field, keys))), engine="postgresql")
    finding = _found(profile, {"columns": len(keys) + 2})
    assert (finding.message[-len(named) :], finding.fix[: len(fix)]) == (named, fix)
    assert ("are named" in finding.message) is (named != ".")


def test_more_than_a_documented_limit_shows_that_it_is_another_one_here() -> None:
    assert _found(_columns(1_601)).severity is Severity.NOTE
    # One that the owner set is meant.
    assert _found(_columns(1_601), {"columns": 1_600}).severity is Severity.CRITICAL


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_owners_limit_on_every_engine(engine: str) -> None:
    profile = _columns(60, engine)
    assert run_rule(rule, profile).outcome is Outcome.PASS
    finding = _found(profile, {"columns": 60})
    assert (finding.severity, finding.message) == ("critical", "60 columns, 100% of the limit of 60.")
    assert run_rule(rule, profile, {"columns": 0}).outcome is Outcome.PASS


def test_advice_of_a_vendor_is_a_note_beyond_its_number() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(6))
    five, six = (a_profile(a_table(tags=tags[:n]), engine="greptimedb") for n in (5, 6))
    assert run_rule(rule, five).outcome is Outcome.PASS
    finding = _found(six)
    assert finding.message == "6 tags, more than the 5 that the documentation of greptimedb advises."
    assert finding.severity is Severity.NOTE
    # Which of them could go was not measured, and a copy with the same key would help nobody.
    assert finding.fix == "Keep as tags what queries filter and group by, and write the others as fields."
    assert not finding.changes
    metric = a_table(tags=tags, options={"engine": "metric"})
    assert run_rule(rule, a_profile(metric, engine="greptimedb")).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("version", "limit"),
    [("Core 3.4.1", 500), ("Enterprise 3.9.2, over HTTP", 500), ("Cloud Serverless", 200), ("Cloud Dedicated", 250)],
)
def test_limit_when_products_of_one_engine_differ(version: str, limit: int) -> None:
    profile = _columns(limit, "influxdb3", server_version=version)
    finding = _found(profile)
    assert (finding.severity, finding.observed) == (Severity.CRITICAL, limit)
    assert finding.limit is not None
    assert (finding.limit.value, finding.limit.origin) == (limit, f"engine influxdb3 {profile.edition}")
    assert finding.message.endswith(f"100% of the {limit} that influxdb3 {profile.edition} allows.")
    unknown = dataclasses.replace(profile, server_version="3.4.1")
    assert run_rule(rule, unknown).outcome is Outcome.PASS


def test_one_finding_of_the_nearest_limit_with_the_others_as_evidence() -> None:
    tags, fields = tuple(a_tag(f"t{i}") for i in range(70)), tuple(a_field(f"f{i}") for i in range(1_000))
    finding = _found(a_profile(a_measurement(tags=tags, fields=fields), engine="timestream"))
    assert finding.message == "1,000 fields, 98% of the 1,024 that timestream allows; 1,000 are named f{n}."
    assert finding.main_contributor == "f{n}"
    assert finding.fix.startswith("Write a row for each, with what varies in their names as a dimension, not a")
    assert _found(_columns(1_000)).fix.startswith("Split cpu by what is written and read together")
    assert finding.evidence[0].value.startswith("70: t0, t1")
    also = [e.value for e in finding.evidence if e.label == "also"]
    assert also == ["70 dimensions, 55% of the 128 that timestream allows."]


def test_engine_of_another_package_declares_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    own = (
        ServerLimit("near-limit.columns", 100, "https://example.org/limits"),
        ServerLimit("near-limit.columns", 50, "https://example.org/small", edition="Small"),
    )
    monkeypatch.setattr(type(ENGINES["duckdb"]), "limits", own)
    assert _found(_columns(60, "duckdb")).message == "60 columns, 60% of the 100 that duckdb allows."
    assert "of the 50 that" in _found(_columns(45, "duckdb", server_version="Small 1.0")).message


# --- Columns, tags, measure names, indexes ---------------------------------------------------------------------------


def test_the_tags_that_are_enough() -> None:
    tags = tuple(a_tag(f"t{i}") for i in range(6))
    sets = TagSets(10, 10, 10, (), ("t0", "t1"), (), (), a_source())
    made = a_table(tags=tags, key=tuple(f"t{i}" for i in range(6)), tag_sets=sets)
    assert "t0 and t1 alone identify its series" in _found(a_profile(made, engine="greptimedb")).message
    assert 'PRIMARY KEY ("t0", "t1")' in planned(rule, a_profile(made, engine="greptimedb"))


def _named(count: int, rows: tuple[int | None, ...] = (90, 8, 2, 0)) -> Profile:
    names = tuple(MeasureName(f"n{i}", "multi", ("host",), n) for i, n in enumerate(rows))
    total = None if None in rows else a_count(sum(n or 0 for n in rows))
    measurement = a_measurement(rows=total, measure_names=MeasureNames(a_count(count), names))
    return a_profile(measurement, engine="timestream")


def test_measure_names_and_how_rows_are_distributed_over_them() -> None:
    finding = _found(_named(5_000))
    assert finding.message == "5,000 measure names, 61% of the 8,192 that timestream allows."
    assert {e.label: e.value for e in finding.evidence if e.label != "limit"} == {
        "such as": "n0, n1, n2, and n3",
        "name with most rows": "n0: 90% of 100 rows",
        "ten names with most rows": "100% of the rows",
        "names without a row in the window": "1",
    }
    assert [e.label for e in _found(_named(5_000, (None, None))).evidence] == ["such as", "limit"]
    points = tuple(Point(DAY - timedelta(days=n), 3_500.0 - 100 * n) for n in range(30, 0, -1))
    growing = Timeline(points={("measure_names", Subject("main", "cpu")): points})
    assert _found(_named(3_500), timeline=growing).severity is Severity.WARNING
    assert run_rule(rule, _named(3_500)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("count", "severity"), [(31, None), (32, "note"), (51, "note"), (52, "warning"), (61, "critical")]
)
def test_indexes_of_a_collection(count: int, severity: str | None) -> None:
    own, other = a_collection("answers").indexes or ()
    more = [dataclasses.replace(other, name=f"i{n}", constraint=False, scans=n % 2) for n in range(count - 1)]
    profile = a_profile(dataclasses.replace(a_collection("answers"), indexes=(own, *more)), engine="mongodb")
    findings = run_rule(rule, profile).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    for finding in findings:
        assert finding.message.startswith(f"{count} indexes, ")
        assert finding.evidence[0].value.startswith("i0, i2")


def test_columns_that_postgresql_has_dropped(postgresql: Postgresql) -> None:
    """1,598 of 1,600 numbers are used up; in the other table, a few."""
    cycles = """DO $$ BEGIN FOR i IN 1..{} LOOP
      ALTER TABLE {} ADD COLUMN temporary INT; ALTER TABLE {} DROP COLUMN temporary; END LOOP; END $$"""
    made = [(name, cycles.format(count, name, name)) for name, count in (("worn", 1_596), ("fresh", 50))]
    tables = [f"CREATE TABLE {name} (ts TIMESTAMPTZ, v FLOAT)" for name, _ in made]
    schema = postgresql.new_schema(*tables, *(cycle for _, cycle in made))
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    finding = _found(collected(target))
    assert finding.subject.measurement == "worn"
    assert finding.severity is Severity.CRITICAL
    assert finding.message == "1,598 columns, 1,596 of them dropped, 99.9% of the 1,600 that postgresql allows."
    assert "VACUUM FULL" in finding.fix
    add = f"ALTER TABLE {schema}.worn ADD COLUMN c{{}} INT"
    for number in range(2):
        postgresql.execute(add.format(number))
    with pytest.raises(psycopg.errors.TooManyColumns):
        postgresql.execute(add.format(2))


def _numbered(last: float, most: float = 2**31 - 1, **changes: Any) -> Profile:
    """A table of 30 days with an ID from a sequence, without a time unless it is given."""
    status = TableStatus(ids={"id": last}, id_limits={"id": most})
    settings = {"status": status, "time_column": None, "first_time": None, "last_time": None, "rows": None} | changes
    return a_profile(a_measurement("visits", **settings), engine="postgresql")


@pytest.mark.parametrize(
    ("millions", "severity"), [(1_000, None), (1_080, "note"), (1_720, "warning"), (2_045, "critical")]
)
def test_ids_by_the_part_that_is_used(millions: int, severity: str | None) -> None:
    findings = run_rule(rule, _numbered(millions * MILLION)).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    if millions == 1_080:
        assert findings[0].message == "1,080,000,000 IDs given to id, 50% of the 2,147,483,647 that there are."
        assert "bigint" in findings[0].fix


def test_ids_run_out_at_the_rate_of_their_history_or_of_the_rows() -> None:
    def before(a_day: int) -> Timeline:
        points = (Point(DAY - timedelta(days=10), 1_000.0 * MILLION - 10 * a_day),)
        return Timeline(points={("last_id", Subject("main", "visits", "id")): points})

    severities = [
        [f.severity for f in run_rule(rule, _numbered(1_000 * MILLION), timeline=before(a_day * MILLION)).findings]
        for a_day in (1, 13, 90)
    ]
    assert severities == [[], ["warning"], ["critical"]]
    # 30,000 rows in 30 days, and 13,000 IDs left, of those of a smallint.
    times = {"time_column": "time", "first_time": NOW - timedelta(days=30), "last_time": NOW, "rows": a_count(30_000)}
    finding = _found(_numbered(19_767, 32_767, **times))
    assert finding.severity is Severity.CRITICAL
    assert finding.impact is not None
    assert finding.impact.days_left == 13
    # What was deleted has taken its ID, too.
    assert finding.impact.per_day == 1_000
    # So has what was never stored.
    times["fields"] = (dataclasses.replace(a_field("id"), per_day=4_000.0),)
    assert _found(_numbered(19_767, 32_767, **times)).impact == dataclasses.replace(
        finding.impact, per_day=4_000, days_left=3.25
    )


@pytest.mark.parametrize(
    ("a_day", "days_left", "severity"),
    [(30_000, 2_449.5, "note"), (1_000_000, 73.5, "warning"), (6_000_000, 12.2, "critical"), (0, None, "warning")],
)
def test_time_that_is_left_counts_more_than_the_part_of_the_ids(
    a_day: int, days_left: float | None, severity: str
) -> None:
    """97% of the IDs are given: at 30,000 a day, the others last for seven years. If none is given at present, the next
    load may need them.
    """
    points = (Point(DAY - timedelta(days=10), 2_074.0 * MILLION - 10 * a_day),)
    history = Timeline(points={("last_id", Subject("main", "visits", "id")): points})
    (finding,) = run_rule(rule, _numbered(2_074 * MILLION), timeline=history).findings
    assert finding.impact is not None
    assert finding.severity == severity
    assert finding.impact.days_left == (days_left and pytest.approx(days_left, rel=0.01))
    if severity == "note":
        # 97% is more than 80%, which would be no reason for a note.
        assert finding.severity_reason.endswith(" IDs; a warning from 90 days before it is reached")


@pytest.mark.parametrize(
    ("hours", "then", "severity", "pace"),
    [
        (
            24,
            2_120_040_000,
            "critical",
            "14,961,999 | less than a day",
        ),
        # A load that leaves more than it took may have been the only one.
        (23, 2_134_040_000, "note", ""),
        (
            168,
            2_120_040_000,
            "critical",
            "14,961,999 | about 6 days",
        ),
        (24, 2_134_540_000, "note", ""),
        # The catalog tells of now, whatever the day: none of both were audited a day ago.
        (3, 2_120_040_000, "note", ""),
        (-24, 2_120_040_000, "note", ""),
    ],
    ids=["a jump", "a load", "a week ago", "later", "on the same day", "the day before, audited later"],
)
def test_ids_end_at_the_pace_since_the_previous_audit(hours: int, then: int, severity: str, pace: str) -> None:
    """By the rows of years, the others last for decades: that is no comfort where a load takes them within days."""
    now = _numbered(2_135_001_999, fields=(dataclasses.replace(a_field("id"), per_day=1_000.0),))
    before = dataclasses.replace(
        _numbered(then), day=DAY - timedelta(days=1), collected_at=now.collected_at - timedelta(hours=hours)
    )
    (finding,) = run_rule(rule, now, timeline=Timeline(before)).findings
    assert finding.severity == severity
    used = "2,135,001,999 IDs given to id, 99.4% of the 2,147,483,647 that there are"
    given, _, time = pace.partition(" | ")
    since = f"; {given} given since the audit of 2026-03-30, 12,481,648 left: {time} at that pace" if pace else ""
    assert finding.message == f"{used}{since}."


def test_pace_since_the_previous_audit_where_no_other_is_known() -> None:
    """Blocks to delete are written and deleted again: rows do not show how fast IDs are given."""
    now = _numbered(2_147_247_647)
    before = dataclasses.replace(
        _numbered(2_147_227_647), day=DAY - timedelta(days=1), collected_at=now.collected_at - timedelta(days=1)
    )
    (finding,) = run_rule(rule, now, timeline=Timeline(before)).findings
    assert finding.severity is Severity.CRITICAL
    given = "20,000 given since the audit of 2026-03-30, 236,000 left"
    assert finding.message.endswith(f"; {given}: about 12 days at that pace.")
    assert "not known yet" not in finding.consequence
    # A quiet Sunday makes nothing less severe.
    quiet = dataclasses.replace(before, measurements=_numbered(2_147_245_147).measurements)
    (finding,) = run_rule(rule, now, timeline=Timeline(quiet)).findings
    assert (finding.severity, "pace" in finding.message) == (Severity.CRITICAL, False)


def test_history_shows_ids_that_go_to_no_row() -> None:
    """A cache of 5,000 keys without a time: each write is an INSERT ... ON CONFLICT, which takes an ID."""
    sequence = IdSequence("main.seq", is_identity=False, step=1, is_shared=False)
    before = DAY - timedelta(days=10)
    points = {
        ("last_id", Subject("main", "visits", "id")): (Point(before, 1_800.0 * MILLION),),
        ("rows", Subject("main", "visits")): (Point(before, 4_990.0),),
    }
    status = TableStatus(
        ids={"id": 1_900 * MILLION},
        id_limits={"id": 2**31 - 1},
        sequences={"id": sequence},
        counters={"rows_inserted": 5_000.0, "rows_deleted": 0.0},
    )
    profile = _numbered(1_900 * MILLION, status=status, rows=a_count(5_000))
    (finding,) = run_rule(rule, profile, timeline=Timeline(points=points)).findings
    assert finding.message.endswith("; about 10,000,000 are given a day, for 1 new row.")
    assert finding.fix.startswith("First stop what takes IDs")
    # Rows that retention deletes had their IDs: their number stays the same all the same.
    points["rows", Subject("main", "visits")] = (Point(before, 5_000.0),)
    gone = {"rows_inserted": 9.0 * MILLION, "rows_deleted": 8.9 * MILLION}
    # The same rows loaded anew each night: TRUNCATE counts as no deletion.
    loaded = {"rows_inserted": 1_890.0 * MILLION, "rows_deleted": 0.0}
    for counters in (gone, loaded, {}):
        profile = _numbered(1_900 * MILLION, status=dataclasses.replace(status, counters=counters), rows=a_count(5_000))
        (finding,) = run_rule(rule, profile, timeline=Timeline(points=points)).findings
        assert "First stop" not in finding.fix, counters
    # Rows with a time are counted within a window, which has as many on each day.
    within = {"time_column": "time", "first_time": None, "last_time": NOW, "rows": a_count(5_000)}
    (finding,) = run_rule(
        rule, _numbered(1_900 * MILLION, status=status, **within), timeline=Timeline(points=points)
    ).findings
    assert "First stop" not in finding.fix


def test_few_rows_do_not_show_how_fast_ids_are_given() -> None:
    """Each update of 300 rows took an ID."""
    times = {"time_column": "time", "first_time": NOW - timedelta(days=300), "last_time": NOW, "rows": a_count(300)}
    finding = _found(_numbered(1_900 * MILLION, **times))
    assert finding.impact is not None
    assert (finding.impact.per_day, finding.impact.days_left) == (None, None)
    assert finding.consequence.endswith("When it is reached is not known yet.")


def test_ids_of_deleted_rows_show_how_fast_ids_are_given() -> None:
    """The rows of 30 days are kept, of 200,000 that came."""
    status = TableStatus(
        counters={"rows_inserted": 200_000.0, "rows_deleted": 185_000.0}, ids={"id": 210_000}, id_limits={"id": 250_000}
    )
    times = {"time_column": "time", "first_time": NOW - timedelta(days=30), "last_time": NOW, "rows": a_count(15_000)}
    finding = _found(_numbered(210_000, **times | {"status": status}))
    assert finding.impact is not None
    assert (finding.impact.per_day, finding.impact.days_left) == (500.0, 80.0)


def test_limit_that_is_out_of_sight_has_no_day() -> None:
    times = {"time_column": "time", "first_time": NOW - timedelta(days=300), "last_time": NOW, "rows": a_count(30_000)}
    fields = (dataclasses.replace(a_field("id"), per_day=100.0),)
    finding = _found(_numbered(1_900 * MILLION, **times | {"fields": fields}))
    assert finding.impact is not None
    assert (finding.impact.per_day, finding.impact.days_left) == (100.0, None)


@pytest.mark.parametrize(
    ("per_day", "changes", "is_said"),
    [
        (4_000.0, {}, True),
        (1_900.0, {}, False),
        (4_000.0, {"is_shared": True}, False),
        # A program takes ten with one call.
        (9_000.0, {"step": 10}, False),
    ],
    ids=["wasted", "nearly all used", "shared by two tables", "in steps"],
)
def test_ids_that_go_to_no_row_come_first(per_day: float, changes: dict[str, Any], is_said: bool) -> None:
    """1,000 rows a day stay."""
    times = {"time_column": "time", "first_time": NOW - timedelta(days=30), "last_time": NOW, "rows": a_count(30_000)}
    sequence = dataclasses.replace(IdSequence('main."Seq"', is_identity=False, step=1, is_shared=False), **changes)
    status = TableStatus(ids={"id": 30_000}, id_limits={"id": 32_767}, sequences={"id": sequence})
    fields = (dataclasses.replace(a_field("id", types=("smallint",)), per_day=per_day),)
    finding = _found(_numbered(30_000, **times | {"status": status, "fields": fields}))
    assert finding.fix.startswith("First stop what takes IDs") is is_said
    assert ("; about 4,000 are given a day, for 1,000 new rows." in finding.message) is is_said
    # Half of them are deleted: each had its ID.
    gone = dataclasses.replace(status, counters={"rows_inserted": 60_000.0, "rows_deleted": 40_000.0})
    assert "First stop" not in _found(_numbered(30_000, **times | {"status": gone, "fields": fields})).fix


@pytest.mark.parametrize(
    ("types", "is_identity", "expected"),
    [
        (
            ("integer",),
            True,
            '`ALTER TABLE "main"."visits" ALTER COLUMN "id" TYPE bigint; ALTER SEQUENCE main."Seq" NO MAXVALUE`',
        ),
        (
            ("integer",),
            False,
            'ALTER COLUMN "id" TYPE bigint; ALTER SEQUENCE main."Seq" AS bigint NO MAXVALUE`',
        ),
        (("bigint",), True, ' give larger IDs: `ALTER SEQUENCE main."Seq" AS bigint NO MAXVALUE`.'),
    ],
)
def test_more_ids_by_statements_for_the_column_and_its_sequence(
    types: tuple[str, ...], is_identity: bool, expected: str
) -> None:
    sequence = IdSequence('main."Seq"', is_identity, step=1, is_shared=False)
    status = TableStatus(ids={"id": 30_000}, id_limits={"id": 32_767}, sequences={"id": sequence})
    fields = (a_field("id", types=types),)
    finding = _found(_numbered(30_000, status=status, fields=fields))
    assert expected in finding.fix
    # All that Slack shows of it.
    step = of_finding(finding, "SRV003", (), "t", DAY).first_step
    assert expected in step
    assert ("which copies the table under a lock" in step) is ("ALTER TABLE" in step)


def test_ids_rise_as_in_the_whole_window_where_the_newest_rows_cover_hours(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema(
        "CREATE TABLE scans (n INT GENERATED ALWAYS AS IDENTITY, at TIMESTAMPTZ PRIMARY KEY, v INT)",
        # 20 days, one a minute; each hour, 12,500 IDs go to no row.
        "INSERT INTO scans OVERRIDING SYSTEM VALUE SELECT 2000000000 + i + (i / 60) * 12500, "
        f"TIMESTAMPTZ '{NOW.isoformat()}' - (28800 - i) * INTERVAL '1 minute', i FROM generate_series(1, 28799) AS i",
        "SELECT setval(pg_get_serial_sequence('scans', 'n'), 2005992799)",
        "ANALYZE",
    )
    postgresql.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO tsaudit")
    target = Target.model_validate(
        {
            "name": "t",
            "engine": "postgresql",
            "url": postgresql.audit_url,
            "databases": (schema,),
            "budget": {"max_rows": 1_400},
        }
    )
    (finding,) = run_rule(rule, collected(target)).findings
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(300_000, rel=0.2)
    assert f'ALTER TABLE "{schema}"."scans" ALTER COLUMN "n" TYPE bigint; ' in finding.fix
    assert finding.fix.startswith("First stop")


def test_more_ids_in_words_without_a_known_sequence() -> None:
    """A profile of an audit before sequences were read."""
    (finding,) = run_rule(rule, _numbered(1_900 * MILLION, fields=(a_field("id", types=("bigint",)),))).findings
    assert finding.fix == "Let the sequence of id of visits give larger IDs."


@pytest.mark.parametrize(
    "column",
    [
        "n BIGINT GENERATED ALWAYS AS IDENTITY (MAXVALUE 40000)",
        "n INT GENERATED ALWAYS AS IDENTITY (MAXVALUE 40000)",
        "n BIGINT DEFAULT nextval('own')",
        "n INT DEFAULT nextval('own')",
    ],
)
def test_statements_give_more_ids(postgresql: Postgresql, column: str) -> None:
    schema = postgresql.new_schema(
        "CREATE SEQUENCE own MAXVALUE 40000",
        f"CREATE TABLE scans ({column}, v INT)",
        "INSERT INTO scans (v) SELECT generate_series(1, 39000)",
        "ANALYZE",
    )
    postgresql.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO tsaudit")
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    (finding,) = run_rule(rule, collected(target)).findings
    postgresql.execute(finding.fix.split("`")[1])
    assert run_rule(rule, collected(target)).outcome is Outcome.PASS


def test_partitions_do_not_share_the_sequence_of_their_table(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema(
        "CREATE TABLE alone (n SERIAL, at DATE NOT NULL) PARTITION BY RANGE (at)",
        "CREATE TABLE alone_1 PARTITION OF alone FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
        "CREATE TABLE alone_2 PARTITION OF alone FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')",
        "CREATE TABLE first (n SERIAL, at DATE)",
        "CREATE TABLE second (n INT DEFAULT nextval('first_n_seq'), at DATE)",
        # No partition: a table that takes from the same sequence.
        "CREATE TABLE parent (n SERIAL, at DATE)",
        "CREATE TABLE child () INHERITS (parent)",
        *(f"INSERT INTO {table} (at) VALUES ('2026-01-05')" for table in ("alone", "first", "second", "parent")),
    )
    postgresql.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO tsaudit")
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    known = {m.name: m.status.sequences for m in collected(target).measurements if m.status and m.status.sequences}
    shared = {name: sequences["n"].is_shared for name, sequences in known.items()}
    assert shared == {"alone": False, "first": True, "second": True, "parent": True, "child": True}


def test_ids_that_postgresql_tells(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema(
        "CREATE DOMAIN small AS SMALLINT",
        "CREATE SEQUENCE shared",
        "CREATE SEQUENCE around MAXVALUE 100 CYCLE",
        "CREATE TABLE short (n SMALLINT GENERATED ALWAYS AS IDENTITY, v INT)",
        # Its column was made larger, its sequence was not.
        "CREATE TABLE half_done (n SERIAL, v INT)",
        "ALTER TABLE half_done ALTER n TYPE BIGINT",
        "SELECT setval('half_done_n_seq', 2147483000)",
        "CREATE TABLE by_default (n small DEFAULT nextval('shared'), v INT)",
        "CREATE TABLE wide (n BIGSERIAL, v INT)",
        "CREATE TABLE circle (n INT DEFAULT nextval('around'), v INT)",
        "CREATE TABLE unused (n SERIAL, v INT)",
        *(f"INSERT INTO {t} (v) SELECT generate_series(1, 30000)" for t in ("short", "by_default", "wide", "circle")),
        "ANALYZE",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))

    def told() -> dict[str, tuple[float, float]]:
        profile = collected(target)
        assert profile.gaps == ()
        known = {m.name: m.status for m in profile.measurements if m.status and m.status.ids}
        return {name: (status.ids["n"], status.id_limits["n"]) for name, status in known.items()}

    # The audit's role may not read sequences; ANALYZE saw the highest of what is stored.
    by_statistics = {"short": (30_000, 32_767), "by_default": (30_000, 32_767), "wide": (30_000, 2**63)}
    assert told() == by_statistics
    postgresql.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO tsaudit")
    assert told() == by_statistics | {"half_done": (2_147_483_000, 2**31 - 1)}
    found = {f.subject.measurement: f.severity for f in run_rule(rule, collected(target)).findings}
    assert found == {"short": "warning", "by_default": "warning", "half_done": "critical"}


@pytest.mark.parametrize(
    ("step", "severity"), [(100, Severity.CRITICAL), (20, Severity.WARNING), (1, None)], ids=["soon", "later", "never"]
)
def test_integers_that_near_the_end_of_their_type_without_a_sequence(
    postgresql: Postgresql, step: int, severity: Severity | None
) -> None:
    """A program writes the IDs of another table, whose type is larger, and nothing declares it. Times in seconds, a
    hash, and a value for none among small ones are no IDs.
    """
    at = f"'{NOW}'::TIMESTAMPTZ - n * INTERVAL '1 minute'"
    schema = postgresql.new_schema(
        "CREATE TABLE badge (id BIGSERIAL, granted TIMESTAMPTZ, message_id INT, due INT, crc INT, place INT)",
        f"INSERT INTO badge (granted, message_id, due, crc, place) SELECT {at}, 2146000000 - {step} * n, "
        f"extract(EPOCH FROM {at}), hashint4(n), CASE WHEN n % 50 = 0 THEN 2147483647 ELSE n % 7 END "
        "FROM generate_series(5000, 1, -1) AS n",
        "ANALYZE",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    findings = run_rule(rule, collected(target)).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    for finding in findings:
        assert finding.message.startswith("2,145,99")
        assert "IDs up to the highest one in message_id, > 99.9% of the 2,147,483,647 that there are" in finding.message
        assert 'ALTER COLUMN "message_id" TYPE bigint' in finding.fix
        assert finding.impact is not None
        assert finding.impact.per_day == pytest.approx(1_440 * step, rel=0.01)


def test_ids_that_a_narrower_foreign_key_cannot_store(postgresql: Postgresql) -> None:
    """The key was widened in time, and one of the columns that refer to it was forgotten."""
    schema = postgresql.new_schema(
        "CREATE TABLE build (id BIGSERIAL PRIMARY KEY, at TIMESTAMPTZ DEFAULT now())",
        "SELECT setval('build_id_seq', 2090000000)",
        "ALTER SEQUENCE build_id_seq INCREMENT BY 1000",
        f"INSERT INTO build (at) SELECT '{NOW}'::TIMESTAMPTZ - n * INTERVAL '1 minute' "
        "FROM generate_series(5000, 1, -1) AS n",
        "CREATE TABLE retry (build_id INT REFERENCES build, at TIMESTAMPTZ, kind SMALLINT)",
        "CREATE TABLE output (build_id BIGINT REFERENCES build, at TIMESTAMPTZ)",
        "CREATE TABLE few (id BIGSERIAL PRIMARY KEY)",
        "CREATE TABLE of_few (few INT REFERENCES few, at TIMESTAMPTZ)",
        "INSERT INTO few SELECT nextval('few_id_seq') FROM generate_series(1, 100)",
        "INSERT INTO retry SELECT id, at FROM build WHERE id % 10 = 0",
        "ANALYZE",
    )
    postgresql.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA {schema} TO tsaudit")
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    (finding,) = run_rule(rule, collected(target)).findings
    assert (finding.subject.measurement, finding.severity) == ("retry", Severity.WARNING)
    assert finding.message == (
        "2,095,000,000 IDs given to build.id, to which build_id refers, 98% of the 2,147,483,647 that there are; a row "
        "that refers to a higher one is rejected."
    )
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(1_440_000, rel=0.01)
    assert finding.impact.days_left == pytest.approx(36.4, rel=0.01)
    assert f'ALTER TABLE "{schema}"."retry" ALTER COLUMN "build_id" TYPE bigint' in finding.fix


# --- Tables and databases --------------------------------------------------------------------------------------------


def _core(*counts: int, **changes: Any) -> Profile:
    """A server with a database for each of the counts, and so many tables in it."""
    tables = [
        a_measurement("".join(letters), database=f"db{'abcdef'[i]}")
        for i, count in enumerate(counts)
        for letters in itertools.islice(_words(), count)
    ]
    databases = tuple(Database(f"db{'abcdef'[i]}") for i in range(len(counts)))
    made = {"engine": "influxdb3", "server_version": "Core 3.4.0", "databases": databases}
    return a_profile(*tables, **made | changes)


@pytest.mark.parametrize(("count", "severity"), [(399, None), (400, "warning"), (475, "critical")])
def test_tables_of_one_database(count: int, severity: str | None) -> None:
    findings = run_rule(rule, _core(count, server_version="Cloud Serverless")).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    if count == 475:
        assert findings[0].message == "475 tables, 95% of the 500 that influxdb3 Cloud Serverless allows."


def test_tables_of_all_databases_count_where_the_product_counts_them() -> None:
    finding = _found(_core(900, 899, 1))
    assert (finding.subject, finding.severity) == (Subject(), Severity.WARNING)
    assert finding.message == "1,800 tables in 3 databases, 90% of the 2,000 that influxdb3 Core allows."
    assert [(e.label, e.value) for e in finding.evidence][:2] == [
        ("in dba", "900 tables"),
        ("in dbb", "899 tables"),
    ]
    assert run_rule(rule, _core(800, 799)).outcome is Outcome.PASS
    assert run_rule(rule, _core(900, 900, server_version="Enterprise 3.4.0")).outcome is Outcome.PASS


def test_tables_that_could_be_one() -> None:
    names = [f"Cpu.server-{i}.us-west.usage_user" for i in range(1, 61)]
    profile = a_profile(*(a_measurement(n) for n in names))
    finding = _found(profile, {"measurements": 70})
    assert (finding.subject, finding.severity) == (Subject("main"), Severity.WARNING)
    assert "; 60 are named Cpu." in finding.message
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert change.members[0].tags == (("host", "server-1"), ("region", "us-west"))


def test_rows_of_tables_that_could_be_one_stay_apart() -> None:
    """With several fields in each, what a name measures is a tag: as the name of a field, it would let rows of one
    device overwrite each other.
    """
    names = [f"hm-rpc.0.KEQ{i:07}.{what}" for i in range(20) for what in ("HUMIDITY", "LEVEL", "LOWBAT")]
    fields = (a_field("value"), a_field("quality", ("integer",)))
    finding = _found(a_profile(*(a_measurement(n, fields=fields) for n in names)), {"measurements": 70})
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert {one.field for one in change.members} == {""}
    assert len({one.tags for one in change.members}) == len(names)


def test_databases_are_a_note_until_they_are_those_of_tenants() -> None:
    assert run_rule(rule, _core(1, 1, 1)).outcome is Outcome.PASS
    # Four of five, as a person made them.
    databases = tuple(Database(name) for name in ("shop", "stock", "mail", "search"))
    alone = [a_measurement(f"{one.name}s", database=one.name) for one in databases]
    finding = _found(a_profile(*alone, engine="influxdb3", server_version="Core 3.4.0", databases=databases))
    assert (finding.subject, finding.severity) == (Subject(), Severity.NOTE)
    assert finding.message == "4 databases, 80% of the 5 that influxdb3 Core allows."
    for count, severity in ((4, Severity.WARNING), (5, Severity.CRITICAL)):
        names = [f"tenant_{i:04}" for i in range(count)]
        alike = [a_measurement(held, database=name) for name in names for held in ("orders", "users")]
        made = {"databases": tuple(map(Database, names)), "server_version": "Core 3.4.0"}
        finding = _found(a_profile(*alike, engine="influxdb3", **made))
        assert finding.severity is severity
        assert finding.message.endswith(f"; {count} of them, named tenant_{{id}}, contain the same.")


def test_note_about_databases_does_not_hide_that_tables_are_near_their_limit() -> None:
    finding = _found(_core(400, 400, 400, 350, 350))
    assert (finding.severity, finding.unit) == (Severity.CRITICAL, "measurements")


# --- What the server has open ----------------------------------------------------------------------------------------


def _server(*measurements: Measurement, engine: str = "postgresql", **changes: Any) -> Profile:
    settings = {"autovacuum_freeze_max_age": 200.0 * MILLION, "lock_table": 6_400.0}
    return a_profile(*measurements, engine=engine, server=ServerStatus(**{"settings": settings} | changes))


def _aged(millions: int) -> Profile:
    ages = {"template0": 50, "shop": millions}
    return _server(counters=tuple(ServerCounter("transaction_age", name, n * MILLION) for name, n in ages.items()))


@pytest.mark.parametrize(
    ("millions", "severity"),
    [(190, None), (399, None), (400, "note"), (1_700, "note"), (1_720, "warning"), (2_040, "critical")],
)
def test_age_of_the_oldest_transaction(millions: int, severity: str | None) -> None:
    findings = run_rule(rule, _aged(millions)).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    assert all("database shop" in f.message for f in findings)


@pytest.mark.parametrize(
    ("millions", "a_day", "severity"),
    [(300, 200, None), (1_000, 5, "note"), (1_000, 15, "warning"), (1_000, 100, "critical")],
)
def test_days_left_where_nothing_freezes_them(millions: int, a_day: int, severity: str | None) -> None:
    points = tuple(
        Point(DAY - timedelta(days=ago), (millions - a_day * ago) * float(MILLION)) for ago in range(20, 0, -1)
    )
    past = Timeline(points={("transaction_age", Subject("shop")): points})
    findings = run_rule(rule, _aged(millions), timeline=past).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])


def test_a_rate_counts_only_once_autovacuum_is_overdue() -> None:
    """The server was told to let them get old: at 1,100 million it has only begun to freeze."""
    settings = {"autovacuum_freeze_max_age": 1_000.0 * MILLION}
    points = tuple(Point(DAY - timedelta(days=ago), (1_100 - 50 * ago) * float(MILLION)) for ago in range(20, 0, -1))
    past = Timeline(points={("transaction_age", Subject("shop")): points})
    status = dataclasses.replace(_aged(1_100).server or ServerStatus(), settings=settings)
    assert _found(dataclasses.replace(_aged(1_100), server=status), timeline=past).severity is Severity.NOTE


@pytest.mark.parametrize(
    ("partitions", "indexes", "severity"),
    [(900, 2, None), (1_599, 1, "note"), (2_559, 1, "warning"), (1_706, 2, "warning"), (3_039, 1, "critical")],
)
def test_locks_of_a_statement_on_all_partitions(partitions: int, indexes: int, severity: str | None) -> None:
    made = a_measurement(
        partitioning=Partitioning(("time",), partitions, ()),
        indexes=tuple(an_index(f"i{n}", "time") for n in range(indexes)),
    )
    findings = run_rule(rule, _server(made)).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])


@pytest.mark.parametrize(
    ("bounds", "fix"),
    [
        ("FOR VALUES FROM ('2026-03-01') TO ('2026-03-02')", "Drop old partitions, or merge them, and let new ones"),
        ("FOR VALUES WITH (modulus 4000, remainder 1)", "Divide by fewer remainders of the hash. Or raise"),
    ],
)
def test_the_lock_table_is_shared(bounds: str, fix: str) -> None:
    parts = (Partition("p1", bounds, None, None),)
    finding = _found(_server(a_measurement(partitioning=Partitioning(("time",), 6_999, parts))))
    assert finding.message == (
        "7,000 locks for a statement on all 6,999 partitions, 109.4% of the 6,400 that the server allows, which all "
        "sessions share."
    )
    assert finding.fix.startswith(fix)
    assert finding.consequence == (
        "Statements on all partitions fail with `out of shared memory` as soon as several run at once."
    )


def _cut(count: int, hours: int, *, ended: int = 0) -> Measurement:
    """A table with ranges of so many hours, the last of which ended so many hours ago, and two indexes."""
    end = NOW - timedelta(hours=ended)
    bounds = f"FOR VALUES FROM ('{end - timedelta(hours=hours):%Y-%m-%d %H:%M}') TO ('{end:%Y-%m-%d %H:%M}')"
    indexes = tuple(an_index(f"i{n}", "time") for n in range(2))
    return a_measurement(
        partitioning=Partitioning(("time",), count, (Partition("last", bounds, None, None),)), indexes=indexes
    )


@pytest.mark.parametrize(
    ("count", "hours", "ended", "severity"),
    [
        (1_100, 2, 0, "warning"),  # 92 days of them, and 86 days to the limit
        (1_100, 3, 0, "note"),
        (1_100, 2, 3, "note"),  # No more are made.
        (990, 2, 0, None),  # It may be that they are dropped after 83 days.
    ],
)
def test_locks_run_out_by_the_ranges_of_partitions(count: int, hours: int, ended: int, severity: str | None) -> None:
    findings = run_rule(rule, _server(_cut(count, hours, ended=ended))).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    if severity == "warning":
        assert findings[0].impact is not None
        assert findings[0].impact.per_day == 12 * 3
        assert findings[0].severity_reason == "52% of the limit of 6,400 locks, reached in about 86 days"


def test_history_shows_whether_partitions_are_dropped() -> None:
    def severity(made: Measurement, timeline: Timeline) -> str:
        return _found(_server(made), timeline=timeline).severity

    now, days = _cut(1_100, 2), timedelta(days=2)
    for before, expected in ((1_076, "warning"), (1_100, "note")):
        earlier = _server(_cut(before, 2, ended=48))
        earlier = dataclasses.replace(earlier, day=DAY - days, collected_at=earlier.collected_at - days)
        assert severity(now, Timeline(previous=earlier)) == expected
    for grown, expected in ((0, "note"), (240, "warning"), (1_000, "critical")):
        points = (Point(DAY - timedelta(days=10), 1_100.0 - grown),)
        assert severity(now, Timeline(points={("partitions", Subject("main", "cpu")): points})) == expected


def test_a_limit_of_the_server_says_by_which_settings() -> None:
    finding = _found(_server(_cut(1_100, 2)))
    assert finding.limit is not None
    assert origin(finding.limit) == "of the server"
    assert finding.limit.source == (
        "the server's max_locks_per_transaction * (max_connections + max_prepared_transactions + workers)"
    )


def test_partitions_beyond_what_the_vendor_advises() -> None:
    made = a_measurement(partitioning=Partitioning(("time",), 3_001, ()))
    settings = {"lock_table": 64_000.0}
    finding = _found(_server(made, settings=settings))
    assert finding.message == "3,001 partitions, more than the 3,000 that the documentation of postgresql advises."
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("name", "used", "severity"),
    [
        ("open_files", 499, None),
        ("open_files", 500, "note"),
        ("connections", 800, "warning"),
        ("connections", 950, "critical"),
        ("connections", 1_001, "critical"),
    ],
)
def test_what_mongodb_has_open(name: str, used: int, severity: str | None) -> None:
    profile = _server(engine="mongodb", settings={name: 1_000.0}, counters=(ServerCounter(name, "", used),))
    findings = run_rule(rule, profile).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
    if used == 950:
        assert findings[0].message == "950 connections, 95% of the 1,000 that the server allows."


@pytest.mark.parametrize(("before", "severity"), [(None, "critical"), (960, "critical"), (850, "warning"), (30, None)])
def test_what_is_open_at_two_audits(before: int | None, severity: str | None) -> None:
    def of(open_now: int) -> Profile:
        counter = ServerCounter("connections", "", open_now)
        return _server(engine="mongodb", settings={"connections": 1_000.0}, counters=(counter,))

    timeline = Timeline(previous=of(before)) if before is not None else Timeline()
    findings = run_rule(rule, of(955), timeline=timeline).findings
    assert [f.severity for f in findings] == ([severity] if severity else [])
