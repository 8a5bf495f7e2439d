from __future__ import annotations

import hashlib
import json

import pytest

from tsaudit.analysis.values.document_parts import repeated_parts, share_of_part

ROWS = range(200)


def test_an_object_that_differs_is_divided_until_its_parts_repeat() -> None:
    """Of an order, its customer repeats as a whole; its parcel differs by the number, and its box repeats."""
    documents = [
        {"nr": i, "customer": {"name": f"c{i % 5}", "vat": i % 5}, "parcel": {"nr": i, "box": {"cm": [40, 30, i % 2]}}}
        for i in ROWS
    ]
    found = repeated_parts(documents, within="order.")
    assert found.keys() == {"order.customer", "order.parcel.box"}
    assert len(set(found["order.customer"])) == 5
    assert found["order.customer"][6] == '{"name": "c1", "vat": 1}'


def test_the_order_of_keys_makes_no_difference() -> None:
    documents = [{"nr": i, "of": {"a": 1, "b": 2} if i % 2 else {"b": 2, "a": 1}} for i in ROWS]
    assert set(repeated_parts(documents)["of"]) == {'{"a": 1, "b": 2}'}


def test_silence_about_what_differs_and_what_says_nothing() -> None:
    assert repeated_parts([{"nr": i, "text": f"row {i}", "list": [i, "same"]} for i in ROWS]) == {}
    assert repeated_parts([{"nr": i, "error": None, "tags": [], "more": {}, "note": ""} for i in ROWS]) == {}
    assert repeated_parts([None, "text", ["list"], 7] * 50) == {}
    assert repeated_parts([{f"id{i}": "the same"} for i in ROWS]) == {}


def test_a_part_is_absent_where_there_is_no_object() -> None:
    documents = [{"nr": i, "of": "the same"} if i % 4 else None for i in ROWS]
    assert repeated_parts(documents)["of"].count(None) == 50


def test_a_part_counts_for_what_the_document_would_not_take_without_it() -> None:
    """Of a document that is stored compressed, a hash takes more than a list of settings that are all alike."""
    hashes = [hashlib.sha512(bytes([i])).hexdigest() for i in ROWS]
    documents = [{"hash": hashes[i], "settings": {f"setting {j}": j % 2 for j in range(40)}} for i in ROWS]
    settings = [json.dumps(one["settings"], sort_keys=True) for one in documents]
    in_text = len(settings[0]) / len(json.dumps(documents[0]))
    assert share_of_part(documents, settings, is_packed=False) == pytest.approx(in_text)
    assert in_text > 0.8
    assert 0.4 < share_of_part(documents, settings, is_packed=True) < 0.7
    assert share_of_part(documents, [None] * len(ROWS), is_packed=True) == 0
    assert share_of_part([None], [None], is_packed=True) == 0
