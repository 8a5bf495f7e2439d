"""STO006."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.analysis.columns.types import is_text
from tsaudit.engines.greptimedb.tables import (
    deduplicates,
    event_columns,
    loss,
    loss_by_odds,
    option,
    overwritten,
    sources_outside_key,
)
from tsaudit.model.change import Change, MakeTag, SetOption
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Field, Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent


@rule(
    code="STO006",
    title="Rows overwrite each other",
    costs={Currency.OVERWRITTEN},
    guidelines=("E2", "E9"),
    requires={"options", "columns"},
    uses={"field_values", "stored_rows", "null_counts", "repeats"},
    # These say why rows of one key and time were written.
    follows_from={"STO009": Reach.SUBJECT, "STO011": Reach.SUBJECT},
    thresholds=(
        Threshold(
            "max_overwritten_ratio",
            0.01,
            "share of the stored rows",
            "our default: in tables with a key, fewer are what senders repeat after an error",
        ),
    ),
)
def overwritten_rows(case: Case) -> Iterator[Finding]:
    """Tables that are not append-only and have no primary key, or in which more than `max_overwritten_ratio` of the
    stored rows were overwritten by others with the same key and time.

    Rows are lost if files contain rows that a query does not return, which `information_schema.ssts_manifest` shows
    from version 1.0 on. Rows that other rows overwrote in memory, before they reached a file, leave no trace; but of
    events whose times are whole seconds, the odds tell how many there were. Without either, the finding is a note.

    With a key, nothing shows whether the rows were the same ones, sent again, or corrections, or those of another
    source. If a text that is called like a device varies within the rows of one key, they are those of several sources:
    a loss, of which nobody knows the share. Otherwise it is a note. With `merge_mode` `last_non_null`, such rows are
    meant to complete each other.

    ## Why it matters

    Key and time identify a row. Without a key, or with one that lacks the column that names the source, two rows in the
    same millisecond are the same row, and the first is lost without an error.

    ## Example

    `CREATE TABLE logs (ts TIMESTAMP TIME INDEX, message STRING)`: of ten messages in one millisecond, nine are lost.

    ## Fix

    Make the table append-only, or give it a key that identifies its rows.

    ## References

    - Deduplication and append-only tables:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        if not measurement.fields or not deduplicates(measurement):
            continue
        if not measurement.tags:
            yield _finding(measurement)
        elif option(measurement, "merge_mode") != "last_non_null":
            yield from _keyed(case, measurement)


def _keyed(case: Case, measurement: Measurement) -> Iterator[Finding]:
    """With a key, too many rows of which were overwritten."""
    lost, stored, limit = overwritten(measurement), measurement.stored, case.limit("max_overwritten_ratio", measurement)
    if lost is None or stored is None or lost <= limit.value * stored.rows:
        return
    sources = [field.key for field in sources_outside_key(measurement)]
    key = listed([tag.key for tag in measurement.tags])
    yield Finding(
        subject=subject_of(measurement),
        impact=loss(measurement, is_certain=False) if sources else None,
        message=f"{percent(lost / stored.rows)} of the stored rows were overwritten by others with the same {key} and "
        f"time{f', though {listed(sources, 4)} may differ' if sources else ''}.",
        fix="Look for writers that send the same key and time. Repeats and corrections do no harm. If several sources "
        f"share a {key}, add the column that names the source to the key; if each row is an event, use append_mode.",
        observed=lost / stored.rows,
        limit=limit,
        unit=limit.unit,
        evidence=(
            Evidence("key", key),
            Evidence("append_mode", "false"),
            Evidence("rows in files that others overwrote, at least", f"{number(lost)} of {number(stored.rows)}"),
            *([Evidence("names of sources that vary within a key", listed(sources, 4))] if sources else []),
        ),
        facts=("options", "columns", "field_values", "stored_rows", "null_counts"),
        source=measurement.rows.source if measurement.rows else None,
    )


def _finding(measurement: Measurement) -> Finding:
    lost = overwritten(measurement)
    several = [f for f in measurement.fields if _has_several(f)]
    events = [f.key for f in event_columns(measurement)]
    source = next((f.key for f in several if f.key not in events), "")
    seen = f" {many(lost, 'stored row')} can no longer be read." if lost else ""
    evidence = [Evidence("key", "none"), Evidence("append_mode", "false")]
    if texts := [*events, *(f.key for f in several)]:
        evidence.append(Evidence("texts that may identify rows", listed(list(dict.fromkeys(texts)), 8)))
    if lost:
        evidence.append(Evidence("rows in files that others overwrote, at least", number(lost)))
    return Finding(
        subject=subject_of(measurement),
        impact=loss(measurement) or (loss_by_odds(measurement) if events else None),
        message="The table has no key and is not append-only: rows with the same time overwrite each other"
        + (f".{seen}" if seen else ", which is correct for a single source only." if not several else "."),
        changes=_changes(measurement, source, bool(events), bool(lost)),
        fix=_advice(source, bool(events)),
        observed=lost or None,
        unit="rows" if lost else "",
        evidence=tuple(evidence),
        facts=("options", "columns", "field_values", "stored_rows", "null_counts", "repeats"),
        source=measurement.rows.source if measurement.rows else None,
    )


def _changes(measurement: Measurement, source: str, has_events: bool, has_lost: bool) -> tuple[Change, ...]:
    """A key of the column that may say which source a row is of; of events each row counts."""
    subject = subject_of(measurement)
    if source and not has_events:
        return (MakeTag(subject, source),)
    return (SetOption(subject, "append_mode", "true"),) if has_events or has_lost else ()


def _advice(source: str, has_events: bool) -> str:
    if source and not has_events:
        return f"{source} says which source a row is of, by its values. What was overwritten has to be written again."
    if has_events:
        return "What was overwritten has to be written again."
    return "If rows of several sources are to come, add a column that names the source to the key before."


def _has_several(field: Field) -> bool:
    return any(map(is_text, field.types)) and field.distinct is not None and field.distinct.value > 1
