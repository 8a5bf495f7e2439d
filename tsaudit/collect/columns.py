"""Finds out what each column of a SQL table is for, from the catalogue and a sample of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft, Found
from tsaudit.collect.excerpts import measure_extent
from tsaudit.engines.sql import roles
from tsaudit.engines.sql import types as column_types
from tsaudit.engines.sql.roles import TimeColumn
from tsaudit.model.facts.given import OfRowSample, Part
from tsaudit.model.profile import Field, Reason, Role, Tag, Window

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.config.settings import Columns

_PEEK_ROWS: Final = 200
_LONGEST: Final = 1000
"""Characters read of a text: enough to tell what it is, whatever documents a column holds."""
_ROLE_ROWS: Final = 1000
"""Rows enough to tell names from prose and numbers."""
_NUMBER: Final = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True, slots=True)
class Roles(Found):
    """What the columns are for."""

    time: TimeColumn | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class RowsRead(Found):
    """The newest rows."""

    sample: pa.Table


def assign_roles(asker: Asker, draft: Draft, sample_wanted: bool) -> Draft:
    """Find out time column, tags and fields; keep the rows read for it."""
    if not draft.columns:
        return draft
    chosen = _chosen(asker, draft)
    typed = asker.engine.enforces_types
    candidates = roles.time_candidates(draft.columns, chosen, typed=typed)
    values = _peek(asker, draft, [c.name for c in candidates]) if candidates else {}
    time = roles.time_column(draft.columns, values, chosen, typed=typed)
    draft = measure_extent(asker, draft.knowing(Roles(time, draft.tags, draft.fields)))
    if not draft.unreadable:
        most = asker.target.budget.max_rows
        draft = read_sample(asker, draft, most if sample_wanted else min(most, _ROLE_ROWS))
    draft = draft.knowing(_assigned(asker, draft, time, _values(draft)))
    guessed = [t.key for t in draft.tags if t.role_reason.endswith(roles.UNJUDGED)]
    if guessed and "row_sample" not in draft.statements:
        reason = draft.unreadable.reason if draft.unreadable else asker.why(("row_sample",), draft.database, draft.name)
        detail = f"without rows to judge by, {', '.join(guessed)} may be tags or fields"
        asker.gap("columns", reason, detail, draft.database, draft.name)
    return draft


def roles_without_rows(asker: Asker, draft: Draft) -> Draft:
    """The same by the catalogue alone, reading nothing."""
    if not draft.columns:
        return draft
    typed = asker.engine.enforces_types
    time = roles.time_column(draft.columns, {}, asker.target.columns.get(draft.name), typed=typed)
    return draft.knowing(_assigned(asker, draft, time, {}))


def _assigned(asker: Asker, draft: Draft, time: TimeColumn | None, values: dict[str, roles.Values]) -> Roles:
    chosen = asker.target.columns.get(draft.name)
    assigned = roles.assign(draft.columns, time, values, chosen=chosen, previous=draft.previous)
    tags = [a for a in assigned if a.role is Role.TAG]
    fields = [a for a in assigned if a.role is Role.FIELD]
    return Roles(
        time,
        tuple(Tag(a.column.name, a.column.data_type, role_reason=a.reason) for a in tags),
        tuple(Field(a.column.name, (a.column.data_type,), role_reason=a.reason) for a in fields),
    )


def _chosen(asker: Asker, draft: Draft) -> Columns | None:
    """What the configuration says of the table's columns; a name that the table does not have leaves a gap."""
    chosen = asker.target.columns.get(draft.name)
    if chosen is not None:
        named = {*chosen.tags, *chosen.fields, *([chosen.time] if chosen.time else [])}
        for name in sorted(named - {c.name for c in draft.columns}):
            detail = f"tsaudit.yaml names a column {name}, which the table does not have"
            asker.gap("columns", Reason.FAILED, detail, draft.database, draft.name)
    return chosen


def _peek(asker: Asker, draft: Draft, names: list[str]) -> dict[str, list[object]]:
    """Some values of columns that may be the time, from wherever in the table is quickest."""
    values: dict[str, list[object]] = {}

    def consume(batch: pa.RecordBatch) -> None:
        for name, column in zip(names, batch.columns, strict=True):
            values.setdefault(name, []).extend(column.to_pylist())

    asker.ask("row_sample", consume, sampled(draft, asker.window, names, _PEEK_ROWS))
    return values


def sampled(draft: Draft, window: Window, names: list[str], limit: int, part: Part | None = None) -> OfRowSample:
    """What is given to read rows of some columns."""
    texts = [c.name for c in draft.columns if roles.may_be_long(c.data_type)]
    return OfRowSample(**draft.about(window), columns=names, texts=texts, longest=_LONGEST, limit=limit, excerpt=part)


def read_sample(asker: Asker, draft: Draft, limit: int) -> Draft:
    """Keep the newest rows, at most `limit`, from `draft.sampled_since` on."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    names = [c.name for c in draft.columns]
    window = Window(draft.sampled_since or asker.window.start, asker.window.end)
    part = draft.excerpt.of(limit) if draft.excerpt else None
    statement = asker.ask("row_sample", batches.append, sampled(draft, window, names, limit, part))
    if statement is None:
        return draft
    draft = draft.asked("row_sample", statement)
    return draft.knowing(RowsRead(pa.Table.from_batches(batches))) if batches else draft


def _values(draft: Draft) -> dict[str, roles.Values]:
    """What the sample says of the columns of text and of whole numbers."""
    import pyarrow.compute as pc

    found: dict[str, roles.Values] = {}
    if draft.sample is None:
        return found
    for column in draft.columns:
        if column_types.is_integer(column.data_type):
            found[column.name] = _repetition(draft, column.name)
        if not roles.is_text(column.data_type):
            continue
        values = as_text(draft.sample.column(column.name)).drop_null()
        count = len(values)
        if count:
            numbers = pc.sum(pc.match_substring_regex(values, _NUMBER)).as_py()
            length = pc.mean(pc.utf8_length(values)).as_py()
            found[column.name] = roles.Values(count, length, numbers / count)
        else:
            found[column.name] = roles.Values(0, 0.0, 0.0)
    return found


def _repetition(draft: Draft, name: str) -> roles.Values:
    """How often the numbers of a column come again: in the whole table by its statistics, else in the sample."""
    import pyarrow.compute as pc

    assert draft.sample is not None
    known = (draft.statistics or {}).get(name)
    if draft.excerpt and known and known.distinct and not known.at_least:
        count = round(draft.excerpt.rows_all * (1 - (known.null_ratio or 0.0)))
        return roles.Values(count, 0.0, 1.0, known.distinct)
    values = draft.sample.column(name).drop_null()
    return roles.Values(len(values), 0.0, 1.0, pc.count_distinct(values).as_py())


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as text; types that Arrow does not print are printed by Python."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
