"""Measures that are written as one multi-measure record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place
from tsaudit.engines.timestream import SINGLE_VALUE
from tsaudit.engines.timestream.kinds import OneRecord
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed

_MOST_MEASURES: Final = 256
"""In one record: https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"""
_SHOWN: Final = 5


def one_record(place: Place, changes: Sequence[OneRecord]) -> Iterator[Step]:
    """One row for each instant and source."""
    for change in changes:
        here = place.here
        groups = -(-len(change.names) // _MOST_MEASURES)
        several = f", in {groups} records of up to {_MOST_MEASURES} measures each" if groups > 1 else ""
        yield Step(
            Phase.WRITE,
            f"Write {listed(change.names, 4)} as measures of one multi-measure record (MeasureValueType MULTI, under a "
            f"measure name such as metrics){several}: one row for each instant and source. Stored records stay as they "
            "are.",
        )
        key = place.quoted(c for c in here.columns if c == here.time_column or here.tag(c))
        values = ", ".join(_value(place, name) for name in change.names[:_SHOWN])
        yield Step(
            Phase.LOOK,
            "Read stored records with a column for each value.",
            f"SELECT {key}, {values} FROM {place.table()} WHERE time >= ago(1d) GROUP BY {key}",  # noqa: S608 -- shown
            "sql",
            cost="reads a day of rows",
        )


def _value(place: Place, name: str) -> str:
    """The value of one measure name as a column. Column names must not contain a colon."""
    known = place.here.measure_names.names if place.here.measure_names else ()
    data_type = next((n.data_type for n in known if n.name == name and n.data_type), "double")
    text, value = quote_text("timestream", name), place.quoted([f"{SINGLE_VALUE}{data_type}"])
    return f"max(CASE WHEN measure_name = {text} THEN {value} END) AS {place.quoted([name.replace(':', '_')])}"
