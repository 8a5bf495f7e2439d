"""What a sample of rows shows about tags that change over time for one source."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from tsaudit.analysis.values.tag_changes import Codes, Numbers, changes_of, other_sources, shared
from tsaudit.collect.figures import as_codes, as_ranks
from tsaudit.collect.value_texts import as_text
from tsaudit.model.profile import Source, TagChanges


def tag_changes(
    tags: Mapping[str, pa.ChunkedArray], times: pa.ChunkedArray, source: Source
) -> dict[str, tuple[TagChanges, ...]]:
    """For each tag, how it changes for the sources identified by all other tags, and for those identified by one of
    them.

    That one is the tag with the most values, preferably one without numbers. It is only examined if it differs from all
    other tags, that is, with at least three tags. Rows without a time are left out.
    """
    timed = times.is_valid()
    instants = _ascending(times.filter(timed))
    keys = sorted(tags)
    columns = [tags[key].filter(timed) for key in keys]
    codes = [_codes(column) for column in columns]
    numbers = [_numbers(column, of) for column, of in zip(columns, codes, strict=True)]
    rank = [(numbers[k] is None, int(codes[k].max(initial=-1)), -k) for k in range(len(keys))]
    varies = [len(of) > 0 and bool((of != of[0]).any()) for of in codes]
    found: dict[str, tuple[TagChanges, ...]] = {}
    for i, others in enumerate(other_sources(codes)):
        rest = [k for k in range(len(keys)) if k != i]
        with_others = {k: shared(codes[i], codes[k]) for k in rest if varies[k]}
        ways: list[tuple[list[int], Codes]] = [(rest, others)]
        if len(rest) > 1:
            id_ = max(rest, key=lambda k: rank[k])
            ways.append(([id_], codes[id_]))
        found[keys[i]] = tuple(
            changes_of(
                codes[i],
                of,
                instants,
                numbers[i],
                by=tuple(keys[k] for k in by),
                shared=min((with_others[k] for k in by if k in with_others), default=0),
                measured=source,
            )
            for by, of in ways
        )
    return found


def _ascending(times: pa.ChunkedArray) -> Codes:
    """A number per row in time order, the same for the same time."""
    ranks, codes = as_ranks(times), as_codes(times).to_numpy()
    # The rank of the first row of each time represents all rows of that time.
    first = np.full(int(codes.max(initial=0)) + 1, len(ranks), np.int64)
    np.minimum.at(first, codes, ranks)
    lowest: Codes = first[codes]
    return lowest


def _codes(column: pa.ChunkedArray) -> Codes:
    """0 for an absent tag."""
    codes: Codes = as_codes(column).fill_null(-1).to_numpy() + 1
    return codes


def _numbers(column: pa.ChunkedArray, codes: Codes) -> Numbers | None:
    """The value of each code as a number, NaN if it is absent or not a number; None if no value is a number."""
    known, first = np.unique(codes, return_index=True)
    numbers = np.full(int(codes.max(initial=0)) + 1, np.nan)
    numbers[known] = [_number(text) for text in as_text(column).take(pa.array(first)).to_pylist()]
    return None if np.isnan(numbers).all() else numbers


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return np.nan
