"""DOC012."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from tsaudit import costs
from tsaudit.engines.mongodb.collections import ConvertToDates
from tsaudit.model.change import Change, ChangeType, Diagnose
from tsaudit.model.columns import Field, ValuesOfType
from tsaudit.model.figures import with_zone
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Documents
from tsaudit.model.storage import Index
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, number, percent, rounded, size

_GRACE: Final = timedelta(hours=1)
"""Grace period: the server looks for expired documents each minute."""
_FEW: Final = 0.02
"""Share of the documents read: if fewer are overdue, they are about to be removed."""
_NEVER: Final = timedelta(days=3_650)
"""Documents that expire later than this are kept for longer than a disk lasts: nobody plans to remove them then."""
_READ: Final = frozenset({"date", "array"})
"""Types of values that may contain a date, where no more is known."""


@rule(
    code="DOC012",
    title="A TTL index does not remove documents",
    costs={Currency.BYTES, Currency.MECHANISM},
    guidelines=("H3",),
    requires={"indexes", "documents"},
)
def ineffective_expiry(case: Case) -> Iterator[Finding]:
    """TTL indexes with which the server removes no documents, or not all, although documents have expired.

    Reported are indexes on a field that contains no date in any document read, but numbers or texts; indexes on a field
    that is a date in some documents and a number, text, or array without a time in others, which cost the bytes of
    those; indexes on a field that no document has, while another one has nearly the same name; documents that are still
    there an hour after they expired, which shows that the server does not remove them, or not fast enough; and
    collections in which all documents read expire in more than ten years, by the times in them. If no document has the
    field, and none a similar one, it is a note: there may be none to remove yet. A field that is null, is missing, or
    has the same value in all documents of a type, such as `-1`, marks documents that are kept on purpose.

    ## Why it matters

    The owner assumes that old documents are removed automatically. The server skips, without an error, each document
    whose field is not a date, so the collection grows until somebody looks at the disk.

    ## Example

    `{ createdAt: 1 }` with `expireAfterSeconds: 604800`, where a program writes `createdAt: Date.now()`, a number.

    ## Fix

    Write the time as a date, and convert what is stored. A number of milliseconds converts as
    `{ $toDate: { $toLong: "$createdAt" } }`, one of seconds after it is multiplied by 1,000.

    ## References

    - TTL indexes: https://www.mongodb.com/docs/manual/core/index-ttl/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    for index in measurement.indexes or ():
        column = index.columns[0]
        if index.expires_s is None or len(index.columns) > 1 or column is None or measurement.documents is None:
            continue
        keep, field = timedelta(seconds=index.expires_s), next((f for f in measurement.fields if f.key == column), None)
        if column == measurement.time_column:
            yield from _overdue(case, measurement, index, keep, [measurement.first_time])
        elif field is None or not field.types:
            yield _missing(measurement, index, column)
        elif not (any(one.has_dates for one in field.by_type) if field.by_type else _READ & {*field.types}):
            yield _of_another_type(measurement, index, field)
        elif kept := [one for one in field.by_type if not (one.has_dates or _stands_for_never(one))]:
            yield _of_some(case, measurement, measurement.documents, index, kept)
        elif field.types == ("date",):
            # A date that is out of range is decoded as a number.
            times = [datetime.fromisoformat(value) for value in field.sample if "T" in value]
            yield from _overdue(case, measurement, index, keep, times)
            yield from _in_years(case, measurement, index, keep, times)


def _stands_for_never(values: ValuesOfType) -> bool:
    """Whether documents have the value so that they are kept: the same one in all, which is no time."""
    return values.type not in ("array", "object") and values.distinct == 1 and not values.forms


def _overdue(
    case: Case, measurement: Measurement, index: Index, keep: timedelta, times: Sequence[datetime | None]
) -> Iterator[Finding]:
    """`times`: some of the times in the field, or only the oldest one."""
    known = [with_zone(one) for one in times if one is not None]
    due = [one for one in known if one < case.profile.window.end - keep - _GRACE]
    # Documents outside of a partial index are never removed.
    if index.partial or not due or len(due) < _FEW * len(known):
        return
    late = case.profile.window.end - keep - min(due)
    yield _finding(
        measurement,
        index,
        f"documents are still there {_period(late)} after they were due",
        fix="See whether the parameter ttlMonitorEnabled is true, and how metrics.ttl of serverStatus grows. If the "
        "server is behind, remove the oldest documents in batches.",
    )


def _in_years(
    case: Case, measurement: Measurement, index: Index, keep: timedelta, times: Sequence[datetime]
) -> Iterator[Finding]:
    # If the index itself sets such a long time, its owner knows it.
    first = min(map(with_zone, times), default=None)
    if first is None or keep > _NEVER or first - case.profile.window.end + keep < _NEVER:
        return
    yield _finding(
        measurement,
        index,
        f"none of {many(len(times), 'time')} read is before {first.date()}, so nothing is removed until then",
        fix="Set the lifetime in the program that writes the times, which may have a default of decades; "
        "what is stored gets a new time by an update, or is removed by its age.",
    )


def _of_another_type(measurement: Measurement, index: Index, field: Field) -> Finding:
    is_text = field.types == ("string",) and all(_is_time(value) for value in field.sample)
    return _finding(
        measurement,
        index,
        f"{field.key} is {listed(field.types)} and never a date in "
        f"{many(measurement.documents.read if measurement.documents else 0, 'document')} read, so nothing is removed",
        # Where it is a change, the plan says to write it so.
        fix=("" if is_text else f"Write {field.key} as a date. ") + "What is stored is removed once it is converted.",
        changes=(ChangeType(subject_of(measurement), field.key, "time"),)
        if is_text
        else _conversion(measurement, field.key, field.by_type),
        samples=field.sample[:3],
    )


def _of_some(
    case: Case, measurement: Measurement, read: Documents, index: Index, kept: Sequence[ValuesOfType]
) -> Finding:
    """`kept`: the values with which documents never expire."""
    column, types = index.columns[0] or "", tuple(dict.fromkeys(one.type for one in kept))
    count, held = sum(one.documents for one in kept), sum(one.bytes for one in kept)
    rows = max(measurement.rows.value if measurement.rows else 0, read.read)
    stored = measurement.storage.data_bytes if measurement.storage else None
    avoidable = held / (read.mean_bytes * read.read) * (rows * read.mean_bytes if stored is None else stored)
    in_all = f", about {number(rounded(count / read.read * rows))} of {number(rows)}" if rows > read.read else ""
    finding = _finding(
        measurement,
        index,
        f"{column} is {listed(types)} in {number(count)} of {many(read.read, 'document')} read, which never expire "
        f"({percent(count / read.read)}{in_all}; {size(avoidable)})",
        fix=f"Find the writer that sends {column} as {listed(types, last='or')}. What is stored is kept until it is "
        "converted to a date or removed.",
        changes=(Diagnose(subject_of(measurement), "types", column, types), *_conversion(measurement, column, kept)),
    )
    return replace(finding, impact=costs.of_bytes(case, measurement, avoidable, how="the documents read, by type"))


def _conversion(measurement: Measurement, column: str, values: Sequence[ValuesOfType]) -> tuple[Change, ...]:
    forms = tuple(sorted({form for one in values for form in one.forms}))
    return (ConvertToDates(subject_of(measurement), column, forms),) if forms else ()


def _is_time(value: str) -> bool:
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return not value.isdigit()


def _missing(measurement: Measurement, index: Index, column: str) -> Finding:
    alike = [f.key for f in measurement.fields if _plain(f.key) == _plain(column)]
    if not alike and measurement.time_column and _plain(measurement.time_column) == _plain(column):
        alike = [measurement.time_column]
    instead = f"no document has {column}, but {listed(alike)}, so nothing is removed"
    return _finding(
        measurement,
        index,
        instead
        if alike
        else f"none of {many(measurement.documents.read if measurement.documents else 0, 'document')} "
        f"read has {column}",
        fix=f"Index {alike[0]} instead." if alike else "Ignore this if the field marks documents to be removed.",
        basis=Basis.MEASURED if alike else Basis.INFERRED,
    )


def _plain(name: str) -> str:
    """The last part of the path in lower case, without separators."""
    return "".join(character for character in name.rpartition(".")[2].lower() if character.isalnum())


def _finding(
    measurement: Measurement,
    index: Index,
    what: str,
    *,
    fix: str,
    basis: Basis = Basis.MEASURED,
    changes: tuple[Change, ...] = (),
    samples: tuple[str, ...] = (),
) -> Finding:
    keep = timedelta(seconds=index.expires_s or 0)
    after = f"{_period(keep)} after {index.columns[0]}" if keep else f"at {index.columns[0]}"
    held = measurement.rows.value if measurement.rows else None
    return Finding(
        subject=subject_of(measurement, index.columns[0] or ""),
        impact=Impact(
            Currency.MECHANISM,
            consequence="Documents stay past their time.",
            how="the index, and the documents read",
        ),
        basis=basis,
        message=f"TTL index {index.name} is to remove documents {after}, but {what}.",
        fix=fix,
        changes=changes,
        observed=held,
        unit="" if held is None else "documents",
        samples=samples,
        evidence=(
            Evidence("index", f"{index.name}, expireAfterSeconds {number(index.expires_s or 0)}"),
            *([Evidence("documents", number(held))] if held is not None else []),
        ),
        facts=("indexes", "documents"),
    )


def _period(span: timedelta) -> str:
    hours = span / timedelta(hours=1)
    return many(round(hours / 24), "day") if hours >= 48 else many(round(hours, 1), "hour")
