"""What a profile says of documents: fields, types, sizes, and what it takes from a part of them only."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import bson
import pyarrow as pa
import pytest

from tests.builders import NOW, a_profile
from tests.collect.test_contract import NAMES
from tests.collecting import Tampered, collected, collected_with
from tests.databases import Collection, Dataset, times, write
from tests.engines.mongodb.builders import a_collection
from tests.engines.mongodb.double import MongoDB
from tests.rules.cases import run_rule
from tsaudit.analysis.schema_diff import differences
from tsaudit.analysis.shapes.name_families import keyed_objects
from tsaudit.collect.draft import Draft
from tsaudit.engines.connection import Rows
from tsaudit.engines.mongodb.documents import batch
from tsaudit.engines.mongodb.rules.undeclared_document_schema import undeclared_document_schema
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.columns import Field, Items
from tsaudit.model.figures import How, Reason
from tsaudit.model.finding import Outcome
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.server import Activity
from tsaudit.model.storage import Storage

ORDERS = [
    {
        "_id": bson.ObjectId.from_datetime(at),
        "number": i,
        "total": i / 2 if i % 4 else f"{i} EUR",
        "buyer": {"name": f"n{i % 7}", "vat": f"DE{i}" if i % 10 == 0 else None},
        "items": [{"sku": k} for k in range(i % 5)],
    }
    | ({"note": "late"} if i % 3 == 0 else {})
    for i, at in enumerate(times(60, timedelta(hours=1)))
]


def _one(server: str, *collections: Collection, **settings: Any) -> tuple[Profile, dict[str, Measurement]]:
    profile = collected(write(Dataset(collections=collections), "mongodb", server, **settings))
    return profile, {m.name: m for m in profile.measurements}


def _fields(measurement: Measurement) -> dict[str, Field]:
    return {f.key: f for f in measurement.fields}


def test_profile_of_known_documents(mongodb: str) -> None:
    profile, found = _one(mongodb, Collection("orders", ORDERS, unique=("number",)))
    orders = found["orders"]
    fields = _fields(orders)
    assert {key: f.types for key, f in fields.items()} == {
        "_id": ("objectId",),
        "number": ("int",),
        "total": ("double", "string"),
        "buyer.name": ("string",),
        "buyer.vat": ("string",),
        "items": ("array",),
        "note": ("string",),
    }
    absent = {key: f.null_ratio.value for key, f in fields.items() if f.null_ratio}
    assert absent == pytest.approx(
        {"_id": 0, "number": 0, "total": 0, "buyer.name": 0, "buyer.vat": 0.9, "items": 0, "note": 2 / 3}
    )
    assert fields["number"].distinct is not None
    assert (fields["number"].distinct.value, fields["number"].value_bytes) == (60, 4)
    assert fields["buyer.name"].sample == tuple(f"n{i}" for i in range(7))
    assert fields["items"].items == Items(2.0, 4)
    assert orders.documents is not None
    sizes = [len(bson.encode(order)) for order in ORDERS]
    assert (orders.documents.read, orders.documents.max_bytes) == (60, max(sizes))
    assert orders.documents.mean_bytes == pytest.approx(sum(sizes) / 60)
    assert orders.documents.source.how is How.EXACT
    assert orders.rows is not None
    assert (orders.rows.value, orders.rows.source.how) == (60, How.EXACT)
    # No field says when, but each ObjectId does, to the second.
    assert (orders.time_column, orders.first_time, orders.last_time) == (
        None,
        NOW - timedelta(hours=60),
        NOW - timedelta(hours=1),
    )
    assert from_json(Profile, to_json(profile)) == profile


def test_fields_that_are_there_together(mongodb: str) -> None:
    _, found = _one(mongodb, Collection("mixed", [{"a": 1, "b": 1}] * 6 + [{"c": 1}] * 4))
    patterns = found["mixed"].row_patterns
    assert patterns is not None
    assert [(p.columns, p.rows) for p in patterns.patterns] == [(("_id", "a", "b"), 6), (("_id", "c"), 4)]
    assert (patterns.rows, patterns.pairs) == (10, 0)


def test_time_is_the_field_that_runs_to_the_present_and_always_holds_a_date(mongodb: str) -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    _, found = _one(
        mongodb,
        Collection("always", [{"ts": at + timedelta(days=i), "other": at} for i in range(9)]),
        Collection("mostly", [{"ts": at if i else None} for i in range(9)]),
        Collection("text", [{"ts": "2026-03-01"} for _ in range(9)]),
        Collection("unnamed", [{"due": at} for _ in range(9)]),
        Collection("own_name", [{"measuredOn": at + timedelta(days=i), "validTo": at} for i in range(9)]),
        Collection("removed_on", [{"purge": at + timedelta(days=999 + i)} for i in range(9)]),
        Collection("inside", [{"meta": {"ts": at + timedelta(days=i)}} for i in range(9)]),
    )
    assert {name: m.time_column for name, m in found.items()} == {
        "always": "ts",
        "mostly": None,
        "text": None,
        "unnamed": None,
        "own_name": "measuredOn",
        "removed_on": None,
        "inside": None,
    }
    assert (found["always"].first_time, found["always"].last_time) == (at, at + timedelta(days=8))
    assert "ts" not in _fields(found["always"])


@pytest.mark.parametrize("name", NAMES)
def test_names_are_hostile(mongodb: str, name: str) -> None:
    profile, found = _one(mongodb, Collection(name, [{name: f"{name}{i}", "z": {name: i}} for i in range(4)]))
    if profile.server_version.startswith("FerretDB") and profile.gaps:
        pytest.skip(f"FerretDB does not quote it: {profile.gaps[0].detail}")
    assert profile.gaps == ()
    assert set(_fields(found[name])) == {"_id", name, f"z.{name}"}
    assert _fields(found[name])[name].sample == tuple(f"{name}{i}" for i in range(4))
    assert from_json(Profile, to_json(profile)) == profile


def test_figures_of_a_sample_say_that_they_are_and_how_far_they_may_be_off() -> None:
    chance = random.Random(5)
    many = [{"v": i} | ({"rare": 1} if chance.random() < 0.2 else {}) for i in range(30_000)]
    server = MongoDB()
    _, found = _one(server.url, Collection("many", many))
    server.stop()
    rare = _fields(found["many"])["rare"].null_ratio
    assert rare is not None
    assert rare.source.how is How.SAMPLED
    assert rare.standard_error is not None
    assert 0.01 < rare.standard_error < 0.02
    assert abs(rare.value - 0.8) < 4 * rare.standard_error
    rows = found["many"].rows
    assert rows is not None
    assert (rows.value, rows.source.how) == (30_000, How.ESTIMATE)


@pytest.mark.parametrize("most", [1_000_000, 1_000])
def test_a_huge_document_that_no_sample_has(most: int) -> None:
    """One of 9 MB among 20,000 small ones: what the collection takes in sum tells that it is there."""
    documents = [{"_id": i, "v": i} for i in range(20_000)]
    server = MongoDB()
    target = write(
        Dataset(collections=[Collection("few", [*documents, {"_id": -1, "blob": "x" * 9_000_000}])]),
        "mongodb",
        server.url,
        budget={"max_scan_rows": most},
    )
    profile = collected(target)
    server.stop()
    (few,) = profile.measurements
    assert few.documents is not None
    (result,) = [one for one in evaluate(profile).results if one.code == "DOC005"]
    if most == 1_000:
        assert few.documents.max_bytes < 100
        (gap,) = [one for one in profile.gaps if one.fact == "largest_document"]
        assert gap.detail.startswith("documents have 471 B on average, and the 1,000 that were read 21 B, so")
        assert result.outcome is Outcome.OPEN
        return
    assert few.documents.max_bytes > 9_000_000
    (finding,) = result.findings
    assert finding.message == "The largest document has 9 MB; the server rejects more than 16 MiB."
    assert finding.impact is not None
    assert finding.impact.how.startswith("largest of all documents")
    assert finding.main_contributor == "blob"


@pytest.mark.full
def test_array_of_a_huge_document_that_no_sample_has() -> None:
    """It is read once its size shows that it is there, so the finding is about its array from the first day on."""
    events = [{"at": NOW - timedelta(minutes=i), "text": "x" * 400} for i in range(20_000)]
    documents = [{"_id": i, "events": events[:1]} for i in range(20_000)]
    server = MongoDB()
    dataset = Dataset(collections=[Collection("few", [*documents, {"_id": -1, "events": events}])])
    profile = collected(write(dataset, "mongodb", server.url))
    server.stop()
    (few,) = profile.measurements
    assert few.documents is not None
    assert (few.documents.is_max_of_all, few.documents.largest_field) == (True, "events")
    (result,) = [one for one in evaluate(profile).results if one.code == "DOC005"]
    (finding,) = result.findings
    assert finding.main_contributor == "events"
    assert finding.message.startswith(
        "events contains 1 item on average and up to 20,000; the largest document has 8.69"
    )
    assert finding.impact is not None
    assert finding.impact.per_day == pytest.approx(few.documents.max_bytes / (19_999 / 1440), rel=0.01)


def _with_a_huge_one(documents: Iterable[dict[str, Any]], huge: dict[str, Any]) -> Measurement:
    server = MongoDB()
    profile = collected(write(Dataset(collections=[Collection("few", [*documents, huge])]), "mongodb", server.url))
    server.stop()
    (few,) = profile.measurements
    assert few.documents is not None
    assert few.documents.is_max_of_all
    return few


def _events(count: int, newest: datetime = NOW, text: str = "") -> list[dict[str, Any]]:
    """One event a minute, oldest first."""
    return [{"at": newest - timedelta(minutes=i), "text": text} for i in reversed(range(count))]


@pytest.mark.full
@pytest.mark.parametrize(
    ("finished", "grows"),
    [
        # Others received items for as long, and none for weeks.
        (True, False),
        (False, True),
    ],
)
def test_a_huge_document_is_weighed_with_those_read(finished: bool, grows: bool) -> None:
    """Where each document is one of a period, the largest one only has the most items of the present one."""
    old = _events(2, NOW - timedelta(days=40))
    old[0]["at"] -= timedelta(days=30)
    others = ({"_id": i, "events": old if finished else old[:1]} for i in range(20_000))
    few = _with_a_huge_one(others, {"_id": -1, "events": _events(20_000, text="x" * 420)})
    items = _fields(few)["events"].items
    assert items is not None
    assert (items.most, items.growth is not None) == (20_000, grows)


@pytest.mark.full
def test_growth_that_the_sample_shows_stays_if_the_huge_document_has_none() -> None:
    events = _events(61)[::30]
    # Made when its first item came, so none were removed.
    begun = int(events[0]["at"].timestamp())
    others = ({"_id": bson.ObjectId(f"{begun:08x}{i:016x}"), "events": events} for i in range(20_000))
    huge = {"_id": -1, "events": _events(20_000, NOW - timedelta(days=90), "x" * 640)}
    items = _fields(_with_a_huge_one(others, huge))["events"].items
    assert items is not None
    assert items.growth is not None
    assert items.growth.document_bytes < 10_000


@pytest.mark.full
def test_largest_document_is_recognized_by_its_id() -> None:
    others = [{"_id": i, "v": i} for i in range(20_000)]
    huge = ((-1, 9_000_000), (-1, 9_500_000), (-2, 9_500_000))
    few = [_with_a_huge_one(others, {"_id": key, "blob": "x" * length}) for key, length in huge]
    first, later, another = (one.documents.largest_id if one.documents else None for one in few)
    assert first == later != another
    assert first is not None


@pytest.mark.full
def test_array_of_a_huge_document_below_a_name_that_is_data() -> None:
    """The one field that stands for such names gets it; its own name may be of another document on the next day."""
    others = ({"_id": i, "runs": {f"{i * 3 + k:024x}": [1.5] for k in range(3)}} for i in range(20_000))
    few = _with_a_huge_one(others, {"_id": -1, "runs": {f"{10**9:024x}": [1.5] * 1_000_000}})
    assert few.documents is not None
    assert few.documents.largest_field == "runs.{name}"
    assert set(_fields(few)) == {"_id", "runs.{name}"}
    items = _fields(few)["runs.{name}"].items
    assert items is not None
    assert items.most == 1_000_000


@pytest.mark.parametrize("meta", [None, "about"])
def test_array_of_a_huge_document_in_a_tag_is_no_field(meta: str | None) -> None:
    measuring = import_module("tsaudit.engines.mongodb.measuring")
    read = measuring._Sample()
    read.add(batch(0, [bson.encode({"_id": i, "about": {"host": "a"}}) for i in range(20)]))
    huge = batch(0, [bson.encode({"_id": -1, "about": {"host": "a", "list": [1.5] * 1_000_000}})])

    def query(fact: str, consume: Callable[[pa.RecordBatch], None], given: object) -> str:
        consume(huge)
        return fact

    window, budget = a_profile(engine="mongodb").window, SimpleNamespace(max_scan_rows=1_000_000)
    runner = SimpleNamespace(query=query, window=window, target=SimpleNamespace(budget=budget))
    known = replace(
        a_collection("points", 20_000),
        storage=Storage(10**9, 0, mean_row_bytes=800.0),
        options={"timeseries.metaField": meta} if meta else {},
    )
    found = measuring._with_largest(runner, Draft(known), read).measurement
    assert found.documents.largest_field == "about.list"
    assert ("about.list" in _fields(found)) is (meta is None)


@pytest.mark.full
def test_array_that_only_a_huge_document_has() -> None:
    """It is in one of all documents, not in one of those that were read."""
    few = _with_a_huge_one(({"_id": i, "v": i} for i in range(20_000)), {"_id": -1, "list": [1.5] * 1_000_000})
    assert _fields(few)["list"].present_ratio == pytest.approx(1 / 20_001)
    other = replace(few, fields=tuple(field for field in few.fields if field.key != "list"))
    assert not list(differences(a_profile(other, engine="mongodb"), a_profile(few, engine="mongodb")))


def test_documents_like_those_of_the_sample_are_not_all_read() -> None:
    server = MongoDB()
    profile = collected(
        write(
            Dataset(collections=[Collection("t", [{"v": "x" * (i % 900)} for i in range(20_000)])]),
            "mongodb",
            server.url,
        )
    )
    sent = str(server.commands)
    server.stop()
    assert "$bsonSize" not in sent
    assert not [gap for gap in profile.gaps if gap.fact == "largest_document"]


def test_rows_of_a_time_series_follow_from_some_of_its_buckets() -> None:
    readings = [
        {"at": at, "meta": {"host": f"h{i % 3000}"}, "v": i} for i, at in enumerate(times(7000, timedelta(seconds=1)))
    ]
    options = {"timeseries": {"timeField": "at", "metaField": "meta"}}
    server = MongoDB()
    _, found = _one(server.url, Collection("readings", readings, options=options))
    server.stop()
    measured = found["readings"]
    assert measured.buckets is not None
    assert measured.buckets.read < measured.buckets.count
    assert measured.rows is not None
    assert measured.rows.source.how is How.ESTIMATE
    assert measured.rows.source.scope.startswith("scaled up from")
    assert measured.rows.standard_error is not None
    assert abs(measured.rows.value - 7000) < 4 * measured.rows.standard_error


@pytest.mark.parametrize(("shards", "counts"), [(0, True), (2, True), (0, False)])
def test_why_buckets_were_closed(shards: int, counts: bool) -> None:
    server = MongoDB(shards=shards)
    server.counts_no_closings = not counts
    documents = [{"at": at, "meta": 1, "note": None if i % 2 else "x"} for i, at in enumerate(times(60))]
    options = {"timeseries": {"timeField": "at", "metaField": "meta"}}
    series = Collection("readings", documents, options=options)
    (readings,) = collected(write(Dataset(collections=[series]), "mongodb", server.url)).measurements
    server.stop()
    assert readings.buckets is not None
    assert (readings.buckets.count, readings.buckets.median_rows) == (60, 1)
    assert readings.buckets.closed == (60 if counts else None)
    # An hour, or the ends of two.
    assert readings.buckets.closed_by_change in ((58, 59) if counts else (None,))
    (note,) = (field for field in readings.fields if field.key == "note")
    assert (note.types, note.says_null) == (("string",), True)


def test_buckets_that_do_not_say_how_many_rows_they_hold_are_a_gap() -> None:
    def tampering(fact: str, parameters: Any) -> Rows | None:
        del parameters
        unknown = pa.array([None, None], pa.int64())
        silent = {"buckets": [2, 2], "source": ["a", "b"], "rows": unknown}
        silent |= {"closed": unknown, "closed_by_change": unknown}
        return Rows("", iter([pa.record_batch(silent)])) if fact == "buckets" else None

    options = {"timeseries": {"timeField": "at", "metaField": "meta"}}
    server = MongoDB()
    readings = Collection("readings", [{"at": at, "meta": 1} for at in times(5)], options=options)
    profile = collected_with(write(Dataset(collections=[readings]), "mongodb", server.url), tampering)
    server.stop()
    (gap,) = profile.gaps
    assert (gap.fact, gap.measurement, gap.reason) == ("buckets", "readings", Reason.FAILED)
    assert gap.detail == "no bucket reports its number of rows"


def test_empty_collection_has_no_fields_and_no_gap() -> None:
    server = MongoDB()
    profile, found = _one(server.url, Collection("empty"))
    server.stop()
    assert profile.gaps == ()
    assert (found["empty"].fields, found["empty"].documents) == ((), None)
    assert found["empty"].storage == Storage(0, 0)
    assert found["empty"].rows is not None
    assert found["empty"].rows.value == 0


WORDS = ("alpha", "bravo", "delta", "echo", "golf", "hotel", "india", "kilo", "lima", "mike", "oscar", "papa")
WIDE = [{a + b + c: 1 for a in WORDS for b in WORDS for c in WORDS}] * 5


def test_documents_with_more_fields_than_anybody_describes(mongodb: str) -> None:
    profile, found = _one(mongodb, Collection("wide", WIDE))
    assert len(found["wide"].fields) == 1000
    assert "_id" in _fields(found["wide"])
    (gap,) = [g for g in profile.gaps if g.fact == "field_types"]
    assert (gap.reason, gap.measurement) == (Reason.OVER_BUDGET, "wide")
    assert gap.detail == "of 1,729 different fields, only the 1,000 most common are described"
    results = {result.code: result for result in evaluate(profile).results}
    assert results["DRF001"].gaps == (gap,)
    assert not [code for code in ("DOC005", "DOC012", "STO001") if results[code].gaps]
    # What fell below the limit was not removed, nor is what rose above it new.
    (wide,) = profile.measurements
    other = replace(profile, measurements=(replace(wide, fields=wide.fields[:900]),))
    assert not list(differences(profile, other))
    assert not list(differences(other, profile))


def test_documents_with_more_fields_than_anybody_looks_at(mongodb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tsaudit.engines.mongodb.measuring"), "_MOST_SEEN", 1100)
    profile, found = _one(mongodb, Collection("wide", WIDE))
    assert len(found["wide"].fields) == 1000
    (gap,) = [g for g in profile.gaps if g.fact == "field_types"]
    assert gap.detail == "of more than 1,100 different fields, only the 1,000 most common are described"


@pytest.mark.parametrize("most", [20_000, 4_600])
def test_one_field_stands_for_all_whose_names_differ_in_data(
    mongodb: str, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """By the form of what they contain, by how few documents have each, or by what they look like, at every depth; seen
    before the limit or not.
    """
    monkeypatch.setattr(import_module("tsaudit.engines.mongodb.measuring"), "_MOST_SEEN", most)
    names = [a + b for a in WORDS for b in WORDS]
    jobs = [
        {
            "flags": {name: {"on": i % 2 == 0, "uses": {f"{k:024x}": k for k in range(i, i + 9)}} for name in some},
            "scores": {str(k): [k] * i for k in range(i, i + 20)},
            "votes": dict.fromkeys(names[i : i + 9], 1),
            "note": "x",
        }
        for i, some in enumerate(names[i : i + 30] for i in range(110))
    ]
    profile, found = _one(mongodb, Collection("jobs", jobs))
    assert profile.gaps == ()
    fields = _fields(found["jobs"])
    assert sorted(fields) == [
        "_id",
        "flags.{name}.on",
        "flags.{name}.uses.{name}",
        "note",
        "scores.{n}",
        "votes.{name}",
    ]
    assert fields["flags.{name}.on"].null_ratio is not None
    assert fields["flags.{name}.on"].null_ratio.value == 0
    assert fields["scores.{n}"].items is not None
    assert fields["scores.{n}"].items.most == 109
    results = {result.code: result for result in evaluate(profile).results}
    assert {f.subject.column for f in results["NAM005"].findings} == {
        "flags.{name}",
        "scores.{n}",
        "votes.{name}",
    }
    # With fewer names, each was a field of its own the day before.
    (now,) = profile.measurements
    single = tuple(Field(f"flags.{name}.on", ("bool",)) for name in names)
    assert now.documents is not None
    before = replace(now, documents=replace(now.documents, keyed=()), fields=(*now.fields, *single))
    assert not list(differences(replace(profile, measurements=(before,)), profile))
    assert from_json(Profile, to_json(profile)) == profile


@pytest.mark.parametrize("mixed", [False, True])
def test_types_of_names_that_are_data_conflict_if_one_name_has_several(mongodb: str, mixed: bool) -> None:
    names = [a + b + c for a in WORDS for b in WORDS for c in WORDS]
    documents: list[dict[str, Any]] = [
        {"settings": {name: i % 2 == 0 if i % 3 else "low" for i, name in enumerate(names) if i % 20 == k % 20}}
        for k in range(200)
    ]
    if mixed:
        documents[0]["settings"][names[1]] = "high"
    profile, found = _one(mongodb, Collection("users", documents))
    fields = _fields(found["users"])
    assert fields["settings.{name}"].types == ("bool", "string")
    results = {result.code: result for result in evaluate(profile).results}
    assert [bool(results[code].findings) for code in ("FLD003", "DOC004")] == [mixed, False]
    assert bool(run_rule(undeclared_document_schema, profile).findings) is mixed


def test_fields_of_many_kinds_of_documents_are_not_data(mongodb: str) -> None:
    """Each kind has fields of its own at the top, all in few documents."""
    names = [a + b + c for a in WORDS for b in WORDS for c in WORDS][:1200]
    events = [{"kind": k % 40, **dict.fromkeys(names[k % 40 * 30 : k % 40 * 30 + 30], 1)} for k in range(400)]
    profile, found = _one(mongodb, Collection("events", events))
    assert "{name}" not in _fields(found["events"])
    assert [g.detail for g in profile.gaps] == ["of 1,202 different fields, only the 1,000 most common are described"]


def test_objects_with_one_member_in_common_are_not_alike() -> None:
    words = [a + b for a in WORDS for b in WORDS]

    def folded(own: int) -> list[str]:
        members = {name: ("enabled", *(f"{name}_{k}" for k in range(own))) for name in words}
        paths = {f"plugins.{name}.{member}": range(10) for name, some in members.items() for member in some}
        return [found.path for found in keyed_objects(paths)]

    assert folded(0) == ["plugins.{name}"]
    assert folded(6) == []


def test_field_that_is_a_value_here_and_a_document_there_has_both_types(mongodb: str) -> None:
    addresses: list[dict[str, Any]] = [{"to": "Main St 1"}] * 4 + [{"to": {"at": {"street": "Main St"}}}] * 4
    _, found = _one(mongodb, Collection("addresses", [*addresses, {"to": None}, {"to": {}}]))
    to = _fields(found["addresses"])["to"]
    assert to.types == ("object", "string")
    assert to.null_ratio is not None
    assert to.null_ratio.value == pytest.approx(0.1)
    nothing = {"to": None}
    _, found = _one(mongodb, Collection("known", [{"to": {"street": "Main St"}}, nothing]))
    assert _fields(found["known"])["to"].types == ()


def test_few_of_a_family_stand_for_the_rest() -> None:
    names = [(NOW - timedelta(days=i)).strftime("d_%Y_%m_%d") for i in range(30)]
    server = MongoDB()
    dataset = Dataset(collections=[Collection(name, [{"v": 1}]) for name in [*names, "users"]])
    target = write(dataset, "mongodb", server.url, budget={"max_family": 3})
    profile = collected(target)
    server.stop()
    read = {m.name for m in profile.measurements if m.documents}
    assert read == {"users", names[0], sorted(names)[14], names[-1]}
    assert {m.name for m in profile.measurements if m.storage} == read
    assert all(m.rows and m.rows.value == 1 for m in profile.measurements)
    assert {g.fact for g in profile.gaps} == {"documents", "index_use", "indexes", "storage"}
    assert {g.reason for g in profile.gaps} == {Reason.OVER_BUDGET}


def test_few_of_many_customers_stand_for_the_rest() -> None:
    names = [f"orders_c{i:05}" for i in range(30)]
    server = MongoDB()
    dataset = Dataset(collections=[Collection(name, [{"v": 1}]) for name in [*names, "users"]])
    profile = collected(write(dataset, "mongodb", server.url, budget={"max_family": 3}))
    server.stop()
    assert {m.name for m in profile.measurements if m.documents} == {"users", names[0], names[14], names[-1]}
    (gap,) = [g for g in profile.gaps if g.fact == "storage"]
    assert gap.detail.startswith("27 collections named orders_c{n}, of which this is the first, are not measured")


def test_activity_is_what_the_server_counted() -> None:
    server = MongoDB()
    target = write(Dataset(collections=[Collection("users", [{"v": 1}] * 5)], database="shop"), "mongodb", server.url)
    server.started = NOW - timedelta(days=3)
    (users,) = collected(target, wanted=frozenset({"activity"})).measurements
    server.stop()
    assert users.activity == Activity(0, 5, NOW - timedelta(days=3))


def test_nothing_is_read_when_nobody_asks_for_documents() -> None:
    server = MongoDB()
    target = write(Dataset(collections=[Collection("users", [{"v": 1}])]), "mongodb", server.url)
    (users,) = collected(target, wanted=frozenset({"measurements"})).measurements
    assert not [c for c in server.commands if "aggregate" in c]
    server.stop()
    assert (users.fields, users.documents) == ((), None)


def test_collection_that_cannot_be_read_leaves_a_gap_and_the_others_go_on() -> None:
    def tampering(fact: str, parameters: Any) -> Rows | None:
        if fact == "documents" and parameters["measurement"] == "a":
            raise ValueError("broken")
        return None

    server = MongoDB()
    target = write(Dataset(collections=[Collection(n, [{"v": 1}]) for n in "ab"]), "mongodb", server.url)
    profile = collected_with(target, tampering)
    with open_connection(target) as connection:
        assert Tampered(connection, tampering).reconnect().server_version == "8.0.4"
    server.stop()
    (gap,) = profile.gaps
    assert (gap.fact, gap.measurement, gap.reason) == ("documents", "a", Reason.FAILED)
    assert [bool(m.documents) for m in profile.measurements] == [False, True]
