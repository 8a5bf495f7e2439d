"""Queries of Flux and InfluxQL that show what a finding is about, in a bucket of InfluxDB 2.x."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tsaudit.engines.influx.reach import not_mapped
from tsaudit.engines.influxdb2.copying import day_of
from tsaudit.engines.quoting import quote_flux
from tsaudit.engines.rendering import Place
from tsaudit.model.change import Inspect
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed

_SCHEMA = 'import "influxdata/influxdb/schema" '


def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
    """The queries for each of them."""
    for change in changes:
        yield from _of_bucket(place, change) if place.measurement is None else _of_measurement(place, change)


def _of_bucket(place: Place, change: Inspect) -> Iterator[Step]:
    if change.what == "databases":
        pattern = "^" + ".*".join(map(_escaped, change.values)) + "$"
        yield Step(
            Phase.LOOK, "See which buckets these are.", f"buckets() |> filter(fn: (r) => r.name =~ /{pattern}/)", "flux"
        )
    elif change.what == "measurements":
        text = f"{_SCHEMA}schema.measurements(bucket: {quote_flux(place.database)})"
        yield Step(Phase.LOOK, f"See which measurements bucket {place.database} has.", text, "flux")
    elif change.what == "customers":
        example = next((m.name for m in place.profile.measurements if m.database == place.database), "")
        chosen = f'|> filter(fn: (r) => r[{quote_flux(change.column)}] == "...") |> limit(n: 20)'
        text = f"{day_of(place, example)} {chosen}"
        yield Step(Phase.LOOK, f"See what one of them has, here in {example}.", text, "flux")


def _escaped(text: str) -> str:
    """The text as part of a pattern of Flux, which is between slashes, and must not have a blank after a backslash."""
    return re.sub(r"\\(\s)", r"\1", re.escape(text)).replace("/", "\\/")


def _of_measurement(place: Place, change: Inspect) -> Iterator[Step]:
    names = {"bucket": place.database, "measurement": place.here.name}
    given = ", ".join(f"{name}: {quote_flux(value)}" for name, value in names.items())
    if change.what == "new values":
        tag = f"tag: {quote_flux(change.column)}"
        text = f"{_SCHEMA}schema.measurementTagValues({given}, {tag}) |> limit(n: 20)"
        yield Step(Phase.LOOK, f"See some values of {change.column}.", text, "flux")
    elif change.what == "schema":
        for kind in ("Tag", "Field"):
            text = f"{_SCHEMA}schema.measurement{kind}Keys({given})"
            yield Step(Phase.LOOK, f"See which {kind.lower()}s {place.here.name} has.", text, "flux")
    elif change.what in ("types", "both"):
        yield from _in_influxql(place, change)


def _in_influxql(place: Place, change: Inspect) -> Iterator[Step]:
    column, table, reach = place.quoted([change.column]), place.table(), not_mapped(place, place.here)
    if change.what == "types":
        each = [f"SELECT {column}::{kind} FROM {table} LIMIT 20" for kind in change.values]  # noqa: S608 -- shown
        words = f"See some values of {change.column} of each type, {listed(change.values)}, by InfluxQL{reach}."
        yield Step(Phase.LOOK, words, ";\n".join(each), "influxql")
    else:
        words = f"Until the old points have expired, say by InfluxQL which {change.column} is meant{reach}."
        text = f"SELECT {column}::field FROM {table} WHERE {column}::tag = '...'"  # noqa: S608 -- shown, never run
        yield Step(Phase.LOOK, words, text, "influxql")
