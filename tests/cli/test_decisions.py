"""`tsaudit mute`, `baseline`, `reopen`, and `history decisions`."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tests.cli.conftest import Tsaudit
from tsaudit.cli.errors import Exit
from tsaudit.config.settings import Incidents
from tsaudit.history import clock, incidents
from tsaudit.history.incidents import update
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import UNREACHABLE_CODE, Outcome, RuleResult, Severity


def _in(days: int) -> date:
    return clock.today() + timedelta(days=days)


def _audited(target: str, *rules: RuleResult) -> None:
    with Store.open("sqlite:///.tsaudit/history.db") as store:
        result = a_result(*rules, target=target, day=clock.today())
        store.save(None, result, None)
        update(store, result, Incidents(), lambda *_: "team")


def _rule(code: str, *measurements: str, severity: Severity = Severity.WARNING) -> RuleResult:
    return a_rule_result(*(a_finding(Subject("main", m), severity) for m in measurements), code=code)


@pytest.fixture(autouse=True)
def history(tsaudit: Tsaudit) -> None:
    """An audit of two targets with findings of several rules."""
    whole = a_rule_result(a_finding(Subject("other")), code=UNREACHABLE_CODE, outcome=Outcome.ERROR)
    _audited("shop", _rule("CAR001", *"abcde"), _rule("TAG001", "x", severity=Severity.CRITICAL), whole)
    _audited("plant", _rule("CAR001", "p"))


def _decided(tsaudit: Tsaudit) -> dict[str, str]:
    found: list[dict[str, Any]] = json.loads(tsaudit("incidents", "--format", "json").stdout)
    return {i["subject"]: i["decision"]["kind"] for i in found if i["decision"]}


def _fingerprint(tsaudit: Tsaudit, subject: str) -> str:
    found: list[dict[str, Any]] = json.loads(tsaudit("incidents", "--format", "json").stdout)
    return next(i["fingerprint"] for i in found if i["subject"] == subject)


def test_baseline_is_shown_then_saved_then_complete(tsaudit: Tsaudit) -> None:
    tried = tsaudit("baseline", "--dry-run", "--owner", "ada")
    assert (tried.exit_code, _decided(tsaudit)) == (Exit.OK, {})
    heads, plant, shop, total, critical, audit = tried.stdout.splitlines()
    assert heads.split() == ["target", "severity", "rule", "name", "findings", "where"]
    assert plant.split()[:3] == ["plant", "warning", "CAR001"]
    assert shop.endswith("5         main/a, main/b, main/c, and 2 more")
    assert total == f"would mute 6 findings of 2 targets until {_in(90)}: baseline"
    assert critical == "left 1 critical; pass --up-to critical to mute what is critical, too"
    assert audit == "left 1 about the audit itself (TGT001); mute these by their fingerprints"

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TSAUDIT_OWNER", "ada")
        done = tsaudit("baseline")
    assert done.stdout == tried.stdout.replace("would mute", "muted")
    assert set(_decided(tsaudit)) == {f"main/{m}" for m in "abcdep"}
    again = tsaudit("baseline", "--owner", "bob")
    assert again.exit_code == Exit.OK
    assert again.stdout.startswith("nothing to mute\n")
    assert f"left 6 muted by ada until {_in(90)} (baseline); pass --replace to replace that" in again.stdout
    assert len(json.loads(tsaudit("history", "decisions", "--format", "json").stdout)) == 6


def test_baseline_of_a_target_a_rule_and_everything_critical(tsaudit: Tsaudit) -> None:
    tsaudit("baseline", "--target", "plant", "--owner", "ada")
    assert _decided(tsaudit) == {"main/p": "mute"}
    assert tsaudit("baseline", "--rule", "tag*", "--owner", "ada").stdout.startswith("nothing to mute")
    tsaudit("baseline", "--rule", "tag*", "--up-to", "critical", "--reason", "the move", "--for", "2w")
    assert _decided(tsaudit) == {"main/p": "mute", "main/x": "mute"}
    assert "the move" in tsaudit("incidents").stdout


def test_baseline_names_what_it_replaces(tsaudit: Tsaudit) -> None:
    tsaudit("mute", _fingerprint(tsaudit, "main/a"), "--reason", "moving", "--for", "2w", "--owner", "bob")
    left = tsaudit("baseline", "--owner", "ada").stdout
    muted = f"muted by bob until {_in(14)} (moving)"
    assert f"left 1 {muted}; pass --replace to replace that" in left
    assert f"replaced 1 decision: {muted}" in tsaudit("baseline", "--replace", "--owner", "ada").stdout


def test_decision_about_what_somebody_decided_needs_replace(tsaudit: Tsaudit) -> None:
    mark = _fingerprint(tsaudit, "main/a")
    assert tsaudit("mute", mark, "--reason", "moving", "--for", "2w", "--owner", "bob").exit_code == Exit.OK
    other = _fingerprint(tsaudit, "main/b")
    for command in (("ack",), ("mute", "--for", "3w")):
        refused = tsaudit(*command, other, mark, "--reason", "known", "--owner", "ada")
        assert refused.exit_code == Exit.USAGE
        assert "shop CAR001 main/a is muted by bob until" in refused.stderr
        assert "pass `--replace` to replace that" in refused.stderr
    assert _decided(tsaudit) == {"main/a": "mute"}
    last = _in(90).isoformat()
    done = tsaudit("mute", other[:9], mark, "--until", last, "--reason", "known", "--owner", "ada", "--replace")
    assert done.stdout.splitlines() == [
        f"muted {one[:8]} until {last}: shop CAR001 main/{name}; comes back earlier if critical"
        for one, name in ((other, "b"), (mark, "a"))
    ]
    assert "reopened 2 incidents" in tsaudit("reopen", mark[:9], other, "--owner", "ada").stdout


def test_decision_about_what_is_over_says_so(tsaudit: Tsaudit, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = _fingerprint(tsaudit, "main/p")
    _audited("plant", _rule("CAR001"))
    refused = tsaudit("mute", mark, "--reason", "moving", "--for", "2w", "--owner", "ada")
    assert refused.exit_code == Exit.USAGE
    assert f"incident {mark} is resolved; only an open or a watched one can be muted" in refused.stderr
    # Between reading it and deciding about it, somebody deletes it.
    monkeypatch.setattr(incidents, "known", lambda connection, fingerprint: None)
    gone = tsaudit("ack", _fingerprint(tsaudit, "main/a"), "--reason", "moving", "--owner", "ada")
    assert gone.exit_code == Exit.USAGE
    assert "no incident has the fingerprint" in gone.stderr


def test_reopen_undoes_and_the_history_keeps_all_of_it(tsaudit: Tsaudit) -> None:
    assert tsaudit("history", "decisions").stdout == "nobody has decided anything yet\n"
    tsaudit("baseline", "--owner", "ada")
    mark = _fingerprint(tsaudit, "main/a")
    assert "reopened 1 incident" in tsaudit("reopen", mark[:9], "--owner", "bob", "--reason", "a mistake").stdout
    assert tsaudit("reopen", mark, "--owner", "bob").stdout == "nothing to reopen: no decision applies\n"
    tried = tsaudit("reopen", "--target", "plant", "--dry-run").stdout
    assert "would reopen 1 incident" in tried
    assert f"is muted by ada until {_in(90)} (baseline): 1 incident" in tried
    assert "main/p" in _decided(tsaudit)
    assert "reopened 5 incidents" in tsaudit("reopen", "--all", "--owner", "bob").stdout
    assert _decided(tsaudit) == {}
    rows = json.loads(tsaudit("history", "decisions", "shop", "--format", "json").stdout)
    assert [(r["kind"], r["owner"], r["reason"]) for r in rows if r["fingerprint"] == mark] == [
        ("mute", "ada", "baseline"),
        ("reopen", "bob", "a mistake"),
    ]
    assert "a mistake" in tsaudit("history", "decisions").stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("baseline", "--target", "nowhere"), "`nowhere` was never audited"),
        (("baseline", "--rule", "CAR999"), "no rule is called `CAR999`"),
        (("baseline", "--reason", " "), "give a reason"),
        (("baseline", "--until", "2020-01-01"), "is in the past"),
        (("baseline", "--up-to", "note"), "'note' is not one of"),
        (("reopen",), "name an incident by its fingerprint, or pass `--target`"),
        (("reopen", "abc", "--all"), "a fingerprint names one incident"),
        (("reopen", "ffffffffffffffffffff"), "no incident starts with"),
        (("reopen", "--all", "--owner", " "), "name the person"),
        (("history", "decisions", "nowhere"), "`nowhere` was never audited"),
    ],
)
def test_command_when_it_cannot_be_meant(tsaudit: Tsaudit, arguments: tuple[str, ...], expected: str) -> None:
    done = tsaudit(*arguments)
    assert done.exit_code == Exit.USAGE
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
    assert _decided(tsaudit) == {}


def test_first_audit_proposes_the_baseline_and_later_ones_do_not(tsaudit: Tsaudit) -> None:
    Path(".tsaudit/history.db").unlink()
    first, second = (tsaudit("audit", "--day", (DAY + timedelta(days=n)).isoformat(), "--no-notify") for n in (0, 1))
    offer = "`tsaudit baseline --target shop --dry-run` shows what a baseline would cover"
    assert offer in first.stdout
    assert "--target plant" not in first.stdout, "it has no findings"
    assert "first audit" not in second.stdout
    assert tsaudit("baseline", "--target", "shop", "--dry-run").exit_code == Exit.OK


def test_first_audit_proposes_no_baseline_of_what_is_muted_or_was_not_measured(tsaudit: Tsaudit) -> None:
    Path(".tsaudit/history.db").unlink()
    day = DAY.isoformat()
    assert "first audit" in tsaudit("audit", "--day", day, "--no-notify").stdout
    assert tsaudit("baseline", "--up-to", "critical").exit_code == Exit.OK
    assert "first audit" not in tsaudit("audit", "--day", day, "--no-notify").stdout

    Path(".tsaudit/history.db").unlink()
    Path("shop.db").rename("elsewhere.db")
    failed = tsaudit("audit", "shop", "--day", day, "--no-notify").stdout
    assert "first audit" not in failed
    assert "changed:" not in failed, "there is no day before"
