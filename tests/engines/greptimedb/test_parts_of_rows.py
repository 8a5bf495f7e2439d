"""STO006: merge modes."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_field, a_source
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.cases import a_table, steps, stored
from tests.engines.greptimedb.cases import findings as all_findings
from tests.rules.cases import Case, dataset
from tsaudit.engines.greptimedb.rules.rows_of_one_key import rows_of_one_key as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import RowPattern, RowPatterns


def findings(table: Measurement, version: str = "1.1.4") -> tuple[Finding, ...]:
    """What the rule says of this, and not of rows that replace each other otherwise."""
    return tuple(f for f in all_findings(rule, table, version) if f.message.startswith("Merge mode"))


def _parts(merge_mode: str, whole: bool = False) -> Dataset:
    """Two jobs that write the two fields of a host apart, with one time."""
    rows = []
    for r, time in enumerate(times(60)):
        for h in range(4):
            tags = {"host": f"web-{h}"}
            cpu, memory = {"cpu": 1.5 + r}, {"memory": 2.5 + r}
            # Now the one is first and now the other.
            order = [cpu, memory] if (r + h) % 2 else [memory, cpu]
            rows += [Row(time, tags, cpu | memory)] if whole else [Row(time, tags, part) for part in order]
    settings = Greptime(options={"merge_mode": merge_mode})
    fields = {"cpu": "float", "memory": "float"}
    return dataset(Table("hosts", ("host",), fields, rows, key=("time", "host"), greptime=settings))


CASES = (Case(_parts("last_row"), _parts("last_row", whole=True), Subject("", "hosts")),)


def _table(in_files: int, groups: tuple[tuple[str, ...], ...], rows: int = 500, mode: str = "last_row") -> Measurement:
    patterns = tuple(RowPattern(("host", *group), rows // len(groups)) for group in groups)
    whole = (RowPattern(("host", "cpu", "memory"), 1000 - rows),) if rows < 1000 else ()
    fields = (a_field("cpu", ("double",), 0.5), a_field("memory", ("double",), 0.5))
    seen = RowPatterns((*patterns, *whole), 1000, 0, 0, a_source())
    return a_table(options={"merge_mode": mode}, fields=fields, row_patterns=seen, stored=stored(in_files))


PARTS = (("cpu",), ("memory",))


def test_finding_when_parts_replace_each_other() -> None:
    (finding,) = findings(_table(2_000_000, PARTS))
    assert finding.message == (
        "Merge mode last_row loses values: rows fill cpu and memory separately, and 50% of the stored rows were "
        "replaced by another with the same key and time."
    )
    assert "WITH ('merge_mode'='last_non_null')" in steps(rule, _table(2_000_000, PARTS))


@pytest.mark.parametrize(("in_files", "expected"), [(1_010_101, Severity.WARNING), (1_010_102, Severity.CRITICAL)])
def test_cost_is_the_rows_that_were_lost(in_files: int, expected: Severity) -> None:
    (finding,) = findings(_table(in_files, PARTS))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.OVERWRITTEN
    assert (finding.impact.now, finding.impact.whole) == (in_files - 1_000_000, in_files)
    assert finding.severity is expected


def test_loss_when_one_part_always_comes_last() -> None:
    """Then no row read shows that there is another part, and its fields are empty."""

    def hidden(in_files: int, empty: float = 1.0) -> Measurement:
        table = _table(in_files, (("memory",),), rows=1_000)
        fields = (a_field("cpu", ("double",), empty), a_field("memory", ("double",)))
        return dataclasses.replace(table, fields=fields)

    (finding,) = findings(hidden(2_000_000))
    assert finding.message.startswith("Merge mode last_row loses values: no row read has a value of cpu, and 50%")
    assert finding.severity is Severity.CRITICAL
    assert findings(hidden(1_111_112))
    # A column that nobody fills, and now and then a correction.
    assert not findings(hidden(1_111_111))
    assert not findings(hidden(2_000_000, empty=0.99))


def test_silence_when_hardly_a_row_was_written_again() -> None:
    assert findings(_table(1_001_002, PARTS))
    assert not findings(_table(1_001_000, PARTS))


def test_silence_when_rows_are_whole_or_have_a_field_in_common() -> None:
    assert not findings(_table(2_000_000, (("cpu",), ("cpu", "memory"))))
    assert findings(_table(2_000_000, PARTS, rows=100))
    assert not findings(_table(2_000_000, PARTS, rows=98))


def test_silence_when_it_keeps_all_rows() -> None:
    assert not findings(a_table(options={"append_mode": "true", "merge_mode": ""}))
