"""STO008."""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import mean
from typing import Final

from tsaudit.analysis.columns.types import is_text
from tsaudit.engines.greptimedb.tables import LOW_CARDINALITY, indexes_on, is_metric
from tsaudit.model.change import AddIndex, Change, DropIndex
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Field, Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import number, percent

_UNSPACED: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_SENTENCE: Final = 4
"""Words, on average, of text that is searched for words."""


@rule(
    code="STO008",
    title="Full-text index missing on log text, or used on short text",
    guidelines=("E7",),
    requires={"indexes", "field_values"},
    uses={"null_counts"},
)
def unsuitable_full_text_index(case: Case) -> Iterator[Finding]:
    """Text fields with log lines and no full-text index, and full-text indexes on names, states, and the like.

    Log lines are recognized by their format and need four words on average. Only the queries show whether
    anybody searches them, so the finding is only ever a note. Conversely, a full-text index is reported on columns
    whose values are single words. Addresses, documents, and texts in scripts without spaces between words do not count
    as single words.

    ## Why it matters

    Searching log text for a word reads every row unless the words are indexed. On a column that contains one word from
    a list, the same index costs a tenth of the data or more and does nothing that equality does not.

    ## Example

    `message STRING` of `raw_logs` without an index; `http_method STRING FULLTEXT INDEX`.

    ## Fix

    Index the text that is searched for words. Even better, split logs into columns when they are written.

    ## References

    - Full-text index: https://docs.greptime.com/user-guide/manage-data/data-index/#full-text-index
    - When to use which index:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        if measurement.indexes is None or is_metric(measurement):
            continue
        for field in measurement.fields:
            if any(map(is_text, field.types)) and field.sample and field.distinct is not None:
                yield from _evaluate(measurement, field)


def _evaluate(measurement: Measurement, field: Field) -> Iterator[Finding]:
    from tsaudit.analysis.shapes import shapes

    words, kinds = _words(field), indexes_on(measurement, field.key)
    look = shapes.classify(field.sample).kind
    is_log = look == "log_text" and words >= _SENTENCE
    if is_log and "fulltext" not in kinds:
        yield _finding(
            measurement,
            field,
            f"{field.key} contains log lines and has no full-text index: searching for a word reads all rows",
            AddIndex(subject_of(measurement), (field.key,), "fulltext"),
            "It is not needed where searches are fast enough without. Taken apart into columns while written (by a "
            "pipeline), logs are searched faster still.",
        )
    assert field.distinct is not None
    if (
        "fulltext" in kinds
        and words < 1.5
        and look not in shapes.TEXT_KINDS - {"iso_time"}
        and not _UNSPACED.search("".join(field.sample))
    ):
        better = "inverted" if field.distinct.value <= LOW_CARDINALITY else "skipping"
        yield _finding(
            measurement,
            field,
            f"{field.key} has a full-text index and contains single words ({number(field.distinct.value)} distinct)",
            DropIndex(subject_of(measurement), kinds["fulltext"].name, (field.key,), "fulltext"),
            f"Where queries filter by it, {'an' if better == 'inverted' else 'a'} {better} index serves.",
        )


def _words(field: Field) -> float:
    """On average, counting words separated by spaces."""
    return mean(len(value.split()) for value in field.sample)


def _finding(measurement: Measurement, field: Field, said: str, change: Change, note: str) -> Finding:
    assert field.distinct is not None
    return Finding(
        subject=subject_of(measurement, field.key),
        message=f"{said}.",
        changes=(change,),
        fix=note,
        main_contributor=field.key,
        samples=field.sample[:3],
        evidence=(
            Evidence("words on average", number(_words(field))),
            Evidence("distinct values among the rows read", number(field.distinct.value)),
            Evidence("share of nulls", percent(field.null_ratio.value) if field.null_ratio else "not measured"),
        ),
        facts=("indexes", "field_values", "null_counts"),
        source=field.distinct.source,
    )
