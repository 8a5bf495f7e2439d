"""`tsaudit show`: one finding in full, by its fingerprint or by its target and rule; all findings of a target."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from tests.builders import DAY
from tests.cli.conftest import Tsaudit
from tsaudit.cli.errors import Exit

ON = ("--day", DAY.isoformat())


def test_finding_is_printed_in_full(tsaudit: Tsaudit, fingerprint: str) -> None:
    done = tsaudit("show", fingerprint[:5].upper())
    assert done.exit_code == Exit.OK, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"warning  FLD002 mistyped-field  {fingerprint[:8]}"
    assert lines[1] == f"shop  main/cpu.usage  {DAY}"
    assert "Field usage is stored as TEXT" in lines[2]
    heads = ("state", "evidence", "plan", "how it was measured", "queries", "commands")
    assert [line for line in lines if line in heads] == [head for head in heads if head != "queries"]
    assert f"  Open since {DAY}" in lines
    assert "  owner default" in lines
    assert "  values seen, redacted: " in done.stdout
    assert "main/cpu  4 steps" in lines
    assert all(f"  {number}. " in done.stdout for number in range(1, 5))
    assert f"  tsaudit mute {fingerprint[:8]} --for 1w --reason 'planned for later'" in lines
    assert "  tsaudit explain FLD002" in lines


def test_queries_of_a_finding_are_printed_only_on_request(tsaudit: Tsaudit, fingerprint: str) -> None:
    short = tsaudit("show", fingerprint).stdout
    assert f"  tsaudit show {fingerprint[:8]} --queries\n" in short
    assert "SELECT" not in short
    whole = tsaudit("show", fingerprint, "--queries").stdout
    assert "\nqueries\n" in whole
    assert "SELECT" in whole
    assert "--queries" not in whole


def test_finding_named_by_its_rule_is_the_same(tsaudit: Tsaudit, fingerprint: str) -> None:
    whole = tsaudit("show", fingerprint).stdout
    assert tsaudit("show", "shop", "fld002").stdout == whole
    assert tsaudit("show", "shop", "mistyped_field", *ON).stdout == whole


def test_finding_says_what_was_decided(tsaudit: Tsaudit, fingerprint: str) -> None:
    tsaudit("mute", fingerprint, "--reason", "legacy", "--for", "2w", "--owner", "ada")
    text = tsaudit("show", fingerprint).stdout
    # The decision was made after the audited day, and holds on it.
    assert "muted by ada until" in text
    assert f"  tsaudit reopen {fingerprint[:8]}\n" in text
    assert "tsaudit mute" not in text


@pytest.mark.parametrize(
    ("resolve_after", "state"), [(1, "Resolved on 2026-04-01"), (2, "Open since 2026-03-31, not found on 2026-04-01")]
)
def test_finding_that_is_no_longer_there_is_still_shown(
    tsaudit: Tsaudit, folder: Path, fingerprint: str, resolve_after: int, state: str
) -> None:
    config = folder / "tsaudit.yaml"
    config.write_text(config.read_text().replace("resolve_after: 1", f"resolve_after: {resolve_after}"))
    (folder / "plant.db").rename(folder / "shop.db")
    tsaudit("audit", "shop", "--day", (DAY + timedelta(1)).isoformat())
    text = tsaudit("show", fingerprint).stdout
    assert text.splitlines()[1] == f"shop  main/cpu.usage  {DAY}"
    assert f"  {state}\n" in text
    assert ("tsaudit ack" in text) == state.startswith("Open")


def test_finding_as_data(tsaudit: Tsaudit, fingerprint: str) -> None:
    (found,) = json.loads(tsaudit("show", fingerprint, "--format", "json").stdout)
    assert (found["fingerprint"], found["target"], found["day"]) == (fingerprint, "shop", DAY.isoformat())
    assert found["incident"]["state"] == "open"
    assert len(found["plan"]["steps"]) == 4
    assert found["statements"]
    assert found["measured"]["how"] in ("exact", "sample")


def test_target_alone_lists_all_its_findings(tsaudit: Tsaudit, fingerprint: str) -> None:
    first, second, *_ = tsaudit("show", "shop").stdout.splitlines()
    assert first.startswith("shop  warning  sqlite ")
    assert "Field usage is stored as TEXT" in second
    found = json.loads(tsaudit("show", "shop", "--format", "json").stdout)
    assert [one["fingerprint"] for one in found["findings"]] == [fingerprint]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("zzz",), "no target and no finding is called `zzz`"),
        (("",), "no target and no finding is called ``"),
        (("nowhere", "CAR001"), "`nowhere` was never audited"),
        (("shop", "CAR001"), f"`shop` has no finding of `CAR001` on {DAY}; it has findings of FLD002"),
        (("shop", "--day", "2020-01-01"), "shop was not audited on 2020-01-01"),
    ],
)
def test_finding_that_does_not_exist(
    tsaudit: Tsaudit, fingerprint: str, arguments: tuple[str, ...], expected: str
) -> None:
    done = tsaudit("show", *arguments)
    assert done.exit_code == Exit.USAGE
    assert expected in done.stderr


def test_prefix_of_several_findings_is_ambiguous(tsaudit: Tsaudit, folder: Path) -> None:
    from tests.builders import a_finding, a_result, a_rule_result
    from tsaudit.history.store import Store
    from tsaudit.model.figures import Subject
    from tsaudit.model.finding import fingerprint

    found = [a_finding(Subject("main", f"t{i}")) for i in range(40)]
    with Store.open(f"sqlite:///{folder}/.tsaudit/history.db") as store:
        store.save(None, a_result(a_rule_result(*found)), None)
    marks = [fingerprint("demo", "CAR001", one.subject) for one in found]
    first = next(m[0] for m in marks if sum(n[0] == m[0] for n in marks) > 1)
    done = tsaudit("show", first)
    assert done.exit_code == Exit.USAGE
    assert f"`{first}` matches several findings: " in done.stderr
    assert tsaudit("show", marks[0]).stdout.startswith(f"warning  CAR001 high-series-cardinality  {marks[0][:8]}\n")
