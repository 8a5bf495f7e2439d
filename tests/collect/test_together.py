"""On each engine that can ask about several measurements at once, it makes no difference to the figures."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_count
from tests.collecting import Writer, apart, collected, figures, statements, writer_to
from tests.databases import Dataset, Row, Table, times
from tsaudit.collect.draft import Draft
from tsaudit.collect.together import _small
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.columns import Column
from tsaudit.model.profile import Profile


@pytest.fixture(params=sorted(name for name, engine in ENGINES.items() if engine.asked_together))
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


def test_profile_is_the_same_as_with_a_statement_for_each(together: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    target = together(Dataset(tables=[_table(number) for number in range(36)]))
    at_once, alone = collected(target), apart(target, monkeypatch)
    assert len(at_once.measurements) == 36
    assert _unused(figures(at_once)) == _unused(figures(alone))
    facts = ENGINES[target.engine].asked_together
    assert statements(at_once, *facts) <= 15
    assert statements(alone, *facts) >= 72


@given(st.lists(st.tuples(st.integers(1, 900), st.none() | st.integers(0, 120_000)), max_size=300))
def test_tables_asked_together_are_few_and_small(tables: list[tuple[int, int | None]]) -> None:
    drafts = [
        Draft(
            "d",
            str(number),
            columns=tuple(Column(f"c{place}", "text") for place in range(columns)),
            rows_total=None if rows is None else a_count(rows),
        )
        for number, (columns, rows) in enumerate(tables)
    ]
    groups = list(_small(drafts))
    small = [draft for draft in drafts if draft.estimated_rows is not None and draft.estimated_rows <= 100_000]
    assert [draft for group in groups for draft in group] == small
    for group in groups:
        assert len(group) <= 100
        assert sum(draft.estimated_rows or 0 for draft in group) <= 100_000
        assert len(group) <= 1 or sum(len(draft.columns) for draft in group) <= 2_000
    # None of them has room for the first of the next.
    for group, following in itertools.pairwise(groups):
        longer = [*group, following[0]]
        assert (
            len(longer) > 100
            or sum(draft.estimated_rows or 0 for draft in longer) > 100_000
            or sum(len(draft.columns) for draft in longer) > 2_000
        )
