"""DOC004."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.analysis.columns.columns import distinct_types
from tsaudit.analysis.shapes.name_families import named_fields
from tsaudit.analysis.significance import ENOUGH
from tsaudit.engines.mongodb.collections import is_series
from tsaudit.model.columns import Field
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.text import listed, many, number, percent

_RARE: Final = 0.01
"""Share of the documents: a field that fewer documents lack, or have, is an exception."""


@rule(
    code="DOC004",
    title="Documents vary, and no validator restricts them",
    guidelines=("H4",),
    follows_from={"FLD003": Reach.MEASUREMENT},
    requires={"documents", "options"},
)
def undeclared_document_schema(case: Case) -> Iterator[Finding]:
    """Collections without a validator whose documents differ in the types of a field, or in which fields they have.

    The finding is always a note: a missing validator only costs something if fields have several types, which
    conflicting-types reports. All number types count as one. Time series collections cannot have a validator.

    ## Why it matters

    Without a schema in the database, every program that reads has to know such details: that `price` may be a text, and
    that a tenth of the documents lack `currency`. If nobody wrote them down, everyone has to guess.

    ## Example

    `price` is a number in 990 documents and the text `"n/a"` in 10. A query for `price: { $gt: 5 }` skips the ten, a
    sort puts them last, an average ignores them, and there is no error.

    ## Fix

    Add a `$jsonSchema` validator, first with warnings only. It checks documents when they are written, not when they
    are read.

    ## References

    - Schema validation: https://www.mongodb.com/docs/manual/core/schema-validation/
    - Handling of existing documents:
      https://www.mongodb.com/docs/manual/core/schema-validation/specify-validation-level/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    options, documents = measurement.options, measurement.documents
    if options is None or documents is None or is_series(measurement) or _is_validated(options):
        return
    if documents.read < ENOUGH:
        return
    fields = [field for field in named_fields(measurement) if not field.has_type_by_name]
    mixed = [f for f in fields if len(distinct_types(case.profile.engine, f.types)) > 1]
    partial = [f for f in fields if f.null_ratio and _RARE <= f.null_ratio.value <= 1 - _RARE]
    if mixed or partial:
        yield _finding(case, measurement, mixed, partial)


def _is_validated(options: Mapping[str, str]) -> bool:
    """Whether there is a validator that checks anything, and so is neither empty nor switched off."""
    return options.get("validator", "{}") != "{}" and options.get("validationLevel") != "off"


def _finding(case: Case, measurement: Measurement, mixed: Sequence[Field], partial: Sequence[Field]) -> Finding:
    assert measurement.documents is not None
    varying = {f.key for f in (*mixed, *partial)}
    parts = [f"{f.key} is {listed(distinct_types(case.profile.engine, f.types))}" for f in mixed]
    parts += [f"{f.key} is in {percent(f.present_ratio)}" for f in partial if f not in mixed]
    return Finding(
        subject=subject_of(measurement),
        message=(
            f"No validator, and {number(len(varying))} of {many(len(measurement.fields), 'field')} "
            f"{'varies' if len(varying) == 1 else 'vary'}: "
            f"{listed(parts, 4)}."
        ),
        fix=f"Decide what the documents of {measurement.name} have to look like, and let the server check it: collMod "
        "with a validator ($jsonSchema), and with validationAction warn, which at first only logs what does not fit.",
        observed=float(len(varying)),
        unit="fields",
        main_contributor=mixed[0].key if mixed else partial[0].key,
        evidence=(
            *(
                Evidence(f.key, f"{listed(f.types)}, in {percent(f.present_ratio)} of the documents")
                for f in mixed[:20]
            ),
            *(
                Evidence(f.key, f"in {percent(f.present_ratio)} of the documents")
                for f in partial[:20]
                if f not in mixed
            ),
            Evidence("documents read", number(measurement.documents.read)),
        ),
        facts=("documents", "options"),
        source=measurement.documents.source,
    )
