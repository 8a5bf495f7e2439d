"""What SQL databases have in common about changes. Which columns are tags, only tsaudit.yaml says there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tsaudit.engines.rendering import Place, Renderers
from tsaudit.model.change import Inspect, LeaveOut, MakeField
from tsaudit.model.plan import Phase, Step
from tsaudit.model.profile import Index
from tsaudit.text import listed


def make_fields(place: Place, changes: Sequence[MakeField]) -> Iterator[Step]:
    """Columns that identify no source: out of the key, and told to tsaudit."""
    columns = [change.tag for change in changes]
    it = "it" if len(columns) == 1 else "them"
    yield Step(
        Phase.WRITE,
        f"Keep {listed(columns, 20)} as {_plain(columns)} of {place.here.name}, outside its key and its composite "
        f"indexes, and tell tsaudit that {it} {'names' if len(columns) == 1 else 'name'} no source.",
        f"columns:\n  {_yaml(place.here.name)}:\n    fields: {json.dumps(columns, ensure_ascii=False)}",
        "yaml",
    )


def keys_with(place: Place, columns: Sequence[str]) -> list[Index]:
    """The primary key and unique constraints that the columns are part of."""
    return [i for i in place.here.indexes or () if i.constraint and set(columns) & set(i.columns)]


def _plain(columns: Sequence[str]) -> str:
    return "a plain column" if len(columns) == 1 else "plain columns"


def _yaml(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def leave_out(place: Place, changes: Sequence[LeaveOut]) -> Iterator[Step]:
    """Columns that are no longer written."""
    columns = [change.column for change in changes]
    yield Step(Phase.WRITE, f"Stop writing {listed(columns, 20)} to {place.here.name}.")


def newest_values(recent: Callable[[str], str], end: str = ";") -> Callable[[Place, Sequence[Inspect]], Iterator[Step]]:
    """A renderer of queries. `recent`: the condition, with WHERE, for rows of the last day, by the time column. `end`:
    of a statement.
    """

    def inspect(place: Place, changes: Sequence[Inspect]) -> Iterator[Step]:
        for change in changes:
            if change.what == "new values" and place.here.time_column:
                column, time = place.quoted([change.column]), place.quoted([place.here.time_column])
                yield Step(
                    Phase.LOOK,
                    f"Find what writes new values of {change.column}: the latest ones come first.",
                    f"SELECT {column}, min({time}), count(*) FROM {place.table()} {recent(time)}"  # noqa: S608 -- shown
                    f"GROUP BY {column} ORDER BY 2 DESC LIMIT 20{end}",
                    "sql",
                    cost="reads a day of rows" if recent(time) else "reads all rows",
                )

    return inspect


COMMON: Final[Renderers] = {
    Inspect: newest_values(lambda _: ""),
    LeaveOut: leave_out,
    MakeField: make_fields,
}
"""What is said alike by all SQL databases."""
