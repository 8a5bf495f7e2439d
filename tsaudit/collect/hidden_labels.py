"""Finds columns that contain label sets: the tags found do not distinguish their series."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.values.label_sets import Labels, label_sets
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft, Found
from tsaudit.collect.figures import is_float
from tsaudit.engines.sql import roles
from tsaudit.engines.sql import types as column_types
from tsaudit.model.profile import Count, How, Reason, Role
from tsaudit.text import many

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS: Final = 10_000
"""Enough rows to see whether whole sets repeat."""
_KEYS_NAMED: Final = 3
_INCOMPARABLE: Final = frozenset({"json"})
"""PostgreSQL cannot compare values of this type for equality, unlike jsonb: they cannot be a tag."""


@dataclass(frozen=True, slots=True)
class FewestSeries(Found):
    """A number of series that is a lower bound."""

    series: Count


def note_hidden_labels(asker: Asker, draft: Draft) -> Draft:
    """Leave a gap if a column contains label sets: the series from the tags are then a lower bound.

    Only for tables whose roles are inferred here: an engine that declares its tags counts by these. The rows alone do
    not show whether a column of sets that never repeat contains labels: it is assumed to if not all rows were read and
    the table also contains numeric measurements.
    """
    if draft.sample is None or draft.series is None or not asker.engine.infers_roles:
        return draft
    whole = draft.excerpt is None and draft.sample.num_rows < asker.target.budget.max_rows
    measured = any(is_float(kind) or kind.upper().startswith(("NUMERIC", "DECIMAL")) for kind in _types(draft))
    found: dict[str, Labels] = {}
    for field in draft.fields:
        if field.role_reason == roles.CONFIGURED or not _may_hold_labels(field.types[0]):
            continue
        labels = label_sets(_values(draft.read(Role.FIELD, field.key)))
        if labels and (labels.recurring or (measured and not whole)):
            found[field.key] = labels
    for column, labels in found.items():
        asker.gap("series_listing", Reason.UNSUPPORTED, _detail(draft, column, labels), draft.database, draft.name)
    if not found:
        return draft
    words = f"at least: label sets in {', '.join(found)} were not split into tags"
    scope = "; ".join(filter(None, (words, draft.series.source.scope)))
    source = dataclasses.replace(draft.series.source, how=How.ESTIMATE, scope=scope)
    return draft.knowing(FewestSeries(dataclasses.replace(draft.series, source=source)))


def _types(draft: Draft) -> list[str]:
    return [field.types[0] for field in draft.fields]


def _may_hold_labels(data_type: str) -> bool:
    kind = data_type.upper()
    is_packed = kind.startswith(("MAP", "STRUCT", "JSON", "VARIANT")) or kind.endswith("HSTORE")
    return is_packed or column_types.is_list(data_type) or column_types.is_text(data_type) or not data_type


def _values(column: pa.ChunkedArray) -> list[object]:
    """Some of the non-null values."""
    values: list[object] = column.slice(0, _ROWS).drop_null().to_pylist()
    return values


def _detail(draft: Draft, column: str, labels: Labels) -> str:
    keys = ", ".join(labels.keys[:_KEYS_NAMED]) + (", ..." if len(labels.keys) > _KEYS_NAMED else "")
    table = draft.name if draft.name.isidentifier() else json.dumps(draft.name, ensure_ascii=False)
    ways = [f"`columns: {{{table}: {{fields: [{column}]}}}}` if it does not identify a source"]
    if next(one.data_type for one in draft.columns if one.name == column).lower() not in _INCOMPARABLE:
        ways.insert(0, f"`columns: {{{table}: {{tags: [{column}]}}}}` to count each set as a value of one tag")
    return (
        f"column {column} contains label sets that were not split into tags: {many(labels.sets, 'distinct set')} of "
        f"{keys} in {many(labels.rows, 'row')} read. There may be more series than were counted; in tsaudit.yaml, set "
        f"{', or '.join(ways)}"
    )
