"""`tsaudit incidents`, the three decisions, and `tsaudit history`."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tests.cli.conftest import Tsaudit, a_table
from tests.databases import Dataset, write
from tsaudit.cli.errors import Exit
from tsaudit.cli.options import PeriodParam
from tsaudit.config.settings import Incidents
from tsaudit.history import clock
from tsaudit.history.incidents import update
from tsaudit.history.removal import remove_day
from tsaudit.history.store import Store
from tsaudit.model import figures
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity


def test_incidents_when_there_are_none(tsaudit: Tsaudit) -> None:
    done = tsaudit("incidents")
    assert (done.exit_code, done.stdout) == (Exit.OK, "no incidents\n")


def test_incidents_when_listed_are_aligned(tsaudit: Tsaudit, fingerprint: str) -> None:
    heads, row, headline, hint = tsaudit("incidents", "shop").stdout.splitlines()
    assert row[heads.index("fingerprint") :].startswith(f"{fingerprint[:8]} ")
    assert row[heads.index("state") :] == f"open since {DAY}"
    assert headline.startswith("    main/cpu: Field usage is stored as TEXT")
    assert hint == f"`tsaudit show {fingerprint[:8]}` prints everything about the first one"
    assert tsaudit("incidents", "plant").stdout == "no incidents\n"
    assert "`nowhere` was never audited" in tsaudit("incidents", "nowhere").stderr


def test_incidents_of_a_target_that_was_removed_say_how_they_end(
    tsaudit: Tsaudit, fingerprint: str, folder: Path
) -> None:
    config = folder / "tsaudit.yaml"
    config.write_text(config.read_text().replace("shop", "store"))
    said = "shop is not in this tsaudit.yaml: if no other audits it, its incidents stay until its days are removed"
    assert f"{said}: `tsaudit history drop shop DAY`\n" in tsaudit("incidents").stdout
    tsaudit("history", "drop", "shop", DAY.isoformat(), "--yes")
    assert tsaudit("incidents").stdout == "no incidents\n"


def test_decision_when_made_is_shown(tsaudit: Tsaudit, fingerprint: str) -> None:
    done = tsaudit("mute", fingerprint[:8].upper(), "--reason", "moving", "--owner", "ada", "--for", "1w")
    until = clock.today() + timedelta(days=7)
    assert done.exit_code == Exit.OK, done.stderr
    assert done.stdout.startswith(f"muted {fingerprint[:8]} until {until}: shop ")
    assert f"muted by ada until {until} (moving)" in tsaudit("incidents").stdout
    (found,) = json.loads(tsaudit("incidents", "--format", "json").stdout)
    assert found["decision"]["kind"] == "mute"
    assert found["decision"]["until"] == until.isoformat()


def test_ack_when_made_holds_until_resolved(tsaudit: Tsaudit, fingerprint: str) -> None:
    done = tsaudit("ack", fingerprint, "--reason", "on it", "--owner", "ada")
    assert done.exit_code == Exit.OK
    assert "acknowledged by ada (on it)" in tsaudit("incidents").stdout
    audit = ("audit", "--day", DAY.isoformat(), "--format")
    for command in ((*audit, "text"), (*audit, "markdown"), ("show", "shop")):
        assert "warning, acknowledged by ada" in tsaudit(*command).stdout
    found = next(one for one in json.loads(tsaudit(*audit, "json").stdout) if one["target"] == "shop")
    assert {one["fingerprint"]: one["acknowledged_by"] for one in found["findings"]} == {fingerprint: "ada"}
    assert json.loads(tsaudit("show", fingerprint, "--format", "json").stdout)[0]["acknowledged_by"] == "ada"


def test_owner_when_not_given_is_whoever_git_or_the_login_says(
    tsaudit: Tsaudit, fingerprint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Grace Hopper")
    tsaudit("ack", fingerprint, "--reason", "x")
    assert "acknowledged by Grace Hopper (x)" in tsaudit("incidents").stdout
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Gr\udce4ce")  # as Latin-1 writes it
    assert tsaudit("ack", fingerprint, "--reason", "x", "--replace").exit_code == Exit.OK
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("LOGNAME", "grace")
    tsaudit("ack", fingerprint, "--reason", "y", "--replace")
    assert "acknowledged by grace (y)" in tsaudit("incidents").stdout


def test_owner_when_nobody_knows_who_it_is(tsaudit: Tsaudit, fingerprint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("uid")

    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("getpass.getuser", unknown)
    done = tsaudit("ack", fingerprint, "--reason", "x")
    assert done.exit_code == Exit.USAGE
    assert "pass `--owner`" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("ack", "ffffffffffffffffffff", "--reason", "x"), "no incident starts with `ffffffffffffffffffff`"),
        (("ack", "", "--reason", "x"), "no incident starts with ``"),
        (("ack", "{fingerprint}", "--reason", "  "), "give a reason"),
    ],
)
def test_decision_when_it_cannot_be_made(
    tsaudit: Tsaudit, fingerprint: str, arguments: tuple[str, ...], expected: str
) -> None:
    done = tsaudit(*(a.format(fingerprint=fingerprint) for a in arguments))
    assert done.exit_code == Exit.USAGE
    assert expected in done.stderr


@pytest.mark.full
def test_decision_when_the_start_is_not_unique(tsaudit: Tsaudit, fingerprint: str) -> None:
    """Seventeen incidents cannot all start with different hex digits."""
    config = "".join(f"  - {{name: shop{i}, engine: sqlite, url: 'sqlite:///shop.db'}}\n" for i in range(17))
    with open("tsaudit.yaml", "a") as file:  # noqa: PTH123 -- the current folder
        file.write(config)
    tsaudit("audit", "--day", DAY.isoformat(), "--no-notify")
    starts = [i["fingerprint"][0] for i in json.loads(tsaudit("incidents", "--format", "json").stdout)]
    shared = next(s for s in starts if starts.count(s) > 1)
    done = tsaudit("ack", shared, "--reason", "x")
    assert done.exit_code == Exit.USAGE
    assert f"`{shared}` matches several incidents:" in done.stderr


@pytest.mark.parametrize(("text", "days"), [("0d", 0), ("7d", 7), ("2w", 14)])
def test_period_when_written_in_any_way(text: str, days: int) -> None:
    assert PeriodParam().convert(text, None, None) == clock.today() + timedelta(days=days)


def test_incidents_when_one_is_muted_come_after_those_to_act_on(tsaudit: Tsaudit, folder: Path) -> None:
    """However severe it is: somebody has decided about it."""
    table = a_table(text_numbers=True)
    (folder / "shop.db").unlink()
    write(Dataset([table, replace(table, name="disk")]), "sqlite", folder / "shop.db")
    tsaudit("audit", "--day", DAY.isoformat(), "--no-notify")
    first, *others = json.loads(tsaudit("incidents", "--format", "json").stdout)
    assert others
    tsaudit("mute", first["fingerprint"], "--for", "9w", "--reason", "known", "--owner", "ada")
    after = [one["fingerprint"] for one in json.loads(tsaudit("incidents", "--format", "json").stdout)]
    assert after == [*(one["fingerprint"] for one in others), first["fingerprint"]]


def test_history_when_listed(tsaudit: Tsaudit) -> None:
    assert "there are no audits yet" in tsaudit("history", "list").stdout
    for day in (DAY, DAY + timedelta(days=1)):
        tsaudit("audit", "--day", day.isoformat(), "--no-notify")
    rows = json.loads(tsaudit("history", "list", "shop", "--format", "json").stdout)
    assert [(r["day"], r["verdict"], r["findings"], r["series"]) for r in rows] == [
        ((DAY + timedelta(days=1)).isoformat(), "warning", 1, 5),
        (DAY.isoformat(), "warning", 1, 5),
    ]
    heads, *lines = tsaudit("history", "list", "--days", "1").stdout.splitlines()
    assert heads.split() == ["target", "day", "verdict", "findings", "muted", "series"]
    assert [line.split()[0] for line in lines] == ["plant", "shop"]
    assert "`nowhere` was never audited" in tsaudit("history", "list", "nowhere").stderr
    tsaudit("baseline", "--target", "shop", "--for", "9w", "--reason", "known")
    row = json.loads(tsaudit("history", "list", "shop", "--format", "json").stdout)[0]
    assert (row["verdict"], row["findings"], row["muted"]) == ("ok", 0, 1)


def test_target_that_went_down_later_that_day_keeps_what_was_found(
    tsaudit: Tsaudit, folder: Path, fingerprint: str
) -> None:
    """In every output, together with the failure and the times of both audits."""
    (before,) = json.loads(tsaudit("history", "list", "shop", "--format", "json").stdout)
    (folder / "shop.db").unlink()
    for _ in range(2):
        done = tsaudit("audit", "shop", "--day", DAY.isoformat(), "--no-notify")
        assert done.exit_code == Exit.NOT_AUDITED
        assert "because the audit at" in done.stdout
        assert "TGT001" in done.stdout
    (row,) = json.loads(tsaudit("history", "list", "shop", "--format", "json").stdout)
    assert (row["verdict"], row["series"], row["findings"]) == ("warning", before["series"], before["findings"] + 1)
    shown = json.loads(tsaudit("show", "shop", "--format", "json").stdout)
    assert [one["code"] for one in shown["findings"] if one["severity"] != "note"].count("TGT001") == 1
    assert shown["measured"]["series"] == before["series"]
    assert shown["audited_at"] < shown["failed_at"]
    assert not shown["complete"]
    (failure,) = (one["message"] for one in shown["findings"] if one["code"] == "TGT001")
    assert "no such file" in failure.lower() or "unable to open" in failure.lower() or "there is no file" in failure
    assert "the figures and all other findings of the day are from" in failure
    assert fingerprint in tsaudit("show", fingerprint, "--format", "json").stdout
    assert {one["code"] for one in json.loads(tsaudit("incidents", "--format", "json").stdout)} > {"TGT001"}
    tsaudit("report", "shop")
    page = (folder / f".tsaudit/reports/shop/{DAY}.html").read_text()
    assert f'id="f-{fingerprint}"' in page
    assert "all other findings of the day are from" in page.partition('class="lead"')[0]
    assert "Nothing was measured today" not in page


def test_target_that_is_back_later_that_day_has_only_its_own_findings(tsaudit: Tsaudit, folder: Path) -> None:
    database = (folder / "shop.db").read_bytes()
    for content in (database, None, database):
        (folder / "shop.db").unlink(missing_ok=True)
        if content is not None:
            (folder / "shop.db").write_bytes(content)
        tsaudit("audit", "shop", "--day", DAY.isoformat(), "--no-notify")
    shown = json.loads(tsaudit("show", "shop", "--format", "json").stdout)
    assert shown["failed_at"] is None
    assert "TGT001" not in {one["code"] for one in shown["findings"]}
    assert {one["code"] for one in json.loads(tsaudit("incidents", "--format", "json").stdout)}.isdisjoint({"TGT001"})


def test_report_of_a_day_without_audit_lists_what_is_still_open(
    tsaudit: Tsaudit, folder: Path, fingerprint: str
) -> None:
    """Links of messages lead to it."""
    (folder / "shop.db").unlink()
    day = DAY + timedelta(days=1)
    tsaudit("audit", "shop", "--day", day.isoformat(), "--no-notify")
    page = (folder / f".tsaudit/reports/shop/{day}.html").read_text()
    assert f'<li id="f-{fingerprint}"' in page
    assert "1 open finding not looked for that day" in page


def test_history_when_a_day_cannot_be_read_shows_the_gap(tsaudit: Tsaudit, folder: Path) -> None:
    tsaudit("audit", "shop", "--day", DAY.isoformat(), "--no-notify")
    with closing(sqlite3.connect(folder / ".tsaudit" / "history.db")) as history, history:
        history.execute("UPDATE snapshot SET result = x'00'")
    assert tsaudit("history", "list").stdout.splitlines()[1].split() == ["shop", DAY.isoformat(), "-", "-", "-", "5"]
    rows = json.loads(tsaudit("history", "list", "shop", "--format", "json").stdout)
    nothing = {"verdict": None, "findings": None, "muted": None}
    assert rows == [{"target": "shop", "day": DAY.isoformat(), **nothing, "series": 5}]
    done = tsaudit("report", "shop")
    assert done.exit_code == Exit.USAGE
    assert f"the data stored for {DAY} was written by another version" in done.stderr


def test_history_when_compacted(tsaudit: Tsaudit) -> None:
    for back in (0, 200, 201, 202):
        tsaudit("audit", "plant", "--day", (DAY - timedelta(days=back)).isoformat(), "--no-notify")
    done = tsaudit("history", "compact", "plant")
    assert done.exit_code == Exit.OK
    assert done.stdout in ("plant: 1 day dropped\n", "plant: 2 days dropped\n")
    assert tsaudit("history", "compact", "plant").stdout == "plant: 0 days dropped\n"


def test_history_when_it_cannot_be_opened(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    with open("tsaudit.yaml", "a") as file:  # noqa: PTH123 -- the current folder
        file.write("history: sqlite:////proc/nowhere/history.db\n")
    done = tsaudit("audit")
    assert done.exit_code == Exit.USAGE
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def _ahead(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> str:
    """The day of an audit that ran with a clock 400 days ahead, after one with the right clock."""

    assert tsaudit("audit", "shop", "--day", DAY.isoformat(), "--no-notify").exit_code == Exit.FINDINGS
    wrong = datetime.now(UTC) + timedelta(days=400)
    with monkeypatch.context() as patch:
        patch.setattr(figures, "utc_now", lambda: wrong)
        tsaudit("audit", "shop", "--no-notify")
    return wrong.date().isoformat()


def test_day_that_a_wrong_clock_left_is_reported_in_red_until_it_is_dropped(
    tsaudit: Tsaudit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead = _ahead(tsaudit, monkeypatch)
    what = f"the history of shop holds 1 day in the future ({ahead}; the clock says {clock.today()})"

    command = f"`tsaudit history drop shop {ahead}`"
    audited = tsaudit("audit", "--fail-on", "never", "--no-notify")
    assert audited.exit_code == Exit.NOT_AUDITED
    (line,) = [line for line in audited.stderr.splitlines() if what in line]
    # A clock that is behind by less than the history is long looks the same: nobody is told to drop a good day.
    assert line == (
        f"error: shop: {what}, ignored here. If this machine's clock is correct, an audit ran with a wrong one: "
        f"remove it with {command}"
    )
    page = (folder / f".tsaudit/reports/shop/{clock.today()}.html").read_text()
    assert f"in the future ({ahead}" in re.sub("<[^>]+>", "", page)
    assert "in the future" not in (folder / f".tsaudit/reports/plant/{clock.today()}.html").read_text()
    checked = tsaudit("check")
    assert checked.exit_code == Exit.NOT_AUDITED
    assert what in checked.stdout
    assert ahead in tsaudit("history", "list", "shop").stdout

    dropped = tsaudit("history", "drop", "shop", ahead, "--yes")
    assert (dropped.exit_code, dropped.stdout.count("\n")) == (Exit.OK, 1), dropped.stderr
    assert dropped.stdout.startswith(f"shop: {ahead} dropped, with ")
    assert f"incidents continue from {clock.today()}" in dropped.stdout
    assert tsaudit("check").exit_code == Exit.OK
    assert tsaudit("audit", "--fail-on", "never", "--no-notify").exit_code == Exit.OK


def test_drop_when_it_cannot_be_meant(tsaudit: Tsaudit, fingerprint: str) -> None:
    day = DAY.isoformat()
    refused = {
        ("nowhere", day): "`nowhere` was never audited",
        ("shop", "2026-01-01"): f"shop was not audited on 2026-01-01; the nearest days are {day}",
        ("shop", "soon"): "`soon` is not a day",
        # Nobody is there to answer.
        ("shop", day): f"nothing was dropped; pass `--yes` to drop {day} of shop without asking",
    }
    for arguments, line in refused.items():
        done = tsaudit("history", "drop", *arguments)
        assert done.exit_code == Exit.USAGE
        assert line in done.stderr
    assert fingerprint[:8] in tsaudit("incidents").stdout


def test_drop_of_the_only_day_leaves_nothing_open(tsaudit: Tsaudit, fingerprint: str) -> None:
    done = tsaudit("history", "drop", "shop", DAY.isoformat(), "--yes")
    assert done.exit_code == Exit.OK
    assert "there are no earlier days" in done.stdout
    assert fingerprint[:8] not in tsaudit("incidents").stdout


def test_reports_are_those_of_days_that_the_history_has(tsaudit: Tsaudit, folder: Path) -> None:
    reports = folder / ".tsaudit/reports"
    days = [(DAY + timedelta(days=n)).isoformat() for n in range(3)]

    def audit(*numbers: int) -> None:
        for number in numbers:
            assert tsaudit("audit", "shop", "--day", days[number], "--no-notify").exit_code == Exit.FINDINGS

    def newest() -> set[str]:
        """The days that the index names, and the page of the newest audit is of."""
        shown = {day for day in days if f"{day}<" in (reports / "index.html").read_text()}
        latest = (reports / "shop/latest.html").read_bytes()
        return shown | {page.stem for page in reports.glob("shop/2*.html") if page.read_bytes() == latest}

    audit(0, 2)
    assert newest() == {days[2]}
    assert tsaudit("history", "drop", "shop", days[2], "--yes").exit_code == Exit.OK
    assert newest() == {days[0]}
    assert not list(reports.glob(f"shop/{days[2]}.*"))
    audit(1)
    assert newest() == {days[1]}
    audit(0)
    assert newest() == {days[1]}, "a day that is closed is not the newest"
    # As a version that left the reports did it.
    with Store.open("sqlite:///.tsaudit/history.db") as store:
        remove_day(store, "shop", date.fromisoformat(days[1]), Incidents(), lambda *_: "ada")
    audit(0)
    assert newest() == {days[0]}
    assert tsaudit("history", "drop", "shop", days[0], "--yes").exit_code == Exit.OK
    assert not (reports / "shop/latest.html").exists()
    assert ">shop<" not in (reports / "index.html").read_text()


def _listed(target: str, days: list[list[tuple[str, str, Severity]]]) -> None:
    """Audits of the target on so many days: of each finding its rule, measurement and severity."""
    policy = Incidents(open_after=2, resolve_after=1)
    with Store.open("sqlite:///.tsaudit/history.db") as store:
        for number, findings in enumerate(days):
            rules = {code: [] for code, _, _ in [*findings, ("CAR001", "", Severity.WARNING)]}
            for code, measurement, severity in findings:
                rules[code].append(a_finding(Subject("main", measurement), severity))
            results = [a_rule_result(*found, code=code) for code, found in rules.items()]
            result = a_result(*results, target=target, day=DAY + timedelta(days=number))
            store.save(None, result, None)
            update(store, result, policy, lambda *_: "ada")


def test_incidents_when_listed_come_in_the_order_of_their_urgency(tsaudit: Tsaudit) -> None:
    """What is open before what is watched, the worst of it first; then by target, rule and subject.

    What has been resolved is shown only with `--all`, where it comes by the same order.
    """
    warn, critical = Severity.WARNING, Severity.CRITICAL
    lasting = [*(("SCH001", m, warn) for m in "fdbace"), ("CAR001", "z", warn), ("SCH001", "m", critical)]
    _listed("shop", [[*lasting, ("CAR001", "gone", warn)]] * 2 + [[*lasting, ("CAR001", "new", critical)]])
    _listed("plant", [[("SCH001", "y", warn), ("CAR001", "x", critical)]] * 2)
    expected = [
        ("open", "critical", "plant", "CAR001", "main/x"),
        ("open", "critical", "shop", "SCH001", "main/m"),
        ("open", "warning", "plant", "SCH001", "main/y"),
        ("open", "warning", "shop", "CAR001", "main/z"),
        *(("open", "warning", "shop", "SCH001", f"main/{m}") for m in "abcdef"),
        ("watching", "critical", "shop", "CAR001", "main/new"),
    ]
    keys = ("state", "severity", "target", "code", "subject")
    found = json.loads(tsaudit("incidents", "--format", "json").stdout)
    assert [tuple(i[k] for k in keys) for i in found] == expected
    lines = [line for line in tsaudit("incidents").stdout.splitlines()[1:-1] if not line.startswith(" ")]
    shown = [(i["severity"], i["fingerprint"][:8], i["target"], i["code"]) for i in found]
    assert [tuple(line.split()[:4]) for line in lines] == shown
    assert [re.split(r"  +", line)[5].split(" ")[0] for line in lines] == [
        i["state"].replace("watching", "watched") for i in found
    ]
    every = json.loads(tsaudit("incidents", "--all", "--format", "json").stdout)
    assert [tuple(i[k] for k in keys) for i in every] == [
        *expected,
        ("resolved", "warning", "shop", "CAR001", "main/gone"),
    ]
