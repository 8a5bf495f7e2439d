"""TAG001."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tsaudit import costs
from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.cardinality.contributions import made_fields, share_of_tag
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import SERIES_KINDS, Measurement, Tag
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.ended_values import ended_on, ended_words, gained_per_day
from tsaudit.text import count, many, number, over_time, percent, values_of

_EMBEDDED = re.compile(
    r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\b\d\d:\d\d:\d\d\b|0x[0-9a-f]{6,}"
)
_WORDS = {
    "log_text": "log messages",
    "sql": "SQL statements",
    "json": "JSON documents",
    "url": "URLs",
    "iso_time": "times",
    "user_agent": "user agents",
}
_MOST = 0.8
_MIXED = "texts that contain times or UUIDs"


@rule(
    code="TAG001",
    title="A tag contains log messages or other free text",
    costs={Currency.SERIES},
    guidelines=("A5",),
    follows_from={"TAG008": Reach.SUBJECT},
    requires={"tag_values"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold("min_values", 20, "values", "our default: fewer texts are a list that somebody wrote"),
        Threshold(
            "min_mixed_values",
            100,
            "values",
            "our default: where most values are short, a list that somebody wrote contains a sentence now and then",
        ),
        Threshold("min_url_values", 1_000, "values", "our default: people monitor fewer addresses"),
        Threshold("min_embedded_ratio", 0.5, "share of the values read", "our default: more than an exception"),
    ),
)
def log_text_tag(case: Case) -> Iterator[Finding]:
    """Tags whose values are log messages, statements, documents, times, or texts that contain times or UUIDs.

    This is based on a sample of the distinct values, for tags with at least `min_values` of them, or `min_url_values`
    for URLs and `min_mixed_values` if less than 80% of the values read like text. It is only a note if listings
    of a week or more show that the tag is bounded, or if the rows read have the same texts again and again: then they
    are a list, even if a wordy one. It is also a note if no new values have appeared for much longer than ever before:
    then whatever wrote them has been fixed.

    ## Why it matters

    Free text is unbounded: nearly every line is a new value, and each value creates a series that stays in the index
    after the line is forgotten. This is the first of the classic causes of runaway cardinality.

    ## Example

    `message="User 81723 not found at 2024-03-01T12:00:03Z"` stored as a tag of `app_log`.

    ## Fix

    Store the text as a field. Use tags for values from a fixed list: level, component, error code.

    ## References

    - Common causes, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Resolve high cardinality:
      https://docs.influxdata.com/influxdb/v2/write-data/best-practices/resolve-high-cardinality/
    """
    for measurement in case.measurements:
        for tag in measurement.tags:
            if tag.values is None or tag.values.value < case.limit("min_values", measurement).value:
                continue
            kind, share = _kind(tag.sample, case.limit("min_embedded_ratio", measurement).value)
            needed = (
                "min_url_values" if kind == _WORDS["url"] else "min_mixed_values" if share < _MOST else "min_values"
            )
            if kind and tag.values.value >= case.limit(needed, measurement).value:
                yield _finding(case, measurement, tag, kind, share)


def _kind(sample: Sequence[str], min_embedded: float) -> tuple[str, float]:
    """What the values are, in words, and which share of them; empty words if they are not free text."""
    from tsaudit.analysis.shapes import shapes

    shape = shapes.classify(sample)
    if shape.kind == "json" and shapes.split_composite(sample):
        return "", 0.0  # attributes in a row, which composite-value names
    if shape.kind in shapes.TEXT_KINDS:
        return _WORDS[shape.kind], shape.share
    embedded = [v for v in sample if (found := _EMBEDDED.search(v)) and len(found[0]) < len(v.strip("{}"))]
    if shape.kind not in shapes.IDENTIFIER_KINDS and sample and len(embedded) >= min_embedded * len(sample):
        return _MIXED, len(embedded) / len(sample)
    return "", 0.0


def _finding(case: Case, measurement: Measurement, tag: Tag, kind: str, share: float) -> Finding:
    assert tag.values is not None
    series, known = measurement.series.value if measurement.series else 0, tag.over_time
    ends = "unknown" if known is None else known.kind
    endless = (
        f" It gains {number(known.new_per_day or 0)} values a day and is not leveling off."
        if known and ends == "unbounded"
        else ""
    )
    if newest := ended_on(case, tag):
        endless = f" {ended_words(case, newest)}"
    return Finding(
        subject=subject_of(measurement, tag.key),
        # A list of texts, however wordy, costs what it lists.
        impact=None if newest or fleets.recurs(tag) else costs.of_series(case, measurement, [tag.key]),
        message=f"Tag {tag.key} contains {kind}: {values_of(tag.values, 'distinct value')}"
        + (f" in {many(series, 'series')}." if series else ".")
        + endless,
        fix="Keep as tags what can be counted: level, code, component.",
        changes=made_fields(measurement, tag.key),
        observed=tag.values.value,
        per_day=gained_per_day(case, tag),
        limit=case.limit("min_values", measurement),
        unit="values",
        main_contributor=tag.key,
        share=share_of_tag(tag.key, measurement.tag_sets),
        samples=tag.sample[:3],
        evidence=(
            Evidence("distinct values", count(tag.values)),
            Evidence("share of such texts among the values read", f"{percent(share)} of {number(len(tag.sample))}"),
            *([Evidence("values over time", over_time(known))] if known and ends != "unknown" else ()),
        ),
        facts=("tag_values",),
        source=tag.values.source,
    )
