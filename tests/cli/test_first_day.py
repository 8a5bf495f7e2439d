"""The README's three steps on a real InfluxDB: init, check, audit; then what a team does with the result."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from click.testing import Result

from tests.builders import DAY
from tests.cli.conftest import a_table
from tests.command import CliRunner
from tests.databases import Dataset, influxql, new_name, write, write_lines
from tests.servers import Influxd
from tsaudit.cli import discovery, main
from tsaudit.cli.errors import Exit


def tsaudit(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), prog_name="tsaudit")


def test_first_day_when_an_influxdb_runs_here(
    own_influxd: Influxd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(Dataset([a_table(text_numbers=True)]), "influxdb1", own_influxd.url)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TSAUDIT_CONFIG", raising=False)
    monkeypatch.setattr(
        discovery, "_address", lambda host, port: own_influxd.url if port == 8086 else "http://127.0.0.1:1"
    )
    # The tests' server has another port than a default installation.
    monkeypatch.setattr(discovery, "_on", lambda host, url, port: own_influxd.url)

    (database,) = discovery.databases_of("influxdb1", own_influxd.url)
    assert tsaudit("init").stdout.startswith(
        f"wrote tsaudit.yaml: 1 target\n  {database}: influxdb1 at {own_influxd.url} with {database}\n"
    )
    checked = tsaudit("check")
    assert checked.exit_code == Exit.OK
    assert f"{database.ljust(14)} ok       influxdb1 1." in checked.stdout

    audited = tsaudit("audit", "--day", DAY.isoformat(), "--format", "json")
    assert audited.exit_code == Exit.FINDINGS
    (found,) = json.loads(audited.stdout)
    assert found["verdict"] == "warning"
    text_numbers = next(f for f in found["findings"] if f["subject"].endswith("cpu.usage"))

    muted = tsaudit("mute", text_numbers["fingerprint"], "--reason", "legacy", "--for", "2w", "--owner", "ada")
    assert muted.exit_code == Exit.OK
    assert "muted by ada until" in tsaudit("incidents").stdout

    own_influxd.stop()
    down = tsaudit("audit", "--day", DAY.isoformat())
    assert down.exit_code == Exit.NOT_AUDITED
    assert f"{database}  unknown" in down.stdout
    assert tsaudit("check").exit_code == Exit.NOT_AUDITED


def test_no_value_of_a_tag_is_shown_unless_asked_for(
    influxd: Influxd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in the report nor by `show`: of many series, the rows of some are read, which a statement names."""
    database, now = new_name(), int(time.time())
    lines = (f"logins,user=person{i}@example.org,host=web{i % 3} ms={i}i {now - 300 * i}" for i in range(3_000))
    influxql(influxd.url, f"CREATE DATABASE {database}")
    write_lines(influxd.url, database, lines, precision="s")
    monkeypatch.chdir(tmp_path)
    target = {"name": "app", "engine": "influxdb1", "url": influxd.url, "databases": [database]}
    (tmp_path / "tsaudit.yaml").write_text(json.dumps({"targets": [target], "owners": {"default": {"channel": "#x"}}}))
    audited = tsaudit("audit", "--format", "json")
    assert audited.exit_code == Exit.FINDINGS
    (found,) = json.loads(audited.stdout)
    (finding,) = [one for one in found["findings"] if one["subject"].endswith("logins.user")]
    shown = [
        tsaudit("show", finding["fingerprint"], "--queries").stdout,
        tsaudit("show", finding["fingerprint"], "--format", "json").stdout,
        tsaudit("plan").stdout,
        *(path.read_text() for path in (tmp_path / ".tsaudit" / "reports").rglob("*.*") if path.is_file()),
    ]
    assert any("row_sample" in text and "::tag = '" in text for text in shown)
    assert not [text for text in (audited.stdout, *shown) if "@example.org" in text]
