"""STO001: indexes that nothing needs."""

from __future__ import annotations

import dataclasses
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.builders import NOW, a_count, a_measurement, a_profile, a_tag
from tests.collecting import collected
from tests.databases import Greptime, write
from tests.rules.cases import Case, dataset, hosts, run_rule, table, text_of
from tests.servers import Postgresql
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Index, Partitioning, Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Timeline
from tsaudit.rules.storage.unused_or_redundant_index import unused_or_redundant_index as rule

POSTGRESQL = frozenset({"postgresql"})
ANY_SIZE = {"unused-or-redundant-index.min_bytes": 0.0, "unused-or-redundant-index.min_indexed_rows": 0.0}
DUCKDB = frozenset({"duckdb"})
GREPTIMEDB = frozenset({"greptimedb"})
ORDERED = rule.engines - POSTGRESQL - DUCKDB - GREPTIMEDB
"""Engines whose indexes are sorted, and whose uses are not counted."""


def _cpu(*indexes: tuple[str, ...]) -> Any:
    return dataset(table("cpu", hosts(2, region="eu"), indexes=indexes))


def _greptime(**indexes: str) -> Any:
    return dataset(table("cpu", hosts(2, region="eu"), greptime=Greptime(indexes=indexes)))


CASES = (
    Case(
        breaks=_cpu(("host",), ("host", "time")),
        keeps=_cpu(("host", "time")),
        subject=Subject("", "cpu"),
        engines=ORDERED,
        limits=ANY_SIZE,
    ),
    Case(  # the table is small, and the engine reports no bytes
        breaks=_cpu(("host",), ("host", "time")),
        keeps=_cpu(("host", "time")),
        subject=Subject("", "cpu"),
        severity=Severity.NOTE,
        engines=ORDERED,
    ),
    Case(  # the key starts with the time
        breaks=_cpu(("time",)),
        keeps=_cpu(("region",)),
        subject=Subject("", "cpu"),
        engines=ORDERED | DUCKDB,
        limits=ANY_SIZE,
    ),
    Case(  # it counts: nobody used either, and the second is the wider
        breaks=_cpu(("host",), ("host", "time")),
        keeps=_cpu(),
        subject=Subject("", "cpu"),
        severity=Severity.NOTE,
        engines=POSTGRESQL,
    ),
    Case(  # an index that is kept would be reported for not being used
        breaks=_cpu(("host",), ("host", "time")),
        keeps=_cpu(),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
        limits=ANY_SIZE,
    ),
    Case(
        breaks=_cpu(("host", "region")),
        keeps=_cpu(("host",)),
        subject=Subject("", "cpu"),
        engines=DUCKDB,
        limits=ANY_SIZE,
    ),
    Case(
        breaks=_cpu(("host",), ("region",), ("usage",)),
        keeps=_cpu(("host",), ("region",)),
        subject=Subject("", "cpu"),
        engines=ORDERED | DUCKDB,
        limits={"unused-or-redundant-index.max_indexes": 3},
    ),
    Case(  # one region: two hosts are enough to be told apart
        breaks=_cpu(("region",)),
        keeps=_cpu(("host",)),
        subject=Subject("", "cpu"),
        severity=Severity.NOTE,
        engines=ORDERED | DUCKDB,
        limits={"unused-or-redundant-index.min_values": 2, "unused-or-redundant-index.min_rows": 1},
    ),
    Case(
        breaks=_greptime(host="inverted", region="inverted"),
        keeps=_greptime(region="inverted"),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
    Case(
        breaks=_greptime(time="skipping"),
        keeps=_greptime(region="skipping"),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
)

KEY = Index("cpu_pkey", "btree", ("time", "host"), unique=True, constraint=True, partial=False)
SINCE = NOW - timedelta(days=30)


def an_index(name: str, *columns: str | None, **changes: Any) -> Index:
    settings = {"kind": "btree", "unique": False, "constraint": False, "partial": False} | changes
    return Index(name=name, columns=columns, **settings)


def _profile(*indexes: Index, engine: str = "sqlite", **changes: Any) -> Profile:
    return a_profile(a_measurement(indexes=indexes, **changes), engine=engine, collected_at=NOW)


def _message(*indexes: Index, engine: str = "sqlite") -> str:
    findings = run_rule(rule, _profile(*indexes, engine=engine)).findings
    return findings[0].message if findings else ""


def test_columns_that_another_index_leads_with() -> None:
    (finding,) = run_rule(rule, _profile(KEY, an_index("i", "time", size_bytes=12_300_000))).findings
    assert finding.message == (
        "Index i on (time) is not needed: cpu_pkey (time, host) starts with the same column; it takes 12.3 MB."
    )
    assert (finding.severity, finding.observed, finding.unit) == (Severity.WARNING, 1, "redundant or unused index")
    assert (
        text_of(StepKind.SCHEMA, rule, _profile(KEY, an_index("i", "time", size_bytes=12_300_000))) == 'DROP INDEX "i";'
    )


@pytest.mark.parametrize(
    "index",
    [
        an_index("i", "host"),
        an_index("i", "time", "region"),
        an_index("i", "time", "host", "region"),
        an_index("i", "time", kind="brin"),
        an_index("i", "time", partial=True),
        an_index("i", "time", unique=True),
        an_index("i", None),
        an_index("i", "time", None),
    ],
    ids=["other column", "other second column", "longer", "other kind", "partial", "unique", "expression", "included"],
)
def test_silence_when_the_key_does_not_serve(index: Index) -> None:
    assert run_rule(rule, _profile(KEY, index)).outcome is Outcome.PASS


def test_silence_when_what_leads_with_it_is_partial_or_expressions() -> None:
    host = an_index("i", "host")
    assert not _message(host, an_index("j", "host", "time", partial=True))
    assert not _message(host, an_index("j", None, "host"))
    assert "j (host, an expression) starts with the same column" in _message(host, an_index("j", "host", None))


def test_duplicates_when_one_can_go() -> None:
    same = [an_index(name, "host", "region") for name in ("b", "a", "c")]
    assert _message(*same) == "2 indexes are not needed: b and c."
    unique = an_index("z", "host", "region", unique=True)
    assert (
        _message(same[0], unique) == "Index b on (host, region) is not needed: z (host, region) has the same columns."
    )
    assert _message(unique, dataclasses.replace(unique, name="y")).startswith("Index z on")
    copy = an_index("a", "time", "host", unique=True)
    assert "Index a on (time, host) is not needed: cpu_pkey" in _message(copy, KEY)
    both = (KEY, dataclasses.replace(KEY, name="again"))
    assert not _message(*both), "constraints are left alone"


def test_duplicates_of_a_kind_without_order() -> None:
    gin = [an_index(name, *columns, kind="gin") for name, columns in (("a", ("x",)), ("b", ("x", "y")), ("c", ("x",)))]
    assert _message(*gin).startswith("Index c on (x)")


def test_unused_when_the_counters_are_old_enough() -> None:
    unused = an_index("i", "region", scans=0, counted_since=SINCE, size_bytes=5_000_000)
    profile = _profile(unused)
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity is Severity.NOTE, "it may have been made today"
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=profile)).findings
    assert finding.severity is Severity.WARNING
    assert "not used once since 2026-03-01, or since it was created; it takes 5 MB" in finding.message
    renamed = Timeline(previous=_profile(dataclasses.replace(unused, name="old")))
    assert run_rule(rule, profile, timeline=renamed).findings[0].severity is Severity.NOTE
    assert run_rule(rule, profile, {"min_days": 31}, Timeline(previous=profile)).outcome is Outcome.PASS


@pytest.mark.parametrize(
    "changes",
    [{"scans": 1}, {"scans": None}, {"unique": True}, {"constraint": True, "unique": True}],
    ids=["used", "not counted", "unique", "constraint"],
)
def test_silence_when_not_known_to_be_unused(changes: dict[str, Any]) -> None:
    index = an_index("i", "region", **{"scans": 0, "counted_since": SINCE} | changes)
    profile = _profile(index)
    assert run_rule(rule, profile, timeline=Timeline(previous=profile)).outcome is Outcome.PASS


def test_unused_needs_observed_days_if_the_engine_does_not_say_since_when_it_counts() -> None:
    unknown = _profile(an_index("i", "region", scans=0, size_bytes=5_000_000))
    assert run_rule(rule, unknown, timeline=Timeline(previous=unknown)).outcome is Outcome.PASS
    for days, outcome in ((29, Outcome.PASS), (30, Outcome.FAIL)):
        since = NOW - timedelta(days=days)
        observed = _profile(an_index("i", "region", scans=0, size_bytes=5_000_000, scans_since=since))
        result = run_rule(rule, observed, timeline=Timeline(previous=observed))
        assert result.outcome is outcome
    (finding,) = result.findings
    assert finding.severity is Severity.WARNING
    assert "not used once since 2026-03-01; it takes 5 MB" in finding.message


def test_information_when_it_is_small() -> None:
    for bytes_, severity in ((999_999, Severity.NOTE), (1_000_000, Severity.WARNING)):
        (finding,) = run_rule(rule, _profile(KEY, an_index("i", "time", size_bytes=bytes_))).findings
        assert finding.severity is severity
    for rows, severity in ((19_999, Severity.NOTE), (20_000, Severity.WARNING)):
        (finding,) = run_rule(rule, _profile(KEY, an_index("i", "time"), rows=a_count(rows))).findings
        assert finding.severity is severity
    unused = _profile(an_index("i", "region", scans=0, counted_since=SINCE, size_bytes=999_999))
    (finding,) = run_rule(rule, unused, timeline=Timeline(previous=unused)).findings
    assert finding.severity is Severity.NOTE


def test_too_many_when_each_has_its_use() -> None:
    indexes = [an_index(f"i{n:02}", f"c{n}", scans=100 - n) for n in range(11)]
    assert not _message(*indexes[:10])
    (finding,) = run_rule(rule, _profile(*indexes)).findings
    assert (finding.severity, finding.observed) == (Severity.WARNING, 11)
    assert finding.message == "11 indexes, more than the recommended 10."
    assert finding.fix.endswith("beginning with those used least: i10, i09, and i08.")
    uncounted = [dataclasses.replace(i, scans=None) for i in indexes]
    assert run_rule(rule, _profile(*uncounted)).findings[0].fix.endswith("drop the others.")
    assert _message(*indexes, an_index("i11", "c0", "c1")).startswith(
        "12 indexes, more than the recommended 10; Index i00 on (c0)"
    )


def test_few_values_when_the_table_is_large() -> None:
    def message(values: int, rows: int = 100_000, engine: str = "sqlite", **changes: Any) -> str:
        kind = "art" if engine == "duckdb" else "btree"
        tags = (a_tag("region", values=values),)
        profile = _profile(
            an_index("i", "region", **{"kind": kind} | changes), engine=engine, tags=tags, rows=a_count(rows)
        )
        findings = run_rule(rule, profile).findings
        assert all(f.severity is Severity.NOTE for f in findings)
        return findings[0].message if findings else ""

    assert message(9) == (
        "Index i on (region) is not needed: region has only 9 values, so a search for one reads much of the table."
    )
    assert not message(10)
    assert not message(9, rows=99_999)
    assert not message(9, unique=True)
    assert not message(9, partial=True)
    assert not message(9, kind="brin")
    assert message(999, engine="duckdb")
    assert not message(1_000, engine="duckdb")


def test_duckdb_when_no_query_uses_the_index() -> None:
    assert "several columns" in _message(an_index("i", "host", "region", kind="art"), engine="duckdb")
    assert "finds a time range by" in _message(an_index("i", "time", kind="art"), engine="duckdb")
    assert not _message(an_index("i", "host", kind="art"), engine="duckdb")
    assert not _message(an_index("i", "host", "time", kind="art", unique=True), engine="duckdb")
    # A key on several columns does not serve its first one.
    key = an_index("key", "host", "time", kind="art", unique=True, constraint=True)
    assert not _message(key, an_index("i", "host", kind="art"), engine="duckdb")


def test_greptimedb_when_rows_are_in_that_order_anyway() -> None:
    key = an_index("PRIMARY", "host", "region", kind="primary", constraint=True)
    inverted = [an_index(f"INVERTED_INDEX_{c}", c, kind="inverted") for c in ("host", "region", "time")]
    (finding,) = run_rule(rule, _profile(key, *inverted, engine="greptimedb")).findings
    assert {e.label: e.value for e in finding.evidence} == {
        "indexes": "4",
        "INVERTED_INDEX_host": "(host): rows are sorted by this column, the first of the key",
        "INVERTED_INDEX_time": "(time): rows are stored by time anyway",
    }
    assert text_of(StepKind.SCHEMA, rule, _profile(key, *inverted, engine="greptimedb")).splitlines() == [
        'ALTER TABLE "main"."cpu" MODIFY COLUMN "host" UNSET INVERTED INDEX;',
        'ALTER TABLE "main"."cpu" MODIFY COLUMN "time" UNSET INVERTED INDEX;',
    ]


def test_postgresql_when_the_index_can_be_dropped_beside_the_writers() -> None:
    same = [an_index('or"der', "host"), an_index("a", "host")]
    text = text_of(StepKind.SCHEMA, rule, _profile(*same, engine="postgresql"))
    assert text == 'DROP INDEX CONCURRENTLY "main"."or""der";'
    cut = Partitioning(("time",), 0, ())
    text = text_of(StepKind.SCHEMA, rule, _profile(*same, engine="postgresql", partitioning=cut))
    assert text == 'DROP INDEX "main"."or""der";'


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_statement_when_run(engine: str, tmp_path: Path) -> None:
    target = write(dataset(table('or"der', hosts(2), indexes=[("time",)])), engine, tmp_path / "main.db")
    text = text_of(StepKind.SCHEMA, rule, collected(target))
    connection: Any = (duckdb if engine == "duckdb" else sqlite3).connect(str(tmp_path / "main.db"))
    connection.execute(text)
    connection.close()
    assert run_rule(rule, collected(target)).outcome is Outcome.PASS


def test_statement_when_run_on_postgresql(postgresql: Postgresql) -> None:
    data = dataset(table('or"der', hosts(2), indexes=[("time",), ("host",)]))
    target = write(data, "postgresql", postgresql)
    # The one that the key starts with, and then the one that is not used.
    for name in ('or""der_time_idx', 'or""der_host_idx'):
        statement = text_of(StepKind.SCHEMA, rule, _after_a_month(collected(target)))
        assert statement.endswith(f'."{name}";')
        postgresql.execute(statement)
    assert run_rule(rule, _after_a_month(collected(target))).outcome is Outcome.PASS


def _after_a_month(profile: Profile) -> Profile:
    """As if audits had seen the uses that they count for so long."""

    def old(index: Index) -> Index:
        since = profile.collected_at - timedelta(days=31)
        return dataclasses.replace(index, scans_since=since if index.scans is not None else None)

    measurements = (
        dataclasses.replace(m, indexes=None if m.indexes is None else tuple(map(old, m.indexes)))
        for m in profile.measurements
    )
    return dataclasses.replace(profile, measurements=tuple(measurements))


def test_duckdb_when_asked_for_a_range_or_by_several_columns(tmp_path: Path) -> None:
    """What the rule says of DuckDB, by its own plans."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT i AS time, i % 100000 AS a, i % 7 AS b FROM range(200000) r(i)")

        def goes_by_index(condition: str) -> bool:
            (plan,) = connection.execute(f"EXPLAIN ANALYZE SELECT * FROM t WHERE {condition}").fetchall()
            return "Index Scan" in plan[1]

        connection.execute("CREATE INDEX several ON t (a, b)")
        assert not goes_by_index("a = 5")
        assert not goes_by_index("a = 5 AND b = 3")
        connection.execute("CREATE INDEX on_time ON t (time)")
        assert not goes_by_index("time BETWEEN 5 AND 6")
        assert goes_by_index("time = 5")


def test_index_that_was_never_finished() -> None:
    unfinished = an_index("i", "region", "host", valid=False, size_bytes=5_000_000)
    profile = _profile(unfinished, engine="postgresql")
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity is Severity.NOTE, "it may be in the making"
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=profile)).findings
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith(
        "Index i on (region, host) is not needed: it is not valid, because building it failed or"
    )
    assert _message(an_index("j", "region"), unfinished).startswith("Index i on"), "it serves nothing in j's place"


def test_index_that_stands_in_for_another_is_not_dropped_with_it() -> None:
    narrow = an_index("narrow", "host", scans=1000, counted_since=SINCE, size_bytes=5_000_000)
    wide = an_index("wide", "host", "region", scans=0, counted_since=SINCE, size_bytes=5_000_000)
    profile = _profile(narrow, wide, engine="postgresql")
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=profile)).findings
    assert finding.message.startswith("Index narrow on (host) is not needed: wide (host, region) starts with")
    assert "wide" not in finding.fix
    unused = _profile(dataclasses.replace(narrow, scans=0), wide, engine="postgresql")
    (finding,) = run_rule(rule, unused, timeline=Timeline(previous=unused)).findings
    assert finding.message == "2 indexes are not needed, 10 MB together: narrow and wide."


def test_doubtful_ones_wait_for_the_sure_ones() -> None:
    since = {"scans": 0, "counted_since": SINCE, "size_bytes": 5_000_000}
    indexes = [
        an_index("a", "host", **since),
        an_index("b", "host", "region", **since),
        an_index("c", "usage", **since),
    ]
    (finding,) = run_rule(rule, _profile(*indexes, engine="postgresql")).findings
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "Index a on (host) is not needed: b (host, region) starts with the same column; it takes 5 MB; "
        "b and c may not be needed either."
    )
    assert finding.observed == 1
    text = text_of(StepKind.SCHEMA, rule, _profile(*indexes, engine="postgresql"))
    assert text == 'DROP INDEX CONCURRENTLY "main"."a";'
    assert {e.label for e in finding.evidence} == {"indexes", "a", "b", "c"}


@pytest.mark.parametrize(
    ("own", "other", "is_served"),
    [
        (("", ""), ("", "", "desc"), True),
        (("desc", "desc"), ("", "", ""), True),  # read backwards
        (("", "desc"), ("desc", "", ""), True),
        (("", "desc nulls last"), ("", "", ""), False),
        (("", "desc"), ("", "", ""), False),
        (("desc nulls last", "nulls first"), ("nulls first", "desc nulls last", ""), True),
    ],
)
def test_order_decides_whether_another_one_serves(
    own: tuple[str, ...], other: tuple[str, ...], is_served: bool
) -> None:
    wide = an_index("wide", "host", "time", "region", sorting=other if any(other) else ())
    message = _message(an_index("own", "host", "time", sorting=own if any(own) else ()), wide, engine="postgresql")
    assert bool(message) is is_served
    if is_served:
        assert message.startswith("Index own on (")
        assert own[1] in message


def test_the_only_index_by_time_is_kept_though_unused() -> None:
    """Without it, missing-index would ask for it again: the two would take turns."""
    on_time = an_index("by_time", "time", scans=0, counted_since=SINCE, size_bytes=5_000_000)
    assert run_rule(rule, _profile(on_time, engine="postgresql")).outcome is Outcome.PASS
    other = an_index("by_time_too", "time", "host", scans=3, counted_since=SINCE)
    (finding,) = run_rule(rule, _profile(on_time, other, engine="postgresql")).findings
    assert finding.message.startswith("Index by_time on (time) is not needed")
