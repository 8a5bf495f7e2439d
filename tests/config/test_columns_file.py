"""Columns files: what is written is what is read, and what cannot be read is said with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.config.columns_file import ColumnsFileError, FileColumn, Schema, dumps, loads, read, write

AIR = (
    FileColumn("time", "timestamp"),
    FileColumn("sensor_id", "tag"),
    FileColumn("temperature", "field", "float"),
    FileColumn("humidity", "field", "float"),
)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)
columns = st.builds(FileColumn, names, st.sampled_from(["timestamp", "tag"]).map(str), st.none()) | st.builds(
    FileColumn, names, st.just("field"), st.none() | st.sampled_from(["float", "integer", "DOUBLE PRECISION"])
)


def test_the_format_is_the_one_that_an_explicit_bucket_takes() -> None:
    assert dumps(AIR) == (
        "name,type,data_type\ntime,timestamp,\nsensor_id,tag,\ntemperature,field,float\nhumidity,field,float\n"
    )


@given(st.lists(columns, max_size=8, unique_by=lambda c: c.name))
def test_what_is_written_is_what_is_read(found: list[FileColumn]) -> None:
    assert loads(dumps(found)) == tuple(found)


@pytest.mark.parametrize("name", ["cpu", "..", "a/b", "ü ☃", "q\"uo'te", "new\nline", "%41", "-rf", "x.csv"])
def test_any_name_is_a_file_of_its_own(tmp_path: Path, name: str) -> None:
    schema: Schema = {(name, name): AIR, (name, "other"): AIR[:1]}
    files = write(tmp_path / "schema", schema, replace=False)
    assert all(tmp_path / "schema" in file.resolve().parents for file in files)
    assert read(tmp_path / "schema") == schema


def test_old_files_go_only_when_asked(tmp_path: Path) -> None:
    write(tmp_path, {("main", "cpu"): AIR}, replace=False)
    (tmp_path / "main" / "notes.txt").write_text("mine")
    with pytest.raises(ColumnsFileError, match=r"already contains columns files, such as cpu\.csv; pass --replace"):
        write(tmp_path, {("main", "mem"): AIR}, replace=False)
    write(tmp_path, {("main", "mem"): AIR}, replace=True)
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == ["mem.csv", "notes.txt"]


def test_nothing_is_lost_when_a_file_cannot_be_written(tmp_path: Path) -> None:
    write(tmp_path, {("main", "cpu"): AIR}, replace=False)
    with pytest.raises(ColumnsFileError, match="too long"):
        write(tmp_path, {("main", "mem"): AIR, ("main", "x" * 300): AIR}, replace=True)
    assert read(tmp_path) == {("main", "cpu"): AIR}
    assert not list(tmp_path.glob(".new-*"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: expected name,type,data_type"),
        ("name,type\n", "line 1: expected name,type,data_type"),
        ("name,type,data_type\nhost,tag\n", "line 2: expected 3 values, found 2"),
        ('name,type,data_type\n"host,tag,\n', "line 2: unexpected end of data"),
        ("name,type,data_type\nhost,label,\n", "line 2: type `label` is not one of timestamp, tag, field"),
        ("name,type,data_type\n,tag,\n", "line 2: a column needs a name"),
        ("name,type,data_type\nhost,tag,string\n", "line 2: only a field has a data type"),
        ("name,type,data_type\nhost,tag,\nhost,tag,\n", "column `host` is declared twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "main" / "cpu.csv"
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(ColumnsFileError) as raised:
        read(tmp_path)
    assert str(raised.value).startswith(f"{file}: {said}")
    assert "\n" not in str(raised.value)


def test_a_folder_without_files_declares_nothing(tmp_path: Path) -> None:
    with pytest.raises(ColumnsFileError, match="contains no columns files; `tsaudit schema export` writes them"):
        read(tmp_path / "nowhere")


def test_a_file_that_is_no_text_is_said(tmp_path: Path) -> None:
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "cpu.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(ColumnsFileError, match=r"cpu\.csv: "):
        read(tmp_path)
