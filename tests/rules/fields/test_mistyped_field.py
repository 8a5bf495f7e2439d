"""FLD002: types that do not fit."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from tests.builders import NOW, a_count, a_field, a_measurement, a_profile, a_ratio
from tests.collecting import collected
from tests.databases import Row, Table, times
from tests.rules.cases import Case, dataset, hosts, plans, run_rule, table
from tests.rules.storage.test_unused_or_redundant_index import an_index
from tests.servers import Postgresql
from tsaudit.collect.draft import ReadColumn
from tsaudit.collect.row_figures import also_in
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import ChangeType
from tsaudit.model.columns import Field, NumbersBy, TextsAmongNumbers
from tsaudit.model.figures import Count, How, Ratio, Source, Subject, TableKind
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.rules.fields.mistyped_field import mistyped_field as rule

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _meter(factor: int) -> Table:
    """Readings of an hour, with a unit of their times that is mistaken for one that is so many times smaller."""
    rows = [
        Row(EPOCH + (time - EPOCH) / factor, {"meter": f"m{n}"}, {"kwh": 20.5 + n + place / 7})
        for place, time in enumerate(times(60, end=NOW - timedelta(seconds=11)))
        for n in range(3)
    ]
    return Table("meter", ("meter",), {"kwh": "float"}, rows)


CASES = (
    Case(
        breaks=dataset(
            table(
                "home", hosts(2), {"temperature": "string"}, lambda s, r: {"temperature": f"{20 + r / 7:.2f}"}, rows=30
            )
        ),
        keeps=dataset(
            table("home", hosts(2), {"temperature": "float"}, lambda s, r: {"temperature": 20 + r / 7}, rows=30)
        ),
        subject=Subject("", "home", "temperature"),
        main_contributor="temperature",
    ),
    Case(
        breaks=dataset(table("home", hosts(2), {"visits": "float"}, lambda s, r: {"visits": float(r)}, rows=30)),
        keeps=dataset(table("home", hosts(2), {"visits": "integer"}, lambda s, r: {"visits": r}, rows=30)),
        subject=Subject("", "home", "visits"),
        main_contributor="visits",
        engines=frozenset(name for name in rule.engines if ENGINES[name].alters_types),
    ),
    Case(
        breaks=dataset(_meter(1_000), table("other", hosts(3))),
        keeps=dataset(_meter(1), table("other", hosts(3))),
        subject=Subject("", "meter"),
        # Timestream rejects such times; and there is no recording of InfluxDB 2.x.
        engines=rule.engines - {"influxdb2", "timestream"},
    ),
)


def _profile(field: Field, rows: int = 1000, engine: str = "duckdb") -> Profile:
    return a_profile(a_measurement("home", fields=(field,), rows=a_count(rows)), engine=engine)


def _text(*sample: str, key: str = "reading") -> Field:
    return a_field(key, ("VARCHAR",), sample=sample, distinct=a_count(len(sample)))


def _finding(field: Field, engine: str = "duckdb") -> Finding:
    (finding,) = run_rule(rule, _profile(field, engine=engine)).findings
    return finding


@pytest.mark.parametrize(
    "sample",
    [
        ("+491701234567", "+491709999", "+4912"),
        ("0034043412345678901234567", "1034043412345678901234568"),
        ("1034043412345678901234567", "12"),
        ("1.0", "1.1", "2.0"),
        tuple(f"{major}.{minor}" for major in (8, 9) for minor in range(1, 13)),
        ("0012", "0013", "0007"),
    ],
    ids=[
        "phone numbers",
        "zeros",
        "more digits than anything measured",
        "versions",
        "versions beyond .9",
        "codes",
    ],
)
def test_numbers_of_things_are_no_numbers(sample: tuple[str, ...]) -> None:
    assert not run_rule(rule, _profile(_text(*sample))).findings


@pytest.mark.parametrize(
    ("key", "also", "found"),
    [
        ("platform", "12", 0),
        ("displayName", "12", 0),
        ("invoice", "12", 0),
        ("sku_text", "12", 0),
        ("postal_code_2", "12", 0),
        # One of them has a letter.
        ("pier", "B7", 0),
        ("pier", "12c", 0),
        ("pier", "1e4", 1),
        ("retries", "12", 1),
        ("line_count", "12", 1),
        ("sku_count", "12", 1),
        # The thing is only where something is measured.
        ("pressure_gate_3", "12", 1),
        ("frequencyOfBus", "12", 1),
        ("watts_per_lane", "12", 1),
        ("line_2", "12", 1),
        ("bus4", "12", 1),
    ],
)
def test_whole_numbers_under_names_of_numbered_things_are_no_numbers(key: str, also: str, found: int) -> None:
    values = (*map(str, range(1, 40)), also)
    assert len(run_rule(rule, _profile(_text(*values, key=key))).findings) == found


@pytest.mark.parametrize(("key", "found"), [("path", 0), ("commentPath", 0), ("snmp_oid", 0), ("path_loss", 1)])
def test_places_in_a_hierarchy_are_no_numbers(key: str, found: int) -> None:
    """Those of the uppermost level, such as comments that answer no other, have one dot."""
    texts = (f"0.{n}" for n in range(4711, 4800))
    assert len(run_rule(rule, _profile(_text(*texts, key=key))).findings) == found


@pytest.mark.parametrize(("share", "others"), [(0.91, 6), (0.98, 1), (0.6, 20)])
def test_numbers_that_no_cast_reads(share: float, others: int) -> None:
    """Whether or not they are so few that nearly all values are plain numbers."""
    plain = [f"{n * 0.37:.2f}" for n in range(2, 2 + 60)]
    forms = [f"{n},4" for n in range(others - 1)] + ["<8"]
    field = dataclasses.replace(_text(*plain, *forms, key="value"), number_ratio=a_ratio(share))
    finding = _finding(field)
    assert finding.severity is Severity.WARNING
    comma = "a decimal comma (0,4) and " if others > 1 else ""
    assert finding.message == (
        f"Field value is stored as VARCHAR: of {60 + others} distinct values examined, 60 are plain numbers, and "
        f"others are numbers with {comma}a comparison sign (<8)."
    )
    assert finding.fix.endswith(
        "such as value_number, and convert what is stored in the same way. Keep the comparison "
        "sign in a column of its own, such as value_sign."
    )
    assert finding.changes == ()


@pytest.mark.parametrize(
    ("key", "others", "share"),
    [
        ("value", ("12,4", "on", "off"), 0.9),  # States beside the numbers.
        ("value", ("12,4",), 0.5),  # Of the rows, the others are most.
        ("value", ("1.2.3", "10.0.0.7"), 0.9),
        ("sku", ("12,4",), 0.98),
        ("firmware_version", ("12,4",), 0.9),
    ],
)
def test_silence_where_others_are_no_numbers(key: str, others: tuple[str, ...], share: float) -> None:
    plain = [f"{n * 0.37:.2f}" for n in range(2, 62)]
    field = dataclasses.replace(_text(*plain, *others, key=key), number_ratio=a_ratio(share))
    assert not [one for one in run_rule(rule, _profile(field)).findings if "numbers with" in one.message]


@pytest.mark.parametrize("other", ["0.42; 1.87", "0.42 1.87 2.5", "-, 0.75", "1.5 / 2.5"])
def test_numbers_and_lists_of_them_stay_text(other: str) -> None:
    """Of a test that is repeated, such as the weights of each weighing."""
    finding = _finding(_text(*(f"{n * 0.37:.2f}" for n in range(2, 90)), other, "-", key="weights"))
    assert finding.changes == ()
    assert f"; others are lists of numbers, such as {other}." in finding.message
    assert "weights stays text" in finding.fix


def test_numbers_and_the_states_of_other_sources_stay_text() -> None:
    finding = _finding(_text(*(f"{n * 0.37:.2f}" for n in range(2, 90)), "raised", "lowered", "unknown"))
    assert finding.changes == ()
    assert "; others are texts, such as " in finding.message
    assert "a number has no room for texts" in finding.fix


@pytest.mark.parametrize("other", ["-", "n/a", "unknown", "12:30"])
def test_exceptions_that_are_no_lists_are_left_out(other: str) -> None:
    (change,) = _finding(_text(*(f"{n * 0.37:.2f}" for n in range(2, 90)), other, key="weights")).changes
    assert isinstance(change, ChangeType)


@pytest.mark.parametrize(
    ("key", "engine", "last", "to"),
    [
        ("freight_cost", "postgresql", "0.1", "decimal"),
        ("netAmount", "duckdb", "0.1", "decimal"),
        ("netAmount", "duckdb", "0.123456", "float"),
        ("netAmount", "sqlite", "0.1", "float"),
        ("humidity", "duckdb", "0.1", "float"),
    ],
)
def test_amounts_of_money_are_decimals_where_the_engine_has_them(key: str, engine: str, last: str, to: str) -> None:
    (change,) = _finding(_text(*(f"{n * 0.37:.2f}" for n in range(2, 90)), last, key=key), engine).changes
    assert isinstance(change, ChangeType)
    assert change.to == to


@pytest.mark.parametrize("key", ["DEVICE", "Site", "Sensor Nr"])
def test_numbers_under_the_name_of_a_source_are_no_numbers(key: str) -> None:
    assert not run_rule(rule, _profile(_text("7", "12", "134", key=key))).findings


def test_one_word_makes_no_boolean() -> None:
    assert not run_rule(rule, _profile(_text("on"))).findings


def test_whole_numbers_of_one_length_that_do_not_come_again_are_a_note() -> None:
    assert not _finding(_text(*(f"{10_000 + 7 * i}" for i in range(900)))).impact


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (("1", "2", "30"), "whole numbers"),
        (("1.5", "2", "-3.5"), "numbers"),
        (("true", "false"), "true and false"),
        (("2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z"), "times"),
    ],
)
def test_finding_when_text_holds(sample: tuple[str, ...], words: str) -> None:
    finding = _finding(_text(*sample))
    assert finding.impact is None
    assert finding.message == f"Field reading is stored as VARCHAR, and all its values are {words}."


@pytest.mark.parametrize(("sample", "found"), [(("12.50", "7.25", "199.00"), 1), (("12", "7", "199"), 0)])
def test_only_fractions_are_surely_numbers_in_a_table_nobody_knows(sample: tuple[str, ...], found: int) -> None:
    items = a_measurement("items", fields=(_text(*sample, key="price"),), rows=a_count(1000), kind=TableKind.OTHER)
    assert len(run_rule(rule, a_profile(items, engine="duckdb")).findings) == found


@pytest.mark.parametrize(
    "sample", [("007", "012"), ("kitchen", "bath"), (), ("1", "n/a"), ("on", "off"), ("Y", "N"), ("0", "1")]
)
def test_silence_when_text_is_text(sample: tuple[str, ...]) -> None:
    assert run_rule(rule, _profile(_text(*sample))).outcome is Outcome.PASS


def test_silence_when_the_name_is_that_of_a_code() -> None:
    assert run_rule(rule, _profile(_text("10115", "20095", key="zip"))).outcome is Outcome.PASS


def test_information_when_floats_are_always_whole() -> None:
    whole = a_field("visits", ("DOUBLE",), whole_ratio=a_ratio(1.0), distinct=a_count(9))
    assert _finding(whole).message.endswith("are whole numbers.")
    nearly = a_field("visits", ("DOUBLE",), whole_ratio=a_ratio(0.99), distinct=a_count(9))
    assert run_rule(rule, _profile(nearly)).outcome is Outcome.PASS
    zero = a_field("visits", ("DOUBLE",), whole_ratio=a_ratio(1.0), distinct=a_count(1))
    assert run_rule(rule, _profile(zero)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("engine", "data_type", "found"),
    [
        ("postgresql", "double precision", 1),
        ("postgresql", "real", 0),
        ("sqlite", "double precision", 0),
        ("duckdb", "DOUBLE", 1),
        ("greptimedb", "Float64", 1),
        # Integers are rejected, or stand beside the floats.
        ("influxdb1", "float", 0),
        ("influxdb2", "double", 0),
        ("influxdb3", "Float64", 0),
        ("timestream", "double", 0),
    ],
)
def test_whole_floats_where_their_type_can_be_changed(engine: str, data_type: str, found: int) -> None:
    whole = a_field("visits", (data_type,), whole_ratio=a_ratio(1.0), distinct=a_count(9))
    assert len(run_rule(rule, _profile(whole, engine=engine)).findings) == found


@pytest.mark.parametrize(("kind", "severity"), [("REAL", "warning"), ("DOUBLE PRECISION", "")])
def test_totals_that_four_bytes_have_stopped(postgresql: Postgresql, kind: str, severity: str) -> None:
    """Liters by meter, each minute of the last hour: one meter has stopped, the others count on."""
    values = "CASE meter WHEN 0 THEN 2048 ELSE 2000 + meter * minute / 7.0 END, 4 + minute % 5 / 7.0"
    schema = postgresql.new_schema(
        f"CREATE TABLE water (at TIMESTAMPTZ NOT NULL, meter TEXT NOT NULL, liters {kind}, pressure {kind})",
        f"INSERT INTO water SELECT TIMESTAMPTZ '{NOW}' - (60 - minute) * INTERVAL '1 minute', 'm' || meter, {values}"
        " FROM generate_series(1, 60) AS minute, generate_series(0, 3) AS meter",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    findings = [f for f in run_rule(rule, collected(target)).findings if "stopped" in f.message]
    assert [f.severity for f in findings] == ([severity] if severity else [])
    for finding in findings:
        assert finding.subject.column == "liters"
        assert finding.message == (
            "Field liters is stored as real, of four bytes, and 1 series has stopped rising, at 2,048, where the next "
            "number is 0.000244 higher; 3 still rise."
        )
        assert "DOUBLE PRECISION" in finding.fix


@pytest.mark.parametrize("unique", [True, False])
def test_numbers_in_a_key_say_which_row_it_is(unique: bool) -> None:
    index = an_index("versions_key", "model", "checksum", unique=unique)
    text = _text(*(str(n**3) for n in range(200)), key="checksum")
    whole = a_field("checksum", ("DOUBLE",), whole_ratio=a_ratio(1.0), distinct=a_count(9))
    for field in (text, whole):
        measurement = a_measurement("versions", fields=(field,), rows=a_count(1000), indexes=(index,))
        assert len(run_rule(rule, a_profile(measurement)).findings) == (not unique)


@pytest.mark.parametrize(
    ("name", "severity"),
    [
        ("in_octets", "warning"),
        ("sizeInBytes", "warning"),
        # Codes and names of things with such a word in them; codes and numbers of one length of an amount.
        ("rate_plan", "note"),
        ("age_group", "note"),
        ("vat", "note"),
        ("currency", "note"),
    ],
)
def test_numbers_of_one_length_are_measured_if_the_name_ends_with_what(name: str, severity: str) -> None:
    """Nothing sorts wrong yet."""
    field = _text(*(str(276_000_000 + 1_000 * n) for n in range(60)), key=name)
    measurement = a_measurement("orders", fields=(field,), rows=a_count(1000))
    measurement = dataclasses.replace(measurement, kind=TableKind.ENTITY, series=None)
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert finding.severity == severity
    indexed = dataclasses.replace(measurement, indexes=(an_index("by", "region", name),))
    assert [found.severity for found in run_rule(rule, a_profile(indexed)).findings] == ["note"]
    if severity == "warning":
        assert "wrong as soon as its values differ in length" in finding.consequence


@pytest.mark.parametrize(
    ("kind", "key", "severity"),
    [
        # Which execution is tried again, and who did something: numbers that refer to other rows or other programs.
        (TableKind.ENTITY, "retryOf", "note"),
        (TableKind.EVENTS, "actor", "note"),
        (TableKind.EVENTS, "bytes_sent", "warning"),
        (TableKind.ENTITY, "totalAmount", "warning"),
        # What series have is measured, whatever it is called.
        (TableKind.SERIES, "pac1", "warning"),
        (None, "rssi", "warning"),
    ],
)
def test_whole_numbers_are_measured_in_series_or_by_their_name(kind: TableKind | None, key: str, severity: str) -> None:
    numbers = _text(*(str(n**3) for n in range(200)), key=key)
    measurement = a_measurement("jobs", fields=(numbers,), rows=a_count(1000))
    if kind is not None and not kind.has_series:
        measurement = dataclasses.replace(measurement, kind=kind, series=None)
    found = run_rule(rule, a_profile(measurement)).findings
    assert "".join(finding.severity for finding in found) == severity


def test_silence_when_rows_are_few_or_not_counted() -> None:
    assert run_rule(rule, _profile(_text("1", "2"), 19)).outcome is Outcome.PASS
    assert run_rule(rule, _profile(_text("1", "2"), 20)).outcome is Outcome.FAIL
    assert run_rule(rule, a_profile(a_measurement(fields=(_text("1", "2"),), rows=None))).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("kind", "rows", "severity"),
    [(TableKind.EVENTS, 99, "note"), (TableKind.EVENTS, 100, "warning"), (TableKind.SERIES, 99, "warning")],
)
def test_numbers_in_a_table_of_few_rows_are_a_note(kind: TableKind, rows: int, severity: str) -> None:
    values = _text(*(f"{n / 7:.3f}" for n in range(50)))
    measurement = dataclasses.replace(
        a_measurement("home", fields=(values,), rows=a_count(rows), kind=kind), series=None
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="duckdb")).findings
    assert finding.severity == severity


def test_values_that_are_none_are_named() -> None:
    readings = tuple(f"{i}.5" for i in range(30))
    (finding,) = run_rule(rule, _profile(_text(*readings, "n/a"))).findings
    assert finding.changes == (ChangeType(Subject("main", "home"), "reading", "float", ("n/a",)),)
    (plan,) = plans(rule, _profile(_text(*readings, "n/a")))
    assert any("n/a" in f"{step.words} {step.loses}" for step in plan.steps)


def test_all_is_said_only_where_all_rows_were_read() -> None:
    part = Source("duckdb/row_sample.sql", How.SAMPLED, NOW, "the newest 10,000 of 144,000 rows")
    numbers = tuple(f"{i}.5" for i in range(30))
    newest = dataclasses.replace(_text(*numbers), distinct=Count(812, part), number_ratio=Ratio(1.0, part))
    finding = _finding(newest)
    assert finding.message == "Field reading is stored as VARCHAR, and all 812 distinct values read are numbers."
    assert ("of rows", part.scope) in [(e.label, e.value) for e in finding.evidence]
    nearly = dataclasses.replace(newest, number_ratio=Ratio(0.97, part))
    assert "nearly all 812 distinct values read are numbers" in _finding(nearly).message
    # Every row was read, yet 3% of them have a text that is not among the values kept.
    counted = dataclasses.replace(_text(*numbers), number_ratio=a_ratio(0.97))
    assert "nearly all its values are numbers" in _finding(counted).message
    # Of 900 times, the profile has two.
    times = _text("2024-03-01T00:00:00Z", "2024-03-02T00:00:00Z")
    assert "all 2 distinct values read are times" in _finding(dataclasses.replace(times, distinct=a_count(900))).message


def test_message_when_a_few_values_are_others() -> None:
    readings = tuple(f"{i}.5" for i in range(30))
    assert "and all its values are numbers" in _finding(_text(*readings, "7")).message
    assert "and nearly all its values are numbers" in _finding(_text(*readings, "n/a")).message
    whole = a_field("visits", ("DOUBLE",), sample=("1.0", "2.0"), whole_ratio=a_ratio(1.0), distinct=a_count(9))
    assert "and all its values are whole numbers" in _finding(whole).message


def test_counter_with_ten_digits_is_no_time() -> None:
    counter = tuple(str(1_700_000_000 + 7_919 * i) for i in range(30))
    (finding,) = run_rule(rule, _profile(_text(*counter, key="in_octets"), rows=30)).findings
    assert finding.message == ("Field in_octets is stored as VARCHAR, and all its values are whole numbers.")
    assert _finding(_text(*counter, key="updated_at")).message.endswith("all its values are times.")
    assert run_rule(rule, _profile(_text(*counter, key="msisdn"))).outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("key", "rows", "filled", "found"),
    [
        ("value", 19, 1_000, 0),
        ("value", 20, 1_000, 1),
        ("value", 20, 40, 0),
        ("value", 900, 900, 0),
        ("zip", 20, 1_000, 0),
    ],
)
def test_texts_in_a_column_of_numbers(key: str, rows: int, filled: int, found: int) -> None:
    """Nobody adds up codes, nor a column of texts that is only declared as another one."""
    by = NumbersBy("device", ("gw1", "gw2"), ("gw4",))
    texts = TextsAmongNumbers(rows, filled, "2,5", by)
    field = a_field(key, types=("REAL",), sample=("1.5", "2,5"), texts=texts)
    findings = run_rule(rule, _profile(field, engine="sqlite")).findings
    assert len(findings) == found
    for finding in findings:
        assert finding.severity == "warning"
        assert finding.message.endswith(
            "is declared as REAL, and 2% of the values read are texts, such as 2,5, all those of device gw4."
        )
        assert finding.fix.startswith("Let device gw4 send numbers, with a point and without a unit.")


def test_numbers_and_texts_by_attribute() -> None:
    by = NumbersBy("attribute", ("flow", "pressure"), ("state",))
    mixed = dataclasses.replace(_text("1.5", "idle", "7"), numbers_by=by, number_ratio=a_ratio(0.8))
    finding = _finding(mixed)
    assert finding.message == (
        "Field reading is stored as VARCHAR: by attribute, its values are numbers (flow and pressure) or texts (state)."
    )
    assert finding.fix == (
        "Write the numbers to a new column, such as reading_number. The texts of state stay in reading."
    )
    (table,) = _profile(mixed).measurements
    orders = dataclasses.replace(table, kind=TableKind.ENTITY, series=None)
    assert run_rule(rule, a_profile(orders, engine="duckdb")).outcome is Outcome.PASS


def test_a_secret_among_the_attributes_is_not_shown() -> None:
    by = NumbersBy("attribute", ("flow",), ("tok-5f3a9c1e", "state"))
    mixed = dataclasses.replace(_text("1.5", "idle", "7"), numbers_by=by, number_ratio=a_ratio(0.8))
    assert "5f3a9c1e" not in repr(_finding(mixed))


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ([i / 7 for i in range(100)], "v"),
        # In another unit, rounded.
        ([round(i / 7 * 1.8 + 32, 2) for i in range(100)], "v"),
        # One that rises as well, and one that is hardly ever there.
        ([i / 7 + i % 5 for i in range(100)], ""),
        ([i / 7 if i % 10 == 0 else None for i in range(100)], ""),
        ([3.5] * 100, ""),
    ],
)
def test_raw_text_beside_the_converted_number(other: list[float | None], name: str) -> None:
    raw = ReadColumn(pa.chunked_array([pa.array([f"{i / 7:.3f}" for i in range(100)])]))
    numbers = {"v": ReadColumn(pa.chunked_array([pa.array(other, pa.float64())]))}
    assert also_in("raw", a_ratio(1.0), raw, numbers) == name
    # Without that name, one that is proportional may be another figure.
    assert also_in("power", a_ratio(1.0), raw, numbers) == (name if other[7] == 1.0 else "")
    texts = tuple(f"{i / 7:.3f}" for i in range(60))
    field = a_field("raw", ("TEXT",), number_ratio=a_ratio(1.0), sample=texts, also_in=name)
    (finding,) = run_rule(rule, a_profile(a_measurement(fields=(field,)))).findings
    assert finding.severity is (Severity.NOTE if name else Severity.WARNING)


@pytest.mark.parametrize(
    ("engine", "last", "to"),
    [
        ("duckdb", "2026-03-01", "date"),
        ("postgresql", "2026-03-01", "date"),
        ("duckdb", "2026-03-01 07:30:00", "time"),
        ("greptimedb", "2026-03-01", "time"),
    ],
)
def test_days_are_dates_where_the_engine_has_them(engine: str, last: str, to: str) -> None:
    days = (f"2026-02-{n:02}" for n in range(1, 28))
    finding = _finding(_text(*days, last, key="admission_date"), engine)
    (change,) = finding.changes
    assert isinstance(change, ChangeType)
    assert change.to == to
    assert finding.message.endswith("are dates." if to == "date" else "are times.")
