"""`tsaudit what-if`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tsaudit
from tests.databases import Dataset, write
from tests.engines.greptimedb.double import GreptimeDB
from tests.test_what_if import cpu

CONFIG = """\
targets:
  - name: shop
    engine: sqlite
    url: sqlite:///users.db
    window: 9000d
"""


@pytest.fixture(autouse=True)
def users(folder: Path) -> None:
    write(Dataset([cpu()]), "sqlite", folder / "users.db")
    (folder / "tsaudit.yaml").write_text(CONFIG)


def test_answer_from_the_snapshot_reads_nothing(tsaudit: Tsaudit) -> None:
    tsaudit("audit")
    result = tsaudit("what-if", "shop", "cpu", "--drop", "host")
    assert result.exit_code == 0, result.output
    assert "series after  12\n" in result.output
    assert "user_id determines it" in result.output
    assert "1 if that is dropped too" in result.output
    assert "did not connect to the database" in result.output
    assert "collisions    not measured" in result.output


TWO = """\
targets:
  - {name: shop, engine: sqlite, url: "sqlite:///${SHOP_FILE}.db", window: 9000d}
  - {name: docs, engine: mongodb, url: "mongodb://u@h", password: "${DOCS_PASSWORD}"}
slack: {token: "${SLACK}"}
"""


def test_variables_are_needed_only_for_what_is_used(
    tsaudit: Tsaudit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None for an answer from the last snapshot; those of its own target to connect."""
    tsaudit("audit")
    (folder / "tsaudit.yaml").write_text(TWO)
    stored = tsaudit("what-if", "shop", "cpu", "--drop", "host")
    assert stored.exit_code == 0, stored.output
    live = tsaudit("what-if", "shop", "cpu", "--drop", "host", "--collisions")
    assert "SHOP_FILE" in live.output
    assert "DOCS_PASSWORD" not in live.output
    monkeypatch.setenv("SHOP_FILE", "users")
    assert tsaudit("what-if", "shop", "cpu", "--drop", "host", "--collisions").exit_code == 0
    for command in (["collect", "shop"], ["schema", "export", "shop"], ["check", "shop"], ["audit", "shop"]):
        output = tsaudit(*command).output
        assert "DOCS_PASSWORD" not in output
        assert ("SLACK" in output) == (command[0] in ("check", "audit"))
    assert "DOCS_PASSWORD" in tsaudit("collect", "docs").output


def test_field_instead_of_a_tag_says_what_it_costs_and_what_collides(tsaudit: Tsaudit) -> None:
    result = tsaudit("what-if", "shop", "cpu", "--to-field", "user_id", "--collisions")
    assert result.exit_code == 0, result.output
    assert "80 of 120 rows read would repeat the tags and time of another; 0 do now" in result.output
    assert "not indexed" in result.output
    assert "row_sample: " in result.output


def test_field_of_greptimedb_may_be_indexed_and_rows_may_all_stay(
    tsaudit: Tsaudit, folder: Path, greptimedb: GreptimeDB
) -> None:
    target = write(Dataset([cpu()], database="shop"), "greptimedb", greptimedb)
    login = "\n    ".join(f"{key}: {value}" for key, value in greptimedb.login.items())
    address = f"    engine: greptimedb\n    url: {target.url.get_secret_value()}\n    {login}".rstrip()
    (folder / "tsaudit.yaml").write_text(f"targets:\n  - name: shop\n{address}\n    window: 9000d\n")
    result = tsaudit("what-if", "shop", "cpu", "--to-field", "user_id")
    assert result.exit_code == 0, result.output
    assert "can have its own index" in result.output
    assert "not indexed" not in result.output


def test_json_has_the_same_figures(tsaudit: Tsaudit) -> None:
    result = tsaudit("what-if", "shop", "cpu", "--bucket", "user_id:1", "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["left"]["after"] == 4
    assert found["collisions"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shop", "cpus", "--drop", "host"], "did you mean cpu?"),
        (["shop", "cpu", "--drop", "hots"], "did you mean host?"),
        (["shop", "cpu"], "say what to change"),
        (["shop", "cpu", "--drop", "host", "--bucket", "host:3"], "can only be changed in one way"),
        (["shop", "cpu", "--bucket", "host:0"], "is not a bucketing"),
        (["sho", "cpu", "--drop", "host"], "did you mean shop?"),
    ],
)
def test_word_when_wrong_ends_with_2(tsaudit: Tsaudit, arguments: list[str], said: str) -> None:
    result = tsaudit("what-if", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr


def test_listing_when_over_budget_ends_with_3(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "tsaudit.yaml").write_text(CONFIG + "    budget: {max_listed: 5}\n")
    result = tsaudit("what-if", "shop", "cpu", "--bucket", "host:2")
    assert result.exit_code == 3
    assert "not measured: the listing was stopped after 5 tag sets" in result.output


def test_database_when_out_of_reach_ends_with_3(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "users.db").unlink()
    result = tsaudit("what-if", "shop", "cpu", "--drop", "host")
    assert result.exit_code == 3
    assert result.stderr.startswith("error:")
