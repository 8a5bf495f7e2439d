"""What the values read of a column show, alone and beside those of other columns."""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.codes import Codes, RowGroups, changes
from tsaudit.analysis.columns.columns import is_text
from tsaudit.analysis.columns.name_words import words_of
from tsaudit.analysis.rows import column_groups
from tsaudit.analysis.rows.column_groups import repeated_together, split_by
from tsaudit.analysis.significance import ENOUGH, REPEATS, WORTH_MOVING
from tsaudit.analysis.values.document_parts import repeated_parts, shares_of_parts
from tsaudit.analysis.values.hash_samples import sample
from tsaudit.analysis.values.label_sets import FORM_SHARE
from tsaudit.analysis.values.value_hashes import mixed
from tsaudit.collect.draft import NUMBER, ReadColumn
from tsaudit.model.profile import (
    MAX_PATTERNS,
    SAMPLE_SIZE,
    TEXT_KEPT,
    Count,
    EqualColumns,
    Field,
    NumbersBy,
    Ratio,
    RepeatedColumns,
    RowBytes,
    RowPattern,
    RowPatterns,
    Source,
)


def filled_in(
    field: Field,
    column: ReadColumn,
    series: RowGroups,
    source: Source,
    tags: Mapping[str, ReadColumn],
    numbers: Mapping[str, ReadColumn],
) -> Field:
    """The field with what its column shows without the time, from at least one row; a share of nulls from another
    source is kept.

    `series`: the rows by series. `tags`: columns that may say the same, or which values are numbers. `numbers`: columns
    that may hold what texts say.
    """
    whole = _whole_ratio(column) if any(is_float(t) for t in field.types) else None
    share = column.number_share if column.filled and all(is_text(t) for t in field.types) else None
    number_ratio = None if share is None else Ratio(share, source)
    constant = series.constant_ratio(column.codes)
    return Field(
        key=field.key,
        types=field.types,
        null_ratio=field.null_ratio or Ratio((len(column) - column.filled) / len(column), source),
        distinct=Count(len(column.distinct), source),
        sample=some_values(column),
        constant_ratio=None if constant is None else Ratio(constant, source),
        whole_ratio=None if whole is None else Ratio(whole, source),
        number_ratio=number_ratio,
        role_reason=field.role_reason,
        numbers_by=numbers_by(number_ratio, column, tags),
        also_in=also_in(field.key, number_ratio, column, numbers),
        same_tag=same_tag(field.key, column, tags),
    )


def row_patterns(
    tags: Mapping[str, ReadColumn],
    fields: Mapping[str, ReadColumn],
    times: ReadColumn | None,
    series: Codes,
    source: Source,
) -> RowPatterns:
    """Which of the columns are filled together. Without `times`, rows are in the order in which they were read."""
    # A tag and a field with the same name, which InfluxDB allows, are treated as one column.
    found = column_groups.patterns({key: column.known for key, column in {**tags, **fields}.items()})
    order = np.arange(len(series)) if times is None else times.ranks
    pairs, complementary = column_groups.complementary(series, order, [column.known for column in fields.values()])
    most = tuple(RowPattern(tuple(sorted(columns)), rows) for columns, rows in found[:MAX_PATTERNS])
    return RowPatterns(most, len(series), pairs, complementary, source)


def row_bytes(
    columns: Mapping[str, ReadColumn],
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
    widths = {name: stored[name] if name in stored else width_of(column) for name, column in columns.items()}
    ordered = dict(sorted(widths.items(), key=lambda pair: (-pair[1], pair[0])))
    repeated = repeated_columns(columns, texts, ordered, longest)
    return RowBytes(ordered, repeated, rows, source, equal=equal_columns(columns, texts, ordered, longest))


def may_repeat_further(column: ReadColumn, longest: int) -> bool:
    """Whether more of each value has to be read to know what repeats: beginnings of `longest` characters repeat, or the
    values are JSON objects that differ as a whole.
    """
    begins_again = column.longest >= longest and len(column.distinct) * REPEATS <= len(column)
    return begins_again or _differ_as_objects(column)


def document_parts(
    columns: Mapping[str, ReadColumn], texts: Mapping[str, str], widths: Mapping[str, float]
) -> tuple[dict[str, ReadColumn], dict[str, str], dict[str, float]]:
    """The parts that repeat in JSON objects which differ as a whole: each as a column of its own, its type, and its
    mean bytes in a row, of those of the column. Parameters as for `row_bytes`.
    """
    parts: dict[str, ReadColumn] = {}
    types: dict[str, str] = {}
    sizes: dict[str, float] = {}
    for name, kind in texts.items():
        column = columns[name]
        if not _differ_as_objects(column):
            continue
        parsed = [*map(_parsed, column.texts.to_pylist()), None]
        documents = [parsed[code] for code in column.codes.tolist()]
        is_packed = widths[name] < _PACKED_SHARE * width_of(column)
        found = repeated_parts(documents, within=f"{name}.")
        # Stored as it is, a part may take more than its text, as in PostgreSQL's jsonb.
        least = _PART_BYTES if is_packed else 0
        for path, share in shares_of_parts(documents, found, least=least, is_packed=is_packed).items():
            if (size := share * widths[name]) >= _PART_BYTES:
                parts[path] = ReadColumn(pa.chunked_array([pa.array(found[path], pa.string())]))
                types[path], sizes[path] = kind, size
    return parts, types, sizes


_PACKED_SHARE: Final = 0.8
"""A document that takes less than this share of its text is stored compressed."""
_PART_BYTES: Final = 100
"""A part that takes less is an attribute like others, such as a name, an ID, or a hash: nobody moves it out of a
document.
"""


def _differ_as_objects(column: ReadColumn) -> bool:
    if len(column.distinct) * REPEATS <= len(column) or "{" not in column.initials:
        return False
    begin = pc.starts_with(pc.utf8_trim_whitespace(column.texts), "{").to_numpy(zero_copy_only=False)
    return int(column.rows[begin].sum()) >= FORM_SHARE * column.filled


def _parsed(text: str) -> object:
    """The JSON value; None for another text, and for one that was cut off."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def repeated_columns(
    columns: Mapping[str, ReadColumn],
    texts: Mapping[str, str],
    widths: Mapping[str, float],
    longest: int,
    *,
    by_page: bool = False,
) -> tuple[RepeatedColumns, ...]:
    """The texts and documents that repeat, widest first. Parameters as for `row_bytes`.

    `widths`: mean bytes of the columns in a row, in that order. `by_page`: the rows are a sample, of which rows next to
    each other may be neighbors in the table: a value that is only in one place shows nothing about the others.
    """
    codes = {
        name: columns[name].codes + 1
        for name, width in widths.items()
        if name in texts and name in columns and width > _REFERENCE_BYTES and columns[name].longest < longest
    }
    rows = len(next(iter(columns.values())))
    return tuple(
        RepeatedColumns(
            {name: texts[name] for name in one.names},
            one.combinations,
            tuple(key for key in one.keys if not by_page or changes(codes[key]).sum() >= REPEATS * one.combinations),
        )
        for one in repeated_together(codes, rows)
    )


def equal_columns(
    columns: Mapping[str, ReadColumn], texts: Iterable[str], widths: Mapping[str, float], longest: int
) -> tuple[EqualColumns, ...]:
    """The pairs of texts that are the same in nearly all rows and do not just repeat. Parameters as for `row_bytes`."""
    wide = [n for n in texts if n in columns and widths[n] >= WORTH_MOVING and pa.types.is_string(columns[n].type)]
    varied = [name for name in wide if len(columns[name].distinct) * REPEATS > len(columns[name])]
    found = []
    for (name, column), (other, copy) in itertools.combinations([(name, columns[name]) for name in varied], 2):
        # Texts that were cut off may differ in what was not read.
        whole = pc.less(pc.utf8_length(copy.values), longest)
        same = pc.sum(pc.and_(pc.equal(column.values, copy.values), whole)).as_py() or 0
        if same >= ENOUGH and same >= _SAME_SHARE * max(column.filled, copy.filled):
            found.append(EqualColumns(other, name, same / len(copy)))
    return tuple(found)


_REFERENCE_BYTES: Final = 4
"""What takes no more is as short as what could stand for it."""
_HEADER_BYTES: Final = 1
"""Of a short text in PostgreSQL and SQLite."""


def width_of(column: ReadColumn) -> float:
    """The mean bytes of its values as read, nulls included."""
    if pa.types.is_primitive(column.type):
        return float(column.filled * column.type.bit_width / 8) / len(column)
    lengths = int((pc.binary_length(column.texts).to_numpy() * column.rows).sum())
    return float(lengths + _HEADER_BYTES * column.filled) / len(column)


_PACKED: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 6}
"""Bytes that a whole number needs to those it takes, in SQLite: 0 and 1 take none, the largest ones 8."""


def packed_widths(columns: Mapping[str, ReadColumn]) -> dict[str, float]:
    """The mean bytes of whole numbers, by column, where they take only what they need, nulls included."""
    return {name: _packed_width(column) for name, column in columns.items() if pa.types.is_integer(column.type)}


def _packed_width(column: ReadColumn) -> float:
    values = column.values.drop_null().to_numpy().astype(np.float64)
    widths = np.full(len(values), 8.0)
    for needed in sorted(_PACKED, reverse=True):
        widths[(values >= -(2.0 ** (8 * needed - 1))) & (values < 2.0 ** (8 * needed - 1))] = _PACKED[needed]
    widths[(values == 0) | (values == 1)] = 0
    return float(widths.sum()) / len(column)


def is_float(data_type: str) -> bool:
    """Whether the engine's type name is a floating-point type."""
    return data_type.upper().split("(")[0].split(" ")[0] in {"FLOAT", "DOUBLE", "REAL", "FLOAT4", "FLOAT8", "FLOAT64"}


def some_values(column: ReadColumn) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE distinct values as strings, sorted: mostly the same ones on the next day."""
    if pa.types.is_floating(column.type):
        # Only these are made strings, which takes longer than all else that is done with numbers.
        return tuple(sorted(_sampled_numbers(column.distinct).cast(pa.string()).to_pylist()))
    texts = column.texts if pa.types.is_string(column.type) else pc.unique(column.texts)
    # Many tables of a target contain the same values, and the profile keeps the samples of all of them.
    return tuple(sorted({sys.intern(text[:TEXT_KEPT]) for text in _sampled(texts)}))


def some_texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Up to SAMPLE_SIZE of the distinct strings, sorted: mostly the same ones if a few strings are others.

    Includes the first and the last, because what stands for no value, such as `-`, often sorts there.
    """
    return _sampled(pa.array(list(texts), pa.string()))


def _sampled(texts: pa.StringArray) -> tuple[str, ...]:
    if len(texts) <= SAMPLE_SIZE:
        return tuple(sorted(texts.to_pylist()))
    ends = pc.min_max(texts).as_py()
    return (ends["min"], *sample(texts, SAMPLE_SIZE - 2, (ends["min"], ends["max"])), ends["max"])


def _sampled_numbers(values: pa.Array) -> pa.Array:
    """Those with the lowest hashes, the lowest, and the highest one."""
    if len(values) <= SAMPLE_SIZE:
        return values
    numbers = values.to_numpy()
    chosen = np.zeros(len(numbers), np.bool_)
    by_hash = np.argpartition(mixed(numbers.astype(np.float64).view(np.uint64)), SAMPLE_SIZE - 3)
    chosen[by_hash[: SAMPLE_SIZE - 2]] = True
    chosen[[numbers.argmin(), numbers.argmax()]] = True
    return pa.array(numbers[chosen])


_SAME_ROWS: Final = 20
_SAME_SHARE: Final = 0.95
_ROUNDED: Final = 1e-3
"""How far a converted number may be off, as a share of the range."""


def also_in(key: str, number_ratio: Ratio | None, column: ReadColumn, numbers: Mapping[str, ReadColumn]) -> str:
    """The column of numbers that holds what the texts say; empty if none. If they are called raw, in any unit: by one
    factor and one offset for all rows.
    """
    if number_ratio is None or number_ratio.value < _SAME_SHARE:
        return ""
    said = _floats(column)
    for name, other in numbers.items():
        known = _floats(other)
        both = np.isfinite(said) & np.isfinite(known)
        if both.sum() < max(_SAME_ROWS, _SAME_SHARE * np.isfinite(said).sum()):
            continue
        x, y = said[both], known[both]
        if np.ptp(x) > 0 and np.ptp(y) > 0:
            factor, offset = np.polyfit(x, y, 1) if "raw" in words_of(key) else (1.0, 0.0)
            if np.abs(factor * x + offset - y).max() <= _ROUNDED * np.ptp(y):
                return name
    return ""


def same_tag(key: str, field: ReadColumn, tags: Mapping[str, ReadColumn]) -> str:
    """The tag that has the same value as the field, as text or as a number, in every row read; empty if there is none.
    A tag without a value is absent, so the field is then absent, too, or empty, or 0. The tag with the same name comes
    first.
    """
    own = [key] if key in tags else []
    # The field may also be empty.
    alike = [name for name, tag in tags.items() if name != key and 0 <= len(field.distinct) - len(tag.distinct) <= 1]
    return next((name for name in own + alike if _is_same(field, tags[name])), "")


def _is_same(field: ReadColumn, tag: ReadColumn) -> bool:
    if not (field.known & tag.known).any():
        return False
    # -1, the last one, for none.
    (of_field, of_tag) = ([*map(_plain, column.texts.to_pylist()), None] for column in (field, tag))
    width = len(of_tag)
    pairs = np.unique(field.codes.astype(np.int64) % len(of_field) * width + tag.codes % width)
    return all(
        of_field[a] == of_tag[b] or (of_tag[b] is None and of_field[a] in _EMPTY)
        for a, b in (divmod(pair, width) for pair in pairs.tolist())
    )


_EMPTY: Final = ("", 0.0)


def as_number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return np.nan


def _plain(text: str) -> str | float:
    return text if math.isnan(number := as_number(text)) else number


def _floats(column: ReadColumn) -> npt.NDArray[np.float64]:
    """NaN for what is no number."""
    is_number = pc.match_substring_regex(column.texts, NUMBER)
    trimmed = pc.utf8_trim_whitespace(pc.if_else(is_number, column.texts, None))
    of_values = trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False)
    found: npt.NDArray[np.float64] = np.append(of_values, np.nan)[column.codes]
    return found


def numbers_by(number_ratio: Ratio | None, column: ReadColumn, tags: Mapping[str, ReadColumn]) -> NumbersBy | None:
    """The tag that separates the numbers in a text field from its texts."""
    if number_ratio is None or not 0.0 < number_ratio.value < 1.0 or len(tags) < 2:
        return None
    is_number = pc.match_substring_regex(column.texts, NUMBER).to_numpy(zero_copy_only=False)
    of_rows = np.append(is_number, False)[column.codes]
    found = split_by({key: tag.codes for key, tag in tags.items()}, of_rows, column.known)
    if found is None:
        return None
    of_code = dict(enumerate(tags[found.tag].texts.to_pylist()))
    return NumbersBy(
        found.tag,
        tuple(sorted(of_code[code][:TEXT_KEPT] for code in found.numbers)),
        tuple(sorted(of_code[code][:TEXT_KEPT] for code in found.others)),
    )


def _whole_ratio(column: ReadColumn) -> float | None:
    """The share of values that are integers; None without values."""
    if not column.filled:
        return None
    if not pa.types.is_floating(column.type):
        return 1.0 if pa.types.is_integer(column.type) else None
    values = column.distinct.to_numpy(zero_copy_only=False)
    is_whole = values == np.floor(values)
    # The rows are only counted where some values are whole, and others are not.
    return int(column.rows[is_whole].sum()) / column.filled if is_whole.any() else 0.0
