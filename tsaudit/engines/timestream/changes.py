"""How Timestream makes changes: writers send something else. Stored records stay as they are until they expire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.sql import changes as sql
from tsaudit.model.change import Inspect, LeaveOut, MakeField
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed, many

_TYPES: Final = {"integer": "BIGINT", "float": "DOUBLE", "boolean": "BOOLEAN", "time": "TIMESTAMP"}


def make_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Dimensions that become measures."""
    tags = [change.tag for change in changes]
    typed = [f"{c.tag} as {_TYPES[c.to]}" for c in changes if c.to in _TYPES]
    one = len(tags) == 1
    yield Step(
        Phase.WRITE,
        f"Write {listed(tags, 20)} as {'a measure' if one else 'measures'} of {place.here.name}, in one multi-measure "
        f"record with the others, not as {'a dimension' if one else 'dimensions'}"
        f"{': ' + listed(typed, 20) if typed else ''}. Stored records keep their dimensions until they expire.",
        loses=_rejected(place),
    )


def _rejected(place: Place) -> str:
    found, how = place.effect.collisions, place.effect.collisions_how
    if not how or found == 0:
        return ""
    if found is None:
        return f"records that share dimensions, measure name and time reject each other; how many is not known: {how}"
    rejected = many(found, "record")
    return f"at least {rejected} would be rejected or replaced, having the dimensions and the time of others ({how})"


RENDERERS: Final[Renderers] = {
    Inspect: sql.newest_values(lambda time: f"WHERE {time} >= ago(1d) "),
    LeaveOut: sql.leave_out,
    MakeField: make_fields,
}
