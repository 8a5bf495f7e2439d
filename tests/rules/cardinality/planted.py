"""Plays a small database day by day through the real comparison, the real history and the real rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from typing import Final

import pyarrow as pa

from tests.builders import NOW, a_count, a_profile, a_result, a_source
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.collect.draft import Draft
from tsaudit.collect.earlier_days import Comparison
from tsaudit.evaluation import evaluate
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues
from tsaudit.model.columns import Tag
from tsaudit.model.figures import Count, How, TableKind, Window, utc_now
from tsaudit.model.finding import Finding
from tsaudit.model.profile import Database, Measurement
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality as rule

BEFORE: Final = 26
"""Audited days before the cause sets in."""
FIRST: Final = date(2026, 1, 5)
TagSet = Mapping[str, str]
Series = Sequence[TagSet]
Live = Callable[[int], Mapping[str, Series]]
"""Measurement to the tag sets that are written on a day, days counted from 0."""


@dataclass(frozen=True, slots=True)
class Planted:
    """A cause of growth, and what the finding has to name."""

    live: Live
    main_contributor: str | None
    says: tuple[str, ...] = ()
    """Parts of the message, or, if they start with `fix:`, of the fix."""
    never: tuple[str, ...] = ()
    """Words that the message must not contain."""
    subject: str = "m"
    """The measurement; empty for the database."""
    also: Mapping[str, str] = field(default_factory=dict)
    """Other measurements and their main contributor."""
    days: int = 50
    kept: int | None = 1
    """Days of data in each listing; None: nothing is ever deleted."""
    deleting_until: int | None = None
    """The last day on which anything is deleted; None for always."""
    ceiling: int | None = None
    """Most series of a listing to keep; of a longer one, only a sample is kept, which is compared with nothing."""
    from_day: int = 40
    """The day on which the cause sets in."""


def on(number: int) -> date:
    return FIRST + timedelta(days=number)


def findings(planted: Planted, store: Store) -> dict[int, tuple[Finding, ...]]:
    """What the rule finds on each day from the cause's first one on."""
    found = {}
    for number, listing in _listings(planted):
        values = RememberedValues(store, "demo", on(number))
        measurements = [
            _listed(values, on(number), name, rows, planted.ceiling) for name, rows in listing.items() if rows
        ]
        total = sum(m.series.value for m in measurements if m.series)
        profile = dataclasses.replace(
            a_profile(*measurements, engine="influxdb1", databases=(Database("main", a_count(total)),)),
            day=on(number),
            collected_at=NOW,
        )
        if number >= planted.from_day:
            result = evaluate(profile, store.timeline("demo", before=on(number)), None, [rule])
            found[number] = result.results[0].findings
        store.save(profile, a_result(day=on(number)), None, values.write)
    return found


def _listings(planted: Planted) -> Iterable[tuple[int, dict[str, list[TagSet]]]]:
    """What each day's listing shows: everything written on it, and what has not been deleted since."""
    newest: dict[str, dict[tuple[tuple[str, str], ...], int]] = {}
    for number in range(1 - (planted.kept or 1), planted.days):
        for name, rows in planted.live(number).items():
            seen = newest.setdefault(name, {})
            for row in rows:
                seen[tuple(sorted(row.items()))] = number
        if planted.kept is not None and (planted.deleting_until is None or number <= planted.deleting_until):
            oldest = number - planted.kept
            for name, seen in newest.items():
                newest[name] = {row: day for row, day in seen.items() if day > oldest}
        if number < planted.from_day - BEFORE:
            continue  # the database is older than its audits
        yield number, {name: [_tags(row) for row in seen] for name, seen in newest.items()}


@cache
def _tags(row: tuple[tuple[str, str], ...]) -> TagSet:
    return dict(row)


def _listed(memory: RememberedValues, day: date, name: str, rows: Series, ceiling: int | None) -> Measurement:
    keys = sorted({key for row in rows for key in row})
    counter = TagSetCounter(keys, ceiling=ceiling)
    counter.add(
        pa.RecordBatch.from_pylist([dict(row) for row in rows], pa.schema([(key, pa.string()) for key in keys]))
    )
    how = How.SAMPLED if counter.sampled else How.EXACT
    measurement = Measurement(
        "main",
        name,
        None,
        tags=tuple(
            Tag(key, "string", Count(column.values.value, a_source(how)), column.sample)
            for key, column in counter.columns().items()
        ),
        fields=(),
        series=Count(counter.series.value, a_source(how)),
        tag_sets=counter.tag_sets(a_source()),
        kind=TableKind.SERIES,
    )
    at = utc_now()
    compared = Comparison(memory, day, Window(at, at), {"main": Database("main", retention=())})
    return compared.compare(Draft(measurement, is_indexed=True), counter).finished()
