"""The documentation of the facts: the parameters of each query file, and what it has to return."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import get_type_hints

from tsaudit.model.facts import Fact, Given, names_of

_TYPES = (
    ("collections.abc.", ""),
    ("typing.", ""),
    ("tsaudit.model.facts.", ""),
    ("datetime.datetime", "datetime"),
)


def markdown(facts: Sequence[Fact]) -> str:
    """The page about the facts: `docs/facts.md`."""
    asked = [fact for fact in facts if fact.columns or not fact.derived_from]
    return "\n".join(_lines(asked)) + "\n"


def _lines(facts: Sequence[Fact]) -> Iterator[str]:
    yield "# Facts"
    yield ""
    yield (
        "What tsaudit queries. `sql/<engine>/<fact>.*` contains the query; a fact for which an engine has no "
        "file is not asked of it, and rules that need it do not apply."
    )
    yield ""
    yield (
        "A query file is a Jinja template, filled in with what is listed here under the fact. Quote what comes from "
        "there: `{{ measurement | name }}` as a name, `{{ measurement | text }}` as text, `{{ start | instant }}` and "
        '`{{ start | epoch("ns") }}` as a time. A file that uses any other name is an error, unless the engine\'s '
        "connector adds it (`Engine.parameters`)."
    )
    yield ""
    yield "Generated from `tsaudit/model/facts.py`; `make golden` regenerates it."
    kinds = list(dict.fromkeys(fact.given for fact in facts))
    for kind in kinds:
        yield from _kind(kind, [fact for fact in facts if fact.given is kind])


def _kind(kind: type[Given], facts: Sequence[Fact]) -> Iterator[str]:
    yield ""
    yield f"## {(kind.__doc__ or '').strip().rstrip('.')}"
    yield ""
    names = names_of(kind)
    if names:
        types = get_type_hints(kind)
        yield "| given | type | what it is |"
        yield "|---|---|---|"
        for field in dataclasses.fields(kind):
            yield f"| `{field.name}` | {_type(types[field.name])} | {names[field.name]} |"
    else:
        yield "Their queries are given nothing."
    yield ""
    yield "| fact | columns | what it is |"
    yield "|---|---|---|"
    for fact in facts:
        columns = ", ".join(f"`{column}`" for column in fact.columns) or "those of the measurement"
        yield f"| `{fact.name}` | {columns} | {fact.meaning} |"


def _type(kind: object) -> str:
    text = kind.__name__ if isinstance(kind, type) else str(kind)
    for long, short in _TYPES:
        text = text.replace(long, short)
    return "`" + text.replace("|", "\\|") + "`"
