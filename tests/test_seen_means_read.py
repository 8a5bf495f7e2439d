"""Tables that are listed and cannot be read, through the command: first day, with a history, and healthy again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.alerts import slack_double
from tests.alerts.builders import fast_messages
from tests.alerts.slack_double import SlackDouble
from tests.builders import DAY, NOW
from tests.command import CliRunner
from tests.databases import Dataset, Row, Table, times
from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.influxdb3.double import InfluxDB3
from tests.histories import clock_at
from tests.servers import Postgresql
from tsaudit.cli import main

__all__ = ["fast_messages"]

Command = Callable[..., Result]

CONFIG = """\
history: sqlite:///history.db
incidents: {{open_after: 1, resolve_after: 1}}
owners: {{default: {{channel: "#default"}}}}
slack: {{token: {token}, base_url: "{slack}"}}
targets:
  - name: plant
    engine: {engine}
    url: {url}
    databases: [{database}]
    {login}
"""


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast_messages: None) -> Command:
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, list(arguments), prog_name="tsaudit")


@pytest.fixture
def slack() -> Iterator[SlackDouble]:
    with slack_double.running() as server:
        yield server


def _configure(slack: SlackDouble, engine: str, url: str, database: str, login: str = "") -> None:
    about = {"engine": engine, "url": url, "database": database, "login": login}
    Path("tsaudit.yaml").write_text(CONFIG.format(**about, token=slack_double.TOKEN, slack=slack.base_url))


def _audit(command: Command, day: int) -> tuple[dict[str, Any], Result]:
    done = command("audit", "--format", "json", "--fail-on", "never", "--day", str(DAY + timedelta(days=day)))
    return json.loads(done.stdout)[0], done


def _changes(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(change["code"], change["kind"]) for change in found["changes"] if change["code"].startswith("TGT")]


def _is_not_audited(command: Command, slack: SlackDouble, day: int, *words: str, kind: str | None = "opened") -> None:
    """What everybody is told on a day on which nothing could be read."""
    found, done = _audit(command, day)
    assert found["verdict"] == "unknown"
    assert done.exit_code == 3
    assert all(word in found["error"] for word in words), found["error"]
    assert "\n" not in found["error"]
    assert "exclude" not in found["error"], "nothing would be left"
    assert f"error: plant: {found['error'][:200]}" in done.stderr
    assert [code for code, _ in _changes(found)] == (["TGT001"] if kind else [])
    assert _changes(found) == ([("TGT001", kind)] if kind else [])
    sent = [message for message in slack.messages if all(word in str(message) for word in words)]
    assert len(sent) == 1, "the incident is told once, with its cause"
    assert not [f for f in found["findings"] if f["code"].startswith("DRF")]
    assert not any("removed" in str(message) for message in slack.messages)


def _is_audited(command: Command, day: int, *, resolved: bool) -> None:
    found, done = _audit(command, day)
    assert found["error"] is None
    assert done.exit_code == 0, done.stderr
    assert _changes(found) == ([("TGT001", "resolved")] if resolved else [])
    assert not [f for f in found["findings"] if f["code"].startswith("DRF")], "no column came or went"
    assert found["measured"]["measurements"] > 0


ROWS = (
    "INSERT INTO {} SELECT TIMESTAMPTZ '2026-03-30' + i * INTERVAL '1 minute', 'h' || i % 5, i "
    "FROM generate_series(1, 60) AS i"
)
TABLE = "CREATE TABLE {} (ts TIMESTAMPTZ, host TEXT, v REAL, PRIMARY KEY (ts, host))"


@pytest.fixture
def schema(postgresql: Postgresql, command: Command, slack: SlackDouble) -> Iterator[str]:
    name = postgresql.new_schema(TABLE.format("weather"), ROWS.format("weather"))
    _configure(slack, "postgresql", postgresql.audit_url, name)
    yield name
    postgresql.execute("ALTER ROLE tsaudit NOBYPASSRLS")


@pytest.mark.parametrize("history", [False, True], ids=["first day", "with history"])
def test_role_without_select(
    command: Command, slack: SlackDouble, postgresql: Postgresql, schema: str, history: bool
) -> None:
    if history:
        _is_audited(command, 0, resolved=False)
    postgresql.execute(f"REVOKE SELECT ON {schema}.weather FROM tsaudit")
    grant = f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit"
    _is_not_audited(command, slack, 1, "permission denied", grant)
    _is_not_audited(command, slack, 2, "permission denied", grant, kind=None)
    checked = command("check")
    assert checked.exit_code == 3
    assert grant in " ".join(checked.stdout.split())
    assert "rules can be evaluated" not in checked.stdout
    postgresql.execute(grant)
    _is_audited(command, 3, resolved=True)


@pytest.mark.parametrize("history", [False, True], ids=["first day", "with history"])
def test_row_level_security_that_hides_rows(
    command: Command, slack: SlackDouble, postgresql: Postgresql, schema: str, history: bool
) -> None:
    if history:
        _is_audited(command, 0, resolved=False)
    postgresql.execute(f"ALTER TABLE {schema}.weather ENABLE ROW LEVEL SECURITY")
    right = "ALTER ROLE tsaudit BYPASSRLS"
    _is_not_audited(command, slack, 1, "row-level security", right)
    checked = command("check")
    assert checked.exit_code == 3
    assert right in " ".join(checked.stdout.split())
    postgresql.execute(right)
    _is_audited(command, 2, resolved=True)


def test_one_table_of_three_is_named_by_check_and_told_after_three_audits(
    command: Command, postgresql: Postgresql, schema: str
) -> None:
    for name in ("secret", "hidden"):
        postgresql.execute(TABLE.format(f"{schema}.{name}"))
    postgresql.execute(f"GRANT SELECT ON {schema}.hidden TO tsaudit")
    postgresql.execute(f"ALTER TABLE {schema}.hidden ENABLE ROW LEVEL SECURITY")
    checked = command("check")
    said = " ".join(checked.stdout.split())
    assert (
        f"cannot read {schema}/secret: permission denied for table secret; GRANT SELECT ON {schema}.secret TO tsaudit; "
        "or leave it out with `exclude`"
    ) in said
    assert f"cannot read {schema}/hidden: row-level security hides rows of table hidden; ALTER ROLE tsaudit" in said
    assert f"cannot read {schema}/weather" not in said
    told = []
    for day in range(3):
        with clock_at(NOW + timedelta(days=day)):
            told.append(_changes(_audit(command, day)[0]))
    assert told == [[], [], [("TGT002", "opened")]]


def _dataset() -> Dataset:
    rows = [Row(at, {"host": f"h{i % 5}"}, {"usage": i / 7}) for i, at in enumerate(times(60))]
    table = Table("cpu", tags=("host",), fields={"usage": "float"}, rows=rows, key=("host", "ts"), time="ts")
    return Dataset([table], database="shop")


@pytest.fixture(params=["influxdb3", "greptimedb"])
def columns_server(
    request: pytest.FixtureRequest, command: Command, slack: SlackDouble
) -> Iterator[InfluxDB3 | GreptimeDB]:
    """A stand-in that can hide columns; the configuration names it."""
    server = InfluxDB3() if request.param == "influxdb3" else GreptimeDB("1.1.4")
    server.write(_dataset())
    login = "\n    ".join(f"{key}: {value}" for key, value in server.login.items())
    _configure(slack, request.param, server.url, "shop", login)
    yield server
    server.stop()


@pytest.mark.parametrize(
    "history",
    [pytest.param(False, id="first day"), pytest.param(True, id="with history", marks=pytest.mark.full)],
)
def test_server_that_lists_tables_without_columns(
    command: Command, slack: SlackDouble, columns_server: InfluxDB3 | GreptimeDB, history: bool
) -> None:
    if history:
        _is_audited(command, 0, resolved=False)
    columns_server.hides_columns = True
    _is_not_audited(command, slack, 1, "lists it without columns", "grants.md")
    _is_not_audited(command, slack, 2, "lists it without columns", kind=None)
    checked = command("check")
    assert checked.exit_code == 3
    assert "cannot read shop/cpu: the server lists it without columns" in " ".join(checked.stdout.split())
    columns_server.hides_columns = False
    columns_server.write(_dataset())
    _is_audited(command, 3, resolved=True)
