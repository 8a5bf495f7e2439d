"""Commands that only print must not pay for what only an audit needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tsaudit.cli import catalogue
from tsaudit.rules import all_rules

HEAVY = {"dagster", "numpy", "pyarrow", "sqlalchemy", "pydantic", "duckdb", "urllib3", "jinja2", "slack_sdk", "fsspec"}

PROGRAM = """
import sys
from tsaudit.cli import main
try:
    main(sys.argv[1:])
except SystemExit as done:
    code = done.code
print("\\nloaded:", *sorted({name.split(".")[0] for name in sys.modules}))
sys.exit(code)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["audit", "--help"],
        ["rules"],
        ["rules", "--format", "json"],
        ["explain", "CAR001"],
        ["guidelines"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("cold", [True, False], ids=["cold", "warm"])
def test_imports_when_only_printing(arguments: list[str], cold: bool, tmp_path: Path) -> None:
    environment = os.environ | ({"PYTHONPYCACHEPREFIX": str(tmp_path)} if cold else {})
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded = set(done.stdout.rsplit("loaded:", 1)[1].split())
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_catalogue_when_a_module_changes_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cache" / "catalogue.json"
    monkeypatch.setattr(catalogue, "_file", lambda: str(file))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    made = catalogue.pages()
    assert catalogue.pages() == made
    kept = json.loads(file.read_text())
    seen = {name for name, _, _ in kept["stamp"]}
    assert {f"/{rule.check.__module__.replace('.', '/').removeprefix('tsaudit/')}.py" for rule in all_rules()} <= seen
    kept["rules"] = kept["rules"][:1]
    file.write_text(json.dumps(kept))
    assert catalogue.pages() == made[:1]
    kept["stamp"][1][1] += 1
    file.write_text(json.dumps(kept))
    assert catalogue.pages() == made
    assert json.loads(file.read_text())["stamp"] != kept["stamp"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"stamp": 1}', "\\x00"])
def test_catalogue_when_what_is_kept_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    file = tmp_path / "catalogue.json"
    file.write_text(content)
    monkeypatch.setattr(catalogue, "_file", lambda: str(file))
    assert {page.code for page in catalogue.pages()} == {rule.code for rule in all_rules()}


def test_catalogue_when_nothing_may_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(catalogue, "_file", lambda: str(tmp_path / "file" / "catalogue.json"))
    assert catalogue.pages()
