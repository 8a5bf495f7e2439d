"""NAM002: data in the names of measurements."""

from __future__ import annotations

import dataclasses

from tests.builders import a_count, a_field, a_measurement, a_profile, a_tag
from tests.databases import Row, Table, times
from tests.rules.cases import Case, dataset, planned, run_rule, table
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import MeasureName, MeasureNames, Profile
from tsaudit.model.subject import Subject
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
        subject=Subject("", "{part_1}"),
        engines=frozenset({"influxdb1", "influxdb3", "greptimedb", "timestream"}),
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
    assert '"Cpu.*.*.usage_user measurement.host.region.field"' in planned(rule, profile)


def test_silence_when_names_are_plain() -> None:
    names = ("cpu", "disk", "diskio", "http_404", "ipv6", "load15", "p99")
    profile = a_profile(*(a_measurement(n) for n in names), engine="influxdb1")
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_silence_when_families_so_small_are_allowed() -> None:
    profile = a_profile(*(a_measurement(n) for n in NAMES), engine="influxdb1")
    assert run_rule(rule, profile, {"min_names": 2}).outcome is Outcome.FAIL
    assert run_rule(rule, profile, {"min_names": 3}).outcome is Outcome.PASS


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
    (finding,) = run_rule(rule, a_profile(*orders, *visits, engine="mongodb")).findings
    assert finding.message == "29 collections named order_{n} should be collection order and field part_1."
    assert run_rule(rule, a_profile(a_measurement("order_201210"), engine="mongodb")).outcome is Outcome.PASS


def test_silence_on_documents_when_names_differ_in_nothing_but_the_period() -> None:
    months = [a_measurement(f"events_2024_{m:02}") for m in range(1, 7)]
    assert run_rule(rule, a_profile(*months, engine="mongodb")).outcome is Outcome.PASS


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
    assert run_rule(rule, _named(*names), {"min_names": 4}).outcome is Outcome.PASS


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
        "16 measurements named {part_1}_{part_2}_{part_3} should be measurement readings and tags part_1, part_2, and "
        "part_3."
    )
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    assert change.members[0] == Merged("a_mill_power", (("part_1", "a"), ("part_2", "mill"), ("part_3", "power")))
    assert run_rule(rule, _tables(MACHINES, "value"), {"min_names": 17}).outcome is Outcome.PASS


def test_word_that_varies_is_data_unless_it_may_be_a_quantity() -> None:
    (finding,) = run_rule(rule, _tables(TENANTS, "total", "items")).findings
    assert finding.subject.measurement == "orders_{part_2}"
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
