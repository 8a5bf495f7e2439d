"""Commands that only print must not pay for what only an audit needs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
