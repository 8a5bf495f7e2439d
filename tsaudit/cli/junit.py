"""Audit results as JUnit XML, for CI systems that list tests: a suite for each target, a case for each finding and each
rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final
from xml.etree import ElementTree as Xml

from tsaudit.cli import results
from tsaudit.text import printable, short_fingerprint

_LONGEST: Final = 4000
"""Maximum number of characters in a line."""


def document(targets: Sequence[dict[str, Any]]) -> str:
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
