"""AWS's guide to data modelling, advice by advice: a database that goes against it, and its twin that follows it.

Each is written as users of Timestream write, with measure names, and judged by all rules together: on the twin no rule
warns. The general guidelines, on cardinality and names, have their cases beside each rule.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.builders import DAY, NOW
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.timestream.devops import devops, partitioned_by
from tests.engines.timestream.double import Timestream
from tsaudit.evaluation import evaluate
from tsaudit.guidelines import GUIDELINES
from tsaudit.model.finding import AuditResult, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules import all_rules

pytestmark = pytest.mark.full

YEAR: Final = timedelta(days=365)
OWN_KEY: Final = "arn:aws:kms:eu-central-1:123456789012:key/own"
SMALL: Final = {
    # A small database: the limits are as small.
    "weak-partition-key.min_values": 10,
    "near-limit.measure_names": 12,
    "unbounded-tag.max_values": 100,
    "unbounded-tag.min_values": 100,
}
SOIL: Final = tuple(
    (at, {"device_id": f"sensor-{i % 4}"}, ("temperature", "moisture", "battery")[i // 4 % 3], 20.0 + i / 7)
    for i, at in enumerate(times(240))
)
"""The soil sensor of the guide: it tells one value, when that has changed."""
CARS: Final = [(f"car-{i:02}", at, 48.1 + i / 50 + j / 900) for i in range(12) for j, at in enumerate(times(20))]


def _tables(*tables: Table) -> Dataset:
    return Dataset(tables, retention=YEAR, database="shop")


def _table(name: str, rows: list[Row]) -> Table:
    """A table with the columns that its rows bring."""
    kinds = {float: "float", int: "integer", str: "string", type(NOW): "time"}
    fields = {key: kinds[type(value)] for row in rows for key, value in row.fields.items()}
    return Table(name, tuple(dict.fromkeys(key for row in rows for key in row.tags)), fields, rows)


def _cars(as_dimensions: bool) -> Dataset:
    rows = []
    for car, at, latitude in CARS:
        place = {"latitude": latitude, "longitude": latitude / 4, "sent_at": at}
        texts = {key: str(value) for key, value in place.items()} if as_dimensions else {}
        rows.append(Row(at, {"car": car, **texts}, {"speed": 7.5, **({} if as_dimensions else place)}))
    return _tables(_table("cars", rows))


def _cars_without(what: str) -> Dataset:
    """The cars in no dimension, or their latitude as a text."""
    rows = []
    for i, (car, at, latitude) in enumerate(CARS):
        tags, fields = ({"fleet": "a"}, {"car": car}) if what == "dimension" else ({"car": car}, {})
        value = latitude if what == "dimension" else f"{latitude:.4f}"
        rows.append(Row(at + timedelta(milliseconds=i), tags, {**fields, "latitude": value}))
    return _tables(_table("cars", rows))


def _rooms(as_dimension: bool) -> Dataset:
    rows = []
    for r, at in enumerate(times(60)):
        for room in range(4):
            degrees = 20 + room + abs(r % 40 - 20) / 10
            tags, fields = ({"degrees": f"{degrees:.1f}"}, {}) if as_dimension else ({}, {"degrees": degrees})
            rows.append(Row(at, {"room": f"r{room}", **tags}, {"humidity": 40 + r / 7, **fields}))
    return _tables(_table("rooms", rows))


def _machines(as_dimension: bool) -> Dataset:
    rows = []
    for r, at in enumerate(times(60)):
        for m in range(8):
            colour = {"colour": "blue" if r >= 10 + 5 * m else "red"}
            tags, more = (colour, {}) if as_dimension else ({}, colour)
            rows.append(Row(at, {"machine": f"m-{m}", "hall": f"h{m % 2}"} | tags, {"speed": 1.5 + m + r / 7} | more))
    return _tables(_table("machines", rows))


def _soil(way: str) -> Dataset:
    def fields(quantity: str, value: float) -> dict[str, float]:
        return {"single": {"measure_value::double": value}, "generic": {"value_double": value}}.get(
            way, {quantity: value}
        )

    name = "soil" if way == "sparse" else ""
    return _tables(_table("soil", [Row(at, tags, fields(what, value), name or what) for at, tags, what, value in SOIL]))


def _readings(together: bool) -> Dataset:
    rows = []
    for i, at in enumerate(times(60)):
        for host in ("a", "b"):
            fields = {"fieldA": 1.5 + i / 7, "fieldB": 2.5 + i / 7}
            parts = [fields] if together else [{key: value} for key, value in fields.items()]
            rows += [Row(at + timedelta(seconds=n), {"host": host}, part) for n, part in enumerate(parts)]
    return _tables(_table("readings", rows))


def _vitals(apart: bool) -> Dataset:
    values = {"blood_oxygen": 97.5, "body_temperature": 36.6, "heart_rate": 71.0}
    each = [
        (at, {"patient": patient}, {key: value + i / 70 for key, value in values.items()})
        for i, at in enumerate(times(40))
        for patient in ("ann", "bob", "cem")
    ]
    if not apart:
        return _tables(_table("vitals", [Row(*one) for one in each]))
    return _tables(*(_table(k, [Row(at, tags, {"reading": fields[k]}) for at, tags, fields in each]) for k in values))


def _wide(columns: int) -> Dataset:
    names = [f"{chr(97 + i // 26)}{chr(97 + i % 26)}_" for i in range(columns)]
    rows = [Row(at, {"host": "a"}, dict.fromkeys(names, 1.5)) for at in times(3)]
    return _tables(_table("machine", rows))


def _labeled(dimensions: int) -> Dataset:
    names = [f"{chr(97 + i // 26)}{chr(97 + i % 26)}_" for i in range(dimensions)]
    hosts = ("a", "b", "c")
    rows = [Row(at, {"host": host} | dict.fromkeys(names, "x"), {"speed": 1.5}) for at in times(30) for host in hosts]
    return _tables(_table("machine", rows))


def _rejecting(key: str) -> Dataset:
    place = {"S3Configuration": {"BucketName": "rejected", "EncryptionOption": "SSE_KMS", "KmsKeyId": key}}
    writes = {"EnableMagneticStoreWrites": True, "MagneticStoreRejectedDataLocation": place}
    return devops(table={"MagneticStoreWriteProperties": writes}, account={"KmsKeyId": OWN_KEY})


def _partitioned(dimension: str) -> Dataset:
    return devops(table=partitioned_by(dimension))


def _scheduled(condition: str) -> Dataset:
    query = {
        "Arn": "arn:aws:timestream:eu-central-1:123456789012:scheduled-query/hourly",
        "Name": "hourly",
        "State": "ENABLED",
        "QueryString": f'SELECT region, avg(cpu_user) FROM "shop"."devops" WHERE {condition} GROUP BY region',
    }
    return devops(table=partitioned_by("instance_name"), account={"ScheduledQueries": [query]})


LAST_HOUR: Final = "time BETWEEN @scheduled_runtime - 1h AND @scheduled_runtime"
ONE_HOST: Final = f"{LAST_HOUR} AND measure_name = 'metrics' AND instance_name = 'i-1'"
ADVICE: Final = (
    ("C1", "FLD001", "cars", "car", _cars_without("dimension"), _cars(False)),
    ("C2", "TAG002", "rooms", "degrees", _rooms(True), _rooms(False)),
    ("C3", "FLD002", "cars", "latitude", _cars_without("type"), _cars(False)),
    ("C4", "TAG002", "cars", "latitude", _cars(True), _cars(False)),
    ("C4", "TAG002", "cars", "sent_at", _cars(True), _cars(False)),
    ("C6", "TAG007", "machines", "colour", _machines(True), _machines(False)),
    ("D1", "SRV003", "machine", "", _wide(513), _wide(20)),
    ("D2", "SRV003", "machine", "", _labeled(121), _labeled(20)),
    ("D3", "LAY003", "soil", "", _soil("sparse"), _soil("generic")),
    ("D4", "LAY004", "devops", "", devops("one_name"), devops("multi")),
    ("D5", "LAY005", "readings", "", _readings(False), _readings(True)),
    ("D6", "LAY007", "blood_oxygen", "", _vitals(True), _vitals(False)),
    ("D7", "LAY007", "blood_oxygen", "", _vitals(True), _vitals(False)),
    ("D8", "LAY006", "devops", "", devops("one_name", instants=60), devops("multi", instants=60)),
    ("F1", "RET001", "", "", dataclasses.replace(devops(), retention=None), devops()),
    ("F3", "DRF001", "devops", "request_id", devops(request_id="measure"), devops()),
    ("F4", "STO016", "devops", "", _rejecting("payments"), _rejecting(OWN_KEY)),
    ("G1", "SRV003", "devops", "", devops("hashed"), devops("multi")),
    ("G2", "LAY004", "devops", "", devops("one_name"), devops("multi")),
    ("G3", "LAY010", "devops", "", devops("single"), devops("multi")),
    ("G3", "LAY010", "devops", "", devops("single"), _soil("single")),
    ("G4", "LAY003", "soil", "", _soil("sparse"), _soil("single")),
    ("G5", "TAG002", "devops", "request_id", devops(request_id="dimension"), devops(request_id="measure")),
    ("G6", "NAM006", "devops", "", devops("hashed"), devops("multi")),
    ("G7", "STO015", "devops", "", _partitioned("region"), _partitioned("instance_name")),
    ("G7", "LAY011", "devops", "", _scheduled("region = 'eu-west-1'"), _scheduled(ONE_HOST)),
    ("G7", "LAY011", "devops", "", _scheduled(f"{LAST_HOUR} AND region = 'eu-west-1'"), _scheduled(ONE_HOST)),
)
"""Guideline, rule, table and column that break it, the database, and its twin."""


@pytest.fixture(scope="module")
def before(timestream: Timestream) -> Profile:
    """The database of the guide's example, as it should be, on the day before."""
    return collected(
        write(devops(), "timestream", timestream), now=NOW - timedelta(days=1), day=DAY - timedelta(days=1)
    )


def _audited(server: Timestream, before: Profile, dataset: Dataset) -> AuditResult:
    profile = collected(write(dataset, "timestream", server), previous=before)
    assert profile.gaps == ()
    is_same = {m.name for m in profile.measurements} == {m.name for m in before.measurements}
    return evaluate(profile, Timeline(previous=before if is_same else None), LimitPolicy(target=SMALL))


def _each() -> Iterator[Any]:
    for number, line in enumerate(ADVICE):
        yield pytest.param(*line, id=f"{number}-{line[0]}-{line[1]}")


@pytest.mark.parametrize(("guideline", "code", "table", "column", "breaks", "keeps"), tuple(_each()))
def test_advice(
    timestream: Timestream,
    before: Profile,
    guideline: str,
    code: str,
    table: str,
    column: str,
    breaks: Dataset,
    keeps: Dataset,
) -> None:
    (rule,) = [rule for rule in all_rules() if rule.code == code]
    assert guideline in rule.guidelines
    broken = _audited(timestream, before, breaks)
    assert (code, table, column) in [(r.code, f.subject.measurement, f.subject.column) for r, f in broken.findings()]
    twin = _audited(timestream, before, keeps)
    assert [f.message for r, f in twin.findings() if r.code == code] == []
    assert [(r.code, f.message) for r, f in twin.findings() if f.severity is not Severity.NOTE] == []
    assert {r.code: r.reason for r in twin.results if r.outcome in (Outcome.ERROR, Outcome.OPEN)} == {}


def test_every_advice_that_a_rule_checks_is_broken() -> None:
    def checked(guideline: str) -> bool:
        return any("timestream" in rule.engines and guideline in rule.guidelines for rule in all_rules())

    matter = {g.id for g in GUIDELINES if not g.why_not_on("timestream") and g.id[0] in "CDFG" and checked(g.id)}
    # Names of databases for customers need many of them, beside the rule.
    assert matter - {"F2"} == {guideline for guideline, *_ in ADVICE}


def test_value_of_another_type_is_rejected(timestream: Timestream) -> None:
    """C7: a measure name, and an attribute of records of several values, keep the type they were first written with."""
    rows = [Row(at, {"host": "a"}, {"load": "high" if i % 2 else 1.5}) for i, at in enumerate(times(20))]
    (table,) = collected(
        write(_tables(Table("t", ("host",), {"load": "any"}, rows)), "timestream", timestream)
    ).measurements
    assert (table.rows and table.rows.value, [field.types for field in table.fields]) == (10, [("double",)])
