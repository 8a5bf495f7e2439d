"""Statements that several rules propose. They are shown to people, never run; every name in them is quoted."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from tsaudit.engines.engine import Language
from tsaudit.engines.greptimedb.statements import renamed, without_key_columns
from tsaudit.engines.quoting import quote_flux
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, table_of

_SCHEMA: Final = 'import "influxdata/influxdb/schema" '


def copy_without_tags(case: Case, measurement: Measurement, dropped: Collection[str]) -> str:
    """Copies a day of the measurement, the dropped tags as fields: what is not grouped by becomes one.

    On GreptimeDB a new table with a shorter key, and the copy of all rows into it.
    """
    if case.profile.engine == "greptimedb":
        return without_key_columns(case, measurement, dropped)
    if case.profile.engine == "influxdb2":
        return _wide_copy(measurement, [t.key for t in measurement.tags if t.key not in dropped])
    keep = case.quoted(t.key for t in measurement.tags if t.key not in dropped)
    group = f" GROUP BY {keep}" if keep else ""
    new, old = (case.quoted([table_of(measurement, name)]) for name in (f"{measurement.name}_new", measurement.name))
    return f"SELECT * INTO {new} FROM {old} WHERE time >= now() - 1d{group}"  # noqa: S608 -- shown, never run


def rename(case: Case, measurement: Measurement, name: str, new: str) -> str:
    """How to rename the measurement or one of its columns, as a statement, or as words where there is none."""
    table, target = case.quoted([table_of(measurement)]), case.quoted([new])
    is_column = name in measurement.columns
    if case.engine.keeps_documents:
        if not is_column:
            return f"db.getCollection({table}).renameCollection({target})"
        return f"db.getCollection({table}).updateMany({{}}, {{ $rename: {{ {case.quoted([name])}: {target} }} }})"
    if case.profile.engine == "greptimedb":
        return renamed(case, measurement, name, new)
    if case.profile.engine == "influxdb2":
        return _renamed(measurement, name if is_column else "", new)
    if not case.engine.can_change:
        return f"write under {target} from now on; no statement renames {table}: read its rows and write them back."
    if case.engine.language is not Language.INFLUXQL:
        return f"ALTER TABLE {table} RENAME {f'COLUMN {case.quoted([name])} ' if is_column else ''}TO {target};"
    if not is_column:
        target = case.quoted([table_of(measurement, new)])
        return f"SELECT * INTO {target} FROM {table} WHERE time >= now() - 1d GROUP BY *"  # noqa: S608 -- shown, never run
    if measurement.tag(name) is not None:
        return "no InfluxQL statement renames a tag: read the points and write them back"
    copy = case.quoted([table_of(measurement, f"{measurement.name}_new")])
    column = case.quoted([name])
    return f"SELECT {column} AS {target} INTO {copy} FROM {table} WHERE time >= now() - 1d GROUP BY *"  # noqa: S608 -- shown, never run


def some_rows(case: Case, measurement: Measurement) -> str:
    """Shows rows of the measurement, on an InfluxDB."""
    if case.profile.engine == "influxdb2":
        return _day_of(measurement)
    return f"SELECT * FROM {case.quoted([table_of(measurement)])}"  # noqa: S608 -- shown, never run


def tag_values(measurement: Measurement, tag: str) -> str:
    """Shows some values of a tag in a bucket of InfluxDB 2.x, where InfluxQL looks into the default bucket only."""
    found = _schema("measurementTagValues", bucket=measurement.database, measurement=measurement.name, tag=tag)
    return f"{_SCHEMA}{found} |> limit(n: 20)"


def schema_in_bucket(bucket: str, measurement: str) -> str:
    """Shows tags and fields of a measurement of InfluxDB 2.x; with an empty name, which measurements there are."""
    if not measurement:
        return f"{_SCHEMA}{_schema('measurements', bucket=bucket)}"
    tags, fields = (
        _schema(f"measurement{kind}Keys", bucket=bucket, measurement=measurement) for kind in ("Tag", "Field")
    )
    return f'{_SCHEMA}{tags} |> yield(name: "tags") {fields} |> yield(name: "fields")'


def _schema(function: str, **names: str) -> str:
    return f"schema.{function}({', '.join(f'{name}: {quote_flux(value)}' for name, value in names.items())})"


def _day_of(measurement: Measurement) -> str:
    """The beginning of a statement in Flux, as InfluxDB 2 has no SELECT INTO."""
    return (
        f"from(bucket: {quote_flux(measurement.database)}) |> range(start: -1d) "
        f"|> filter(fn: (r) => r._measurement == {quote_flux(measurement.name)})"
    )


def _wide_copy(measurement: Measurement, keep: list[str]) -> str:
    group = ", ".join(map(quote_flux, ["_measurement", *keep]))
    return (
        f'import "influxdata/influxdb" {_day_of(measurement)} '
        '|> drop(columns: ["_start", "_stop"]) '
        '|> pivot(rowKey: ["_time"], columnKey: ["_field"], valueColumn: "_value") '
        f'|> set(key: "_measurement", value: {quote_flux(f"{measurement.name}_new")}) '
        f"|> group(columns: [{group}]) |> influxdb.wideTo(bucket: {quote_flux(measurement.database)})"
    )


def _renamed(measurement: Measurement, column: str, new: str) -> str:
    """`column`: empty for the measurement itself."""
    copy = f"{measurement.name}_new"
    if not column:
        copy, change = new, ""
    elif measurement.tag(column) is not None:
        change = f"|> rename(columns: {{{quote_flux(column)}: {quote_flux(new)}}}) "
    else:
        change = (
            f'|> filter(fn: (r) => r._field == {quote_flux(column)}) |> set(key: "_field", value: {quote_flux(new)}) '
        )
    return (
        f'{_day_of(measurement)} {change}|> set(key: "_measurement", value: {quote_flux(copy)}) '
        f"|> to(bucket: {quote_flux(measurement.database)})"
    )
