"""What a database of points holds, and what of it is gone after plans that nobody named, value by value."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from tests.planning.losses import one_form
from tsaudit.model.change import Change, ChangeType, MakeField, MergeMeasurements, SetRetention, SplitColumn
from tsaudit.model.plan import Phase, Plan

MOST_LINES = 8
_REQUIRED: Final = re.compile(r"records without (\S+), which the new table rejects")
"""What Timestream does with records that have no value of a partition key that it enforces."""


@dataclass(frozen=True, slots=True)
class Point:
    """One row, with the values that it has."""

    measurement: str
    time: datetime
    tags: Mapping[str, str]
    fields: Mapping[str, Any]

    @property
    def values(self) -> dict[str, Any]:
        return {**self.tags, **self.fields}


def lost(before: Sequence[Point], after: Sequence[Point], plans: Sequence[Plan], now: datetime) -> list[str]:
    """Values that are stored less often than before, beyond what a step of a plan names."""
    gone = _held(_as_times(before, plans), _splits(plans)) - _held(after, {})
    if not gone:
        return []
    unnamed = gone - _named(before, plans, now)
    return [f"{value}: {count} times" for value, count in list(unnamed.items())[:MOST_LINES]]


def _held(points: Iterable[Point], splits: Mapping[tuple[str, str], SplitColumn]) -> Counter[str]:
    """How often each value is stored, whatever its column; one that is to be split, by its parts."""
    found: Counter[str] = Counter()
    for point in points:
        for name, value in point.values.items():
            split = splits.get((point.measurement, name))
            found.update(map(one_form, _pieces(split, value) if split else (value,)))
    return found


def _as_times(points: Iterable[Point], plans: Iterable[Plan]) -> Iterator[Point]:
    """With nanoseconds since 1970 in place of texts that become fields for times; a copy in InfluxQL keeps them."""
    plans = [plan for plan in plans if any(step.copy for step in plan.steps)]
    changes = [asked.change for plan in plans for asked in plan.changes]
    columns = {(c.at.measurement, c.column) for c in changes if isinstance(c, ChangeType) and c.to == "time"}
    columns |= {(c.at.measurement, c.tag) for c in changes if isinstance(c, MakeField) and c.to == "time"}
    for point in points:
        values = {k: _nanoseconds(v) if (point.measurement, k) in columns else v for k, v in point.values.items()}
        yield replace(point, tags={}, fields=values) if columns else point


def _nanoseconds(text: Any) -> Any:
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000) * 1_000_000
    except (TypeError, ValueError):
        return text


def _splits(plans: Iterable[Plan]) -> dict[tuple[str, str], SplitColumn]:
    changes = (asked.change for plan in plans if _is_copied(plan) for asked in plan.changes)
    return {(c.at.measurement, c.column): c for c in changes if isinstance(c, SplitColumn)}


def _is_copied(plan: Plan) -> bool:
    return any(step.phase is Phase.COPY for step in plan.steps)


def _pieces(split: SplitColumn, whole: str) -> tuple[str, ...]:
    """The attributes of a value, as somebody reads the change; a value of another form stays whole."""
    texts, form = whole.split(split.separator), split.example.split(split.separator)
    if len(texts) != len(form) or len(form) != len(split.parts):
        return (whole,)
    starts = [text.removesuffix(part.example) for text, part in zip(form, split.parts, strict=True)]
    if not all(text.startswith(start) for text, start in zip(texts, starts, strict=True)):
        return (whole,)
    pieces = (text[len(start) :] for text, start in zip(texts, starts, strict=True))
    return tuple(piece for piece in pieces if piece)


# --- What plans name -------------------------------------------------------------------------------------------------


def _named(before: Sequence[Point], plans: Iterable[Plan], now: datetime) -> Counter[str]:
    """The values that may be gone, each as often as it may."""
    found: Counter[str] = Counter()
    for plan in plans:
        if not any(step.loses and step.phase is not Phase.REMOVE for step in plan.steps) and not _expires(plan):
            continue
        changes = [asked.change for asked in plan.changes]
        for tag in {tag for step in plan.steps for tag in _REQUIRED.findall(step.loses)}:
            rejected = (p for p in before if p.measurement == plan.subject.measurement and tag not in p.tags)
            found.update(one_form(value) for point in rejected for value in point.values.values())
        for change in changes:
            if isinstance(change, SetRetention):
                found.update(one_form(v) for p in before if p.time < now - change.keep for v in p.values.values())
            elif isinstance(change, MergeMeasurements) and not all(member.tags for member in change.members):
                names = {member.measurement for member in change.members}
                found += _overwritten([p for p in before if p.measurement in names], frozenset())
        if gone := _former_tags(changes):
            own = [p for p in before if p.measurement == plan.subject.measurement]
            found += _overwritten(own, gone)
    return found


def _expires(plan: Plan) -> bool:
    return any(isinstance(asked.change, SetRetention) for asked in plan.changes)


def _former_tags(changes: Iterable[Change]) -> frozenset[str]:
    """Tags that no longer tell points apart."""
    claims = (claim for change in changes for claim in change.claims().items())
    return frozenset(name for (aspect, name), to in claims if aspect == "role" and to in ("field", "none"))


def _overwritten(points: Iterable[Point], gone: frozenset[str]) -> Counter[str]:
    """Of points that have their time and the other tags in common, all values but one of each column."""
    groups: dict[Hashable, list[Point]] = defaultdict(list)
    for point in points:
        tags = {name: value for name, value in point.tags.items() if name not in gone}
        groups[point.time, tuple(sorted(tags.items()))].append(point)
    found: Counter[str] = Counter()
    for group in groups.values():
        for values in _by_column(group) if len(group) > 1 else ():
            found.update(_all_but_one(values))
    return found


def _by_column(group: Iterable[Point]) -> Iterator[list[str]]:
    columns: dict[str, list[str]] = defaultdict(list)
    for point in group:
        for name, value in point.values.items():
            columns[name].append(one_form(value))
    return iter(columns.values())


def _all_but_one(values: Sequence[str]) -> Counter[str]:
    """Which one stays is not said, so each of several different values may be gone; the last of equal ones may not."""
    counts = Counter(values)
    return counts if len(counts) > 1 else counts - Counter(values[:1])
