"""Engines are found by name: looking one up imports its package only."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import writing_of
from tsaudit.engines import registry
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import UnfinishedModuleError
from tsaudit.rules import all_rules, rules_for
from tsaudit_airflow import provider

ROOT = Path(__file__).parents[2]
_IMPORTED = """
import json, sys
{}
print(json.dumps(sorted({{name.split(".")[2] for name in sys.modules if name.startswith("tsaudit.engines.")}})))
"""


def _imported(code: str, *arguments: str) -> set[str]:
    """The modules of `tsaudit.engines` that a process has imported when it has run the code."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTED.format(code), *arguments], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout))


def test_names_are_known_without_any_package() -> None:
    found = _imported(
        "from tsaudit.engines.registry import ENGINES\nassert len(ENGINES) >= 9 and 'oracle' not in list(ENGINES)"
    )
    assert not found & set(ENGINES)


def test_engines_are_described_without_any_dependency() -> None:
    """In Airflow, another environment may have those."""
    code = "from tsaudit.engines.registry import ENGINES, _OWN\nassert all(ENGINES[name].example_url for name in _OWN)"
    subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, check=True)


def test_form_of_airflow_offers_every_engine() -> None:
    assert [*registry._OWN] == provider._ENGINES


def test_engine_is_looked_up_without_the_other_packages() -> None:
    found = _imported("from tsaudit.engines.registry import ENGINES\nassert ENGINES['sqlite'].name == 'sqlite'")
    assert found & set(ENGINES) == {"sqlite"}
    assert "influx" not in found


def test_sqlite_file_is_measured_and_evaluated_without_the_other_packages(tmp_path: Path) -> None:
    """Neither its facts nor its rules need to know another engine."""
    code = (
        "from tsaudit.config.settings import Target\nfrom tsaudit import evaluate, measure\n"
        "profile = measure(Target(name='t', engine='sqlite', url=sys.argv[1]))\n"
        "assert [m.name for m in profile.measurements] == ['cpu']\nassert evaluate(profile).verdict"
    )

    with sqlite3.connect(tmp_path / "x.db") as connection:
        connection.execute("CREATE TABLE cpu (time text, host text, v real)")
        connection.execute("INSERT INTO cpu VALUES ('2026-01-01 00:00:00', 'a', 1.0)")
    connection.close()
    found = _imported(code, f"sqlite:///{tmp_path / 'x.db'}")
    assert found & set(ENGINES) == {"sqlite"}
    assert "influx" not in found


@pytest.mark.parametrize("engine", ENGINES)
def test_rules_for_an_engine_are_those_that_apply_to_it(engine: str) -> None:
    found = [rule for rule in rules_for(engine) if rule.applies_to(engine)]
    assert found == [rule for rule in all_rules() if rule.applies_to(engine)]


def test_scheme_of_others_is_spelled_as_ours() -> None:
    assert ENGINES["postgresql"].spelled("postgres://db7/x?a=://") == "postgresql://db7/x?a=://"
    for url in ("postgresql+psycopg://db7/x", "mongodb+srv://db7", "postgres", "db7:5432"):
        assert ENGINES["postgresql"].spelled(url) == url
    names = [name for engine in ENGINES.values() for name in engine.other_names]
    assert not set(names) & set(ENGINES)
    assert len(names) == len(set(names))


def test_unknown_engine_is_none_of_them() -> None:
    assert "oracle" not in ENGINES
    with pytest.raises(KeyError):
        ENGINES["oracle"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sqlit", "there is no package tsaudit.engines.sqlit; `sqlit` is in _OWN of tsaudit.engines.registry"),
        ("sql", "tsaudit.engines.sql has no engine: set ENGINE to an Engine whose `name` is `sql`"),
    ],
)
def test_name_of_ours_without_an_engine_is_one_line(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_OWN", (*registry._OWN, name))
    with pytest.raises(UnfinishedModuleError) as caught:
        ENGINES[name]
    assert str(caught.value) == said


def test_engine_without_its_writing_is_one_line() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"^there is no tests/engines/oracle/writing\.py: copy "):
        writing_of("oracle")


DOCUMENTS = ("README.md", "docs/configuration.md", "docs/engines.md")


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize("engine", ENGINES)
def test_documents_list_every_engine(engine: str, document: str) -> None:
    rows = re.findall(r"^\|.*\|$", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
    row = f"add a row with `{engine}` in its column `engine:` to the table in {document}"
    assert any(f"`{engine}`" in line.split("|")[2] for line in rows), row
