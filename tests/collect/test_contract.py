"""What a profile says of a known data set: the same on every engine, apart from what the engine itself knows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.builders import DAY, NOW
from tests.collecting import FixedWriter, Tampered, Writer, collected, writer_to
from tests.databases import Dataset, Row, Table, times
from tests.engines.influxdb2.conversations import REAL, conversation, is_kept_back
from tests.engines.traits import KEEP_DOCUMENTS, SPEAK_INFLUXQL
from tests.servers import MONGODB_URL
from tsaudit import not_audited
from tsaudit.collect import collect
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Columns, MeasurementOverride, Target
from tsaudit.engines.connection import FactError
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.columns import Contribution, Dependency
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import How, Reason
from tsaudit.model.finding import UNREACHABLE_CODE, Verdict
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Measurement, Profile

NAMES = (
    'it\'s a "na,me"=x; DROP TABLE x --ü☃',
    "new\nline",
    "a;b--c",
    "p%q {{ x }} :y",
    "back\\slash",
)


def _http(rows: int = 60, name: str = "http") -> Table:
    """Host tells region; every third row lacks it. `ms` is whole, `error` rare, `unit` constant."""
    return Table(
        name,
        tags=("host", "region"),
        fields={"ms": "float", "error": "string", "unit": "string", "share": "float"},
        rows=[
            Row(
                time,
                {"host": f"h{i % 6}", "region": None if i % 6 == 0 else f"r{i % 2}"},
                {"ms": float(i), "error": "x" if i % 10 == 0 else None, "unit": "s", "share": i / 7},
            )
            for i, time in enumerate(times(rows))
        ],
        key=("time", "host", "region"),
    )


def _reading(engine: str) -> set[str]:
    """Facts for which data is read."""
    return {"documents"} if engine in KEEP_DOCUMENTS else {"series_listing", "row_sample"}


def test_profile_of_a_known_data_set(written_table: Writer) -> None:
    profile = collected(written_table(Dataset([_http()])))
    assert profile.gaps == ()
    assert (profile.engine, profile.day, profile.target) == (written_table.engine, DAY, "test")
    assert profile.server_version
    (http,) = profile.measurements
    assert http.columns == ("time", "host", "region", "error", "ms", "share", "unit")
    assert http.series is not None
    assert (http.series.value, http.series.source.how) == (6, How.EXACT)
    host, region = http.tags
    assert host.values is not None
    assert (host.values.value, host.sample) == (6, ("h0", "h1", "h2", "h3", "h4", "h5"))
    assert host.absent is not None
    assert host.absent.value == 0
    assert region.values is not None
    assert (region.values.value, region.sample) == (2, ("r0", "r1"))
    assert region.absent is not None
    assert region.absent.value == pytest.approx(1 / 6)
    assert http.tag_sets is not None
    assert [(d.determinant, d.dependent) for d in http.tag_sets.dependencies] == [("host", "region")]
    assert http.tag_sets.minimal_key == ("host",)
    assert http.rows is not None
    assert (http.rows.value, http.rows.source.how) == (60, How.EXACT)
    assert (http.first_time, http.last_time) == (NOW - timedelta(minutes=60), NOW - timedelta(minutes=1))


def test_rows_are_told_apart_by_the_columns_they_fill(written_table: Writer) -> None:
    (http,) = collected(written_table(Dataset([_http()]))).measurements
    found = http.row_patterns
    assert found is not None
    assert {(p.columns, p.rows) for p in found.patterns} == {
        (("host", "ms", "region", "share", "unit"), 46),
        (("error", "host", "ms", "region", "share", "unit"), 4),
        (("host", "ms", "share", "unit"), 8),
        (("error", "host", "ms", "share", "unit"), 2),
    }
    # Each of the six hosts has ten rows, and every one holds `ms`.
    assert (found.rows, found.pairs, found.complementary_pairs) == (60, 54, 0)
    assert found.source.how is How.EXACT


def test_fields_of_a_known_data_set(written_table: Writer) -> None:
    (http,) = collected(written_table(Dataset([_http()]))).measurements
    fields = {f.key: f for f in http.fields}
    nulls = {key: f.null_ratio.value for key, f in fields.items() if f.null_ratio}
    assert nulls == pytest.approx({"error": 0.9, "ms": 0.0, "share": 0.0, "unit": 0.0})
    assert {key: f.distinct.value for key, f in fields.items() if f.distinct} == {
        "error": 1,
        "ms": 60,
        "share": 60,
        "unit": 1,
    }
    assert fields["unit"].sample == ("s",)
    assert len(fields["ms"].sample) == 60
    constant = {key: f.constant_ratio.value for key, f in fields.items() if f.constant_ratio}
    # `error` has several values in hosts 0, 2 and 4, always the same.
    assert constant == {"error": 1.0, "ms": 0.0, "share": 0.0, "unit": 1.0}
    whole = {key: f.whole_ratio.value for key, f in fields.items() if f.whole_ratio}
    assert whole == pytest.approx({"ms": 1.0, "share": 9 / 60})


def test_rows_outside_the_window_do_not_count(written_table: Writer) -> None:
    rows = [
        Row(NOW - timedelta(days=30, microseconds=1), {"host": "too old"}, {"v": 1.0}),
        Row(NOW - timedelta(days=30), {"host": "oldest"}, {"v": 2.0}),
        Row(NOW - timedelta(microseconds=1), {"host": "newest"}, {"v": 3.0}),
        Row(NOW, {"host": "too new"}, {"v": 4.0}),
    ]
    target = written_table(Dataset([Table("t", ("host",), {"v": "float"}, rows, key=("time", "host"))]))
    profile = collected(target)
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert t.rows is not None
    if not ENGINES[written_table.engine].enforces_types:
        # julianday() knows milliseconds: the row a microsecond before the window is taken for its first.
        assert t.rows.value in (2, 3)
    else:
        assert t.rows.value == 2
        assert t.fields[0].sample == ("2", "3")
        assert (t.first_time, t.last_time) == (rows[1].time, rows[2].time)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_hostile(written_table: Writer, name: str) -> None:
    if written_table.engine.startswith("influxdb"):
        name = name.replace("\n", " ")  # line protocol cannot write a newline in a name
    tag, field, value = f"t{name}", f"f{name}", name
    rows = [Row(t, {tag: f"{value}{i % 2}", "z": "z"}, {field: float(i)}) for i, t in enumerate(times(4))]
    target = written_table(Dataset([Table(name, (tag, "z"), {field: "float"}, rows, key=("time", tag, "z"))]))
    profile = collected(target)
    assert profile.gaps == ()
    (m,) = profile.measurements
    assert (m.name, {t.key for t in m.tags}, [f.key for f in m.fields]) == (name, {tag, "z"}, [field])
    found = m.tag(tag)
    assert found is not None
    assert found.sample == (f"{value}0", f"{value}1")
    assert m.fields[0].null_ratio is not None
    assert m.fields[0].sample == ("0", "1", "2", "3")
    assert from_json(Profile, to_json(profile)) == profile


def test_measurements_are_chosen_by_pattern(written: Writer) -> None:
    dataset = Dataset([_http(6, name) for name in ("cpu", "cpu_old", "mem")])
    profile = collected(written(dataset, include=("cpu*",), exclude=("*_old",)))
    assert [m.name for m in profile.measurements] == ["cpu"]
    assert profile.gaps == ()


def test_budget_of_measurements_is_used_up(written: Writer) -> None:
    dataset = Dataset([_http(6, name) for name in ("a", "b", "c")])
    profile = collected(written(dataset, budget={"max_measurements": 2}))
    examined = [m.name for m in profile.measurements]
    (beyond,) = profile.beyond_budget.values()
    assert (len(examined), sorted([*examined, *beyond])) == (2, ["a", "b", "c"])
    assert {g.reason for g in profile.gaps} == {Reason.OVER_BUDGET}
    facts = {g.fact for g in profile.gaps}
    # Every rule that looks at measurements learns of it.
    assert {"measurements", *_reading(written.engine)} <= facts
    # What is about the database as a whole was measured.
    assert facts.isdisjoint({"retention", "database_series", "database_bytes", "database_storage"})
    skipped = "1 of 3 measurements were skipped; set budget.max_measurements to 3 or more"
    assert profile.gaps[0].detail == skipped
    assert from_json(Profile, to_json(profile)) == profile


def test_listing_is_broken_off_over_budget(written_table: Writer) -> None:
    rows = [Row(t, {"id": f"i{i}"}, {"v": 1.0}) for i, t in enumerate(times(50))]
    dataset = Dataset([Table("many", ("id",), {"v": "float"}, rows, key=("time", "id")), _http(6)])
    profile = collected(written_table(dataset, budget={"max_listed": 20}))
    (gap,) = [g for g in profile.gaps if g.fact == "series_listing"]
    assert (gap.measurement, gap.reason) == ("many", Reason.OVER_BUDGET)
    assert gap.cause.startswith("the listing was stopped after 20 tag sets")
    assert gap.fix == "raise budget.max_listed"
    http, many = profile.measurements
    # What came until then, and where tags are listed by themselves their values, are a lower bound.
    assert many.series is not None
    assert many.series.is_lower_bound
    assert 21 <= many.series.value <= 50
    assert many.tag_sets is None
    assert many.tags[0].values is not None
    assert 21 <= many.tags[0].values.value <= 51, "Timestream counts in passing, roughly"
    assert http.series is not None
    assert http.series.source.how is How.EXACT


def test_series_beyond_the_ceiling_are_sampled(written_table: Writer) -> None:
    at = times(1)[0]
    rows = [Row(at, {"id": f"i{i}", "dc": f"dc{i % 4}"}, {"v": 1.0}) for i in range(4000)]
    target = written_table(
        Dataset([Table("many", ("id", "dc"), {"v": "float"}, rows, key=("time", "id", "dc"))]),
        budget={"max_series": 500},
    )
    profile = collected(target)
    assert "series_listing" not in {g.fact for g in profile.gaps}
    (many,) = profile.measurements
    assert many.series is not None
    assert many.series.source.how is How.ESTIMATE
    assert many.series.standard_error is not None
    assert abs(many.series.value - 4000) < 3 * many.series.standard_error
    assert {t.key: (t.values.value, t.values.source.how) for t in many.tags if t.values} == {
        "dc": (4, How.EXACT),
        "id": (4000, How.EXACT),
    }
    sets = many.tag_sets
    assert sets is not None
    assert sets.sampled is not None
    assert 250 <= sets.sampled <= 500
    assert f"estimated from {sets.sampled} series" in sets.source.scope
    assert Dependency("id", "dc") in sets.dependencies
    assert sets.drop_curve[0] == Contribution("id", (), 4, 4)


def test_time_of_the_audit_is_used_up(written: Writer) -> None:
    target = written(Dataset([_http(6)]))
    hurried = target.model_copy(update={"budget": target.budget.model_copy(update={"deadline_s": 1e-9})})
    profile = collected(target, asked_as=hurried)
    assert profile.gaps
    assert {g.reason for g in profile.gaps} == {Reason.TIMED_OUT}
    assert all("raise budget.deadline_s" in g.detail for g in profile.gaps)
    assert profile.measurements == ()


def test_facts_nobody_wants_are_not_asked_for(written_table: Writer) -> None:
    target = written_table(Dataset([_http()]))
    profile = collected(target, wanted=frozenset({"tag_keys"}))
    asked = {c.fact for c in profile.costs}
    assert not asked & {"series_listing", "null_counts", "row_count", "retention"}
    (http,) = profile.measurements
    assert [t.key for t in http.tags] == ["host", "region"]
    assert http.series is None
    assert http.fields[0].null_ratio is None
    # Offered all the same.
    assert {"series_listing", "null_ratios", "tag_values", "row_share"} <= set(profile.facts)
    assert set(profile.facts) <= set(FACTS)


@pytest.mark.full
def test_result_is_the_same_with_several_connections(written: Writer) -> None:
    dataset = Dataset([_http(6, f"m{i:02}") for i in range(12)])
    target = written(dataset)
    one = collected(target)
    four = collected(target.model_copy(update={"budget": target.budget.model_copy(update={"concurrency": 4})}))
    assert one.gaps == four.gaps == ()
    assert [_uncounted(m) for m in one.measurements] == [_uncounted(m) for m in four.measurements]
    assert [(c.fact, c.statements, c.rows) for c in one.costs] == [(c.fact, c.statements, c.rows) for c in four.costs]


def _uncounted(measurement: Measurement) -> Measurement:
    """Without how often it and its indexes were used: an audit uses some itself."""
    indexes = measurement.indexes and tuple(dataclasses.replace(i, scans=None) for i in measurement.indexes)
    return dataclasses.replace(measurement, indexes=indexes, activity=None)


def test_costs_and_statements_are_kept(written_table: Writer) -> None:
    profile = collected(written_table(Dataset([_http()])))
    costs = {c.fact: c for c in profile.costs}
    assert costs["series_listing"].statements == 1
    assert costs["series_listing"].rows == 6
    assert costs["row_sample"].rows >= 60
    assert all(c.seconds > 0 for c in profile.costs)
    assert (costs["row_sample"].bytes is None) == (written_table.engine not in SPEAK_INFLUXQL)
    (http,) = profile.measurements
    assert "series_listing" in http.statements
    assert "http" in http.statements["row_sample"]
    assert "{{" not in "".join(http.statements.values())
    assert "measurements" in profile.databases[0].statements


def test_measurement_without_tags(written_table: Writer) -> None:
    rows = [Row(t, {}, {"v": 1.0}) for t in times(3)]
    profile = collected(written_table(Dataset([Table("t", (), {"v": "float"}, rows)])))
    assert profile.gaps == ()
    (t,) = profile.measurements
    assert t.series is not None
    assert (t.series.value, t.tags, t.tag_sets) == (1, (), None)
    assert profile.series == 1


def test_probe_when_all_can_be_had(written: Writer) -> None:
    target = written(Dataset([_http()]))
    with open_connection(target) as connection:
        gaps = probe(target, connection, NOW).profile.gaps
    # A server that is only compatible with MongoDB may lack commands; no other does.
    lacks = bool(MONGODB_URL) and written.engine == "mongodb"
    assert [g for g in gaps if not (lacks and g.reason is Reason.UNSUPPORTED) and not is_kept_back(g)] == []


def test_database_that_does_not_exist(written: Writer) -> None:
    target = written(Dataset([_http(6)])).model_copy(update={"databases": ("nowhere",)})
    profile = collected(target)
    assert profile.measurements == ()
    assert {g.database for g in profile.gaps} == {"nowhere"}
    assert {g.reason for g in profile.gaps} == {Reason.FAILED}
    assert _reading(written.engine) <= {g.fact for g in profile.gaps}


@pytest.fixture(params=sorted(ENGINES))
def one_table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Writer]:
    """For each engine: a way to write the table `http`, and nothing else."""
    if request.param != "influxdb2" or REAL:
        yield writer_to(request.param, request, tmp_path)
        return
    # What is said about this table was recorded by another test.
    with conversation(f"{Path(__file__).relative_to(Path.cwd())}::test_probe_when_all_can_be_had[influxdb2]") as server:
        yield FixedWriter("influxdb2", lambda: server)


@pytest.mark.parametrize("reason", [Reason.DENIED, Reason.FAILED])
@pytest.mark.parametrize("refused", ["databases", "measurements"])
def test_list_that_is_refused_leaves_the_target_unaudited(one_table: Writer, refused: str, reason: Reason) -> None:
    target = one_table(Dataset([_http()]))

    def tampering(fact: str, parameters: Mapping[str, Any]) -> None:
        if fact == refused:
            raise FactError(reason, f"{fact}: the password was changed")

    # Databases that are named need no list.
    asked = target.model_copy(update={"databases": ()}) if refused == "databases" else target
    with open_connection(target) as connection:
        tried = probe(asked, Tampered(connection, tampering), NOW).profile
        result = evaluate(collect(asked, Tampered(connection, tampering), day=DAY, now=NOW))
    assert not_audited.unseen(tried) == f"{refused}: the password was changed"
    assert [rule.code for rule in result.results] == [UNREACHABLE_CODE]
    assert result.not_audited is not None
    assert result.not_audited.reason == f"{refused}: the password was changed"


def test_patterns_that_take_no_measurement_are_not_ok(one_table: Writer) -> None:
    target = one_table(Dataset([_http()])).model_copy(update={"include": ("htttp_*",)})
    profile = collected(target)
    result = evaluate(profile)
    noun = ENGINES[one_table.engine].words.measurement
    assert result.verdict is Verdict.UNKNOWN
    assert result.not_audited is not None
    assert result.not_audited.reason == f'include: ["htttp_*"] does not match the only {noun}, did you mean http?'
    assert [(one.measurements, one.left_out, one.examples) for one in profile.listed] == [(1, 1, ("http",))]


def test_settings_that_match_nothing_are_named_and_those_that_match_are_not(one_table: Writer) -> None:
    changes: dict[str, Any] = {
        "include": ("http", "dsk*"),
        "exclude": ("tmp_*",),
        "measurements": {"htp*": MeasurementOverride(owner="web"), "ht*": MeasurementOverride(owner="web")},
        "columns": {"htpt": Columns(tags=("host",)), "http": Columns(tags=("host", "regoin"), fields=("ms",))},
    }
    target = one_table(Dataset([_http()])).model_copy(update=changes)
    with open_connection(target) as connection:
        tried = probe(target, connection, NOW).profile
    found = {(one.setting, one.value): one.detail for one in tried.unused_settings}
    noun = ENGINES[one_table.engine].words.measurement
    for setting, value in (("include", "dsk*"), ("exclude", "tmp_*"), ("measurements", "htp*")):
        assert f"does not match the only {noun}" in found.pop((setting, value))
    if one_table.engine in SPEAK_INFLUXQL | KEEP_DOCUMENTS | {"timestream"}:
        assert set(found) == {("columns", "htpt"), ("columns", "http")}
        assert all(f"{one_table.engine} defines them itself" in detail for detail in found.values())
    else:
        assert "did you mean http?" in found.pop(("columns", "htpt"))
        assert "did you mean region?" in found.pop(("columns.http.tags", "regoin"))
        assert found == {}


def test_statements_about_each_database_are_kept_with_it(tmp_path: Path) -> None:
    names = ("plant", "shop")
    with closing(duckdb.connect(str(tmp_path / "m.db"))) as connection:
        for name in names:
            connection.execute(f"CREATE SCHEMA {name}; CREATE TABLE {name}.cpu (ts TIMESTAMP, v DOUBLE)")
    profile = collected(Target(name="t", engine="duckdb", url=f"duckdb:///{tmp_path}/m.db", databases=names))
    assert [database.name for database in profile.databases] == list(names)
    for database in profile.databases:
        (other,) = {*names} - {database.name}
        assert f"'{database.name}'" in database.statements["columns"]
        assert f"'{other}'" not in database.statements["columns"]
    assert "databases" in profile.statements
    assert "columns" not in profile.statements
