"""What Timestream's settings mean for a table, and AWS CLI commands that change it, to be shown and never run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from tsaudit.model.profile import Measurement, Tag

KEY: Final = "CompositePartitionKey"
"""The option that names the dimension a table is partitioned by; absent for the measure name alone."""
ENFORCEMENT: Final = "EnforcementInRecord"
DATABASE_KEY: Final = "KmsKeyId"
REJECTED: Final = "MagneticStoreRejectedDataLocation"
"""Begins the options that say where rejected records go, and how they are encrypted there."""

_MEMORY_HOURS: Final = "MemoryStoreRetentionPeriodInHours"
_MAGNETIC_DAYS: Final = "MagneticStoreRetentionPeriodInDays"
_MAGNETIC_WRITES: Final = "EnableMagneticStoreWrites"
_DEFAULT_MEMORY_HOURS: Final = 6
_ROWS_PER_VALUE: Final = 10
"""A value with fewer rows is no source that queries ask for, but the id of an event."""


def best_key(measurement: Measurement) -> Tag | None:
    """The dimension with most values of those that many rows share; None where there is none, or none was counted.

    AWS asks for one that queries filter by and that has many values; what queries ask for is not known here. An id that
    is used once is none: https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys-limitations.html
    """
    rows = measurement.rows.value if measurement.rows else None

    def is_source(tag: Tag) -> bool:
        return tag.values is not None and (rows is None or tag.values.value * _ROWS_PER_VALUE <= rows)

    counted = [tag for tag in measurement.tags if is_source(tag)]
    return max(counted, key=lambda tag: (values(tag), tag.key), default=None)


def values(tag: Tag) -> int:
    """Distinct values; 0 where they were not counted."""
    return tag.values.value if tag.values else 0


def create_partitioned(measurement: Measurement, name: str, dimension: str) -> str:
    """Makes a table of that name like this one, partitioned by the dimension."""
    settings: dict[str, Any] = {"schema": _schema(dimension)}
    options = measurement.options or {}
    if _MAGNETIC_DAYS in options:
        settings["retention_properties"] = _retention(options, int(options[_MAGNETIC_DAYS]))
    if options.get(_MAGNETIC_WRITES) == "true":
        settings["magnetic_store_write_properties"] = _magnetic_writes(options)
    return _command("create-table", measurement.database, name, settings)


def enforce_key(measurement: Measurement, dimension: str) -> str:
    """Has the service reject records without the dimension that the table is partitioned by."""
    return _command("update-table", measurement.database, measurement.name, {"schema": _schema(dimension)})


def keep_for(measurement: Measurement, days: int) -> str:
    """Deletes what is older than so many days, now and from now on; the memory store stays as it is."""
    kept = _retention(measurement.options or {}, days)
    return _command("update-table", measurement.database, measurement.name, {"retention_properties": kept})


def encrypt_rejected(measurement: Measurement, key: str) -> str:
    """Has rejected records encrypted with the key from now on."""
    writes = _magnetic_writes(measurement.options or {}, EncryptionOption="SSE_KMS", KmsKeyId=key)
    return _command("update-table", measurement.database, measurement.name, {"magnetic_store_write_properties": writes})


def delete_table(database: str, name: str) -> str:
    """Deletes the table with all that is in it."""
    return _command("delete-table", database, name, {})


def _command(operation: str, database: str, table: str, settings: Mapping[str, Any]) -> str:
    words = ["aws", "timestream-write", operation, "--database-name", database, "--table-name", table]
    for name, value in settings.items():
        words += [f"--{name.replace('_', '-')}", json.dumps(value, ensure_ascii=False)]
    return shlex.join(words)


def _schema(dimension: str) -> dict[str, Any]:
    # The service takes one key only, although the API has a list: https://github.com/aws/aws-cli/issues/9025
    return {KEY: [{"Type": "DIMENSION", "Name": dimension, ENFORCEMENT: "REQUIRED"}]}


def _retention(options: Mapping[str, str], days: int) -> dict[str, int]:
    """The API asks for both stores, whichever is to change."""
    return {_MEMORY_HOURS: int(options.get(_MEMORY_HOURS, _DEFAULT_MEMORY_HOURS)), _MAGNETIC_DAYS: days}


def _magnetic_writes(options: Mapping[str, str], **changed: str) -> dict[str, Any]:
    location = {
        name.removeprefix(f"{REJECTED}."): value for name, value in options.items() if name.startswith(f"{REJECTED}.")
    } | changed
    kept = {REJECTED: {"S3Configuration": location}} if location else {}
    return {_MAGNETIC_WRITES: options.get(_MAGNETIC_WRITES) != "false", **kept}
