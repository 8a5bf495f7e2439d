"""The cause of growth, in words: of a measurement, from its new series or, if these are not known, from the number of
values of its tags; of a database or a target, from the measurements in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Final

from tsaudit.analysis.cardinality.attribution import (
    Attribution,
    Contributor,
    KeyChange,
    Parent,
    Past,
    attribute,
    combined_tags,
    kept_longer,
    key_change,
    looks,
    parent_of,
    shares_of_logarithms,
)
from tsaudit.analysis.cardinality.contributions import main_contribution, share_of
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Evidence
from tsaudit.model.profile import Measurement
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, subject_of
from tsaudit.text import listed, many, new_values, number, percent

_NAMED_TOO: Final = 0.3
"""A second tag is named in the sentence if it explains at least this share of the growth."""
_MAIN: Final = 0.5
"""Share of the growth that tags have to explain; otherwise another cause is looked for. Also the share from which on a
single measurement, a single tag, or the new measurements together are the cause of the growth of a whole.
"""
_GROSS: Final = 1.1
"""New series up to this many times the growth are treated as equal to the growth."""
_USUAL_DAYS: Final = 28
_DATED_LATE: Final = timedelta(days=7)
"""The last week before an onset may already be part of the growth."""


@dataclass(frozen=True, slots=True)
class Cause:
    """The main contributor, and how it was determined."""

    evidence: tuple[Evidence, ...]
    words: str = ""
    """The cause, as part of a sentence."""
    tag: str | None = None
    """The main contributor; None if no tag is the cause."""
    share: float | None = None
    """Share of the new series, or of the growth; 0 to 1. None if no tag is the cause."""
    began: date | None = None
    """The first day of the tag's new values; None if only the number of values is known."""
    samples: tuple[str, ...] = ()
    is_removable: bool = False
    """Whether the growth would end if the tag became a field."""
    fix: str = ""
    """What to do, in words; empty if the changes already say it."""
    brief: str = ""
    """A shorter form of `words`, for a headline."""
    inside: tuple[Measurement, ...] = ()
    """Of a whole: the measurements in it whose growth the tag causes; empty if no tag is the cause."""


def cause_of(case: Case, measurement: Measurement, before: Point, onset: date) -> Cause | None:
    """The cause of the growth after the point `before`, more precisely from `onset` on; None if no cause
    can be named.
    """
    past = _past(case, measurement, before)
    found = attribute(measurement, onset, past)
    if found is not None:
        cause = _by_new_series(measurement, found, past)
        if cause is not None:
            return cause
    return _by_numbers(case, measurement, before)


def _past(case: Case, measurement: Measurement, before: Point) -> Past:
    values, rates = {}, {}
    for tag in measurement.tags:
        points = case.timeline.of("tag_values", subject_of(measurement, tag.key))
        known = next((p.value for p in reversed(points) if p.day <= before.day), None)
        if known is not None:
            values[tag.key] = known
        elif _lacks(case, measurement, tag.key, before.day):
            values[tag.key] = 0.0
        rates[tag.key] = _usual_rate(points, before.day)
    series = case.timeline.of("series", subject_of(measurement))
    return Past(before.day, before.value, values, _usual_rate(series, before.day), rates)


def _lacks(case: Case, measurement: Measurement, tag: str, day: date) -> bool:
    """Whether the measurement had been listed by that day and did not have the tag."""
    arrivals = measurement.arrivals
    points = case.timeline.of("tag_values", subject_of(measurement, tag))
    began = points[0].day if points else case.profile.day
    return arrivals is not None and arrivals.began <= day < began


def _usual_rate(points: tuple[Point, ...], until: date) -> float:
    """Mean change of a figure per day, in the four weeks that end a week before `until`; 0 if it is not known."""
    usual = [p for p in points if timedelta(0) <= until - _DATED_LATE - p.day <= timedelta(days=_USUAL_DAYS)]
    if len(usual) < 2 or usual[-1].day - usual[0].day < _DATED_LATE:
        return 0.0
    return (usual[-1].value - usual[0].value) / (usual[-1].day - usual[0].day).days


def _by_new_series(measurement: Measurement, found: Attribution, past: Past) -> Cause | None:
    """The cause according to the new series; None if they show none."""
    evidence = (
        Evidence("new series", f"{number(found.new_series)} first seen on {found.since} or later"),
        *(
            Evidence(f"new values of {_names(contributor)}", _described(measurement, contributor))
            for contributor in found.contributors
        ),
    )
    none = Cause(evidence)
    kept = kept_longer(measurement, found)
    if kept is not None:
        return replace(
            none,
            words=f"fewer series are deleted than before, {number(round(kept.left_now))} a day instead of "
            f"{number(round(kept.left_before))}, while as many arrive ({number(round(kept.arriving))} a day)",
            brief="fewer series are deleted than before",
            fix="Check whether the retention, or the job that deletes old data, still works as intended.",
        )
    changed = key_change(measurement, found.since)
    # Where the series multiply by the values of another tag, those that do may have a key that few others have.
    if changed is not None and all(one.tag == changed.added or one.share < _MAIN for one in found.contributors):
        return _by_key(none, changed, found, measurement)
    if found.contributors and found.contributors[0].share >= _MAIN:
        return _by_values(measurement, found, past, none)
    combined = combined_tags(measurement, found)
    if combined:
        return replace(
            none,
            words=f"the new series are new combinations of old values of {_tags(combined)}",
            brief=f"new combinations of old values of {_tags(combined)}",
            fix=f"Find out why values of {_tags(combined)} now occur together that did not before.",
        )
    return _by_values(measurement, found, past, none) if found.contributors else None


def _by_key(none: Cause, changed: KeyChange, found: Attribution, measurement: Measurement) -> Cause:
    since = f"since {found.since}"
    if changed.added and changed.dropped:
        tag, words = changed.added, f"{since}, new series carry tag {changed.added} instead of {changed.dropped}"
        brief = f"tag {changed.added} replaces {changed.dropped}"
        fix = f"If {changed.added} replaces {changed.dropped}, delete the series that still carry {changed.dropped}."
    elif changed.added:
        tag, words, fix = changed.added, f"tag {changed.added} was added to the series {since}", ""
        brief = f"tag {changed.added} was added"
    else:
        tag = changed.dropped or ""
        words = f"{since}, new series are written without tag {tag}"
        brief = f"new series lack tag {tag}"
        fix = f"If {tag} was dropped on purpose, delete the series that still carry it; otherwise write it again."
    known = measurement.tag(tag)
    over_time = known.over_time if known else None
    samples = over_time.examples if over_time and changed.added else ()
    return replace(
        none,
        tag=tag,
        share=1.0,
        words=words,
        brief=brief,
        began=found.since,
        samples=samples,
        fix=fix,
        is_removable=not fix,
    )


def _by_values(measurement: Measurement, found: Attribution, past: Past, none: Cause) -> Cause:
    worst = found.contributors[0]
    tag = measurement.tag(worst.tag)
    assert tag is not None
    assert tag.over_time is not None
    cause = replace(
        none,
        tag=worst.tag,
        share=worst.share,
        began=worst.began if worst.lasts else None,
        samples=tag.over_time.examples,
        is_removable=True,
    )
    parent = parent_of(measurement, worst, found, past)
    if parent is not None:
        return _by_parent(measurement, cause, parent, worst)
    words = "; ".join(_sentence(measurement, found, worst))
    # Once they have come, their combinations with others go on to come.
    what = (
        "combinations with"
        if tag.over_time.new_per_day is not None and tag.over_time.new_per_day < 1
        else "new values of"
    )
    return replace(cause, words=words, brief=f"{_part(worst.share)} from {what} {_names(worst)}")


def _part(share: float) -> str:
    return "all" if percent(share) == "100%" else percent(share)


def _by_parent(measurement: Measurement, cause: Cause, parent: Parent, child: Contributor) -> Cause:
    tag = measurement.tag(parent.tag)
    over_time = tag.over_time if tag else None
    return replace(
        cause,
        tag=parent.tag,
        words=f"{many(parent.new_values, 'new value')} of tag {parent.tag} brought "
        f"{many(round(child.additional), 'new value')} of {_names(child)}, about as many as the others have",
        brief=f"new values of tag {parent.tag}, each with its own {child.tag}",
        samples=over_time.examples if over_time else (),
        is_removable=False,
        fix=f"If the new values of {parent.tag} are intended, plan for more of them: each brings its own {child.tag}.",
    )


def _sentence(measurement: Measurement, found: Attribution, worst: Contributor) -> Iterator[str]:
    tag = measurement.tag(worst.tag)
    assert tag is not None
    estimate = "estimated: " if worst.standard_error else ""
    about = [f"first seen {worst.began}"] if worst.lasts else []
    about += [f"shape: {looks(tag)}"] if looks(tag) else []
    described = f" ({', '.join(about)})" if about else ""
    if found.new_series <= _GROSS * found.growth:
        yield (
            f"{estimate}of {number(found.new_series)} new series since {found.since}, {percent(worst.carrying)} carry "
            f"a new value of tag {_names(worst)}{described}"
        )
    else:
        yield (
            f"{estimate}{percent(worst.share)} of the growth since {found.since} is due to additional values of tag "
            f"{_names(worst)}{described}; the other new values take the place of old ones"
        )
    others = [contributor for contributor in found.contributors[1:] if contributor.share >= _NAMED_TOO]
    if others:
        yield "also growing: " + listed(
            [f"{_names(contributor)} ({percent(contributor.share)})" for contributor in others]
        )
    place = next(_gathered(measurement, worst), "")
    if place:
        yield f"nearly all new series are at one value of tag {place}"


def _gathered(measurement: Measurement, worst: Contributor) -> Iterator[str]:
    """Other tags with the value that most of the new series carry, the tag with the most values first."""
    for tag in sorted(measurement.tags, key=lambda t: (-(t.values.value if t.values else 0), t.key)):
        value = tag.over_time.gathered if tag.over_time else None
        if value is not None and tag.key not in (worst.tag, *worst.together_with):
            yield f"{tag.key} ({redact_unless_name(value)})"


def _described(measurement: Measurement, contributor: Contributor) -> str:
    tag = measurement.tag(contributor.tag)
    values = tag.over_time if tag else None
    assert tag is not None
    assert values is not None
    error = f" (standard error {percent(contributor.standard_error)})" if contributor.standard_error else ""
    parts = [f"in {percent(contributor.carrying)}{error} of the new series", f"first seen {contributor.began}"]
    if contributor.share < contributor.carrying / _GROSS:
        parts.append(f"{percent(contributor.share)} of the growth")
    parts += [new_values(values)] if values.new_per_day is not None else []
    if values.kind != "unknown":
        parts.append(f"{values.kind} over {many(values.days, 'day')}")
    return ", ".join(parts)


def _names(contributor: Contributor) -> str:
    return listed((contributor.tag, *contributor.together_with))


def _tags(keys: tuple[str, ...]) -> str:
    return f"{'tags' if len(keys) > 1 else 'tag'} {listed(keys)}"


def _by_numbers(case: Case, measurement: Measurement, then: Point) -> Cause | None:
    now = {tag.key: float(tag.values.value) for tag in measurement.tags if tag.values is not None}
    before = {key: old for key in now if (old := _values_before(case, measurement, key, then.day)) is not None}
    dependencies = measurement.tag_sets.dependencies if measurement.tag_sets else ()
    times = measurement.series.value / max(then.value, 1.0) if measurement.series else 1.0
    shares = shares_of_logarithms(before, now, dependencies, times)
    if not shares:
        return None
    worst = max(shares, key=lambda key: shares[key])
    tag = measurement.tag(worst)
    return Cause(
        tag=worst,
        share=shares[worst],
        words=f"tag {worst} causes {percent(shares[worst])} of it, judging by the numbers of values",
        brief=f"{_part(shares[worst])} from {worst}",
        samples=tag.sample[:3] if tag else (),
        is_removable=True,
        evidence=tuple(
            Evidence(
                f"values of {key}",
                f"{number(before[key])} to {number(now[key])} ({percent(share)} of the growth, by logarithms)",
            )
            for key, share in sorted(shares.items(), key=lambda item: -item[1])
        ),
    )


def _values_before(case: Case, measurement: Measurement, tag: str, day: date) -> float | None:
    """Number of distinct values on that day, or on the next day for which it is known; 1 for a tag that did not exist;
    None if not known.
    """
    points = case.timeline.of("tag_values", subject_of(measurement, tag))
    if points:
        earlier = [p for p in points if p.day <= day]
        return max((earlier[-1] if earlier else points[0]).value, 1.0)
    before = case.timeline.earlier(measurement)
    return 1.0 if before is not None and before.tag(tag) is None else None


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
    found = Cause(evidence)
    new = [part for part in parts if part.before is None]
    if parts[0].added >= _MAIN * growth:
        return _of_one(case, subject, parts[0], growth, onset, found)
    if sum(part.added for part in new) >= _MAIN * growth:
        return _of_new(case, subject, new, growth, found)
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
    name, term = _name(part, subject), case.engine.words.measurement
    if part.before is not None:
        inner = cause_of(case, measurement, part.before, onset)
        words = f"{term} {name} adds {percent(share)} of it"
        if inner is None:
            return _with(found, None, share, words, f"Find out what writes new series to {name}.")
        return replace(
            inner,
            share=None if inner.share is None else share * inner.share,
            words=f"{words}: {inner.words}",
            evidence=(*found.evidence, *inner.evidence),
            brief=f"in {name}, {inner.brief}",
            inside=(measurement,) if inner.tag else (),
            fix=inner.fix or f"Find what writes new values of {inner.tag} to {name}.",
        )
    words = f"new {term} {name} adds {percent(share)} of it"
    older = _replaced(case, part)
    if older is not None:
        words += f"; it has the tags of {older} and about as many series"
        return _with(found, None, share, words, f"If {name} replaces {older}, delete the series of {older}.")
    tag = main_contribution(measurement.tag_sets) if measurement.tag_sets else None
    if tag is None or measurement.tag_sets is None:
        return _with(found, None, share, words, f"Find out what writes {name}.")
    part_of_it = share_of(tag, measurement.tag_sets)
    accounts = "account" if tag.together_with else "accounts"
    words += f", and {_tags(tag.tags)} {accounts} for {percent(part_of_it)} of its series"
    return _with(found, tag.tag, share * part_of_it, words, f"Find what writes {listed(tag.tags)} to {name}.")


def _of_new(case: Case, subject: Subject, new: Sequence[_Part], growth: float, found: Cause) -> Cause:
    share = min(1.0, sum(part.added for part in new) / growth)
    names = listed([_name(part, subject) for part in new], 3)
    term = case.engine.words.measurement
    words = f"{many(len(new), f'new {term}')} add{'s' if len(new) == 1 else ''} {percent(share)} of it: {names}"
    fix = f"If their names contain what varies, such as a device or a date, move that into a tag of one {term}."
    return _with(found, None, share, words, fix)


def _of_many(case: Case, parts: Sequence[_Part], growth: float, onset: date, found: Cause) -> Cause | None:
    """The tag that grows in most of the measurements."""
    term = case.engine.words.measurement
    by_tag: dict[str, list[tuple[Measurement, float, Cause]]] = defaultdict(list)
    for part in parts:
        cause = cause_of(case, part.measurement, part.before, onset) if part.before else None
        if cause is not None and cause.tag is not None and cause.share is not None:
            by_tag[cause.tag].append((part.measurement, part.added * cause.share, cause))
    if not by_tag:
        return None
    sums = {tag: sum(added for _, added, _ in causes) for tag, causes in by_tag.items()}
    tag = max(sums, key=lambda key: (sums[key], key))
    share = min(1.0, sums[tag] / growth)
    if share < _MAIN:
        words = f"{many(len(parts), term)} grow, none of which adds half of it"
        return _with(found, None, None, words, f"Compare the tag values of these {term}s with those before.")
    words = f"new values of tag {tag} in {many(len(by_tag[tag]), term)} add {percent(share)} of it"
    return replace(
        _with(found, tag, share, words, f"Find what writes new values of {tag} to these {term}s."),
        inside=tuple(measurement for measurement, _, _ in by_tag[tag]),
        is_removable=all(cause.is_removable for _, _, cause in by_tag[tag]),
    )


def _with(found: Cause, tag: str | None, share: float | None, words: str, fix: str) -> Cause:
    return replace(found, tag=tag, share=share, words=words, brief=words, fix=fix)


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
