"""What the audit finds in the tests' databases, on two commits: `tests/stored_findings.py` writes the two files.

    python -m tests.compare_findings before.jsonl after.jsonl

Prints each finding (code, subject, severity) that only one of them has, and each database that only one of them has.
Exits with 1 if there is any. Then, of the plans of the second file: the longest, and how many of them say what would be
lost, and how many series are left.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from pathlib import Path

Finding = tuple[str, str, str]
"""Code, subject, severity."""
Found = Mapping[str, Set[Finding]]
"""Database to its findings; the verdict is one of them."""


def read(file: Path) -> Found:
    """What `tests/stored_findings.py` wrote."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {
        row["database"]: {*(tuple(finding) for finding in row["findings"]), ("verdict", "", row["verdict"])}
        for row in rows
    }


def differences(before: Found, after: Found) -> Iterator[str]:
    """A line for each finding, and for each database, that only one of them has."""
    for database in sorted(before.keys() | after.keys()):
        if database not in before or database not in after:
            yield f"{'+' if database in after else '-'} {database}: the whole database"
            continue
        for sign, only in (("-", before[database] - after[database]), ("+", after[database] - before[database])):
            yield from (f"{sign} {database}: {' '.join(finding)}" for finding in sorted(only))


def plans(file: Path) -> Iterator[str]:
    """What the plans have in common: a line for each figure."""
    found = [plan for line in file.read_text().splitlines() for plan in json.loads(line)["plans"]]
    if not found:
        return
    for figure in ("steps", "lines"):
        numbers = sorted(plan[figure] for plan in found)
        yield f"{figure} of {len(found)} plans: {numbers[len(numbers) // 2]} in the middle, {numbers[-1]} at most"
    for what in ("loss", "series"):
        counts = Counter(plan[what] for plan in found)
        yield f"{what}: " + ", ".join(f"{number} {word}" for word, number in counts.most_common())


def main() -> int:
    if len(sys.argv) != 3:
        print("nothing to compare: name two files")
        return 0
    before, after = (read(Path(file)) for file in sys.argv[1:])
    both = before.keys() & after.keys()
    print(f"databases: {len(before)} before, {len(after)} after, {len(both)} in both")
    print(f"findings in those: {sum(len(before[k]) for k in both)}, {sum(len(after[k]) for k in both)}")
    lines = list(differences(before, after))
    print(*lines, sep="\n")
    print(f"{len(lines)} differences")
    print(*plans(Path(sys.argv[2])), sep="\n")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
