"""Which tag the growth of a measurement is due to, in words: by its new series, else by the numbers of its values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from tsaudit.model.finding import Evidence
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, subject_of
from tsaudit.text import listed, many, number, percent

if TYPE_CHECKING:
    from tsaudit.analysis.cardinality.attribution import Attribution, Blame


@dataclass(frozen=True, slots=True)
class Cause:
    """The main contributor, and how it was determined."""

    tag: str
    share: float
    """Of the new series, or of the growth; 0 to 1."""
    words: str
    """What it does, as part of a sentence."""
    began: date | None
    """The first day of its new values; None where only numbers of values are known."""
    samples: tuple[str, ...]
    evidence: tuple[Evidence, ...]


def cause_of(case: Case, measurement: Measurement, before: date, onset: date) -> Cause | None:
    """The cause of what grew from the day `before` on, from its `onset` more exactly; None when none can be named."""
    from tsaudit.analysis.cardinality.attribution import attribute

    found = attribute(measurement, onset)
    if found is not None and found.blames:
        return _by_new_series(measurement, found)
    return _by_numbers(case, measurement, before)


def _by_new_series(measurement: Measurement, found: Attribution) -> Cause:
    from tsaudit.analysis.cardinality.attribution import looks

    worst = found.blames[0]
    tag = measurement.tag(worst.tag)
    assert tag is not None
    assert tag.over_time is not None
    shape = f", shape: {looks(tag)}" if looks(tag) else ""
    estimate = "estimated: " if worst.standard_error else ""
    return Cause(
        tag=worst.tag,
        share=worst.share,
        words=f"{estimate}of {number(found.new_series)} new series since {found.since}, {percent(worst.share)} carry "
        f"a new value of tag {_names(worst)} (first seen {worst.began}{shape})",
        began=worst.began,
        samples=tag.over_time.examples,
        evidence=(
            Evidence("new series", f"{number(found.new_series)} first seen on {found.since} or later"),
            *(Evidence(f"new values of {_names(blame)}", _described(measurement, blame)) for blame in found.blames),
        ),
    )


def _described(measurement: Measurement, blame: Blame) -> str:
    tag = measurement.tag(blame.tag)
    values = tag.over_time if tag else None
    assert tag is not None
    assert values is not None
    error = f" (standard error {percent(blame.standard_error)})" if blame.standard_error else ""
    parts = [f"in {percent(blame.share)}{error} of the new series", f"first seen {blame.began}"]
    parts += [f"{number(values.new_per_day)} a day"] if values.new_per_day is not None else []
    if values.kind != "unknown":
        parts.append(f"{values.kind} over {many(values.days, 'day')}")
    return ", ".join(parts)


def _names(blame: Blame) -> str:
    return listed((blame.tag, *blame.together_with))


def _by_numbers(case: Case, measurement: Measurement, day: date) -> Cause | None:
    from tsaudit.analysis.cardinality.attribution import shares_of_logarithms

    now = {tag.key: float(tag.values.value) for tag in measurement.tags if tag.values is not None}
    before = {key: old for key in now if (old := _values_before(case, measurement, key, day)) is not None}
    dependencies = measurement.tag_sets.dependencies if measurement.tag_sets else ()
    shares = shares_of_logarithms(before, now, dependencies)
    if not shares:
        return None
    worst = max(shares, key=lambda key: shares[key])
    tag = measurement.tag(worst)
    return Cause(
        tag=worst,
        share=shares[worst],
        words=f"tag {worst} causes {percent(shares[worst])} of it, judging by the numbers of values",
        began=None,
        samples=tag.sample[:3] if tag else (),
        evidence=tuple(
            Evidence(
                f"values of {key}",
                f"{number(before[key])} to {number(now[key])} ({percent(share)} of the growth, by logarithms)",
            )
            for key, share in sorted(shares.items(), key=lambda item: -item[1])
        ),
    )


def _values_before(case: Case, measurement: Measurement, tag: str, day: date) -> float | None:
    """Distinct values on that day or the next one known; 1 for a tag that did not exist; None when not known."""
    points = case.timeline.of("tag_values", subject_of(measurement, tag))
    if points:
        earlier = [p for p in points if p.day <= day]
        return max((earlier[-1] if earlier else points[0]).value, 1.0)
    previous = case.timeline.previous
    same = [m for m in previous.measurements if subject_of(m) == subject_of(measurement)] if previous else []
    return 1.0 if same and same[0].tag(tag) is None else None
