"""The first steps: databases, their measurements, columns, retention, and counts, from the catalog and the index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tsaudit.collect import database_figures, excerpts, families, policies, reuse
from tsaudit.collect.answers import Row, each_of, rows_about, rows_of
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.collect.measure_names import in_catalogue, measure_names
from tsaudit.collect.policies import Audited
from tsaudit.collect.storage import STORAGE_FACTS, describe_storage
from tsaudit.collect.table_statistics import ColumnStatistics
from tsaudit.collect.unused_settings import no_such_database, takes
from tsaudit.engines.engine import Ladder
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql.columns import Column, TimeColumn, TimeKind
from tsaudit.model.facts import FACTS
from tsaudit.model.facts.given import OfDatabase, OfTarget
from tsaudit.model.profile import (
    Count,
    Database,
    Field,
    Gap,
    How,
    Measurement,
    Reason,
    Role,
    TableKind,
    Tag,
    utc_now,
)

_FROM_CATALOGUE: Final = frozenset({Ladder.COLUMNS, Ladder.MEASURE_NAMES})
"""The ladders on which the catalog lists columns, whatever their role."""


_STORES_SERIES: Final = frozenset({Ladder.TAG_LISTING, Ladder.MEASURE_NAMES})
"""The ladders of engines all of whose measurements contain series."""
_TIME: Final = TimeColumn("time", TimeKind.NANOSECONDS)


@dataclass(frozen=True, slots=True)
class Databases:
    """The databases to audit, and those that the server lists."""

    audited: Mapping[str, Audited]
    """By name."""
    listed: frozenset[str] | None
    """None if the server did not list any."""

    @property
    def names(self) -> tuple[str, ...]:
        """The databases to audit."""
        return tuple(self.audited)


def databases(asker: Asker, asked: frozenset[str]) -> Databases:
    """The configured databases, or else all that the server lists, with their retention policies if it has any."""
    rows = rows_of(asker, "databases", OfTarget())
    listed = None if rows is None else frozenset(row["database"] for row in rows)
    configured = asker.target.databases
    if listed is None and not configured:
        gap = asker.gaps[-1]
        asker.gap_in_all(asked, gap.reason, gap.detail)
        return Databases({}, None)
    if not configured and not listed:
        reason = Reason.DENIED if asker.target.username else Reason.FAILED
        detail = "no database to audit: there is none, or the user cannot read any"
        asker.gap("databases", reason, detail)
        asker.gap_in_all(asked, reason, detail)
    # Also includes unlisted ones: when asked for their measurements, the server shows whether access is denied or there
    # are none.
    wanted = sorted(configured or listed or ())
    if "policies" in asked:
        return Databases(policies.to_audit(asker, wanted, listed), listed)
    return Databases({name: Audited(name) for name in wanted}, listed)


def outline(
    asker: Asker,
    name: str,
    known: Databases,
    asked: frozenset[str],
    previous: Mapping[tuple[str, str], Measurement],
) -> tuple[Database, list[Draft], list[str] | None]:
    """One database with its own figures, its measurements as known from the catalog and index, and the names of all its
    measurements, including those not in scope; None in place of names that were not listed.

    `known`: the result of `databases`. `previous`: (database, name) to the measurements of the previous profile.
    """
    audited, ladder = known.audited[name], asker.engine.ladder
    if audited.unknown is not None:
        asker.gap_in_all(asked, audited.unknown.reason, audited.unknown.detail, name)
        return Database(name), [], None
    first_gap = len(asker.gaps)
    found = rows_of(asker, "measurements", OfDatabase(database=name))
    names = [row["measurement"] for row in found or ()]
    if found == [] and name not in (known.listed or ()):
        asker.gap_in_all(asked, Reason.FAILED, no_such_database(asker.target, name, known.listed), name)
        return Database(name), [], None
    chosen, left_out = _chosen(asker, names)
    described = None if found is None else _described(asker, name, chosen)
    retention = database_figures.retention(asker, name) if "retention" in asked else None
    counted = "database_series" in asked and not audited.policy_of
    series, with_fields = database_figures.series(asker, name) if counted else (None, None)
    storage = database_figures.storage(asker, name, asked)
    declared = database_figures.declared(asker, name) if "declared_schema" in asked else None
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
        gap = asker.gaps[first_gap]
        asker.gap_in_all(asked, gap.reason, gap.detail, name)
        return database, [], None
    if left_out:
        detail = f"{left_out} of {left_out + len(chosen)} measurements were skipped; raise budget.max_measurements"
        asker.gap("measurements", Reason.OVER_BUDGET, detail, name)
        asker.gap_in_all(asked - {"measurements"}, Reason.OVER_BUDGET, detail, name)
    as_of = reuse.as_of(asker.window)
    estimates = _estimates(asker, name, chosen) if "row_estimate" in asked else {}
    # A version that knows more facts measures again: facts missing from the previous profile would look like a pass.
    settings = [sorted(asked), sorted(FACTS), str(asker.target.window)]
    if "column_statistics" in asked:
        settings.append(str(asker.target.budget.max_scan_rows))
    policies = tuple(r.policy for r in retention or ())
    drafts = []
    for measurement in chosen:
        draft = described.get(measurement) or _listed(name, measurement, ladder)
        counted_rows = estimates.get(measurement, {}).get("rows")
        estimate = None if counted_rows is None else Count(counted_rows, asker.source("row_estimate", How.ESTIMATE))
        before = previous.get((name, measurement))
        draft = replace(draft, policies=policies, is_divided=audited.is_divided, previous=before)
        state = series.value if series else with_fields.value if with_fields else _state(estimates.get(measurement))
        if audited.is_divided:
            # A series that is added to another policy does not change anything that is cheap to query.
            state = None
        further = [*settings, repr(asker.target.columns.get(measurement))]
        outlined = replace(
            draft.measurement,
            path=audited.path or asker.path_of("field_types", name),
            rows_total=estimate,
            fingerprint=_fingerprint(draft, state, further),
            fingerprint_as_of=as_of,
        )
        draft = replace(draft, measurement=outlined)
        if ladder in _FROM_CATALOGUE and not draft.columns and not draft.unreadable:
            asker.gap("columns", Reason.FAILED, _without_columns(asker), name, measurement)
            draft = replace(draft, unreadable=asker.gap_in("columns", name, measurement))
        drafts.append(draft)
    return database, _with_catalogue(asker, name, asked, drafts), names


def _without_columns(asker: Asker) -> str:
    """Why a listed table is not known to be empty."""
    package = ENGINES[asker.target.engine].package
    see = "" if package else f": see sql/{asker.target.engine}/grants.md"
    return f"the server lists it without columns; it was never written to, or the user may not read it{see}"


def _with_catalogue(asker: Asker, database: str, asked: frozenset[str], drafts: list[Draft]) -> list[Draft]:
    """The drafts of one database with the other information in the catalog."""
    if "measure_names" in asked:
        by_measurement = each_of(asker, "measure_names", database, [draft.name for draft in drafts]) or {}
        known = {name: rows for name, rows in by_measurement.items() if rows is not None}
        named = {name: measure_names(rows) for name, rows in known.items()}
        drafts = [in_catalogue(asker, d, named[d.name]) if d.name in named else d for d in drafts]
    if asker.engine.ladder is Ladder.DOCUMENTS:
        drafts = families.choose(asker, drafts)
    singly = [draft.name for draft in drafts if not draft.stood_for]
    answers = {f: rows_about(asker, f, database, singly) for f in STORAGE_FACTS if f in asked}
    # Uses are counted up to now, whatever day is audited.
    today = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
    for fact, rows in answers.items():
        with asker.understanding(fact, database):
            drafts = describe_storage(drafts, {fact: rows}, today)
    if answers.get("storage") is not None:
        _note_unknown_sizes(asker, drafts)
    families.note_left_out(asker, drafts, asked)
    return _with_statistics(asker, drafts) if "column_statistics" in asked else drafts


def _note_unknown_sizes(asker: Asker, drafts: list[Draft]) -> None:
    """Leave a gap for each measurement whose size the engine does not report, such as a locked table."""
    for draft in drafts:
        if not draft.stood_for and (draft.measurement.storage is None or draft.measurement.storage.data_bytes is None):
            asker.gap("storage", Reason.FAILED, "the engine does not report its size", draft.database, draft.name)


def _chosen(asker: Asker, names: list[str]) -> tuple[list[str], int]:
    """The measurements to examine, and how many others the budget excludes."""
    chosen = sorted(name for name in names if takes(asker.target, name))
    most = asker.target.budget.max_measurements
    return chosen[:most], len(chosen[most:])


def _described(asker: Asker, database: str, chosen: list[str]) -> dict[str, Draft] | None:
    """Measurements with their columns from the catalog; None if it did not contain them."""
    ladder = asker.engine.ladder
    if ladder is Ladder.DOCUMENTS:
        return {}
    if ladder is Ladder.TAG_LISTING:
        return _by_keys(asker, database)
    described = each_of(asker, "columns", database, chosen)
    if described is None:
        return None
    columns = {measurement: tuple(map(_column, rows)) for measurement, rows in described.items() if rows is not None}
    # A row that refers to another one of its own table, such as the state before, makes no thing of it.
    referred = {c.refers_to for measurement, own in columns.items() for c in own if c.refers_to != measurement}
    drafts: dict[str, Draft] = {}
    for measurement, rows in described.items():
        draft = _listed(database, measurement, ladder)
        if measurement in columns:
            why = _refused(database, measurement, rows)
            is_referred = measurement in referred
            drafts[measurement] = replace(draft, columns=columns[measurement], unreadable=why, referred_to=is_referred)
        else:
            drafts[measurement] = replace(draft, unreadable=asker.gap_in("columns", database, measurement))
    return drafts


def _listed(database: str, measurement: str, ladder: Ladder) -> Draft:
    """A measurement of which only the name is known, and what is the same for all of the engine's."""
    draft = Draft.new(database, measurement)
    if ladder in _STORES_SERIES:
        known = replace(draft.measurement, kind=TableKind.SERIES, kind_reason="the engine stores series")
        draft = replace(draft, measurement=known)
    return replace(draft, is_indexed=True).with_time(_TIME) if ladder is Ladder.TAG_LISTING else draft


def _refused(database: str, measurement: str, rows: list[Row] | None) -> Gap | None:
    """Why the engine would refuse to read the measurement's rows, if its catalog says so; None if it does not."""
    why = next((row["unreadable"] for row in rows or () if row.get("unreadable")), None)
    return Gap("columns", Reason.DENIED, why, database, measurement) if why else None


def _column(row: Row) -> Column:
    said = row.get("role")
    role, reason = Role(said) if said else None, row.get("reason") or ""
    metrics = tuple(row.get("metrics") or ())
    is_unique, refers_to = bool(row.get("is_unique")), row.get("refers_to")
    return Column(row["column"], row["data_type"], row["key_position"], role, reason, is_unique, refers_to, metrics)


def _by_keys(asker: Asker, database: str) -> dict[str, Draft] | None:
    """Measurements with the tags and fields from the index; None if it did not return them."""
    found_tags, found_fields = (
        rows_of(asker, "tag_keys", OfDatabase(database=database)),
        rows_of(asker, "field_types", OfDatabase(database=database)),
    )
    if found_tags is None or found_fields is None:
        return None
    tags: dict[str, list[Tag]] = {}
    for row in found_tags:
        tags.setdefault(row["measurement"], []).append(Tag(row["tag"], "string"))
    types: dict[str, dict[str, set[str]]] = {}
    for row in found_fields:
        types.setdefault(row["measurement"], {}).setdefault(row["field"], set()).add(row["data_type"])
    drafts: dict[str, Draft] = {}
    for measurement in tags | types:
        draft = _listed(database, measurement, Ladder.TAG_LISTING)
        fields = (Field(key, tuple(sorted(kinds))) for key, kinds in types.get(measurement, {}).items())
        known = replace(draft.measurement, tags=tuple(tags.get(measurement, ())), fields=tuple(fields))
        drafts[measurement] = replace(draft, measurement=known)
    return drafts


def _estimates(asker: Asker, database: str, chosen: list[str]) -> dict[str, Row]:
    rows = rows_about(asker, "row_estimate", database, chosen) or ()
    return {row["measurement"]: row for row in rows}


def _state(estimate: Row | None) -> int | str | None:
    """A value that changes when rows are written; None if nothing shows that."""
    return None if estimate is None else estimate.get("state", estimate["rows"])


def _with_statistics(asker: Asker, drafts: list[Draft]) -> list[Draft]:
    """The drafts with the engine's column statistics for tables that may be too big to read."""
    most = asker.target.budget.max_scan_rows
    big = {draft.name for draft in drafts if draft.estimated_rows is None or draft.estimated_rows > most}
    if not big or not most:
        return drafts
    database = drafts[0].database
    rows = rows_about(asker, "column_statistics", database, [d.name for d in drafts if d.name in big])
    known: dict[str, dict[str, ColumnStatistics]] = {}
    with asker.understanding("column_statistics", database):
        known = excerpts.by_measurement(rows or ())
    return [replace(draft, statistics=known.get(draft.name, {})) if draft.name in big else draft for draft in drafts]


def _fingerprint(draft: Draft, state: int | str | None, settings: list[Any]) -> str:
    """The measurement's cheap state in 16 hex digits; empty if nothing cheap shows whether it has changed.

    `settings`: those that affect its expensive facts; when they change, old figures are not reused.
    """
    if state is None:
        return ""
    columns = [[c.name, c.data_type, c.key_position] for c in draft.columns]
    tags, fields = sorted(t.key for t in draft.tags), sorted([f.key, *f.types] for f in draft.fields)
    text = json.dumps([state, columns, tags, fields, draft.policies, settings])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
