"""LAY006."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import CHANCE
from tsaudit.model.change import SplitMeasurement
from tsaudit.model.figures import SERIES_KINDS
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import FieldRhythm, Rhythms
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent


@rule(
    code="LAY006",
    title="Regular metrics and irregular events are mixed",
    guidelines=("D8",),
    follows_from={"LAY010": Reach.MEASUREMENT, "NAM006": Reach.MEASUREMENT},
    requires={"row_sample", "field_types"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "min_share",
            0.1,
            "share of series",
            "our default: a few of many devices with a wrong clock are not a second kind of data",
        ),
    ),
)
def mixed_intervals(case: Case) -> Iterator[Finding]:
    """Measurements where some values arrive at even intervals and others only when something happens.

    Either the fields differ, or the sources do: more than `min_share` of the series with enough rows, and so many that
    a share of `min_share` would show them with a probability of less than 1%. Of three series, all have to
    agree; of two, nothing can be said. Intervals are even if their median deviation from their median is at most a
    tenth of it, and uneven from four tenths; anything in between is not reported. A value that is set only sometimes,
    but in rows that arrive regularly, is not an event. The finding is a note: keeping both together costs nothing that
    can be measured.

    ## Why it matters

    Metrics are aggregated by hour and day, compress well because their timestamps are predictable, and trigger an alert
    when they stop. Events are counted, kept as they are, and mean nothing when they are absent. In a shared
    measurement, neither can have a task or alert that suits it.

    ## Example

    A machine reports `temperature` every ten seconds and `alarm` when there is one, both in `machines`.

    ## Fix

    Write periodic samples and events to separate measurements with the same tags, so that both can be queried by
    machine.

    ## References

    - Metrics vs. events, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Different types of data in one table:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    for measurement in case.measurements:
        found = (_evaluated(case, measurement, part.rhythms) for part in measurement.parts if part.rhythms is not None)
        # There is only one finding per table, so the first one is enough.
        yield from itertools.islice(filter(None, found), 1)


def _evaluated(case: Case, measurement: Measurement, found: Rhythms) -> Finding | None:
    evaluated = [field for field in found.fields if field.regular + field.irregular]
    regular = [field for field in evaluated if _is_shown(case, measurement, field, field.regular)]
    irregular = [field for field in evaluated if _is_shown(case, measurement, field, field.irregular)]
    share = case.limit("min_share", measurement).value
    metrics = [field.field for field in regular if _irregular(field) <= share]
    events = [field.field for field in irregular if _irregular(field) >= 1 - share]
    if metrics and events:
        return _by_field(measurement, found, metrics, events)
    mixed = [field for field in regular if field in irregular]
    return _by_source(case, measurement, found, mixed) if mixed else None


def _is_shown(case: Case, measurement: Measurement, field: FieldRhythm, series: int) -> bool:
    """Whether this number of series is more than the few that may be irregular, or regular, by chance."""
    from tsaudit.analysis.rows.over_time import chance_of

    share = case.limit("min_share", measurement).value
    return chance_of(series, field.regular + field.irregular, share) < CHANCE


def _irregular(field: FieldRhythm) -> float:
    """The share of the evaluated series that are irregular, 0 to 1."""
    return field.irregular / (field.regular + field.irregular)


def _by_field(measurement: Measurement, found: Rhythms, metrics: Sequence[str], events: Sequence[str]) -> Finding:
    return Finding(
        subject=subject_of(measurement),
        message=f"{listed(metrics, 4)} arrive{'s' * (len(metrics) == 1)} at even intervals, "
        f"{listed(events, 4)} only when something happens: metrics and events share a measurement.",
        headline="Metrics and events share a measurement",
        fix=f"Leave {listed(metrics, 4)} where {'it is' if len(metrics) == 1 else 'they are'}.",
        changes=(SplitMeasurement(subject_of(measurement), f"{measurement.name}_events", tuple(events)),),
        observed=float(len(events)),
        unit="fields",
        main_contributor=events[0],
        evidence=_evidence(found.fields),
        facts=("row_sample",),
        source=found.source,
    )


def _by_source(case: Case, measurement: Measurement, found: Rhythms, mixed: Sequence[FieldRhythm]) -> Finding:
    most = max(mixed, key=lambda field: min(field.regular, field.irregular))
    evaluated = many(most.regular + most.irregular, "series")
    limit = case.limit("min_share", measurement)
    tag = found.parted_by
    events = metrics = ""
    parted: tuple[Evidence, ...] = ()
    if tag is not None:
        events, metrics = (
            listed([redact_unless_name(value) if value else "(none)" for value in side], 3)
            for side in (tag.irregular, tag.regular)
        )
        parted = (Evidence("separated by", tag.tag), Evidence("regular", metrics), Evidence("irregular", events))
    of = f" with {tag.tag} such as " if tag else ""
    return Finding(
        subject=subject_of(measurement),
        message=f"{most.field} arrives at even intervals in {percent(1 - _irregular(most))} of {evaluated}, only "
        f"when something happens in {percent(_irregular(most))}: metrics and events share a measurement"
        + (f", separated only by {tag.tag}." if tag else "."),
        headline="Metrics and events share a measurement" + (f", separated only by {tag.tag}" if tag else ""),
        fix=f"Write the irregular series{of}{events} to a {case.engine.words.measurement} of their own, such as "
        f"{measurement.name}_events, and leave the regular ones{of}{metrics} in {measurement.name}.",
        observed=_irregular(most),
        limit=limit,
        unit=limit.unit,
        main_contributor=tag.tag if tag else most.field,
        evidence=(*parted, *_evidence(mixed)),
        facts=("row_sample",),
        source=found.source,
    )


def _evidence(fields: Sequence[FieldRhythm]) -> tuple[Evidence, ...]:
    evaluated = [field for field in fields if field.regular + field.irregular]
    return tuple(
        Evidence(
            f"field {field.field}",
            f"regular in {many(field.regular, 'series')}"
            + (f" (every {number(field.interval_s)} s)" if field.interval_s else "")
            + f", irregular in {number(field.irregular)}",
        )
        for field in evaluated[:8]
    )
