"""Commands where the secrets that they do not use are not set, as in cron, or for a colleague who only looks."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from tests.builders import DAY
from tests.cli.conftest import CONFIG, Tsaudit
from tests.cli.test_docs import commands
from tsaudit.cli import main
from tsaudit.cli.errors import Exit

WITH_SECRETS = CONFIG.replace("sqlite:///shop.db", "${TEST_SHOP_URL}\n    password: ${TEST_PASSWORD}") + (
    "slack: {token: '${TEST_TOKEN}', base_url: '${TEST_PROXY}'}\n"
    "notifiers: {alertmanager: {url: '${TEST_ALERTS_URL}'}}\n"
)
SEND = {"tsaudit audit", "tsaudit check"}
CONNECT = {"tsaudit collect", "tsaudit schema check", "tsaudit schema export", "tsaudit what-if"}
NO_SECRETS = {"tsaudit init"}
"""They write the file, not read it."""
ARGUMENTS = {
    "tsaudit show": ("FINGERPRINT",),
    "tsaudit plan": ("shop",),
    "tsaudit report": ("shop",),
    "tsaudit incidents": (),
    "tsaudit ack": ("FINGERPRINT", "--reason", "x"),
    "tsaudit mute": ("FINGERPRINT", "--reason", "x", "--for", "1w"),
    "tsaudit baseline": ("--dry-run",),
    "tsaudit reopen": ("--all",),
    "tsaudit history compact": (),
    "tsaudit history decisions": (),
    "tsaudit history drop": ("shop", DAY.isoformat(), "--yes"),
    "tsaudit history list": (),
    "tsaudit metrics": (),
    "tsaudit backtest": ("CAR001",),
    "tsaudit rules": ("--target", "shop"),
}
"""Commands that read the history, and what to pass to them."""


def test_every_command_that_reads_the_file_is_covered() -> None:
    reading = {
        name
        for name, command, _ in commands(main)
        if not isinstance(command, click.Group) and any(one.name == "config" for one in command.params)
    }
    assert reading == SEND | CONNECT | NO_SECRETS | set(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_history_is_read_without_other_secrets(tsaudit: Tsaudit, folder: Path, fingerprint: str, name: str) -> None:
    (folder / "tsaudit.yaml").write_text(WITH_SECRETS)
    given = [fingerprint if one == "FINGERPRINT" else one for one in ARGUMENTS[name]]
    done = tsaudit(*name.split()[1:], *given)
    assert (done.exit_code, done.stderr) == (Exit.OK, "")


@pytest.mark.parametrize("name", ["tsaudit metrics", "tsaudit collect"])
def test_secrets_that_are_used_have_to_be_set(tsaudit: Tsaudit, folder: Path, name: str) -> None:
    (folder / "tsaudit.yaml").write_text("history: ${TEST_HISTORY}\n" + WITH_SECRETS)
    done = tsaudit(name.split()[1], "shop")
    assert done.exit_code == (Exit.USAGE if name.endswith("metrics") else Exit.NOT_AUDITED)
    missing = {"TEST_HISTORY"} if name.endswith("metrics") else {"TEST_SHOP_URL", "TEST_PASSWORD"}
    assert {word for word in done.stderr.replace("`", " ").split() if word.startswith("TEST_")} == missing


@pytest.mark.parametrize("name", ["collect", "schema export"])
def test_database_is_read_without_secrets_of_notifiers(
    tsaudit: Tsaudit, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (folder / "tsaudit.yaml").write_text("history: ${TEST_HISTORY}\n" + WITH_SECRETS)
    monkeypatch.setenv("TEST_SHOP_URL", "sqlite:///shop.db")
    monkeypatch.setenv("TEST_PASSWORD", "unused")
    done = tsaudit(*name.split(), "shop")
    assert done.exit_code == Exit.OK, done.stderr


def test_target_whose_variable_is_not_set_keeps_no_other_from_being_audited(tsaudit: Tsaudit, folder: Path) -> None:
    """Whoever adds a target and forgets its variable hears of that, and all others are audited and reported as ever."""
    second = "  - {name: orders, engine: postgresql, url: 'postgresql://a@db7/orders', password: '${TEST_PASSWORD}'}\n"
    (folder / "tsaudit.yaml").write_text(CONFIG.replace("targets:\n", f"targets:\n{second}"))
    done = tsaudit("audit")
    assert done.exit_code == Exit.NOT_AUDITED
    assert "targets[0].password: the environment variable TEST_PASSWORD is not set; export it" in done.output
    found = {one["target"]: one["code"] for one in json.loads(tsaudit("incidents", "--format", "json").stdout)}
    assert found["orders"] == "TGT001"
    assert "shop" in found
