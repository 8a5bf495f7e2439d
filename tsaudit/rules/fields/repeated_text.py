"""FLD005."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import is_of_loader, is_reference
from tsaudit.analysis.significance import ENOUGH, WORTH_MOVING
from tsaudit.engines.quoting import Qualified
from tsaudit.model.figures import TableKind
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import EqualColumns, RepeatedColumns, RowBytes
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.text import listed, many, number, percent, size

_OF_LOADER: Final = "the program that loads the table fixes its columns"
_REFERENCE_BYTES: Final = 4
_LEAST_PART: Final = 0.1
"""Share of what costs most of a table from which on something is worth a finding beside it."""


@rule(
    code="FLD005",
    title="Rows repeat a text",
    costs={Currency.BYTES},
    guidelines=("C1",),
    follows_from={"NAM004": Reach.SUBJECT},
    requires={"field_types", "field_values"},
    uses={"repeated_columns", "null_counts", "table_status", "row_estimate", "storage"},
    shows={"row_count"},
    engines=lambda engine: engine.repeats_texts,
)
def repeated_text(case: Case) -> Iterator[Finding]:
    """Texts and documents that row after row contains again, where each row stores its own.

    Whatever a table contains, columns of texts, JSON, or arrays are reported whose values, taken together, come ten
    times or more among the rows read, and take 32 bytes of each row; and so are texts that are the same as another one
    in nearly all rows. The cost is their bytes in all rows, without those of a reference; in what looks like a queue,
    those of today. Where rows have begun to have them, as after a deploy, and the audits of two days saw it, the rows
    to come are expected to be as the newest ones. Copies of rows and IDs do not count: an ID is the reference. Tables
    that TimescaleDB compresses are left out, and what a product repeats in tables that it loads, such as Fivetran,
    Segment, or Snowplow, is a note: it fixes their columns.

    ## Why it matters

    The texts take a large part of the table, on the disk and in memory, and each query that scans rows reads them.

    ## Example

    `messages` with the tags of a device as JSON of 135 bytes in each of 28,800 rows a day, 1.4 GB a year: there are 24
    different ones.

    ## Fix

    Keep the texts in a table of their own, and refer to them.

    ## References

    - What a text takes in a row: https://www.postgresql.org/docs/current/datatype-character.html
    """
    for measurement in case.measurements:
        yield from _repeated(case, measurement)


def _repeated(case: Case, measurement: Measurement) -> Iterator[Finding]:
    """One finding for each group of texts and documents that rows repeat, if all repetition together takes up a
    significant part of the table.
    """
    read, count_ = measurement.row_bytes, measurement.rows_total or measurement.rows
    if read is None or count_ is None or read.rows < ENOUGH or measurement.is_compressed:
        return
    # Those that are stored twice go as a whole, which another rule asks for.
    copies = measurement.copies
    all_rows = round(count_.value * (1 - (copies.copies / copies.rows if copies else 0)))
    found: list[tuple[Impact, Callable[[Impact], Finding]]] = []
    for group in _groups(read.repeated):
        # IDs stay in the table, and so does a short column with a different value for each combination of the others,
        # which can identify it.
        references = {name for name in group.columns if is_reference(name, read.newest(name))}
        short = {name for name in group.keys if name in read.columns and read.newest(name) < WORTH_MOVING}
        key = next((name for name in reversed(group.keys) if name in short | references), "")
        names = sorted(group.columns.keys() - references - {key})
        width, newest = sum(map(read.of, names)), sum(map(read.newest, names))
        if newest < WORTH_MOVING:
            continue
        reference = 0 if key else _REFERENCE_BYTES
        rows, each = max(all_rows - group.combinations, 0), max(width - reference, 0.0)
        how = f"{number(all_rows)} rows with {_rounded(width)} bytes of them, of which a reference needs {reference}"
        impact = costs.of_bytes(case, measurement, rows * each, how=how)
        if newest > width and all_rows:
            # So will the rows to come.
            row = (impact.whole or 0.0) / all_rows + sum(map(read.newest, read.columns)) - read.total
            growth = costs.rows_growth(case, measurement)
            per_day = impact.per_day if growth is None else rows * growth * (newest - reference)
            impact = replace(impact, per_day=per_day, added_share=(newest - reference) / max(row, newest))
        found.append((impact, partial(_of_repeated, case, measurement, group, key, names)))
    for pair in read.equal:
        width = read.of(pair.column) * pair.share
        impact = costs.of_bytes(
            case,
            measurement,
            all_rows * width,
            how=f"{number(all_rows)} rows with {_rounded(width)} bytes of it",
        )
        found.append((impact, partial(_of_equal, measurement, read, pair)))
    if sum(max(impact.share or 0.0, impact.added_share or 0.0) for impact, _ in found) < case.harm.min_bytes_share:
        return
    least = _LEAST_PART * max(impact.now for impact, _ in found)
    is_loaded = any(map(is_of_loader, measurement.columns))
    for impact, finding_of in found:
        cost = replace(
            impact, per_day=0.0 if measurement.kind is TableKind.QUEUE else impact.per_day, is_saved_by_writer=True
        )
        if cost.now >= least and cost.after(case.harm.horizon.days) >= costs.FEW_BYTES:
            finding = finding_of(cost)
            yield replace(finding, impact=None, severity_reason=_OF_LOADER) if is_loaded else finding


def _of_equal(measurement: Measurement, read: RowBytes, pair: EqualColumns, impact: Impact) -> Finding:
    width = read.of(pair.column) * pair.share
    return Finding(
        subject=subject_of(measurement, pair.column),
        impact=impact,
        basis=Basis.MEASURED,
        message=f"{pair.column} is the same as {pair.other} in {percent(pair.share)} of {many(read.rows, 'row')} read: "
        f"{_rounded(width)} bytes a row, {percent(impact.share or 0.0)} of the table.",
        fix=f"Write {pair.column} only where it differs, or do not write rows in which nothing changed.",
        observed=pair.share,
        unit="share of the rows read",
        main_contributor=pair.column,
        evidence=_shares(read, [pair.column], impact),
        facts=("field_values", "table_status", "row_estimate", "storage"),
        source=read.source,
    )


def _groups(repeated: Sequence[RepeatedColumns]) -> list[RepeatedColumns]:
    """The groups; all columns that are the same in all rows are one: what they take together is one bill."""
    constant = [group for group in repeated if group.combinations == 1]
    others = [group for group in repeated if group.combinations > 1]
    if len(constant) < 2:
        return list(repeated)
    columns = {name: kind for group in constant for name, kind in group.columns.items()}
    return [RepeatedColumns(columns, 1), *others]


def _of_repeated(
    case: Case, measurement: Measurement, group: RepeatedColumns, key: str, names: Sequence[str], impact: Impact
) -> Finding:
    """`names`: of the columns that repeat, without the key, in the order of the alphabet: their bytes change from
    sample to sample, and the first one is the finding's subject.
    """
    read = measurement.row_bytes
    assert read is not None
    width, share = sum(map(read.of, names)), f"{percent(impact.share or 0.0)} of the table"
    bytes_ = f"{_rounded(width)} bytes a row, {share}"
    if impact.added_share is not None:
        newest = _rounded(sum(map(read.newest, names)))
        bytes_ = f"{newest} bytes a row by now, {percent(impact.added_share)} of what is added, and {share}"
    kept = {name: kind for name, kind in group.columns.items() if name in names}
    columns = {key: group.columns[key], **kept} if key else {"id": "INTEGER", **kept}
    own_names = {name: name for name in columns if name not in read.parts}
    for name in filter(read.parts.__contains__, columns):
        own = name.replace(".", "_")
        while own.lower() in map(str.lower, own_names.values()):
            own += "_"
        own_names[name] = own
    first, *others = (f"{case.quoted([own_names[name]])} {kind or 'TEXT'}" for name, kind in columns.items())
    own = case.quoted([Qualified(measurement.database, f"{measurement.name}_{own_names[names[0]]}")])
    table = f"CREATE TABLE {own} ({', '.join([f'{first} PRIMARY KEY', *others])})"
    fix = f"Keep each once, in a table of its own, and only {key or 'its id'} in {measurement.name}: `{table}`."
    parts = [name for name in names if name in read.parts]
    if parts and group.combinations > 1:
        fix += f" Leave {'that part' if len(parts) == 1 else 'those parts'} out of the documents."
    if group.combinations == 1:
        fix = "All rows read have the same: stop writing it, or keep it once, elsewhere."
    each = f", the same for each of {many(group.combinations, 'value')} of {key},"
    depends = each if key else f", {_distinct(group)}"
    return Finding(
        subject=subject_of(measurement, names[0]),
        impact=impact,
        basis=Basis.MEASURED,
        message=f"Each row repeats {listed(names)}{depends} in {many(read.rows, 'row')} read: {bytes_}.",
        fix=f"{fix} A view that joins the two shows queries the same {'documents' if parts else 'columns'}.",
        observed=group.combinations,
        unit="distinct values" if len(group.columns) == 1 else "combinations",
        main_contributor=names[0],
        evidence=_shares(read, names, impact),
        facts=("field_values", "table_status", "row_estimate", "storage"),
        source=read.source,
    )


def _shares(read: RowBytes, names: Sequence[str], impact: Impact) -> tuple[Evidence, ...]:
    """What these columns take of a row, and of the table."""
    return (
        *(Evidence(f"bytes of {name} in a row", _rounded(read.of(name))) for name in names),
        *(
            Evidence(f"bytes of {name} in one of the newest rows", _rounded(read.newest(name)))
            for name in names
            if read.newest(name) > read.of(name)
        ),
        Evidence("bytes of all columns in a row", _rounded(read.total)),
        Evidence("avoidable storage", size(round(impact.now))),
    )


def _rounded(width: float) -> str:
    return number(round(width)) if width >= 1000 else f"{width:.3g}"


def _distinct(group: RepeatedColumns) -> str:
    return many(group.combinations, "distinct value" if len(group.columns) == 1 else "combination")
