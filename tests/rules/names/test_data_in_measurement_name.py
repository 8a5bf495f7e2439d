"""NAM002: data in the names of measurements."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_tag
from tests.databases import Collection, Dataset, Row, Table, times
from tests.engines.mongodb import visits
from tests.engines.traits import engines_that
from tests.rules.cases import Case, dataset, planned, run_rule, table
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.figures import Subject, TableKind
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.rows import MeasureName, MeasureNames
from tsaudit.model.storage import Index
from tsaudit.model.timeline import Timeline
from tsaudit.rules.names.data_in_measurement_name import data_in_measurement_name as rule

NAMES = ("Cpu.server-5.us-west.usage_user", "Cpu.server-6.us-east.usage_user")


def _value(series: int, row: int) -> dict[str, float]:
    return {"value": 20.0 + row}


def _by_measure_name(pattern: str) -> Table:
    rows = [
        Row(at, {"site": f"s{i}"}, {"measure_value::double": 20.5 + i}, pattern.format(i))
        for at in times(3)
        for i in range(5)
    ]
    return Table("cpu", ("site",), {"measure_value::double": "float"}, rows)


CONTINENTS = ("africa", "asia", "europe", "north_america", "oceania", "south_america")
WEATHER = {"temperature": "float", "humidity": "float"}


def _weather(name: str, **tags: str) -> Table:
    return table(
        name, [{"station": "s1"} | tags], WEATHER, lambda s, r: {"temperature": 20.5 + r, "humidity": 50.5 - r}
    )


FALSE_FRIENDS = [Collection(name, [{"total": 9.5}]) for name in ("order_201210", "order_201305", "sku_20121003")]
SQL = engines_that(lambda engine: engine.infers_roles)
CASES = (
    Case(
        breaks=dataset(*(table(n, [{}], {"value": "float"}, _value) for n in NAMES)),
        keeps=dataset(
            table(
                "cpu",
                [{"host": "server-5", "region": "us-west"}],
                {"usage_user": "float"},
                lambda s, r: {"usage_user": 20.0 + r},
            )
        ),
        subject=Subject("", "Cpu.{host}.{region}.usage_user"),
        engines=rule.engines - SQL,
    ),
    Case(
        breaks=dataset(*(table(f"visits_2026_{m:02}", [{}], {"value": "float"}, _value) for m in (1, 2, 3))),
        keeps=dataset(table("visits", [{}], {"value": "float"}, _value)),
        subject=Subject("", "visits_{date}"),
        engines=frozenset({"influxdb1", "influxdb3", "greptimedb", "timestream"}),
    ),
    Case(
        # The same in the measure names of one table.
        breaks=dataset(_by_measure_name("cpu.server-{}.us-west.usage")),
        keeps=dataset(_by_measure_name("usage")),
        subject=Subject("", "cpu"),
        engines=frozenset({"timestream"}),
    ),
    Case(
        # One schema in several tables, whose names have nothing in common.
        breaks=dataset(*map(_weather, CONTINENTS)),
        keeps=dataset(_weather("weather", continent="africa"), _weather("climate")),
        subject=Subject("", "{first_part}"),
        engines=frozenset({"influxdb1", "influxdb3", "greptimedb", "timestream"}),
    ),
    Case(
        breaks=visits.visits(24),
        keeps=Dataset(collections=[*visits.counted(24).collections, *FALSE_FRIENDS]),
        subject=Subject("", "visits_{day}"),
        engines=frozenset({"mongodb"}),
    ),
    Case(
        breaks=dataset(*(_weather(f"cpu_server_{i}") for i in range(8))),
        keeps=dataset(
            *(table(name, [{"host": "a"}]) for name in ("cpu", "mem", "disk", "swap", "net", "system", "kernel"))
        ),
        subject=Subject("", "cpu_{host}"),
        engines=SQL,
    ),
)


def test_measurement_tags_and_field_when_the_name_is_that_of_the_guideline() -> None:
    profile = a_profile(a_measurement(NAMES[0], tags=(), fields=(a_field("value"),)), engine="influxdb1")
    (finding,) = run_rule(rule, profile).findings
    assert finding.message == (
        "1 measurement named Cpu.{host}.{region}.usage_user should be "
        "measurement cpu, tags host and region, and field usage_user."
    )
    to = "field usage_user of cpu with host=server-5 and region=us-west"
    assert f"Write to {to} instead of {NAMES[0]}." in finding.fix


def test_silence_when_names_are_plain() -> None:
    names = ("cpu", "disk", "diskio", "http_404", "ipv6", "load15", "p99")
    profile = a_profile(*(a_measurement(n) for n in names), engine="influxdb1")
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_no_template_when_names_have_no_dots() -> None:
    profile = a_profile(*(a_measurement(f"events_2024_{m:02}") for m in range(1, 7)), engine="influxdb1")
    (finding,) = run_rule(rule, profile).findings
    assert "templates" not in planned(rule, profile)
    assert finding.fix.startswith("Write to events instead of events_2024_01.")


def test_what_the_name_says_of_a_collection() -> None:
    profile = a_profile(a_measurement(NAMES[0], tags=(), fields=(a_field("value"),)), engine="mongodb")
    (finding,) = run_rule(rule, profile).findings
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert change.members == (Merged(NAMES[0], (("host", "server-5"), ("region", "us-west")), "usage_user"),)
    assert finding.message.startswith("1 collection named ")
    assert "fields host and region" in finding.message


def test_numbers_that_could_be_dates_are_among_the_others() -> None:
    orders = [a_measurement(f"order_{n}") for n in range(201201, 201230)]
    visits = [a_measurement(f"visits_2024_{m:02}") for m in range(1, 7)]
    finding, periods = run_rule(rule, a_profile(*orders, *visits, engine="mongodb")).findings
    assert periods.subject == Subject("main", "visits_{month}")
    assert finding.message == "29 collections named order_{n} should be collection order and field order_number."
    assert run_rule(rule, a_profile(a_measurement("order_201210"), engine="mongodb")).outcome is Outcome.PASS


def _named(*names: str) -> Profile:
    found = MeasureNames(a_count(len(names)), tuple(MeasureName(name, "double", ("site",)) for name in names))
    return a_profile(a_measurement(measure_names=found), engine="timestream")


def test_measure_names_when_they_differ_in_data() -> None:
    names = [f"cpu.server-{i}.us-west.usage" for i in range(3)]
    (finding,) = run_rule(rule, _named(*names, "events")).findings
    assert finding.message == (
        "3 measure names such as cpu.server-0.us-west.usage differ only in data: host and region."
    )
    assert finding.fix.startswith("Write the measure name usage instead of cpu.server-0.us-west.usage: what varies as")
    assert run_rule(rule, _named(*names[:2])).outcome is Outcome.PASS


def test_silence_when_measure_names_are_those_of_quantities_or_hashes() -> None:
    assert (
        run_rule(rule, _named("cpu_user", "cpu_system", "load1", "load5", "load15", "memory_free")).outcome
        is Outcome.PASS
    )
    assert run_rule(rule, _named("6445", "6399", "640", "2093", "7051")).outcome is Outcome.PASS


def _tables(names: list[str], *fields: str, tags: tuple[str, ...] = ("host",)) -> Profile:
    made = tuple(a_field(field) for field in fields)
    return a_profile(
        *(a_measurement(name, tags=tuple(map(a_tag, tags)), fields=made) for name in names), engine="influxdb1"
    )


MACHINES = [f"{line}_{machine}_{what}" for line in "abcd" for machine in ("saw", "mill") for what in ("rpm", "power")]
TENANTS = [f"orders_{tenant}" for tenant in ("acme", "globex", "hooli", "initech", "umbrella")]


def test_words_of_a_grid_are_data() -> None:
    (finding,) = run_rule(rule, _tables(MACHINES, "value")).findings
    assert finding.message == (
        "16 measurements named {first_part}_{second_part}_{third_part} should be measurement "
        "readings and tags first_part (such as a), second_part (such as mill), and third_part (such as power)."
    )
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert change.members[0] == Merged(
        "a_mill_power", (("first_part", "a"), ("second_part", "mill"), ("third_part", "power"))
    )


def test_word_that_varies_is_data_unless_it_may_be_a_quantity() -> None:
    (finding,) = run_rule(rule, _tables(TENANTS, "total", "items")).findings
    assert finding.subject.measurement == "orders_{second_part}"
    # A collector names each measurement after its only value.
    quantities = [f"http_req_{what}" for what in ("blocked", "connecting", "duration", "receiving", "sending")]
    assert run_rule(rule, _tables(quantities, "value")).outcome is Outcome.PASS
    assert run_rule(rule, _tables(TENANTS[:4], "total", "items")).outcome is Outcome.PASS


def test_other_columns_are_another_kind_of_thing() -> None:
    for changed in ({"fields": (a_field("total"), a_field("price"))}, {"tags": (a_tag("region"),)}):
        profile = _tables(TENANTS, "total", "items")
        first, *rest = profile.measurements
        other = dataclasses.replace(first, **changed)
        assert run_rule(rule, dataclasses.replace(profile, measurements=(other, *rest))).outcome is Outcome.PASS


def _mixed(names: list[str]) -> Profile:
    """SQL tables with different columns."""
    return a_profile(*(a_measurement(name, fields=(a_field(f"of_{name}"),)) for name in names))


def test_tables_of_periods_whatever_their_columns_are() -> None:
    names = [f"events_{year}_{month:02}" for year in range(2020, 2025) for month in range(1, 13)]
    assert run_rule(rule, _mixed(names[:50])).outcome is Outcome.PASS
    (finding,) = run_rule(rule, _mixed(names)).findings
    assert finding.subject == Subject("main", "events_{date}")
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert (change.into, len(change.members)) == ("events", 60)
    assert finding.share == 1.0


CITIES = ("berlin", "bremen", "essen", "jena", "kiel")


def _alike(
    names: Iterable[str], *fields: str, kind: TableKind = TableKind.SERIES, types: tuple[str, ...] = ("DOUBLE",)
) -> Profile:
    """SQL tables with the same columns."""
    columns = tuple(a_field(f, types) for f in fields)
    return a_profile(*(a_measurement(n, fields=columns, kind=kind) for n in names), engine="duckdb")


def _boilers(types: Iterable[str]) -> Profile:
    """Tables that differ in the type of one column."""
    fields = (a_field("temperature", ("DOUBLE",)), a_field("pressure", ("DOUBLE",)))
    return a_profile(
        *(
            a_measurement(f"{city}_boilers", fields=(*fields, a_field("state", (kind,))), kind=TableKind.SERIES)
            for city, kind in zip(CITIES, types, strict=True)
        )
    )


def test_tables_of_one_type_of_value_each_are_kept_apart() -> None:
    assert run_rule(rule, _boilers(("DOUBLE", "BIGINT", "BOOLEAN", "VARCHAR", "DOUBLE[]"))).outcome is Outcome.PASS
    assert run_rule(rule, _boilers(("INTEGER", "BIGINT", "SMALLINT", "BIGINT", "UINTEGER"))).outcome is Outcome.FAIL


def test_tables_with_the_same_columns_are_one_list() -> None:
    (finding,) = run_rule(rule, _alike([f"{city}_boilers" for city in CITIES], "temperature", "pressure")).findings
    assert finding.subject == Subject("main", "{first_part}_boilers")
    assert finding.message == (
        "5 tables named {first_part}_boilers should be table boilers and column first_part (such as berlin)."
    )
    (merge,) = finding.changes
    assert isinstance(merge, MergeMeasurements)
    assert [member.tags for member in merge.members] == [(("first_part", city),) for city in CITIES]


@pytest.mark.parametrize(
    ("names", "fields", "changes"),
    [
        ([f"{city}_boilers" for city in CITIES[:4]], ("temperature", "pressure"), {}),
        # Each quantity has these, so the names have to say what is measured.
        ([f"{what}_timer" for what in CITIES], ("count", "mean", "p99", "upper_90"), {}),
        ([f"{what}_level" for what in CITIES], ("height",), {}),
        ([f"flow_{grain}" for grain in ("raw", "1m", "1h", "daily", "month")], ("rate_in", "rate_out"), {}),
        ([f"{city}_orders" for city in CITIES], ("price", "weight"), {"kind": TableKind.ENTITY}),
        ([f"flow_2026_0{month}" for month in range(1, 5)], ("rate_in", "rate_out"), {}),
        (
            [f"{city}_changes" for city in CITIES],
            ("entry", "user_number"),
            {"kind": TableKind.EVENTS, "types": ("BIGINT",)},
        ),
    ],
    ids=["few", "statistics", "one field", "resolutions", "no series", "few periods", "logs"],
)
def test_tables_with_the_same_columns_that_are_no_list(
    names: list[str], fields: tuple[str, ...], changes: dict[str, Any]
) -> None:
    assert run_rule(rule, _alike(names, *fields, **changes)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "names", [[f"{city}_boilers" for city in CITIES], list(CITIES), [f"boilers_{n:02}" for n in range(5)]]
)
def test_few_are_no_list(names: list[str]) -> None:
    assert run_rule(rule, _alike(names[:4], "temperature", "pressure")).outcome is Outcome.PASS
    assert run_rule(rule, _alike(names, "temperature", "pressure")).findings[0].observed == 5


def test_tables_with_the_same_columns_and_data_in_their_names_are_told_once() -> None:
    names = [f"device_{n:012x}" for n in random.Random(3).sample(range(16**12), 60)]
    (family,) = run_rule(rule, _alike(names, "temperature", "battery")).findings
    assert family.message == "60 tables named device_{id} should be table device and column id."
    (alike,) = run_rule(rule, _alike(names[:9], "temperature", "battery")).findings
    assert alike.message == "9 tables named device_{id} should be table device and column id."


def test_tables_of_periods_with_the_same_columns_are_one() -> None:
    days = [f"acct_202603{day:02}" for day in range(1, 8)]
    for kind, types in ((TableKind.SERIES, ("DOUBLE",)), (TableKind.EVENTS, ("BIGINT",))):
        (finding,) = run_rule(rule, _alike(days, "packets", "bytes", kind=kind, types=types)).findings
        assert finding.message == "7 tables named acct_{date} should be table acct."


def test_tables_of_events_with_measured_values_are_one_list() -> None:
    trades = _alike(
        [f"{name}_trades" for name in ("aapl", "msft", "sap", "ibm", "tsla")], "price", "size", kind=TableKind.EVENTS
    )
    (finding,) = run_rule(rule, trades).findings
    assert finding.subject.measurement == "{first_part}_trades"


def _containers(count: int, *forms: str) -> list[str]:
    draw = random.Random(5)
    ids = [f"{draw.getrandbits(256):064x}" for _ in range(count)]
    return [form.format(one) for one in ids for form in forms]


FORMS = ("disk /mnt/{} used", "disk /mnt/{} free", "net {} rx", "net {} tx")


@pytest.mark.costly
@pytest.mark.parametrize(
    ("count", "forms", "severity"),
    [
        (1_000, FORMS[:1], Severity.WARNING),
        (999, FORMS[:1], Severity.NOTE),
        # What one writer does to every measurement that it writes.
        (250, FORMS, Severity.WARNING),
        (249, FORMS, Severity.NOTE),
    ],
)
def test_families_that_contain_the_same_ids_count_together(
    count: int, forms: tuple[str, ...], severity: Severity
) -> None:
    names = [*_containers(count, *forms), "disk / used", "disk / free", "load"]
    (finding,) = run_rule(rule, a_profile(*map(a_measurement, names), engine="influxdb1")).findings
    assert (finding.severity, finding.observed) == (severity, count * len(forms))
    assert len(finding.changes) == len(forms)


def test_families_that_differ_in_one_word_are_one_finding() -> None:
    """As what each of several programs writes about its own machines."""
    programs = ("ingest", "parser", "resize", "thumbs", "upload", "zip")
    names = [
        f"{name}.node{i}{n:02}.{what}" for i, name in enumerate(programs) for n in range(9) for what in ("rx", "tx")
    ]
    (finding,) = run_rule(rule, a_profile(*map(a_measurement, names), engine="influxdb1")).findings
    assert finding.message == (
        "18 measurements named ingest.{host}.{field} should be measurement ingest, tag host, and field rx. The same "
        "holds for 90 more measurements named parser.{host}.{field}, resize.{host}.{field}, and 3 more."
    )
    assert {change.into for change in finding.changes if isinstance(change, MergeMeasurements)} == set(programs)
    of_four = a_profile(*map(a_measurement, names[:72]), engine="influxdb1")
    assert len(run_rule(rule, of_four).findings) == 4


def test_names_of_several_kinds_in_one_place_are_one_finding() -> None:
    names = [f"stats.{name}.load" for name in ("web01", "web02", "web03", "rim4", "rim5", "rim6")]
    (finding,) = run_rule(rule, a_profile(*map(a_measurement, names), engine="influxdb1")).findings
    assert finding.observed == 6


def test_families_that_are_only_numbered_alike_are_apart() -> None:
    names = [f"{what}{n:02}" for what in ("pump", "valve") for n in range(20)]
    assert len(run_rule(rule, a_profile(*map(a_measurement, names), engine="influxdb1")).findings) == 2


def test_large_families_with_the_same_numbers_are_one_finding() -> None:
    """Its count is that of its cost: one writer names them all."""
    whats = ("lexer.seconds", "linker.bytes", "test.passed")
    names = [f"build_1712345678901_{n}.{what}.last" for n in range(400, 800) for what in whats]
    (finding,) = run_rule(rule, a_profile(*map(a_measurement, names), engine="influxdb1")).findings
    assert finding.impact is not None
    assert (finding.severity, finding.observed, finding.impact.now) == (Severity.WARNING, 1_200, 1_200)
    assert "1712345678901" not in finding.message.partition("should be")[2]


def test_families_of_other_data_count_for_themselves() -> None:
    names = [form.format(f"{n:02}" if form[0] == "r" else f"web-{n}") for n in range(600) for form in ("room {}", "{}")]
    findings = run_rule(rule, a_profile(*map(a_measurement, names), engine="influxdb1")).findings
    assert [(f.severity, f.observed) for f in findings] == [(Severity.NOTE, 600)] * 2


@pytest.mark.parametrize(
    ("before", "days", "severity"), [(394, 1, Severity.NOTE), (380, 1, Severity.WARNING), (380, 4, Severity.NOTE)]
)
def test_names_that_are_added_every_day_are_judged_by_what_they_will_be(
    before: int, days: int, severity: Severity
) -> None:
    names = _containers(400, "disk /mnt/{} used")
    profile = a_profile(*map(a_measurement, names), engine="influxdb1")
    earlier = dataclasses.replace(
        a_profile(*map(a_measurement, names[:before]), engine="influxdb1"),
        day=profile.day - timedelta(days=days),
        collected_at=profile.collected_at - timedelta(days=days),
    )
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=earlier)).findings
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("engine", "before", "is_endless"), [("influxdb1", 360, True), ("influxdb1", 390, False), ("duckdb", 360, False)]
)
def test_ids_that_keep_coming_are_no_better_as_a_tag(engine: str, before: int, is_endless: bool) -> None:
    """40 more of 400 a day are no fleet, 10 may be; where series cost nothing, a column is the right place."""
    names = [f"app-2026112{n % 9}1000{n % 60:02}-{7_641 + n}.driver.heap" for n in range(400)]
    profile = a_profile(*map(a_measurement, names), engine=engine)
    earlier = dataclasses.replace(
        a_profile(*map(a_measurement, names[:before]), engine=engine),
        day=profile.day - timedelta(days=1),
        collected_at=profile.collected_at - timedelta(days=1),
    )
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=earlier)).findings
    assert ("or the ID as a field: as a tag, it adds as many series as now." in finding.fix) is is_endless
    assert ("tag first_part" in finding.message or "column first_part" in finding.message) is not is_endless
    merges = [change for change in finding.changes if isinstance(change, MergeMeasurements)]
    assert all(bool(one.tags) is not is_endless for change in merges for one in change.members)


def _begun(engine: str, days: Sequence[float], rows: int = 500, **settings: Any) -> Profile:
    """Tables or collections named by an ID, whose first rows are so many days old."""
    members = [
        a_measurement(
            f"shipment_{name}",
            rows=a_count(rows),
            first_time=NOW - timedelta(days=ago),
            last_time=NOW - timedelta(days=ago / 9),
            **settings,
        )
        for name, ago in zip(_containers(len(days), "{}"), days, strict=True)
    ]
    return a_profile(*members, engine=engine)


STEADILY = [2 * n / 225 for n in range(1, 226)]
"""225 in two days."""


@pytest.mark.parametrize(
    ("days", "rows", "expected"),
    [
        (STEADILY, 500, Severity.WARNING),
        ([90 * ago for ago in STEADILY], 500, Severity.NOTE),
        # All at once, two days ago.
        ([2.0 - n / 10_000 for n in range(225)], 500, Severity.NOTE),
        # They may have been empty for longer.
        (STEADILY, 8, Severity.NOTE),
    ],
)
def test_names_that_are_added_are_judged_on_the_first_audit(days: list[float], rows: int, expected: Severity) -> None:
    (finding,) = run_rule(rule, _begun("mongodb", days, rows)).findings
    assert finding.severity is expected
    assert finding.impact is not None
    assert finding.impact.unit == "collections"
    if days is STEADILY and rows > 10:
        assert finding.impact.per_day == pytest.approx(112, rel=0.02)


def test_first_rows_say_nothing_of_periods() -> None:
    """The oldest may be dropped, each day."""
    began = {f"visits_{NOW - timedelta(days=ago):%Y_%m_%d}": NOW - timedelta(days=ago) for ago in range(60)}
    tables = [
        a_measurement(name, rows=a_count(500), first_time=at, last_time=at + timedelta(hours=23))
        for name, at in began.items()
    ]
    (finding,) = run_rule(rule, a_profile(*tables, engine="duckdb")).findings
    assert finding.impact is not None
    assert finding.impact.per_day == 0


def test_first_documents_say_nothing_where_older_ones_expire() -> None:
    ttl = Index("at_1", "btree", ("at",), unique=False, constraint=False, partial=False, expires_s=172_800)
    (finding,) = run_rule(rule, _begun("mongodb", STEADILY, indexes=(ttl,))).findings
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("days", "keys", "expected"),
    [
        # 225 x (266 + 262) kB.
        ([9.0] * 225, 1, Severity.WARNING),
        ([9.0] * 225, 0, Severity.NOTE),
        (STEADILY, 0, Severity.WARNING),
    ],
)
def test_tables_are_priced_with_their_keys_and_at_the_rate_of_their_number(
    days: list[float], keys: int, expected: Severity
) -> None:
    key = Index("pk", "art", ("time",), unique=True, constraint=True, partial=False)
    (finding,) = run_rule(rule, _begun("duckdb", days, indexes=(key,) * keys)).findings
    assert finding.severity is expected
    assert finding.impact is not None
    assert finding.impact.now == 224 * (266_000 + keys * 262_000)
