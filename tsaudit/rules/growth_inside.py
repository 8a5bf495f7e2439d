"""Which measurements, and which of their tags, cause the growth of a database or a target, in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from tsaudit.analysis.cardinality.contributions import main_contribution, share_of
from tsaudit.model.finding import Evidence
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, subject_of
from tsaudit.rules.growth_cause import Cause, cause_of
from tsaudit.text import listed, many, number, percent

_MAIN: Final = 0.5
"""Share of the growth from which on a single measurement, a single tag, or the new measurements together
are the cause.
"""
_ALIKE: Final = 0.2
"""How far the number of series of a measurement may differ from that of the one it replaces, as a share."""


@dataclass(frozen=True, slots=True)
class _Part:
    """The growth of one measurement."""

    measurement: Measurement
    before: Point | None
    """The measurement's series before the growth; None if it is new."""
    added: float


def cause_inside(case: Case, subject: Subject, before: Point, now: Point, onset: date) -> Cause | None:
    """The cause of the growth of a database, or of the whole target, after the point `before`; None if no cause is
    known.
    """
    growth = now.value - before.value
    parts = [part for part in _parts(case, subject, before.day) if part.added > 0]
    parts.sort(key=lambda part: (-part.added, part.measurement.database, part.measurement.name))
    if growth <= 0 or not parts:
        return None
    evidence = tuple(
        Evidence(f"series of {_name(part, subject)}", f"{number(part.added)} more{'' if part.before else ', new'}")
        for part in parts[:5]
    )
    found = Cause(None, None, "", None, (), evidence, is_removable=False)
    new = [part for part in parts if part.before is None]
    if parts[0].added >= _MAIN * growth:
        return _of_one(case, subject, parts[0], growth, onset, found)
    if sum(part.added for part in new) >= _MAIN * growth:
        return _of_new(subject, new, growth, found)
    return _of_many(case, parts, growth, onset, found)


def _parts(case: Case, subject: Subject, day: date) -> list[_Part]:
    databases = [d for d in case.profile.databases if d.name == subject.database]
    inside = case.inside(databases[0]) if databases else case.measurements
    found = []
    for measurement in inside:
        if measurement.series is None:
            continue
        points = case.timeline.of("series", subject_of(measurement))
        before = next((p for p in reversed(points) if p.day <= day), None)
        found.append(_Part(measurement, before, measurement.series.value - (before.value if before else 0.0)))
    return found


def _of_one(case: Case, subject: Subject, part: _Part, growth: float, onset: date, found: Cause) -> Cause:
    measurement, share = part.measurement, min(1.0, part.added / growth)
    name = _name(part, subject)
    if part.before is not None:
        inner = cause_of(case, measurement, part.before, onset)
        words = f"measurement {name} adds {percent(share)} of it"
        if inner is None:
            return _with(found, None, share, words, f"Find out what writes new series to {name}.")
        return Cause(
            inner.tag,
            None if inner.share is None else share * inner.share,
            f"{words}: {inner.words}",
            inner.began,
            inner.samples,
            (*found.evidence, *inner.evidence),
            is_removable=False,
            brief=f"in {name}, {inner.brief}",
            fix=inner.fix or f"Find what writes new values of {inner.tag} to {name}.",
        )
    words = f"new measurement {name} adds {percent(share)} of it"
    older = _replaced(case, part)
    if older is not None:
        words += f"; it has the tags of {older} and about as many series"
        return _with(found, None, share, words, f"If {name} replaces {older}, delete the series of {older}.")
    tag = main_contribution(measurement.tag_sets) if measurement.tag_sets else None
    if tag is None or measurement.tag_sets is None:
        return _with(found, None, share, words, f"Find out what writes {name}.")
    part_of_it = share_of(tag, measurement.tag_sets)
    words += f", and tag {tag.tag} accounts for {percent(part_of_it)} of its series"
    return _with(found, tag.tag, share * part_of_it, words, f"Find what writes {tag.tag} to {name}.")


def _of_new(subject: Subject, new: Sequence[_Part], growth: float, found: Cause) -> Cause:
    share = min(1.0, sum(part.added for part in new) / growth)
    names = listed([_name(part, subject) for part in new], 3)
    words = f"{many(len(new), 'new measurement')} add{'s' if len(new) == 1 else ''} {percent(share)} of it: {names}"
    fix = "If their names contain what varies, such as a device or a date, move that into a tag of one measurement."
    return _with(found, None, share, words, fix)


def _of_many(case: Case, parts: Sequence[_Part], growth: float, onset: date, found: Cause) -> Cause | None:
    """The tag that grows in most of the measurements."""
    by_tag: dict[str, list[float]] = defaultdict(list)
    for part in parts:
        cause = cause_of(case, part.measurement, part.before, onset) if part.before else None
        if cause is not None and cause.tag is not None and cause.share is not None:
            by_tag[cause.tag].append(part.added * cause.share)
    if not by_tag:
        return None
    tag = max(by_tag, key=lambda key: (sum(by_tag[key]), key))
    share = min(1.0, sum(by_tag[tag]) / growth)
    if share < _MAIN:
        words = f"{many(len(parts), 'measurement')} grow, none of which adds half of it"
        return _with(found, None, None, words, "Compare the tag values of these measurements with those before.")
    words = f"new values of tag {tag} in {many(len(by_tag[tag]), 'measurement')} add {percent(share)} of it"
    return _with(found, tag, share, words, f"Find what writes new values of {tag} to these measurements.")


def _with(found: Cause, tag: str | None, share: float | None, words: str, fix: str) -> Cause:
    return Cause(tag, share, words, None, (), found.evidence, is_removable=False, fix=fix, brief=words)


def _replaced(case: Case, part: _Part) -> str | None:
    """The name of an older measurement in the database with the same tags and about as many series; None if there is
    none.
    """
    mine, keys = part.measurement, {tag.key for tag in part.measurement.tags}
    for other in case.measurements:
        if other.database != mine.database or other.name == mine.name or other.series is None or not keys:
            continue
        known, new = (len(case.timeline.of("series", subject_of(m))) for m in (other, mine))
        alike = abs(part.added - other.series.value) <= _ALIKE * other.series.value
        if known > new and alike and {tag.key for tag in other.tags} == keys:
            return other.name
    return None


def _name(part: _Part, subject: Subject) -> str:
    """The measurement's name, preceded by its database unless that is the subject."""
    measurement = part.measurement
    same = subject.database == measurement.database
    return measurement.name if same else f"{measurement.database}.{measurement.name}"
