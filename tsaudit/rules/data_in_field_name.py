"""DOC010."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tsaudit.collection_families import once_for_family
from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import listed, many, number
from tsaudit.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of


@rule(
    code="DOC010",
    title="Names of fields hold data",
    severity=Severity.WARN,
    guidelines=("B4",),
    requires={"documents"},
    thresholds=(
        Threshold("min_names", 8, "names", "house judgement: fewer may be a fixed set, such as quarters or sizes"),
    ),
    fixes={
        "mongodb": (
            "Write {part} as a value: an array of small documents, or a document of its own for each, so that one "
            "index serves all of them.\n"
            "{{ {above:q}: [{{ k: {example:q}, v: ... }}] }}\n"
            "db.getCollection({collection:q}).createIndex({{ {key:q}: 1, {value:q}: 1 }})\n"
            "What is stored, into a new collection:\n"
            "db.getCollection({collection:q}).aggregate([{{ $set: {{ {above:q}: {{ $objectToArray: {path:q} }} }} }}, "
            "{{ $out: {copy:q} }}])"
        ),
    },
)
def data_in_field_name(case: Case) -> Iterator[Finding]:
    """Documents in which dates, ids or numbers are names of fields: at least `min_names` of one kind side by side.

    ## Why it matters

    A name cannot be compared: to ask for all days of a month, or whoever has more than five points, every document has
    to be read and taken apart. No index covers names that nobody knows in advance, and a validator cannot name them.

    ## Example

    `scores: { "u1001": 7, "u1002": 3 }` should be `scores: [{ k: "u1001", v: 7 }, { k: "u1002", v: 3 }]`.

    ## Fix

    The attribute pattern: name and value as two fields of a small document in an array, with one index over both.

    ## References

    - The attribute pattern: https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/attribute-pattern/
    - $objectToArray: https://www.mongodb.com/docs/manual/reference/operator/aggregation/objectToArray/
    """
    yield from once_for_family(case.profile, lambda measurement: _judge(case, measurement))


def _judge(case: Case, measurement: Measurement) -> Iterator[Finding]:
    if measurement.documents is not None:
        for found in _keyed(measurement, round(case.limit("min_names", measurement).value)):
            yield _finding(case, measurement, found)


_WHOLE: Final = {"{id}": re.compile(r"[0-9a-f]{24}"), "{n}": re.compile(r"\d{1,23}")}
"""Names that are nothing but data: an ObjectId as text, a number."""


@dataclass(frozen=True, slots=True)
class _Keyed:
    """Names side by side that differ only in data."""

    above: str
    """The path that holds them; empty at the top."""
    template: str
    names: tuple[str, ...]


def _keyed(measurement: Measurement, fewest: int) -> Iterator[_Keyed]:
    from tsaudit.analysis.name_families import name_families

    below: dict[str, set[str]] = defaultdict(set)
    for field in measurement.fields:
        parts = field.key.split(".")
        for at, part in enumerate(parts):
            below[".".join(parts[:at])].add(part)
    told: list[str] = []
    for above, names in sorted(below.items(), key=lambda one: (one[0].count("."), one[0])):
        # What is in a document whose name is data itself has been told.
        if len(names) < fewest or any(above.startswith(path) for path in told):
            continue
        whole = {kind: sorted(n for n in names if form.fullmatch(n)) for kind, form in _WHOLE.items()}
        others = sorted(names - {n for kind in whole.values() for n in kind})
        families = [_Keyed(above, f.template, f.members) for f in name_families(others)]
        for found in [*families, *(_Keyed(above, kind, tuple(members)) for kind, members in whole.items())]:
            if len(found.names) >= fewest:
                told += [f"{above}.{n}".lstrip(".") for n in found.names]
                yield found


def _finding(case: Case, measurement: Measurement, found: _Keyed) -> Finding:
    assert measurement.documents is not None
    path = f"{found.above}.{found.template}".lstrip(".")
    above = found.above or "values"
    return Finding(
        subject=subject_of(measurement, path),
        severity=Severity.WARN,
        message=f"{many(len(found.names), 'field')} named {path} have data in their names.",
        fix=case.fix(
            part=f"what varies in {path.replace('{', '<').replace('}', '>')}",
            above=above,
            example=found.names[0],
            key=f"{above}.k",
            value=f"{above}.v",
            path=f"${found.above}" if found.above else "$$ROOT",
            collection=measurement.name,
            copy=f"{measurement.name}_new",
        ),
        observed=float(len(found.names)),
        limit=case.limit("min_names", measurement),
        unit="names",
        guilty=path,
        samples=found.names[:3],
        evidence=(
            Evidence("names", f"{number(len(found.names))}: {listed(found.names, 6)}"),
            Evidence("documents read", number(measurement.documents.read)),
        ),
        facts=("documents",),
        source=measurement.documents.source,
    )
