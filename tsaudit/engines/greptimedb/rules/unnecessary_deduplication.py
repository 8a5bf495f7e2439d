"""STO009."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.analysis.columns.types import is_text
from tsaudit.engines.greptimedb.tables import deduplicates, event_columns, loss, loss_by_odds, lost_events, overwritten
from tsaudit.model.change import SetOption
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Field, Measurement, Tag
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent

_VALUES_PER_ROW: Final = 0.1
"""A lasting source has at least ten rows."""


@rule(
    code="STO009",
    title="Log lines are compared for duplicates",
    costs={Currency.OVERWRITTEN},
    guidelines=("E9",),
    requires={"options", "field_values"},
    uses={"stored_rows", "tag_values", "null_counts", "rhythms", "repeats"},
    thresholds=(
        Threshold(
            "max_overwritten_ratio",
            0.001,
            "share of the stored rows",
            "our default: more than occasional retries; rows are meant to replace others, or get lost",
        ),
    ),
)
def unnecessary_deduplication(case: Case) -> Iterator[Finding]:
    """Tables of events, such as log lines, that are not append-only.

    Events are recognized by text fields with log lines, documents, addresses, or IDs, or by such an ID in the key; if
    rows were overwritten, also by rows that come irregularly and of which several texts vary within a series, such as
    the lines of an access log; some of these may have been sent again, so that this is never critical. If files show
    that more than `max_overwritten_ratio` of the stored rows were written again, these rows are lost, and they are what
    the finding costs. Rows that were overwritten in memory, or already merged, are no longer visible. Where all times
    are whole seconds, the odds tell how many there were: if half of the seconds have a row of a source, a quarter of
    its events are gone. From a twentieth on, this is a warning. Otherwise it is a note: the comparison is useless, but
    nobody has published what it costs.

    ## Why it matters

    Every query merges and compares rows to keep one for each key and time. Two different lines of one source in the
    same millisecond count as the same row, and the first one is lost.

    ## Example

    `app_logs (app, ts, message)` with the key `app`, and `append_mode` left at its default.

    ## Fix

    Switch it to append-only. You cannot switch back, and afterwards rows can only be deleted by age.

    ## References

    - When to use append-only tables:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Table options: https://docs.greptime.com/reference/sql/alter/#alter-table-options
    """
    for measurement in case.measurements:
        rows = measurement.rows
        # Another rule covers tables without a key.
        if not measurement.tags or not deduplicates(measurement) or rows is None:
            continue
        named: list[Field | Tag] = [*event_columns(measurement), *_ids_in_key(measurement, rows.value)]
        if events := named or lost_events(measurement):
            yield _finding(case, measurement, events, is_certain=bool(named))


def _ids_in_key(measurement: Measurement, rows: int) -> list[Tag]:
    """Tags with an ID for each event: they keep every row apart, so that none is ever replaced.

    Beside nothing but numbers, such an ID names a source that did not last, and the rows are readings of it.
    """
    from tsaudit.analysis.cardinality import fleets
    from tsaudit.analysis.shapes import shapes

    if not any(is_text(data_type) for field in measurement.fields for data_type in field.types):
        return []
    return [
        tag
        for tag in measurement.tags
        if tag.values is not None
        and tag.values.value > _VALUES_PER_ROW * rows
        and shapes.classify(tag.sample).kind in shapes.IDENTIFIER_KINDS
        and not fleets.is_fleet(tag)
    ]


def _finding(case: Case, measurement: Measurement, events: Sequence[Field | Tag], *, is_certain: bool) -> Finding:
    """`is_certain`: the events are recognized by what their columns contain, not by their rhythm alone."""
    lost, stored = overwritten(measurement), measurement.stored
    limit = case.limit("max_overwritten_ratio", measurement)
    ratio = None if lost is None or stored is None else lost / stored.rows
    is_counted = ratio is not None and ratio > limit.value
    odds = loss_by_odds(measurement) if is_certain and not is_counted else None
    if odds is not None:
        said = f"its times are whole seconds, and as many of them have a row that about {many(odds.now, 'row')} of the "
        said += "same key and second must have been overwritten"
    elif ratio is None:
        said = "each query compares its rows for duplicates; whether there are any was not measured"
    elif ratio <= limit.value:
        said = "each query compares its rows for duplicates, and their files contain almost none"
    else:
        said = f"{percent(ratio)} of the rows in its files are hidden, because others have the same key and time"
    evidence = [Evidence("columns that say what each event is", listed([f.key for f in events]))]
    if lost is not None and stored is not None:
        evidence.append(
            Evidence("rows in files that others overwrote, at least", f"{number(lost)} of {number(stored.rows)}")
        )
    return Finding(
        subject=subject_of(measurement),
        impact=loss(measurement, is_certain=is_certain) if is_counted else odds,
        message=f"The table contains events and is not append-only: {said}.",
        changes=(SetOption(subject_of(measurement), "append_mode", "true"),),
        fix="Do so where no row is ever written again or deleted: what a sender's retry repeats stays from then on.",
        observed=None if odds else ratio,
        limit=limit,
        unit=limit.unit,
        samples=events[0].sample[:3],
        evidence=tuple(evidence),
        facts=("options", "field_values", "stored_rows", "null_counts", "repeats"),
        source=measurement.rows.source if measurement.rows else None,
    )
