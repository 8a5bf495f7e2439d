"""Tries each fact about one measurement in the cheapest way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tsaudit.collect.asking import Asker
from tsaudit.collect.columns import roles_without_rows, sampled
from tsaudit.collect.draft import Draft
from tsaudit.collect.excerpts import measure_extent
from tsaudit.model.facts import FACTS, Given, Scope
from tsaudit.model.facts.given import OfBuckets, OfDocuments, OfMeasurement, OfNullCounts, OfRowCount, OfSeriesListing

if TYPE_CHECKING:
    import pyarrow as pa


def try_facts(asker: Asker, draft: Draft, asked: frozenset[str]) -> Draft:
    """Query one row of each fact; the draft with the statements that were answered. Failures leave a gap."""
    if why := draft.unreadable:
        for fact in sorted(fact for fact in asked if FACTS[fact].scope is Scope.MEASUREMENT):
            asker.gap(fact, why.reason, why.detail, draft.database, draft.name)
        return draft
    draft = measure_extent(asker, roles_without_rows(asker, draft))
    series: list[dict[str, str | None]] = []

    def keep_one(batch: pa.RecordBatch) -> None:
        series[:] = batch.slice(0, 1).to_pylist()

    if draft.unreadable:
        return draft
    about = draft.about(asker.window)
    part = draft.excerpt.of(1) if draft.excerpt else None
    if "series_listing" in asked and draft.tags:
        listing = OfSeriesListing(**about, limit=1, excerpt=part)
        draft = _noted(draft, "series_listing", asker.ask("series_listing", keep_one, listing, first_only=True))
    if "buckets" in asked and (draft.measurement.options or {}).get("type") == "timeseries":
        # Only time series have buckets.
        draft = _noted(draft, "buckets", asker.ask("buckets", _ignore, OfBuckets(**about, limit=1)))
    if "documents" in asked:
        documents = OfDocuments(**about, total=None, limit=1)
        draft = _noted(draft, "documents", asker.ask("documents", _ignore, documents))
    if draft.tags and not series and draft.is_indexed:
        return draft  # The listing's gap covers this: rows of all series are too expensive for a probe.
    sample = sampled(draft, asker.window, [c.name for c in draft.columns], 1, part)
    given: dict[str, Given] = {"row_sample": replace(sample, series=series)}
    if not part:
        given["measure_name_counts"] = OfMeasurement(**about)
        given["null_counts"] = OfNullCounts(**about, later=None)
        given["row_count"] = OfRowCount(**about, series=series)
    for fact in sorted(asked & given.keys()):
        draft = _noted(draft, fact, asker.ask(fact, _ignore, given[fact], first_only=True))
    return draft


def _noted(draft: Draft, fact: str, statement: str | None) -> Draft:
    return draft if statement is None else draft.sent(fact, statement)


def _ignore(batch: pa.RecordBatch) -> None:
    del batch
