"""What measurements of one collector have in common is examined once."""

from __future__ import annotations

import pickle
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import duckdb
import pyarrow as pa
import pytest

from tests.builders import a_field, a_source
from tests.collecting import NOW, collected
from tsaudit.analysis.alike import Alike
from tsaudit.collect import row_figures, rows, series
from tsaudit.collect.draft import Draft, ReadRows, content_of
from tsaudit.config.settings import Target
from tsaudit.model.columns import Tag
from tsaudit.model.figures import Window
from tsaudit.model.profile import Measurement


def _batch(*values: str | None, name: str = "pump") -> pa.RecordBatch:
    return pa.record_batch({name: pa.array(values, pa.string())})


def test_content_of_batches_when_equal() -> None:
    whole = _batch("north", None, "south", "north", None)
    assert content_of([whole.slice(3, 2)]) == content_of([_batch("north", None)])


@pytest.mark.parametrize(
    "other",
    [
        [_batch("north", "south")],
        [_batch("north", "")],
        [_batch("north", None, name="valve")],
        [_batch("north")],
        [_batch("north", None), _batch()],
        [pa.record_batch({"pump": pa.array([b"north", None])})],
    ],
)
def test_content_of_batches_when_something_differs(other: list[pa.RecordBatch]) -> None:
    assert content_of([_batch("north", None)]) != content_of(other)


def test_result_is_made_once_for_equal_keys() -> None:
    alike, made = Alike(), list[str]()

    def make(name: str) -> str:
        made.append(name)
        return name

    assert [alike.of(key, lambda key=key: make(f"of {key}")) for key in (1, 2, 1)] == ["of 1", "of 2", "of 1"]
    assert made == ["of 1", "of 2"]


_TABLES = {
    "flow": "i % 7 / 3.0",
    "pressure": "i * 1.5",
    "level": "CASE WHEN i % 4 = 0 THEN NULL ELSE i / 2.0 END",
    "speed": "i",
}


def _audited(folder: Path, *names: str) -> dict[str, Measurement]:
    file = folder / f"{'-'.join(names)}.duckdb"
    with duckdb.connect(str(file)) as connection:
        for name in names:
            connection.execute(
                f"CREATE TABLE {name} AS SELECT TIMESTAMP '{NOW:%Y-%m-%d}' - i // 3 * INTERVAL 1 MINUTE AS ts, "
                f"'pump' || i % 3 AS pump, {_TABLES[name]} AS value FROM range(3, 303) AS t(i)"
            )
    profile = collected(Target(name="t", engine="duckdb", url=f"duckdb:///{file}"))
    # These name the file.
    return {one.name: replace(one, database="", fingerprint=None, statements={}) for one in profile.measurements}


def test_tables_of_one_collector_are_measured_like_each_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = {name: _audited(tmp_path, name)[name] for name in _TABLES}
    examined = []

    def tag_changes(*given: Any) -> Any:
        examined.append(given)
        return row_figures.tag_changes(*given)

    monkeypatch.setattr(rows, "tag_changes", tag_changes)
    assert _audited(tmp_path, *_TABLES) == alone
    # Only `level` lacks its field in some rows.
    assert len(examined) == 2


def _listing(runner: Any, *batches: pa.RecordBatch) -> series._Listing:
    draft = Draft.new("plant", "m")
    draft = replace(draft, measurement=replace(draft.measurement, tags=(Tag("pump", "string"), Tag("site", "string"))))
    found = series._Listing(runner, draft, series.listing_of(runner, draft), None)
    for batch in batches:
        found.consume(batch)
    return found


def test_counter_is_shared_by_equal_listings(monkeypatch: pytest.MonkeyPatch) -> None:
    window = Window(NOW - timedelta(days=1), NOW)
    target = Target(name="t", engine="influxdb1", url="http://localhost")
    runner = SimpleNamespace(alike=Alike(), target=target, window=window)
    first = _listing(runner, _batch("p1", "p2"), _batch("p3")).shared(cast("Any", runner))
    assert _listing(runner, _batch("p1", "p2"), _batch("p3")).shared(cast("Any", runner)) is first
    assert _listing(runner, _batch("p1", "p2"), _batch("p4")).shared(cast("Any", runner)) is not first
    monkeypatch.setattr(series, "_MOST_ALIKE", 2)
    assert _listing(runner, _batch("p1", "p2"), _batch("p3")).shared(cast("Any", runner)) is not first
    assert first.series.value == 3


def _key_of(**fields: list[int | None]) -> Any:
    """What the layout of a table with these fields follows from."""
    table = pa.table({"pump": ["p1"] * len(next(iter(fields.values()))), **fields})
    draft = replace(Draft.new("plant", "m"), sample=ReadRows(table))
    measured = replace(draft.measurement, tags=(Tag("pump", "string"),), fields=tuple(map(a_field, fields)))
    runner = SimpleNamespace(window_of=lambda *_: Window(NOW - timedelta(days=1), NOW))
    return rows._layout_key(cast("Any", runner), replace(draft, measurement=measured), a_source())


def test_key_of_a_layout_is_small_however_many_fields_are_sparse() -> None:
    """Many keys are kept at a time."""
    sparse = {f"f{n}": [None if i % 7 == n % 7 else i for i in range(10_000)] for n in range(20)}
    assert len(pickle.dumps(_key_of(**sparse))) < 10_000
    assert _key_of(**sparse) == _key_of(**{name: [i and 2 * i for i in values] for name, values in sparse.items()})


def test_key_of_a_layout_depends_on_which_rows_have_which_field() -> None:
    some, other, every = [1, None, 3], [None, 2, 3], [1, 2, 3]
    keys = {_key_of(flow=flow, level=level) for flow in (some, some[::-1], other, every) for level in (some, every)}
    assert len(keys) == 6
