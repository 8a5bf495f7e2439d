"""What SQL databases have in common about changes. Which columns are tags, only tsaudit.yaml says there."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.sql.looks import Looks, renderer
from tsaudit.model.change import Inspect, LeaveOut, MakeField
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed

_SAME: Final[Mapping[str, str]] = {}


def make_fields(
    place: Place, changes: Sequence[MakeField], names: Mapping[str, str] = _SAME, table: str = ""
) -> Iterator[Step]:
    """Columns that identify no source: out of the key, and told to tsaudit.

    `names`, `table`: what columns, and the table, are called once the plan is carried out, where they are renamed.
    """
    of_labels = {tag.key: tag.label_of for tag in place.here.tags if tag.label_of}
    labels = [change.tag for change in changes if change.tag in of_labels]
    if labels:
        short = [label.removeprefix(f"{of_labels[label]}.") for label in labels]
        yield Step(
            Phase.WRITE,
            f"Leave {listed(short, 20)} out of the labels of {place.here.name} and write a plain column instead, or "
            "declare what stays as a field in tsaudit.yaml.",
            f"columns:\n  {_yaml(table or place.here.name)}:\n    fields: {json.dumps(labels, ensure_ascii=False)}",
            "yaml",
        )
    columns = [change.tag for change in changes if change.tag not in of_labels]
    if not columns:
        return
    later = [names.get(column, column) for column in columns]
    yield Step(
        Phase.WRITE,
        f"Keep {listed(columns, 20)} as {_plain(columns)} of {place.here.name}, outside its key and its indexes on "
        f"several columns. {_why(columns)}",
        f"columns:\n  {_yaml(table or place.here.name)}:\n    fields: {json.dumps(later, ensure_ascii=False)}",
        "yaml",
    )


def _plain(columns: Sequence[str]) -> str:
    return "a plain column" if len(columns) == 1 else "plain columns"


def _why(columns: Sequence[str]) -> str:
    """Why a setting is part of the change: it silences nothing, but corrects how the audit read the columns."""
    one = len(columns) == 1
    return (
        "There, many different values do no harm. A SQL database declares no tags, so the audit infers which columns "
        f"identify a source of rows, and counted {'this one as a tag' if one else 'these as tags'}. The setting in "
        f"tsaudit.yaml corrects that: series are then counted without {'it' if one else 'them'}."
    )


def _yaml(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def leave_out(place: Place, changes: Sequence[LeaveOut]) -> Iterator[Step]:
    """Columns that are no longer written."""
    columns = [change.column for change in changes]
    yield Step(Phase.WRITE, f"Stop writing {listed(columns, 20)} to {place.here.name}.")


COMMON: Final[Renderers] = {
    Inspect: renderer(Looks()),
    LeaveOut: leave_out,
    MakeField: make_fields,
}
"""What is said alike by all SQL databases."""
