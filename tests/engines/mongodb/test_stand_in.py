"""The stand-in for MongoDB is no kinder than MongoDB: what a server refuses, it refuses."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest
from pymongo import MongoClient
from pymongo.errors import ConfigurationError, OperationFailure

from tests.engines.mongodb.double import MongoDB
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.opening import open_connection
from tsaudit.net.port_probe import what_listens


@pytest.fixture
def server() -> Iterator[MongoDB]:
    found = MongoDB()
    yield found
    found.stop()


def refusal(server: MongoDB, command: dict[str, Any]) -> OperationFailure:
    with MongoClient[dict[str, Any]](server.url) as client, pytest.raises(OperationFailure) as refused:
        client.get_database("shop").command(command)
    return refused.value


@pytest.mark.parametrize(
    "command",
    [
        {"find": "a", "filtre": {}},
        {"count": "a", "filter": {}},
        {"aggregate": "a", "pipeline": [], "cursor": {}, "limit": 1},
        {"listCollections": 1, "names": True},
        {"listIndexes": "a", "nameOnly": True},
        {"dbStats": 1, "verbose": True},
        {"find": "a", "rawData": True},
    ],
    ids=lambda command: f"{next(iter(command))}.{list(command)[-1]}",
)
def test_a_field_that_the_command_does_not_have_is_refused(server: MongoDB, command: dict[str, Any]) -> None:
    found = refusal(server, command)
    assert found.code == 40415
    assert f"'{next(iter(command))}.{list(command)[-1]}' is an unknown field" in str(found)


def test_an_aggregation_without_a_cursor_is_refused(server: MongoDB) -> None:
    assert refusal(server, {"aggregate": "a", "pipeline": []}).code == 9


def test_a_probed_port_is_known_for_mongodb(server: MongoDB, capfd: pytest.CaptureFixture[str]) -> None:
    assert what_listens("127.0.0.1", server.port) == "MongoDB"
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as peer:
        peer.sendall(bytes.fromhex("0000000804d2162f0000000000000000"))
        assert peer.recv(1) == b""
    assert capfd.readouterr().err == ""


def test_server_status_takes_the_name_of_any_section(server: MongoDB) -> None:
    with MongoClient[dict[str, Any]](server.url) as client:
        assert client.admin.command({"serverStatus": 1, "anything": 0})["ok"] == 1.0


@pytest.mark.parametrize(
    ("version", "wire"), [("4.4.29", 9), ("5.0.1", 13), ("6.0.0", 17), ("7.0.4", 21), ("8.0.4", 25)]
)
def test_each_version_reports_its_own_wire_version(version: str, wire: int) -> None:
    server = MongoDB(version)
    try:
        with MongoClient[dict[str, Any]](server.url) as client:
            assert client.admin.command("hello")["maxWireVersion"] == wire
    finally:
        server.stop()


def test_a_driver_refuses_a_server_that_is_too_old_for_it() -> None:
    server = MongoDB("4.2.24")
    try:
        with MongoClient[dict[str, Any]](server.url) as client, pytest.raises(ConfigurationError, match="wire version"):
            client.admin.command("ping")
    finally:
        server.stop()


def test_fields_of_newer_versions_are_refused_by_older_ones() -> None:
    server = MongoDB("4.4.29")
    try:
        series = {"create": "cpu", "timeseries": {"timeField": "at"}}
        assert "create.timeseries" in str(refusal(server, series))
    finally:
        server.stop()


def test_tsaudit_says_in_one_line_that_a_server_is_too_old() -> None:
    server = MongoDB("4.2.24")
    target = Target.model_validate({"name": "shop", "engine": "mongodb", "url": server.url})
    try:
        with pytest.raises(ConnectorError, match=r"MongoDB 4\.4") as refused, open_connection(target):
            pytest.fail("4.2 is older than what the driver speaks")
        assert "\n" not in str(refused.value)
    finally:
        server.stop()
