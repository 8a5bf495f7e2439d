"""No command says `1 measurements` or `2 target`, whatever it counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import DAY
from tests.cli.conftest import Tsaudit
from tests.databases import Dataset, Row, Table, times, write
from tsaudit import run

SAME = {"series", "times", "as", "is", "its", "was", "has", "this", "needs", "plus", "alias", "status", "bytes", "less"}
ONE = re.compile(r"(?<![\d.,:/\w-])1 ((?:[a-z]+ )?([a-z]+s))\b(?!:| files?\b)")
SEVERAL = re.compile(
    r"(?<![\d.,:/\w-])(?:0|[2-9]|[1-9]\d+) "
    r"(target|finding|rule|plan|step|row|measurement|table|column|tag|field|day|audit|message|statement|value|incident|"
    r"database|decision|reason|index|point|profile|report|owner|gap|name)\b(?!-)"
)


def wrong(text: str) -> list[str]:
    """Counts with the wrong number of their noun."""
    singular = [m[0] for m in ONE.finditer(text) if m[2] not in SAME and not m[2].endswith("ss")]
    return singular + [m[0] for m in SEVERAL.finditer(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 measurements, 2 statements", ["1 measurements"]),
        ("1 tag values", ["1 tag values"]),
        ("1 columns file, 2 columns files", []),
        ("1 series, 11 series, 1.1 rows, 2026-01-1 days", []),
        ("2 target", ["2 target"]),
        ("0 findings and 1 finding", []),
        ("10 row", ["10 row"]),
    ],
)
def test_the_check_itself(text: str, expected: list[str]) -> None:
    assert wrong(text) == expected


@pytest.fixture(params=[1, 2], ids=["one", "two"])
def counted(request: pytest.FixtureRequest, folder: Path) -> int:
    """The number of targets, of tables in each, of tags, fields, and audited days."""
    count: int = request.param
    tags = tuple(f"tag{n}" for n in range(count))
    rows = [
        Row(at, dict.fromkeys(tags, f"v{i % count}"), {f"f{n}": f"{i % 50}" for n in range(count)})
        for i, at in enumerate(times(60))
    ]
    for name in ("shop", "plant"):
        (folder / f"{name}.db").unlink()
        tables = [
            Table(f"t{n}", tags, {f"f{m}": "string" for m in range(count)}, rows, key=("time", *tags))
            for n in range(count)
        ]
        write(Dataset(tables), "sqlite", folder / f"{name}.db")
    config = (folder / "tsaudit.yaml").read_text()
    if count == 1:
        (folder / "tsaudit.yaml").write_text(config.split("  - name: plant")[0])
    return count


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check",),
    ("audit", "--all"),
    ("audit", "--format", "markdown", "--all"),
    ("show", "shop"),
    ("show", "shop", "FLD002"),
    ("plan", "shop"),
    ("incidents",),
    ("history", "list"),
    ("history", "compact"),
    ("backtest", "FLD002"),
    ("baseline", "--dry-run"),
    ("baseline",),
    ("history", "decisions"),
    ("reopen", "--all", "--dry-run"),
    ("reopen", "--all"),
    ("what-if", "shop", "t0", "--drop", "tag0"),
    ("schema", "export", "shop"),
    ("schema", "check", "shop"),
    ("init", "--force", "--config", "other.yaml"),
    ("version",),
)


@pytest.mark.costly
def test_no_command_counts_wrongly(
    counted: int, tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    said: list[str] = []
    audit_target = run.audit_target

    def heard(*arguments: object, progress: Callable[[str], None] | None = None, **options: object) -> run.AuditRun:
        return audit_target(*arguments, progress=said.append, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(run, "audit_target", heard)
    monkeypatch.setattr("tsaudit.cli.discovery._servers", lambda: iter(()))
    for number in range(counted):
        tsaudit("audit", "--day", (DAY + timedelta(number)).isoformat())
    ran = 0
    for command in COMMANDS:
        done = tsaudit(*command)
        assert done.exit_code != 70, done.stderr
        ran += done.exit_code != 2
        assert wrong(done.stdout + done.stderr) == [], command
    assert wrong("\n".join(said)) == []
    assert any("measurement" in line for line in said)
    assert ran >= len(COMMANDS) - 3, "a test of commands that are not run is none"
