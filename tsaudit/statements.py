"""Statements that several rules propose. They are shown to people, never run; every name in them is quoted."""

from __future__ import annotations

from collections.abc import Collection

from tsaudit.dialect import INFLUXQL_ENGINES
from tsaudit.profile import Measurement
from tsaudit.rule import Case


def copy_without_tags(case: Case, measurement: Measurement, dropped: Collection[str]) -> str:
    """InfluxQL that copies a day of the measurement, the dropped tags as fields: what is not grouped by becomes one."""
    keep = case.quoted(t.key for t in measurement.tags if t.key not in dropped)
    group = f" GROUP BY {keep}" if keep else ""
    new, old = case.quoted([f"{measurement.name}_new"]), case.quoted([measurement.name])
    return f"SELECT * INTO {new} FROM {old} WHERE time >= now() - 1d{group}"  # noqa: S608 -- shown, never run


def rename(case: Case, measurement: Measurement, name: str, new: str) -> str:
    """How to rename the measurement or one of its columns, as a statement, or as words where there is none."""
    table, target = case.quoted([measurement.name]), case.quoted([new])
    is_column = name in measurement.columns
    if case.profile.engine not in INFLUXQL_ENGINES:
        return f"ALTER TABLE {table} RENAME {f'COLUMN {case.quoted([name])} ' if is_column else ''}TO {target};"
    if not is_column:
        return f"SELECT * INTO {target} FROM {table} WHERE time >= now() - 1d GROUP BY *"  # noqa: S608 -- shown, never run
    if measurement.tag(name) is not None:
        return "no InfluxQL statement renames a tag: read the points and write them back"
    copy = case.quoted([f"{measurement.name}_new"])
    column = case.quoted([name])
    return f"SELECT {column} AS {target} INTO {copy} FROM {table} WHERE time >= now() - 1d GROUP BY *"  # noqa: S608 -- shown, never run
