"""Every query file: its header is complete, it reads and never writes, and it renders with what collect gives it."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from tests.builders import NOW
from tests.engines.traits import KEEP_DOCUMENTS
from tsaudit.collect.measuring import measuring_of
from tsaudit.engines import opening, queries
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.engine import Engine
from tsaudit.engines.opening import names_in, problems
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import required_facts
from tsaudit.model.facts import FACTS

OF_ENGINE = {
    engine: [path for fact in queries.query_files(engine) for path in queries.files_by_language(engine, fact).values()]
    for engine in ENGINES
}
FILES = sorted({path for files in OF_ENGINE.values() for path in files})
WORDS = ("fact", "columns", "cost", "grant", "versions", "link")
HOSTILE = "a\"b'c;\n-- d\\"
PARAMETERS = {
    "catalog": HOSTILE,
    "database": HOSTILE,
    "measurement": HOSTILE,
    "columns": [HOSTILE, "v"],
    "texts": [HOSTILE],
    "instants": [HOSTILE],
    "longest": 1000,
    "tags": [HOSTILE, "t"],
    "fields": [HOSTILE, "v"],
    "policies": [HOSTILE, "p"],
    "named_policy": HOSTILE,
    "oldest": True,
    "series": [{HOSTILE: HOSTILE, "t": None}],
    "within": [{HOSTILE: HOSTILE, "t": None}],
    "newest": True,
    "time": HOSTILE,
    "later": "by scan",
    "start": NOW,
    "end": NOW,
    "limit": 10,
    "random": True,
    "viewless": False,
    "whole": False,
    "percent": "0.5",
    "timescaledb": HOSTILE,
    "server": 18,
    "inherited": True,
    "measurements": [HOSTILE, "m"],
    "several": [HOSTILE, "m"],
    "part": "newest",
    "each_type": {HOSTILE: ("float", "string")},
    "org": HOSTILE,
    "org_id": HOSTILE,
    "bucket_id": HOSTILE,
    "dbrp": {"database": HOSTILE, "policy": HOSTILE, "default": False},
}
FLUX_THAT_READS = {"from", "range", "filter", "keys", "keep", "distinct", "group", "first", "limit", "cardinality"}
COMMANDS_THAT_READ = {
    "aggregate",
    "count",
    "dbStats",
    "hostInfo",
    "listCollections",
    "listDatabases",
    "listIndexes",
    "serverStatus",
    "top",
}
STAGES_THAT_READ = {"$sample", "$limit", "$project", "$set", "$unset", "$sort", "$collStats", "$indexStats"}
KINDS = ("timestamp", "zoned", "text", "s", "ms", "us", "ns")


def _header(path: Path) -> dict[str, str]:
    """The `word: text` lines at the beginning of the file, all of which are comments."""
    lines = itertools.takewhile(lambda line: line.startswith(("--", "//")), path.read_text().splitlines())
    found = (re.match(r"(?:--|//)\s*(\w+):\s*(.+)", line) for line in lines)
    return {match[1]: match[2].strip() for match in found if match}


def test_header_is_complete() -> None:
    for path in FILES:
        header = _header(path)
        assert set(header) == set(WORDS), path
        assert header["fact"] == path.stem
        columns = [c.strip() for c in header["columns"].split(",")]
        fixed = [c for c in FACTS[path.stem].columns if c != "*"]
        assert columns[: len(fixed)] == fixed, path
        assert header["link"].startswith("https://"), path


@pytest.mark.parametrize("kind", KINDS)
def test_statement_only_reads(kind: str) -> None:
    for path in FILES:
        _only_reads(path, kind)


def _only_reads(path: Path, kind: str) -> None:
    engine, language = path.parent.name, path.suffix[1:]
    statement = queries.render(engine, path.stem, language, **PARAMETERS, time_kind=kind)
    if language == "json":
        request = json.loads(statement)
        # HTTP's own word, the name of an operation of AWS, or a command of MongoDB.
        asked = request.get("method") or request.get("operation") or next(iter(request))
        assert re.match(r"GET$|List|Describe", asked) or asked in COMMANDS_THAT_READ
        assert {name for stage in request.get("pipeline", ()) for name in stage} <= STAGES_THAT_READ
        return
    # What stands between quotes is a name or a text, however it looks.
    if language in ("influxql", "flux"):
        bare = re.sub(r"\"(\\.|[^\"\\])*\"|'(\\.|[^'\\])*'", "X", statement)
    else:
        bare = re.sub(r"--.*", "", re.sub(r"\"(\"\"|[^\"])*\"|'(''|[^'])*'", "X", statement))
    if language == "flux":
        assert set(re.findall(r"(\w+)\(", bare)) <= FLUX_THAT_READS
        return
    # One request of InfluxQL may have several statements; of SQL, a second one would be somebody else's.
    several = re.split(r";\s+", bare) if language == "influxql" else [bare]
    for one in several:
        assert re.match(r"(EXPLAIN \(FORMAT JSON\)\s+)?(SELECT|WITH|SHOW|DESCRIBE)\b", one)
        rest = one.removeprefix("SHOW CREATE TABLE")
        assert ";" not in rest
        assert "--" not in rest
        written = r"\b(INSERT|UPDATE|DELETE|DROP|CREATE|ALTER|GRANT|REVOKE|KILL|INTO|ATTACH|COPY|PRAGMA|SET)\b"
        assert not re.search(written, rest, re.IGNORECASE)


@pytest.mark.parametrize("engine", ENGINES.values(), ids=lambda engine: engine.name)
def test_files_use_what_their_facts_are_given(engine: Engine) -> None:
    assert list(problems(engine)) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_connector_adds_no_more_than_files_use(engine: str) -> None:
    used = {name for path in OF_ENGINE[engine] for name in names_in(engine, path)}
    assert ENGINES[engine].parameters.keys() <= used


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        (
            "columns.sql",
            "{{ databse | text }}",
            "uses `databse`, which queries for columns do not get, did you mean da",
        ),
        (
            "tag_keys.sql",
            '{% include "_part.sql" %}',
            "uses `limit`, which queries for tag_keys do not get; they get ",
        ),
        ("databases.sql", "{% if %}", "is not a valid template: Expected an expression, got 'end of statement block'"),
    ],
    ids=["misspelt", "included", "no template"],
)
def test_file_of_another_package_with_a_name_that_nobody_fills_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str, expected: str
) -> None:
    engine = _acme(tmp_path, monkeypatch, file, text)
    (problem,) = problems(engine)
    assert problem.startswith(f"{engine.name}/{file} {expected}")
    with pytest.raises(ConnectorError) as caught:
        opening._usable(engine.name)
    assert str(caught.value) == f"the {engine.name} engine of acme 1.0 cannot be used: {problem}"


def test_file_of_another_package_that_uses_what_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{% set table = measurement %}{% include '_own.sql' %} {{ region }} {{ limit }}"
    engine = _acme(tmp_path, monkeypatch, "row_sample.sql", text)
    assert list(problems(engine)) == []
    assert opening._usable(engine.name) is engine


def _acme(root: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str) -> Engine:
    """An engine that is not tsaudit's, with one query file and two that are included. Its connector has no use."""
    engine = Engine()
    engine.name, engine.package, engine.parameters = f"acme_{Path(file).stem}", "acme 1.0", {"region": "where it is"}
    folder = root / engine.name
    folder.mkdir()
    (folder / file).write_text(text)
    (folder / "_part.sql").write_text("LIMIT {{ limit }}")
    (folder / "_own.sql").write_text("FROM {{ table | name }}")
    monkeypatch.setattr(queries, "root", lambda: root)
    monkeypatch.setitem(ENGINES._plug_ins(), engine.name, engine)
    return engine


@pytest.mark.parametrize("engine", ENGINES)
def test_folder_holds_nothing_else(engine: str) -> None:
    folders = [folder for folder in queries.folders(engine) if folder.is_dir()]
    wanted = f"add sql/{engine}/ with a file for each fact, or name the folders in `sql_folders` of the engine"
    assert OF_ENGINE[engine], wanted
    others = {path.name for folder in folders for path in set(folder.iterdir()) - set(FILES)}
    assert "grants.md" in others, f"add sql/{engine}/grants.md: the minimum permissions, and how to grant them"
    assert {name for name in others if not name.startswith("_")} == {"grants.md"}, "not the name of a fact"


@pytest.mark.parametrize("engine", [engine for engine, files in OF_ENGINE.items() if files])
def test_missing_parameter_is_an_error(engine: str) -> None:
    import jinja2

    with pytest.raises(jinja2.UndefinedError):
        queries.render(engine, "documents" if engine in KEEP_DOCUMENTS else "row_sample")


def test_epoch_is_exact_to_the_microsecond() -> None:
    later = NOW.replace(microsecond=1)
    statements = [
        queries.render("duckdb", "null_counts", **PARAMETERS | {"start": NOW, "end": later}, time_kind=kind)
        for kind in ("s", "ns")
    ]
    seconds = int(NOW.timestamp())
    assert f">= {seconds}" in statements[0]
    # Before a microsecond past the second are the rows of that very second.
    assert f"< {seconds + 1}" in statements[0]
    assert f"< {seconds * 1_000_000_000 + 1000}" in statements[1]


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_fact_is_one_that_an_audit_queries(engine: str) -> None:
    """Not only the tests, which query all of them."""
    files = frozenset(queries.query_files(engine))
    queried = measuring_of(ENGINES[engine]).facts_to_query(required_facts(engine), files)
    assert files <= queried
