"""Theoretical and actual number of series of a measurement, and the tags that contribute most to it, for use by several
rules.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit import costs
from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.cardinality.contributions import (
    determined_tags,
    identifies,
    main_contribution,
    remedies,
    rows_kept_apart,
    share_of,
    with_twins,
)
from tsaudit.analysis.shapes import shapes
from tsaudit.engines.engine import Words
from tsaudit.model.change import Change, Diagnose
from tsaudit.model.columns import Contribution, Tag, TagSets
from tsaudit.model.figures import How
from tsaudit.model.finding import Evidence, Limit
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, declared_limit, resolve_limit
from tsaudit.text import listed, many, number, percent

MAX_SERIES: Final = Threshold(
    "max_series",
    1_000_000,
    "series",
    "our default: from here on, an index of all series no longer fits in memory on small machines; also "
    "InfluxDB's own default limit",
)
"""Threshold of high-series-cardinality. Other rules forecast the day on which it is reached."""


COUNT_FIELDS: Final = Threshold(
    "count_fields",
    0,
    "1: each field of a tag set is a separate series; 0: it is not",
    "our default: as InfluxDB OSS and SQL engines count; InfluxDB Cloud counts fields, "
    "https://docs.influxdata.com/influxdb/cloud/reference/glossary/#series",
)
"""Threshold of high-series-cardinality."""
_MOST_TAGS: Final = 8
_MOST_JOINED: Final = 4


MAX_VALUES: Final = Threshold("engine_values", None, "values of one tag", "distinct values of one tag in a measurement")
"""Threshold of unbounded-tag. Other rules name the tag that reaches it."""


def series_of(case: Case, measurement: Measurement) -> int | None:
    """Number of series as counted by the limit; None if the tag sets were not counted."""
    if measurement.series is None:
        return None
    return measurement.series.value * (max(len(measurement.fields), 1) if counts_fields(case) else 1)


def series_error(case: Case, measurement: Measurement) -> float:
    """Standard error of `series_of`; 0 if the series were counted exactly."""
    if measurement.series is None:
        return 0.0
    error = measurement.series.standard_error or 0.0
    return error * (max(len(measurement.fields), 1) if counts_fields(case) else 1)


def counts_fields(case: Case) -> bool:
    """Whether each field counts as a separate series."""
    return bool(resolve_limit("high-series-cardinality", COUNT_FIELDS, case.profile, case.policy).value)


def series_limit(case: Case, measurement: Measurement | None = None) -> Limit:
    """The limit of high-series-cardinality for the measurement or, if None, for databases and targets."""
    return resolve_limit("high-series-cardinality", MAX_SERIES, case.profile, case.policy, measurement)


def values_limit(case: Case, measurement: Measurement) -> Limit:
    """The most values that a tag of the measurement may have, according to the server."""
    return resolve_limit("unbounded-tag", MAX_VALUES, case.profile, case.policy, measurement)


def stopgap(case: Case, limit: Limit) -> str:
    """How to gain time where a limit of the server is near, in complete sentences; empty if the engine knows no way."""
    declared = None if costs.is_owners(limit) else declared_limit(case.profile, limit.name)
    return declared.fix if declared else ""


@dataclass(frozen=True, slots=True)
class MainTags:
    """The tag, or tags, whose removal from several measurements together leaves the fewest series."""

    tags: tuple[str, ...]
    """Several if most series are left without only some of them."""
    inside: tuple[Measurement, ...]
    """The measurements that would have fewer series without the tags, the one with the largest reduction first."""
    series: float
    """Number of series that the tags cause; a lower bound if only a sample was examined."""
    changes: tuple[Change, ...]
    fix: str
    """What to do if the tags have to stay; empty if they change."""

    def causes(self, words: Words, share: float, of: str = "them") -> str:
        """`tag id of http causes 90% of them`, or `tags id and ip together, in 82 measurements, cause 90% of them`.

        `of`: what the share is of.
        """
        first, *others = self.inside
        inside = f", in {len(self.inside)} {words.measurement}s," if others else f" of {first.name}"
        if self.tags[1:]:
            return f"{words.tag}s {listed(self.tags)}{inside} together cause {percent(share)} of {of}"
        return f"{words.tag} {self.tags[0]}{inside} causes {percent(share)} of {of}"


def main_tags(measurements: Iterable[Measurement], *, keeps_rows: bool) -> MainTags | None:
    """The tags that cause the most series, over all measurements that have them; None if no tag sets are known. IDs are
    preferred to others, even if these cause more series. `keeps_rows`: see `remedies`.
    """
    by_tags: dict[tuple[str, ...], list[tuple[float, Measurement, Contribution]]] = defaultdict(list)
    for measurement in measurements:
        sets = measurement.tag_sets
        first = main_contribution(sets) if sets else None
        if sets is None or first is None or measurement.series is None:
            continue
        # A tag that other tags determine can only be dropped together with them: those tags are the cause.
        alone = [c for c in sets.contributions if not c.together_with]
        for one in {c.tags: c for c in (*alone, first)}.values():
            if one.series_left < sets.series:
                by_tags[one.tags].append((share_of(one, sets) * measurement.series.value, measurement, one))
    if not by_tags:
        return None
    sums = {tags: sum(series for series, _, _ in parts) for tags, parts in by_tags.items()}
    inside = {tags: [measurement for _, measurement, _ in parts] for tags, parts in by_tags.items()}
    ending = {tags: sums[tags] for tags in sums if _ends(tags, inside[tags])}
    least = {tags: _LIKE_OTHERS * max(ending.values()) for tags in ending}
    likely = [t for t, series in sums.items() if series >= max(_LIKELY * max(sums.values()), least.get(t, 0.0))]
    tags = max(likely, key=lambda keys: (_likely_cause(keys, inside[keys]), sums[keys], keys))
    parts = sorted(by_tags[tags], key=lambda part: (-part[0], part[1].database, part[1].name))
    changes = tuple(change for _, m, _ in parts for change in remedies(m, *tags, keeps_rows=keeps_rows))
    _, largest, _ = parts[0]
    return MainTags(
        tags,
        tuple(measurement for _, measurement, _ in parts),
        sum(series for series, _, _ in parts),
        changes,
        identity_kept(largest, *tags, keeps_rows=keeps_rows) if all(isinstance(c, Diagnose) for c in changes) else "",
    )


def identity_kept(measurement: Measurement, *tags: str, keeps_rows: bool, stays: bool = False) -> str:
    """What to do about a tag that has to stay, because nothing else identifies the sources, or what is measured.
    `keeps_rows`, `stays`: see `remedies`.
    """
    if not (rows_kept_apart(measurement, *tags) or identifies(measurement, *tags)):
        why = "Rows of all series were not compared: without it, they might overwrite each other."
        if stays:
            why = "It has to stay: another measurement needs it, and one writer adds it to both."
        return f"Write fewer values of {listed(tags)}, or let them expire sooner. {why}"
    apart = measurement.rows_apart
    lost, _ = apart.lost(with_twins(measurement, tags)) if apart else (0, True)
    of_them = f"{number(lost)} of the {number(apart.rows)} rows that were compared" if apart else "rows"
    if keeps_rows:
        alike = f"without it, {of_them} have the time and the other tags of another one"
        return (
            f"{listed(tags)} is what identifies the sources: {alike}. If they last, raise the limit. If each soon "
            "ends, write names that are used again, such as that of a service, or let rows expire sooner."
        )
    if rows_kept_apart(measurement, *tags):
        less = f"Raise the limit, write fewer values of {listed(tags)}, or divide them among several databases."
    else:
        less = f"Write fewer values of {listed(tags)}: names that are used again, not IDs; or let them expire sooner."
    return (
        f"{less} It has to stay: without it, {of_them} would overwrite another one, so it is what identifies the "
        "sources."
    )


_LIKELY: Final = 0.5
"""A tag can be named instead of the one that causes the most series if it causes at least this share of that number. It
is if its values look more like the cause; see `_likely_cause`.
"""
_LIKE_OTHERS: Final = 0.7
"""The same share, of the number that another tag causes whose values are known to end, too."""


def _likely_cause(tags: Sequence[str], inside: Iterable[Measurement]) -> tuple[bool, bool]:
    """Whether, in most of the measurements, most of the tags' values name things that do not last, and whether they
    look like IDs.
    """
    found = [one for m in inside for tag in tags if (one := m.tag(tag))]
    passing = sum(not fleets.is_fleet(one) for one in found)
    return 2 * passing > len(found), 2 * sum(map(_are_ids, found)) > len(found)


def _ends(tags: Sequence[str], inside: Iterable[Measurement]) -> bool:
    """Whether most of the tags' values are IDs, or known to end."""
    found = [(m, one) for m in inside for tag in tags if (one := m.tag(tag))]
    return 2 * sum(_are_ids(one) or fleets.is_known_to_end(m, one) for m, one in found) > len(found)


def _are_ids(tag: Tag) -> bool:
    return shapes.classify(tag.sample).kind in shapes.IDENTIFIER_KINDS


def series_evidence(measurement: Measurement) -> tuple[Evidence, ...]:
    """Theoretical and actual number of series as in InfluxDB's guide (tags x fields), the tags that add none, and the
    number of series left without each tag; empty if the tag sets were not listed.
    """
    sets, fields = measurement.tag_sets, max(len(measurement.fields), 1)
    if sets is None:
        return ()
    # This figure counts fields; everywhere else, series are counted without fields.
    actual = f"{number(sets.series * fields)} ({number(sets.series)} series with {many(fields, 'field')} each)"
    determined = "; ".join(f"{listed(tags)} by {tag}" for tag, tags in determined_tags(measurement).items())
    return (
        Evidence("worst case (tag values x fields)", number(sets.worst_case * fields)),
        Evidence("without dependent tags", number(sets.independent_bound * fields)),
        Evidence("actual (tag sets x fields)", actual),
        *((Evidence("determined by other tags", determined),) if determined else ()),
        *_contributions(sets),
    )


def on_sample(sets: TagSets) -> str:
    """`, on a sample of 1,000 series`; empty if all series were examined."""
    if sets.source.how is How.SAMPLED:
        return ", in the part of the rows that was listed"
    return f", on a sample of {number(sets.sampled)} series" if sets.sampled is not None else ""


def _left(contribution: Contribution) -> str:
    """The number of series left: `50`; for a sample, `50 to 900`, or `at most 50` if both bounds are the same."""
    if contribution.at_least is None:
        return number(contribution.series_left)
    if contribution.at_least == contribution.series_left:
        return f"at most {number(contribution.series_left)}"
    return f"{number(contribution.at_least)} to {number(contribution.series_left)}"


def _contributions(sets: TagSets) -> tuple[Evidence, ...]:
    """One line per tag with the series left without it; then one for the greedy order of dropping tags."""
    is_least = sets.sampled is not None
    at_least = "at least " if is_least else ""
    each = [
        Evidence(
            f"without {_names(c)}",
            f"{_left(c)} series left ({at_least}{percent(share_of(c, sets), is_least=is_least)} fewer)",
        )
        for c in sets.contributions[:_MOST_TAGS]
    ]
    if sets.drop_curve:
        curve = [f"{_left(c)} without {_names(c)}" for c in sets.drop_curve]
        each.append(Evidence("dropping one after the other", " → ".join([number(sets.series), *curve])))
    if sets.sampled is not None:
        each.append(Evidence("checked", f"{number(sets.sampled)} of about {number(sets.series)} series"))
    return tuple(each)


def _names(contribution: Contribution) -> str:
    names = contribution.tags
    return " + ".join(names if len(names) <= _MOST_JOINED else (*names[:2], f"{number(len(names) - 2)} more"))
