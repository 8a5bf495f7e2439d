"""STO006."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import is_text
from tsaudit.analysis.significance import REPEATS
from tsaudit.engines.greptimedb import tables
from tsaudit.model.change import Change, DropRepeats, MakeTag, SetOption
from tsaudit.model.columns import Field, Tag
from tsaudit.model.finding import Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, number, percent

_RETRIES: Final = 0.001
"""Maximum share of the stored rows that retries after errors usually write again."""
_PARTS: Final = 0.1
"""Minimum share of the rows read that lack fields which others fill: fewer are exceptions."""


@rule(
    code="STO006",
    title="Rows of one key and time are lost, or kept twice",
    costs={Currency.OVERWRITTEN, Currency.ANSWERS},
    guidelines=("E2", "E9", "E10"),
    requires={"options", "columns"},
    uses={
        "field_values",
        "indexes",
        "null_counts",
        "null_ratios",
        "row_sample",
        "row_patterns",
        "stored_rows",
        "tag_values",
    },
)
def rows_of_one_key(case: Case) -> Iterator[Finding]:
    """Tables in which several rows have the same key and time, and the table handles these in an unsuitable way.

    Rows are lost if files contain rows that a query does not return, which `information_schema.ssts_manifest` shows
    from version 1.0 on. Rows that were overwritten in memory, or already merged, leave no trace; but if all times are
    whole seconds, the number of events can be estimated: if half of the seconds have a row of a source, about a quarter
    of its events are lost. A loss of 5% or more is a warning. Without either, the finding is a note. Reported is one of
    these:

    - An append-only table in which `harm.max_overwritten_share` of the rows read, and at least 20, equal another one in
      all columns, and three times as many as chance would make equal. They give wrong answers, which is a warning, if
      even an ID is the same, or if they are in periods in which nearly all rows are there equally often, as when a
      batch is sent again. Otherwise they may be events of their own. Of a table with a key and otherwise only numbers,
      rows with the same key and time are enough for a note.
    - A table of events that is not append-only. Events are recognized by text fields with log lines, documents,
      addresses, or IDs, or by such an ID in the key; if rows were overwritten, also by rows that arrive irregularly and
      have several texts that vary within a series. Some of these may have been sent twice, so this is never critical.
    - Parts of rows with `merge_mode` `last_row`: more than 0.1% of the rows in files were written again, and of the
      rows read a tenth lack fields that others fill, in groups without a common field.
    - A table without a key: rows of several sources overwrite each other.
    - A key with more than `harm.max_overwritten_share` of overwritten rows. If a text field that is named like a device
      varies within the rows of one key, these rows are from several sources: a loss, whose share is not known.
      Otherwise they may be corrections, and the finding is a note.

    ## Why it matters

    Key and time identify a row. Without a key, or with one that lacks the column that names the source, two rows in the
    same millisecond are the same row, and the first is lost without an error. `last_row` loses the values of earlier
    parts of a row. An append-only table keeps everything: a sender that repeats a batch it believes lost doubles every
    sum and count.

    ## Example

    `CREATE TABLE logs (ts TIMESTAMP TIME INDEX, message STRING)`: of ten messages in one millisecond, nine are lost.
    `payments` with `append_mode = 'true'`: after a timeout the batch is sent again, and the day's revenue is doubled.

    ## Fix

    Events: append-only, which cannot be undone. Readings: a key that identifies the source. Parts of rows:
    `last_non_null`, or write complete rows.

    ## References

    - Deduplication, merging, and append-only tables:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Table options: https://docs.greptime.com/reference/sql/alter/#alter-table-options
    """
    for measurement in case.measurements:
        finding = _repeated(case, measurement) if tables.is_append_only(measurement) else None
        if tables.deduplicates(measurement):
            finding = (
                _of_events(measurement)
                or _partial(measurement)
                or _without_key(measurement)
                or _keyed(case, measurement)
            )
        if finding is not None:
            yield finding


# --- Kept twice -------------------------------------------------------------------------------------------------------


def _repeated(case: Case, measurement: Measurement) -> Finding | None:
    seen, found = measurement.repeats, measurement.copies
    if seen is None or found is None:
        return None
    subject, impact = subject_of(measurement), None
    # If values are numbers, the row that was written last is correct; each text, however, may be an event of its own.
    is_of_numbers = measurement.tags and not any(is_text(t) for f in measurement.fields for t in f.types)
    changes: tuple[Change, ...] = (SetOption(subject, "append_mode", "false"),)
    fix = "Have the sender write each row once, too."
    if costs.are_many_copies(case, found.copies, found):
        repeated, same, impact = found.copies, "are the same in all columns as", costs.of_copies(case, found)
        if not is_of_numbers:
            # Without an ID, rows outside the batch may be events of their own that look the same.
            again = f"{number(repeated)} of {many(found.rows, 'row')} read"
            changes = (DropRepeats(subject, again),) if found.key else ()
            fix = "" if changes else "If they were sent twice, have the sender write each row once."
    elif is_of_numbers and seen.repeated > case.harm.max_overwritten_share * seen.rows:
        repeated, same = seen.repeated, "have the key and time of"
    else:
        return None
    share = repeated / seen.rows
    return Finding(
        subject=subject,
        impact=impact,
        message=f"{percent(share)} of the {many(seen.rows, 'row')} read {same} another one, and all of them are kept.",
        changes=changes,
        fix=fix,
        observed=share,
        unit="share of the rows read",
        evidence=(
            Evidence("rows with the key and time of another", f"{number(seen.repeated)} of {number(seen.rows)}"),
            Evidence("rows that are the same in all columns", f"{number(found.copies)} of {number(found.rows)}"),
            Evidence("key", listed(tables.primary_key(measurement))),
        ),
        facts=("options", "row_sample", "indexes"),
        source=found.source,
    )


# --- Events -----------------------------------------------------------------------------------------------------------


def _of_events(measurement: Measurement) -> Finding | None:
    rows = measurement.rows
    if not measurement.tags or rows is None:
        return None
    named: list[Field | Tag] = [*tables.event_columns(measurement), *_ids_in_key(measurement, rows.value)]
    events = named or tables.lost_events(measurement)
    return _finding(measurement, events, is_certain=bool(named)) if events else None


def _ids_in_key(measurement: Measurement, rows: int) -> list[Tag]:
    """Tags with an ID for each event: they make every row distinct, so that none is ever replaced.

    If all fields are numbers, such an ID identifies a short-lived source instead, and the rows are its readings.
    """
    from tsaudit.analysis.cardinality import fleets
    from tsaudit.analysis.shapes import shapes

    if not any(is_text(data_type) for field in measurement.fields for data_type in field.types):
        return []
    return [
        tag
        for tag in measurement.tags
        if tag.values is not None
        and tag.values.value * REPEATS > rows
        and shapes.classify(tag.sample).kind in shapes.IDENTIFIER_KINDS
        and not fleets.is_fleet(tag)
    ]


def _finding(measurement: Measurement, events: Sequence[Field | Tag], *, is_certain: bool) -> Finding:
    """`is_certain`: whether the contents of columns show the events, not only their irregular times."""
    lost, stored = tables.overwritten(measurement), measurement.stored
    ratio = None if lost is None or stored is None else lost / stored.rows
    is_counted = ratio is not None and ratio > _RETRIES
    odds = tables.loss_by_odds(measurement) if is_certain and not is_counted else None
    if odds is not None:
        said = f"its times are whole seconds, and as many of them have a row that about {many(odds.now, 'row')} of the "
        said += "same key and second must have been overwritten"
    elif ratio is None:
        said = "each query compares its rows for duplicates; whether there are any was not measured"
    elif ratio <= _RETRIES:
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
        impact=tables.loss(measurement, is_certain=is_certain) if is_counted else odds,
        message=f"The table contains events and is not append-only: {said}.",
        changes=(SetOption(subject_of(measurement), "append_mode", "true"),),
        fix="Do so where no row is ever written again or deleted: what a sender's retry repeats stays from then on.",
        observed=None if odds else ratio,
        unit="share of the stored rows",
        samples=events[0].sample[:3],
        evidence=tuple(evidence),
        facts=("options", "field_values", "stored_rows", "null_counts", "row_sample"),
        source=measurement.rows.source if measurement.rows else None,
    )


# --- Parts of rows ----------------------------------------------------------------------------------------------------


def _partial(measurement: Measurement) -> Finding | None:
    lost, stored, seen = tables.overwritten(measurement), measurement.stored, measurement.row_patterns
    if not lost or stored is None or seen is None or lost < _RETRIES * stored.rows:
        return None
    # Log lines of different kinds are not parts of one row.
    if tables.option(measurement, "merge_mode") == "last_non_null" or tables.lost_events(measurement):
        return None
    groups, partial = _parts(measurement)
    empty = [f.key for f in measurement.fields if f.null_ratio is not None and f.null_ratio.value == 1]
    if len(groups) >= 2 and partial >= _PARTS * seen.rows:
        said = f"rows fill {listed([' and '.join(g) for g in groups], 4)} separately"
    elif empty and lost >= _PARTS * stored.rows:
        partial = seen.rows
        said = f"no row read has a value of {listed(empty, 4)}"
    else:
        return None
    return Finding(
        subject=subject_of(measurement),
        impact=tables.loss(measurement),
        message=f"Merge mode last_row loses values: {said}, and {percent(lost / stored.rows)} of the stored rows were "
        "replaced by another with the same key and time.",
        changes=(SetOption(subject_of(measurement), "merge_mode", "last_non_null"),),
        fix="Parts of one row are merged by last_non_null. What was replaced has to be written again.",
        observed=lost / stored.rows,
        unit="share of the stored rows",
        evidence=(
            Evidence("merge_mode", tables.option(measurement, "merge_mode") or "last_row, by default"),
            Evidence("rows in files that others overwrote, at least", f"{number(lost)} of {number(stored.rows)}"),
            Evidence("rows that lack a field others fill", f"{number(partial)} of {number(seen.rows)}"),
        ),
        facts=("options", "stored_rows", "row_patterns"),
        source=seen.source,
    )


def _parts(measurement: Measurement) -> tuple[list[tuple[str, ...]], int]:
    """Groups of fields such that rows fill only those of one group, and the number of rows that do so."""
    fields = {f.key for f in measurement.fields}
    patterns = measurement.row_patterns.patterns if measurement.row_patterns else ()
    filled = [(tuple(c for c in p.columns if c in fields), p.rows) for p in patterns]
    alone = [
        (group, rows)
        for group, rows in filled
        if group and any(other and not set(group) & set(other) for other, _ in filled)
    ]
    return list(dict.fromkeys(group for group, _ in alone)), sum(rows for _, rows in alone)


# --- Sources ----------------------------------------------------------------------------------------------------------


def _keyed(case: Case, measurement: Measurement) -> Finding | None:
    """The finding for a table with a key, of whose rows too many were overwritten."""
    lost, stored = tables.overwritten(measurement), measurement.stored
    if not measurement.fields or tables.option(measurement, "merge_mode") == "last_non_null":
        return None
    if lost is None or stored is None or lost <= case.harm.max_overwritten_share * stored.rows:
        return None
    sources = [field.key for field in tables.sources_outside_key(measurement)]
    key = listed([tag.key for tag in measurement.tags])
    return Finding(
        subject=subject_of(measurement),
        impact=tables.loss(measurement, is_certain=False) if sources else None,
        message=f"{percent(lost / stored.rows)} of the stored rows were overwritten by others with the same {key} and "
        f"time{f', though {listed(sources, 4)} may differ' if sources else ''}.",
        fix="Look for writers that send the same key and time. Repeats and corrections do no harm. If several sources "
        f"share a {key}, add the column that names the source to the key; if each row is an event, use append_mode.",
        observed=lost / stored.rows,
        unit="share of the stored rows",
        evidence=(
            Evidence("key", key),
            Evidence("append_mode", "false"),
            Evidence("rows in files that others overwrote, at least", f"{number(lost)} of {number(stored.rows)}"),
            *([Evidence("names of sources that vary within a key", listed(sources, 4))] if sources else []),
        ),
        facts=("options", "columns", "field_values", "stored_rows", "null_counts"),
        source=measurement.rows.source if measurement.rows else None,
    )


def _without_key(measurement: Measurement) -> Finding | None:
    if measurement.tags or not measurement.fields:
        return None
    lost = tables.overwritten(measurement)
    several = [f for f in measurement.fields if _has_several(f)]
    events = [f.key for f in tables.event_columns(measurement)]
    source = next((f.key for f in several if f.key not in events), "")
    seen = f" {many(lost, 'stored row')} can no longer be read." if lost else ""
    changes: tuple[Change, ...] = ()
    fix = "If rows of several sources are to come, add a column that names the source to the key before."
    if source and not events:
        changes = (MakeTag(subject_of(measurement), source),)
        fix = f"{source} says which source a row is of, by its values. What was overwritten has to be written again."
    elif events or lost:
        changes = (SetOption(subject_of(measurement), "append_mode", "true"),)
        fix = "What was overwritten has to be written again." if events else fix
    evidence = [Evidence("key", "none"), Evidence("append_mode", "false")]
    if texts := [*events, *(f.key for f in several)]:
        evidence.append(Evidence("texts that may identify rows", listed(list(dict.fromkeys(texts)), 8)))
    if lost:
        evidence.append(Evidence("rows in files that others overwrote, at least", number(lost)))
    return Finding(
        subject=subject_of(measurement),
        impact=tables.loss(measurement) or (tables.loss_by_odds(measurement) if events else None),
        message="The table has no key and is not append-only: rows with the same time overwrite each other"
        + (f".{seen}" if seen else ", which is correct for a single source only." if not several else "."),
        changes=changes,
        fix=fix,
        observed=lost or None,
        unit="rows" if lost else "",
        evidence=tuple(evidence),
        facts=("options", "columns", "field_values", "stored_rows", "null_counts", "row_sample"),
        source=measurement.rows.source if measurement.rows else None,
    )


def _has_several(field: Field) -> bool:
    return any(map(is_text, field.types)) and field.distinct is not None and field.distinct.value > 1
