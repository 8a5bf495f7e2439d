"""The first steps: databases, their measurements, columns, retention, and counts, from the catalog and the index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tsaudit.collect import database_figures, reuse
from tsaudit.collect.answers import Row, rows_about, rows_of
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import Audited, Measuring
from tsaudit.collect.unused_settings import no_such_database, takes
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS
from tsaudit.model.facts.given import OfDatabase, OfTarget
from tsaudit.model.profile import Count, Database, How, Measurement, Reason


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


def databases(measuring: Measuring, asked: frozenset[str]) -> Databases:
    """The configured databases, or else all that the server lists, with their retention policies if it has any."""
    asker = measuring.asker
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
    return Databases(measuring.databases(sorted(configured or listed or ()), listed, asked), listed)


def outline(
    measuring: Measuring,
    name: str,
    known: Databases,
    asked: frozenset[str],
    previous: Mapping[tuple[str, str], Measurement],
) -> tuple[Database, list[Draft], list[str] | None]:
    """One database with its own figures, its measurements as known from the catalog and index, and the names of all its
    measurements, including those not in scope; None in place of names that were not listed.

    `known`: the result of `databases`. `previous`: (database, name) to the measurements of the previous profile.
    """
    asker, audited = measuring.asker, known.audited[name]
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
    described = None if found is None else measuring.outline(name, chosen)
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
        draft = described.get(measurement) or measuring.listed(name, measurement)
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
        if measuring.lists_columns and not draft.columns and not draft.unreadable:
            asker.gap("columns", Reason.FAILED, _without_columns(asker), name, measurement)
            draft = replace(draft, unreadable=asker.gap_in("columns", name, measurement))
        drafts.append(draft)
    return database, measuring.with_catalog(name, drafts, asked), names


def _without_columns(asker: Asker) -> str:
    """Why a listed table is not known to be empty."""
    package = ENGINES[asker.target.engine].package
    see = "" if package else f": see sql/{asker.target.engine}/grants.md"
    return f"the server lists it without columns; it was never written to, or the user may not read it{see}"


def _chosen(asker: Asker, names: list[str]) -> tuple[list[str], int]:
    """The measurements to examine, and how many others the budget excludes."""
    chosen = sorted(name for name in names if takes(asker.target, name))
    most = asker.target.budget.max_measurements
    return chosen[:most], len(chosen[most:])


def _estimates(asker: Asker, database: str, chosen: list[str]) -> dict[str, Row]:
    rows = rows_about(asker, "row_estimate", database, chosen) or ()
    return {row["measurement"]: row for row in rows}


def _state(estimate: Row | None) -> int | str | None:
    """A value that changes when rows are written; None if nothing shows that."""
    return None if estimate is None else estimate.get("state", estimate["rows"])


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
