"""Series keys: what is formatted comes back, escapes and ragged keys included."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.engines.influx import series_keys
from tsaudit.engines.influx.series_keys import by_measurement, parse

TEXTS = st.text(st.sampled_from("ab\\,= \n'\"ü漢😀") | st.characters(codec="utf-8"), min_size=1, max_size=8)
NO_LAST_BACKSLASH = TEXTS.filter(lambda text: not text.endswith("\\"))
MEASUREMENTS = NO_LAST_BACKSLASH
TAG_SETS = st.dictionaries(NO_LAST_BACKSLASH, NO_LAST_BACKSLASH, max_size=4)


def escaped(text: str, characters: str) -> str:
    return "".join("\\" + c if c in characters else c for c in text)


def formatted(measurement: str, tags: dict[str, str]) -> str:
    """As InfluxDB writes a series key: an equals sign needs no escape in a measurement."""
    pairs = (f"{escaped(k, ',= ')}={escaped(v, ',= ')}" for k, v in sorted(tags.items()))
    return ",".join((escaped(measurement, ", "), *pairs))


def read_by_character(key: str) -> dict[str, str]:
    """The plain way, for keys without a value that ends in a backslash."""
    tokens, current, before = [], "", ""
    for c in key:
        if c == "," and before != "\\":
            tokens.append(current)
            current = ""
        else:
            current += c
        before = c
    tags = {}
    for token in [*tokens, current][1:]:
        cut = next(i for i, c in enumerate(token) if c == "=" and token[i - 1] != "\\")
        tags[unescaped(token[:cut])] = unescaped(token[cut + 1 :])
    return tags


def unescaped(text: str) -> str:
    for c in ",= ":
        text = text.replace("\\" + c, c)
    return text


def rows(batch: pa.RecordBatch) -> list[dict[str, str]]:
    return [{k: v for k, v in row.items() if v is not None} for row in batch.to_pylist()]


def test_parse_keeps_an_equals_sign_when_it_is_the_end_of_a_tag_key():
    assert rows(parse(pa.array(["m,a\\==1", "m,a\\==2"]))) == [{"a=": "1"}, {"a=": "2"}]
    assert rows(parse(pa.array(["m,a\\==1", "m,b=2"]))) == [{"a=": "1"}, {"b": "2"}]


@settings(deadline=None, max_examples=examples(300))
@given(MEASUREMENTS, st.lists(TAG_SETS, max_size=6))
def test_parse_gives_back_the_tags_that_were_formatted(measurement, tag_sets):
    batch = parse(pa.array([formatted(measurement, tags) for tags in tag_sets], pa.string()))
    assert batch.num_rows == len(tag_sets)
    assert rows(batch) == tag_sets
    assert batch.schema.names == sorted({key for tags in tag_sets for key in tags})


@settings(deadline=None, max_examples=examples(100))
@given(MEASUREMENTS, st.lists(TAG_SETS, min_size=2, max_size=6), st.data())
def test_parse_agrees_with_reading_by_character_on_a_slice(measurement, tag_sets, data):
    keys = [formatted(measurement, tags) for tags in tag_sets]
    start = data.draw(st.integers(0, len(keys)))
    assert rows(parse(pa.array(keys).slice(start))) == [read_by_character(key) for key in keys[start:]]


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(st.dictionaries(st.sampled_from("abc"), TEXTS, max_size=3), max_size=4))
def test_parse_reads_values_that_end_in_a_backslash(tag_sets):
    # Unambiguous as long as what follows such a value is a tag: its own equals sign shows where it begins.
    keys = [formatted("m", tags) for tags in tag_sets]
    assert rows(parse(pa.array(keys, pa.string()))) == tag_sets


@pytest.mark.parametrize(
    ("key", "tags"),
    [
        ("m", {}),
        ("m,a=1", {"a": "1"}),
        ("m=x,a=1", {"a": "1"}),
        ("a\\,b=c,d=1", {"d": "1"}),
        ("m,a=x\\,b=1", {"a": "x\\", "b": "1"}),
        ("m,a=x\\,b\\=1", {"a": "x,b=1"}),
        ("m,a=x\\", {"a": "x\\"}),
        ("m,k\\=2", {"k\\": "2"}),
        ("m,a=b=c", {"a": "b=c"}),
        ("m,a=line\nbreak,b=2", {"a": "line\nbreak", "b": "2"}),
        ("m,a=C:\\\\dir\\ one", {"a": "C:\\\\dir one"}),
        ("m,a=", {"a": ""}),
    ],
)
def test_parse_reads_odd_keys_as_documented(key, tags):
    assert rows(parse(pa.array([key, "m,z=9"]))) == [tags, {"z": "9"}]


def test_parse_keeps_the_rows_of_series_without_any_tag():
    batch = parse(pa.array(["m", "m"]))
    assert (batch.num_rows, batch.num_columns) == (2, 0)


def test_parse_gives_an_empty_batch_for_no_keys():
    assert parse(pa.array([], pa.string())).num_rows == 0


def test_parse_joins_parts_with_different_tags(monkeypatch):
    monkeypatch.setattr(series_keys, "_ROWS_AT_ONCE", 2)
    batch = parse(pa.array(["m,a=1", "m,b=2", "m,b=3", "m,c=4", "m"]))
    assert rows(batch) == [{"a": "1"}, {"b": "2"}, {"b": "3"}, {"c": "4"}, {}]


@pytest.mark.parametrize("key", ["m,a", "m,a=1,", "m,,a=1"])
def test_parse_names_the_text_that_is_no_series_key(key):
    with pytest.raises(ValueError, match=f"'{key}'"):
        parse(pa.array(["m,a=1", key]))


def test_parse_refuses_null():
    with pytest.raises(ValueError, match="null"):
        parse(pa.array(["m,a=1", None]))


@example({"\\,": [{}]})
@given(st.dictionaries(MEASUREMENTS, st.lists(TAG_SETS, min_size=1, max_size=3), max_size=4))
def test_keys_of_several_measurements_are_told_apart(written: dict[str, list[dict[str, str]]]) -> None:
    keys = [(name, formatted(name, tags)) for name, sets in written.items() for tags in sets]
    found = by_measurement(pa.array([key for _, key in keys], pa.string()))
    assert [(name, key) for name, start, end in found for _, key in keys[start:end]] == keys


@given(st.dictionaries(MEASUREMENTS, st.lists(TAG_SETS, min_size=1, max_size=3), max_size=4))
def test_parse_reads_keys_of_several_measurements(written: dict[str, list[dict[str, str]]]) -> None:
    keys = [formatted(name, tags) for name, sets in written.items() for tags in sets]
    assert rows(parse(pa.array(keys, pa.string()))) == [tags for sets in written.values() for tags in sets]


def test_measurement_that_ends_in_a_backslash_takes_no_keys_from_another() -> None:
    keys = pa.array([formatted("m\\", {"a": "1"}), formatted("m", {"a": "1"})])
    assert [name for name, _, _ in by_measurement(keys)] == ["m,a=1", "m"]
