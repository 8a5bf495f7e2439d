from __future__ import annotations

import hashlib
import json

import pytest

from tsaudit.analysis.values import document_parts
from tsaudit.analysis.values.document_parts import repeated_parts, shares_of_parts

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
    parts: dict[str, list[str | None]] = {"settings": [*settings], "none": [None] * len(ROWS)}
    as_it_is, packed = (shares_of_parts(documents, parts, least=0, is_packed=is_packed) for is_packed in (False, True))
    assert as_it_is == pytest.approx({"settings": in_text, "none": 0})
    assert in_text > 0.8
    assert 0.4 < packed["settings"] < 0.7
    assert packed["none"] == 0
    assert shares_of_parts([None], {"settings": [None]}, least=0, is_packed=True) == {}


def test_short_parts_are_not_weighed_and_documents_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document may have hundreds of short parts, as one of settings or measured values has."""
    documents = [{"nr": i, "plan": f"{i % 5}" * 300} | {f"k{j}": f"v{i % 5}" for j in range(90)} for i in ROWS]
    parts = repeated_parts(documents)
    assert len(parts) == 91
    written: list[object] = []
    packed: list[str] = []
    monkeypatch.setattr(document_parts, "_text", lambda value: written.append(value) or json.dumps(value))
    monkeypatch.setattr(document_parts, "_packed", lambda text: packed.append(text) or len(text))
    assert shares_of_parts(documents, parts, least=100, is_packed=True).keys() == {"plan"}
    assert (len(written), len(packed)) == (len(ROWS), 2 * len(ROWS))


def test_what_lies_deep_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents may be nested as deeply as their writer likes, and each level costs as much as the first."""
    documents: list[object] = [{"nr": i, "same": "value"} for i in ROWS]
    for _ in range(3):
        documents = [{"in": one} for one in documents]
    assert repeated_parts(documents).keys() == {"in.in.in.same"}
    for _ in range(300):
        documents = [{"in": one} for one in documents]
    written: list[object] = []
    monkeypatch.setattr(document_parts, "_text", lambda value: written.append(value) or json.dumps(value))
    assert repeated_parts(documents) == {}
    assert len(written) <= 4 * len(ROWS)


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("serialNumber", "serialNumber"),
        ("@type", "@type"),
        ("_links", "_links"),
        ("line2", "line2"),
        ("service.name", "service.name"),
        ("app.kubernetes.io/name", "app.kubernetes.io/name"),
        ("ada.lovelace@example.org", "adx.xxxxxxxx@xxxxxxx.xxx"),
        ("+4915112345678", "+4000000000000"),
        ("DE89370400440532013000", "DE00000000000000000000"),
    ],
)
def test_keys_that_may_be_data_are_redacted(key: str, shown: str) -> None:
    """Documents by address, number, or ID: what such a key says is as private as a value."""
    assert repeated_parts([{"nr": i, "of": {"nr": i, key: "same"}} for i in ROWS]).keys() == {f"of.{shown}"}


def test_keys_that_look_alike_are_one() -> None:
    """The part of the key that most documents have is found."""
    documents = [{"nr": i, "ada@x.org": "a"} | ({"adb@x.org": "b"} if i % 2 else {}) for i in ROWS]
    assert {text for (texts,) in [repeated_parts(documents).values()] for text in texts} == {'"a"'}
