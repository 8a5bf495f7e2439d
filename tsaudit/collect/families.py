"""Collections that are made for each period: which of them are asked about one by one, and stand for the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.profile import Count, How, Reason

SINGLY: Final = frozenset({"row_estimate", "storage", "indexes", "index_use"})
"""Facts about a database for which a document store is asked about one collection after the other."""
_BY_FEW: Final = (SINGLY | {"documents"}) - {"row_estimate"}
"""Facts for which few of a family stand for the rest; `buckets` of time series too."""


def choose(asker: Asker, drafts: Sequence[Draft]) -> None:
    """Fill in how many documents there are, and mark the collections that others of their family stand for.

    To ask about thousands of collections makes the server open their files, which is a load of its own.
    """
    from tsaudit.analysis.periods import period_families
    from tsaudit.analysis.positions import spread

    for draft in drafts:
        draft.fingerprint = ""  # an update leaves the number of documents as it is
        if draft.estimated_rows is not None:
            source = asker.source("row_estimate", How.ESTIMATE, "all documents, by the metadata")
            draft.rows = Count(draft.estimated_rows, source)
    by_name = {draft.name: draft for draft in drafts}
    for family in period_families(list(by_name), now=asker.now):
        asked = spread(len(family.members), asker.target.budget.max_family)
        for place, period in enumerate(family.members):
            by_name[period.name].stood_for = place not in asked


def note_left_out(asker: Asker, drafts: Sequence[Draft], asked: frozenset[str]) -> None:
    """Leave a gap for each fact that was not asked for of all collections of the database."""
    left_out = [draft for draft in drafts if draft.stood_for]
    if not left_out:
        return
    detail = (
        f"{len(left_out):,} of {len(drafts):,} collections belong to families of which "
        f"{asker.target.budget.max_family} members each were measured; raise budget.max_family"
    )
    of_series = any((draft.options or {}).get("type") == "timeseries" for draft in left_out)
    for fact in sorted(asked & (_BY_FEW | ({"buckets"} if of_series else frozenset()))):
        asker.gap(fact, Reason.OVER_BUDGET, detail, left_out[0].database)
