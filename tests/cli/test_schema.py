"""`tsaudit schema`, as typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.conftest import Tsaudit, a_table
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.influxdb2.conversations import Answer, Tampering, conversation
from tests.servers import Influxd

AIR = Table(
    "airSensors",
    tags=("sensor_id",),
    fields={"temperature": "float", "humidity": "float", "co": "integer"},
    rows=[
        Row(at, {"sensor_id": f"TLM{i % 8:04}"}, {"temperature": i / 7, "humidity": i / 3, "co": i})
        for i, at in enumerate(times(80))
    ],
)


@pytest.mark.parametrize("form", ["csv", "json", "ndjson"])
def test_round_trip(tsaudit: Tsaudit, folder: Path, form: str) -> None:
    result = tsaudit("schema", "export", "plant", "--format", form)
    assert (result.exit_code, result.output) == (0, "1 columns file in schema/plant\n")
    assert (folder / "schema" / "plant" / "main" / f"cpu.{form}").is_file()
    result = tsaudit("schema", "check", "plant")
    assert result.exit_code == 0, result.output
    assert "ok" in result.output


def test_what_is_not_declared_is_found(tsaudit: Tsaudit, folder: Path) -> None:
    tsaudit("schema", "export", "plant")
    (folder / "plant.db").unlink()
    write(Dataset([a_table(text_numbers=True)]), "sqlite", folder / "plant.db")
    result = tsaudit("schema", "check", "plant", "--format", "json")
    assert result.exit_code == 1, result.output
    (finding,) = json.loads(result.output)["findings"]
    assert finding["message"] == "usage is declared as a field of type REAL and is a field of type TEXT."
    result = tsaudit("schema", "check", "plant")
    assert "main/cpu: usage is declared" in result.output


def test_files_are_not_overwritten_unasked(tsaudit: Tsaudit) -> None:
    tsaudit("schema", "export", "plant")
    result = tsaudit("schema", "export", "plant", "--format", "json")
    assert result.exit_code == 2
    assert "pass --replace to remove them" in result.stderr
    assert tsaudit("schema", "export", "plant", "--format", "json", "--replace").exit_code == 0


def test_a_schema_that_cannot_be_read_is_not_half_written(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "plant.db").write_bytes(b"no database")
    result = tsaudit("schema", "export", "plant")
    assert result.exit_code == 3
    assert not (folder / "schema").exists()
    assert "Traceback" not in result.output


def test_a_folder_without_files_is_said(tsaudit: Tsaudit) -> None:
    result = tsaudit("schema", "check", "plant", "--folder", "elsewhere")
    assert result.exit_code == 2
    assert "elsewhere contains no columns files" in result.stderr


def test_influxdb_round_trip_and_what_a_bucket_refuses(tsaudit: Tsaudit, folder: Path, influxd: Influxd) -> None:
    conflict = Table(
        "flow",
        tags=("pump",),
        fields={"litres": "any"},
        rows=[
            Row(at, {"pump": "p1"}, {"litres": value})
            for at, value in zip((times(3)[0], times(40_000)[0]), (1.5, 1), strict=True)
        ],
    )
    target = write(Dataset([AIR, conflict]), "influxdb1", influxd.url)
    (folder / "tsaudit.yaml").write_text(
        f"targets:\n  - {{name: air, engine: influxdb1, url: '{influxd.url}', databases: [{target.databases[0]}]}}\n"
    )
    result = tsaudit("schema", "export", "air", "-d", "columns")
    assert result.exit_code == 1, result.output
    assert "flow: field litres has 2 types, float and integer; a columns file takes one" in result.stderr
    text = (folder / "columns" / target.databases[0] / "airSensors.csv").read_text()
    assert text == (
        "name,type,data_type\ntime,timestamp,\nsensor_id,tag,\nco,field,integer\nhumidity,field,float\n"
        "temperature,field,float\n"
    )
    result = tsaudit("schema", "check", "air", "-d", "columns")
    assert result.exit_code == 1, result.output
    assert "flow is not declared" in result.output
    assert "airSensors" not in result.output


CLOUD = {"X-Influxdb-Version": "v2.7.12", "X-Influxdb-Build": "cloud2"}


def _cloud(columns: list[dict[str, str]] | None) -> Tampering:
    """An InfluxDB Cloud as its API is documented: a bucket that holds `air`, explicit unless `columns` is None."""
    bucket = {"id": "0a", "orgID": "0b", "name": "plant", "type": "user"}
    bucket |= {} if columns is None else {"schemaType": "explicit"}
    mapping = {"database": "plant", "retention_policy": "autogen", "default": True}
    tables: dict[bytes, dict[str, Any]] = {
        b"TAG+KEYS": {"columns": ["tagKey"], "values": [["sensor_id"]]},
        b"FIELD+KEYS": {"columns": ["fieldKey", "fieldType"], "values": [["co", "float"], ["humidity", "string"]]},
    }

    def said(content: Any) -> Answer:
        return Answer(200, CLOUD, content if isinstance(content, bytes) else json.dumps(content).encode())

    def answer(path: str, body: bytes, true: object) -> Answer:
        if path == "/ping":
            return said(b"")
        if path.startswith("/api/v2/buckets/0a/schema/measurements"):
            return said({"measurementSchemas": [{"id": "0c", "name": "air", "columns": columns}]})
        if path.startswith("/api/v2/buckets"):
            return said({"buckets": [bucket]})
        if path.startswith("/api/v2/dbrps"):
            return said({"content": [mapping]})
        if path.startswith("/api/v2/query"):
            return said(b"#datatype,string,long,string\r\n,result,table,_value\r\n,_result,0,air\r\n\r\n")
        series = next(table for words, table in tables.items() if words in body)
        return said({"results": [{"statement_id": 0, "series": [{"name": "air"} | series]}]})

    return answer


DECLARED = [
    {"name": "time", "type": "timestamp"},
    {"name": "sensor_id", "type": "tag"},
    {"name": "co", "type": "field", "dataType": "float"},
    {"name": "humidity", "type": "field", "dataType": "float"},
    {"name": "pressure", "type": "field", "dataType": "float"},
]


def _check_enforced(tsaudit: Tsaudit, folder: Path, columns: list[dict[str, str]] | None) -> Result:
    with conversation("cloud", scripted=True) as server:
        server.tampering = _cloud(columns)
        (folder / "tsaudit.yaml").write_text(
            f"targets:\n  - {{name: cloud, engine: influxdb2, url: '{server.url}', password: owner}}\n"
        )
        return tsaudit("schema", "check", "cloud", "--enforced", "--format", "json")


def test_explicit_bucket_is_compared_with_what_the_server_declares(tsaudit: Tsaudit, folder: Path) -> None:
    result = _check_enforced(tsaudit, folder, DECLARED)
    assert result.exit_code == 1, result.output
    assert [f["message"] for f in json.loads(result.output)["findings"]] == [
        "humidity is declared as a field of type float and is a field of type string.",
        "Field pressure is declared but missing.",
    ]
    kept = [*DECLARED[:3], {"name": "humidity", "type": "field", "dataType": "string"}]
    assert _check_enforced(tsaudit, folder, kept).exit_code == 0


def test_no_bucket_is_explicit(tsaudit: Tsaudit, folder: Path) -> None:
    result = _check_enforced(tsaudit, folder, None)
    assert result.exit_code == 3
    assert result.stderr.strip() == (
        "error: cloud: the server enforces no schema; only explicit buckets of InfluxDB Cloud have one"
    )


def test_engine_enforces_nothing(tsaudit: Tsaudit) -> None:
    assert tsaudit("schema", "check", "plant", "--enforced").exit_code == 3
    assert tsaudit("schema", "check", "plant", "--enforced", "-d", "schema").exit_code == 2


def test_columns_that_the_server_declares_cannot_be_read(tsaudit: Tsaudit, folder: Path) -> None:
    result = _check_enforced(tsaudit, folder, [{"name": "time", "type": "blob"}])
    assert result.exit_code == 3
    assert result.stderr.startswith("error: declared_schema: the server declares a column as blob")
