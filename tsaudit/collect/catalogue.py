"""The lowest rungs: databases, their measurements, columns, retention and counts, from catalogue and index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tsaudit.collect import excerpts, families, policies, reuse
from tsaudit.collect.answers import Row, each_of, rows_about, rows_of
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.collect.measure_names import measure_names, name_in_catalogue
from tsaudit.collect.policies import Audited
from tsaudit.collect.storage import STORAGE_FACTS, describe_storage
from tsaudit.collect.unused_settings import no_such_database, takes
from tsaudit.engines.engine import Ladder
from tsaudit.engines.sql.roles import Column, TimeColumn, TimeKind
from tsaudit.model.facts import FACTS
from tsaudit.model.profile import (
    FOREVER,
    Count,
    Database,
    DatabaseStorage,
    DeclaredColumn,
    Field,
    How,
    Measurement,
    Reason,
    Retention,
    Role,
    Storage,
    StoredQuery,
    Tag,
)

_FROM_CATALOGUE: Final = frozenset({Ladder.COLUMNS, Ladder.MEASURE_NAMES})
"""The ladders on which the catalogue lists columns, whatever they are for."""


@dataclass(frozen=True, slots=True)
class Databases:
    """The databases to audit, and those that the server lists."""

    audited: Mapping[str, Audited]
    """By name."""
    listed: frozenset[str] | None
    """None where the server did not list any."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those to audit."""
        return tuple(self.audited)


def databases(asker: Asker, asked: frozenset[str]) -> Databases:
    """The configured databases, else all that the server lists, with their retention policies where it has any."""
    rows = rows_of(asker, "databases")
    listed = None if rows is None else frozenset(row["database"] for row in rows)
    configured = asker.target.databases
    if listed is None and not configured:
        gap = asker.gaps[-1]
        asker.gap_in_all(asked, gap.reason, gap.detail)
        return Databases({}, None)
    if not configured and not listed:
        reason = Reason.DENIED if asker.target.username else Reason.FAILED
        detail = "no database to audit: there is none, or none that the user may read"
        asker.gap("databases", reason, detail)
        asker.gap_in_all(asked, reason, detail)
    # Also those that are not listed: asked for their measurements, the server says whether it denies or has none.
    wanted = sorted(configured or listed or ())
    if "policies" in asked:
        return Databases(policies.to_audit(asker, wanted, listed), listed)
    return Databases({name: Audited(name) for name in wanted}, listed)


def stored_queries(asker: Asker) -> tuple[StoredQuery, ...] | None:
    """The enabled queries that the service runs by itself; None when a gap was left."""
    rows = rows_of(asker, "scheduled_queries")
    if rows is None:
        return None
    enabled = [row for row in rows if row["enabled"]]
    read = [row for row in enabled if row["statement"] is not None]
    if len(read) < len(enabled):
        detail = f"{len(enabled) - len(read)} of {len(enabled)} scheduled queries not looked at: each takes a call"
        asker.gap("scheduled_queries", Reason.OVER_BUDGET, detail)
    figures = ("statement", "bytes_scanned", "spatial_coverage", "temporal_range_s")
    found = [StoredQuery(row["query"], *(row[figure] for figure in figures)) for row in read]
    return tuple(sorted(found, key=lambda query: query.name))


def target_storage(asker: Asker) -> Storage | None:
    """What all databases take together; None when a gap was left."""
    rows = rows_of(asker, "target_storage")
    return Storage(**rows[0]) if rows else None


def outline(
    asker: Asker,
    name: str,
    known: Databases,
    asked: frozenset[str],
    previous: Mapping[tuple[str, str], Measurement],
) -> tuple[Database, list[Draft], list[str] | None]:
    """One database with its own figures, its measurements as far as catalogue and index know them, and the names of all
    its measurements, also those that are not to be audited; None in place of names that were not listed.

    `known`: what `databases` found. `previous`: (database, name) to the measurements of the profile before.
    """
    audited, ladder = known.audited[name], asker.engine.ladder
    if audited.unknown is not None:
        asker.gap_in_all(asked, audited.unknown.reason, audited.unknown.detail, name)
        return Database(name), [], None
    before = len(asker.gaps)
    found = rows_of(asker, "measurements", name)
    names = [row["measurement"] for row in found or ()]
    if found == [] and name not in (known.listed or ()):
        asker.gap_in_all(asked, Reason.FAILED, no_such_database(asker.target, name, known.listed), name)
        return Database(name), [], None
    chosen, left_out = _chosen(asker, names)
    described = None if found is None else _described(asker, name, chosen)
    retention = _retention(asker, name) if "retention" in asked else None
    counted = "database_series" in asked and not audited.policy_of
    series, with_fields = _database_series(asker, name) if counted else (None, None)
    storage = _storage(asker, name, asked)
    declared = _declared(asker, name) if "declared_schema" in asked else None
    database = Database(
        name,
        series=series,
        policy_of=audited.policy_of,
        retention=retention,
        series_with_fields=with_fields,
        storage=storage,
        declared=declared,
    )
    if found is None or described is None:
        gap = asker.gaps[before]
        asker.gap_in_all(asked, gap.reason, gap.detail, name)
        return database, [], None
    if left_out:
        detail = f"{left_out} of {left_out + len(chosen)} measurements not looked at; raise budget.max_measurements"
        asker.gap("measurements", Reason.OVER_BUDGET, detail, name)
        asker.gap_in_all(asked - {"measurements"}, Reason.OVER_BUDGET, detail, name)
    as_of = reuse.as_of(asker.window)
    estimates = _estimates(asker, name, chosen) if "row_estimate" in asked else {}
    # A version that knows more facts measures anew: what the profile before does not hold would look like a pass.
    settings = [sorted(asked), sorted(FACTS), str(asker.target.window)]
    if "column_statistics" in asked:
        settings.append(str(asker.target.budget.max_scan_rows))
    drafts = []
    for measurement in chosen:
        draft = described.get(measurement, Draft(name, measurement, ladder))
        if draft.is_indexed:
            draft.time = TimeColumn("time", TimeKind.NANOSECONDS)
        draft.policies = tuple(r.policy for r in retention or ())
        draft.previous = previous.get((name, measurement))
        if (rows_total := estimates.get(measurement, {}).get("rows")) is not None:
            draft.rows_total = Count(rows_total, asker.source("row_estimate", How.ESTIMATE))
        chosen_columns = asker.target.columns.get(measurement)
        draft.path, draft.is_divided = audited.path or asker.path_of("field_types", name), audited.is_divided
        state = series.value if series else with_fields.value if with_fields else _state(estimates.get(measurement))
        if audited.is_divided:
            # A series that comes to a further policy changes nothing that is cheap to ask for.
            state = None
        draft.fingerprint = _fingerprint(draft, state, [*settings, repr(chosen_columns)])
        draft.fingerprint_as_of = as_of
        if ladder in _FROM_CATALOGUE and not draft.columns and not draft.unreadable:
            # That is measured, and there is nothing more to ask.
            draft.is_empty = True
            draft.rows = draft.series = Count(0, asker.source("columns"))
        drafts.append(draft)
    if "measure_names" in asked:
        by_measurement = each_of(asker, "measure_names", name, chosen) or {}
        for draft in drafts:
            if (rows := by_measurement.get(draft.name)) is not None:
                name_in_catalogue(asker, draft, measure_names(rows))
    if ladder is Ladder.DOCUMENTS:
        families.choose(asker, drafts)
    singly = [draft.name for draft in drafts if not draft.stood_for]
    answers = {f: rows_about(asker, f, name, singly) for f in STORAGE_FACTS if f in asked}
    for fact, rows in answers.items():
        with asker.understanding(fact, name):
            describe_storage(drafts, {fact: rows})
    if answers.get("storage") is not None:
        _note_unknown_sizes(asker, drafts)
    families.note_left_out(asker, drafts, asked)
    if "column_statistics" in asked:
        _look_up_statistics(asker, drafts)
    return database, drafts, names


def _note_unknown_sizes(asker: Asker, drafts: list[Draft]) -> None:
    """Leave a gap for each measurement whose size the engine does not report, such as a table that somebody locks."""
    for draft in drafts:
        if not draft.stood_for and (draft.storage is None or draft.storage.data_bytes is None):
            asker.gap("storage", Reason.FAILED, "the engine does not report its size", draft.database, draft.name)


def _chosen(asker: Asker, names: list[str]) -> tuple[list[str], int]:
    """The measurements to look at, and how many more the budget leaves out."""
    chosen = sorted(name for name in names if takes(asker.target, name))
    most = asker.target.budget.max_measurements
    return chosen[:most], len(chosen[most:])


def _described(asker: Asker, database: str, chosen: list[str]) -> dict[str, Draft] | None:
    """Measurements with what the catalogue says of their columns; None when it was not told."""
    ladder = asker.engine.ladder
    drafts: dict[str, Draft] = {}

    def draft(row: Row) -> Draft:
        return drafts.setdefault(row["measurement"], Draft(database, row["measurement"], ladder))

    if ladder is Ladder.DOCUMENTS:
        return drafts
    if ladder in _FROM_CATALOGUE:
        described = each_of(asker, "columns", database, chosen)
        for measurement, rows in (described or {}).items():
            if rows is None:
                draft({"measurement": measurement}).unreadable = asker.gap_in("columns", database, measurement)
            for row in rows or ():
                said = row.get("role")
                role, reason = Role(said) if said else None, row.get("reason") or ""
                draft(row).columns += (Column(row["column"], row["data_type"], row["key_position"], role, reason),)
        return None if described is None else drafts
    tags, fields = rows_of(asker, "tag_keys", database), rows_of(asker, "field_types", database)
    if tags is None or fields is None:
        return None
    for row in tags:
        draft(row).tags += (Tag(row["tag"], "string"),)
    types: dict[tuple[str, str], set[str]] = {}
    for row in fields:
        types.setdefault((row["measurement"], row["field"]), set()).add(row["data_type"])
    for (measurement, key), kinds in types.items():
        draft({"measurement": measurement}).fields += (Field(key, tuple(sorted(kinds))),)
    return drafts


def _retention(asker: Asker, database: str) -> tuple[Retention, ...] | None:
    rows = rows_of(asker, "retention", database)
    if rows is None:
        return None
    return tuple(
        Retention(row["policy"], row["duration_s"] or FOREVER, row["partition_s"] or None, row["default"])
        for row in sorted(rows, key=lambda row: str(row["policy"]))
    )


def _declared(asker: Asker, database: str) -> tuple[DeclaredColumn, ...] | None:
    rows = rows_of(asker, "declared_schema", database)
    if not rows:
        return None
    columns = [row for row in rows if row["measurement"] is not None]
    found = (DeclaredColumn(r["measurement"], r["column"], r["type"], r["data_type"]) for r in columns)
    return tuple(sorted(found, key=lambda one: (one.measurement, one.column)))


def _database_series(asker: Asker, database: str) -> tuple[Count | None, Count | None]:
    """Series as tag sets, and as tag sets with their fields: an engine counts one or the other."""
    rows = rows_of(asker, "database_series", database)
    if not rows:
        return None, None
    count = Count(rows[0]["series"], asker.source("database_series", database=database))
    return (None, count) if rows[0]["counts_fields"] else (count, None)


def _estimates(asker: Asker, database: str, chosen: list[str]) -> dict[str, Row]:
    rows = rows_about(asker, "row_estimate", database, chosen) or ()
    return {row["measurement"]: row for row in rows}


def _state(estimate: Row | None) -> int | str | None:
    """What is another one as soon as rows were written; None when nothing tells."""
    return None if estimate is None else estimate.get("state", estimate["rows"])


def _look_up_statistics(asker: Asker, drafts: list[Draft]) -> None:
    """What the engine knows of the columns of tables that may be too big to be read."""
    most = asker.target.budget.max_scan_rows
    big = [draft for draft in drafts if draft.estimated_rows is None or draft.estimated_rows > most]
    if big and most:
        names = [draft.name for draft in big]
        found = rows_of(asker, "column_statistics", big[0].database, measurements=names)
        for draft in big:
            draft.statistics = {}
        with asker.understanding("column_statistics", big[0].database):
            excerpts.look_up(big, found or ())


def _storage(asker: Asker, database: str, asked: frozenset[str]) -> DatabaseStorage | None:
    if "database_bytes" in asked:
        rows = rows_of(asker, "database_bytes", database)
        return DatabaseStorage(**rows[0], disk_used_bytes=None, disk_bytes=None) if rows else None
    if "database_storage" not in asked:
        return None
    rows = rows_of(asker, "database_storage", database)
    if not rows:
        return None
    found = DatabaseStorage(**rows[0])
    if found.disk_bytes is None:
        asker.gap("database_storage", Reason.UNSUPPORTED, "the server does not report its disk", database)
    return found


def _fingerprint(draft: Draft, state: int | str | None, settings: list[Any]) -> str:
    """The measurement's cheap state in 16 hex digits; empty when nothing cheap tells whether it has moved.

    `settings` are those under which its expensive facts are measured: when they change, old figures do not do.
    """
    if state is None:
        return ""
    columns = [[c.name, c.data_type, c.key_position] for c in draft.columns]
    tags, fields = sorted(t.key for t in draft.tags), sorted([f.key, *f.types] for f in draft.fields)
    text = json.dumps([state, columns, tags, fields, draft.policies, settings])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
