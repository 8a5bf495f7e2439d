"""The operators and what hangs on them, without a running Airflow."""

from __future__ import annotations

import json
import os
import re
import shlex
import socketserver
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from email import message_from_bytes
from email.policy import default as email_policy
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from airflow.sdk import Asset, Connection
from airflow.sdk.bases.notifier import BaseNotifier
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowTaskTimeout
from airflow.sdk.execution_time.context import OutletEventAccessors
from airflow.sdk.execution_time.timeout import timeout

from tests.serving import serving
from tsaudit.cli.audit import FAIL_ON, _exit_code
from tsaudit.engines.registry import ENGINES
from tsaudit.model.finding import Verdict
from tsaudit_airflow.assets import AUDITS, audit_asset
from tsaudit_airflow.auditing import Done, verdict_line
from tsaudit_airflow.hooks import AuditHook
from tsaudit_airflow.notifications import AuditNotifier, summary
from tsaudit_airflow.operators import AuditOperator, AuditReportLink, FailOn, TargetsOperator

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/airflow.md").read_text()


def today() -> date:
    return datetime.now(UTC).date()


@pytest.fixture(params=["in process", "outside"])
def python(request: pytest.FixtureRequest) -> str | None:
    return None if request.param == "in process" else sys.executable


@pytest.fixture(autouse=True)
def _connections(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = {"conn_type": "sqlite", "host": f"{folder}/metrics.db", "password": "pa/ss", "extra": {"token": "t-1"}}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(shop))


def context_of(logical_date: datetime | None = None, *, max_tries: int = 0) -> dict[str, Any]:
    url = "https://airflow.example/dags/x/runs/1/tasks/audit"
    ti = SimpleNamespace(log_url=url, try_number=1, max_tries=max_tries)
    return {"ti": ti, "outlet_events": OutletEventAccessors(), "logical_date": logical_date or datetime.now(UTC)}


def an_operator(folder: Path, **options: Any) -> AuditOperator:
    return AuditOperator(
        **{"task_id": "audit", "config": f"{folder}/tsaudit.yaml", "connections": ["shop"], "target": "metrics"}
        | options
    )


def events_of(context: dict[str, Any]) -> dict[str, Any]:
    return {event.dest_asset_key.name: event for event in context["outlet_events"][AUDITS].asset_alias_events}


def test_audit_when_it_finds_something_is_an_event_with_verdict_and_figures(folder: Path, python: str | None) -> None:
    task, context = an_operator(folder, python=python), context_of()

    found = task.execute(context)

    assert found == task.audits
    (one,) = found.values()
    assert (one["target"], one["verdict"], one["error"], one["day"]) == (
        "metrics",
        "warning",
        None,
        f"{today()}",
    )
    assert one["findings"]["warning"] >= 1
    assert one["new"]
    assert one["measurements"] == 1
    (event,) = events_of(context).values()
    assert event.extra == one
    assert (event.dest_asset_key.name, event.dest_asset_key.uri) == ("tsaudit/metrics", audit_asset("metrics").uri)
    link = AuditReportLink().get_link(task, ti_key=None)
    assert link == one["report"] == f"https://reports.example/tsaudit/metrics/{today()}.html"
    page = (folder / f".tsaudit/reports/metrics/{today()}.html").read_text()
    assert "https://airflow.example/dags/x/runs/1/tasks/audit" in page
    json.dumps(found)


def test_audit_when_a_target_is_lost_fails_after_the_others(folder: Path, python: str | None) -> None:
    task, context = an_operator(folder, python=python, target=None), context_of()
    with pytest.raises(AirflowException, match=r"^lost: ") as raised:
        task.execute(context)
    assert "\n" not in str(raised.value)
    assert {name: one["verdict"] for name, one in task.audits.items()} == {"metrics": "warning", "lost": "unknown"}
    assert sorted(events_of(context)) == ["tsaudit/lost", "tsaudit/metrics"]


def test_audit_when_a_past_day_has_no_rows_is_not_retried(folder: Path, python: str | None) -> None:
    task, long_ago = an_operator(folder, python=python), datetime(2001, 1, 1, tzinfo=UTC)
    with pytest.raises(AirflowFailException, match=r"^metrics: no table has a row within the window of that day"):
        task.execute(context_of(long_ago))
    lost = an_operator(folder, python=python, target=None)
    with pytest.raises(AirflowException, match="lost: ") as raised:
        lost.execute(context_of(long_ago))
    assert not isinstance(raised.value, AirflowFailException)


def test_audit_when_findings_are_to_fail_it_is_not_retried(folder: Path) -> None:
    with pytest.raises(AirflowFailException, match="metrics is warning: "):
        an_operator(folder, fail_on="warning").execute(context_of())
    an_operator(folder, fail_on="critical").execute(context_of())
    with pytest.raises(ValueError, match="fail_on is 'bad'; write new, warning, critical"):
        an_operator(folder, fail_on="bad")


AN_AUDIT: dict[str, Any] = {
    "target": "metrics", "verdict": "warning", "error": None, "headline": "disk is full", "new": [], "report": None,
    "findings": {"critical": 0, "warning": 0, "note": 0}, "figures": {}, "first_step": "", "statement": "",
    "final": False,
}  # fmt: skip


def audited_as(monkeypatch: pytest.MonkeyPatch, *problems: str, **fields: Any) -> None:
    """Let each audit end with these."""
    done = Done({"metrics": AN_AUDIT | fields}, problems)
    monkeypatch.setattr(AuditOperator, "_open", lambda self: SimpleNamespace(run=lambda *_: done))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (["TAG001 db/cpu"], "metrics: new or worse: TAG001 db/cpu"),
        ([f"TAG001 db/t{n}" for n in range(7)], ", TAG001 db/t4, and 2 more"),
    ],
)
def test_audit_when_what_is_new_fails_it_names_that_and_not_the_worst(
    folder: Path, monkeypatch: pytest.MonkeyPatch, new: list[str], expected: str
) -> None:
    audited_as(monkeypatch, new=new)
    with pytest.raises(AirflowFailException) as raised:
        an_operator(folder, fail_on="new").execute(context_of())
    assert str(raised.value).endswith(expected)
    assert "disk" not in str(raised.value)


def test_audit_when_messages_and_findings_fail_it_names_both_and_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    audited_as(monkeypatch, "alert not delivered: HTTP 502")
    with pytest.raises(AirflowException, match="HTTP 502\nmetrics is warning: disk is full") as raised:
        an_operator(folder, fail_on="warning").execute(context_of())
    assert not isinstance(raised.value, AirflowFailException)


def test_audit_when_it_is_summed_up_counts_its_findings_and_leads_to_the_report() -> None:
    audit = AN_AUDIT | {"report": "https://r.example/m.html", "findings": {"critical": 2, "warning": 1, "note": 1_200}}
    counts = "2 critical, 1 warning, 1,200 notes"
    assert verdict_line(audit) == f"metrics: warning. disk is full; {counts}. Report: https://r.example/m.html"
    assert verdict_line(AN_AUDIT | {"verdict": "ok", "headline": "nothing"}) == "metrics: ok. nothing"
    asked = AN_AUDIT | {"error": "is it running there?", "findings": {}, "report": "https://r.example/m.html"}
    assert "running there? Report: " in verdict_line(asked)
    noted = {"verdict": "ok", "headline": "No warnings, 6 notes", "findings": {"critical": 0, "warning": 0, "note": 6}}
    assert verdict_line(AN_AUDIT | noted) == "metrics: ok. No warnings, 6 notes"
    lacking = noted | {"first_step": "2 rules could not be evaluated on jobs: GRANT SELECT."}
    said = verdict_line(AN_AUDIT | lacking | {"report": "https://r.example/m.html"})
    expected = "6 notes. 2 rules could not be evaluated on jobs: GRANT SELECT. Report: https://r.example/m.html"
    assert said.endswith(expected), "nothing follows the address, which a browser would take for a part of it"
    assert "GRANT" not in verdict_line(AN_AUDIT | lacking | {"findings": {"warning": 1}})
    assert summary("metrics", audit).splitlines()[1] == f"Findings: {counts}"


@pytest.mark.parametrize("fail_on", FAIL_ON)
def test_audit_when_it_is_to_fail_means_what_the_command_means(fail_on: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_args(FailOn) == FAIL_ON
    for verdict, new in product(Verdict, ([], ["ID001 cpu"])):
        audited_as(monkeypatch, verdict=verdict, new=new)
        task = AuditOperator(task_id="audit", config="tsaudit.yaml", fail_on=fail_on)
        fails = _exit_code(verdict, fail_on, has_new=bool(new)) != 0
        with pytest.raises(AirflowFailException) if fails else nullcontext():
            task.execute(context_of())


def test_audit_when_a_connection_is_missing_is_one_line(folder: Path, python: str | None) -> None:
    operator = an_operator(folder, python=python, connections=[])
    with pytest.raises(AirflowException, match=r"SHOP_HOST (has no value; pass or|is not set;) export it") as raised:
        operator.execute(context_of())
    assert "\n" not in str(raised.value)


def test_audit_when_the_configuration_is_wrong_is_one_line(folder: Path, python: str | None) -> None:
    for options, expected in (
        ({"target": "metrix"}, "no target is named `metrix`, did you mean metrics"),
        ({"target": ""}, "no target is named ``"),
        ({"config": f"{folder}/none.yaml"}, "none.yaml: no such file"),
        ({"day": "someday"}, "day is 'someday'; write YYYY-MM-DD"),
        ({"day": f"{today() + timedelta(days=9)}"}, "is in the future"),
    ):
        with pytest.raises(AirflowFailException, match=expected) as raised:
            an_operator(folder, **{"python": python} | options).execute(context_of())
        assert "\n" not in str(raised.value)
    with pytest.raises(AirflowFailException, match="nowhere/python cannot be started"):
        an_operator(folder, python="/nowhere/python").execute(context_of())


def test_audit_when_tsaudit_itself_fails_is_one_line_without_secrets_and_is_tried_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object, **__: object) -> None:
        raise RuntimeError("no luck with se-cr-et-4711\nand more")

    config = folder / "tsaudit.yaml"
    config.write_text(config.read_text().replace("engine: sqlite,", "engine: sqlite, password: '${PASS}',", 1))
    monkeypatch.setenv("PASS", "se-cr-et-4711")
    monkeypatch.setattr("tsaudit.run_audit", breaks)
    with pytest.raises(AirflowException) as raised:
        an_operator(folder).execute(context_of())
    assert str(raised.value) == "internal error: RuntimeError: no luck with ***"
    assert not isinstance(raised.value, AirflowFailException)
    assert raised.value.__suppress_context__


def test_audit_when_the_history_cannot_be_written_is_tried_again(folder: Path, python: str | None) -> None:
    config = folder / "tsaudit.yaml"
    config.write_text("history: postgresql+psycopg://127.0.0.1:1/none\n" + config.read_text())
    with pytest.raises(AirflowException, match="history") as raised:
        an_operator(folder, python=python).execute(context_of())
    assert "\n" not in str(raised.value)
    assert not isinstance(raised.value, AirflowFailException)


def test_audit_when_the_other_environment_has_another_version_or_none(folder: Path) -> None:
    other = folder / "python"
    for script, expected in (
        ('echo \'[{"target": "metrics", "summary": {}}]\'', "does not report 'measured'; install the same version"),
        ("echo 'No module named tsaudit' >&2; exit 1", "python ended with exit code 1: No module named tsaudit$"),
        ("readlink /proc/self/fd/0 >&2; exit 1", ": /dev/null$"),
    ):
        other.write_text(f"#!/bin/sh\n{script}\n")
        other.chmod(0o755)
        with pytest.raises(AirflowFailException, match=expected):
            an_operator(folder, python=str(other)).execute(context_of())


def test_audit_when_the_other_interpreter_is_killed_is_tried_again(folder: Path) -> None:
    other = folder / "python"
    other.write_text("#!/bin/sh\nkill -KILL $$\n")
    other.chmod(0o755)
    for task in (an_operator(folder, python=str(other)), targets_of(folder, python=str(other))):
        with pytest.raises(AirflowException, match=r"python ended by signal 9$") as raised:
            task.execute(context_of())
        assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.wall_clock
def test_audit_when_the_task_times_out_ends_the_other_interpreter(folder: Path) -> None:
    other = folder / "python"
    other.write_text(f"#!/bin/sh\necho $$ > {folder}/pid\nexec sleep 60\n")
    other.chmod(0o755)
    began = time.monotonic()
    with pytest.raises(AirflowTaskTimeout), timeout(1):
        an_operator(folder, python=str(other)).execute(context_of())
    assert time.monotonic() - began < 30
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_day_when_it_is_not_set_is_that_of_the_logical_date_in_utc(folder: Path) -> None:
    late = datetime.fromisoformat("2026-03-31T23:30:00-05:00")
    operator = an_operator(folder)
    # All rows are of today.
    with pytest.raises(AirflowException, match="no table has a row within the window"):
        operator.execute(context_of(late))
    assert operator.audits["metrics"]["day"] == "2026-04-01"
    found = an_operator(folder).execute(context_of() | {"logical_date": None})["metrics"]["day"]
    assert found == f"{today()}"


def test_messages_when_they_wait_are_sent_with_the_next_audit(folder: Path, python: str | None, caplog: Any) -> None:
    with pytest.raises(AirflowException, match="lost"):
        an_operator(folder, python=python, target="lost", notify=False).execute(context_of())
    assert "lost" in " ".join(waiting(folder))
    an_operator(folder, python=python).execute(context_of())
    assert waiting(folder) == []


def test_messages_when_a_target_is_lost_wait_for_the_last_try(folder: Path, python: str | None) -> None:
    for max_tries, unsent in ((1, True), (0, False)):
        with pytest.raises(AirflowException, match="lost"):
            an_operator(folder, python=python, target="lost").execute(context_of(max_tries=max_tries))
        assert bool(waiting(folder)) is unsent
    # What only failed for good, and what was audited, waits for nothing.
    an_operator(folder, python=python, notify=False).execute(context_of())
    an_operator(folder, python=python).execute(context_of(max_tries=1))
    assert waiting(folder) == []


def waiting(folder: Path) -> list[str]:
    from tsaudit.history import deliveries
    from tsaudit.history.store import Store

    with Store.open(f"sqlite:///{folder}/.tsaudit/history.db") as store:
        return [str(one.payload) for one in deliveries.waiting(store.engine)]


def targets_of(folder: Path, **options: Any) -> TargetsOperator:
    return TargetsOperator(**{"task_id": "t", "config": f"{folder}/tsaudit.yaml", "connections": ["shop"]} | options)


def test_targets_when_listed_are_those_of_the_file(
    folder: Path, python: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What Airflow finds there is not for the other interpreter.
    (folder / "path/tsaudit").mkdir(parents=True)
    (folder / "path/tsaudit/__init__.py").write_text("raise ImportError('of Airflow')")
    monkeypatch.setenv("PYTHONPATH", f"{folder}/path")
    assert targets_of(folder, python=python).execute({}) == ["metrics", "lost"]
    assert targets_of(folder, python=python, connections="shop").execute({}) == ["metrics", "lost"]


def test_targets_when_the_file_is_wrong_fail_with_its_problems(folder: Path, python: str | None) -> None:
    config = folder / "tsaudit.yaml"
    config.write_text(config.read_text().replace("engine: sqlite", "engine: sqlight"))
    with pytest.raises(AirflowFailException) as raised:
        targets_of(folder, python=python).execute({})
    first, second = str(raised.value).splitlines()
    assert "tsaudit.yaml:4: targets[0].engine: " in first
    assert "tsaudit.yaml:5: targets[1].engine: " in second
    with pytest.raises(AirflowFailException, match=r"^/none.yaml: no such file"):
        targets_of(folder, python=python, config="/none.yaml").execute({})


def test_tsaudit_when_a_dag_is_only_read_or_another_interpreter_audits_is_not_imported(folder: Path) -> None:
    # Installed with --no-deps, it could not be: also not for what is said when that interpreter fails.
    code = f"""
import sys, tsaudit_airflow.example_dags.audits
from tsaudit_airflow.operators import AirflowFailException, AuditOperator
try:
    AuditOperator(task_id="audit", config="{folder}/none.yaml", python=sys.executable, day="2026-03-31").execute(
        {{"ti": type("TI", (), {{"log_url": "https://airflow.example", "try_number": 1, "max_tries": 0}})}})
except AirflowFailException as error:
    print(error)
print(*sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "none.yaml: no such file" in done.stdout
    assert "tsaudit_airflow.operators" in done.stdout
    assert not {name for name in done.stdout.split() if name == "tsaudit" or name.startswith("tsaudit.")}


@pytest.fixture
def example() -> dict[str, Any]:
    """What the examples of the page define, run one after the other."""
    names: dict[str, Any] = {}
    blocks = re.findall(r"^ *```python\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    for text in blocks:
        exec(compile(textwrap.dedent(text), "docs/airflow.md", "exec"), names)
    return names


def test_command_of_the_page_has_the_connections(
    example: dict[str, Any], folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    example["common"] |= {"config": f"{folder}/tsaudit.yaml", "connections": ["shop"]}
    environments: list[dict[str, str]] = []
    run = subprocess.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", lambda *a, env, **k: [environments.append(env), run(*a, env=env, **k)])
        example["run"].function({"command": "check metrics"}, SimpleNamespace(triggering_user_name="ada"))
    assert environments[0]["TSAUDIT_OWNER"] == "ada"
    assert re.search(r"^metrics +ok", capfd.readouterr().out, re.MULTILINE)


def test_configuration_of_the_page_has_the_connections_of_its_dags(
    example: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(set(re.findall(r'"connections": (.*)}', PAGE))) == 1
    (config,) = re.findall(r"^ *```yaml\n(.*?)^ *```$", PAGE, re.DOTALL | re.MULTILINE)
    (folder / "page.yaml").write_text(textwrap.dedent(config))
    shop = {"conn_type": "postgres", "host": "db", "login": "tsaudit", "password": "p", "schema": "shop"}
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", json.dumps(shop))
    monkeypatch.setenv("AIRFLOW_CONN_AUDITS", json.dumps(shop | {"schema": "audits"}))
    monkeypatch.setenv("AIRFLOW_CONN_SLACK", json.dumps({"conn_type": "generic", "password": "xoxb-1"}))
    listed = TargetsOperator(task_id="t", config=f"{folder}/page.yaml", connections=example["common"]["connections"])
    assert listed.execute({}) == ["shop"]
    variables = set(re.findall(r"\$\{(\w+)\}", config))
    assert variables == {"AUDITS_URL", "SHOP_URL", "SLACK_PASSWORD"} <= AuditHook(listed.connections).variables().keys()


def test_commands_of_the_page_add_connections_with_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, str] = {}
    for line in re.findall(r"^airflow connections add (.*)$", PAGE.replace("\\\n", ""), re.MULTILINE):
        name, *options = shlex.split(line)
        given = {key.removeprefix("--").replace("-", "_"): text for key, text in batched(options)}
        fields = {key if key == "conn_type" else key.removeprefix("conn_"): text for key, text in given.items()}
        monkeypatch.setattr(AuditHook, "get_connection", lambda self, name, has=fields: Connection(conn_id=name, **has))
        found |= AuditHook(name).variables()
    assert (found["SHOP_URL"], found["PLANT_URL"]) == (
        "postgresql://tsaudit:%24SHOP_PASSWORD@db.example.com/shop",
        "duckdb:////data/plant.duckdb",
    )


def batched(options: list[str]) -> Iterator[tuple[str, str]]:
    """Each option with its value."""
    return zip(options[::2], options[1::2], strict=True)


def test_asset_when_named_twice_has_one_uri() -> None:
    assert audit_asset("a b") == audit_asset("a b") == Asset(name="tsaudit/a b")


@pytest.mark.parametrize(
    ("connection", "expected"),
    [
        ({"conn_type": "postgres", "host": "db", "login": "a@b", "password": "p:/", "schema": "shop", "port": 5433,
          "extra": '{"sslmode": "require", "url": "no", "deep": {"a": 1}, "flag": true}'},
         {"URL": "postgresql://a%40b:p%3A%2F@db:5433/shop", "HOST": "db", "PORT": "5433", "LOGIN": "a@b",
          "PASSWORD": "p:/", "SCHEMA": "shop", "SSLMODE": "require"}),
        ({"conn_type": "http", "host": "influx", "schema": "https", "port": 8086, "extra": '{"org-id": 7}'},
         {"URL": "https://influx:8086", "HOST": "influx", "PORT": "8086", "SCHEMA": "https", "ORG_ID": "7"}),
        ({"conn_type": "influxdb", "host": "http://influx/"}, {"URL": "http://influx", "HOST": "http://influx/"}),
        ({"conn_type": "sqlite", "host": "/data/shop.db"}, {"URL": "sqlite:////data/shop.db", "HOST": "/data/shop.db"}),
        ({"conn_type": "postgres", "host": "::1", "port": 5432},
         {"URL": "postgresql://[::1]:5432", "HOST": "::1", "PORT": "5432"}),
        ({"conn_type": "generic", "host": "postgresql://db", "login": "a", "password": "%", "schema": "s"},
         {"URL": "postgresql://a:%25@db/s", "HOST": "postgresql://db", "LOGIN": "a", "PASSWORD": "%", "SCHEMA": "s"}),
        ({"conn_type": "generic", "host": "duckdb:////data/shop.db"},
         {"URL": "duckdb:////data/shop.db", "HOST": "duckdb:////data/shop.db"}),
        ({"conn_type": "generic", "host": "db7", "schema": "shop"}, {"HOST": "db7", "SCHEMA": "shop"}),
        ({"conn_type": "http", "host": "https://influx", "login": "a", "port": 8086},
         {"URL": "https://influx:8086", "HOST": "https://influx", "PORT": "8086", "LOGIN": "a"}),
        ({"conn_type": "mongo", "host": "a:1,b:2"}, {"URL": "mongodb://a:1,b:2", "HOST": "a:1,b:2"}),
        ({"conn_type": "mongo", "host": "m", "password": "x"}, {"URL": "mongodb://:x@m", "HOST": "m", "PASSWORD": "x"}),
        ({"conn_type": "tsaudit", "host": "db", "login": "a", "password": "p", "schema": "s", "port": 5433,
          "extra": '{"engine": "postgresql", "token": null}'},
         {"URL": "postgresql://a:p@db:5433/s", "HOST": "db", "PORT": "5433", "LOGIN": "a", "PASSWORD": "p",
          "SCHEMA": "s", "ENGINE": "postgresql"}),
        ({"conn_type": "tsaudit", "host": "postgresql://a@db:5433/s?sslmode=verify-full", "password": "p@",
          "extra": '{"engine": "postgresql"}'},
         {"URL": "postgresql://a:p%40@db:5433/s?sslmode=verify-full", "PASSWORD": "p@", "ENGINE": "postgresql",
          "HOST": "postgresql://a@db:5433/s?sslmode=verify-full"}),
        ({"conn_type": "tsaudit", "host": "influx", "schema": "telegraf", "login": "a", "port": 8086,
          "extra": '{"engine": "influxdb1"}'},
         {"URL": "http://influx:8086", "HOST": "influx", "PORT": "8086", "LOGIN": "a", "SCHEMA": "telegraf",
          "ENGINE": "influxdb1"}),
        ({"conn_type": "tsaudit", "host": "https://influx/?org=acme", "extra": '{"engine": "influxdb2", "token": "t"}'},
         {"URL": "https://influx?org=acme", "HOST": "https://influx/?org=acme", "TOKEN": "t", "ENGINE": "influxdb2"}),
        ({"conn_type": "tsaudit", "host": "eu-central-1", "login": "a", "extra": '{"engine": "timestream"}'},
         {"URL": "timestream://eu-central-1", "HOST": "eu-central-1", "LOGIN": "a", "ENGINE": "timestream"}),
        ({"conn_type": "tsaudit", "host": "g", "login": "a", "port": 4002, "extra": '{"engine": "greptimedb"}'},
         {"URL": "mysql+pymysql://a@g:4002", "HOST": "g", "PORT": "4002", "LOGIN": "a", "ENGINE": "greptimedb"}),
        ({"conn_type": "tsaudit", "host": "shop.duckdb", "extra": '{"engine": "duckdb"}'},
         {"URL": "duckdb:///shop.duckdb", "HOST": "shop.duckdb", "ENGINE": "duckdb"}),
    ],
)  # fmt: skip
def test_hook_when_asked_gives_what_the_connection_has(
    connection: dict[str, Any], expected: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AuditHook, "get_connection", lambda self, name: Connection(conn_id=name, **connection))
    assert AuditHook(["shop-db"]).variables() == {f"SHOP_DB_{name}": value for name, value in expected.items()}


def test_hook_when_the_engine_is_chosen_writes_addresses_as_the_engine_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (name for name, engine in ENGINES.items() if not engine.package):
        connection = Connection(conn_id="a", conn_type="tsaudit", host="h", extra=json.dumps({"engine": name}))
        monkeypatch.setattr(AuditHook, "get_connection", lambda self, _, found=connection: found)
        scheme = ENGINES[name].example_url.partition("://")[0]
        assert AuditHook("a").variables()["A_URL"] == f"{scheme}://{'/' * ENGINES[name].is_a_file}h"


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"engine": None, "token": "t"}, 'the connection `lake` has no engine; choose an engine under "Extra Fields"'),
        ({"engine": "mysql"}, "the connection `lake` has an unknown engine, `mysql`; choose an engine"),
    ],
)
def test_hook_when_nothing_says_the_engine_names_the_connection(
    extra: dict[str, Any], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connection(host: str) -> Connection:
        return Connection(conn_id="lake", conn_type="tsaudit", host=host, extra=json.dumps(extra))

    monkeypatch.setattr(AuditHook, "get_connection", lambda self, _: connection("/data/lake.duckdb"))
    with pytest.raises(AirflowFailException, match=expected):
        AuditHook("lake").variables()
    monkeypatch.setattr(AuditHook, "get_connection", lambda self, _: connection("duckdb:////data/lake.duckdb"))
    assert AuditHook("lake").variables()["LAKE_URL"] == "duckdb:////data/lake.duckdb"


def test_hook_when_two_connections_collide_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        AuditHook, "get_connection", lambda self, name: Connection(conn_id=name, conn_type="http", host="h")
    )
    with pytest.raises(AirflowFailException, match=r"connections give \$\{A_B_URL\} two values"):
        AuditHook(["a-b", "a_b"]).variables()


def test_connection_when_tsaudit_refers_to_it_is_not_in_the_environment(folder: Path) -> None:
    an_operator(folder).execute(context_of())
    assert not [name for name in os.environ if name.startswith("SHOP_")]


class Told(BaseNotifier):
    template_fields = ("text",)

    def __init__(self, text: str, said: list[str]) -> None:
        super().__init__()
        self.text, self.said = text, said

    def notify(self, context: Any) -> None:
        self.said.append(self.text)


@pytest.fixture
def said() -> list[str]:
    return []


def test_notifier_when_an_audit_found_something_shows_its_summary(folder: Path, said: list[str]) -> None:
    task, context = an_operator(folder), context_of()
    task.execute(context)
    AuditNotifier(Told("{{ audits | length }}: {{ audit_summary }}", said))(context | {"task": task})
    (text,) = said
    assert text.startswith("1: metrics: warning. ")
    assert f"\n{task.audits['metrics']['first_step']}\n" in text
    assert text.lower().count("step of") <= 1
    assert f"Report: {task.audits['metrics']['report']}" in text


def test_notifier_when_a_name_looks_like_a_template_does_not_render_it(said: list[str]) -> None:
    one = AN_AUDIT | {"headline": "{{ 6 * 7 }}", "figures": {"Now": "{% raw %}"}}
    AuditNotifier(Told("{{ audit_summary }}", said))({"task": SimpleNamespace(audits={"m": one})})
    assert said == ["m: warning. {{ 6 * 7 }}\nNow: {% raw %}"]


def test_notifier_when_all_is_well_or_nothing_was_audited(said: list[str]) -> None:
    one = {"verdict": "ok"}
    told = AuditNotifier(Told("{{ audit_summary }}", said))
    told({"task": SimpleNamespace(audits={"m": one})})
    assert said == []
    told({"task": SimpleNamespace(audits={}), "exception": AirflowException("the file is gone")})
    assert said == ["No audit: the file is gone"]


class Mailbox(socketserver.StreamRequestHandler):
    """A server for a single mail, which it keeps."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        for line in self.rfile:
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.mail = message_from_bytes(b"".join(lines), policy=email_policy)  # type: ignore[attr-defined]
            self.wfile.write(b"221 bye\r\n" if line.upper().startswith(b"QUIT") else b"250 OK\r\n")


def test_notifier_when_it_is_that_of_email_mails_the_summary_escaped(
    example: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = AN_AUDIT | {"verdict": "critical", "headline": "<script> & co."}
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Mailbox)) as server:
        extra = {"disable_ssl": True, "disable_tls": True, "from_email": "airflow@example.com"}
        connection = {"conn_type": "smtp", "host": "127.0.0.1", "port": server.server_address[1], "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_SMTP_DEFAULT", json.dumps(connection))
        example["notify"]({"task": SimpleNamespace(audits={"m": one})})
    mail = server.mail  # type: ignore[attr-defined]
    assert (mail["To"], mail["Subject"]) == ("dba@example.com", "Audit")
    assert "<pre>m: critical. &lt;script&gt; &amp; co.</pre>" in mail.get_body().get_content()
