"""What the tests' databases make rules find: written down by one commit, and compared with another.

`--findings FILE` appends a line for each audit that a test runs: the test, the target, and each finding's code, subject
and severity. The module stands alone, so that it also runs on a commit that does not have it:

    PYTHONPATH=. pytest -q -p bench.findings --findings after.jsonl tests/rules tests/engines tests/dagster_project
    PYTHONPATH=OTHER:. pytest -q -p bench.findings --findings before.jsonl ...      # in OTHER, a checkout of it
    python bench/findings.py before.jsonl after.jsonl

Tests are compared by the name of their file and their own, wherever they were moved to. Exits with 1 if a test that
both commits have finds something else.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, Final

Finding = tuple[str, str, str]
"""Code, subject, severity."""
Found = Mapping[tuple[str, str], Set[Finding]]
"""(Test, engine) to the findings of all its audits; a test may audit the same more often than it used to."""

_MADE_NAME: Final = re.compile(r"\b(rules|plans|test)_\d+\b")
"""Databases that are numbered as they are made."""


class _Recorder:
    """Passes audits on, and writes down what they find."""

    def __init__(self, file: Path) -> None:
        self.test = "collection"
        self._file = file
        self._audit: Callable[..., Any] | None = None

    def install(self) -> None:
        # Before a module that uses it takes the name.
        module: Any = importlib.import_module("tsaudit.audit")
        self._audit, module.audit = module.audit, self.audit

    def audit(self, *given: Any, **options: Any) -> Any:
        assert self._audit is not None
        result = self._audit(*given, **options)
        rows = [
            (found.code, [finding.subject.database, finding.subject.measurement, finding.subject.column], finding)
            for found in result.results
            for finding in found.findings
        ]
        line = {
            "test": self.test,
            "engine": result.engine,
            "day": str(result.day),
            "findings": [(code, subject, str(finding.severity)) for code, subject, finding in rows],
        }
        with self._file.open("a") as file:
            file.write(f"{json.dumps(line)}\n")
        return result


_recorders: list[_Recorder] = []


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--findings", type=Path, help="append what rules find to this file")


def pytest_configure(config: Any) -> None:
    if file := config.getoption("--findings"):
        recorder = _Recorder(file.absolute())
        recorder.install()
        _recorders.append(recorder)


def pytest_runtest_logstart(nodeid: str) -> None:
    for recorder in _recorders:
        recorder.test = nodeid


def read(file: Path) -> Found:
    """What `--findings` wrote."""
    found: dict[tuple[str, str], set[Finding]] = defaultdict(set)
    for line in file.read_text().splitlines():
        row = json.loads(line)
        test = row["test"].rpartition("/")[2]
        found[test, row["engine"]].update(
            (code, ".".join(_MADE_NAME.sub(r"\1_N", part or "-") for part in subject), severity)
            for code, subject, severity in row["findings"]
        )
    return found


def differences(before: Found, after: Found) -> Iterator[str]:
    """A line for each finding that only one of them has, in tests of both."""
    for key in sorted(before.keys() & after.keys()):
        for sign, left in (("-", before[key] - after[key]), ("+", after[key] - before[key])):
            yield from (f"{sign} {' '.join(key)}: {' '.join(finding)}" for finding in sorted(left))


def main() -> int:
    if len(sys.argv) != 3:
        print("nothing to compare: name two files")
        return 0
    before, after = read(Path(sys.argv[1])), read(Path(sys.argv[2]))
    both = before.keys() & after.keys()
    print(f"tests that audit: {len(before)} before, {len(after)} after, {len(both)} in both")
    print(f"findings in those: {sum(len(before[k]) for k in both)}, {sum(len(after[k]) for k in both)}")
    codes = {code for found in (before, after) for counted in found.values() for code, _, _ in counted}
    print(f"rules that find something: {len(codes)}")
    lines = list(differences(before, after))
    print(*lines, sep="\n")
    print(f"{len(lines)} differences")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
