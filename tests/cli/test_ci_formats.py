"""`tsaudit audit --format junit` and `--format sarif`, as CI systems read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree as Xml

import pytest

from tests.builders import DAY, a_finding, a_profile, a_result, a_rule_result
from tests.cli.conftest import Tsaudit
from tsaudit.cli import ci_formats, results
from tsaudit.cli.errors import Exit
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import UNREACHABLE_CODE, Outcome, Severity, fingerprint
from tsaudit.model.jsonfile import to_json
from tsaudit.run import AuditRun

HOSTILE: Final = 'a\x00\x1b[31m\ud800\ufffe\u202e]]>&<b c="d">\n[x](https://evil.example)é'
GAP: Final = Gap("series_listing", Reason.TIMED_OUT, "no response in time")


def subject(name: str) -> Subject:
    return Subject("main", name)


def of(name: str, code: str = "CAR001") -> str:
    return fingerprint("demo", code, subject(name))


@pytest.fixture
def found() -> dict[str, Any]:
    """An audit with every kind of outcome."""
    result = a_result(
        a_rule_result(
            a_finding(subject("worst"), Severity.CRITICAL, fix="Drop it.\nDROP TABLE x;"),
            a_finding(subject("bad")),
            a_finding(subject("known")),
            a_finding(subject("small"), Severity.NOTE),
            gaps=(GAP,),
            reason="no response in time",
        ),
        a_rule_result(code="CAR004", name="runaway-cardinality"),
        a_rule_result(code="TAG001", name="lacking", outcome=Outcome.OPEN, gaps=(GAP,), reason="no response in time"),
        a_rule_result(code="TAG002", name="broken", outcome=Outcome.ERROR, reason="ValueError: x"),
        a_rule_result(code="DOC001", name="elsewhere", outcome=Outcome.NOT_APPLICABLE),
    )
    run = AuditRun("demo", DAY, result, a_profile(), (), None, 12.3456, None, muted={of("known"): DAY})
    return results.of_run(run) | {"report": "https://reports.example/demo/2026-03-31.html"}


@pytest.fixture
def missed() -> dict[str, Any]:
    """A target that could not be audited."""
    rule = a_rule_result(
        a_finding(Subject(), message="The target could not be audited: refused"),
        code=UNREACHABLE_CODE,
        name="target-not-audited",
        outcome=Outcome.ERROR,
        reason="refused",
    )
    return results.of_run(AuditRun("gone", DAY, a_result(rule, target="gone"), None, (), None, 1.0, "refused"))


def cases(document: str) -> Iterator[tuple[str, str, str]]:
    """Name, what there is in it, and its message, of each case."""
    for case in Xml.fromstring(document).iter("testcase"):
        assert case.get("classname")
        inside = next(iter(case), None)
        what = "" if inside is None else f"{inside.tag} {inside.get('type') or ''}".strip()
        yield str(case.get("name")), what, "" if inside is None else inside.get("message", "")


def test_junit_has_a_case_for_each_finding_and_rule(found: dict[str, Any], missed: dict[str, Any]) -> None:
    document = ci_formats.junit([found, missed])
    assert list(cases(document)) == [
        ("CAR001 high-series-cardinality: main/worst", "failure critical", "main/worst: Tag host has too many values"),
        ("CAR001 high-series-cardinality: main/bad", "failure warning", "main/bad: Tag host has too many values"),
        ("CAR001 high-series-cardinality: main/known", "skipped", "muted: main/known: Tag host has too many values"),
        ("CAR001 high-series-cardinality: main/small", "system-out", ""),
        ("CAR001 high-series-cardinality: not evaluated", "error unknown", "no response in time"),
        ("TAG001 lacking: not evaluated", "error unknown", "no response in time"),
        ("TAG002 broken: not evaluated", "error unknown", "ValueError: x"),
        ("CAR004 runaway-cardinality", "", ""),
        ("TGT001 target-not-audited: (whole target)", "error unknown", "The target could not be audited: refused"),
    ]
    root = Xml.fromstring(document)
    counts = [[e.get(n) for n in ("name", "tests", "failures", "errors", "skipped", "time")] for e in (root, *root)]
    assert counts == [
        ["tsaudit", "9", "2", "4", "1", None],
        ["demo", "8", "2", "3", "1", "12.346"],
        ["gone", "1", "0", "1", "0", "1.000"],
    ]
    assert root[0].get("timestamp") == "2026-03-31T00:00:00"
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.text == (
        f"Tag host has too many values.\nDrop it.\nDROP TABLE x;\ntsaudit show {of('worst')[:8]}\n"
        f"https://reports.example/demo/2026-03-31.html#f-{of('worst')}"
    )


def test_junit_when_muted_and_not_audited_is_no_success(missed: dict[str, Any]) -> None:
    (finding,) = missed["findings"]
    ((_, what, _),) = cases(ci_formats.junit([missed | {"findings": [finding | {"muted": True}]}]))
    assert (missed["verdict"], what) == ("unknown", "error unknown")


def test_junit_when_only_an_error_is_known() -> None:
    run = results.of_run(AuditRun("demo", DAY, None, None, (), None, 0.0, "the history is locked"))
    assert list(cases(ci_formats.junit([run]))) == [("audit", "error unknown", "the history is locked")]
    assert list(cases(ci_formats.junit([]))) == []


def test_junit_when_the_report_cannot_be_written(found: dict[str, Any]) -> None:
    said = "the report cannot be written"
    assert ("audit", "error unknown", said) in cases(ci_formats.junit([found | {"error": said}]))


def test_sarif_has_a_result_for_each_finding_and_unknown_rule(found: dict[str, Any], missed: dict[str, Any]) -> None:
    log = ci_formats.sarif([found, missed], Path("conf/a b.yaml"), {"demo": 7})
    assert (log["version"], len(log["runs"])) == ("2.1.0", 2)
    demo, gone = log["runs"]
    rules = demo["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["CAR001", "CAR004", "TAG001", "TAG002"]
    assert "## Fix" in rules[0]["help"]["markdown"]
    assert [
        (
            r["ruleId"],
            r["kind"],
            r["level"],
            len(r["suppressions"]),
            r["locations"][0]["logicalLocations"][0]["fullyQualifiedName"],
        )
        for r in demo["results"]
    ] == [
        ("CAR001", "fail", "error", 0, "demo/main/worst"),
        ("CAR001", "fail", "warning", 0, "demo/main/bad"),
        ("CAR001", "fail", "warning", 1, "demo/main/known"),
        ("CAR001", "fail", "note", 0, "demo/main/small"),
        ("CAR001", "open", "none", 0, "demo"),
        ("TAG001", "open", "none", 0, "demo"),
        ("TAG002", "open", "none", 0, "demo"),
    ]
    for run in log["runs"]:
        ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        assert all(ids[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    worst = demo["results"][0]
    assert worst["message"]["text"] == "Tag host has too many values.\nDrop it.\nDROP TABLE x;"
    assert worst["fingerprints"] == {"tsaudit/v1": of("worst")}
    assert worst["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "conf/a%20b.yaml"},
        "region": {"startLine": 7},
    }
    every = [r["partialFingerprints"]["primaryLocationLineHash"] for run in log["runs"] for r in run["results"]]
    assert len(set(every)) == len(every)
    assert demo["invocations"] == [{"executionSuccessful": True}]
    assert gone["invocations"][0]["executionSuccessful"] is False
    assert [(r["ruleId"], r["level"]) for r in gone["results"]] == [("TGT001", "warning")]
    assert demo["automationDetails"]["id"] == "tsaudit/demo/2026-03-31"


def test_text_when_hostile_is_shown_and_nothing_else() -> None:
    rule = a_rule_result(a_finding(Subject("main", HOSTILE), message=HOSTILE, fix=HOSTILE), reason=HOSTILE)
    found = results.of_result(a_result(rule, server_version=HOSTILE), None)
    document = ci_formats.junit([found])
    assert document.isascii()
    (case,) = Xml.fromstring(document).iter("testcase")
    assert case.get("name", "").endswith(
        r'main/a\x00\x1b[31m\ud800\ufffe\u202e]]>&<b c="d">\n[x](https://evil.example)é'
    )
    assert [part.tag for part in case.iter()] == ["testcase", "failure"]
    (result,) = ci_formats.sarif([found], None, {})["runs"][0]["results"]
    assert "](" not in result["message"]["text"]
    assert not any(unicode < " " and unicode != "\n" for unicode in result["message"]["text"])
    assert "physicalLocation" not in result["locations"][0]


def test_sarif_when_audited_names_the_line_of_the_target(tsaudit: Tsaudit, folder: Path) -> None:
    done = tsaudit("audit", "shop", "--day", DAY.isoformat(), "--format", "sarif")
    assert done.exit_code == Exit.FINDINGS
    (run,) = json.loads(done.stdout)["runs"]
    (warning,) = [r for r in run["results"] if r["level"] == "warning"]
    place = warning["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "tsaudit.yaml"}, "region": {"startLine": 3}}


@pytest.mark.parametrize("written", ["targets: 3\n", "targets: [{engine: sqlite}, 4]\n", None])
def test_formats_when_a_profile_has_no_usable_configuration(
    tsaudit: Tsaudit, folder: Path, written: str | None
) -> None:
    (folder / "profile.json").write_bytes(to_json(a_profile()))
    (folder / "tsaudit.yaml").unlink()
    if written:
        (folder / "tsaudit.yaml").write_text(written)
    log = json.loads(tsaudit("audit", "--profile", "profile.json", "--format", "sarif").stdout)
    assert log["runs"][0]["automationDetails"]["id"] == "tsaudit/demo/2026-03-31"
    (suite,) = Xml.fromstring(tsaudit("audit", "--profile", "profile.json", "--format", "junit").stdout)
    assert int(suite.get("tests", 0)) > 10
