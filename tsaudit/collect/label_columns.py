"""Columns of label sets: their labels become tags where the engine can read single ones; otherwise they are a gap."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.values.label_sets import Labels, label_sets, labels_of
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.collect.figures import is_float
from tsaudit.engines.labels import MOST_OPENED, can_open
from tsaudit.engines.sql import roles
from tsaudit.engines.sql import types as column_types
from tsaudit.model.profile import How, Reason, Role, Tag
from tsaudit.text import many

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.config.settings import Columns

_ROWS: Final = 10_000
"""Enough rows to see whether whole sets repeat."""
_KEYS_NAMED: Final = 3
_INCOMPARABLE: Final = frozenset({"json"})
"""PostgreSQL cannot compare values of this type for equality, unlike jsonb: they cannot be a tag."""


def open_labels(asker: Asker, draft: Draft, limit: int) -> Draft:
    """Turn the labels in columns of label sets into tags. `limit`: the maximum number of rows read.

    Only in tables that may contain series, and only where tsaudit infers the roles.
    """
    if draft.sample is None or not asker.engine.infers_roles:
        return draft
    if draft.measurement.kind is not None and not draft.measurement.kind.has_series:
        return draft
    chosen = asker.target.columns.get(draft.name)
    for name, labels in _label_columns(draft, limit).items():
        data_type = next(c.data_type for c in draft.columns if c.name == name)
        is_sure = labels.recurring_but_ids and len(labels.keys) <= MOST_OPENED and not labels.rare
        if is_sure and can_open(asker.target.engine, data_type):
            draft = _opened(draft, name, labels, chosen)
    return draft


def _opened(draft: Draft, column: str, labels: Labels, chosen: Columns | None) -> Draft:
    import pyarrow as pa

    assert draft.sample is not None
    sample, tags = draft.sample, []
    sets = [labels_of(value) or {} for value in draft.read(Role.FIELD, column).to_pylist()]
    known = set(sample.column_names)
    for key in sorted(labels.keys):
        name = f"{column}.{key}"
        if name in known or (chosen is not None and name in chosen.fields):
            continue
        tags.append(Tag(name, "text", role_reason=f"a label in {column}", label_of=column))
        sample = sample.append_column(name, pa.chunked_array([pa.array([one.get(key) for one in sets], pa.string())]))
    fields = tuple(f for f in draft.fields if f.key != column or not tags)
    opened = dataclasses.replace(draft.measurement, tags=(*draft.tags, *tags), fields=fields)
    return dataclasses.replace(draft, measurement=opened, sample=sample)


def note_unopened_labels(asker: Asker, draft: Draft) -> Draft:
    """Leave a gap if a column contains label sets that did not become tags: the series are then a lower bound.

    Only for tables whose roles are inferred here: an engine that declares its tags counts by these. The rows alone do
    not show whether a column of sets that never repeat contains labels: it is assumed to if not all rows were read and
    the table also contains numeric measurements.
    """
    if draft.sample is None or draft.measurement.series is None or not asker.engine.infers_roles:
        return draft
    found = _label_columns(draft, asker.target.budget.max_rows)
    for column, labels in found.items():
        asker.gap("series_listing", Reason.UNSUPPORTED, _detail(draft, column, labels), draft.database, draft.name)
    if not found:
        return draft
    words = f"at least: label sets in {', '.join(found)} were not split into tags"
    scope = "; ".join(filter(None, (words, draft.measurement.series.source.scope)))
    source = dataclasses.replace(draft.measurement.series.source, how=How.ESTIMATE, scope=scope)
    series = dataclasses.replace(draft.measurement.series, source=source)
    return dataclasses.replace(draft, measurement=dataclasses.replace(draft.measurement, series=series))


def _label_columns(draft: Draft, limit: int) -> dict[str, Labels]:
    """Fields that contain label sets."""
    assert draft.sample is not None
    whole = draft.excerpt is None and draft.sample.num_rows < limit
    measured = any(is_float(kind) or kind.upper().startswith(("NUMERIC", "DECIMAL")) for kind in _types(draft))
    found: dict[str, Labels] = {}
    for field in draft.fields:
        if field.role_reason == roles.CONFIGURED or not _may_hold_labels(field.types[0]):
            continue
        labels = label_sets(_values(draft.read(Role.FIELD, field.key)))
        if labels and (labels.recurring or (measured and (labels.recurring_but_ids or not whole))):
            found[field.key] = labels
    return found


def _types(draft: Draft) -> Sequence[str]:
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
