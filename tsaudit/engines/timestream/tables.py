"""The meaning of Timestream's settings for a table, the kinds of changes that only apply to these tables, and AWS CLI
commands that change settings, which are only displayed, never run.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tsaudit.analysis.cardinality import fleets
from tsaudit.model.change import Change, Claim
from tsaudit.model.columns import Tag
from tsaudit.model.profile import Measurement

KEY: Final = "CompositePartitionKey"
"""The option with the dimension by which a table is partitioned; absent if only the measure name is used."""
ENFORCEMENT: Final = "EnforcementInRecord"
DATABASE_KEY: Final = "KmsKeyId"
REJECTED: Final = "MagneticStoreRejectedDataLocation"
"""The prefix of options about where rejected records are stored and how they are encrypted."""

_WIDTH: Final = 94

_MEMORY_HOURS: Final = "MemoryStoreRetentionPeriodInHours"
_MAGNETIC_DAYS: Final = "MagneticStoreRetentionPeriodInDays"
_MAGNETIC_WRITES: Final = "EnableMagneticStoreWrites"
_DEFAULT_MEMORY_HOURS: Final = 6
_ROWS_PER_VALUE: Final = 10
"""Minimum rows per value: a value with fewer rows is probably the ID of an event, not a source that queries select."""


def best_key(measurement: Measurement) -> Tag | None:
    """The dimension with the most values among those that many rows share; None if there is none, or none was counted.

    AWS recommends a dimension that queries filter by and that has many values; which ones queries use is not known
    here. An ID that is used only once does not qualify, nor does a dimension whose values churn or never level off:
    https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys-limitations.html
    """
    from tsaudit.analysis.shapes import shapes

    rows = measurement.rows.value if measurement.rows else None

    def is_source(tag: Tag) -> bool:
        if tag.values is None or (tag.over_time is not None and tag.over_time.kind == "unbounded"):
            return False
        # Values that last are sources, however seldom they report; values that are replaced are not, however often they
        # report.
        if fleets.is_fleet(tag):
            return True
        is_id = shapes.classify(tag.sample).kind in shapes.IDENTIFIER_KINDS
        return (
            not fleets.keeps_coming(tag) and not is_id and (rows is None or tag.values.value * _ROWS_PER_VALUE <= rows)
        )

    counted = [tag for tag in measurement.tags if is_source(tag)]
    return max(counted, key=lambda tag: (values(tag), tag.key), default=None)


def values(tag: Tag) -> int:
    """Number of distinct values; 0 if they were not counted."""
    return tag.values.value if tag.values else 0


def create_like(measurement: Measurement, name: str, dimension: str = "", enforcement: str = "REQUIRED") -> str:
    """The command that creates a table with this one's settings, under another name. The new table accepts records that
    are older than its memory store.

    `dimension`: the partition key; empty: the measure name alone.
    """
    options = measurement.options or {}
    settings: dict[str, Any] = {"schema": _schema(dimension, enforcement)} if dimension else {}
    if _MAGNETIC_DAYS in options:
        settings["retention_properties"] = _retention(options, int(options[_MAGNETIC_DAYS]))
    settings["magnetic_store_write_properties"] = _magnetic_writes(options) | {_MAGNETIC_WRITES: True}
    return _command("create-table", measurement.database, name, settings)


def enforce_key(measurement: Measurement, dimension: str) -> str:
    """The command that makes the service reject records without the dimension by which the table is partitioned."""
    return _updated(measurement, schema=_schema(dimension))


def keep(measurement: Measurement, days: int, hours: int | None = None) -> str:
    """The command that deletes records older than so many days, from now on, and moves them to the magnetic store after
    so many hours. None: the memory store does not change.
    """
    options = measurement.options or {} if hours is None else {_MEMORY_HOURS: str(hours)}
    return _updated(measurement, retention_properties=_retention(options, days))


def takes_late_records(measurement: Measurement) -> bool:
    """Whether records that are too old for the memory store are accepted, into the magnetic store."""
    return (measurement.options or {}).get(_MAGNETIC_WRITES) == "true"


def encrypt_rejected(measurement: Measurement, key: str) -> str:
    """The command that makes the service encrypt rejected records with the key from now on."""
    writes = _magnetic_writes(measurement.options or {}, EncryptionOption="SSE_KMS", KmsKeyId=key)
    return _updated(measurement, magnetic_store_write_properties=writes)


def magnetic_days(measurement: Measurement) -> int | None:
    """Days after which a record is deleted; None if that is not known."""
    found = (measurement.options or {}).get(_MAGNETIC_DAYS)
    return int(found) if found else None


def memory_hours(measurement: Measurement) -> int:
    """Hours that a record stays in the memory store."""
    return int((measurement.options or {}).get(_MEMORY_HOURS, _DEFAULT_MEMORY_HOURS))


def _wrapped(option: str) -> str:
    first, *others = option.split(", ")
    lines = [first]
    for piece in others:
        if len(lines[-1]) + len(piece) > _WIDTH:
            lines[-1] += ","
            lines.append(f"    {piece}")
        else:
            lines[-1] += f", {piece}"
    return "\n".join(lines)


def _updated(measurement: Measurement, **settings: Any) -> str:
    return _command("update-table", measurement.database, measurement.name, settings)


def _command(operation: str, database: str, table: str, settings: Mapping[str, Any]) -> str:
    """The command, with the table in the first line, and each option in a further one; JSON is broken after commas."""
    names = shlex.join(["--database-name", database, "--table-name", table])
    lines = [f"aws timestream-write {operation} {names}"]
    for name, value in settings.items():
        lines.append(_wrapped(f"  --{name.replace('_', '-')} {shlex.quote(json.dumps(value, ensure_ascii=False))}"))
    return " \\\n".join(lines)


def _schema(dimension: str, enforcement: str = "REQUIRED") -> dict[str, Any]:
    # The service accepts only one key, although the API has a list: https://github.com/aws/aws-cli/issues/9025
    return {KEY: [{"Type": "DIMENSION", "Name": dimension, ENFORCEMENT: enforcement}]}


def _retention(options: Mapping[str, str], days: int) -> dict[str, int]:
    """The retention settings of both stores, because the API requires both, whichever changes."""
    return {_MEMORY_HOURS: int(options.get(_MEMORY_HOURS, _DEFAULT_MEMORY_HOURS)), _MAGNETIC_DAYS: days}


def _magnetic_writes(options: Mapping[str, str], **changed: str) -> dict[str, Any]:
    location = {
        name.removeprefix(f"{REJECTED}."): value for name, value in options.items() if name.startswith(f"{REJECTED}.")
    } | changed
    kept = {REJECTED: {"S3Configuration": location}} if location else {}
    return {_MAGNETIC_WRITES: options.get(_MAGNETIC_WRITES) != "false", **kept}


@dataclass(frozen=True, slots=True)
class EnforceKey(Change):
    """Reject records without the dimension by which the table is partitioned."""

    dimension: str

    def claims(self) -> Mapping[Claim, str]:
        return {("partition key", ""): self.dimension, ("role", self.dimension): "tag"}


@dataclass(frozen=True, slots=True)
class EncryptRejected(Change):
    """Encrypt rejected records with the key of the database."""

    key: str

    def claims(self) -> Mapping[Claim, str]:
        return {("option", "encryption of rejected records"): self.key}


@dataclass(frozen=True, slots=True)
class KeepInMemory(Change):
    """Move records to the magnetic store after this many hours."""

    hours: int
    days: int
    """Days until records are deleted, which do not change."""

    def claims(self) -> Mapping[Claim, str]:
        return {("retention", "in memory"): str(self.hours)}


@dataclass(frozen=True, slots=True)
class OneRecord(Change):
    """Write measures that share their times as one multi-measure record."""

    names: tuple[str, ...]
    """Measure names, those with the most rows first."""
