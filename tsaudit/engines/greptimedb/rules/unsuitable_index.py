"""STO007."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import is_text
from tsaudit.analysis.significance import REPEATS
from tsaudit.engines.greptimedb.tables import DESIGN, LOW_CARDINALITY, has_given_columns, indexes_on, primary_key
from tsaudit.model.change import AddIndex, Change, DropIndex
from tsaudit.model.columns import Field, Tag
from tsaudit.model.figures import Count
from tsaudit.model.finding import Currency, Evidence, Finding, Impact, Limit
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import count, listed, number

_FEW: Final = 100
"""Maximum number of distinct values at which nearly all of them are in each block, so that none can be skipped."""
_WORD: Final = 1.5
"""Maximum mean number of words in values that are single words."""
_SENTENCE: Final = 4
"""Minimum mean number of words in text that is searched for words."""
_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""


@rule(
    code="STO007",
    title="An index does not fit the values of its column",
    costs={Currency.BYTES},
    guidelines=("A9", "E5", "E6", "E7"),
    follows_from={"TAG002": Reach.SUBJECT},
    requires={"indexes", "tag_values", "field_values"},
    uses={"options", "storage"},
    thresholds=(Threshold("max_low_values", LOW_CARDINALITY, "distinct values", DESIGN),),
)
def unsuitable_index(case: Case) -> Iterator[Finding]:
    """Inverted indexes on columns with many values, skipping indexes on columns with few, IDs without an index, and
    full-text indexes on anything but text.

    According to the vendor, columns with up to `max_low_values` distinct values have low cardinality. A skipping index
    is reported only at 100 or fewer, because in between it still skips some blocks. For fields, only the values in the
    rows read are known: there are assumed to be few if there are at least ten rows for each, and the number in all rows
    is estimated as if all values were equally frequent, which gives a minimum.

    Log lines without a full-text index are recognized by their format and need four words on average. Conversely, a
    full-text index is reported on columns whose values are single words. Addresses, documents, and texts in scripts
    without spaces between words do not count as single words.

    An inverted index costs bytes: its share of the table's index bytes, as `information_schema.region_statistics`
    reports them, if all indexes were equally large. That is less than it takes if its column has the most values. A
    skipping index that skips nothing is small, so it is a note. So are a text column of IDs without any index, in a
    table with 100,000 rows, and log lines without a full-text index: only the queries show whether an index is needed.
    Tables that the server creates itself, for traces and metrics, have built-in indexes and are left out.

    ## Why it matters

    An inverted index lists the rows of every value. For IDs, it grows as large as the column and takes memory while it
    is built. A skipping index only records which blocks lack a value: if every block contains all values, it skips
    none. Searching log text for a word reads every row unless the words are indexed; on a column of single words, the
    same index takes a tenth of the data or more and does nothing that equality does not.

    ## Example

    `request_id STRING INVERTED INDEX`: millions of values with one row each. `http_method STRING SKIPPING INDEX`: every
    block has a GET.

    ## Fix

    Use an inverted index for few values that queries filter by, a skipping index for many values looked up by equality,
    a
    full-text index for words of long texts, and no index otherwise.

    ## References

    - When to use which index:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Full-text index: https://docs.greptime.com/user-guide/manage-data/data-index/#full-text-index
    - Indexes and their cost: https://docs.greptime.com/user-guide/manage-data/data-index/
    """
    for measurement in case.measurements:
        if measurement.indexes is None or has_given_columns(measurement):
            continue
        columns: list[Tag | Field] = [*measurement.tags, *measurement.fields]
        for column in columns:
            if misfit := _misfit(case, measurement, column) or _of_words(measurement, column):
                yield _finding(case, measurement, column, misfit)


@dataclass(frozen=True, slots=True)
class _Misfit:
    kind: str
    """Kind of the index; empty if there is no index."""
    better: str
    why: str
    limit: Limit | None
    values: int
    read: str
    """Which values were counted, in words; empty for all."""


def _values(column: Tag | Field) -> Count | None:
    return column.values if isinstance(column, Tag) else column.distinct


def _misfit(case: Case, measurement: Measurement, column: Tag | Field) -> _Misfit | None:
    values = _values(column)
    if values is None:
        return None
    kinds = indexes_on(measurement, column.key)
    low = case.limit("max_low_values", measurement)
    in_all, how = _in_all(measurement, column, values)
    among = "" if isinstance(column, Tag) else " among the rows read"
    if "inverted" in kinds and in_all > low.value:
        return _Misfit("inverted", "skipping", "an inverted index lists the rows of each", low, in_all, how or among)
    if "skipping" in kinds and values.value <= _FEW and _are_all(measurement, column, values):
        why = "each block of rows contains nearly all of them, so none is skipped"
        return _Misfit("skipping", "inverted", why, None, values.value, among)
    if not kinds and isinstance(column, Field) and _is_large_id(measurement, column):
        return _Misfit("", "skipping", "a search for one reads every block", low, values.value, among)
    return None


def _of_words(measurement: Measurement, column: Tag | Field) -> _Misfit | None:
    from tsaudit.analysis.shapes import shapes

    values, sample = _values(column), column.sample
    if isinstance(column, Tag) or values is None or not sample or not any(map(is_text, column.types)):
        return None
    kinds, look, words = indexes_on(measurement, column.key), shapes.classify(sample).kind, _words(sample)
    if look == "log_text" and words >= _SENTENCE and "fulltext" not in kinds:
        why = "these are log lines, and searching for a word reads all rows"
        return _Misfit("", "fulltext", why, None, values.value, " among the rows read")
    is_text_kind = look in shapes.TEXT_KINDS - {"iso_time"} or _UNSPACED.search("".join(sample))
    if "fulltext" in kinds and words < _WORD and not is_text_kind:
        better = "inverted" if values.value <= LOW_CARDINALITY else "skipping"
        return _Misfit("fulltext", better, "they are single words", None, values.value, " among the rows read")
    return None


def _words(sample: Sequence[str]) -> float:
    """Mean number of words, separated by spaces."""
    return mean(len(value.split()) for value in sample)


def _in_all(measurement: Measurement, column: Tag | Field, values: Count) -> tuple[int, str]:
    """The number of values in all rows, and how it was determined: of a field, only values read are known."""
    from tsaudit.analysis.significance import kinds_in_all

    read = measurement.row_patterns.rows if measurement.row_patterns else 0
    rows = measurement.rows.value if measurement.rows else 0
    if isinstance(column, Tag) or rows <= read or not read:
        return values.value, ""
    return round(kinds_in_all(read, values.value, rows)), f" in all rows, estimated from {number(read)} of them"


def _impact(case: Case, measurement: Measurement, misfit: _Misfit) -> Impact | None:
    """The cost of an index that is too large; None if the size of all indexes is not known."""
    each = costs.index_share(measurement)
    if misfit.kind != "inverted" or each is None:
        return None
    how = "index bytes of the table by region_statistics, divided equally among its indexes"
    return costs.of_bytes(case, measurement, each, how=how)


def _are_all(measurement: Measurement, column: Tag | Field, values: Count) -> bool:
    """Whether nearly all values are known: for tags, they were listed; for fields, read."""
    read = measurement.row_patterns.rows if measurement.row_patterns else 0
    return not values.is_lower_bound and (isinstance(column, Tag) or read >= values.value * REPEATS)


def _is_large_id(measurement: Measurement, field: Field) -> bool:
    from tsaudit.analysis.shapes import shapes

    rows = measurement.rows.value if measurement.rows else 0
    return (
        rows >= costs.SMALL_ROWS
        and any(map(is_text, field.types))
        and field.key not in primary_key(measurement)
        and shapes.classify(field.sample).kind in shapes.IDENTIFIER_KINDS
    )


def _finding(case: Case, measurement: Measurement, column: Tag | Field, misfit: _Misfit) -> Finding:
    values = _values(column)
    assert values is not None
    has = f"{misfit.kind} index" if misfit.kind else "no index"
    return Finding(
        subject=subject_of(measurement, column.key),
        impact=_impact(case, measurement, misfit),
        message=f"{column.key} has {number(misfit.values)} distinct values{misfit.read} and {_article(has)}: "
        f"{misfit.why}.",
        changes=tuple(_changes(measurement, column.key, misfit)),
        observed=misfit.values,
        limit=misfit.limit,
        unit="distinct values",
        main_contributor=column.key,
        samples=column.sample[:3],
        evidence=(
            Evidence("distinct values", count(values)),
            Evidence("indexes", listed(sorted(indexes_on(measurement, column.key)))),
        ),
        facts=("indexes", "tag_values", "field_values", "storage"),
        source=values.source,
    )


def _changes(measurement: Measurement, column: str, misfit: _Misfit) -> Iterator[Change]:
    now = indexes_on(measurement, column)
    if misfit.better not in now:
        yield AddIndex(subject_of(measurement), (column,), misfit.better)
    if misfit.kind:
        yield DropIndex(subject_of(measurement), now[misfit.kind].name, (column,), misfit.kind)


def _article(words: str) -> str:
    return words if words.startswith("no ") else f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
