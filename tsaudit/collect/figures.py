"""What a sample of rows shows about its fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.columns.types import is_text
from tsaudit.collect.value_texts import NUMBER, as_text, number_share
from tsaudit.model.profile import (
    FREQUENT,
    MAX_PATTERNS,
    SAMPLE_SIZE,
    TEXT_KEPT,
    Count,
    Field,
    NumbersBy,
    Ratio,
    RowPattern,
    RowPatterns,
    Source,
)

if TYPE_CHECKING:
    import numpy as np


def filled_in(field: Field, column: pa.ChunkedArray, series: np.ndarray, source: Source) -> Field:
    """The field with everything its column shows, from at least one row; a share of nulls from another source is kept.

    `series`: the series number of each row.
    """
    whole = _whole_ratio(column) if any(is_float(t) for t in field.types) else None
    numbers = _number_ratio(column) if all(is_text(t) for t in field.types) else None
    frequent = _frequent_ratio(column) if all(is_text(t) for t in field.types) else None
    constant = _constant_ratio(column, series)
    return Field(
        key=field.key,
        types=field.types,
        null_ratio=field.null_ratio or Ratio(column.null_count / len(column), source),
        distinct=Count(pc.count_distinct(as_codes(column)).as_py(), source),
        sample=some_values(column),
        constant_ratio=None if constant is None else Ratio(constant, source),
        whole_ratio=None if whole is None else Ratio(whole, source),
        number_ratio=None if numbers is None else Ratio(numbers, source),
        frequent_ratio=None if frequent is None else Ratio(frequent, source),
        role_reason=field.role_reason,
    )


def row_patterns(
    tags: Mapping[str, pa.ChunkedArray],
    fields: Mapping[str, pa.ChunkedArray],
    times: pa.ChunkedArray | None,
    series: np.ndarray,
    source: Source,
) -> RowPatterns:
    """Which of the columns are filled together. Without `times`, rows are in the order in which they were read."""
    import numpy as np

    from tsaudit.analysis.rows import cohesion

    def filled(column: pa.ChunkedArray) -> np.ndarray:
        valid: np.ndarray = column.is_valid().to_numpy()
        return valid

    # A tag and a field with the same name, which InfluxDB allows, are treated as one column.
    found = cohesion.patterns({key: filled(column) for key, column in {**tags, **fields}.items()})
    order = np.arange(len(series)) if times is None else as_ranks(times)
    pairs, complementary = cohesion.complementary(series, order, [filled(column) for column in fields.values()])
    most = tuple(RowPattern(tuple(sorted(columns)), rows) for columns, rows in found[:MAX_PATTERNS])
    return RowPatterns(most, len(series), pairs, complementary, source)


def as_ranks(column: pa.ChunkedArray) -> np.ndarray:
    """A number per value, in the order of the values; null is last."""
    import numpy as np

    ordered = pc.sort_indices(column).to_numpy()
    ranks: np.ndarray = np.empty(len(ordered), np.int64)
    ranks[ordered] = np.arange(len(ordered))
    return ranks


def series_of_rows(tags: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    """A number per row, the same for rows with the same tag set."""
    import numpy as np

    number = np.zeros(rows, np.int64)
    for tag in tags:
        codes = as_codes(tag).fill_null(-1).to_numpy() + 1
        # Renumbered after each tag, so that the product of two small numbers never overflows.
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    return number


def as_codes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A number per value, the same for equal values, null for null. For types that Arrow cannot encode, based on their
    strings.
    """
    try:
        encoded = column.combine_chunks().dictionary_encode()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        encoded = as_text(column).combine_chunks().dictionary_encode()
    indices = encoded.indices if isinstance(encoded, pa.DictionaryArray) else encoded.combine_chunks().indices
    return indices.cast(pa.int64())


def is_float(data_type: str) -> bool:
    """Whether the engine's type name is a floating-point type."""
    return data_type.upper().split("(")[0].split(" ")[0] in {"FLOAT", "DOUBLE", "REAL", "FLOAT4", "FLOAT8", "FLOAT64"}


def some_values(column: pa.ChunkedArray) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE distinct values as strings, sorted: mostly the same ones on the next day."""
    texts = some_texts(set(as_text(column).drop_null().to_pylist()))
    return tuple(sorted({text[:TEXT_KEPT] for text in texts}))


def some_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE of the distinct strings, sorted: mostly the same ones if a few strings are others.

    Includes the first and the last, because what stands for no value, such as `-`, often sorts there.
    """
    from tsaudit.analysis.values.value_sample import sample

    ordered = sorted(texts)
    if len(ordered) <= SAMPLE_SIZE:
        return tuple(ordered)
    return (ordered[0], *sample(pa.array(ordered[1:-1], pa.string()), SAMPLE_SIZE - 2), ordered[-1])


def _constant_ratio(column: pa.ChunkedArray, series: np.ndarray) -> float | None:
    """The share of constant series among those with two or more values; None if there are none."""
    import numpy as np

    codes = as_codes(column).fill_null(-1).to_numpy()
    present = codes >= 0
    codes, series = codes[present], series[present]
    if not len(codes):
        return None
    order = np.argsort(series, kind="stable")
    codes, series = codes[order], series[order]
    starts = np.flatnonzero(np.r_[True, series[1:] != series[:-1]])
    lengths = np.diff(np.r_[starts, len(series)])
    constant = np.minimum.reduceat(codes, starts) == np.maximum.reduceat(codes, starts)
    several = lengths >= 2
    return float(constant[several].mean()) if several.any() else None


def _number_ratio(column: pa.ChunkedArray) -> float | None:
    """The share of the texts that are numbers; None without values."""
    texts = as_text(column).drop_null()
    return number_share(texts) if len(texts) else None


def _frequent_ratio(column: pa.ChunkedArray) -> float | None:
    """The share of the values that occur in at least FREQUENT rows; None without values."""
    counts = pc.value_counts(as_codes(column).drop_null()).field("counts").to_numpy()
    return float(counts[counts >= FREQUENT].sum() / counts.sum()) if len(counts) else None


def numbers_by(field: Field, column: pa.ChunkedArray, tags: Mapping[str, pa.ChunkedArray]) -> NumbersBy | None:
    """The tag that separates the numbers in a text field from its texts."""
    import numpy as np

    from tsaudit.analysis.rows.attributes import split_by

    if field.number_ratio is None or not 0.0 < field.number_ratio.value < 1.0 or len(tags) < 2:
        return None
    texts = as_text(column)
    is_number = pc.fill_null(pc.match_substring_regex(texts, NUMBER), False)
    codes = {key: np.asarray(as_codes(tag).fill_null(-1).to_numpy(), np.int64) for key, tag in tags.items()}
    found = split_by(codes, np.asarray(is_number.to_numpy()), np.asarray(texts.is_valid().to_numpy()))
    if found is None:
        return None
    of_code = dict(zip(codes[found.tag].tolist(), as_text(tags[found.tag]).to_pylist(), strict=True))
    return NumbersBy(
        found.tag,
        tuple(sorted(of_code[code][:TEXT_KEPT] for code in found.numbers)),
        tuple(sorted(of_code[code][:TEXT_KEPT] for code in found.others)),
    )


def _whole_ratio(column: pa.ChunkedArray) -> float | None:
    """The share of values that are integers; None without values."""
    values: Any = column.drop_null()
    if not len(values):
        return None
    if not pa.types.is_floating(values.type):
        return 1.0 if pa.types.is_integer(values.type) else None
    return float(pc.mean(pc.equal(values, pc.floor(values)).cast(pa.float64())).as_py())
