"""TAG003: several attributes per value."""

from __future__ import annotations

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.change import SplitColumn, to_data
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Outcome
from tsaudit.rules.tags.composite_value import composite_value as rule

SENSORS = ("loc-bath.model-A612.id-2635YB", "loc-kitchen.model-A612.id-1726ZA")
PLAIN = [
    {"location": "kitchen", "sensor_model": "A612", "sensor_id": "1726ZA"},
    {"location": "bath", "sensor_model": "A612", "sensor_id": "2635YB"},
]
CASES = (
    Case(
        breaks=dataset(table("home", [{"sensor": s} for s in SENSORS])),
        keeps=dataset(table("home", PLAIN)),
        subject=Subject("", "home", "sensor"),
        main_contributor="sensor",
    ),
    Case(
        breaks=dataset(
            table(
                "home",
                [{"room": "a"}],
                {"note": "string"},
                lambda s, r: {"note": f"floor={r % 5},wing={r % 3}"},
                rows=30,
            )
        ),
        keeps=dataset(
            table("home", [{"room": "a"}], {"note": "string"}, lambda s, r: {"note": "ok" if r % 5 else "bad"}, rows=30)
        ),
        subject=Subject("", "home", "note"),
        main_contributor="note",
    ),
)


def test_split_when_values_are_those_of_the_guideline() -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement("home", tags=(a_tag("sensor", 2, SENSORS),)))).findings
    assert [e.label for e in finding.evidence] == ["location", "sensor_model", "sensor_id"]
    assert finding.message == ("Values of tag sensor contain 3 attributes each: location, sensor_model, and sensor_id.")


def test_line_protocol_when_the_engine_is_influxdb() -> None:
    measurement = a_measurement("home", tags=(a_tag("sensor", 2, SENSORS),))
    (finding,) = run_rule(rule, a_profile(measurement, engine="influxdb1")).findings
    assert "Write one tag per attribute: location=" in finding.fix
    assert "kitchen" not in finding.fix


def test_change_holds_no_value_as_read() -> None:
    (finding,) = run_rule(rule, a_profile(a_measurement("home", tags=(a_tag("sensor", 2, SENSORS),)))).findings
    (change,) = finding.changes
    assert isinstance(change, SplitColumn)
    assert [part.name for part in change.parts] == ["location", "sensor_model", "sensor_id"]
    assert change.example.startswith("loc-")
    assert not any(value in str(to_data(change)) for value in ("kitchen", "bath", "1726ZA", "2635YB"))


def test_only_what_varies_is_shown_as_an_attribute_and_none_of_it_as_read() -> None:
    topics = tuple(f"acme:{'north' if i % 2 else 'south'}:{'pump' if i % 3 else 'valve'}:{i}" for i in range(12))
    measurement = a_measurement("home", tags=(a_tag("topic", 12, topics),))
    for engine in ("influxdb1", "postgresql", "greptimedb", "timestream"):
        result = run_rule(rule, a_profile(measurement, engine=engine))
        print(engine, result)
        (finding,) = result.findings
        (change,) = finding.changes
        assert isinstance(change, SplitColumn)
        assert change.example.startswith("acme:")
        assert [part.name for part in change.parts] == ["topic_part_1", "topic_part_2", "topic_part_3"]
        assert not any(value in str(to_data(change)) + finding.fix for value in ("north", "south", "pump", "valve"))


def test_silence_when_there_is_one_value_or_the_field_is_a_number() -> None:
    one = a_measurement(tags=(a_tag("sensor", 1, SENSORS[:1]),))
    assert run_rule(rule, a_profile(one)).outcome is Outcome.PASS
    two = a_measurement(tags=(a_tag("sensor", 2, SENSORS),))
    assert run_rule(rule, a_profile(two), {"min_values": 3}).outcome is Outcome.PASS
    number = a_measurement(fields=(a_field(sample=SENSORS),))
    assert run_rule(rule, a_profile(number)).outcome is Outcome.PASS


def test_names_when_two_parts_come_to_the_same_or_a_column_has_one_differ() -> None:
    sensors = ("loc=bath,location=2,floor=1", "loc=hall,location=3,floor=2")
    measurement = a_measurement("home", tags=(a_tag("Location", 1, ("x",)), a_tag("sensor", 2, sensors)))
    (finding,) = run_rule(rule, a_profile(measurement)).findings
    assert [e.label for e in finding.evidence] == ["sensor_location", "sensor_sensor_location", "floor"]


def test_information_when_the_attributes_have_columns() -> None:
    """A split was made beside a column that is in a key: splitting it again would add the same columns once more."""
    parts = (
        a_field("location", ("VARCHAR",), sample=("bath", "kitchen")),
        a_field("sensor_model", ("VARCHAR",), sample=("A612",)),
        a_field("Sensor_ID", ("VARCHAR",), sample=("2635YB", "1726ZA")),
    )
    sensor = a_tag("sensor", 2, SENSORS)
    (finding,) = run_rule(rule, a_profile(a_measurement("home", tags=(sensor,), fields=parts))).findings
    assert finding.message == "Values of tag sensor repeat location, sensor_model, and Sensor_ID."
    assert not finding.changes
    # One of them is missing, or holds something else.
    for fields in (parts[:2], (*parts[:2], a_field("sensor_id", ("VARCHAR",), sample=("x-1", "x-2")))):
        (finding,) = run_rule(rule, a_profile(a_measurement("home", tags=(sensor,), fields=fields))).findings
        assert finding.changes


def test_parts_that_are_the_same_in_all_values_are_counted() -> None:
    values = tuple(f"acme/v1/{hall}/{what}" for hall in "NESW" for what in ("speed", "torque", "heat"))
    (finding,) = run_rule(rule, a_profile(a_measurement("press", tags=(a_tag("topic", 12, values),)))).findings
    assert finding.message == (
        "Values of tag topic contain 2 attributes each: topic_part_1 and topic_part_2, beside 2 parts that are the "
        "same in all values read."
    )
