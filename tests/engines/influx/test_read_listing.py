"""Chunks of `SHOW SERIES` read by Arrow: what `json` reads, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.engines.influx.series_keys import read_listing

_TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


def _line(*series: dict[str, Any], **result: Any) -> bytes:
    return json.dumps({"results": [{"statement_id": 0, "series": series} | result]}, separators=(",", ":")).encode()


def _keys(*keys: Any, **more: Any) -> dict[str, Any]:
    return {"columns": ["key"], "values": [[key] for key in keys]} | more


@given(_TEXTS, st.booleans(), st.booleans())
def test_keys_are_those_that_json_reads(texts: list[str], of_series: bool, of_result: bool) -> None:
    line = _line(_keys(*texts, partial=of_series), partial=of_result)
    read = read_listing(line)
    assert read is not None
    (result,) = read["results"]
    (series,) = result["series"]
    assert series["values"].to_pylist() == texts
    assert (bool(series["partial"]), bool(result["partial"])) == (of_series, of_result)


def test_keys_as_go_writes_them() -> None:
    line = (
        rb'{"results":[{"statement_id":0,"series":[{"columns":["key"],"values":[["m,a=\u003cb\u003e\u0026\u2028"]]}]}]}'
    )
    read = read_listing(line)
    assert read is not None
    assert read["results"][0]["series"][0]["values"].to_pylist() == ["m,a=<b>&\u2028"]
    assert not read["results"][0]["partial"]


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"<html>",
        _line(_keys("m,a=b"))[:-2],
        _line(_keys("m,a=b"), error="timeout"),
        _line(_keys("m,a=b"), messages=[{"level": "warning", "text": "deprecated"}]),
        _line(_keys("m,a=b", name="m", tags={"a": "b"})),
        _line(_keys("m,a=b"), _keys("n,a=b")),
        _line(_keys("m,a=b", columns=["key", "more"])),
        _line({"columns": ["key"], "values": [["m,a=b", "n,a=b"]]}),
        _line(_keys(None)),
        _line(_keys(1)),
        _line(_keys("\ud800")),
        _line({"columns": ["name"], "values": [['"columns":["key"]']]}),
        b'{"error":"unauthorized","results":[{"series":[{"columns":["key"],"values":[["m"]]}]}]}',
    ],
)
def test_nothing_when_it_is_not_one_series_of_keys(line: bytes) -> None:
    assert read_listing(line) is None
