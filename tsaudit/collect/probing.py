"""Tries each fact about one measurement in the cheapest way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tsaudit.collect.asking import Asker
from tsaudit.collect.columns import roles_without_rows, sampled
from tsaudit.collect.draft import Draft
from tsaudit.collect.excerpts import measure_extent

if TYPE_CHECKING:
    import pyarrow as pa


def try_facts(asker: Asker, draft: Draft, asked: frozenset[str]) -> None:
    """Ask for one row of each fact; what fails leaves its gap."""
    draft = measure_extent(asker, roles_without_rows(asker, draft))
    series: list[dict[str, Any]] = []

    def keep_one(batch: pa.RecordBatch) -> None:
        series[:] = batch.slice(0, 1).to_pylist()

    if draft.unreadable:
        return
    part = draft.excerpt.of(1) if draft.excerpt else None
    if "series_listing" in asked and draft.tags:
        asker.ask("series_listing", keep_one, **draft.about, limit=1, first_only=True, excerpt=part)
    for fact in sorted(asked & {"documents", "buckets"}):
        # Only time series have buckets.
        if fact == "documents" or (draft.options or {}).get("type") == "timeseries":
            asker.ask(fact, _ignore, **draft.about, total=None, limit=1)
    if draft.tags and not series and draft.is_indexed:
        return  # the gap of the listing stands for what needs it: rows of all series at once are too dear for a probe
    names = [c.name for c in draft.columns]
    facts = {"row_sample"} if part else {"row_sample", "row_count", "null_counts", "measure_name_counts"}
    for fact in sorted(asked & facts):
        asker.ask(fact, _ignore, **sampled(draft, names), series=series, limit=1, first_only=True, excerpt=part)


def _ignore(batch: pa.RecordBatch) -> None:
    del batch
