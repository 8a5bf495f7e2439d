"""The public names, and the examples of docs/library.md, which run as they stand."""

from __future__ import annotations

import pkgutil
import re
import sqlite3
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

import tsaudit
from tsaudit.alerts import SendReport
from tsaudit.config import mistakes

PAGE = (Path(__file__).parents[1] / "docs" / "library.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a database, the files that the page shows, and the folder of its engine."""
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("metrics.db") as connection:
        connection.execute("create table CPUUSE (time text, host text, usage real)")
        rows = [(f"-{i} minutes", f"h{i % 3}", i / 7) for i in range(90)]
        connection.executemany("insert into CPUUSE values (datetime('now', ?), ?, ?)", rows)
    connection.close()
    Path("acme_tsaudit/sql").mkdir(parents=True)
    for _, name, text in BLOCKS:
        if name:
            Path(name).write_text(text)
    return tmp_path


def test_examples_when_run_one_after_the_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    ran = [text for language, _, text in BLOCKS if language == "python"]
    assert len(ran) == 5
    for text in ran:
        exec(compile(text, "docs/library.md", "exec"), names)
    assert "warning" in capsys.readouterr().out
    result = tsaudit.evaluate(names["profile"], rules=[names["shouting_name"]])
    assert [f.message for _, f in result.findings()] == ["CPUUSE has 6 capital letters"]
    assert names["ENGINE"].problem() == ""
    notice = tsaudit.Notice("7", "alert", "default", "metrics", names["profile"].day, "t", "t\nmore", {})
    pager = names["Pager"]({"folder": str(folder)})
    assert isinstance(pager, tsaudit.Notifier)
    pager.notify(notice, 1.0)
    assert Path("7.txt").read_text() == "default: t\nmore\n"
    with pytest.raises(tsaudit.NotifyError, match="there is no folder"):
        names["Pager"]({"folder": "nowhere"}).notify(notice, 1.0)


def test_run_audit_when_a_target_and_a_message_fail_names_both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.alerts.send", lambda *_: SendReport(errors=("#x: not in the channel",)))
    Path("both.yaml").write_text(
        "targets:\n"
        "  - {name: lost, engine: sqlite, url: 'sqlite:///lost.db'}\n"
        "  - {name: metrics, engine: sqlite, url: 'sqlite:///${FILE}'}\n"
    )
    settings = tsaudit.load_settings("both.yaml", variables={"FILE": "metrics.db"})

    outcome = tsaudit.run_audit(settings, run_url="https://ci.example/7")

    assert [run.target for run in outcome.runs] == ["lost", "metrics"]
    assert outcome.verdict == "unknown"
    lost, message = outcome.problems
    assert lost.startswith("lost: ")
    assert message == "alert not delivered: #x: not in the channel"
    assert outcome.runs[1].report
    assert "https://ci.example/7" in Path(outcome.runs[1].report.path).read_text()
    index = Path(settings.report.folder, "index.html")
    assert all(f'href="{name}/latest.html"' in index.read_text() for name in ("lost", "metrics"))

    index.unlink()
    index.mkdir()
    (problem,) = tsaudit.run_audit(settings, "metrics", notify=False).problems
    assert problem.startswith(f"reports: cannot write {index}: ")


def test_run_audit_when_messages_wait_sends_them_with_the_next(folder: Path) -> None:
    settings, said = tsaudit.load_settings(), list[str]()
    settings = settings.model_copy(update={"incidents": settings.incidents.model_copy(update={"open_after": 1})})
    lost = settings.targets[0].model_copy(update={"name": "lost", "url": SecretStr("sqlite:////nowhere/lost.db")})
    settings = settings.model_copy(update={"targets": (*settings.targets, lost)})
    quiet = tsaudit.run_audit(settings, ["lost"], notify=False, out=said.append)
    tsaudit.run_audit(settings, ["lost"], will_retry=True, out=said.append)
    assert (len(quiet.runs), said) == (1, [])
    tsaudit.run_audit(settings, ["metrics"], out=said.append)
    assert any("lost" in line for line in said)


def test_run_audit_when_a_single_name_is_given_audits_that_target(folder: Path) -> None:
    assert [one.target for one in tsaudit.run_audit(tsaudit.load_settings(), "metrics").runs] == ["metrics"]


def test_an_audit_that_is_left_early_can_still_be_indexed(folder: Path) -> None:
    from tsaudit.library import AuditSession

    settings = tsaudit.load_settings()
    url = settings.targets[0].url
    targets = [settings.targets[0].model_copy(update={"name": f"t{n}", "url": url}) for n in range(8)]
    with AuditSession.open(settings.model_copy(update={"targets": tuple(targets)})) as session:
        for _ in session.run(targets, day=date(2026, 3, 31), workers=1):
            break
        session.write_index()
        audited = set(session.store.targets())
    assert len(session.runs) == 1
    assert len(audited) < 4, "no other began"
    page = Path(settings.report.folder, "index.html").read_text()
    assert set(re.findall(r'href="([^"]+)/latest.html"', page)) == audited


def test_run_audit_when_a_name_or_a_day_is_wrong(folder: Path) -> None:
    with pytest.raises(tsaudit.ConfigError, match="no target is named `metrix`, did you mean metrics"):
        tsaudit.run_audit(tsaudit.load_settings(), ["metrix"])
    with pytest.raises(ValueError, match="it has a login"):
        tsaudit.run_audit(tsaudit.load_settings(), run_url="https://ci:s3cret@builds.example/7")
    with pytest.raises(ValueError, match="2999-01-01 is in the future"):
        tsaudit.run_audit(tsaudit.load_settings(), day=date(2999, 1, 1))


def test_settings_when_variables_are_passed_ignore_the_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FILE", "of_the_environment.db")
    Path("v.yaml").write_text("targets:\n  - {name: m, engine: sqlite, url: 'sqlite:///${FILE}'}\n")
    url = tsaudit.load_settings("v.yaml", variables={"FILE": "passed.db"}).targets[0].url.get_secret_value()
    assert url == f"sqlite:///{folder}/passed.db"
    unset = tsaudit.load_settings("v.yaml", variables={}).targets[0].unset
    assert "FILE has no value; pass or export it" in unset
    assert "login" not in unset
    assert "leave the line out if the connection has no login" in mistakes.not_passed("PLANT_LOGIN")


def test_other_blocks_when_read() -> None:
    import tomllib

    groups = [g for language, _, text in BLOCKS if language == "toml"
              for g in tomllib.loads(text)["project"]["entry-points"]]  # fmt: skip
    assert sorted(groups) == ["tsaudit.engines", "tsaudit.notifiers", "tsaudit.rules"]
    assert all(yaml.safe_load(text) for language, _, text in BLOCKS if language == "yaml")
    assert {language for language, _, _ in BLOCKS} == {"python", "toml", "yaml"}


def test_every_public_name_when_asked_for_is_there_and_documented() -> None:
    for name in tsaudit.__all__:
        assert getattr(tsaudit, name).__doc__, name
        assert name in dir(tsaudit)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tsaudit.nothing


def test_public_names_are_no_names_of_modules() -> None:
    """Importing a module of the same name would put it in the place of what the package offers."""
    modules = {module.name for module in pkgutil.iter_modules(tsaudit.__path__)}
    assert not modules.intersection(tsaudit.__all__)


def test_import_when_nothing_is_asked_for_is_quick() -> None:
    code = "import sys, tsaudit; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {m for m in loaded if m.startswith("tsaudit")} <= {"tsaudit", "tsaudit.model", "tsaudit.model.version"}
    assert not loaded & {"pydantic", "numpy", "pyarrow", "sqlalchemy", "importlib.metadata"}
