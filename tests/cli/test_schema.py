"""`tsaudit schema`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Tsaudit, a_table
from tests.databases import Dataset, Row, Table, times, write
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


def test_round_trip(tsaudit: Tsaudit, folder: Path) -> None:
    result = tsaudit("schema", "export", "plant")
    assert (result.exit_code, result.output) == (0, "1 columns file in schema/plant\n")
    assert (folder / "schema" / "plant" / "main" / "cpu.csv").is_file()
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
    result = tsaudit("schema", "export", "plant")
    assert result.exit_code == 2
    assert "pass --replace to remove them" in result.stderr
    assert tsaudit("schema", "export", "plant", "--replace").exit_code == 0


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
