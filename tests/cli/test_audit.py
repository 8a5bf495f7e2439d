"""`tsaudit audit`, `collect` and `report` on real databases."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.builders import DAY, a_profile, a_result
from tests.cli.conftest import Tsaudit
from tsaudit.alerts import SendReport
from tsaudit.cli import block, results
from tsaudit.cli.audit import FAIL_ON
from tsaudit.cli.errors import Exit
from tsaudit.model.figures import Cost
from tsaudit.model.jsonfile import from_json
from tsaudit.model.profile import Profile
from tsaudit.report import index
from tsaudit.run import AuditRun

ON = ("--day", DAY.isoformat())


def test_audit_when_something_is_wrong_says_what_and_how_to_fix_it(tsaudit: Tsaudit, folder: Path) -> None:
    done = tsaudit("audit", *ON)
    assert done.exit_code == Exit.FINDINGS
    assert "shop  warning  sqlite" in done.stdout
    assert "  main/cpu: Field usage is stored as TEXT" in done.stdout
    assert "Step 1 of " in done.stdout
    assert "  plan    tsaudit plan shop cpu\n" in done.stdout
    assert f"report  file://{folder}/.tsaudit/reports/shop/{DAY}.html" in done.stdout
    assert "2 targets: 1 warning, 1 ok" in done.stdout
    assert (folder / ".tsaudit" / "reports" / "shop" / f"{DAY}.html").exists()


def test_audit_when_one_target_is_named(tsaudit: Tsaudit) -> None:
    done = tsaudit("audit", "plant", *ON)
    assert done.exit_code == Exit.OK
    assert done.stdout.startswith("plant  ok  sqlite")
    assert "shop" not in done.stdout
    assert "targets" not in done.stdout


def test_audit_when_the_target_is_not_there(tsaudit: Tsaudit) -> None:
    done = tsaudit("audit", "shopp")
    assert done.exit_code == Exit.USAGE
    assert "no target is named `shopp`, did you mean shop?" in done.stderr
    assert "the configuration has shop, plant" in tsaudit("audit", "zzz").stderr


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://ci:s3cret@builds.example/7", "it has a login, which everybody who reads a report would see"),
        ("javascript:alert(1)", "it is no address of a page; write https://..."),
        ("builds.example/7", "it is no address of a page; write https://..."),
    ],
)
def test_audit_when_the_page_of_the_run_cannot_be_linked(tsaudit: Tsaudit, folder: Path, url: str, said: str) -> None:
    done = tsaudit("audit", *ON, "--run-url", url)
    assert done.exit_code == Exit.USAGE
    assert said in done.stderr
    assert "s3cret" not in done.stderr
    assert not (folder / ".tsaudit").exists()
    assert tsaudit("audit", *ON, "--run-url", "https://builds.example/7?job=1").exit_code == Exit.FINDINGS


def test_audit_when_json_is_asked_for(tsaudit: Tsaudit) -> None:
    done = tsaudit("audit", *ON, "--format", "json")
    shop, plant = json.loads(done.stdout)
    assert (shop["target"], shop["verdict"], plant["target"], plant["verdict"]) == ("shop", "warning", "plant", "ok")
    assert shop["findings"][0]["subject"] == "main/cpu.usage"
    assert shop["summary"]["headline"] == shop["findings"][0]["headline"]
    assert shop["summary"]["fingerprint"] == shop["findings"][0]["fingerprint"]
    assert shop["summary"]["rest"] == "tsaudit plan shop cpu"
    assert plant["summary"]["headline"].startswith("Nothing wrong was found")
    assert len(shop["findings"][0]["fingerprint"]) == 16
    assert shop["error"] is None
    assert shop["report"].endswith(f"/shop/{DAY}.html")
    assert done.exit_code == Exit.FINDINGS
    assert done.stdout.isascii()


@pytest.mark.parametrize(("fail_on", "code"), list(zip(FAIL_ON, (1, 1, 0, 1, 0), strict=True)))
def test_exit_code_when_the_verdict_is_warn(tsaudit: Tsaudit, fail_on: str, code: int) -> None:
    assert tsaudit("audit", "shop", *ON, "--fail-on", fail_on).exit_code == code


@pytest.mark.costly
@pytest.mark.parametrize("fail_on", FAIL_ON)
def test_exit_code_when_a_target_cannot_be_audited(tsaudit: Tsaudit, folder: Path, fail_on: str) -> None:
    (folder / "plant.db").write_text("this is no database, and long enough to be looked at" * 20)
    done = tsaudit("audit", *ON, "--fail-on", fail_on)
    assert done.exit_code == Exit.NOT_AUDITED
    assert "error: plant: " in done.stderr
    assert "plant  warn" not in done.stdout
    assert "plant  unknown" in done.stdout
    assert "shop  warn" in done.stdout
    assert done.stdout.count("TGT001 ") == 1


def test_exit_code_when_a_report_cannot_be_written(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / ".tsaudit").mkdir()
    (folder / ".tsaudit" / "reports").write_text("a file where the folder should be")
    done = tsaudit("audit", "plant", *ON)
    assert done.exit_code == Exit.NOT_AUDITED
    assert "error: plant: " in done.stderr
    assert "Traceback" not in done.stderr


def test_index_is_written_once_after_all_targets(
    tsaudit: Tsaudit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, pages = index.page, list[int]()

    def page(entries: Sequence[index.IndexEntry], broken: Sequence[str]) -> str:
        pages.append(len(entries))
        return original(entries, broken)

    monkeypatch.setattr(index, "page", page)
    assert tsaudit("audit", *ON).exit_code == Exit.FINDINGS
    assert pages == [2]
    shown = (folder / ".tsaudit" / "reports" / "index.html").read_text()
    assert all(f"{name}/latest.html" in shown for name in ("plant", "shop"))
    assert shown.count('<td class="owner">default</td>') == 2, "also without a finding"


def test_exit_code_when_the_index_cannot_be_written(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / ".tsaudit" / "reports" / "index.html").mkdir(parents=True)
    done = tsaudit("audit", "plant", *ON)
    assert done.exit_code == Exit.NOT_AUDITED
    assert re.search(r"error: reports: cannot write \S*index\.html: .*; check `report\.folder`", done.stderr)
    assert "Traceback" not in done.stderr


def test_no_notify_when_given_calls_nobody(tsaudit: Tsaudit, folder: Path) -> None:
    config = (folder / "tsaudit.yaml").read_text()
    slack = "slack: {token: xoxb-1, base_url: 'http://127.0.0.1:1/api/'}\nowners: {default: {channel: '#x'}}\n"
    (folder / "tsaudit.yaml").write_text(slack + config)
    # Of a target that is back when the caller tries again, nobody is told anything.
    (folder / "plant.db").rename(folder / "away.db")
    assert tsaudit("audit", "plant", *ON, "--will-retry").exit_code == Exit.NOT_AUDITED
    (folder / "away.db").rename(folder / "plant.db")
    assert tsaudit("audit", "plant", *ON, "--will-retry").exit_code == Exit.OK
    assert tsaudit("audit", "shop", *ON, "--no-notify").exit_code == Exit.FINDINGS


def test_exit_code_when_a_message_is_not_delivered(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tsaudit.alerts.send", lambda *_: SendReport(failed=1, errors=("#x: not in the channel",)))
    done = tsaudit("audit", "plant", *ON)
    assert done.exit_code == Exit.NOT_DELIVERED
    assert "error: alert not delivered: #x: not in the channel" in done.stderr


def test_collect_and_audit_when_apart_say_what_audit_says(tsaudit: Tsaudit, folder: Path) -> None:
    collected = tsaudit("collect", "shop", *ON)
    assert collected.exit_code == Exit.OK
    profile = from_json(Profile, collected.stdout)
    assert (profile.target, profile.day) == ("shop", DAY)
    (folder / "profile.json").write_text(collected.stdout)
    apart = tsaudit("audit", "--profile", "profile.json", "--format", "json")
    together = tsaudit("audit", "shop", *ON, "--format", "json")
    assert apart.exit_code == together.exit_code == Exit.FINDINGS
    (one,), (other,) = json.loads(apart.stdout), json.loads(together.stdout)
    assert one["findings"] == other["findings"]
    assert one["report"] is None


def test_profile_when_judged_uses_the_limits_of_its_target(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "profile.json").write_text(tsaudit("collect", "plant", *ON).stdout)
    assert tsaudit("audit", "--profile", "profile.json").exit_code == Exit.OK
    limits = "    limits: {high-series-cardinality.max_series: 3}\n"
    with (folder / "tsaudit.yaml").open("a") as file:
        file.write(limits)
    limited = tsaudit("audit", "--profile", "profile.json")
    assert limited.exit_code == Exit.FINDINGS
    assert "CAR001" in limited.stdout


def test_profile_when_there_is_no_configuration(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "profile.json").write_text(tsaudit("collect", "shop", *ON).stdout)
    (folder / "tsaudit.yaml").unlink()
    assert tsaudit("audit", "--profile", "profile.json").exit_code == Exit.FINDINGS
    assert tsaudit("audit", "--profile", "profile.json", "--config", "gone.yaml").exit_code == Exit.USAGE


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"target": 1}', "\x00"])
def test_profile_when_the_file_is_something_else(tsaudit: Tsaudit, folder: Path, content: str) -> None:
    (folder / "profile.json").write_text(content)
    done = tsaudit("audit", "--profile", "profile.json")
    assert done.exit_code == Exit.USAGE
    assert "profile.json is not a profile: " in done.stderr
    assert "input_value" not in done.stderr


def test_profile_when_given_with_targets(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "profile.json").write_text("{}")
    assert "leave out both" in tsaudit("audit", "shop", "--profile", "profile.json").stderr


def test_collect_when_several_go_to_a_folder(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "out").mkdir()
    done = tsaudit("collect", *ON, "-o", "out")
    assert done.exit_code == Exit.OK
    assert done.stdout == ""
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["plant.json", "shop.json"]


@pytest.mark.parametrize("output", [(), ("-o", "one.json")])
def test_collect_when_several_have_nowhere_to_go(tsaudit: Tsaudit, output: tuple[str, ...]) -> None:
    done = tsaudit("collect", *output)
    assert done.exit_code == Exit.USAGE
    assert "several targets need an existing folder as `--output`" in done.stderr


def test_collect_when_the_file_cannot_be_written(tsaudit: Tsaudit) -> None:
    done = tsaudit("collect", "shop", "-o", "no/such/folder.json")
    assert done.exit_code == Exit.USAGE
    assert "No such file or directory" in done.stderr


def test_collect_when_there_is_no_database(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "plant.db").unlink()
    done = tsaudit("collect", "plant")
    assert done.exit_code == Exit.NOT_AUDITED
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "plant.db").exists()


@pytest.mark.parametrize("gone", ["plant", "shop"])
def test_collect_when_one_of_several_has_no_database(tsaudit: Tsaudit, folder: Path, gone: str) -> None:
    (folder / "out").mkdir()
    (folder / f"{gone}.db").unlink()
    done = tsaudit("collect", *ON, "-o", "out")
    assert done.exit_code == Exit.NOT_AUDITED
    assert done.stderr.count("error: ") == 1
    assert {p.stem for p in (folder / "out").iterdir()} == {"plant", "shop"} - {gone}


def test_report_when_written_again(tsaudit: Tsaudit, folder: Path) -> None:
    tsaudit("audit", "shop", *ON)
    page = folder / ".tsaudit" / "reports" / "shop" / f"{DAY}.html"
    before = page.read_text()
    page.unlink()
    done = tsaudit("report", "shop")
    assert done.exit_code == Exit.OK
    assert done.stdout.strip() == f"file://{page}"
    assert page.read_text() == before


def test_report_when_nothing_was_audited(tsaudit: Tsaudit) -> None:
    assert "`shop` was never audited" in tsaudit("report", "shop").stderr
    tsaudit("audit", "shop", *ON)
    done = tsaudit("report", "shop", "--day", "2020-01-01")
    assert done.exit_code == Exit.USAGE
    assert f"shop was not audited on 2020-01-01; the nearest day is {DAY}" in done.stderr


def test_cost_when_the_provider_charges_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    costs = (
        Cost("row_sample", 5, 2.5, 900, None, 14_100_000, 50_000_000),
        Cost("columns", 5, 0.5, 30, None, 0, 50_000_000),
        Cost("measurements", 1, 0.25, 5, None),
    )
    run = AuditRun("demo", DAY, a_result(), a_profile(costs=costs), (), None, 4.0, None)
    found = results.of_run(run)
    assert found["cost"] == {
        "statements": 11,
        "seconds": 3.25,
        "rows": 935,
        "bytes_scanned": 14_100_000,
        "bytes_metered": 100_000_000,
    }
    block.print_block(found, everything=False)
    assert "  cost    11 statements, 14.1 MB scanned, 100 MB billed\n" in capsys.readouterr().out
    free = dataclasses.replace(run, profile=a_profile(costs=costs[2:]))
    block.print_block(results.of_run(free), everything=False)
    assert "cost" not in capsys.readouterr().out


def test_profile_of_nothing_is_written_and_judged_as_not_audited(tsaudit: Tsaudit, folder: Path) -> None:
    config = (folder / "tsaudit.yaml").read_text()
    (folder / "tsaudit.yaml").write_text(config + '    include: ["nope_*"]\n')
    cause = 'include: ["nope_*"] does not match the only table; found cpu'
    collected = tsaudit("collect", "plant", *ON, "-o", "profile.json")
    assert collected.exit_code == Exit.NOT_AUDITED
    assert f"error: plant: The target could not be audited: {cause}" in collected.stderr
    judged = tsaudit("audit", "--profile", "profile.json", "--format", "json", "--fail-on", "never")
    assert judged.exit_code == Exit.NOT_AUDITED
    (found,) = json.loads(judged.stdout)
    assert (found["verdict"], found["error"]) == ("unknown", cause)
    assert [one["code"] for one in found["findings"]] == ["TGT001"]
    assert f"error: plant: {cause}" in judged.stderr


def test_audit_of_nothing_says_why_once(tsaudit: Tsaudit, folder: Path) -> None:
    config = (folder / "tsaudit.yaml").read_text()
    (folder / "tsaudit.yaml").write_text(config + '    exclude: ["*"]\n')
    done = tsaudit("audit", "plant", *ON, "--no-notify")
    assert done.exit_code == Exit.NOT_AUDITED
    assert done.stdout.count("removes everything that") == 1
    assert "plant  unknown" in done.stdout
