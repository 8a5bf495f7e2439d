"""Rows of time-series layouts in few words: sources that report regularly, or for a while, with values from noise."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset, Row, Table, Value, times

Noise = random.Random
Of = Any
"""What a column holds: (low, high) for a number between the two, a list for one of its members, a function of the noise
for what it returns, None for null; anything else is the same in each row."""

YEAR: Final = timedelta(days=365)


def table(
    name: str,
    sources: Sequence[Mapping[str, Of]],
    values: Mapping[str, Of],
    *,
    instants: int = 20,
    step: timedelta = timedelta(minutes=10),
    alive: int | None = None,
    apart: timedelta = timedelta(),
    **settings: Any,
) -> Table:
    """A table in which each of the sources, which are its tags, reports at each of the instants up to NOW.

    `alive`: only so many of them at once, the window moving from the first to the last as time goes on.
    `apart`: how far a source reports after the one before it.
    """
    noise = random.Random(name)
    tags = list(dict.fromkeys(key for source in sources for key in source))
    rows = [
        Row(at + apart * place, _made(source, noise), _made(values, noise))
        for number, at in enumerate(times(instants, step))
        for place, source in enumerate(_alive(sources, alive, number / max(instants - 1, 1)))
    ]
    fields = {key: _kind([row.fields.get(key) for row in rows]) for key in values}
    return Table(name, tags, fields, rows, **{"key": ("time", *tags), **settings})


def kept(*tables: Table, database: str | None = None, **settings: Any) -> Dataset:
    """A database of them that keeps its data for a year."""
    return Dataset(tables, retention=YEAR, database=database, **settings)


def hex_id(digits: int) -> Callable[[Noise], str]:
    """A new one each time."""
    return lambda noise: f"{noise.getrandbits(4 * digits):0{digits}x}"


def _alive(sources: Sequence[Mapping[str, Of]], alive: int | None, share: float) -> Sequence[Mapping[str, Of]]:
    if alive is None:
        return sources
    first = round(share * (len(sources) - alive))
    return sources[first : first + alive]


def _made(columns: Mapping[str, Of], noise: Noise) -> dict[str, Any]:
    return {key: made for key, of in columns.items() if (made := _one(of, noise)) is not None}


def _one(of: Of, noise: Noise) -> Value:
    if callable(of):
        return of(noise)
    if isinstance(of, list):
        return noise.choice(of)
    if isinstance(of, tuple):
        low, high = of
        return noise.randint(low, high) if isinstance(low, int) else round(noise.uniform(low, high), 3)
    return of


def _kind(values: Sequence[Value]) -> str:
    known = next((value for value in values if value is not None), 0.0)
    return {bool: "boolean", int: "integer", str: "string"}.get(type(known), "float")
