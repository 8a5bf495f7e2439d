"""Collections whose names differ only in data: which ones are queried individually and represent the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.model.profile import Count, How, Reason
from tsaudit.text import many

SINGLY: Final = frozenset({"row_estimate", "storage", "indexes", "index_use"})
"""Facts about a database that a document store reports only one collection at a time."""
_BY_FEW: Final = (SINGLY | {"documents"}) - {"row_estimate"}
"""Facts for which a few members represent the rest of the family; `buckets` of time series, too."""


def choose(asker: Asker, drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts with their numbers of documents, with a mark on those that others of their family represent.

    Querying thousands of collections makes the server open their files, which is a load in itself.
    """
    from tsaudit.analysis.shapes.positions import spread

    stood_for: dict[str, str] = {}
    for template, names in _alike([draft.name for draft in drafts], asker.now):
        asked = spread(len(names), asker.target.budget.max_family)
        for place, name in enumerate(names):
            stood_for[name] = "" if place in asked else template
    return [_in_family(asker, draft, stood_for.get(draft.name, "")) for draft in drafts]


def _in_family(asker: Asker, draft: Draft, stood_for: str) -> Draft:
    # An update does not change the number of documents, so no fingerprint shows it.
    known = replace(draft.measurement, rows=_documents(asker, draft), fingerprint="")
    return replace(draft, measurement=known, stood_for=stood_for)


def _documents(asker: Asker, draft: Draft) -> Count | None:
    if draft.estimated_rows is None:
        return draft.measurement.rows
    source = asker.source("row_estimate", How.ESTIMATE, "all documents, according to the metadata")
    return Count(draft.estimated_rows, source)


def _alike(names: Sequence[str], now: datetime) -> Iterator[tuple[str, Sequence[str]]]:
    """Templates with the names of collections that differ only in a period, oldest first, or only in a number
    or an ID.
    """
    from tsaudit.analysis.shapes.name_families import name_families
    from tsaudit.analysis.shapes.periods import period_families

    by_period: set[str] = set()
    for family in period_families(names, now=now):
        members = [period.name for period in family.members]
        by_period |= set(members)
        yield family.template, members
    for other in name_families([name for name in names if name not in by_period]):
        yield other.template, other.members


def note_left_out(asker: Asker, drafts: Sequence[Draft], asked: frozenset[str]) -> None:
    """Leave a gap for each fact that was not queried for all members of a family, at the first omitted member.

    The gap is about a collection, so what is known about the others, and about the family from its members, stays
    known.
    """
    left_out: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.stood_for:
            left_out[draft.stood_for].append(draft)
    for family, members in left_out.items():
        detail = (
            f"{many(len(members), 'collection')} named {family}, of which this is the first, are not measured: "
            f"{asker.target.budget.max_family} others represent them; raise budget.max_family"
        )
        of_series = any((draft.measurement.options or {}).get("type") == "timeseries" for draft in members)
        for fact in sorted(asked & (_BY_FEW | ({"buckets"} if of_series else frozenset()))):
            asker.gap(fact, Reason.OVER_BUDGET, detail, members[0].database, members[0].name)
