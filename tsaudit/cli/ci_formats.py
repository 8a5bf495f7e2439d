"""Audit results for CI systems: as SARIF 2.1.0 and as JUnit XML.

In SARIF, for code scanning, each target is a run. A finding is a result with a logical location (database, table,
column) and, because code scanning shows nothing without a file, the line of tsaudit.yaml that names the target. See
https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.

In JUnit XML, for systems that list tests, there is a suite for each target, and a case for each finding and each rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote
from xml.etree import ElementTree as Xml

from tsaudit.cli import results
from tsaudit.cli.results import unknown_rules
from tsaudit.model.version import VERSION
from tsaudit.text import printable, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.rules.rule_texts import RuleText

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {"critical": "error", "warning": "warning", "note": "note"}
_LONGEST: Final = 4000
"""Maximum number of characters in a line."""


def sarif(targets: Iterable[dict[str, Any]], file: Path | None, lines: Mapping[str, int]) -> dict[str, Any]:
    """The SARIF log. `file`: the configuration file; None if there is none. `lines`: each target's line in it."""
    from tsaudit.rules.rule_texts import rule_texts

    texts = {text.code: text for text in rule_texts()}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [_run(found, texts, _place(file, lines.get(found["target"]))) for found in targets],
    }


def _run(found: dict[str, Any], texts: Mapping[str, RuleText], place: dict[str, Any]) -> dict[str, Any]:
    rules = [rule for rule in found["rules"] if rule["outcome"] != "notApplicable"]
    index = {rule["code"]: number for number, rule in enumerate(rules)}
    results = [_result(one, one["code"], index, place, found["target"]) | _of_finding(one) for one in found["findings"]]
    results += [
        _result({"subject": ""}, one["code"], index, place, found["target"]) | _of_unknown(one, found)
        for one in unknown_rules(found)
    ]
    return {
        "tool": {
            "driver": {
                "name": "tsaudit",
                "version": VERSION,
                "rules": [_rule(rule, texts.get(rule["code"])) for rule in rules],
            }
        },
        # Code scanning compares runs whose IDs have the same part before the last slash.
        "automationDetails": {"id": f"tsaudit/{found['target']}/{found['day']}"},
        "invocations": [_invocation(found["error"])],
        "results": results,
    }


def _rule(rule: dict[str, Any], text: RuleText | None) -> dict[str, Any]:
    """A rule with the address of its page. Findings about the audit itself have no rule, and no page."""
    about: dict[str, Any] = {"id": rule["code"], "name": rule["name"], "shortDescription": {"text": rule["title"]}}
    if text is None:
        return about | {"help": {"text": rule["title"]}}
    return about | {
        "fullDescription": {"text": text.summary},
        "help": {"text": text.doc, "markdown": text.doc},
        "properties": {"tags": [text.family]},
    }


def _result(
    one: Mapping[str, Any], code: str, index: Mapping[str, int], place: dict[str, Any], target: str
) -> dict[str, Any]:
    name = "/".join(filter(None, (target, one["subject"])))
    location = place | {"logicalLocations": [{"fullyQualifiedName": printable(name, _LONGEST)}]}
    return {"ruleId": code, "ruleIndex": index[code], "locations": [location]}


def _of_finding(one: dict[str, Any]) -> dict[str, Any]:
    muted = {"kind": "external", "status": "accepted", "justification": "muted in tsaudit"}
    return {
        "kind": "fail",
        "level": _LEVELS[one["severity"]],
        "message": _message(one["sentence"], *one["fix"].splitlines()),
        "suppressions": [muted] if one["muted"] else [],
        **_fingerprints(one["fingerprint"]),
    }


def _of_unknown(one: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """A result for a rule that could not be evaluated: it is not known what it would have found."""
    return {
        "kind": "open",
        "level": "none",
        "message": _message(f"not evaluated: {one['reason'] or one['outcome']}"),
        "suppressions": [],
        **_fingerprints(f"{found['target']}/{one['code']}"),
    }


def _fingerprints(value: str) -> dict[str, Any]:
    """The fingerprints by which a result is recognized in the next run; GitHub knows only the second name."""
    return {"fingerprints": {"tsaudit/v1": value}, "partialFingerprints": {"primaryLocationLineHash": value}}


def _invocation(error: str | None) -> dict[str, Any]:
    if error is None:
        return {"executionSuccessful": True}
    said = {"level": "error", "message": _message(error)}
    return {"executionSuccessful": False, "toolExecutionNotifications": [said]}


def _place(file: Path | None, line: int | None) -> dict[str, Any]:
    if file is None or line is None:
        return {}
    address = file.as_uri() if file.is_absolute() else quote(file.as_posix())
    return {"physicalLocation": {"artifactLocation": {"uri": address}, "region": {"startLine": line}}}


def _message(*lines: str) -> dict[str, str]:
    """A message in plain text. SARIF renders `[text](address)` as a link even in plain text, so names are escaped."""
    return {"text": "\n".join(printable(line, _LONGEST).replace("](", "] (") for line in lines)}


def junit(targets: Sequence[dict[str, Any]]) -> str:
    """The XML document, in ASCII, whatever the encoding of the output is."""
    root = Xml.Element("testsuites", name="tsaudit")
    root.extend(map(_suite, targets))
    _count(root)
    Xml.indent(root)
    data: bytes = Xml.tostring(root, encoding="us-ascii", xml_declaration=True)
    return data.decode("ascii") + "\n"


def _suite(found: dict[str, Any]) -> Xml.Element:
    suite = Xml.Element("testsuite", name=_line(found["target"]), timestamp=f"{found['day']}T00:00:00")
    if found["seconds"] is not None:
        suite.set("time", f"{found['seconds']:.3f}")
    properties = Xml.SubElement(suite, "properties")
    for name in ("engine", "server_version", "verdict"):
        Xml.SubElement(properties, "property", name=name, value=_line(found[name]))
    suite.extend(_cases(found))
    _count(suite)
    return suite


def _cases(found: dict[str, Any]) -> Iterator[Xml.Element]:
    """The cases of a target: findings, worst first; then rules that could not be evaluated; then rules that found
    nothing.
    """
    failed = {one["code"] for one in found["not_evaluated"] if one["outcome"] == "error"}
    for one in found["findings"]:
        yield _finding(found, one, is_failed=one["code"] in failed)
    for one in results.unknown_rules(found):
        case = _case(found, f"{one['code']} {one['name']}: not evaluated")
        _say(case, "error", "unknown", one["reason"] or one["outcome"], [])
        yield case
    if found["error"] and not any(one["code"] in failed for one in found["findings"]):
        case = _case(found, "audit")
        _say(case, "error", "unknown", found["error"], [])
        yield case
    said = {one["code"] for one in (*found["findings"], *found["not_evaluated"])}
    for rule in found["rules"]:
        if rule["code"] not in said and rule["outcome"] != "notApplicable":
            yield _case(found, f"{rule['code']} {rule['name']}")


def _finding(found: dict[str, Any], one: dict[str, Any], *, is_failed: bool) -> Xml.Element:
    """The case of a finding. `is_failed`: whether the finding is that something could not be audited."""
    case = _case(found, f"{one['code']} {one['name']}: {one['subject']}")
    lines = [one["sentence"], *one["fix"].splitlines(), f"tsaudit show {short_fingerprint(one['fingerprint'])}"]
    if found["report"]:
        lines.append(f"{found['report']}#f-{one['fingerprint']}")
    if is_failed:
        # Even if it is muted: the verdict stays unknown, and a suite whose cases are all skipped counts as passed.
        _say(case, "error", "unknown", one["headline"], lines)
    elif one["muted"]:
        Xml.SubElement(case, "skipped", message=_line(f"muted: {one['headline']}"))
    elif one["severity"] != "note":
        _say(case, "failure", one["severity"], one["headline"], lines)
    else:
        Xml.SubElement(case, "system-out").text = "\n".join(map(_line, lines))
    return case


def _case(found: dict[str, Any], name: str) -> Xml.Element:
    # CI systems compare runs by both names, so neither may contain figures that change.
    return Xml.Element("testcase", classname=_line(found["target"]), name=_line(name))


def _say(case: Xml.Element, element: str, kind: str, message: str, lines: Sequence[str]) -> None:
    Xml.SubElement(case, element, type=kind, message=_line(message)).text = "\n".join(map(_line, lines))


def _count(element: Xml.Element) -> None:
    element.set("tests", str(len(list(element.iter("testcase")))))
    for name, counted in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(len(list(element.iter(counted)))))


def _line(text: str) -> str:
    """The text without what XML cannot contain, such as control characters, even as references."""
    return printable(text, _LONGEST)
