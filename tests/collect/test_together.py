"""On each engine that can ask about several measurements at once, it makes no difference to the figures."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_count, a_measurement
from tests.collecting import Writer, apart, collected, figures, statements, writer_to
from tests.databases import Dataset, Row, Table, times
from tsaudit.analysis.columns.columns import Column
from tsaudit.collect import batch
from tsaudit.collect.batch import _alike, _small
from tsaudit.collect.draft import Draft
from tsaudit.engines.influx import measuring as influx
from tsaudit.engines.registry import ENGINES
from tsaudit.model.columns import Field
from tsaudit.model.profile import Profile
from tsaudit.model.storage import Index


@pytest.fixture(params=sorted(name for name, engine in ENGINES.items() if engine.batched_facts))
def together(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    return writer_to(request.param, request, tmp_path)


def _table(number: int) -> Table:
    """One of three shapes; some tags are absent, some fields null."""
    tags = ("host", "region", "place")[: 1 + number % 3]
    fields = {"ms": "float", "error": "string", f"v{number}": "float"}
    return Table(
        f'a b"c {number}' if number % 10 == 0 else f"t{number:02}",
        tags=tags,
        fields=fields,
        rows=[
            Row(
                time,
                {tag: None if tag != "host" and i % 3 == 0 else f"{tag}{i % (number + 2)}" for tag in tags},
                {"ms": i / 7, "error": "late" if i % 4 == 0 else None, f"v{number}": float(i * number)},
            )
            for i, time in enumerate(times(3 + number % 6))
        ],
        key=("time", *tags),
    )


def _unused(profile: Profile) -> Profile:
    """Without how often indexes were used: an audit uses them."""
    return dataclasses.replace(
        profile,
        measurements=tuple(
            dataclasses.replace(m, indexes=m.indexes and tuple(dataclasses.replace(i, scans=None) for i in m.indexes))
            for m in profile.measurements
        ),
    )


@pytest.mark.full
def test_profile_is_the_same_as_with_a_statement_for_each(together: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    target = together(Dataset(tables=[_table(number) for number in range(36)]))
    at_once, alone = collected(target), apart(target, monkeypatch)
    assert len(at_once.measurements) == 36
    assert _unused(figures(at_once)) == _unused(figures(alone))
    facts = ENGINES[target.engine].batched_facts
    assert statements(at_once, *facts) <= 15
    assert statements(alone, *facts) >= 72


@pytest.mark.parametrize(("most", "expected"), [(2, 4), (20, 1)])
def test_a_statement_reads_rows_of_as_many_tables_as_the_engine_allows(
    most: int, expected: int, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = writer_to("duckdb", request, tmp_path)(Dataset(tables=[_table(3 * number) for number in range(1, 8)]))
    monkeypatch.setattr(ENGINES["duckdb"], "measurements_per_statement", {"row_sample": most, "row_estimate": 50})
    assert statements(collected(target), "row_sample") == expected


_INDEX = Index("i", "btree", ("c0",), unique=False, constraint=False, partial=False)


@given(
    st.lists(
        st.tuples(st.integers(1, 900), st.none() | st.integers(0, 120_000), st.none() | st.integers(0, 9)), max_size=300
    )
)
def test_tables_batched_facts_are_few_and_small(tables: list[tuple[int, int | None, int | None]]) -> None:
    drafts = [
        Draft(
            a_measurement(
                str(number),
                rows_total=None if rows is None else a_count(rows),
                indexes=None if indexes is None else (_INDEX,) * indexes,
            ),
            columns=tuple(Column(f"c{place}", "text") for place in range(columns)),
        )
        for number, (columns, rows, indexes) in enumerate(tables)
    ]
    groups = list(_small(drafts, 100))
    small = [draft for draft in drafts if draft.estimated_rows is not None and draft.estimated_rows <= 100_000]
    assert [draft for group in groups for draft in group] == small
    for group in groups:
        assert len(group) <= 100
        assert sum(draft.estimated_rows or 0 for draft in group) <= 100_000
        assert len(group) <= 1 or sum(len(draft.columns) for draft in group) <= 2_000
        assert len(group) <= 1 or _relations(group) <= 200
    # None of them has room for the first of the next.
    for group, following in itertools.pairwise(groups):
        longer = [*group, following[0]]
        assert (
            len(longer) > 100
            or sum(draft.estimated_rows or 0 for draft in longer) > 100_000
            or sum(len(draft.columns) for draft in longer) > 2_000
            or _relations(longer) > 200
        )


def _relations(drafts: list[Draft]) -> int:
    return sum(1 + len(draft.measurement.indexes or ()) for draft in drafts)


def _measurement(name: str, *fields: str, series: int = 1, kind: str = "float") -> Draft:
    return Draft(a_measurement(name, series, tags=(), fields=tuple(Field(f, (kind,)) for f in fields)), is_indexed=True)


def _names(groups: Iterable[list[Draft]]) -> list[list[str]]:
    return [[draft.name for draft in group] for group in groups]


def test_measurements_read_together_are_alike() -> None:
    drafts = [
        *(_measurement(f"a{n}", "v") for n in range(2)),
        _measurement("b", "v", kind="integer"),
        *(_measurement(f"c{n}", "x", *(f"x{n}{i}" for i in range(8))) for n in range(2)),
        *(_measurement(f"d{n}", "z", series=1_500) for n in range(2)),
    ]
    assert _names(_alike(drafts, 100)) == [["a0", "a1"], ["b"], ["c0"], ["c1"], ["d0"], ["d1"]]


def test_response_about_measurements_read_together_is_of_limited_size() -> None:
    drafts = [_measurement(f"m{n:03}", *(f"v{i}" for i in range(99))) for n in range(100)]
    assert [len(group) for group in _alike(drafts, 100)] == [100]
    assert {len(group) for group in _alike(drafts, 10_000)} == {10}


def test_what_fails_before_the_steps_is_left_to_them(together: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    target = together(Dataset(tables=[_table(number) for number in range(4)]))
    whole = collected(target)

    def fails(*_: object) -> None:
        raise ValueError("an estimate is no number")

    for module in (batch, influx):
        for name in ("prefetch_tables", "prefetch_database_listing", "prefetch_rows"):
            monkeypatch.setattr(module, name, fails, raising=False)
    broken = collected(target)
    assert _unused(figures(broken)) == _unused(figures(whole))
