"""`python -m dagster_project.demo`, in four days instead of a month."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import dagster as dg
import pytest
from click.testing import Result

from dagster_project import demo, tables
from dagster_project.world import World
from tests.command import CliRunner
from tsaudit.config import file as config_file
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject

pytestmark = pytest.mark.full

END = date(2026, 3, 31)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shipped configuration with all files below the temporary folder; the data covers four days."""
    monkeypatch.setattr(tables, "FIRMWARE", 1)
    monkeypatch.setattr(tables, "DEPLOYMENT", 2)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    file = tmp_path / "tsaudit.yaml"
    file.write_text(demo.CONFIG.read_text().replace("../../../../.tsaudit/demo/", ""))
    return file


def run_demo(config: Path, end: date = END, days: int = 4) -> Result:
    return CliRunner().invoke(demo.main, ["--config", str(config), "--end", str(end), "--days", str(days)])


def day_lines(result: Result) -> list[str]:
    return [line[:10] for line in result.output.splitlines() if line.startswith("2026-")]


def materializations(config: Path) -> int:
    with dg.DagsterInstance.from_config(os.environ["DAGSTER_HOME"]) as instance:
        return len(instance.fetch_materializations(dg.AssetKey(["tsaudit", "demo"]), limit=100).records)


def series_of(config: Path) -> list[float]:
    with Store.open(config_file.load(config).history.get_secret_value()) as store:
        return [point.value for point in store.trend("demo", "series", Subject(), 10, END + timedelta(days=1))]


def test_data_is_written_once_and_then_only_its_last_day_again(config: Path) -> None:
    first = run_demo(config)
    assert first.exit_code == 0, first.output
    assert day_lines(first) == [str(END - timedelta(days=n)) for n in (3, 2, 1, 0)]
    settings = config_file.load(config)
    report = Path(settings.report.folder) / "demo" / f"{END}.html"
    assert f"Report         {report}" in first.output
    assert report.is_file()
    assert "Verdict" in first.output
    assert f"edited 3 times, last {END}" in first.output
    assert (config.parent / "home" / "dagster.yaml").is_file()

    second = run_demo(config)
    assert day_lines(second) == [str(END)]
    assert materializations(config) == 5

    later = run_demo(config, END + timedelta(days=1))
    assert day_lines(later) == [str(END + timedelta(days=1))]
    assert series_of(config) == [865, 865, 865 + 1536, 865 + 1536 + 3072, 865 + 1536 + 2 * 3072]


def test_a_run_broken_off_after_writing_is_taken_up_again(config: Path) -> None:
    run_demo(config, END - timedelta(days=1), days=3)
    World.of(config_file.load(config)).advance(END)
    assert day_lines(run_demo(config)) == [str(END)]


def test_a_database_of_which_nothing_was_audited_is_begun_anew(config: Path) -> None:
    world = World.of(config_file.load(config))
    for n in (9, 8, 7):
        world.advance(END - timedelta(days=n))
    result = run_demo(config)
    assert "restarting it" in result.output
    assert len(day_lines(result)) == 4


def test_days_written_by_others_are_audited_as_of_their_end(config: Path) -> None:
    run_demo(config, END - timedelta(days=2), days=2)
    world = World.of(config_file.load(config))
    for n in (1, 0):
        world.advance(END - timedelta(days=n))
    assert day_lines(run_demo(config)) == [str(END - timedelta(days=n)) for n in (1, 0)]
    assert series_of(config) == [865, 865, 865 + 1536, 865 + 1536 + 3072]


def test_a_lost_database_is_written_as_it_was_without_auditing_all(config: Path) -> None:
    run_demo(config)
    World.of(config_file.load(config)).path.unlink()
    assert day_lines(run_demo(config, END, days=2)) == [str(END)]
    assert series_of(config) == [865, 865, 865 + 1536, 865 + 1536 + 3072]


def test_a_failed_audit_ends_the_demo_with_a_line_and_an_exit_code(config: Path) -> None:
    (config.parent / "reports").write_text("in the way")
    result = run_demo(config)
    assert result.exit_code == 1
    assert f"error: the audit of {END - timedelta(days=3)} failed: demo: " in result.output
    assert "Traceback" not in result.output


def test_a_broken_configuration_ends_the_demo_with_a_line(config: Path) -> None:
    config.write_text("targets: []\n")
    result = run_demo(config)
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")


def test_a_history_in_the_way_ends_the_demo_with_a_line(config: Path) -> None:
    (config.parent / "history.db").mkdir()
    result = run_demo(config)
    assert result.exit_code == 1
    assert result.output.startswith("Error: ")


def test_a_demo_that_was_killed_holds_nothing_up(config: Path) -> None:
    code = (
        "import os; from tsaudit import run; from dagster_project import demo; "
        "run.audit_targets = lambda *a, **o: os.kill(os.getpid(), 9); "
        f"demo.main(['--config', {str(config)!r}, '--end', '{END}', '--days', '4'])"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, capture_output=True).returncode == -9
    again = run_demo(config)
    assert again.exit_code == 0, again.output
    with dg.DagsterInstance.from_config(os.environ["DAGSTER_HOME"]) as instance:
        found = [run.status for run in instance.get_runs()]
    assert sorted(found, key=str) == [dg.DagsterRunStatus.FAILURE, *[dg.DagsterRunStatus.SUCCESS] * 4]


def test_a_second_demo_at_the_same_time_is_kept_out(config: Path) -> None:
    with demo._alone(World.of(config_file.load(config)).path):
        result = run_demo(config)
    assert result.exit_code == 1
    assert "another demo is at work" in result.output
