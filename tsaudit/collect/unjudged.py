"""Contradictions within a profile as a whole: no rows anywhere, or no time or tags to distinguish rows."""

from __future__ import annotations

import dataclasses
from typing import Final

from tsaudit.collect.agreement import in_order
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Gap, Measurement, Profile, Reason
from tsaudit.text import many, span

MANY_ROWS: Final = 1000
"""From this many rows on, a table without time and tags is not a list of settings."""
_OF_ROWS: Final = frozenset({"null_counts", "row_sample", "row_count", "measure_name_counts"})
_OF_SERIES: Final = frozenset({"series_listing"})


def unjudged_noted(profile: Profile, asked: frozenset[str]) -> Profile:
    """The profile with gaps in place of figures that only seem to be known. `asked`: the collected facts."""
    return _without_rows(_without_time(profile, asked), asked)


def _without_time(profile: Profile, asked: frozenset[str]) -> Profile:
    """Replaces the series count of a table with many rows but neither time nor tags: it may be one series or many."""
    found = {(m.database, m.name): _no_time(m) for m in profile.measurements if _is_shapeless(m)}
    facts = sorted(asked & (_OF_SERIES | {"null_counts"}))
    gaps = {Gap(fact, Reason.UNSUPPORTED, text, *where) for where, text in found.items() for fact in facts}
    if not gaps:
        return profile
    return dataclasses.replace(
        profile,
        measurements=tuple(
            dataclasses.replace(m, series=None) if (m.database, m.name) in found else m for m in profile.measurements
        ),
        gaps=in_order({*profile.gaps, *gaps}),
    )


def _is_shapeless(m: Measurement) -> bool:
    if m.time_column is not None or m.tags or m.series is None:
        return False
    return max((count.value for count in (m.rows, m.rows_total) if count), default=0) >= MANY_ROWS


def _no_time(m: Measurement) -> str:
    count = m.rows or m.rows_total
    assert count is not None
    return (
        f"no time column and no tag was found among {', '.join(m.columns[:5])}: "
        f"the series of its {many(count.value, 'row')} ({count.source.query}) "
        "cannot be counted; set `columns` in tsaudit.yaml (time, tags), or skip the table "
        "with `exclude`"
    )


def _without_rows(profile: Profile, asked: frozenset[str]) -> Profile:
    """Adds a gap if no row was seen on a server that has rows: then nothing was measured, whatever its indexes show."""
    looked = [m for m in profile.measurements if m.time_column is not None]
    if not looked or any(_saw_rows(m, asked) for m in looked):
        return profile
    evidence = next((words for m in looked if (words := _evidence(profile, m))), "")
    if not evidence:
        return profile
    window = profile.window
    detail = (
        f"no measurement has a row from {span(window.start, window.end)}, although "
        f"{evidence}: check the clocks of this machine and of the writers, or set a longer `window`"
    )
    # An index lists series whatever the time of their rows; a listing from rows found none.
    by_rows = "columns" in profile.facts
    facts = asked & (_OF_ROWS | _OF_SERIES if by_rows else _OF_ROWS)
    return dataclasses.replace(
        profile,
        measurements=tuple(
            dataclasses.replace(m, rows=None, series=None if by_rows else m.series) for m in profile.measurements
        ),
        gaps=in_order({*profile.gaps, *(Gap(fact, Reason.DISPUTED, detail) for fact in facts)}),
    )


def _saw_rows(m: Measurement, asked: frozenset[str]) -> bool:
    """Whether a row was seen, or no rows were looked for."""
    if m.row_patterns is not None and m.row_patterns.rows:
        return True
    if m.rows is not None:
        return m.rows.value > 0
    return not ("row_sample" in asked and "row_sample" in m.statements)


def _evidence(profile: Profile, m: Measurement) -> str:
    """The evidence that the measurement has rows; empty if there is none."""
    name = f"{m.database}/{m.name}"
    if ENGINES[profile.engine].infers_roles or m.rows_total is not None:
        # Rows outside the window were looked for, and rows found there left a gap.
        disputed = any(gap.reason is Reason.DISPUTED for gap in profile.gaps_for("row_sample", m))
        return f"{name} has some outside it" if disputed else ""
    if m.series is not None and m.series.value:
        return f"{name} has {many(m.series.value, 'series')} ({m.series.source.query})"
    if m.measure_names is not None and m.measure_names.count.value:
        count = m.measure_names.count
        return f"{name} was written with {many(count.value, 'measure name')} ({count.source.query})"
    if "columns" not in profile.facts or not m.fields:
        return ""
    return f"{name} has {many(len(m.fields), 'field')}, so it had rows once"
