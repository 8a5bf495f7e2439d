"""`tsaudit plan`, as typed."""

from __future__ import annotations

import hashlib
import json
import uuid
from pathlib import Path

import pytest

from tests.cli.conftest import Tsaudit
from tests.databases import Dataset, Row, Table, times, write
from tests.servers import Influxd

CONFIG = """\
limits: {unbounded-tag.max_values: 50}
rules: {TAG002: warning}
targets:
  - name: shop
    engine: duckdb
    url: duckdb:///orders.duckdb
    window: 9000d
    columns: {checkout: {tags: [order_id, shop]}}
"""


@pytest.fixture(autouse=True)
def orders(folder: Path) -> None:
    """Every order is a tag of its own."""
    rows = [
        Row(at, {"order_id": str(uuid.UUID(int=i * 2**80 + 7, version=4)), "shop": f"s{i % 3}"}, {"total": i / 7})
        for i, at in enumerate(times(120))
    ]
    write(
        Dataset([Table("checkout", ("order_id", "shop"), {"total": "float"}, rows)]), "duckdb", folder / "orders.duckdb"
    )
    (folder / "tsaudit.yaml").write_text(CONFIG)


def test_steps_in_their_order_with_what_they_would_do(tsaudit: Tsaudit) -> None:
    audited = tsaudit("audit")
    assert "TAG002" in audited.output
    assert "  plan    tsaudit plan shop checkout\n" in audited.output
    result = tsaudit("plan", "shop")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    assert lines[0] == "main/checkout  4 steps"
    # What is wrong comes before what to do.
    assert lines[1].startswith("  warning  TAG002  ")
    assert lines[2].startswith("  main/checkout: Tag order_id has 120 values")
    # The headline has said how many there are; the limit it has not.
    why = "Why a warning  `rules` in tsaudit.yaml says so (limit 50 values, now 2.4 times that)"
    assert lines[4].strip() == why
    assert not [line for line in lines if line.split()[:1] == ["Now"]]
    assert "Series: 120 now, 3 afterward." in result.output
    assert "  1. " in result.output
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100


def test_the_same_as_data(tsaudit: Tsaudit) -> None:
    tsaudit("audit")
    (plan,) = json.loads(tsaudit("plan", "shop", "checkout", "--format", "json").output)
    (asked,) = plan["changes"]
    assert asked["change"]["kind"] == "make-field"
    assert asked["change"]["tag"] == "order_id"
    assert asked["rules"] == ["TAG002"]
    assert plan["effect"]["series_after"] == 3


def test_one_line_for_what_is_not_there(tsaudit: Tsaudit) -> None:
    result = tsaudit("plan", "shop")
    assert (result.exit_code, "`shop` was never audited" in result.output) == (2, True)
    tsaudit("audit")
    result = tsaudit("plan", "shop", "chekout")
    assert result.exit_code == 2
    assert "no finding asks to change `chekout`" in result.output
    assert "checkout" in result.output.split("`chekout`")[1]
    assert tsaudit("plan", "shop", "--day", "2020-01-01").exit_code == 2


def test_family_of_320_measurements_is_one_plan_on_a_screen(tsaudit: Tsaudit, folder: Path, influxd: Influxd) -> None:
    """Each container is a measurement of its own."""
    tables = [
        Table(f"docker-{hashlib.sha256(bytes([n // 256, n % 256])).hexdigest()[:12]}.cpu", (), {"value": "float"}, [
            Row(at, {}, {"value": n + i / 7}) for i, at in enumerate(times(3))
        ])
        for n in range(320)
    ]  # fmt: skip
    target = write(Dataset(tables), "influxdb1", influxd.url)
    (folder / "tsaudit.yaml").write_text(
        f"targets: [{{name: docker, engine: influxdb1, url: {influxd.url}, databases: [{target.databases[0]}], "
        "window: 9000d, harm: {min_names: 300}}]\n"
    )
    audited = tsaudit("audit")
    assert "NAM002" in audited.output, audited.output
    plans = json.loads(tsaudit("plan", "docker", "--format", "json").output)
    about = [plan for plan in plans if plan["changes"][0]["change"]["kind"] == "merge-measurements"]
    assert [len(plan["changes"][0]["change"]["members"]) for plan in about] == [320]
    printed = tsaudit("plan", "docker", tables[200].name).output.splitlines()
    assert len(printed) <= 40, "\n".join(printed)
    assert max(map(len, printed)) <= 100
    # Nothing else of the database needs a page for each of them.
    assert len(tsaudit("plan", "docker").output.splitlines()) <= 40 * len(plans)
    assert len(plans) <= 2


def test_what_to_do_about_findings_that_have_no_plan(tsaudit: Tsaudit, folder: Path) -> None:
    config = CONFIG.replace("limits: {", "limits: {awkward-name.max_length: 7, ")
    (folder / "tsaudit.yaml").write_text(config.replace("TAG002: warning", "TAG*: off, CAR*: off, NAM001: warning"))
    tsaudit("audit")
    for arguments in (["shop"], ["shop", "checkout"]):
        lines = tsaudit("plan", *arguments).output.splitlines()
        assert lines[0] == "main/checkout"
        assert lines[1].startswith("  warning  NAM001  ")
        assert any(line.startswith("  For what you write next, take short names") for line in lines), lines
        assert not any("Nothing to do" in line for line in lines)
    (folder / "tsaudit.yaml").write_text(CONFIG.replace("TAG002: warning", "TAG*: off, CAR*: off"))
    tsaudit("audit")
    assert tsaudit("plan", "shop").output == "Nothing to do: there is no warning or critical finding.\n"
    (folder / "tsaudit.yaml").write_text(config.replace("TAG002: warning", "TAG*: off, CAR*: off, NAM001: note"))
    tsaudit("audit")
    nothing = "Nothing to do: there is no warning or critical finding, only 1 note; `tsaudit show shop` prints them.\n"
    assert tsaudit("plan").output == nothing
    (note,) = json.loads(tsaudit("show", "--format", "json").output)["findings"]
    refused = tsaudit("mute", note["fingerprint"], "--reason", "x", "--for", "1w").output
    assert (
        "is a note, which opens no incident and notifies nobody; to hide such notes, set `rules: {NAM001: off}`"
        in refused
    )


def test_target_may_be_left_out_if_there_is_one(tsaudit: Tsaudit, folder: Path) -> None:
    tsaudit("audit")
    assert tsaudit("plan").output == tsaudit("plan", "shop").output
    assert tsaudit("show").output == tsaudit("show", "shop").output
    assert tsaudit("report").exit_code == 0
    (folder / "tsaudit.yaml").write_text(CONFIG + CONFIG[CONFIG.index("  - ") :].replace("shop\n", "mill\n"))
    for command in ("plan", "show", "report"):
        assert "name a target: shop or mill" in tsaudit(command).output


@pytest.mark.parametrize("name", ["checkout", "main/checkout"])
def test_measurement_may_be_named_as_it_is_shown(tsaudit: Tsaudit, name: str) -> None:
    """With its database before it or without, in a snapshot and in the live database."""
    live = tsaudit("what-if", "shop", name, "--drop", "order_id")
    assert live.output.startswith("main/checkout\n"), live.output
    tsaudit("audit")
    stored = tsaudit("what-if", "shop", name, "--drop", "order_id")
    assert stored.output.startswith("main/checkout\n"), stored.output
    assert "did not connect" in stored.output
    assert tsaudit("plan", "shop", name).output == tsaudit("plan", "shop").output
    unknown = tsaudit("plan", "shop", "main/chekout")
    assert "did you mean main/checkout?" in unknown.output


def test_what_is_muted_comes_last_and_is_part_of_no_other_plan(tsaudit: Tsaudit, folder: Path) -> None:
    rows = [
        Row(at, {"shop": f"s{i % 3}"}, {"total": f"{i * i / 7:.2f}", "weight": f"{i * i / 11:.2f}"})
        for i, at in enumerate(times(200))
    ]
    write(
        Dataset([Table("orders", ("shop",), {"total": "string", "weight": "string"}, rows)]),
        "duckdb",
        folder / "texts.duckdb",
    )
    (folder / "tsaudit.yaml").write_text(
        "targets: [{name: shop, engine: duckdb, url: 'duckdb:///texts.duckdb', window: 9000d}]"
    )
    tsaudit("audit")
    assert "Muted" not in tsaudit("plan", "shop").output
    marks = [line.split()[1] for line in tsaudit("incidents").output.splitlines() if "FLD002" in line]
    assert len(marks) == 2
    assert tsaudit("mute", marks[0], "--for", "1w", "--reason", "later", "--owner", "ada").exit_code == 0
    asked, _, muted = tsaudit("plan", "shop").output.partition("Muted, so no action is requested:")
    columns = {name for name in ("total", "weight") if f'COLUMN "{name}"' in asked}
    assert len(columns) == 1
    assert marks[0] in muted
    assert marks[0] not in asked
    assert not any(f'COLUMN "{name}"' in muted for name in columns)
    plans = json.loads(tsaudit("plan", "shop", "--format", "json").output)
    assert [plan["muted"] for plan in plans] == [False, True]
