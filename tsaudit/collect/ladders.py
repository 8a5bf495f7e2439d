"""The ladders that engines choose from: the steps for each measurement, in order, and what they need."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.collect.asking import Asker
from tsaudit.collect.columns import assign_roles, assign_roles_ahead, find_time, find_time_ahead
from tsaudit.collect.documents import read_documents
from tsaudit.collect.draft import Draft
from tsaudit.collect.label_columns import note_unopened_labels
from tsaudit.collect.listing import list_tables_ahead, list_tag_sets, listing_of
from tsaudit.collect.measure_names import count_rows, list_where_worth_it, read_newest
from tsaudit.collect.row_slice import read_slice
from tsaudit.collect.rows import count_nulls, count_nulls_ahead, describe_fields
from tsaudit.collect.series_rows import count_points, count_points_ahead, read_points, read_points_ahead
from tsaudit.collect.together import list_ahead
from tsaudit.collect.unseen_rows import look_outside
from tsaudit.collect.value_memory import Comparison
from tsaudit.engines.engine import Ladder
from tsaudit.model.facts import STRUCTURE, asked_for

Step = Callable[[Draft], Draft]


@dataclass(frozen=True, slots=True)
class Rung:
    """A step for each measurement."""

    fact: str
    """The fact in which a failure of the step leaves a gap."""
    step: Step
    ahead: Callable[[Sequence[Draft]], None] | None = None
    """What to query about several measurements at once, before the step is taken with each of them."""


@dataclass(frozen=True, slots=True)
class Climb:
    """What the steps of one audit use."""

    asker: Asker
    asked: frozenset[str]
    """The query files to run."""
    database_series: Mapping[str, int]
    """Database to its series count, if the engine counts them; for a retention policy, that of all of them."""
    unwanted_series: Mapping[str, int]
    """Database to the series, at most, of the measurements that are not examined, or not again."""
    comparison: Comparison | None
    """What complete listings are compared with; None for nothing."""


def asked_on(ladder: Ladder, wanted: frozenset[str], files: frozenset[str]) -> frozenset[str]:
    """The engine's query files to run for the wanted facts, including those that decide how others are queried."""
    asked = asked_for(wanted, files) | (files & STRUCTURE)
    # These show whether a measurement has changed.
    asked |= files & {"row_estimate", "database_series"}
    some, needed = _DECIDED_BY[ladder]
    return asked | (files & needed) if asked & some else asked


def rungs_of(ladder: Ladder, climb: Climb) -> list[Rung]:
    """The steps of the ladder, in order; each is completed for all measurements before the next."""
    return list(_RUNGS[ladder](climb))


def _by_columns(climb: Climb) -> Iterator[Rung]:
    asker, asked = climb.asker, climb.asked
    yield Rung("columns", functools.partial(find_time, asker), functools.partial(find_time_ahead, asker))
    wanted = "row_sample" in asked
    yield Rung(
        "columns",
        lambda draft: assign_roles(asker, draft, sample_wanted=wanted),
        lambda drafts: assign_roles_ahead(asker, drafts, sample_wanted=wanted),
    )
    if "series_listing" in asked:
        yield Rung("series_listing", _listing(climb), functools.partial(list_tables_ahead, asker))
    if "null_counts" in asked:
        yield Rung("null_counts", functools.partial(count_nulls, asker), functools.partial(count_nulls_ahead, asker))
    if "row_sample" in asked:
        yield Rung("row_sample", functools.partial(describe_fields, asker))
        yield Rung("series_listing", functools.partial(note_unopened_labels, asker))
        yield Rung("row_sample", functools.partial(look_outside, asker, asked=asked))


def _by_tag_listing(climb: Climb) -> Iterator[Rung]:
    asker, asked = climb.asker, climb.asked
    series = climb.database_series
    if "series_listing" in asked:

        def list_all(drafts: Sequence[Draft]) -> None:
            list_ahead(asker, drafts, functools.partial(listing_of, asker), series, climb.unwanted_series)

        yield Rung("series_listing", _listing(climb), list_all)
    if asked & {"row_sample", "row_count"}:
        yield Rung(
            "row_sample",
            lambda draft: read_points(asker, draft, series.get(draft.database)),
            lambda drafts: read_points_ahead(asker, drafts, series),
        )
    if "row_count" in asked:
        yield Rung(
            "row_count",
            lambda draft: count_points(asker, draft, series.get(draft.database)),
            lambda drafts: count_points_ahead(asker, drafts, series),
        )
    if "row_sample" in asked:
        yield Rung("row_sample", functools.partial(describe_fields, asker))
    if "row_slice" in asked:
        yield Rung("row_slice", functools.partial(read_slice, asker))


def _by_measure_names(climb: Climb) -> Iterator[Rung]:
    asker, asked = climb.asker, climb.asked
    yield Rung("measure_name_counts", functools.partial(count_rows, asker, counted="measure_name_counts" in asked))
    if "series_listing" in asked:
        yield Rung("series_listing", functools.partial(list_where_worth_it, asker, comparison=climb.comparison))
    if "row_sample" in asked:
        yield Rung("row_sample", functools.partial(read_newest, asker))


def _by_documents(climb: Climb) -> Iterator[Rung]:
    if "documents" in climb.asked:
        yield Rung("documents", functools.partial(read_documents, climb.asker))


def _listing(climb: Climb) -> Step:
    then = climb.comparison.compare if climb.comparison else None
    return functools.partial(list_tag_sets, climb.asker, then=then)


_RUNGS: Final[Mapping[Ladder, Callable[[Climb], Iterator[Rung]]]] = {
    Ladder.COLUMNS: _by_columns,
    Ladder.TAG_LISTING: _by_tag_listing,
    Ladder.MEASURE_NAMES: _by_measure_names,
    Ladder.DOCUMENTS: _by_documents,
}

_DECIDED_BY: Final[Mapping[Ladder, tuple[frozenset[str], frozenset[str]]]] = {
    # How much of a big table is read.
    Ladder.COLUMNS: (
        frozenset({"series_listing", "null_counts", "row_sample"}),
        frozenset({"column_statistics", "scan_estimate", "time_extents"}),
    ),
    # Rows are read for listed series, and from retention policies. Those of a few series do not show which rows of
    # others share their time.
    Ladder.TAG_LISTING: (
        frozenset({"row_sample", "row_count"}),
        frozenset({"series_listing", "retention", "row_slice"}),
    ),
    # Whether a listing is worthwhile, and how long a period the newest rows cover.
    Ladder.MEASURE_NAMES: (frozenset({"series_listing", "row_sample"}), frozenset({"measure_name_counts"})),
    # How a collection is stored, and its number of documents, decide how it is read.
    Ladder.DOCUMENTS: (frozenset({"documents"}), frozenset({"options", "buckets"})),
}
"""If any of the first facts are wanted, the second are queried as well."""
