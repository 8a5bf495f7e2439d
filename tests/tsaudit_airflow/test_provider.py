"""What Airflow knows about the package: the type of connections with its form, and the modules it lists."""

from __future__ import annotations

import base64
import json
import sqlite3
from importlib import import_module
from pathlib import Path
from typing import Any

import airflow
import jsonschema
import pytest
from airflow.api_fastapi.core_api.services.ui.connections import HookMetaService
from airflow.models.connection import Connection
from airflow.sdk.providers_manager_runtime import ProvidersManagerTaskRuntime

from tests.serving import Handler, serving_http
from tsaudit_airflow.provider import get_provider_info

CORE = Path(airflow.__file__).parent


def test_information_when_checked_by_airflow_is_valid_and_names_what_exists() -> None:
    found = get_provider_info()
    jsonschema.validate(found, json.loads((CORE / "provider_info.schema.json").read_text()))
    # Forms are only in the schema of the file that Airflow's own providers have.
    source = json.loads((CORE / "provider.yaml.schema.json").read_text())
    jsonschema.validate(found["connection-types"], source["properties"]["connection-types"])
    for kind in ("operators", "hooks"):
        for listed in found[kind]:
            assert [import_module(module) for module in listed["python-modules"]]
    for name in (*found["notifications"], *found["extra-links"]):
        module, _, member = name.rpartition(".")
        assert hasattr(import_module(module), member)


def test_form_when_a_connection_is_added_has_what_tsaudit_needs() -> None:
    (form,) = [one for one in HookMetaService.hook_meta_data() if one.connection_type == "tsaudit"]
    assert form.hook_name == "tsaudit"
    assert form.standard_fields is not None
    assert form.standard_fields.url_schema is not None
    assert (form.standard_fields.url_schema.title, form.standard_fields.url_schema.hidden) == ("Database", False)
    assert form.extra_fields is not None
    assert set(form.extra_fields) == {"engine", "token"}
    # The form shows them as they are, not as Markdown.
    assert not [one for one in form.extra_fields.values() if "`" in one["description"]]
    assert form.standard_fields.host is not None
    assert {text[0] for text in str(form.standard_fields.host.placeholder).split(", or ")} >= {"/"}
    assert ProvidersManagerTaskRuntime().hooks["tsaudit"]


@pytest.fixture
def database(tmp_path: Path) -> str:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute("create table cpu (time text, usage real)")
    connection.close()
    return f"{tmp_path}/shop.db"


def pressed(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> tuple[bool, str]:
    """As by the button in the form."""
    connection = Connection(conn_id="shop_db", conn_type="tsaudit", **fields)
    monkeypatch.setenv("AIRFLOW_CONN_SHOP_DB", connection.get_uri())
    found: tuple[bool, str] = connection.test_connection()
    return found


def test_connection_when_tested_names_the_engine_and_its_version(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = f"connected: sqlite {sqlite3.sqlite_version}"
    assert pressed(monkeypatch, host=database, extra={"engine": "sqlite"}) == (True, expected)


class _RefusesLogins(Handler):
    """Like InfluxDB 1: tells its version to everybody, and answers only those that it knows."""

    def do_GET(self) -> None:
        self.answer(204, X_Influxdb_Version="1.8.10")

    def do_POST(self) -> None:
        self.content()
        if self.headers["Authorization"] == "Basic " + base64.b64encode(b"ada:right-4711").decode():
            self.answer(200, b'{"results":[{"statement_id":0}]}\n')
        else:
            self.answer(401, b'{"error":"authorization failed"}\n')


@pytest.mark.parametrize(("password", "works"), [("right-4711", True), ("wrong-4711", False)])
def test_connection_when_the_server_tells_everybody_its_version_is_tested_with_the_login(
    password: str, works: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_http(_RefusesLogins) as server:
        place = {"host": "127.0.0.1", "port": server.server_address[1], "login": "ada", "password": password}
        found, text = pressed(monkeypatch, **place, extra={"engine": "influxdb1"})
    assert found is works
    assert ("connected: influxdb1 1.8.10" if works else "authorization failed") in text
    assert password not in text


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"host": "db"}, "choose an engine"),
        ({"host": "/nowhere/shop.db", "extra": {"engine": "sqlite"}}, "there is no file /nowhere/shop.db"),
        ({"host": "db", "extra": {"engine": "oracle"}}, "unknown engine `oracle`"),
        ({"host": "127.0.0.1", "port": 1, "extra": {"engine": "influxdb1"}}, "http://127.0.0.1:1 does not respond"),
        ({"host": "http://127.0.0.1:1?org=acme", "password": "${HOME}", "extra": {"engine": "influxdb2"}},
         "http://127.0.0.1:1 does not respond"),
        ({"host": "http://127.0.0.1:1", "login": "ada", "extra": {"engine": "influxdb2", "token": "se-cr-et-4711"}},
         "InfluxDB 2 requires an API token: set it as `password`, without `username`"),
    ],
)  # fmt: skip
def test_connection_when_it_cannot_be_used_says_why_in_a_line(
    fields: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    works, text = pressed(monkeypatch, **fields)
    assert not works
    assert expected in text
    assert "\n" not in text
    assert "se-cr-et-4711" not in text
