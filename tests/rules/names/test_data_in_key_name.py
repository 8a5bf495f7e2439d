"""NAM005: data in the names of tags and fields."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tests.builders import DAY, a_field, a_measurement, a_profile, a_tag
from tests.databases import Collection, Dataset, Row, Table, times
from tests.engines.mongodb.builders import a_collection
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.timeline import Point, Timeline
from tsaudit.rules.names.data_in_key_name import data_in_key_name as rule

SERVERS = ("server-01", "server-02", "server-03")


def _in_columns() -> Dataset:
    fields = {f"usage_{name}": "float" for name in SERVERS}
    rows = [Row(t, {"zone": "a"}, dict.fromkeys(fields, i / 7)) for i, t in enumerate(times(5))]
    return dataset(Table("cpu", ("zone",), fields, rows, key=("time", "zone")))


def _in_rows() -> Dataset:
    rows = [Row(t, {"zone": "a", "host": name}, {"usage": i / 7}) for i, t in enumerate(times(5)) for name in SERVERS]
    return dataset(Table("cpu", ("zone", "host"), {"usage": "float"}, rows, key=("time", "zone", "host")))


DOCUMENTS = frozenset({"mongodb"})
CASES = (
    Case(_in_columns(), _in_rows(), Subject("", "cpu", "usage_{host}"), engines=rule.engines - DOCUMENTS),
    Case(
        breaks=Dataset(collections=[Collection("games", [{"scores": {f"user_{i}": i}} for i in range(1001, 1021)])]),
        keeps=Dataset(
            collections=[
                Collection("games", [{"scores": [{"k": f"user_{i}", "v": i}]} for i in range(1001, 1021)]),
                Collection("http", [{f"http_{code}": 1 for code in (200, 301, 302, 400, 403, 404, 500, 502, 503)}]),
            ]
        ),
        subject=Subject("", "games", "scores.user_{n}"),
        main_contributor="scores.user_{n}",
        engines=DOCUMENTS,
    ),
)


def _findings(*names: str, role: str = "field", engine: str = "duckdb") -> tuple[Finding, ...]:
    columns = (
        {"fields": tuple(map(a_field, names))} if role == "field" else {"tags": tuple(a_tag(name) for name in names)}
    )
    return run_rule(rule, a_profile(a_measurement("cpu", **columns), engine=engine)).findings


def test_finding_when_read() -> None:
    (finding,) = _findings("usage_server-01", "usage_server-02", "idle", engine="influxdb1")
    assert finding.message == "2 fields named usage_{host} should be one field usage with tag host."
    assert "Write one field usage and what varies as tag host, in a row for each: host=server-01." in finding.fix
    assert finding.evidence[0].value == "2: usage_server-01 and usage_server-02"


def test_many_families_of_one_measurement_are_one_finding() -> None:
    """One writer makes all figures of a container with the container's name; nobody wants to read that ten times."""
    figures = ("cpu", "memory", "io_r", "io_w", "state")
    names = [f"runner-{n:05}.{figure}" for figure in figures for n in range(12)]
    assert len(_findings(*names[:36])) == 3
    (finding,) = _findings(*names, "runner-99999.cpu")
    assert finding.message == (
        "13 fields named runner-{n}.cpu should be one field runner_cpu with tag runner_number. The same holds for 48 "
        "more fields named runner-{n}.io_r, runner-{n}.io_w, and 2 more."
    )
    assert finding.observed == 61


def test_tags_and_fields_when_each_is_looked_at_alone() -> None:
    assert _findings("load_us-east", "load_eu-west", role="tag")[0].message.startswith("2 tags named load_{region}")
    mixed = a_measurement("cpu", tags=(a_tag("load_us-east"),), fields=(a_field("load_eu-west"),))
    assert not run_rule(rule, a_profile(mixed)).findings


def test_dates_when_the_row_has_its_time() -> None:
    (finding,) = _findings("sales_2023", "sales_2024")
    assert finding.message.endswith("should be one field sales with the row's own timestamp.")


def test_smallest_family_that_counts() -> None:
    assert _findings(*(f"meter{i}" for i in range(10)))


@pytest.mark.parametrize(
    "names", [("p50", "p95", "p99"), ("load1", "load5", "load15"), ("cpu", "memory"), ("x1", "x2")]
)
def test_silence_when_numbers_belong_to_the_words(names: tuple[str, ...]) -> None:
    assert not _findings(*names)


def test_words_of_a_grid_are_data() -> None:
    """Topics in the names of fields, which a parser could have made a tag."""
    topics = [f"{topic}-{stage}" for topic in ("orders", "clicks", "mails", "visits") for stage in ("raw", "dead")]
    fields = tuple(a_field(f"{topic}.{way}.Count") for topic in topics for way in ("BytesIn", "BytesOut"))
    (finding,) = run_rule(rule, a_profile(a_measurement("kafka", fields=fields))).findings
    assert finding.subject.column == "{first_part}-{second_part}.{third_part}.Count"
    assert finding.message.startswith("16 fields named")
    few = run_rule(rule, a_profile(a_measurement("kafka", fields=fields[:11])))
    assert few.outcome is Outcome.PASS


def test_numbered_tags_are_levels_of_a_hierarchy() -> None:
    assert not _findings("part_1", "part_2", "part_3", role="tag")
    assert _findings("part_1", "part_2", "part_3", role="field")
    assert _findings(*(f"slot_{n}" for n in range(12)), role="tag"), "twelve are a list"


def _in_documents(*keys: str) -> tuple[Finding, ...]:
    games = dataclasses.replace(a_collection("games"), fields=tuple(a_field(key) for key in keys))
    return run_rule(rule, a_profile(games, engine="mongodb")).findings


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ([f"visits.2026-03-{d:02}" for d in range(1, 15)], "visits.{date}"),
        ([f"of.{i:024x}.points" for i in range(0x65F0A1B2, 0x65F0A1BC)], "of.{id}"),
        ([f"by_hour.{h}.count" for h in range(24)], "by_hour.{n}"),
        ([f"2026_{m:02}" for m in range(1, 13)], "{date}"),
        ([f"a.b.item_{i}" for i in range(9)], "a.b.item_{n}"),
    ],
)
def test_finding_when_names_in_documents_differ_in_data(keys: list[str], path: str) -> None:
    (finding,) = _in_documents("_id", "title", *keys)
    assert finding.subject == Subject("main", "games", path)
    assert finding.message == f"{len(keys)} fields named {path} have data in their names."


def test_fix_turns_names_of_documents_into_values() -> None:
    (finding,) = _in_documents(*(f"scores.user_{i}" for i in range(9)))
    assert finding.fix.startswith('Write an array scores of names and values, { k: "user_0", v: ... } for each')
    (finding,) = _in_documents("_id", *(f"2026_{m:02}" for m in range(1, 13)))
    assert finding.fix.startswith('Write an array values of names and values, { k: "2026_01", v: ... } for each')


def test_silence_when_names_in_documents_are_words_or_few() -> None:
    assert _in_documents("_id", "p50", "p90", "p95", "p99", "load1", "load5", "load15", "ipv4", "ipv6") == ()
    keys = [f"scores.user_{i}" for i in range(8)]
    assert len(_in_documents(*keys)) == 1
    assert _in_documents(*keys[:7]) == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("engine", "a_day", "severity"),
    [("influxdb1", 200, "warning"), ("influxdb1", 5, "note"), ("influxdb3", 200, "note"), ("duckdb", 200, "note")],
)
def test_fields_that_become_more_each_day_are_a_leak(engine: str, a_day: int, severity: str) -> None:
    """Thousands of sensors as fields are what somebody wanted; names of jobs, each of which runs once, are not."""
    count = 2_000
    fields = tuple(a_field(f"job-{n:06}.cpu") for n in range(count))
    measurement = a_measurement("docker", fields=fields, tags=(a_tag("host", 3),))
    days = [Point(DAY - timedelta(days=ago), float(count - ago * a_day)) for ago in range(9, 0, -1)]
    timeline = Timeline(points={("fields", Subject("main", "docker")): tuple(days)})
    (finding,) = run_rule(rule, a_profile(measurement, engine=engine), timeline=timeline).findings
    assert finding.severity == severity
    if severity == "warning":
        assert finding.impact is not None
        assert (finding.impact.now, finding.impact.per_day) == (count, a_day)
        assert "as a tag, each value would be another series" in finding.fix


@pytest.mark.parametrize(
    ("counts", "severity"),
    [
        ((997, 2_095, 3_596, 5_095), "warning"),
        # A release, two days of a rollout, a few fields a day, and one that has ended.
        ((100, 100, 100, 1_700), "note"),
        ((100, 700, 1_300), "note"),
        ((100, 112, 124, 136), "note"),
        ((997, 2_095, 3_596, 3_596), "note"),
    ],
)
def test_fields_that_become_more_in_the_first_week(counts: tuple[int, ...], severity: str) -> None:
    *before, count = counts
    fields = tuple(a_field(f"seen_{0x5E1F2A000000 + n * 104_729:012x}") for n in range(count))
    measurement = a_measurement("gateway", fields=fields, tags=(a_tag("host", 3),))
    days = tuple(Point(DAY - timedelta(days=len(before) - place), float(n)) for place, n in enumerate(before))
    timeline = Timeline(points={("fields", Subject("main", "gateway")): days})
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1"), timeline=timeline).findings
    assert finding.severity == severity


def test_only_the_family_that_grows_is_endless() -> None:
    """A date is no tag, what is fixed does not grow, and all families of one writer are counted."""
    fixed = [f"usage_server-{n:03}" for n in range(300)]
    dated = [f"load_{DAY - timedelta(days=n)}" for n in range(600)]
    before = a_measurement("m", fields=tuple(map(a_field, [*fixed, *dated[200:]])))
    now = a_measurement("m", fields=tuple(map(a_field, [*fixed, *dated])))
    counts = [Point(DAY - timedelta(days=ago), 900.0 - 200 * ago) for ago in (3, 2, 1)]
    timeline = Timeline(a_profile(before, engine="influxdb1"), {("fields", Subject("main", "m")): tuple(counts)})
    found = run_rule(rule, a_profile(now, engine="influxdb1"), timeline=timeline).findings
    of_date, of_host = sorted(found, key=lambda finding: finding.subject)
    assert of_date.impact is not None
    assert of_host.impact is None
    assert of_date.message.endswith("have data in their names, and about 200 new ones come a day.")
    assert "its time" in of_date.fix
