"""MongoDB: what its errors mean, what it costs, and how what several shards say is put together."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import bson
import pymongo
import pytest
from bson.dbref import DBRef
from pymongo import monitoring

from tests.builders import NOW
from tests.collecting import collected, collected_with
from tests.databases import Collection, Dataset, times, write
from tests.engines.mongodb.double import MongoDB, User
from tests.engines.mongodb.pipeline import CommandError
from tests.query_parameters import filled
from tsaudit.collect.probing import probe
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.mongodb.commands import Client
from tsaudit.engines.mongodb.connector import description, sample_size
from tsaudit.engines.mongodb.documents import leaves
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import How, Reason
from tsaudit.model.profile import Profile

PASSWORD = "secret"
SERIES = {"timeseries": {"timeField": "at", "metaField": "meta", "granularity": "seconds"}}
READINGS = Collection(
    "readings",
    [{"at": at, "meta": {"host": f"h{i % 3}"}, "celsius": i / 2} for i, at in enumerate(times(60))],
    options=SERIES,
)
USERS = Collection("users", [{"user_id": i} for i in range(300)], unique=("user_id",))
SHOP = Dataset(collections=(READINGS, USERS), database="shop")


@contextlib.contextmanager
def running(version: str = "8.0.4", **settings: Any) -> Iterator[MongoDB]:
    server = MongoDB(version, **settings)
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def restricted(*roles: tuple[str, str], version: str = "8.0.4") -> Iterator[Target]:
    """A server on which the audit's user has these roles, with the shop on it."""
    owner = User(PASSWORD, (("readWrite", "shop"),))
    with running(version, users={"owner": owner, "tsaudit": User(PASSWORD, roles)}) as server:
        write(SHOP, "mongodb", server.url.replace("//", f"//owner:{PASSWORD}@"))
        yield Target(
            name="t", engine="mongodb", url=server.url, username="tsaudit", password=PASSWORD, databases=("shop",)
        )


def _reasons(profile: Profile) -> dict[str, Reason]:
    return {gap.fact: gap.reason for gap in profile.gaps}


def test_nothing_is_missing_with_the_documented_roles() -> None:
    with restricted(("readAnyDatabase", "*"), ("clusterMonitor", "admin")) as target:
        profile = collected(target)
        assert profile.gaps == ()
        with open_connection(target) as connection:
            assert probe(target, connection, NOW).profile.gaps == ()
    readings, users = profile.measurements
    assert users.indexes is not None
    assert {i.name: i.scans for i in users.indexes} == {"_id_": 0, "user_id_1": 0}
    assert users.activity is not None
    assert users.activity.writes == 300
    assert readings.buckets is not None


def test_each_missing_right_is_named_by_its_gap() -> None:
    with restricted(("read", "shop")) as target:
        profile = collected(target)
    assert _reasons(profile) == dict.fromkeys(("activity", "buckets", "index_use", "server_status"), Reason.DENIED)
    details = {gap.fact: gap.detail for gap in profile.gaps}
    assert "grant it clusterMonitor on admin (action indexStats)" in details["index_use"]
    assert "(actions top and serverStatus)" in details["activity"]
    assert "grant it readAnyDatabase on admin" in details["buckets"]
    readings, users = profile.measurements
    assert users.indexes is not None
    assert [i.scans for i in users.indexes] == [None, None]
    assert users.storage is not None
    assert readings.documents is not None


def test_no_heartbeat_comes_late_while_a_statement_runs() -> None:
    """When one does, on a busy server, the driver cancels the statement."""
    client = Client("mongodb://127.0.0.1:1", 10.0, {})
    try:
        assert client.driver.options.heartbeat_frequency > Budget().deadline_s
    finally:
        client.driver.close()


def test_read_is_enough_for_buckets_where_time_series_have_no_collection_of_them() -> None:
    with restricted(("read", "shop"), version="9.0.0") as target:
        assert "buckets" not in _reasons(collected(target))


def test_all_is_denied_without_rights_or_with_a_wrong_password() -> None:
    with restricted(("read", "elsewhere")) as target:
        profile = collected(target)
        assert set(_reasons(profile).values()) == {Reason.DENIED}
        assert "grant it read on the database, see sql/mongodb/grants.md" in profile.gaps[0].detail
        wrong = Target(
            name="t", engine="mongodb", url=target.url, username="tsaudit", password="wrong", databases=("shop",)
        )
        said = r"the server rejects the user name or the password \(Authentication failed\)"
        with pytest.raises(ConnectorError, match=said), open_connection(wrong):
            pass


def test_server_that_refuses_its_version_is_quoted_with_what_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise CommandError(8000, "AtlasError", "not allowed here")

    with running() as server:
        monkeypatch.setattr(server, "_buildinfo", refuse)
        target = Target(name="t", engine="mongodb", url=server.url)
        said = r"the server rejects the command buildInfo \(not allowed here\)"
        with pytest.raises(ConnectorError, match=said), open_connection(target):
            pass


def test_buckets_that_are_still_written_tell_their_rows_by_their_places() -> None:
    with running("7.0.14") as server:
        (readings, _) = collected(write(SHOP, "mongodb", server.url)).measurements
    assert readings.buckets is not None
    assert readings.buckets.median_rows == 20
    assert readings.rows is not None
    assert readings.rows.value == 60


def test_buckets_are_where_they_were_until_an_upgrade_is_finished() -> None:
    with running("9.0.0") as server:
        server.upgrading = True
        profile = collected(write(SHOP, "mongodb", server.url))
        (sent,) = [c for c in server.commands if "control.count" in str(c)]
    assert (sent["aggregate"], "rawData" in sent) == ("system.buckets.readings", False)
    assert profile.measurements[0].buckets is not None


@pytest.mark.parametrize("version", ["8.0.4", "9.0.0"])
def test_buckets_tell_how_a_time_series_is_filled(version: str) -> None:
    with running(version) as server:
        (readings, _) = collected(write(SHOP, "mongodb", server.url)).measurements
        sent = next(c for c in server.commands if "$sample" in str(c) or "control.count" in str(c))
    assert readings.buckets is not None
    # Sixty minutes up to the full hour, three hosts.
    assert (readings.buckets.count, readings.buckets.sources, readings.buckets.median_rows) == (3, 3, 20)
    assert readings.rows is not None
    assert readings.rows.value == 60
    assert sent["aggregate"] == ("readings" if version.startswith("9") else "system.buckets.readings")
    assert sent.get("rawData", False) is version.startswith("9")
    assert (readings.time_column, [t.key for t in readings.tags]) == ("at", ["meta.host"])
    assert readings.options is not None
    assert readings.options["timeseries.metaField"] == "meta"


def test_what_shards_say_is_summed() -> None:
    with running() as server:
        alone = collected(write(SHOP, "mongodb", server.url))
    with running(shards=3) as server:
        sharded = collected(write(SHOP, "mongodb", server.url))
    assert [m.storage for m in sharded.measurements] == [m.storage for m in alone.measurements]
    assert sharded.measurements[0].buckets == alone.measurements[0].buckets
    # Uses cannot be had from a mongos.
    (gap,) = sharded.gaps
    assert (gap.fact, gap.reason) == ("activity", Reason.UNSUPPORTED)


def test_disk_is_that_of_the_fullest_shard() -> None:
    with running(shards=2) as server:
        server.disks = [(1_000_000, 900_000), (9_000_000, 100_000)]
        (database,) = collected(write(SHOP, "mongodb", server.url)).databases
    assert database.storage is not None
    assert (database.storage.disk_used_bytes, database.storage.disk_bytes) == (900_000, 1_000_000)


def test_disk_that_the_server_does_not_tell_of_is_a_gap() -> None:
    with running() as server:
        server.disks = [(0, 0)]
        profile = collected(write(SHOP, "mongodb", server.url))
    assert _reasons(profile) == {"database_storage": Reason.UNSUPPORTED}
    assert profile.databases[0].storage is not None
    assert profile.databases[0].storage.disk_bytes is None


_OF_THE_PRIMARY = ("'top'", "$indexStats", "serverStatus", "hostInfo")
"""Commands about what each server counts for itself."""


def test_each_statement_has_a_time_and_a_place_to_read() -> None:
    with running(shards=2) as server:
        target = write(SHOP, "mongodb", server.url)
        sent = len(server.commands)
        collected(target)
        # Further batches have the time that is left of their first command's.
        commands = [command for command in server.commands[sent:] if "getMore" not in command]
    assert len(commands) > 10
    for command in commands:
        assert 0 < command["maxTimeMS"] <= 60_000, command
        assert command["comment"] == "tsaudit"
        counts = any(name in str(command) for name in _OF_THE_PRIMARY)
        assert command["$readPreference"] == {"mode": "primaryPreferred" if counts else "secondaryPreferred"}, command


@contextlib.contextmanager
def replica_set() -> Iterator[tuple[MongoDB, MongoDB, str]]:
    """A primary, a secondary with the same data, and the set's address."""
    with running() as first, running() as second:
        hosts = [f"127.0.0.1:{server.port}" for server in (first, second)]
        of_all = {"setName": "rs0", "hosts": hosts, "primary": hosts[0], "setVersion": 1}
        first.member = of_all | {"me": hosts[0], "electionId": bson.ObjectId()}
        second.member = of_all | {"me": hosts[1], "isWritablePrimary": False, "ismaster": False, "secondary": True}
        second.databases = first.databases
        yield first, second, f"mongodb://{','.join(hosts)}/?replicaSet=rs0"


def _clients_wait_for_both_members(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients find both members before their first command: without that, it goes to whichever is found first."""
    bare = pymongo.MongoClient.__init__

    def init(self: pymongo.MongoClient[Any], *arguments: Any, **settings: Any) -> None:
        found = threading.Event()

        class Members(monitoring.TopologyListener):
            def opened(self, event: monitoring.TopologyOpenedEvent) -> None: ...

            def description_changed(self, event: monitoring.TopologyDescriptionChangedEvent) -> None:
                kinds = {server.server_type_name for server in event.new_description.server_descriptions().values()}
                if kinds == {"RSPrimary", "RSSecondary"}:
                    found.set()

            def closed(self, event: monitoring.TopologyClosedEvent) -> None: ...

        bare(self, *arguments, event_listeners=[Members()], **settings)
        assert found.wait(60)

    monkeypatch.setattr(pymongo.MongoClient, "__init__", init)


def test_secondary_is_read_and_the_primary_tells_its_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    _clients_wait_for_both_members(monkeypatch)
    with replica_set() as (primary, secondary, url):
        target = write(SHOP, "mongodb", url)
        sent = len(primary.commands)
        profile = collected(target)
        of_primary = [str(command) for command in primary.commands[sent:]]
        assert profile.gaps == ()
        assert {any(name in c for name in _OF_THE_PRIMARY) for c in of_primary} == {True}
        assert any("$collStats" in str(command) for command in secondary.commands)
        assert not any("top" in command for command in secondary.commands)


def test_set_without_a_primary_is_audited() -> None:
    with replica_set() as (primary, secondary, url):
        target = write(SHOP, "mongodb", url)
        primary.member |= {"isWritablePrimary": False, "ismaster": False, "secondary": True}
        secondary.member.pop("primary")
        primary.member.pop("primary")
        profile = collected(target)
        assert profile.gaps == ()
        assert len(profile.measurements) == 2


def test_uses_of_all_databases_are_asked_for_once() -> None:
    dataset = Dataset(collections=(USERS,), database="shop", beside=(Dataset(collections=(USERS,), database="store"),))
    with running() as server:
        profile = collected(write(dataset, "mongodb", server.url))
        assert sum("top" in command for command in server.commands) == 1
    assert [m.activity.writes for m in profile.measurements if m.activity] == [300, 300]


def test_answers_in_many_batches_are_read_to_their_end() -> None:
    names = [f"c{i:04}" for i in range(700)]
    dataset = Dataset(collections=[Collection(name, [{"v": 1}]) for name in names])
    with running() as server:
        profile = collected(write(dataset, "mongodb", server.url), wanted=frozenset({"measurements"}))
        assert [m.name for m in profile.measurements] == names
        assert server.cursors == {}
        # With names alone asked for, no collection is looked into.
        assert {next(iter(c)) for c in server.commands[-12:]} <= {
            "listCollections",
            "getMore",
            "listDatabases",
            "count",
        }


def test_documents_are_chosen_at_random_only_where_that_is_cheap() -> None:
    many = Collection("many", [{"v": i} for i in range(21_000)])
    few = Collection("few", [{"v": i} for i in range(90)])
    with running() as server:
        profile = collected(write(Dataset(collections=(many, few)), "mongodb", server.url))
        stages = {c["aggregate"]: c["pipeline"] for c in server.commands if "aggregate" in c}
        assert not any("$match" in str(stages) for stages in stages.values())
    assert stages["many"] == [{"$sample": {"size": 1000}}]
    assert stages["few"] == [{"$limit": 1000}]
    found = {m.name: m.documents for m in profile.measurements}
    assert found["many"] is not None
    assert found["many"].source.scope == "1,000 of 21,000 documents, chosen randomly"
    assert found["few"] is not None
    assert found["few"].source.scope == "all 90 documents"


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (None, (1000, False)),
        (0, (1000, False)),
        (2000, (1000, False)),
        (2001, (98, True)),
        (20_000, (980, True)),
        (20_001, (1000, True)),
    ],
)
def test_sample_stays_below_five_percent(total: int | None, expected: tuple[int, bool]) -> None:
    size, random = sample_size(total, 1000)
    assert (size, random) == expected
    assert not random or size < 0.05 * (total or 0)


def test_sample_in_words() -> None:
    assert description(1000, None, 1000, random=False) == "the first 1,000 documents"
    assert description(1000, 1500, 1000, random=False) == "the first 1,000 of 1,500 documents"
    assert description(980, 20_000, 980, random=True) == "980 of 20,000 documents, chosen randomly"
    # As many as were asked for: there may be more than the count in the metadata says.
    assert description(1000, 50, 1000, random=False) == "the first 1,000 documents"
    assert description(60, 50, 1000, random=False) == "all 60 documents"


def test_views_and_the_servers_own_collections_are_left_out() -> None:
    view = Collection("recent", options={"viewOn": "users", "pipeline": [{"$limit": 1}]})
    dataset = Dataset(collections=(READINGS, USERS, view), database="shop")
    with running() as server:
        profile = collected(write(dataset, "mongodb", server.url))
        assert [m.name for m in profile.measurements] == ["readings", "users"]
        assert profile.gaps == ()
        everything = collected(Target(name="t", engine="mongodb", url=server.url))
    assert [d.name for d in everything.databases] == ["shop"]


def test_command_that_takes_too_long_is_given_up_on_the_server_too() -> None:
    with running() as server:
        target = write(SHOP, "mongodb", server.url, budget={"statement_timeout_s": 0.5})
        server.delay_s["aggregate"] = 30
        profile = collected(target, wanted=frozenset({"documents"}))
        assert 0 < next(c for c in server.commands if "aggregate" in c)["maxTimeMS"] <= 500
    reasons = _reasons(profile)
    assert reasons["documents"] is Reason.TIMED_OUT


def test_thousands_of_collections_are_asked_about_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    mongodb = ENGINES["mongodb"]
    few = dict.fromkeys(mongodb.measurements_per_statement, 4)
    monkeypatch.setattr(mongodb, "measurements_per_statement", few)
    asked: dict[str, list[int]] = {}

    def noted(fact: str, parameters: Any) -> None:
        if fact in ("row_estimate", "storage"):
            asked.setdefault(fact, []).append(len(parameters["measurements"]))

    dataset = Dataset(collections=[Collection(f"c{i}", [{"v": 1}]) for i in range(6)])
    with running() as server:
        profile = collected_with(write(dataset, "mongodb", server.url), noted)
    # Each within the time that a statement may take.
    assert asked == {"row_estimate": [4, 2], "storage": [4, 2]}
    assert all(m.rows is not None and m.storage is not None for m in profile.measurements)


def test_large_documents_are_read_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.engines.mongodb.connector.MOST_BYTES", 50_000)
    monkeypatch.setattr("tsaudit.engines.mongodb.connector._BATCH_BYTES", 20_000)
    many = Collection("many", [{"v": "x" * 1000} for _ in range(300)])
    with running() as server:
        target = write(Dataset(collections=(many,), database="shop"), "mongodb", server.url)
        with open_connection(target) as connection:
            rows = connection.query(
                "documents", 60, filled("documents", database="shop", measurement="many", total=300, limit=1000)
            )
            numbers = [number for batch in rows for number in batch.column("document").to_pylist()]
        assert len(server.killed) == 1
    assert sorted(set(numbers)) == list(range(49))
    assert rows.bytes is not None
    assert 50_000 <= rows.bytes < 52_000
    assert rows.scope == "the first 49 of 300 documents"


def test_count_that_is_off_makes_nothing_exact() -> None:
    with running() as server:
        target = write(Dataset(collections=[Collection("c", [{"v": i} for i in range(1200)])]), "mongodb", server.url)
        server.counted_wrongly = -1150
        (found,) = collected(target).measurements
    assert found.documents is not None
    assert (found.documents.read, found.documents.source.how) == (1000, How.SAMPLED)
    assert found.documents.source.scope == "the first 1,000 documents"
    assert found.rows is not None
    assert found.rows.source.how is How.ESTIMATE


def test_index_with_an_order_of_its_own_is_on_no_column() -> None:
    with running() as server:
        target = write(SHOP, "mongodb", server.url)
        with pymongo.MongoClient[dict[str, Any]](server.url) as client:
            client.shop.users.create_index("name", unique=True, name="n", collation={"locale": "de", "strength": 1})
        (_, users) = collected(target).measurements
    assert users.indexes is not None
    assert {i.name: i.columns for i in users.indexes}["n"] == (None,)


def test_collection_that_is_dropped_meanwhile_leaves_no_gap() -> None:
    with running() as server:
        target = write(SHOP, "mongodb", server.url)
        del server.databases["shop"]["readings"]
        del server.databases["shop"]["users"]
        with open_connection(target) as connection:
            rows = connection.query("storage", 60, filled("storage", database="shop", measurements=["users"]))
            assert [batch.num_rows for batch in rows] == [0]


def test_cursor_that_is_left_early_is_closed_on_the_server() -> None:
    many = Collection("many", [{"v": i} for i in range(1500)])
    with running() as server:
        target = write(Dataset(collections=(many,), database="shop"), "mongodb", server.url)
        with open_connection(target) as connection:
            rows = connection.query(
                "documents", 60, filled("documents", database="shop", measurement="many", total=None, limit=1500)
            )
            next(iter(rows))
            rows.close()
        assert len(server.killed) == 1


def test_server_that_is_gone_is_one_clear_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    target = Target(name="t", engine="mongodb", url=f"mongodb://127.0.0.1:{port}/", budget={"statement_timeout_s": 0.5})
    with (
        pytest.raises(ConnectorError, match=r"the server does not respond \(.*\); is the address correct\?"),
        open_connection(target),
    ):
        pass


def test_login_that_is_missing_is_what_is_asked_for() -> None:
    with running(users={"owner": User(PASSWORD, (("readWrite", "shop"),))}) as server:
        profile = collected(Target(name="t", engine="mongodb", url=server.url, databases=("shop",)))
    assert {gap.reason for gap in profile.gaps} == {Reason.DENIED}
    assert "set the target's username and password" in profile.gaps[0].detail


def test_name_without_a_record_is_one_clear_line() -> None:
    target = Target(name="t", engine="mongodb", url="mongodb+srv://nowhere.invalid/")
    with pytest.raises(ConnectorError, match="SRV record"), open_connection(target):
        pass


@pytest.mark.parametrize("url", ["http://db:27017", "mongodb://", "mongodb://db:port/"])
def test_url_that_is_none_is_one_clear_line(url: str) -> None:
    with pytest.raises(ConnectorError, match="URL"), open_connection(Target(name="t", engine="mongodb", url=url)):
        pass


@pytest.mark.parametrize(
    "url", ["mongodb://user:secret/db", "mongodb://us:er:se@secret@db/", "mongodb://u:s%secret@db"]
)
def test_url_that_is_none_keeps_its_password_to_itself(url: str) -> None:
    target = Target(name="t", engine="mongodb", url=url)
    with pytest.raises(ConnectorError, match="percent-encode") as caught, open_connection(target):
        pass
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_leaves_of_a_document_with_values_of_all_types() -> None:
    document = {
        "_id": bson.ObjectId("0" * 24),
        "n": None,
        "b": True,
        "i": 1,
        "l": bson.Int64(1),
        "d": 1.5,
        "s": "text",
        "t": NOW,
        "o": {"a": {"b": "deep"}, "empty": {}},
        "list": [1, 2, 3],
        "bytes": b"\x01\xff",
        "uuid": bson.Binary(b"\x00" * 16, 4),
        "dec": bson.Decimal128("1.5"),
        "re": bson.Regex("a.*"),
        "ref": DBRef("users", 7),
    }
    read = bson.decode(bson.encode(document), bson.CodecOptions(tz_aware=True))
    found = {leaf.path: leaf for leaf in leaves(read)}
    assert {path: leaf.data_type for path, leaf in found.items()} == {
        "_id": "objectId",
        "n": None,
        "b": "bool",
        "i": "int",
        "l": "long",
        "d": "double",
        "s": "string",
        "t": "date",
        "o.a.b": "string",
        "o.empty": "object",
        "list": "array",
        "bytes": "binData",
        "uuid": "binData",
        "dec": "decimal",
        "re": "regex",
        "ref.$ref": "string",
        "ref.$id": "int",
    }
    sizes = {path: leaf.value_bytes for path, leaf in found.items()}
    assert {path: sizes[path] for path in ("_id", "n", "b", "i", "l", "d", "s", "t", "dec", "uuid")} == {
        "_id": 12,
        "n": 0,
        "b": 1,
        "i": 4,
        "l": 8,
        "d": 8,
        "s": 9,
        "t": 8,
        "dec": 16,
        "uuid": 21,
    }
    assert (found["list"].items, found["bytes"].value, found["t"].value) == (3, "01ff", NOW.isoformat())


def test_stand_in_counts_what_bson_takes() -> None:
    with running() as server, pymongo.MongoClient[dict[str, Any]](server.url) as client:
        client.shop.users.insert_many([{"_id": i, "v": "x" * i} for i in range(10)])
        (stats,) = client.shop.users.aggregate([{"$collStats": {"storageStats": {}}}])
        assert stats["storageStats"]["size"] == sum(len(bson.encode({"_id": i, "v": "x" * i})) for i in range(10))
        assert stats["storageStats"]["indexSizes"] == {"_id_": 10 * (4 + 8)}
        with pytest.raises(pymongo.errors.DuplicateKeyError):
            client.shop.users.insert_one({"_id": 3})
        with pytest.raises(pymongo.errors.OperationFailure, match="Unrecognized pipeline stage"):
            list(client.shop.users.aggregate([{"$facet": {}}]))


@pytest.mark.parametrize("code", [59, 115, 238, 304, 305, 40324])
def test_stage_that_a_compatible_product_lacks_is_a_gap(code: int) -> None:
    with running() as server:
        target = write(SHOP, "mongodb", server.url)
        server.refused["$collStats"] = code
        profile = collected(target)
    reasons = _reasons(profile)
    assert {reasons[fact] for fact in ("storage", "indexes", "buckets")} == {Reason.UNSUPPORTED}
    assert profile.measurements[1].documents is not None


def test_ferretdb_is_told_and_not_sent_what_makes_it_hang_up() -> None:
    with running() as server:
        server.product = {"ferretdbVersion": "v1.24.2"}
        profile = collected(write(SHOP, "mongodb", server.url))
        stats = [c["pipeline"] for c in server.commands if "$collStats" in str(c)]
    assert profile.server_version == "FerretDB 1.24.2"
    assert profile.edition == "FerretDB"
    assert stats == [[{"$collStats": {"storageStats": {}}}]] * 2
    assert sample_size(1_000_000, 1000, may_choose=False) == (1000, False)
    assert all(m.storage for m in profile.measurements)


@pytest.mark.parametrize("code", [13, 8000])
def test_what_a_cluster_forbids_is_a_right_that_is_missing(code: int) -> None:
    """8000 is Atlas' own code for what its shared clusters do not let their users do."""
    with running() as server:
        target = write(SHOP, "mongodb", server.url)
        server.refused["$indexStats"] = code
        profile = collected(target)
    assert _reasons(profile)["index_use"] is Reason.DENIED
    (detail,) = {gap.detail for gap in profile.gaps if gap.fact == "index_use"}
    assert "grant it clusterMonitor on admin (action indexStats), see sql/mongodb/grants.md" in detail
