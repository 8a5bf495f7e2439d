"""What comes of muted findings on the mornings after: they fail nothing, lead nothing, and are counted apart."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY
from tests.cli.conftest import Tsaudit, a_table
from tests.databases import Dataset, write
from tsaudit.cli.errors import Exit


def _morning(tsaudit: Tsaudit, number: int, fail_on: str = "warning") -> tuple[int, dict[str, Any]]:
    """Exit code and result of the audit of the target on one day after another."""
    day = (DAY + timedelta(days=number)).isoformat()
    done = tsaudit("audit", "shop", "--day", day, "--fail-on", fail_on, "--format", "json")
    return done.exit_code, json.loads(done.stdout)[0]


def _codes(tsaudit: Tsaudit, number: int) -> dict[str, int]:
    return {name: _morning(tsaudit, number, name)[0] for name in ("new", "warning", "critical")}


def _mute(tsaudit: Tsaudit, found: dict[str, Any], place: str) -> None:
    """Mutes whatever concerns one table."""
    for one in found["findings"]:
        if one["severity"] != "note" and place in one["subject"] and not one["muted"]:
            assert (
                tsaudit("mute", one["fingerprint"], "--for", "9w", "--reason", "known", "--owner", "ada").exit_code
                == Exit.OK
            )


@pytest.mark.full
def test_a_week_of_mornings(tsaudit: Tsaudit, folder: Path) -> None:
    bad, ok = Exit.FINDINGS, Exit.OK
    opened = {"new": bad, "warning": bad, "critical": ok}
    assert _codes(tsaudit, 0) == opened
    assert _codes(tsaudit, 1) == opened | {"new": ok}, "nobody has done anything about it, and nothing is new"

    _, found = _morning(tsaudit, 1)
    assert found["verdict"] == "warning"
    _mute(tsaudit, found, "cpu")
    assert set(_codes(tsaudit, 2).values()) == {ok}
    _, found = _morning(tsaudit, 2)
    assert found["verdict"] == "ok"
    assert found["summary"]["headline"].startswith("1 warning muted until ")
    page = folder / ".tsaudit" / "reports" / "shop" / f"{DAY + timedelta(days=2)}"
    assert json.loads(page.with_suffix(".json").read_text())["verdict"] == "ok"
    assert 'class="v warning"' not in page.with_suffix(".html").read_text()

    table = a_table(text_numbers=True)
    write(Dataset([replace(table, name="disk")]), "sqlite", folder / "shop.db")
    assert _codes(tsaudit, 3) == opened
    _, found = _morning(tsaudit, 3)
    assert "disk" in found["summary"]["headline"], "what is muted does not lead"
    _mute(tsaudit, found, "disk")
    assert set(_codes(tsaudit, 4).values()) == {ok}
    assert tsaudit("reopen", "--all", "--owner", "ada").exit_code == Exit.OK
    assert _codes(tsaudit, 5) == opened | {"new": ok}


def test_a_muted_target_that_is_down_fails_nothing_and_is_not_ok(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "shop.db").unlink()
    code, found = _morning(tsaudit, 0)
    assert (code, found["verdict"]) == (Exit.NOT_AUDITED, "unknown")
    (incident,) = json.loads(tsaudit("incidents", "--format", "json").stdout)
    assert (
        tsaudit("mute", incident["fingerprint"], "--for", "1w", "--reason", "moved", "--owner", "ada").exit_code
        == Exit.OK
    )
    code, found = _morning(tsaudit, 1)
    assert (code, found["verdict"], found["error"], found["complete"]) == (Exit.OK, "unknown", None, False)
    assert _morning(tsaudit, 1, "unknown")[0] == Exit.NOT_AUDITED


def test_a_profile_file_does_not_say_what_is_new(tsaudit: Tsaudit, tmp_path: Path) -> None:
    assert tsaudit("collect", "shop", "-o", "shop.json").exit_code == Exit.OK
    done = tsaudit("audit", "--profile", "shop.json", "--fail-on", "new")
    assert done.exit_code == Exit.USAGE
    assert "a profile file has no history, which says what is new" in done.stderr
    assert tsaudit("audit", "--profile", "shop.json", "--fail-on", "never").exit_code == Exit.OK
