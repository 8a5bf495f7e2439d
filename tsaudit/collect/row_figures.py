"""What the rows read of a measurement show about its tags, its fields, and its points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.codes import Codes, combined, count_distinct, order_by
from tsaudit.analysis.columns.name_words import words_of
from tsaudit.analysis.columns.types import is_text
from tsaudit.analysis.rows import coincidence, rhythm
from tsaudit.analysis.rows.cohesion import repeated_together
from tsaudit.analysis.rows.distinguishing_tags import distinguishing_tags, overwritten
from tsaudit.analysis.values.tag_changes import Numbers, changes_of, other_sources, shared, turnover_of
from tsaudit.model.profile import (
    MAX_PATTERNS,
    SAMPLE_SIZE,
    TEXT_KEPT,
    Busiest,
    Count,
    Field,
    FieldRhythm,
    NumbersBy,
    PartingTag,
    PointSample,
    Ratio,
    RepeatedColumns,
    Repeats,
    Reports,
    Rhythms,
    RowBytes,
    RowPattern,
    RowPatterns,
    RowsApart,
    SampledPoint,
    SetApart,
    Source,
    TagChanges,
    TagSets,
    TimeLag,
    Turnover,
    Window,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


NUMBER: Final = r"^\s*([+-]?\d{0,15}\.\d+|-?(0|[1-9]\d{0,14})\.?)([eE][+-]?\d+)?\s*$"
"""A string that is a number. A whole one is none with a plus sign, as of a phone, with leading zeros, as of a code, or
with more digits than anything measured.
"""
_DECIMAL: Final = r"[+-]?\d+\.\d+"
_DECIMALS: Final = rf"^\s*[(\[]?{_DECIMAL}(\s*[,;|/ ]\s*{_DECIMAL})+[)\]]?\s*$"
"""Several numbers with a fraction, such as a position: whole numbers may as well be codes."""
PLACEHOLDER: Final = r"^\s*(-+|[nN]/?[aA]|(?i:null|none|nil|nan|undefined)|\\N|\?+)?\s*$"
"""A string that stands for no value. States such as `unknown` do not: somebody may look for them."""


def number_share(texts: pa.ChunkedArray) -> float:
    """The share of the strings that are numbers, without null and what stands for it; 0 if nothing is left."""
    return _share(texts, NUMBER)


def measured_share(texts: pa.ChunkedArray) -> float:
    """The same for strings that are one or several numbers: none of them names the source of a row."""
    return _share(texts, f"{NUMBER}|{_DECIMALS}")


def are_names(texts: pa.ChunkedArray) -> bool:
    """Whether the strings are whole numbers that name things: all of one length, and each many times. Those of what is
    measured have any length, or are hardly ever the same.
    """
    import pyarrow.compute as pc

    distinct = pc.unique(texts)
    if len(texts) < _TIMES_NAMED * len(distinct):
        return False
    lengths = pc.min_max(pc.utf8_length(distinct)).as_py()
    is_whole = bool(pc.all(pc.ascii_is_decimal(distinct)).as_py())
    return is_whole and lengths["min"] == lengths["max"] >= _DIGITS_NAMED


_TIMES_NAMED: Final = 10
_DIGITS_NAMED: Final = 4


def _share(texts: pa.ChunkedArray, pattern: str) -> float:
    import pyarrow.compute as pc

    # Each text is compared once, however many rows have it.
    counted = pc.value_counts(texts.drop_null())
    values, rows = counted.field("values"), counted.field("counts").to_numpy()
    is_said = ~pc.match_substring_regex(values, PLACEHOLDER).to_numpy(zero_copy_only=False)
    fits = pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)
    said = int(rows[is_said].sum())
    return int(rows[is_said & fits].sum()) / said if said else 0.0


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as strings; types that Arrow cannot convert are converted by Python."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])


def filled_in(field: Field, column: pa.ChunkedArray, series: np.ndarray, source: Source) -> Field:
    """The field with everything its column shows, from at least one row; a share of nulls from another source is kept.

    `series`: the series number of each row.
    """
    whole = _whole_ratio(column) if any(is_float(t) for t in field.types) else None
    numbers = _number_ratio(column) if all(is_text(t) for t in field.types) else None
    codes = as_codes(column)
    constant = _constant_ratio(codes.fill_null(-1).to_numpy(), series)
    return Field(
        key=field.key,
        types=field.types,
        null_ratio=field.null_ratio or Ratio(column.null_count / len(column), source),
        distinct=Count(pc.count_distinct(codes).as_py(), source),
        sample=some_values(column),
        constant_ratio=None if constant is None else Ratio(constant, source),
        whole_ratio=None if whole is None else Ratio(whole, source),
        number_ratio=None if numbers is None else Ratio(numbers, source),
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


def row_bytes(
    columns: Mapping[str, pa.ChunkedArray],
    texts: Mapping[str, str],
    stored: Mapping[str, float],
    longest: int,
    source: Source,
) -> RowBytes:
    """What the columns take, and which texts and documents repeat. `texts`: their columns, to the type of each.

    `stored`: column to its mean bytes in a row, as far as the server tells. `longest`: where texts were cut off: such
    values may differ in what was not read.
    """
    rows = len(next(iter(columns.values())))
    widths = {name: stored.get(name, _width(column)) for name, column in columns.items()}
    ordered = dict(sorted(widths.items(), key=lambda pair: (-pair[1], pair[0])))
    codes = {}
    for name in (name for name, width in ordered.items() if name in texts and width > _REFERENCE_BYTES):
        values = as_text(columns[name])
        if (pc.max(pc.utf8_length(values)).as_py() or 0) < longest:
            codes[name] = _codes(values)
    repeated = tuple(
        RepeatedColumns({name: texts[name] for name in one.names}, one.combinations, one.keys)
        for one in repeated_together(codes, rows)
    )
    return RowBytes(ordered, repeated, rows, source)


_REFERENCE_BYTES: Final = 4
"""What takes no more is as short as what could stand for it."""
_HEADER_BYTES: Final = 1
"""Of a short text in PostgreSQL and SQLite."""


def _width(column: pa.ChunkedArray) -> float:
    """The mean bytes of its values as read, nulls included."""
    filled = len(column) - column.null_count
    if pa.types.is_primitive(column.type):
        return float(filled * column.type.bit_width / 8) / len(column)
    lengths = pc.sum(pc.binary_length(as_text(column))).as_py() or 0
    return float(lengths + _HEADER_BYTES * filled) / len(column)


def as_ranks(column: pa.ChunkedArray) -> np.ndarray:
    """A number per value, in the order of the values; null is last."""
    import numpy as np

    ordered = pc.sort_indices(column).to_numpy()
    ranks: np.ndarray = np.empty(len(ordered), np.int64)
    ranks[ordered] = np.arange(len(ordered))
    return ranks


def series_of_rows(tags: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray:
    """A number per row, the same for rows with the same tag set."""
    return combined([_codes(tag) for tag in tags], rows)


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
    values = column.drop_null()
    try:
        values = pa.chunked_array([pc.unique(values)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = as_text(values)
    return tuple(sorted({text[:TEXT_KEPT] for text in _sampled(pc.unique(as_text(values)))}))


def some_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE of the distinct strings, sorted: mostly the same ones if a few strings are others.

    Includes the first and the last, because what stands for no value, such as `-`, often sorts there.
    """
    return _sampled(pa.array(list(texts), pa.string()))


def _sampled(texts: pa.StringArray) -> tuple[str, ...]:
    from tsaudit.analysis.values.value_sample import sample

    if len(texts) <= SAMPLE_SIZE:
        return tuple(sorted(texts.to_pylist()))
    ends = pc.min_max(texts).as_py()
    between = texts.filter(pc.invert(pc.is_in(texts, pa.array(list(ends.values()), pa.string()))))
    return (ends["min"], *sample(between, SAMPLE_SIZE - 2), ends["max"])


def _constant_ratio(codes: Codes, series: np.ndarray) -> float | None:
    """The share of constant series among those with two or more values; None if there are none. Null is -1."""
    present = codes >= 0
    codes, series = codes[present], series[present]
    if not len(codes):
        return None
    order = order_by(series, codes)
    codes, series = codes[order], series[order]
    starts = np.flatnonzero(np.r_[True, series[1:] != series[:-1]])
    lengths = np.diff(np.r_[starts, len(series)])
    constant = codes[starts] == codes[starts + lengths - 1]
    several = lengths >= 2
    return float(constant[several].mean()) if several.any() else None


def _number_ratio(column: pa.ChunkedArray) -> float | None:
    """The share of the texts that are numbers; None without values."""
    texts = as_text(column).drop_null()
    return number_share(texts) if len(texts) else None


_SAME_ROWS: Final = 20
_SAME_SHARE: Final = 0.95
_ROUNDED: Final = 1e-3
"""How far a converted number may be off, as a share of the range."""


def also_in(field: Field, column: pa.ChunkedArray, numbers: Mapping[str, pa.ChunkedArray]) -> str:
    """The column of numbers that holds what the texts say; empty if none. If they are called raw, in any unit: by one
    factor and one offset for all rows.
    """
    if field.number_ratio is None or field.number_ratio.value < _SAME_SHARE:
        return ""
    said = _floats(column)
    for name, other in numbers.items():
        known = _floats(other)
        both = np.isfinite(said) & np.isfinite(known)
        if both.sum() < max(_SAME_ROWS, _SAME_SHARE * np.isfinite(said).sum()):
            continue
        x, y = said[both], known[both]
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            factor, offset = np.polyfit(x, y, 1) if "raw" in words_of(field.key) else (1.0, 0.0)
            if np.abs(factor * x + offset - y).max() <= _ROUNDED * np.ptp(y):
                return name
    return ""


def _floats(column: pa.ChunkedArray) -> npt.NDArray[np.float64]:
    """NaN for what is no number."""
    texts = as_text(column)
    is_number = pc.fill_null(pc.match_substring_regex(texts, NUMBER), False)
    trimmed = pc.utf8_trim_whitespace(pc.if_else(is_number, texts, None))
    found: npt.NDArray[np.float64] = trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def numbers_by(field: Field, column: pa.ChunkedArray, tags: Mapping[str, pa.ChunkedArray]) -> NumbersBy | None:
    """The tag that separates the numbers in a text field from its texts."""
    import numpy as np

    from tsaudit.analysis.tables.typed_values import split_by

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


_VALUES_KEPT: Final = 3
_US_PER_SECOND: Final = 1_000_000


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
            FieldRhythm(key, len(one.regular), len(one.irregular), one.interval and one.interval / _US_PER_SECOND)
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
    start = int(window.start.timestamp()) if all_rows else int(at.min(initial=0)) // _US_PER_SECOND + 1
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


_PERCENTILES: Final = (10, 50, 90)
_ROWS_PER_VALUE: Final = 2
"""Of fewer rows of a few series, a sample that is thinner than the sources shows many of them once."""
_LASTING_H: Final = 1
"""What reports for an hour or more is a source, however soon another takes its place: a job or a session is over."""
_LASTING_INSTANTS: Final = 3
_MOST_COUNTED: Final = 8


def repeats(
    tags: Mapping[str, pa.ChunkedArray],
    fields: Mapping[str, pa.ChunkedArray],
    times: pa.ChunkedArray,
    source: Source,
    times_us: pa.ChunkedArray | None = None,
) -> Repeats:
    """The number of rows that duplicate another one, and what was lost of them. Rows without a time are left out.

    `times_us`: the times in microseconds, if they are known.
    """
    from tsaudit.analysis.rows.distinguishing_tags import lost_ratio

    timed = times.is_valid()
    key = [column.filter(timed) for column in (times, *tags.values())]
    rest = [column.filter(timed) for column in fields.values()]
    rows = len(key[0])
    of_key = series_of_rows(key, rows)
    keys = int(of_key.max(initial=-1)) + 1
    whole = keys if keys == rows else int(combined([of_key, *map(_codes, rest)], rows).max(initial=-1)) + 1
    lost = None
    if times_us is not None and keys == rows:
        lost = lost_ratio(series_of_rows(key[1:], rows), times_us.filter(timed).fill_null(1).to_numpy())
    return Repeats(rows, rows - keys, rows - whole, source, lost)


def rows_apart(
    tags: Mapping[str, pa.ChunkedArray],
    times: pa.ChunkedArray,
    source: Source,
    wanted: Iterable[frozenset[str]] = (),
    *,
    also: pa.ChunkedArray | None = None,
    whole: bool = True,
    within: str = "",
) -> RowsApart:
    """Which tags distinguish rows with the same time. Rows without a time are left out.

    `wanted`: sets of tags that are counted even if they are not among the smallest. `also`: another column that
    identifies a row, and cannot be dropped. `whole`, `within`: see `RowsApart`.
    """
    timed = times.is_valid()
    moments = as_codes(times.filter(timed)).to_numpy()
    if also is not None:
        moments = combined([moments, _codes(also.filter(timed))], len(moments))
    columns = {key: as_codes(column.filter(timed)).fill_null(-1).to_numpy() for key, column in tags.items()}
    found, complete = distinguishing_tags(columns, moments)
    each = () if complete else (frozenset({tag}) for tag in tags)
    sets = sorted({*found, *wanted, *each}, key=lambda names: (len(names), sorted(names)))
    counts = overwritten(columns, moments, sets)
    by = tuple(SetApart(tuple(sorted(names)), counts[names]) for names in sets)
    return RowsApart(len(moments), by, complete, source, whole, within)


def likely_drops(tag_sets: TagSets | None) -> list[frozenset[str]]:
    """Sets of tags that a plan is likely to drop: each of those that contribute most, and the first ones together."""
    if tag_sets is None:
        return []
    found = [frozenset((one.tag, *one.together_with)) for one in tag_sets.contributions[:_MOST_COUNTED]]
    so_far: frozenset[str] = frozenset()
    for one in tag_sets.drop_curve[:_MOST_COUNTED]:
        so_far |= {one.tag, *one.together_with}
        found.append(so_far)
    return list(dict.fromkeys(found))


def reports(column: pa.ChunkedArray, times: pa.ChunkedArray) -> Reports | None:
    """How often the values occur. `times`: in microseconds, null for rows to leave out. None without such rows."""
    both = np.array(column.is_valid()) & np.array(times.is_valid())
    at = times.filter(pa.array(both)).to_numpy()
    if not len(at):
        return None
    codes = as_codes(column.filter(pa.array(both))).to_numpy()
    order = order_by(codes, at)
    at, codes = at[order], codes[order]
    is_first = np.append(True, codes[1:] != codes[:-1])
    instants = np.add.reduceat(is_first | np.append(True, at[1:] != at[:-1]), np.flatnonzero(is_first))
    hours = (at[np.append(is_first[1:], True)] - at[is_first]) / (3600 * _US_PER_SECOND)
    lasting = (instants >= _LASTING_INSTANTS) & (hours >= _LASTING_H)
    read = float(at.max() - at.min()) / (3600 * _US_PER_SECOND)
    return Reports(float(instants.mean()), read, float(lasting.mean()))


def busiest(column: pa.ChunkedArray, source: Source) -> Busiest | None:
    """The value with the most rows, the first of several; None for fewer than two values."""
    counts = pc.value_counts(as_text(column.drop_null()))
    if len(counts) < 2:
        return None
    most, value = min((-one["counts"], one["values"]) for one in counts.to_pylist())
    return Busiest(value[:TEXT_KEPT], -most / len(column), source)


def idle_hours(column: pa.ChunkedArray, times: pa.ChunkedArray) -> float | None:
    """From the newest row with a value to the newest row. `times`: in microseconds, null for rows to leave out. None if
    no row has both.
    """
    last = pc.max(times.filter(column.is_valid())).as_py()
    return None if last is None else (pc.max(times).as_py() - last) / (3600 * _US_PER_SECOND)


def turnover(
    tags: Mapping[str, pa.ChunkedArray], times: pa.ChunkedArray, key: str, by: tuple[str, ...] | None, source: Source
) -> Turnover | None:
    """How values of one tag come and go for sources with the same values of the tags in `by`, or for all rows. `times`:
    in microseconds, null for rows to leave out. None if no source has rows enough.
    """
    both = times.is_valid()
    at = times.filter(both).to_numpy()
    if not len(at):
        return None
    codes = _codes(tags[key].filter(both))
    if by is None and len(at) < _ROWS_PER_VALUE * count_distinct(codes):
        return None
    others = series_of_rows([tags[other].filter(both) for other in by or ()], len(at))
    return turnover_of(codes, others, at, by=by, measured=source)


def time_lag(column: pa.ChunkedArray, times: pa.ChunkedArray) -> TimeLag | None:
    """How far the column's times are before the rows' own times; None if either is not a time, or no row has both."""
    if not (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(times.type)):
        return None
    both = np.array(column.is_valid()) & np.array(times.is_valid())
    if not both.any():
        return None
    lag = (_microseconds(times)[both] - _microseconds(column)[both]) / _US_PER_SECOND
    least, median, most = np.percentile(lag, _PERCENTILES)
    return TimeLag(int(both.sum()), float((lag > 0).mean()), float(median), float(most - least))


def _microseconds(times: pa.ChunkedArray) -> np.ndarray:
    whole = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64()).fill_null(0)
    numbers: np.ndarray = whole.to_numpy()
    return numbers


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
        sources: list[tuple[list[int], Codes]] = [(rest, others)]
        if len(rest) > 1:
            id_ = max(rest, key=lambda k: rank[k])
            sources.append(([id_], codes[id_]))
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
            for by, of in sources
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
