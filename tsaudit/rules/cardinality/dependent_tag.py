"""CAR003."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tsaudit.advice.series_estimate import estimate, on_sample
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import JointDependency, Measurement, NearDependency, TagSets
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent


@rule(
    code="CAR003",
    title="A tag is determined by other tags",
    severity=Severity.INFO,
    guidelines=("A3",),
    requires={"series_listing", "tag_values", "field_types"},
    thresholds=(
        Threshold(
            "min_series",
            2,
            "series",
            "house judgement: with one series every tag determines every other and nothing is learnt",
        ),
    ),
    fixes={
        "any": (
            "Keep {tag} if queries group or filter by it: it adds no series. Leave it out when you multiply tag "
            "values to estimate series. If no query needs it, look it up from {determinant} outside the database."
        )
    },
)
def dependent_tag(case: Case) -> Iterator[Finding]:
    """Tags whose value follows from another tag's value in every series, from the values of two tags, or nearly always.

    Tags with a single value are left out. Where several tags determine one, the one with fewest values is named, as
    it is the closest. Two tags are named where neither alone determines it, and a tag that nearly determines it (all
    but at most 5 % of its values) where nothing does in full. So few series that it may be luck show nothing: unrelated
    tags must agree as well with a chance below 1 % per measurement.

    ## Why it matters

    A dependent tag adds no series, so multiplying its values in makes every estimate of the cardinality too high, and
    dropping it gains nothing. To reduce series, the determining tag has to go. A dependency that ends one day (a
    machine moves to another region) is worth noticing, too: from then on the tag does add series. A dependency with a
    few exceptions is often one that was meant: what breaks it are mistakes, or moves that left old series behind.

    ## Example

    `tag1` is `a` or `b`; `tag2` is `x` whenever `tag1` is `a` and `y` whenever it is `b`. With 3 fields the usual
    product gives 12, but there are 6.

    ## Fix

    None is needed. Count without the tag, and keep it only if queries use it. Where there are exceptions, look at the
    values that break it.

    ## References

    - Dependent tags in InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - How dependent tags distort estimates:
      https://www.influxdata.com/blog/solving-runaway-series-cardinality-when-using-influxdb/
    """
    for measurement in case.measurements:
        sets, limit = measurement.tag_sets, case.limit("min_series", measurement)
        if sets is None or sets.series < limit.value:
            continue
        for dependent, said in _dependent_tags(case, measurement, sets).items():
            yield _finding(measurement, sets, dependent, said)


@dataclass(frozen=True, slots=True)
class _Said:
    """What is said of one dependent tag."""

    message: str
    fix: str
    evidence: tuple[Evidence, ...]
    samples: tuple[str, ...] = ()


def _finding(measurement: Measurement, sets: TagSets, dependent: str, said: _Said) -> Finding:
    values, figures = _values(measurement, dependent), estimate(measurement)
    incomplete = (Evidence("not looked for", sets.not_looked_for),) if sets.not_looked_for else ()
    return Finding(
        subject=subject_of(measurement, dependent),
        severity=Severity.INFO,
        message=said.message,
        fix=said.fix,
        observed=values,
        unit="values",
        guilty=dependent,
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


def _dependent_tags(case: Case, measurement: Measurement, sets: TagSets) -> dict[str, _Said]:
    """The tags that follow from others, each with the strongest that can be said of it; by name."""
    found = {
        dependent: _determined(case, measurement, dependent, determinants)
        for dependent, determinants in _determinants(measurement, sets).items()
    }
    for joint in sets.joint or ():
        found.setdefault(joint.dependent, _determined_jointly(case, sets, joint))
    nearest = sorted(sets.near or (), key=lambda n: (n.broken / n.values, _values(measurement, n.determinant)))
    for near in nearest:
        found.setdefault(near.dependent, _nearly_determined(sets, near))
    return dict(sorted(found.items()))


def _determined(case: Case, measurement: Measurement, dependent: str, determinants: list[str]) -> _Said:
    sets = measurement.tag_sets
    assert sets is not None
    values = many(_values(measurement, determinants[0]), "value")
    return _Said(
        f"Each of the {values} of tag {determinants[0]} occurs with one value of {dependent} only, so {dependent} adds "
        f"no series{on_sample(sets)}.",
        case.fix(tag=dependent, determinant=determinants[0]),
        (Evidence("determined by", listed(determinants)),),
    )


def _determined_jointly(case: Case, sets: TagSets, joint: JointDependency) -> _Said:
    both = " and ".join(joint.determinants)
    return _Said(
        f"Tags {both} together determine {joint.dependent}, though neither does alone: where they are kept, "
        f"{joint.dependent} adds no series{on_sample(sets)}.",
        case.fix(tag=joint.dependent, determinant=both),
        (Evidence("determined by", f"{both} together"),),
    )


def _nearly_determined(sets: TagSets, near: NearDependency) -> _Said:
    absent = " (among them: none)" if None in near.examples else ""
    looked_at = sets.series if sets.sampled is None else sets.sampled
    return _Said(
        f"Tag {near.determinant} determines {near.dependent} except for {number(near.broken)} of "
        f"{many(near.values, 'value')}{on_sample(sets)}.",
        f"If {near.dependent} is meant to follow from {near.determinant}, look at the values that break it: corrected, "
        "they make fewer series. If they moved, the old series go with the retention.",
        (
            Evidence("nearly determined by", near.determinant),
            Evidence(
                "values that break it",
                f"{number(near.broken)} of {number(near.values)} that occur in several series{absent}",
            ),
            Evidence(
                "series that break it",
                f"{number(near.exceptions)} of {number(looked_at)} ({percent(near.exceptions / looked_at)})",
            ),
        ),
        tuple(value for value in near.examples if value is not None),
    )


def _determinants(measurement: Measurement, sets: TagSets) -> dict[str, list[str]]:
    """Tags with more than one value to those that determine them, the closest first."""
    found: dict[str, list[str]] = {}
    for dependency in sets.dependencies:
        if _values(measurement, dependency.dependent) > 1:
            found.setdefault(dependency.dependent, []).append(dependency.determinant)
    return {k: sorted(v, key=lambda tag: (_values(measurement, tag), tag)) for k, v in found.items()}


def _values(measurement: Measurement, key: str) -> int:
    tag = measurement.tag(key)
    return tag.values.value if tag and tag.values else 0
