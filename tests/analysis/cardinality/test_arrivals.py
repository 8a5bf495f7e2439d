"""What is new in a listing, and which tag it is due to: known truths and brute force."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_measurement, a_source, a_tag
from tsaudit.analysis.cardinality import arrivals
from tsaudit.analysis.cardinality.attribution import Attribution, attribute, looks
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.hashes import series_digests, truncated
from tsaudit.analysis.values.value_sets import ValueSet
from tsaudit.collect import earlier_days
from tsaudit.collect.draft import Draft
from tsaudit.collect.earlier_days import Comparison
from tsaudit.model.columns import Dependency, Tag, TagSets, ValuesOverTime
from tsaudit.model.figures import Count, How, Subject, TableKind, Window, utc_now
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.storage import Retention

FIRST = date(2026, 1, 5)
TagSet = Mapping[str, str | None]


def on(number: int) -> date:
    return FIRST + timedelta(days=number)


class Memory:
    """The value sets of the days so far, in memory."""

    def __init__(self) -> None:
        self.sets: dict[Subject, ValueSet] = {}
        self.expected: list[Subject] = []

    def expect(self, subjects: Sequence[Subject]) -> None:
        self.expected += subjects

    def of(self, subject: Subject) -> ValueSet:
        return self.sets.get(subject, ValueSet.empty())

    def keep(self, subject: Subject, after: ValueSet) -> None:
        self.sets[subject] = after


def listed(
    memory: Memory, day: date, series: Iterable[TagSet], how: How = How.EXACT, retention: tuple[Retention, ...] = ()
) -> Measurement:
    """The measurement after a listing of these series, all of which the database holds for good."""
    rows = list(series)
    keys = sorted({key for row in rows for key in row})
    counter = TagSetCounter(keys)
    counter.add(pa.RecordBatch.from_pylist(rows, pa.schema([(key, pa.string()) for key in keys])))
    measurement = Measurement(
        "main",
        "cpu",
        None,
        tags=tuple(Tag(key, "string") for key in keys),
        fields=(),
        series=Count(counter.series.value, a_source(how)),
        tag_sets=counter.tag_sets(a_source()),
        kind=TableKind.SERIES,
    )
    at = utc_now()
    compared = Comparison(memory, day, Window(at, at), {"main": Database("main", retention=retention)})
    return compared.compare(Draft(measurement, is_indexed=True), counter).finished()


def after(days: Iterable[Iterable[TagSet]]) -> Measurement:
    """The measurement as it is after the last of these days, each of which lists all that is there."""
    memory = Memory()
    (*_, last) = (listed(memory, on(number), series) for number, series in enumerate(days))
    return last


def blamed(found: Attribution | None) -> dict[str, float]:
    assert found is not None
    return {contributor.tag: round(contributor.share, 3) for contributor in found.contributors}


def test_large_sets_are_read_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(earlier_days, "_TOGETHER", 5)
    memory = Memory()
    listed(memory, on(0), hosts(6))
    assert memory.expected == [Subject("main", "cpu", "region")]
    assert set(memory.sets) == {Subject("main", "cpu", column) for column in ("", "host", "region")}


def test_shared_listing_is_compared_with_the_earlier_days_of_each_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    memory, at, compared = Memory(), utc_now(), []
    listed(memory, on(0), hosts(4))
    counter = TagSetCounter(["host", "region"])
    counter.add(pa.RecordBatch.from_pylist(hosts(6)))
    new_series = arrivals.new_series
    monkeypatch.setattr(arrivals, "new_series", lambda *given: compared.append(given) or new_series(*given))
    comparison = Comparison(memory, on(1), Window(at, at), {"main": Database("main", retention=())})
    tags = tuple(Tag(key, "string") for key in ("host", "region"))
    found = {}
    for name in ("cpu", "mem", "disk"):
        measurement = Measurement("main", name, None, tags, (), series=Count(6, a_source()), kind=TableKind.SERIES)
        found[name] = comparison.compare(Draft(measurement, is_indexed=True), counter).finished()
    assert {name: one.arrivals and one.arrivals.new_series for name, one in found.items()} == {
        "cpu": 2,
        "mem": None,
        "disk": None,
    }
    assert found["disk"].tags == found["mem"].tags != found["cpu"].tags
    assert len(compared) == 2
    assert memory.sets[Subject("main", "disk", "host")] == memory.sets[Subject("main", "mem", "host")]


def hosts(count: int, **more: str) -> list[TagSet]:
    return [{"host": f"web-{i:03}", "region": f"r{i % 3}", **more} for i in range(count)]


def requests(number: int, a_day: int = 30) -> list[TagSet]:
    """Ten hosts, and from day 4 on a request id in new series of its own."""
    draw = Random(7)
    ids = [str(uuid.UUID(int=draw.getrandbits(128), version=4)) for _ in range(a_day * max(0, number - 3))]
    return [*hosts(10), *({"host": f"web-{i % 10:03}", "region": f"r{i % 3}", "id": n} for i, n in enumerate(ids))]


def test_the_hash_of_a_series_is_what_the_documentation_says() -> None:
    def head(text: str) -> int:
        return int.from_bytes(hashlib.blake2b(text.encode()).digest()[:8], "big")

    def splitmix(x: int) -> int:
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return x ^ x >> 31

    rows: list[TagSet] = [{"host": "a", "region": "eu"}, {"host": "b", "region": None}]
    expected = [
        sum(splitmix((splitmix(head(k)) + head(v)) % 2**64) for k, v in row.items() if v is not None) % 2**64 >> 24
        for row in rows
    ]
    for keys in (["host", "region"], ["region", "host", "never"]):
        counter = TagSetCounter(keys)
        counter.add(pa.RecordBatch.from_pylist(rows, pa.schema([(key, pa.string()) for key in keys])))
        assert truncated(series_digests(counter.hashed(), counter.series.value)).tolist() == expected


def test_the_first_listing_calls_nothing_new() -> None:
    measurement = after([hosts(10)])
    assert measurement.arrivals is not None
    assert (measurement.arrivals.new_series, measurement.arrivals.before) == (None, None)
    assert attribute(measurement, on(-5)) is None
    (host, _) = measurement.tags
    assert host.over_time is not None
    assert (host.over_time.kind, host.over_time.new_values, host.over_time.newest) == ("unknown", None, None)


def test_a_request_id_is_blamed_since_the_day_it_came() -> None:
    measurement = after(requests(number) for number in range(20))
    found = attribute(measurement, on(6))
    assert found is not None
    assert (found.since, found.new_series) == (on(6), 14 * 30)
    assert blamed(found) == {"id": 1.0}
    assert found.contributors[0].began == on(4)
    tag = measurement.tag("id")
    assert tag is not None
    assert tag.over_time is not None
    assert (tag.over_time.new_values, tag.over_time.new_per_day, tag.over_time.newest) == (30, 30.0, on(19))
    assert looks(tag) == "UUID"
    assert len(tag.over_time.examples) == 3
    assert tag.over_time.beta == pytest.approx(1, abs=0.01)


def test_the_kind_of_a_request_id_that_came_while_watched_is_unbounded_from_a_week_on() -> None:
    kinds = {}
    memory = Memory()
    for number in range(14):
        tag = listed(memory, on(number), requests(number, 200)).tag("id")
        kinds[number] = tag.over_time.kind if tag and tag.over_time else None
    assert [kinds[n] for n in (3, 4, 9, 10, 13)] == [None, "unknown", "unknown", "unbounded", "unbounded"]


def test_fixed_hosts_are_bounded_and_explain_nothing() -> None:
    measurement = after(hosts(10) for _ in range(10))
    assert [tag.over_time.kind for tag in measurement.tags if tag.over_time] == ["bounded", "bounded"]
    assert attribute(measurement, FIRST) is None


def test_a_determined_tag_is_not_blamed_beside_the_one_that_determines_it() -> None:
    """New hosts in new racks: the hosts are the cause."""

    def fleet(count: int) -> list[TagSet]:
        return [{"host": f"h{i}", "rack": f"k{i // 4}", "core": str(c)} for i in range(count) for c in range(3)]

    measurement = after([fleet(40), fleet(60)])
    assert blamed(attribute(measurement, on(1))) == {"host": 1.0}


def test_interchangeable_tags_are_blamed_together() -> None:
    def fleet(count: int) -> list[TagSet]:
        return [{"host": f"h{i}", "ip": f"10.0.0.{i}", "core": str(c)} for i in range(count) for c in range(3)]

    found = attribute(after([fleet(40), fleet(60)]), on(1))
    assert found is not None
    assert [(b.tag, b.together_with) for b in found.contributors] == [("host", ("ip",))]


def test_each_tag_gets_its_own_share_of_a_mixed_growth() -> None:
    old: list[TagSet] = [{"host": f"h{i}", "path": f"/p{j}"} for i in range(4) for j in range(4)]
    new_paths: list[TagSet] = [{"host": "h0", "path": f"/new{j}"} for j in range(6)]
    new_hosts: list[TagSet] = [{"host": f"n{i}", "path": "/p0"} for i in range(3)]
    new_pair: list[TagSet] = [{"host": "h3", "path": "/old"}]
    measurement = after([[*old, {"host": "h1", "path": "/old"}], [*old, *new_paths, *new_hosts, *new_pair]])
    assert blamed(attribute(measurement, on(1))) == {"path": 0.6, "host": 0.3}


@pytest.mark.parametrize("kept", [0, 1, 4], ids="{} of the first day are left".format)
@pytest.mark.parametrize("count", [10, 200])
def test_what_gathers_new_series_is_known_after_those_of_the_first_listing_are_gone(count: int, kept: int) -> None:
    """All pods are renewed on day 4. What imports was there, with a few series, and has many more from day 10 on."""

    def series(day: int) -> list[TagSet]:
        pods = [{"pod": f"{day >= 4}-{i}", "writer": "plc"} for i in range(count)]
        steady = [{"pod": f"import-{i}", "writer": "import"} for i in range(kept)]
        batches = [{"pod": f"batch-{d}-{i}", "writer": "import"} for d in range(10, day + 1) for i in range(count)]
        return [*pods, *steady, *batches]

    writer = after(series(day) for day in range(14)).tag("writer")
    assert writer is not None
    assert writer.over_time is not None
    assert writer.over_time.gathered == "import"


def test_a_sampled_listing_is_compared_with_nothing() -> None:
    memory = Memory()
    assert listed(memory, FIRST, hosts(3), How.SAMPLED).arrivals is None
    assert not memory.sets


@st.composite
def histories(draw: st.DrawFn) -> list[list[dict[str, str]]]:
    tag_sets = st.fixed_dictionaries({}, optional={key: st.sampled_from("123456") for key in "abc"})
    first = draw(st.lists(tag_sets, min_size=1, max_size=8))
    return [first, *draw(st.lists(st.lists(tag_sets, min_size=1, max_size=8), min_size=1, max_size=4))]


@settings(deadline=None)
@given(histories(), st.integers(0, 5))
def test_shares_are_those_of_brute_force(history: list[list[dict[str, str]]], back: int) -> None:
    memory = Memory()
    for number, rows in enumerate(history):
        measurement = listed(memory, on(number), [{"a": None, "b": None, "c": None} | row for row in rows])
    since = max(1, len(history) - back)
    old = [row for rows in history[:since] for row in rows]
    new = [row for row in {tuple(sorted(r.items())) for r in history[-1]} if dict(row) not in old]
    expected = {
        key: sum(dict(row).get(key, "-") not in {"-", *(r[key] for r in old if key in r)} for row in new)
        for key in "abc"
    }
    bare = Measurement("main", "cpu", None, measurement.tags, (), arrivals=measurement.arrivals)
    found = attribute(bare, on(since))
    assert (found.new_series if found else 0) == len(new)
    shares = {contributor.tag: contributor.share for contributor in found.contributors} if found else {}
    assert shares == {key: count / len(new) for key, count in expected.items() if count}


def test_a_sketch_tells_shares_with_their_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 500)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 200)
    old: list[TagSet] = [{"id": f"a{i}", "host": f"h{i % 10}"} for i in range(900)]
    new: list[TagSet] = [{"id": f"b{i}", "host": f"h{i % 10}"} for i in range(300)]
    few: list[TagSet] = [{"id": f"a{i}", "host": "h-new"} for i in range(3)]
    measurement = after([old, [*old, *new, *few]])
    assert measurement.arrivals is not None
    assert measurement.arrivals.new_series == pytest.approx(303, abs=120)
    assert measurement.arrivals.standard_error is not None
    found = attribute(measurement, on(1))
    assert found is not None
    (contributor,) = (b for b in found.contributors if b.tag == "id")
    assert 0.05 < contributor.standard_error < 0.5
    assert abs(contributor.share - 0.99) < 3 * contributor.standard_error


def test_too_few_new_values_in_a_sketch_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 500)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 200)
    old: list[TagSet] = [{"id": f"a{i}", "host": f"h{i % 10}"} for i in range(900)]
    new: list[TagSet] = [{"id": f"b{i}", "host": "h1"} for i in range(4)]
    found = attribute(after([old, [*old, *new]]), on(1))
    assert found is None or not found.contributors


def listing(daily: Iterable[set[str]], days: int) -> list[set[str]]:
    """What listings show that cover the last `days` days each."""
    whole = list(daily)
    return [set().union(*whole[max(0, n - days + 1) : n + 1]) for n in range(len(whole))]


def pods(count: int, share: float, days: int) -> list[set[str]]:
    made = iter(range(10**6))
    live = [next(made) for _ in range(count)]
    found = []
    for _ in range(days):
        found.append({f"pod-{n}" for n in live})
        live = [*live[int(count * share) :], *(next(made) for _ in range(int(count * share)))]
    return found


def seen(listings: Iterable[set[str]], skip: int = 0) -> ValueSet:
    values = ValueSet.empty()
    for number, names in enumerate(listings):
        if number >= skip:
            values = values.observe(names, on(number))
    return values


@pytest.mark.parametrize(
    ("daily", "kind", "beta"),
    [
        ([{f"h{i}" for i in range(1200)}] * 70, "bounded", 0.0),
        (pods(1000, 0.05, 70), "churning", 0.26),
        (pods(1000, 0.30, 70), "churning", 0.66),
        ([{f"{n}-{i}" for i in range(300)} for n in range(70)], "unbounded", 1.0),
        ([{f"2026-{n}"} for n in range(70)], "churning", 1.0),
    ],
    ids=["fixed hosts", "autoscaled", "pods", "request ids", "dates"],
)
def test_a_listing_of_many_days_tells_what_the_days_would(daily: list[set[str]], kind: str, beta: float) -> None:
    """A month in each listing, watched from the 40th day on; a date is new each day too, and harmless."""
    index = arrivals.value_index(seen(listing(daily, 30), skip=40), 30)
    assert index.kind == kind
    assert index.beta == pytest.approx(beta, abs=0.03)


def test_what_never_leaves_is_not_called_endless_only_for_that() -> None:
    """Nothing is known of the days before the first listing: its values are taken for those of one day."""
    everything = listing(pods(1000, 0.30, 70), 70)
    assert arrivals.value_index(seen(everything, skip=40), None).kind == "churning"
    ids = listing([{f"{n}-{i}" for i in range(300)} for n in range(70)], 70)
    assert arrivals.value_index(seen(ids, skip=40), None).kind == "churning"
    assert arrivals.value_index(seen([*[set()] * 40, *ids[:30]]), None).kind == "unbounded"


@pytest.mark.full
def test_few_new_among_many_old_is_not_called_bounded_where_nothing_leaves() -> None:
    """A thousand in four weeks is the floor of what may be endless."""
    for a_day, kind in ((37, "bounded"), (38, "churning")):
        everything = listing([{f"{n}-{i}" for i in range(20_000 if n == 0 else a_day)} for n in range(28)], 28)
        assert arrivals.value_index(seen(everything), None).kind == kind
    full = listing([{f"h{i}" for i in range(20_000)} | {f"{n}-{i}" for i in range(38)} for n in range(70)], 30)
    assert arrivals.value_index(seen(full, skip=40), 30).kind == "bounded"


def test_a_young_fleet_is_not_called_endless_because_nothing_left_yet() -> None:
    young = listing(pods(1000, 0.30, 12), 30)
    assert arrivals.value_index(seen(young, skip=4), 30).kind == "churning"


def test_retention_says_how_long_an_index_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    day, given, new_values = 86_400, list[int | None](), arrivals.new_values

    def noted(*of: Any) -> ValuesOverTime:
        given.append(of[-1])
        return new_values(*of)

    monkeypatch.setattr(arrivals, "new_values", noted)
    for retention, days in (((7 * day, day), 8), ((), None), (("forever", day), None)):
        policies = (Retention("p", retention[0], retention[1], True),) if retention else ()
        memory = Memory()
        for number in range(8):
            listed(memory, on(number), hosts(3), retention=policies)
        assert given[-1] == days


def test_nothing_is_said_of_a_tag_without_history() -> None:
    assert looks(a_tag()) == ""
    assert attribute(a_measurement(), FIRST) is None


def test_a_dependency_of_a_profile_without_its_tags_is_no_harm() -> None:
    measurement = after([hosts(10), hosts(14)])
    sets = TagSets(14, 14, 14, (Dependency("gone", "host"),), ("host",), (), (), a_source())
    changed = Measurement("main", "cpu", None, measurement.tags, (), tag_sets=sets, arrivals=measurement.arrivals)
    assert "host" in blamed(attribute(changed, on(1)))


def test_leaving_as_many_as_half_of_what_arrives_is_a_full_listing() -> None:
    """Retention of a month, watched for four weeks: 38 new values a day, 1,026 since the first listing.

    Where values leave as others arrive, a listing covers its month; where far fewer leave, it is not known what a
    single day shows, and nobody may call that bounded.
    """
    for left, kind in ((513, "bounded"), (512, "churning")):
        first = {f"h{i}" for i in range(20_000)}
        arrived = [{f"{n}-{i}" for i in range(38)} for n in range(28)]
        daily = [first | set().union(*arrived[1 : n + 1]) for n in range(28)]
        daily[-1] -= {f"h{i}" for i in range(left)}
        assert arrivals.value_index(seen(daily), 30).kind == kind, left


def test_a_young_fleet_part_of_which_was_deleted_is_not_called_endless() -> None:
    """4,000 hosts that came while watched, 200 replaced a day; half of what was replaced is deleted already."""
    days: list[set[str]] = [set()] * 3
    days += [{f"h{i}" for i in range(100 * n, 4000 + 200 * n)} for n in range(10)]
    assert arrivals.value_index(seen(days), 30).kind != "unbounded"
