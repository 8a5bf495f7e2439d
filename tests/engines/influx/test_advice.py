"""What the advice for InfluxDB proposes: the real server of InfluxDB 1.x and the stand-in of InfluxDB 3 accept it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any

import pytest

from tests.builders import NOW, a_field, a_measurement, a_place, a_profile, a_tag
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, influxql, times, without_use, write, write_lines
from tests.engines.influxdb3 import cli
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3
from tests.servers import Influxd, run_influxd
from tsaudit.analysis.shapes.name_families import name_families
from tsaudit.config.settings import Target
from tsaudit.engines.advice import Advice
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import (
    Change,
    ChangeType,
    Diagnose,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SetRetention,
)
from tsaudit.model.columns import NewestType
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.plan import Effect, Loss, Step, StepKind
from tsaudit.model.profile import Database, Profile
from tsaudit.model.storage import Retention
from tsaudit.rules.merged_families import merged
from tsaudit.text import instant

PROVEN = Effect()
"""No row could overwrite another one."""
OVERWRITTEN = Effect(series_now=81, series_after=3, loss=Loss(719, 9000, "10 minutes on 2026-03-31"))
ODD = 'a "b" \\ ${c} / é, d=1'


def advice(profile: Profile, changes: Iterable[Change], effect: Effect = PROVEN, also: Iterable[str] = ()) -> Advice:
    """For the changes of one measurement or database; `also`: names of measurements that need the same."""
    found = list(changes)
    at = found[0].at
    cls, inside = (
        ENGINES[profile.engine].advice(),
        {m.name: m for m in profile.measurements if m.database == at.database},
    )
    others = tuple(cls(a_place(profile, at.database, inside[name], effect), found) for name in also)
    return cls(a_place(profile, at.database, inside.get(at.measurement), effect), found, others)


def steps(found: Advice) -> list[Step]:
    said = (found.find(), found.writer(), found.schema(), found.stored(), found.verify())
    return [step for step in said if step is not None]


def needed(step: Step | None) -> Step:
    assert step is not None
    return step


@pytest.mark.parametrize("engine", ["influxdb1", "influxdb2"])
@pytest.mark.parametrize(
    ("fields", "tags", "name"),
    [
        (("ms", "request"), (), "calls_new"),
        (("ms",), (), "calls_new_2"),
        (("ms", "request"), ("request",), "calls_new_2"),
    ],
)
def test_measurement_that_a_plan_has_made_is_not_made_again(
    engine: str, fields: Sequence[str], tags: Sequence[str], name: str
) -> None:
    calls = a_measurement("calls", tags=(a_tag("request"), a_tag("host")), fields=(a_field("ms"),))
    made = replace(calls, name="calls_new", fields=tuple(map(a_field, fields)), tags=tuple(map(a_tag, tags)))
    found = advice(a_profile(calls, made, engine=engine), [MakeField(Subject("main", "calls"), "request")])
    assert f"Write to {name}, which replaces calls." in needed(found.writer()).words


# `api` writes 60 requests in two zones, `web` writes 20 in one; `version` is the same everywhere.
ROWS = [
    Row(
        time,
        {
            "request": f"r{number:03}",
            "app": "web" if number % 4 == 0 else "api",
            "zone": "z2" if number % 4 == 3 else "z1",
            "version": "1",
        },
        {"ms": number / 7, "bytes": number},
    )
    for number, time in enumerate(times(80))
]
REQUESTS = Table("requests", ("app", "request", "version", "zone"), {"ms": "float", "bytes": "integer"}, ROWS)


def _rows(url: str, target: Target, statement: str) -> list[dict[str, Any]]:
    (result,) = influxql(url, statement, db=target.databases[0])["results"]
    return [
        series.get("tags", {}) | dict(zip(series["columns"], row, strict=True))
        for series in result.get("series", ())
        for row in series["values"]
    ]


# --- InfluxDB 1.x ---------------------------------------------------------------------------------------------------


def _at(target: Target, name: str = "requests") -> Subject:
    return Subject(target.databases[0], name)


def test_the_query_counts_the_series_of_each_source(influxd: Influxd) -> None:
    target = write(Dataset([REQUESTS]), "influxdb1", influxd.url)
    find = needed(advice(collected(target), [MakeField(_at(target), "request")]).find())
    found = {(row["app"], row["zone"]): row["count"] for row in _rows(influxd.url, target, find.text)}
    assert found == {("api", "z1"): 40, ("api", "z2"): 20, ("web", "z1"): 20}


def test_tags_that_name_the_same_thing_are_counted_by_one_query(influxd: Influxd) -> None:
    rows = [
        Row(time, {"ap": f"ap{number % 3}", "mac": f"m{number}", "name": f"n{number}"}, {"rx": number})
        for number, time in enumerate(times(80))
    ]
    target = write(Dataset([Table("wifi", ("ap", "mac", "name"), {"rx": "integer"}, rows)]), "influxdb1", influxd.url)
    at = _at(target, "wifi")
    find = needed(advice(collected(target), [MakeField(at, "mac"), MakeField(at, "name")]).find())
    assert find.text.count("SHOW SERIES") == 1


def _stored(influxd: Influxd, target: Target, changes: Sequence[Change]) -> Step:
    """The step about stored points, whose statements have run."""
    step = needed(advice(collected(target), changes, OVERWRITTEN).stored())
    influxql(influxd.url, without_use(step.text, target.databases[0]), db=target.databases[0])
    return step


def _types(influxd: Influxd, target: Target, name: str) -> dict[str, str]:
    return {row["fieldKey"]: row["fieldType"] for row in _rows(influxd.url, target, f"SHOW FIELD KEYS FROM {name}")}


def test_points_are_written_again_without_the_tags_before_they_are_deleted(influxd: Influxd) -> None:
    later = [Row(time, {"app": "api", "zone": "z1"}, {"ms": 1.0}) for time in times(5, timedelta(minutes=7))]
    table = replace(REQUESTS, rows=[*ROWS, *later])
    target = write(Dataset([table]), "influxdb1", influxd.url)
    stored = _stored(influxd, target, [LeaveOut(_at(target), "request"), LeaveOut(_at(target), "version")])
    assert "writes them again without request and version;" in stored.words
    assert stored.loses.startswith("all points of requests with request or version")
    assert "719 of the 9,000 points compared" in stored.loses
    left = {(row.time, row.tags["app"], row.tags["zone"]) for row in table.rows}
    assert len(left) < len(table.rows)
    assert _rows(influxd.url, target, "SELECT count(ms) FROM requests")[0]["count"] == len(left)
    assert {row["key"] for row in _rows(influxd.url, target, "SHOW SERIES FROM requests")} == {
        f"requests,app={app},zone={zone}" for _, app, zone in left
    }
    assert _types(influxd, target, "requests") == {"ms": "float", "bytes": "integer"}


def test_points_keep_a_tag_as_a_field_of_text(influxd: Influxd) -> None:
    target = write(Dataset([REQUESTS]), "influxdb1", influxd.url)
    stored = _stored(influxd, target, [MakeField(_at(target), "request")])
    assert "writes them again with request as a text field;" in stored.words
    found = _rows(influxd.url, target, "SELECT * FROM requests_new GROUP BY *")
    assert [
        (row["request"], row["app"], row["zone"], row["version"]) for row in sorted(found, key=itemgetter("request"))
    ] == [(row.tags["request"], row.tags["app"], row.tags["zone"], "1") for row in ROWS]
    assert _types(influxd, target, "requests_new") == {"ms": "float", "bytes": "integer", "request": "string"}
    assert _rows(influxd.url, target, "SHOW MEASUREMENTS") == [{"name": "requests_new"}]


def test_points_lose_a_tag_that_becomes_a_number(influxd: Influxd) -> None:
    """Writers send numbers, and a shard takes only one type."""
    target = write(Dataset([REQUESTS]), "influxdb1", influxd.url)
    stored = _stored(influxd, target, [MakeField(_at(target), "request", "integer")])
    assert "writes them again without request;" in stored.words
    assert _types(influxd, target, "requests_new") == {"ms": "float", "bytes": "integer"}


def test_points_are_not_written_again_where_more_changes() -> None:
    here = a_measurement(tags=(a_tag("id"), a_tag("host")), fields=(a_field("room"), a_field("v")))
    at = Subject("main", here.name)
    stored = needed(advice(a_profile(here, engine="influxdb1"), [MakeField(at, "id"), MakeTag(at, "room")]).stored())
    assert "a program would have to write them again" in stored.words
    assert "SELECT" not in stored.text


def test_one_statement_drops_a_family_and_nothing_that_is_named_alike(influxd: Influxd) -> None:
    names = ["disk_server_1", "disk_server_2", "disk_server_14", "disk_server"]
    tables = [
        Table(name, (), {"value": "float"}, [Row(NOW - timedelta(hours=1), {}, {"value": 1.0})]) for name in names
    ]
    target = write(Dataset(tables), "influxdb1", influxd.url)
    (family,) = name_families(names[:3])
    stored = needed(advice(collected(target), [merged(target.databases[0], family, {})]).stored())
    influxql(influxd.url, without_use(stored.text, target.databases[0]), db=target.databases[0])
    assert [row["name"] for row in _rows(influxd.url, target, "SHOW MEASUREMENTS")] == ["disk_server"]


def test_a_field_of_several_types_shows_whose_points_are_rejected_and_until_when(influxd: Influxd) -> None:
    now = datetime.now(UTC)
    ago = [now - timedelta(days=20), now - timedelta(days=10)]
    rows = [Row(time, {"dev": dev}, {"bar": 1.55, "temp": 20.5}) for time in ago for dev in ("a", "b")]
    target = write(
        Dataset([Table("boiler", ("dev",), {"bar": "float", "temp": "float"}, rows)]), "influxdb1", influxd.url
    )
    (database,), at_ns = target.databases, int(now.timestamp()) * 10**9
    write_lines(influxd.url, database, iter([f"boiler,dev=b bar=2i,temp=20.5 {at_ns}"]))
    write_lines(influxd.url, database, iter([f"boiler,dev=a bar=1.55,temp=20.5 {at_ns}"]), status=400)
    profile = collected(target, now=now + timedelta(minutes=1))
    found = advice(profile, [Diagnose(_at(target, "boiler"), "types", "bar", ("float", "integer"))])
    plan, newest = influxql(influxd.url, needed(found.find()).text, db=database)["results"]
    assert ["AUXILIARY FIELDS: bar::integer"] in plan["series"][0]["values"]
    values = {series["tags"]["dev"]: series["values"][0][1] for series in newest["series"]}
    # The point of `a` is not stored; its value before is not converted.
    assert values == {"a": 1.55, "b": 2}
    assert 'float = ["bar"]' in needed(found.writer()).text
    (shards,) = [
        series for series in influxql(influxd.url, "SHOW SHARDS")["results"][0]["series"] if series["name"] == database
    ]
    listed = (dict(zip(shards["columns"], row, strict=True)) for row in shards["values"])
    newest_shard = max(listed, key=lambda shard: shard["end_time"])
    words = needed(found.stored()).words
    for bound in ("start_time", "end_time"):
        assert instant(datetime.fromisoformat(newest_shard[bound])) in words


@pytest.mark.parametrize(
    ("types", "newest", "ago", "begins"),
    [
        (("float", "string"), "string", 0, "Send value as strings until {end}, when the next shard begins: "),
        (("float", "string"), "float", 0, "Write value as floats (42.0). "),
        # The newest row is in another shard.
        (("float", "string"), "float", 9, "Send value with the type that the current shard has until {end}, when "),
        (("float", "integer", "string"), "float", 0, "Send value with the type that the current shard has until {end}"),
        (("float", "integer"), None, 0, "Send value with the type that the current shard has until {end}, when "),
    ],
)
def test_writers_change_a_type_when_the_next_shard_begins(
    types: tuple[str, ...], newest: str | None, ago: int, begins: str
) -> None:
    """Before that, the server rejects what they write."""
    last = NOW - timedelta(days=ago)
    known = NewestType(newest, "float", 300, last, None) if newest else None
    here = a_measurement(fields=(a_field("value", types, newest_type=known),), last_time=last)
    kept = Retention("autogen", FOREVER, 7 * 86_400, default=True)
    profile = a_profile(here, engine="influxdb1", databases=(Database("main", None, retention=(kept,)),))
    found = advice(profile, [Diagnose(Subject("main", here.name), "types", "value", types)] * 2)
    writer, stored = needed(found.writer()), needed(found.stored())
    assert writer.words.startswith(begins.format(end="2026-04-06 00:00 UTC"))
    assert ("From then on, write value as floats (42.0). If Telegraf" in writer.words) is begins.startswith("Send")
    assert "To lose none until then" not in stored.words
    # A field that holds no numbers has no type to prefer.
    (other,) = [advice(profile, [Diagnose(Subject("main", here.name), "types", "value", ("boolean", "string"))])]
    assert other.writer() is None
    assert "To lose none until then, send the type that it has" in needed(other.stored()).words


@pytest.mark.parametrize(("other", "limit"), [("value", '["zigbee.*.temperature"]'), ("state", None)])
def test_a_setting_leaves_the_same_field_of_other_measurements_alone(other: str, limit: str | None) -> None:
    names = [f"zigbee.{n:08}.temperature" for n in range(12)]
    some = [a_measurement(name, fields=(a_field("value", ("float", "string")),)) for name in names]
    switch = a_measurement("zigbee.plug.Switch", fields=(a_field(other, ("boolean",)),))
    profile = a_profile(*some, switch, engine="influxdb1")
    found = advice(
        profile, [Diagnose(Subject("main", names[0]), "types", "value", ("float", "string"))], also=names[1:]
    )
    line = needed(found.writer()).text.splitlines()[1].strip()
    assert line == (
        f"namepass = {limit}" if limit else f"# no namepass: all measurements that have it, such as {names[0]}"
    )


def test_types_that_are_not_numbers_are_named() -> None:
    profile = a_profile(a_measurement(), engine="influxdb1")
    kinds = ("boolean", "float", "integer", "string")
    find = needed(advice(profile, [Diagnose(Subject("main", "cpu"), "types", "v", kinds)]).find())
    assert [line.partition(" FROM ")[0] for line in find.text.split(";\n")[1:]] == [
        'SELECT last("v"::boolean)',
        'SELECT last("v"::string)',
        'SELECT last("v")',
    ]


def _all_changes(at: Subject) -> list[list[Change]]:
    """Plans of all kinds of changes."""
    database = Subject(at.database)
    return [
        [MakeField(at, ODD)],
        [LeaveOut(at, ODD)],
        [MakeField(at, ODD, "float"), LeaveOut(at, "zone")],
        [MakeTag(at, "room")],
        [Rename(at, "room", "plain", role="field")],
        [ChangeType(at, "v v", "integer"), Diagnose(at, "types", "v v", ("float", "integer"))],
        [Diagnose(at, "schema")],
        [Diagnose(at, "both", "room")],
        [Diagnose(database, "measurements")],
        [SetRetention(database, timedelta(days=36500), "autogen")],
    ]


ODDLY_NAMED = Table(
    ODD,
    (ODD, "zone"),
    {"v v": "float", "room": "string"},
    [Row(time, {ODD: f"x-{n}", "zone": "z1"}, {"v v": n / 7, "room": "r"}) for n, time in enumerate(times(20))],
)


@pytest.fixture(scope="module")
def tsi1(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Influxd]:
    """A server that lists the fields of a measurement with a backslash in its name; the index in memory does not."""
    yield from run_influxd(tmp_path_factory.mktemp("tsi1"), index="tsi1")


@pytest.mark.parametrize("effect", [PROVEN, OVERWRITTEN], ids=["proven", "overwritten"])
def test_the_server_accepts_every_statement(tsi1: Influxd, effect: Effect) -> None:
    statements = 0
    for number in range(len(_all_changes(Subject("", "")))):
        target = write(Dataset([ODDLY_NAMED]), "influxdb1", tsi1.url)
        changes = _all_changes(_at(target, ODD))[number]
        found = steps(advice(collected(target), changes, effect))
        assert found
        for step in found:
            if step.language == "influxql":
                influxql(tsi1.url, without_use(step.text, target.databases[0]), db=target.databases[0])
                statements += 1
    assert statements >= 10


# --- InfluxDB 3 -----------------------------------------------------------------------------------------------------


def test_the_source_that_writes_most_values_comes_first_in_influxdb_3(influxdb3: InfluxDB3 | RealInfluxDB3) -> None:
    target = write(Dataset([REQUESTS]), "influxdb3", influxdb3)
    text = needed(advice(collected(target), [MakeField(_at(target), "request")]).find()).text
    assert "'1 day'" in text
    rows = influxdb3.rows(target.databases[0], text.replace("now() - INTERVAL '1 day'", "'1970-01-01'"))
    assert [list(row.values())[2] for row in rows] == [40, 20, 20]


@pytest.mark.full
def test_influxdb_3_accepts_every_statement_and_command(influxdb3: InfluxDB3 | RealInfluxDB3) -> None:
    statements = 0
    for number, plan in enumerate(_all_changes(Subject("", ""))):
        if any(isinstance(change, Diagnose) and change.what in ("types", "both") for change in plan):
            continue
        target = write(Dataset([ODDLY_NAMED]), "influxdb3", influxdb3)
        for step in steps(advice(collected(target), _all_changes(_at(target, ODD))[number], OVERWRITTEN)):
            if step.language == "sql":
                for statement in step.text.split(";\n"):
                    influxdb3.rows(target.databases[0], statement.rstrip(";"))
                statements += 1
            elif step.language == "sh" and isinstance(influxdb3, InfluxDB3):
                cli.run(step.text, influxdb3)
                statements += 1
    assert statements > 6


def test_influxdb_3_keeps_a_column_that_is_no_longer_written() -> None:
    here = a_measurement(tags=(a_tag("id"), a_tag("host")))
    profile = a_profile(here, engine="influxdb3")
    at = Subject("main", here.name)
    stored = needed(advice(profile, [LeaveOut(at, "id")]).stored())
    assert stored.words.startswith("No statement of InfluxDB 3 removes a column")
    assert not stored.text
    replaced = needed(advice(profile, [MakeField(at, "id")]).stored())
    assert replaced.text == "influxdb3 delete table --database main cpu"


# --- All generations ------------------------------------------------------------------------------------------------

GENERATIONS = ("influxdb1", "influxdb2", "influxdb3")


def _kept(engine: str, *names: str, **retention: Any) -> Profile:
    fields = (a_field("v"), a_field("n", types=("integer", "string")))
    found = [a_measurement(name, tags=(a_tag("id", values=900), a_tag("host")), fields=fields[:1]) for name in names]
    kept = Retention(
        **({"policy": "autogen", "duration_s": "forever", "partition_s": 604_800, "default": True} | retention)
    )
    return replace(a_profile(*found, engine=engine), databases=(Database("main", retention=(kept,)),))


@pytest.mark.parametrize("engine", GENERATIONS)
def test_points_that_expire_are_left_to_expire(engine: str) -> None:
    profile = _kept(engine, "cpu", duration_s=30 * 86_400)
    found = advice(profile, [LeaveOut(Subject("main", "cpu"), "id")])
    stored = needed(found.stored())
    # 30 days after the end of the window, and the week of a shard group.
    assert stored.words == "Nothing to do: points stored until now expire by 2026-05-07 (retention 30 days)."
    assert not stored.text
    # So nothing replaces the measurement.
    assert "cpu_new" not in needed(found.writer()).text


@pytest.mark.parametrize("engine", GENERATIONS)
def test_the_setting_is_shown_and_its_loss_counted_with_what_is_milder(engine: str) -> None:
    found = advice(_kept(engine, "cpu"), [MakeField(Subject("main", "cpu"), "id")], OVERWRITTEN)
    writer = needed(found.writer())
    assert writer.words.startswith("Write id as a field of cpu, not as a tag.")
    row = "row" if engine == "influxdb3" else "point"
    assert f"To lose none, write {row}s that share a time with times that differ" in writer.words
    assert "or keep it as a tag, with fewer or coarser values." in writer.words
    assert writer.loses == (
        f"719 of the 9,000 {row}s compared (10 minutes on 2026-03-31): they get the same tags and time as others"
    )
    assert '[processors.converter.tags]\n    string = ["id"]' in writer.text
    assert "of series falls from 81 to 0; cpu_new has 3." in needed(found.verify()).words


def test_paths_keep_a_placeholder_for_their_ids() -> None:
    here = a_measurement("http", tags=(a_tag("path", sample=("/users/17", "/users/18")),))
    found = advice(a_profile(here, engine="influxdb1"), [MakeField(Subject("main", "http"), "path")], OVERWRITTEN)
    assert "with a placeholder for each id in its values (/users/<id>)" in needed(found.writer()).words


@pytest.mark.parametrize("engine", GENERATIONS)
def test_one_plan_is_about_several_measurements(engine: str) -> None:
    names = [f"cpu{n}" for n in range(5)]
    found = advice(_kept(engine, *names), [LeaveOut(Subject("main", "cpu0"), "id")], OVERWRITTEN, also=names[1:])
    assert '"cpu0", "cpu1", "cpu2", "cpu3", "cpu4"' in needed(found.writer()).text
    noun = "tables" if engine == "influxdb3" else "measurements"
    assert f"cpu0 is the first of 5 {noun}." in needed(found.find()).words


@pytest.mark.parametrize("engine", GENERATIONS)
@pytest.mark.parametrize("effect", [PROVEN, OVERWRITTEN, Effect(loss_unknown="no rows were read")])
def test_every_step_fits_on_a_screen(engine: str, effect: Effect) -> None:
    here = a_measurement(
        ODD,
        tags=(a_tag(ODD, values=900), a_tag("zone")),
        fields=(a_field("v v", types=("float", "integer")), a_field("room", types=("string",))),
    )
    profile = a_profile(here, engine=engine)
    for changes in _all_changes(Subject("main", ODD)):
        found = steps(advice(profile, changes, effect))
        # A column of InfluxDB 3 cannot be both a tag and a field.
        assert found or (engine == "influxdb3" and isinstance(changes[0], Diagnose) and changes[0].what == "both")
        assert [step.kind for step in found] == [kind for kind in StepKind if kind in {step.kind for step in found}]
        for step in found:
            assert len(step.text.splitlines()) <= 10, step.text
            assert len(step.words) < 400, step.words
            assert step.words[0].isupper()
            assert step.words.endswith((".", ":"))


@pytest.mark.parametrize("engine", GENERATIONS)
def test_a_family_of_names_is_written_with_tags_and_dropped(engine: str) -> None:
    names = [f"cpu_web_{n}" for n in range(1, 5)]
    (family,) = name_families(names)
    change = merged("main", family, {})
    assert isinstance(change, MergeMeasurements)
    found = advice(_kept(engine, *names), [change])
    writer = needed(found.writer())
    assert writer.words.startswith("Write to cpu with host=web_1 instead of cpu_web_1.")
    assert "processors.template" in writer.text
    stored = needed(found.stored())
    assert "a program would have to read all of their points" in stored.words
    assert stored.text
    assert "4 measurements" in needed(found.verify()).words
    short = advice(_kept(engine, *names, duration_s=86_400), [change])
    assert not needed(short.stored()).text
