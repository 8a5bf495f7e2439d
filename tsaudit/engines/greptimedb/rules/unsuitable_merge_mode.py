"""STO011."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.greptimedb.tables import deduplicates, loss, lost_events, option, overwritten
from tsaudit.model.change import SetOption
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, number, percent


@rule(
    code="STO011",
    title="The merge mode does not fit the writes",
    costs={Currency.OVERWRITTEN},
    guidelines=("E10",),
    requires={"options", "null_ratios", "row_patterns"},
    uses={"stored_rows", "rhythms"},
    thresholds=(
        Threshold(
            "min_overwritten_ratio",
            0.001,
            "share of the stored rows",
            "our default: less is a sender's retry, not its normal way of writing",
        ),
        Threshold(
            "min_partial_ratio",
            0.1,
            "share of the rows read",
            "our default: fields that are regularly absent in some rows",
        ),
    ),
)
def unsuitable_merge_mode(case: Case) -> Iterator[Finding]:
    """Tables that keep the last row although their writers send partial rows, and the other way round.

    With `last_row`, rows that others overwrote lost values if `min_overwritten_ratio` of the rows in files were written
    again, and the rows read are partial: `min_partial_ratio` of them lack fields that others fill, in groups without a
    common field. If that share of the rows in files were written again, a field that is empty in all rows read shows it
    as well: one part always comes last. These rows are what the finding costs. With `last_non_null`, it is
    a note if no row read lacks a field and files do not show that rows were merged. If nobody knows, only the writers
    can say whether they send partial rows.

    ## Why it matters

    `last_row` keeps the row that was written last, including its nulls, and loses the values of earlier parts.
    `last_non_null` checks each field of each version, which slows down queries for nothing if rows are complete.

    ## Example

    One job writes `cpu` of a host and minute, another writes `memory` of the same: with `last_row`, only one of them is
    kept.

    ## Fix

    Use `last_non_null` for partial rows and `last_row` for complete rows, or write complete rows.

    ## References

    - Updating and merging:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        rows = measurement.rows
        if not deduplicates(measurement) or rows is None or not rows.value:
            continue
        if option(measurement, "merge_mode") == "last_non_null":
            nulls = [f.null_ratio for f in measurement.fields]
            is_whole = bool(nulls) and all(ratio is not None and ratio.value == 0 for ratio in nulls)
            # Where rows were written again, they may be whole because their parts were merged.
            if is_whole and not overwritten(measurement):
                yield _whole(measurement)
        elif not lost_events(measurement):
            # Lines of different kinds are no parts of one row.
            yield from _partial(case, measurement)


def _whole(measurement: Measurement) -> Finding:
    is_known = overwritten(measurement) is not None
    return Finding(
        subject=subject_of(measurement),
        message="Merge mode last_non_null, and no row read lacks a field.",
        changes=(SetOption(subject_of(measurement), "merge_mode", "last_row"),) if is_known else (),
        fix="If its writers send whole rows, last_row does the same with less work.",
        evidence=(
            Evidence("merge_mode", "last_non_null"),
            Evidence("fields without nulls", listed([f.key for f in measurement.fields])),
        ),
        facts=("options", "null_ratios"),
        source=measurement.rows.source if measurement.rows else None,
    )


def _partial(case: Case, measurement: Measurement) -> Iterator[Finding]:
    lost, stored, seen = overwritten(measurement), measurement.stored, measurement.row_patterns
    limit = case.limit("min_overwritten_ratio", measurement)
    if not lost or stored is None or seen is None or lost < limit.value * stored.rows:
        return
    groups, partial = _parts(measurement)
    empty = [f.key for f in measurement.fields if f.null_ratio is not None and f.null_ratio.value == 1]
    if len(groups) >= 2 and partial >= case.limit("min_partial_ratio", measurement).value * seen.rows:
        said = f"rows fill {listed([' and '.join(g) for g in groups], 4)} separately"
    elif empty and lost >= case.limit("min_partial_ratio", measurement).value * stored.rows:
        partial = seen.rows
        said = f"no row read has a value of {listed(empty, 4)}"
    else:
        return
    yield Finding(
        subject=subject_of(measurement),
        impact=loss(measurement),
        message=f"Merge mode last_row loses values: {said}, and {percent(lost / stored.rows)} of the stored rows were "
        "replaced by another with the same key and time.",
        changes=(SetOption(subject_of(measurement), "merge_mode", "last_non_null"),),
        fix="Parts of one row are merged by last_non_null. What was replaced has to be written again.",
        observed=lost / stored.rows,
        limit=limit,
        unit=limit.unit,
        evidence=(
            Evidence("merge_mode", option(measurement, "merge_mode") or "last_row, by default"),
            Evidence("rows in files that others overwrote, at least", f"{number(lost)} of {number(stored.rows)}"),
            Evidence("rows that lack a field others fill", f"{number(partial)} of {number(seen.rows)}"),
        ),
        facts=("options", "stored_rows", "row_patterns"),
        source=seen.source,
    )


def _parts(measurement: Measurement) -> tuple[list[tuple[str, ...]], int]:
    """Groups of fields that rows fill without those of another group, and the number of rows that do so."""
    fields = {f.key for f in measurement.fields}
    patterns = measurement.row_patterns.patterns if measurement.row_patterns else ()
    filled = [(tuple(c for c in p.columns if c in fields), p.rows) for p in patterns]
    alone = [
        (group, rows)
        for group, rows in filled
        if group and any(other and not set(group) & set(other) for other, _ in filled)
    ]
    return list(dict.fromkeys(group for group, _ in alone)), sum(rows for _, rows in alone)
