"""An engine of another package: measured, judged and shown by what it declares; one that is broken is one line."""

from __future__ import annotations

import importlib
import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.plugins.conftest import Install
from tsaudit import Case, Currency, Finding, Impact, Subject, evaluate, load_settings, measure
from tsaudit.cli import main
from tsaudit.config import file as config_file
from tsaudit.engines import queries
from tsaudit.engines.advice import Advice
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import LeaveOut
from tsaudit.model.finding import Verdict
from tsaudit.rule import rule

PACKAGE = Path(__file__).parent / "package"
ENTRY = {"tsaudit.engines": {"acmedb": "acme_tsaudit:ENGINE"}}
CONFIG = (
    "targets:\n"
    "  - {name: books, engine: acmedb, url: 'acme:///books.db'}\n"
    "  - {name: other, engine: sqlite, url: 'sqlite:///books.db'}\n"
)
ENGINE = """from tsaudit import Engine
class Acme(Engine):
    name, example_url = 'acmedb', 'x'
    {}
    def connect(self, access):
        import acme_connector
        return acme_connector.connect(access)
ENGINE = Acme()
"""
CONNECT = """
from contextlib import contextmanager
{}
@contextmanager
def connect(access):
    {}
"""

Command = Callable[..., Result]


@pytest.fixture
def tsaudit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command in a folder with a configuration for two targets on one file of data."""
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("books.db") as connection:
        for table in ("SALES", "draft_SALES"):
            connection.execute(f"create table {table} (time text, shop text, amount real, ledger text)")
            rows = [(f"-{i} minutes", f"s{i % 3}", i / 7) for i in range(90)]
            connection.executemany(f"insert into {table} values (datetime('now', ?), ?, ?, 'x')", rows)
    connection.close()
    Path("tsaudit.yaml").write_text(CONFIG)
    return lambda *arguments: CliRunner().invoke(main, list(arguments), prog_name="tsaudit")


@pytest.fixture
def acme(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGE))
    install("acme", ENTRY)


def test_engine_is_measured_by_its_own_queries_and_those_it_shares(acme: None, tsaudit: Command) -> None:
    settings = load_settings("tsaudit.yaml")
    profile = measure(settings.targets[0])
    assert profile.gaps == ()
    assert (profile.engine, profile.server_version) == ("acmedb", "7.0")
    (sales,) = profile.measurements  # its own query leaves drafts out
    assert (sales.name, sales.rows.value if sales.rows else None) == ("SALES", 90)
    assert queries.query_files("acmedb")["measurements"].is_relative_to(PACKAGE)
    assert queries.query_files("acmedb")["columns"].is_relative_to(queries.root() / "sqlite")


def test_engine_of_another_package_is_measured_by_its_own_class(acme: None, tsaudit: Command) -> None:
    acmedb, sqlite = (measure(target) for target in load_settings("tsaudit.yaml").targets)
    (sales,) = acmedb.measurements
    assert (sales.options, sales.kind_reason) == ({"paper": "A4"}, "the sheet's heading says so")
    same = next(m for m in sqlite.measurements if m.name == "SALES")
    assert same.kind_reason != sales.kind_reason
    assert (same.kind, same.tags, same.rows and same.rows.value) == (sales.kind, sales.tags, 90)


BROKEN_MEASURING = {
    "nowhere_to_be_found": ("", "No module named 'nowhere_to_be_found'"),
    "acme_other": ("MEASURING = 7", "`MEASURING` in acme_other is not a subclass of Measuring"),
    "acme_steps": (
        (
            "from tsaudit.collect.measuring import Measuring\n"
            "class MEASURING(Measuring):\n    def steps(self, context):\n        raise ZeroDivisionError('oops')\n"
        ),
        "ZeroDivisionError: oops",
    ),
    "acme_outline": (
        (
            "from tsaudit.collect.measuring import Measuring\n"
            "class MEASURING(Measuring):\n    def outline(self, database, names):\n        return names[0]\n"
        ),
        "'str' object has no attribute 'get'",
    ),
}


@pytest.mark.costly
@pytest.mark.parametrize("module", BROKEN_MEASURING)
def test_measuring_that_breaks_is_one_line(
    acme: None, tsaudit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    source, reason = BROKEN_MEASURING[module]
    if source:
        (tmp_path / "site" / f"{module}.py").write_text(source)
    monkeypatch.setattr(ENGINES["acmedb"], "measuring", module)
    done = tsaudit("audit", "--format", "json", "--fail-on", "never")
    assert done.exit_code == 3, done.output
    assert "Traceback" not in done.output
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: books")]
    assert reason in line
    books, other = json.loads(done.stdout)
    assert books["verdict"] == Verdict.UNKNOWN
    assert other["error"] is None


def test_entry_point_may_name_the_class(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGE))
    install("acme", {"tsaudit.engines": {"acmedb": "acme_tsaudit:Acmedb"}})
    assert (ENGINES["acmedb"].name, ENGINES["acmedb"].package, ENGINES.problems) == ("acmedb", "acme 1.0", ())


def test_rules_of_ours_judge_it_by_what_it_declares(acme: None, tsaudit: Command) -> None:
    result = evaluate(measure(load_settings("tsaudit.yaml").targets[0]))
    found = {r.code: [f.message for f in r.findings] for r in result.results if r.findings}
    assert "ledger" in found["NAM001"][0]  # a word of its own list
    reason = next(r.reason for r in result.results if r.code == "RET001")
    assert reason.startswith("does not apply to acmedb")
    assert {r.code for r in result.results if r.outcome == "error"} == set()


def test_engine_is_known_wherever_engines_are_listed(acme: None, tsaudit: Command) -> None:
    assert list(ENGINES)[-1] == "acmedb"
    assert "acmedb" in json.loads(tsaudit("config", "schema").stdout)["$defs"]["Target"]["properties"]["engine"]["enum"]
    of_target = tsaudit("rules", "--target", "books").stdout
    assert "does not apply to acmedb: rows stay until somebody deletes them" in of_target
    assert "acme 1.0" in tsaudit("version").stdout
    shown = tsaudit("check")
    assert "acmedb 7.0: " in shown.stdout, shown.output
    assert shown.exit_code == 0
    assert tsaudit("init", "--engine", "acmedb", "acme:///books.db", "--config", "new.yaml").exit_code == 0
    assert config_file.load("new.yaml").targets[0].engine == "acmedb"


def test_audit_and_report_work_on_it(acme: None, tsaudit: Command) -> None:
    done = tsaudit("audit", "--format", "json", "--fail-on", "never")
    assert done.exit_code == 0, done.output
    books, _ = json.loads(done.stdout)
    assert (books["engine"], books["error"]) == ("acmedb", None)
    assert "sheet" in Path(".tsaudit/reports/books/latest.html").read_text()


BROKEN = {
    "cannot be imported": ("import nowhere_to_be_found", "", "No module named 'nowhere_to_be_found'"),
    "leaves when imported": ("raise SystemExit('bye')", "", "SystemExit: bye"),
    "is no engine": ("ENGINE = 7", "", "expected an Engine, got int"),
    "class cannot be made": (
        ENGINE.format("def __init__(self): raise KeyError('license')").replace("ENGINE = Acme()", "ENGINE = Acme"),
        "",
        "KeyError: 'license'",
    ),
    "has another name": (ENGINE.format("").replace("acmedb", "other"), "", "the engine is named `other`"),
    "has no such folder": (ENGINE.format("sql_folders = (__import__('pathlib').Path('/no'),)"), "", "no folder /no"),
    "does not connect": (ENGINE.format("").replace("def connect", "def open"), "", "it has no method `connect`"),
    "connector cannot be imported": (ENGINE.format(""), "raise ValueError('half written')", "ValueError: half written"),
    "connector has no connect": (ENGINE.format(""), "x = 1", "has no attribute 'connect'"),
    "connect takes other arguments": (ENGINE.format(""), "def connect(): ...", "takes 0 positional arguments"),
    "connect breaks": (ENGINE.format(""), CONNECT.format("", "raise KeyError('host')\n    yield"), "KeyError"),
    "connection is none": (ENGINE.format(""), CONNECT.format("", "yield None"), "AttributeError"),
    "query breaks": (
        ENGINE.format(f"sql_folders = (__import__('pathlib').Path({str(queries.root() / 'sqlite')!r}),)"),
        CONNECT.format(
            "class C:\n    server_version = '1'\n    def query(self, *a, **k): raise ZeroDivisionError('oops')\n"
            "    def close(self): ...\n    def abort(self): ...\n    def reconnect(self): return self\n",
            "yield C()",
        ),
        "ZeroDivisionError: oops",
    ),
}  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize("how", BROKEN)
def test_broken_engine_is_one_line_and_the_other_target_is_audited(
    install: Install, tsaudit: Command, how: str
) -> None:
    module, connector, reason = BROKEN[how]
    install("acme", {"tsaudit.engines": {"acmedb": "acme_db:ENGINE"}}, acme_db=module, acme_connector=connector)
    done = tsaudit("audit", "--format", "json", "--fail-on", "never")
    assert done.exit_code == 3, done.output
    assert "Traceback" not in done.output
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: books")]
    assert reason in line
    books, other = json.loads(done.stdout)
    assert books["verdict"] == Verdict.UNKNOWN
    assert "TGT001" in [f["code"] for f in books["findings"]]
    assert other["error"] is None
    checked = tsaudit("check")
    assert checked.exit_code == 3, checked.output
    assert reason in checked.output
    assert "internal error" not in checked.output


@rule(code="TST001", title="A column is left out", costs={Currency.ANSWERS}, requires={"measurements"})
def left_out(case: Case) -> Iterator[Finding]:
    """Wants a column gone."""
    for m in case.measurements:
        at = Subject(m.database, m.name)
        yield Finding(at, "Nobody needs it.", impact=Impact(Currency.ANSWERS), changes=(LeaveOut(at, "shop"),))


def test_changes_are_said_as_by_the_engine_whose_class_it_extends(acme: None, tsaudit: Command) -> None:
    result = evaluate(measure(load_settings("tsaudit.yaml").targets[0]), rules=[left_out])
    (plan,) = result.plans
    assert plan.steps
    assert "cannot say" not in plan.steps[0].words


class _Broken(Advice):
    handles = frozenset({LeaveOut})

    def writer(self) -> None:
        raise ZeroDivisionError


@pytest.mark.parametrize("advice", [lambda: importlib.import_module("nowhere_to_be_found"), lambda: _Broken])
def test_advice_that_breaks_is_a_step_that_says_so(
    acme: None, tsaudit: Command, monkeypatch: pytest.MonkeyPatch, advice: Callable[[], type[Advice]]
) -> None:
    profile = measure(load_settings("tsaudit.yaml").targets[0])
    monkeypatch.setattr(ENGINES["acmedb"], "advice", advice)
    (plan,) = evaluate(profile, rules=[left_out]).plans
    (step,) = plan.steps
    assert step.words.startswith("acme 1.0 cannot say how acmedb makes this change: ")


def test_engine_of_our_name_is_refused(install: Install, tsaudit: Command) -> None:
    install(
        "acme", {"tsaudit.engines": {"sqlite": "acme_db:ENGINE"}}, acme_db=ENGINE.format("").replace("acmedb", "sqlite")
    )
    assert ENGINES["sqlite"].package == ""
    (problem,) = ENGINES.problems
    assert "tsaudit has an engine of that name" in str(problem)
    assert str(problem) in tsaudit("version").stderr


def test_two_engines_of_one_name_are_both_refused(install: Install) -> None:
    for package in ("acme", "zeta"):
        install(
            package, {"tsaudit.engines": {"acmedb": f"{package}_db:ENGINE"}}, **{f"{package}_db": ENGINE.format("")}
        )
    assert [p.package for p in ENGINES.problems] == ["acme 1.0", "zeta 1.0"]
    assert "has the name, too" in ENGINES["acmedb"].broken


def test_engine_that_nobody_brings_is_a_mistake_in_the_configuration(tsaudit: Command) -> None:
    done = tsaudit("audit")
    assert done.exit_code == 2
    assert "targets[0].engine: unknown engine `acmedb`" in done.stderr


@pytest.mark.full
def test_module_that_brings_engine_and_rules_may_import_anything(install: Install, tsaudit: Command) -> None:
    """Whoever asks for engines first loads it, while tsaudit's own modules may be half loaded."""
    text = (
        "from tsaudit import Engine, Target, Case, rule, Severity, Notice, measure\nimport tsaudit.run, tsaudit.rules\n"
        "tsaudit.rules.all_rules()\n" + ENGINE.format("").partition("\n")[2]
    )
    install("acme", {"tsaudit.engines": {"acmedb": "acme_db:ENGINE"}}, acme_db=text)
    import subprocess

    for first in ("tsaudit.config.settings", "tsaudit.rule", "tsaudit.engines.quoting", "tsaudit.cli.rules"):
        code = f"import {first}; from tsaudit.engines.registry import ENGINES as e; print(repr(e['acmedb'].broken))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              env={"PYTHONPATH": ":".join(sys.path)})  # fmt: skip
        assert done.stdout.strip() == "''", done.stdout + done.stderr
