"""The same data set, audited on each generation of InfluxDB: docs/engines.md lists where the profiles differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.collecting import collected
from tests.databases import write
from tests.engines.influx.family import EMPTY, FAMILY, ODD, REQUESTS
from tests.engines.influxdb2.conversations import Conversation, conversation
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3
from tests.servers import Influxd
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import FOREVER, How, Reason
from tsaudit.model.jsonfile import to_json
from tsaudit.model.profile import Profile

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def server() -> Iterator[Conversation]:
    with conversation(f"tests/engines/influx/{Path(__file__).name}::all") as running:
        yield running


@pytest.fixture(scope="module")
def first(influxd: Influxd) -> Profile:
    return collected(write(FAMILY, "influxdb1", influxd.url))


@pytest.fixture(scope="module")
def second(server: Conversation) -> Profile:
    return collected(write(FAMILY, "influxdb2", server))


@pytest.fixture(scope="module")
def third(influxdb3: InfluxDB3 | RealInfluxDB3) -> Profile:
    return collected(write(FAMILY, "influxdb3", influxdb3))


def comparable(profile: Profile) -> Any:
    """Without what docs/engines.md says is different, and what is different each time."""

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: stripped(v) for k, v in value.items() if k not in DIFFERENT}
        return [stripped(v) for v in value] if isinstance(value, list) else value

    found = stripped(json.loads(to_json(profile)))
    for measurement in found["measurements"]:
        if measurement["name"] == "requests":
            # Of many series: the conversation with InfluxDB 2.x has no row slice.
            del measurement["rows_apart"], measurement["first_time"], measurement["last_time"]
            for tag in measurement["tags"]:
                del tag["turnover"], tag["changes"]
    return found


DIFFERENT = {
    "engine",
    "server_version",
    "collected_at",
    # Other statements, in other files; what they cost.
    "statements",
    "query",
    "costs",
    # Each keeps its files in its own way, and this conversation keeps back what tells of those of 2.x.
    "storage",
    # Only 1.x tells its limits and counters.
    "server",
    # A bucket has one retention, which has no name.
    "policy",
    # Of what and how counted, in words; the figures are compared.
    "scope",
    "fingerprint",
    # Only 1.x has continuous queries.
    "stored_queries",
    # Where InfluxDB 1.x has a retention policy, 2.x has a bucket of its own.
    "parts_of",
    "path",
}


def test_profiles_are_the_same_but_for_what_is_listed(first: Profile, second: Profile) -> None:
    one, two = comparable(first), comparable(second)
    assert set(two.pop("facts")) <= set(one.pop("facts"))
    assert one == two


DIFFERENT_IN_3 = {
    # Tables are asked for like those of a SQL engine, which counts no series of a database.
    "facts",
    # There it is empty: only InfluxDB 1.x and 2.x are asked for tags and fields apart.
    "role_reason",
    # There is no index of series to count, and no shard group to set.
    "databases",
}


def test_profile_of_influxdb_3_is_the_same_but_for_what_is_listed(first: Profile, third: Profile) -> None:
    assert third.gaps == ()
    one, three = comparable(first), comparable(third)
    for profile in (one, three):
        for key in DIFFERENT_IN_3:
            profile.pop(key, None)
        tables = {m["name"]: m for m in profile.pop("measurements")}
        for table in tables.values():
            # Only a catalogue of columns tells it.
            del table["time_type"], table["time_reason"]
            for column in (*table["tags"], *table["fields"]):
                del column["role_reason"]
        # A type conflict cannot be; of 200,000 series InfluxDB 1.x reads rows of some, 3 of all.
        conflict, requests = tables.pop("conflict"), tables.pop("requests")
        assert len(conflict["fields"][0]["types"]) == (2 if profile is one else 1)
        profile["tables"] = tables
        for tag in requests["tags"]:
            for key in ("changes", "reports", "turnover", "busiest"):
                tag.pop(key, None)
        profile["requests"] = {key: requests[key] for key in ("name", "series", "tags", "tag_sets", "time_column")}
        profile["types"] = [(field["key"], field["types"]) for field in requests["fields"]]
    assert one == three
    assert [[r.duration_s for r in d.retention or ()] for d in third.databases] == [[FOREVER]]
    (requests,) = [m for m in third.measurements if m.name == "requests"]
    assert requests.rows is not None
    assert (requests.rows.value, requests.rows.source.how) == (REQUESTS, How.EXACT)
    (scaled,) = [m.rows for m in first.measurements if m.name == "requests"]
    assert scaled is not None
    # Each of the 64 series read has one row; any of the others, of which none was read, may have more.
    assert (scaled.value, scaled.is_lower_bound) == (REQUESTS, True)


@pytest.mark.parametrize("generation", ["influxdb1", "influxdb2"])
def test_what_the_profile_says(generation: str, request: pytest.FixtureRequest) -> None:
    profile: Profile = request.getfixturevalue({"influxdb1": "first", "influxdb2": "second"}[generation])
    assert profile.gaps == ()
    found = {m.name: m for m in profile.measurements}
    assert set(ODD) < set(found)
    requests = found["requests"]
    assert requests.series is not None
    assert (requests.series.value, requests.series.source.how) == (REQUESTS, How.EXACT)
    request_id = requests.tag("request_id")
    assert request_id is not None
    assert request_id.values is not None
    assert request_id.values.value == REQUESTS
    logins = found["logins"].tag_sets
    assert logins is not None
    assert (logins.worst_case, logins.series) == (12, 6)
    assert found["conflict"].fields[0].types == ("integer", "string")
    (database,) = profile.databases
    assert database.series is not None
    assert database.series.value == sum(m.series.value for m in profile.measurements if m.series)
    assert database.retention is not None
    assert [r.duration_s for r in database.retention] == [FOREVER]
    for name in ODD:
        (tag,) = found[name].tags
        assert (tag.key, tag.sample) == (f"t {name}", (f"v {name}",))
        assert [f.key for f in found[name].fields] == [f"f {name}"]
        assert found[name].rows is not None


def test_statements_do_not_grow_with_small_measurements(second: Profile) -> None:
    """Nor with series, tags or days: what is big, or has an unclear name, takes its own; two are look-ups."""
    asked = {cost.fact: cost.statements for cost in second.costs}
    unclear = sum(not {",", "\\"}.isdisjoint(m.name) for m in second.measurements)
    assert asked.pop("series_listing") == 1 + unclear
    assert asked.pop("row_sample") < len(second.measurements)
    assert asked.pop("row_count", 0) <= len(second.measurements) / 2
    assert all(count <= 3 for count in asked.values()), asked


@pytest.mark.parametrize("generation", ["influxdb1", "influxdb2"])
def test_what_the_audit_says(generation: str, request: pytest.FixtureRequest) -> None:
    profile: Profile = request.getfixturevalue({"influxdb1": "first", "influxdb2": "second"}[generation])
    result = evaluate(profile)
    found = {(rule.code, f.subject.measurement, f.subject.column) for rule, f in result.findings()}
    assert ("TAG002", "requests", "request_id") in found
    assert {code for code, *_ in found} >= {"NAM001", "NAM002"}


def test_bucket_is_empty(server: Conversation) -> None:
    profile = collected(write(EMPTY, "influxdb2", server))
    assert profile.measurements == ()
    # A bucket without data is not in order, there is nothing in it to judge.
    assert {gap.reason for gap in profile.gaps} == {Reason.NOTHING_THERE}
    (database,) = profile.databases
    assert database.series is not None
    assert database.series.value == 0
    assert database.retention is not None
    assert database.retention[0].partition_s == timedelta(days=7).total_seconds()
