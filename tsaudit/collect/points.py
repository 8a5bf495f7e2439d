"""What a sample of rows shows about its points: how regularly they arrive, and which ones they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from tsaudit.analysis.rows import coincidence, rhythm
from tsaudit.collect.figures import as_codes
from tsaudit.collect.value_texts import as_text
from tsaudit.model.profile import FieldRhythm, PartingTag, PointSample, Rhythms, SampledPoint, Source, Window

if TYPE_CHECKING:
    import numpy.typing as npt

_VALUES_KEPT: Final = 3
_PER_SECOND: Final = 1_000_000


def rhythms(
    tags: Mapping[str, pa.ChunkedArray],
    fields: Mapping[str, pa.ChunkedArray],
    times: pa.ChunkedArray,
    series: npt.NDArray[np.int64],
    source: Source,
) -> Rhythms:
    """How regularly values arrive, by field. `times`: microseconds, null for rows to leave out. `series`: as
    numbers.
    """
    known = times.is_valid().to_numpy()
    filled = {key: column.is_valid().to_numpy()[known] for key, column in fields.items()}
    found = rhythm.rhythms(series[known], times.drop_null().to_numpy(), filled)
    return Rhythms(
        fields=tuple(
            FieldRhythm(key, len(one.regular), len(one.irregular), one.interval and one.interval / _PER_SECOND)
            for key, one in sorted(found.items())
        ),
        parted_by=_parted(tags, series, found),
        source=source,
    )


def _parted(
    tags: Mapping[str, pa.ChunkedArray], series: npt.NDArray[np.int64], found: Mapping[str, rhythm.Rhythm]
) -> PartingTag | None:
    regular = {number for one in found.values() for number in one.regular.tolist()}
    irregular = {number for one in found.values() for number in one.irregular.tolist()}
    if not regular - irregular or not irregular - regular:
        return None
    numbers, first = np.unique(series, return_index=True)
    codes = {key: as_codes(tag).fill_null(-1).to_numpy()[first] for key, tag in tags.items()}
    even, uneven = (np.isin(numbers, list(side)) for side in (regular - irregular, irregular - regular))
    parted = rhythm.separating_tag(codes, even, uneven)
    if parted is None:
        return None
    values = as_text(tags[parted]).take(pa.array(first)).to_pylist()
    return PartingTag(parted, _some(values, even), _some(values, uneven))


def _some(values: Sequence[str | None], chosen: npt.NDArray[np.bool_]) -> tuple[str | None, ...]:
    distinct = {values[place] for place in np.flatnonzero(chosen).tolist()}
    return tuple(sorted(distinct, key=lambda value: (value is None, value)))[:_VALUES_KEPT]


def point_sample(
    tags: Mapping[str, pa.ChunkedArray],
    times: pa.ChunkedArray,
    series: npt.NDArray[np.int64],
    window: Window,
    source: Source,
    *,
    all_rows: bool,
) -> PointSample:
    """The points used to compare the measurement with others. Parameters as for `rhythms`.

    `all_rows`: whether all rows within the window were read, and not only the newest.
    """
    known = times.is_valid().to_numpy()
    at = times.drop_null().to_numpy()
    numbers, first = np.unique(series, return_index=True)
    texts = {key: as_text(tag).take(pa.array(first)).to_pylist() for key, tag in tags.items()}
    tag_sets = [{key: values[i] for key, values in texts.items() if values[i]} for i in range(len(numbers))]
    # At the oldest instant, some rows may not have been read.
    start = int(window.start.timestamp()) if all_rows else int(at.min(initial=0)) // _PER_SECOND + 1
    own = coincidence.signature(
        tag_sets, np.searchsorted(numbers, series)[known], at, start=start, end=int(window.end.timestamp())
    )
    return PointSample(
        points=tuple(SampledPoint(hashed, time) for hashed, time in own.points.items()),
        complete=own.complete,
        start=datetime.fromtimestamp(own.start, UTC),
        end=datetime.fromtimestamp(own.end, UTC),
        source=source,
    )
