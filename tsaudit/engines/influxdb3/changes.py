"""How InfluxDB 3 makes changes: writers send something else. No statement changes what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.influx import changes as influx
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.model.change import Inspect, MakeField
from tsaudit.model.plan import Phase, Step


def make_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Tags become fields, in a table beside: a column of a table is a tag or a field for good."""
    new = place.free(f"{place.here.name}_new")
    yield from influx.write_fields(place, changes)
    yield Step(
        Phase.WRITE,
        f"Write to a new table, such as {new}: a column stays a tag as long as its table exists. The old rows can be "
        f"read from {place.here.name} until they expire; to keep them longer, read them and write them to {new}.",
    )


def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
    """Queries that show what a finding is about."""
    for change in changes:
        if change.what == "new values":
            tag = place.quoted([change.column])
            yield Step(
                Phase.LOOK,
                f"Find what writes new values of {change.column}: the latest ones come first.",
                f"SELECT {tag}, min(time) AS first, count(*) FROM {place.table()} "  # noqa: S608 -- shown, never run
                f"WHERE time >= now() - INTERVAL '1 day' GROUP BY {tag} ORDER BY 2 DESC LIMIT 20",
                "sql",
                cost="reads a day of rows",
            )


RENDERERS: Final[Renderers] = {**influx.COMMON, Inspect: inspect, MakeField: make_fields}
