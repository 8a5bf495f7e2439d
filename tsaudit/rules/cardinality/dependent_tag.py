"""CAR003."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import SERIES_KINDS, JointDependency, Measurement, NearDependency, TagSets
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import estimate, on_sample
from tsaudit.text import listed, many, number, percent


@rule(
    code="CAR003",
    title="A tag is determined by other tags",
    guidelines=("A3",),
    follows_from=dict.fromkeys(("TAG001", "TAG002", "TAG006", "TAG008"), Reach.SUBJECT),
    requires={"series_listing", "tag_values", "field_types"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "min_series",
            2,
            "series",
            "our default: with a single series every tag determines every other, which says nothing",
        ),
    ),
)
def dependent_tag(case: Case) -> Iterator[Finding]:
    """Tags whose value is determined by another tag, by two tags together, or by another tag with few exceptions.

    Tags with a single value are left out. If several tags determine one, the finding names the one with the fewest
    values, which is the closest. All tags that one tag determines are one finding, and of tags that determine each
    other, such as the name and the address of a host, the first by name stands for the others. Two tags are named only
    if neither determines it alone. A tag that determines it with exceptions (at most 5% of its values) is named only if
    nothing determines it completely. If there are so few series that it may be a coincidence, nothing is reported: the
    chance of unrelated tags agreeing this well must be below 1% per measurement.

    ## Why it matters

    A dependent tag adds no series. Including its values in the product overestimates cardinality, and dropping the tag
    does not reduce it. To reduce series, drop the tag that determines it. If the dependency ends (a machine moves to
    another region), the tag starts to add series, so that is worth noticing too. A dependency with a few exceptions is
    often intended: the exceptions are mistakes, or moves that left old series behind.

    ## Example

    `tag1` is `a` or `b`; `tag2` is `x` whenever `tag1` is `a` and `y` whenever it is `b`. With 3 fields the usual
    product is 12, but there are only 6 series.

    ## Fix

    No change is needed. Leave the tag out when you estimate cardinality, and keep it only if queries use it. If there
    are exceptions, check the values that cause them.

    ## References

    - Dependent tags in InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - How dependent tags distort estimates:
      https://www.influxdata.com/blog/solving-runaway-series-cardinality-when-using-influxdb/
    """
    for measurement in case.measurements:
        sets, limit = measurement.tag_sets, case.limit("min_series", measurement)
        if sets is None or sets.series < limit.value:
            continue
        for column, said in _dependencies(measurement, sets):
            yield _finding(measurement, sets, column, said)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a finding says about one dependent tag."""

    message: str
    fix: str
    evidence: tuple[Evidence, ...]
    samples: tuple[str, ...] = ()


def _finding(measurement: Measurement, sets: TagSets, dependent: str, said: _Said) -> Finding:
    values, figures = _values(measurement, dependent), estimate(measurement)
    incomplete = (Evidence("not searched", sets.not_looked_for),) if sets.not_looked_for else ()
    return Finding(
        subject=subject_of(measurement, dependent),
        message=said.message,
        fix=said.fix,
        observed=values,
        unit="values",
        main_contributor=dependent,
        share=0.0,
        samples=said.samples,
        evidence=(
            *said.evidence,
            Evidence("distinct values", number(values)),
            *(figures.evidence if figures else ()),
            *incomplete,
        ),
        facts=("series_listing", "tag_values", "field_types"),
        source=sets.source,
    )


def _by_determinant(determinants: dict[str, list[str]]) -> dict[str, list[str]]:
    """Tags that determine others completely, each with those of which it is the closest determinant.

    `determinants`: of each dependent tag, closest first.
    """

    def leader(tag: str) -> str:
        """The first by name of the tags that determine each other."""
        return min([tag, *(other for other in determinants.get(tag, ()) if tag in determinants.get(other, ()))])

    found: dict[str, list[str]] = {}
    for tag, others in determinants.items():
        first = leader(tag)
        # The first of them has no one but the others, or a tag that they all follow from.
        closest = first if first != tag else next((leader(o) for o in others if leader(o) != tag), None)
        if closest is not None:
            found.setdefault(closest, []).append(tag)
    return {determinant: sorted(found[determinant]) for determinant in sorted(found)}


def _determined_all(measurement: Measurement, sets: TagSets, determinant: str, dependents: list[str]) -> _Said:
    each = [Evidence(f"values of {tag}", number(_values(measurement, tag))) for tag in dependents[:8]]
    return _Said(
        f"{_each_value(measurement, determinant)} occurs with only one value of {listed(dependents, 6)}, so these "
        f"{number(len(dependents))} tags add no series{on_sample(sets)}.",
        "Keep those that queries group or filter by: they add no series. Leave them out when you multiply tag values "
        f"to estimate series. Those that no query needs can be looked up from {determinant} outside the database.",
        (Evidence("determined by", determinant), *each),
    )


def _dependencies(measurement: Measurement, sets: TagSets) -> Iterator[tuple[str, _Said]]:
    """The dependent tags, or the tag that determines several, each with the strongest dependency found."""
    determinants = _determinants(measurement, sets)
    groups = _by_determinant(determinants)
    for determinant, dependents in groups.items():
        if len(dependents) > 1:
            yield determinant, _determined_all(measurement, sets, determinant, dependents)
        else:
            first = dependents[0]
            others = [tag for tag in determinants[first] if tag != determinant]
            # There is one finding per subject.
            yield determinant if first in groups else first, _determined(measurement, first, [determinant, *others])
    rest: dict[str, _Said] = {}
    for joint in sets.joint or ():
        rest.setdefault(joint.dependent, _determined_jointly(sets, joint))
    nearest = sorted(sets.near or (), key=lambda n: (n.broken / n.values, _values(measurement, n.determinant)))
    for near in nearest:
        rest.setdefault(near.dependent, _nearly_determined(sets, near))
    yield from ((tag, said) for tag, said in sorted(rest.items()) if tag not in determinants and tag not in groups)


def _determined(measurement: Measurement, dependent: str, determinants: list[str]) -> _Said:
    sets = measurement.tag_sets
    assert sets is not None
    return _Said(
        f"{_each_value(measurement, determinants[0])} occurs with only one value of {dependent}, so "
        f"{dependent} adds no series{on_sample(sets)}.",
        _advice(dependent, determinants[0]),
        (Evidence("determined by", listed(determinants)),),
    )


def _determined_jointly(sets: TagSets, joint: JointDependency) -> _Said:
    both = " and ".join(joint.determinants)
    return _Said(
        f"Tags {both} together determine {joint.dependent}, although neither does alone. As long as both are "
        f"kept, {joint.dependent} adds no series{on_sample(sets)}.",
        _advice(joint.dependent, both),
        (Evidence("determined by", f"{both} together"),),
    )


def _advice(tag: str, determinant: str) -> str:
    return (
        f"Keep {tag} if queries group or filter by it: it adds no series. Leave it out when you multiply tag values to "
        f"estimate series. If no query needs it, look it up from {determinant} outside the database."
    )


def _nearly_determined(sets: TagSets, near: NearDependency) -> _Said:
    absent = " (including missing values)" if None in near.examples else ""
    looked_at = sets.series if sets.sampled is None else sets.sampled
    return _Said(
        f"Tag {near.determinant} determines {near.dependent} except for {number(near.broken)} of "
        f"{many(near.values, 'value')}{on_sample(sets)}.",
        f"If {near.dependent} is meant to follow from {near.determinant}, look at the values that break it: corrected, "
        "they make fewer series. If they moved, the old series go with the retention.",
        (
            Evidence("nearly determined by", near.determinant),
            Evidence(
                "exceptions by value",
                f"{number(near.broken)} of {number(near.values)} that occur in several series{absent}",
            ),
            Evidence(
                "exceptions by series",
                f"{number(near.exceptions)} of {number(looked_at)} ({percent(near.exceptions / looked_at)})",
            ),
        ),
        tuple(value for value in near.examples if value is not None),
    )


def _determinants(measurement: Measurement, sets: TagSets) -> dict[str, list[str]]:
    """Tags with more than one value to the tags that determine them, closest first."""
    found: dict[str, list[str]] = {}
    for dependency in sets.dependencies:
        if _values(measurement, dependency.dependent) > 1:
            found.setdefault(dependency.dependent, []).append(dependency.determinant)
    return {k: sorted(v, key=lambda tag: (_values(measurement, tag), tag)) for k, v in found.items()}


def _each_value(measurement: Measurement, key: str) -> str:
    values = _values(measurement, key)
    # Series without the tag may have other values of the dependent one.
    return f"The only value of tag {key}" if values == 1 else f"Each of the {many(values, 'value')} of tag {key}"


def _values(measurement: Measurement, key: str) -> int:
    tag = measurement.tag(key)
    return tag.values.value if tag and tag.values else 0
