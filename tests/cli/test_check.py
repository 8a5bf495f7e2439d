"""`tsaudit check`: what it tries, and what it says about what is missing."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tests.alerts import alertmanager_double, slack_double
from tests.builders import a_measurement, a_profile, a_tag
from tests.cli.conftest import CONFIG, Tsaudit
from tests.servers import ADMIN, Influxd
from tests.serving import Handler, serving_http
from tsaudit.cli.discovery import guessed
from tsaudit.cli.errors import Exit
from tsaudit.collect.probing import Probed
from tsaudit.evaluation import evaluate
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Gap, Reason, Subject, TableKind, utc_now
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile
from tsaudit.report.storage import LocalStorage


def a_probe(*gaps: Gap, **changes: Any) -> Profile:
    """What is seen of `plant` with these gaps."""
    return a_profile(**{"engine": "sqlite", "gaps": gaps} | changes)


def probing_finds(monkeypatch: pytest.MonkeyPatch, profile: Profile) -> None:
    """Instead of what is on the target; no table is shown."""
    monkeypatch.setattr(import_module("tsaudit.collect.probing"), "probe", lambda *_, **__: Probed(profile))


def configure(folder: Path, top: str) -> None:
    (folder / "tsaudit.yaml").write_text(top + CONFIG)


def test_check_when_all_is_well(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "report: {base_url: 'http://reports'}\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.OK
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert lines[0] == "configuration ok tsaudit.yaml: 2 targets"
    assert lines[1] == "history ok 0 targets known"
    assert lines[2] == f"reports ok {folder}/.tsaudit/reports is writable"
    assert lines[3] == "slack ok no token and no webhook: messages are printed in the terminal"
    assert lines[4].startswith("shop ok sqlite 3.")
    assert lines[4].endswith("rules can be evaluated")
    assert next(line for line in lines[5:] if line.startswith("plant")).startswith("plant ok sqlite 3.")
    assert list((folder / ".tsaudit" / "reports").iterdir()) == []


def test_check_without_slack_says_that_the_other_notifiers_get_the_messages(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "notifiers: {alertmanager: {url: 'http://127.0.0.1:9'}}\n")
    (said,) = (line for line in tsaudit("check", "plant").stdout.splitlines() if line.startswith("slack"))
    assert said.endswith("  no token and no webhook: messages are sent by the notifiers below only")


def test_check_shows_what_tables_are_taken_for_and_the_setting_to_change_it(tsaudit: Tsaudit, folder: Path) -> None:
    lines = [line.strip() for line in tsaudit("check", "plant", "--all").stdout.splitlines()]
    assert "cpu: series; time column time; tag host; 1 field" in lines
    setting = next(line for line in lines if line.startswith("cpu: {"))
    assert setting == "cpu: {kind: series, time: time, tags: [host], fields: [usage]}"
    # As the text says: edited, and pasted below `columns:` of the target.
    edited = setting.replace("series", "events").replace(", tags: [host], fields: [usage]", "")
    (folder / "tsaudit.yaml").write_text(CONFIG + f"    columns:\n      {edited}\n")
    changed = [line.strip() for line in tsaudit("check", "plant", "--all").stdout.splitlines()]
    assert "cpu: events; time column time; no tags; 2 fields" in changed
    assert "rows: set in tsaudit.yaml" in changed


def test_check_shows_only_tables_to_confirm_unless_all_are_asked_for(tsaudit: Tsaudit, folder: Path) -> None:
    """Twenty tables with keys, or empty, do not hide the guess and what could not be classified."""
    with closing(sqlite3.connect(folder / "plant.db")) as connection, connection:
        for n in range(20):
            connection.execute(f"CREATE TABLE empty_{n} (at TIMESTAMP, name TEXT)")
        connection.execute("CREATE TABLE pairs (a INTEGER, b INTEGER)")
        connection.executemany("INSERT INTO pairs VALUES (?, ?)", [(n % 17, n % 23) for n in range(2000)])
        connection.execute("CREATE TABLE hits (time TIMESTAMP, depot TEXT, celsius REAL)")
        rows = [(f"{utc_now() - timedelta(minutes=n // 5):%F %T}", f"d{n % 5}", n / 7) for n in range(600)]
        connection.executemany("INSERT INTO hits VALUES (?, ?, ?)", rows)
    short, whole = (tsaudit("check", "plant", *more).stdout for more in ((), ("--all",)))
    tables = re.compile(r"^ {15}(\w+): \w+( rows)?;", re.MULTILINE)
    assert [name for name, _ in tables.findall(short)] == ["hits", "pairs"]
    assert len(tables.findall(whole)) == 23
    assert "21 other tables with nothing to confirm: `tsaudit check plant --all` shows" in " ".join(short.split())
    assert "nothing to confirm" not in whole


def test_check_shows_tables_alike_once_and_below_what_is_missing(
    tsaudit: Tsaudit, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in ("shop", "plant"):
        with closing(sqlite3.connect(folder / f"{file}.db")) as connection, connection:
            for n in range(1, 9):
                connection.execute(f"CREATE TABLE meter_{n} (time TIMESTAMP, depot TEXT, celsius REAL)")
                rows = [(f"{utc_now() - timedelta(minutes=i // 5):%F %T}", f"d{i % 5}", i / 7) for i in range(600)]
                connection.executemany(f"INSERT INTO meter_{n} VALUES (?, ?, ?)", rows)
    said = tsaudit("check").stdout
    assert said.count("meter_1, meter_2, meter_3, meter_4, meter_5, meter_6, meter_7, and meter_8: series;") == 2
    assert said.count("kind: series") == 2, "of each target one, to paste"
    assert said.index("plant          ok") < said.index("shop           note"), "what is missing does not scroll away"
    assert tsaudit("check", "--all").stdout.count("meter_8: series;") == 2


def test_check_aligns_its_columns_however_long_a_name_is(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "tsaudit.yaml").write_text(CONFIG.replace("name: plant", "name: plant-of-a-long-name"))
    lines = tsaudit("check", "--all").stdout.splitlines()
    first = {line.split()[0]: line for line in reversed(lines) if line[:1].strip()}
    assert len({line.index(" ok ") for line in first.values()}) == 1
    assert first["plant-of-a-long-name"].startswith("plant-of-a-long-name ok ")
    (reads, *_) = (line for line in lines if "How the audit reads tables" in line)
    assert reads.index(" note ") == first["shop"].index(" ok ")


def test_check_when_one_target_is_named(tsaudit: Tsaudit) -> None:
    done = tsaudit("check", "plant")
    assert "plant " in done.stdout
    assert "shop " not in done.stdout


def test_check_when_a_target_cannot_be_reached(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "shop.db").unlink()
    done = tsaudit("check")
    assert done.exit_code == Exit.NOT_AUDITED
    assert "shop           failed " in done.stdout
    assert "plant          ok " in done.stdout


def test_check_when_the_password_was_rotated_fails_with_one_line(
    tsaudit: Tsaudit, folder: Path, influxd_auth: Influxd
) -> None:
    target = f"""\
targets:
  - name: metrics
    engine: influxdb1
    url: {influxd_auth.url}
    username: {ADMIN[0]}
    password: not-any-more
"""
    (folder / "tsaudit.yaml").write_text("report: {base_url: 'http://reports'}\n" + target)
    done = tsaudit("check")
    assert done.exit_code == Exit.NOT_AUDITED
    lines = done.stdout.splitlines()
    about_target = lines[next(i for i, line in enumerate(lines) if line.startswith("metrics")) :]
    assert len(about_target) == 1
    assert about_target[0].startswith("metrics        failed ")
    assert "not-any-more" not in done.output


@pytest.mark.parametrize("reason", [Reason.DENIED, Reason.TIMED_OUT, Reason.FAILED])
def test_check_when_nothing_can_be_seen_fails_with_one_line(
    tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch, reason: Reason
) -> None:
    gaps = [Gap(fact, reason, "it is a proxy's page", "main") for fact in ("measurements", "columns", "row_sample")]
    probing_finds(monkeypatch, a_probe(*gaps, measurements=()))
    done = tsaudit("check", "plant")
    assert done.exit_code == Exit.NOT_AUDITED
    assert done.stdout.splitlines()[-1] == "plant          failed   it is a proxy's page"


def test_check_when_no_rule_could_judge_fails(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = [Gap(fact, Reason.DENIED, "no SELECT", "main") for fact in sorted(FACTS)]
    probing_finds(monkeypatch, a_probe(*gaps))
    done = tsaudit("check", "plant")
    assert done.exit_code == Exit.NOT_AUDITED
    assert "plant          failed   No rule could be evaluated on the target: no SELECT" in done.stdout
    assert "0 rules can be evaluated" not in done.stdout


def test_check_when_one_database_is_denied_names_it_and_goes_on(
    tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps = [Gap(fact, Reason.DENIED, "no right on b", "b") for fact in ("measurements", "columns", "row_sample")]
    probing_finds(monkeypatch, a_probe(*gaps))
    done = tsaudit("check", "plant")
    assert done.exit_code == Exit.NOT_AUDITED
    assert done.stdout.splitlines()[-1] == "plant          failed   Database b could not be audited: no right on b"


def test_check_when_settings_match_nothing_names_them(tsaudit: Tsaudit, folder: Path) -> None:
    more = """\
    include: [cpu, disk]
    columns: {cpu: {time: time, fields: [usgae]}}
"""
    (folder / "tsaudit.yaml").write_text(CONFIG + more)
    done = tsaudit("check", "plant")
    assert done.exit_code == Exit.OK
    warnings = [" ".join(line.split()) for line in done.stdout.splitlines() if line.split()[0] == "warning"][1:]
    assert warnings == [
        "warning include: `disk` does not match the only table; found cpu",
        "warning columns.cpu.fields: `usgae` matches none of 3 columns, did you mean usage?",
    ]


def test_check_when_the_patterns_take_nothing_fails(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "tsaudit.yaml").write_text(CONFIG + '    include: ["nope_*"]\n')
    done = tsaudit("check", "plant")
    assert done.exit_code == Exit.NOT_AUDITED
    last = " ".join(done.stdout.splitlines()[-1].split())
    assert last == 'plant failed include: ["nope_*"] does not match the only table; found cpu'
    assert tsaudit("audit", "plant", "--no-notify").exit_code == Exit.NOT_AUDITED


def test_check_when_rights_are_missing_names_the_rules(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    gap = Gap("series_listing", Reason.DENIED, "no SELECT on cpu; grant it", "main", "cpu")
    probing_finds(monkeypatch, a_probe(gap))
    whole, lost = tsaudit("check", "plant").stdout.splitlines()[-2:]
    assert lost.split("unknown  ")[1].startswith("series_listing of main/cpu denied: no SELECT on cpu; grant it (")
    probing_finds(monkeypatch, a_probe())
    assert rules_in(whole) < rules_in(tsaudit("check", "plant").stdout.splitlines()[-1])


def test_check_when_many_rights_are_missing_stays_short(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = tuple(Gap("series_listing", Reason.DENIED, "no SELECT", "main", f"t{i}") for i in range(1500))
    probing_finds(monkeypatch, a_probe(*gaps))
    last = tsaudit("check", "plant").stdout.splitlines()[-1]
    assert "series_listing of main/t0, main/t1," in last
    assert "main/t10, and 1,489 more denied: no SELECT (" in last


def rules_in(line: str) -> int:
    return int(line.split(": ")[1].split()[0])


def test_check_when_secrets_are_plain_text_advises(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "slack: {webhook: 'http://127.0.0.1:1/x'}\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.OK
    assert "tsaudit.yaml:1: slack.webhook: a secret in plain text" in done.stdout
    assert "a webhook is set; `tsaudit check --notify` shows whether it works" in done.stdout


def test_check_when_the_report_folder_cannot_be_written_to(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "report: {folder: /proc/tsaudit}\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    assert "reports        failed   cannot write /proc/tsaudit/" in done.stdout
    assert "plant          ok " in done.stdout


def test_check_when_the_report_folder_needs_a_driver(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "report: {folder: 'nosuch://bucket/x'}\n")
    assert "reports        failed   cannot open nosuch://bucket/x: " in tsaudit("check").stdout


def test_check_when_the_history_cannot_be_opened(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "history: sqlite:////proc/nowhere/history.db\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    assert "history        failed" in done.stdout


def test_check_when_the_history_cannot_be_written(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, f"history: 'sqlite:///{folder}/h.db'\n")
    assert "history        ok       0 targets known" in tsaudit("check").stdout
    configure(folder, f"history: 'sqlite:///file:{folder}/h.db?mode=ro&uri=true'\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    assert "history        failed   " in done.stdout
    assert "attempt to write a readonly database; let tsaudit's user write to it" in " ".join(done.stdout.split())
    with closing(sqlite3.connect(folder / "h.db")) as history:
        assert history.execute("SELECT count(*) FROM lease").fetchone() == (0,)


class Slack(Handler):
    """Answers auth.test."""

    said: ClassVar[dict[str, object]] = {"ok": True, "user": "tsaudit", "team": "Plant"}
    scopes: ClassVar[str] = "chat:write, reactions:read"

    def do_POST(self) -> None:
        headers = {"Content-Type": "application/json", "X-OAuth-Scopes": self.scopes}
        self.answer(200, json.dumps(self.said).encode(), **headers)


@pytest.fixture
def slack() -> Iterator[str]:
    with serving_http(Slack) as server:
        yield f"http://127.0.0.1:{server.server_port}/api/"


def test_check_when_slack_knows_the_token(tsaudit: Tsaudit, folder: Path, slack: str) -> None:
    configure(folder, f"slack: {{token: xoxb-1, base_url: '{slack}'}}\n")
    said = tsaudit("check").stdout
    assert "slack          ok       tsaudit in Plant" in said
    assert "scope" not in said


@pytest.mark.parametrize(("more", "is_said"), [("", True), (", reactions: {read: false}", False)])
def test_check_when_reactions_cannot_be_read(
    tsaudit: Tsaudit, folder: Path, slack: str, monkeypatch: pytest.MonkeyPatch, more: str, is_said: bool
) -> None:
    monkeypatch.setattr(Slack, "scopes", "chat:write")
    configure(folder, f"slack: {{token: xoxb-1, base_url: '{slack}'{more}}}\n")
    done = tsaudit("check")
    assert (
        "warning  the app lacks the scope reactions:read: reactions to messages do nothing" in done.stdout
    ) is is_said
    assert done.exit_code == Exit.OK


def test_check_when_slack_refuses_the_token(
    tsaudit: Tsaudit, folder: Path, slack: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slack, "said", {"ok": False, "error": "invalid_auth"})
    configure(folder, f"slack: {{token: xoxb-1, base_url: '{slack}'}}\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    assert "slack          failed   Slack rejects the token: invalid_auth" in done.stdout
    assert "xoxb-1" not in done.output


def test_check_when_what_answers_is_not_slack(
    tsaudit: Tsaudit,
    folder: Path,
    slack: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(Slack, "do_POST", lambda handler: handler.wfile.write(b"220 mail.example.com\r\n"))
    configure(folder, f"slack: {{token: xoxb-1, base_url: '{slack}'}}\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    place = slack.split("/")[2]
    assert f"slack          failed   no response from Slack at {place}: the server does not speak HTTP; " in done.stdout
    assert caplog.text == ""


def test_check_when_slack_cannot_be_reached(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "slack: {token: xoxb-1, base_url: 'http://127.0.0.1:1/api/'}\n")
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    assert "slack          failed   no response from Slack at 127.0.0.1:1: " in done.stdout


def test_check_warns_of_credentials_that_others_can_read(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "slack: {webhook: 'http://slack.invalid/services/x'}\n")
    assert (
        "warning  slack.webhook: credentials go to slack.invalid over plain http; use https" in tsaudit("check").stdout
    )


@pytest.mark.parametrize("method", ["read", "versions"])
def test_check_when_the_report_folder_can_only_be_written_to(
    tsaudit: Tsaudit, folder: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """An audit would fail on it."""
    configure(folder, "report: {base_url: 'http://reports'}\n")

    def deny(*_: object) -> None:
        raise PermissionError("AccessDenied")

    monkeypatch.setattr(LocalStorage, method, deny)
    done = tsaudit("check")
    assert done.exit_code == Exit.USAGE
    assert re.search(r"reports +failed +cannot read .*: AccessDenied; check `report.folder`", done.stdout)
    assert list((folder / ".tsaudit" / "reports").iterdir()) == []


def test_check_shows_no_credentials_of_the_report_folder(tsaudit: Tsaudit, folder: Path) -> None:
    configure(folder, "report: {folder: 'memory://u:Geheim77@host/reports'}\n")
    done = tsaudit("check")
    assert "Geheim77" not in done.output
    assert "memory://host/reports is writable" in done.stdout


@pytest.mark.parametrize(
    "fact", ["series_listing", "field_types", "tag_values", "row_sample", "null_counts", "row_count", "indexes"]
)
def test_check_names_the_rules_that_an_audit_leaves_open(
    tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch, fact: str
) -> None:
    """No rule more and none less, and so many fewer can be evaluated."""
    profile = a_probe(Gap(fact, Reason.DENIED, "no SELECT", "main", "cpu"))
    left_open = {r.code for r in evaluate(profile).results if r.outcome is Outcome.OPEN}
    assert left_open, "or the test would show nothing"
    probing_finds(monkeypatch, profile)
    whole, lost = tsaudit("check", "plant").stdout.splitlines()[-2:]
    count, _, codes = lost.rpartition("(")[2].rstrip(")").partition(": ")
    assert set(codes.split(", ")) == left_open
    assert int(count.split()[0]) == len(left_open)
    assert f", {len(left_open)} only in part" in whole
    probing_finds(monkeypatch, a_probe())
    assert rules_in(tsaudit("check", "plant").stdout.splitlines()[-1]) - rules_in(whole) == len(left_open)


def test_check_counts_the_same_rules_whatever_the_reason(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit after it cannot evaluate them on the table, whether that is denied or too big."""
    counted = {}
    for name, gap in {
        "nothing": None,
        "too big": Gap("series_listing", Reason.OVER_BUDGET, "too many", "main", "cpu"),
        "all too big": Gap("series_listing", Reason.OVER_BUDGET, "too many", "main"),
        "denied": Gap("series_listing", Reason.DENIED, "no SELECT", "main", "cpu"),
    }.items():
        profile = a_probe(*([gap] if gap else []))
        probing_finds(monkeypatch, profile)
        lines = tsaudit("check", "plant").stdout.splitlines()
        counted[name] = next(rules_in(line) for line in lines if "can be evaluated" in line)
    assert counted["too big"] == counted["all too big"] == counted["denied"] < counted["nothing"]


def test_roles_that_were_guessed_are_one_list_to_paste(folder: Path, tsaudit: Tsaudit) -> None:
    with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
        connection.execute("CREATE TABLE readings (ts TEXT, site TEXT, celsius REAL)")
        connection.execute("CREATE TABLE keyed (ts TEXT, site TEXT, celsius REAL, PRIMARY KEY (ts, site))")
        for table in ("readings", "keyed"):
            rows = [(f"2026-01-01 00:{n // 3:02}:00", f"s{n % 3}", n / 7) for n in range(60)]
            connection.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
    target = "targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db', window: 9000d"
    (folder / "tsaudit.yaml").write_text(f"{target}}}]\n")
    result = tsaudit("check", "--roles")
    assert result.exit_code == 0, result.output
    first, *rest = result.output.splitlines()
    assert first == "# shop: 1 role guessed in 1 table"
    assert yaml.safe_load("\n".join(rest)) == {
        "columns": {"readings": {"kind": "series", "time": "ts", "tags": ["site"], "fields": ["celsius"]}}
    }
    assert "1 role in 1 table was guessed, so findings about tags there are notes only" in tsaudit("check").output
    # Pasted, nothing is left to confirm.
    pasted = "columns: {readings: {kind: series, time: ts, tags: [site], fields: [celsius]}}"
    (folder / "tsaudit.yaml").write_text(f"{target}, {pasted}}}]\n")
    assert tsaudit("check", "--roles").output == "# shop: no role guessed\n"
    assert "guessed, so" not in tsaudit("check").output


def test_roles_of_a_table_whose_rows_were_not_read_are_not_asked_for() -> None:
    """It has neither a kind nor tags to confirm; a table whose rows do not show what they are has."""
    unread = a_measurement("unread", kind=None, tags=(a_tag(role_reason="a text column with short values"),))
    unclear = a_measurement("unclear", tags=(), kind=TableKind.OTHER, kind_reason="could not classify this table")
    found = guessed(Probed(a_profile(), (unclear, unread), others=2))
    (entry,) = found.entries
    assert entry.startswith("unclear: {kind: other")
    assert entry.endswith("set `kind` to attribute_value, entity, events, queue, reference, or series")
    assert str(found) == "no role guessed; 1 table not classified; 1 table empty or not read; 2 tables not checked"
    # Whatever the rows of a tiny one are, they cost nothing.
    tiny = frozenset({Subject(unclear.database, unclear.name)})
    assert not guessed(Probed(a_profile(), (unclear,), tiny=tiny)).entries
    tagged = replace(unclear, tags=unread.tags)
    assert len(guessed(Probed(a_profile(), (tagged,), tiny=tiny)).entries) == 1


def test_roles_of_a_target_that_cannot_be_reached(folder: Path, tsaudit: Tsaudit) -> None:
    (folder / "tsaudit.yaml").write_text(
        "targets:\n"
        "  - {name: gone, engine: sqlite, url: 'sqlite:///none/gone.db'}\n"
        "  - {name: tagged, engine: influxdb1, url: 'http://127.0.0.1:1'}\n"
    )
    result = tsaudit("check", "--roles")
    assert result.exit_code == Exit.NOT_AUDITED, result.output
    gone, tagged = result.output.splitlines()
    assert gone.startswith("# gone: its roles were not read: ")
    assert "Error" not in gone
    assert tagged == "# tagged: influxdb1 declares which columns are tags"


def test_names_of_columns_do_not_leave_the_comment(folder: Path, tsaudit: Tsaudit) -> None:
    with closing(sqlite3.connect(folder / "shop.db")) as connection, connection:
        connection.execute('CREATE TABLE readings (ts TEXT, "si\nte" TEXT, celsius REAL)')
        rows = [(f"2026-01-01 00:{n // 3:02}:00", f"s{n % 3}", n / 7) for n in range(60)]
        connection.executemany("INSERT INTO readings VALUES (?, ?, ?)", rows)
    (folder / "tsaudit.yaml").write_text(
        "targets: [{name: shop, engine: sqlite, url: 'sqlite:///shop.db', window: 9000d}]\n"
    )
    found = yaml.safe_load(tsaudit("check", "--roles").output)
    assert found["columns"]["readings"]["tags"] == ["si\nte"]


TWO_OWNERS = (
    "slack: {{token: {token}, base_url: '{slack}'}}\n"
    "notifiers: {{alertmanager: {{url: '{alertmanager}'}}}}\n"
    "owners: {{default: {{channel: '#alerts'}}, web: {{channel: '{channel}'}}, plant: {{}}}}\n"
)


@pytest.mark.parametrize(
    ("channel", "code", "said"),
    [
        ("#dba", Exit.OK, "slack          ok       accepted the test message to web in #dba"),
        ("#nowhere", Exit.NOT_DELIVERED, "slack          failed   the test message to web in #nowhere: "),
    ],
)
def test_notify_sends_each_owner_a_message(tsaudit: Tsaudit, folder: Path, channel: str, code: Exit, said: str) -> None:
    with slack_double.running() as slack, alertmanager_double.running(utc_now) as alertmanager:
        values = {"token": slack_double.TOKEN, "slack": slack.base_url, "alertmanager": alertmanager.url}
        configure(folder, TWO_OWNERS.format(**values, channel=channel))
        with (folder / "tsaudit.yaml").open("a") as file:
            file.write("    password: ${TEST_NOT_NEEDED}\n")
        done = tsaudit("check", "--notify")
        assert (done.exit_code, done.stderr) == (code, "")
        first, *lines = done.stdout.splitlines()
        assert first == "slack          ok       accepted the test message to default and plant in #alerts"
        assert lines[0].startswith(said)
        assert [line.split("message to ")[1] for line in lines[1:]] == ["default", "web", "plant"]
        assert len(slack.texts()) == 2 - (code != Exit.OK)
        assert all(text.startswith("Test message from tsaudit. Findings for ") for text in slack.texts())
        assert [alert["labels"]["owner"] for post in alertmanager.posts for alert in post] == [
            "default",
            "web",
            "plant",
        ]
        assert alertmanager.firing(utc_now()) == [], "nobody is called"


def test_notify_with_nobody_to_send_to(tsaudit: Tsaudit, folder: Path) -> None:
    done = tsaudit("check", "--notify")
    assert (done.exit_code, done.stdout) == (
        Exit.OK,
        "neither `slack` nor `notifiers` is set: messages are printed in the terminal\n",
    )
    assert tsaudit("check", "--notify", "shop").exit_code == Exit.USAGE
