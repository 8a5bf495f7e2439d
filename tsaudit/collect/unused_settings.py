"""Which settings of a target match nothing on the server, and the error if they leave nothing to audit."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from tsaudit.collect.measuring import measuring_of
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Listed, UnusedSetting
from tsaudit.text import many, nearest, number

if TYPE_CHECKING:
    from tsaudit.collect.draft import Draft
    from tsaudit.config.settings import Columns, Target

_MOST_COMPARED: Final = 2_000
"""Most names to search for a similar one: comparing takes a few microseconds per name, and there may be many patterns.
"""
_NAMES_SHOWN: Final = 3


def takes(target: Target, measurement: str) -> bool:
    """Whether the target's patterns include the measurement."""
    return _fits(target.include, measurement) and not _fits(target.exclude, measurement)


def listed(target: Target, database: str, names: Sequence[str]) -> Listed:
    """The contents of the database, under the names that the server lists."""
    left_out = sorted(name for name in names if not takes(target, name))
    return Listed(database, len(names), len(left_out), tuple(left_out[:_NAMES_SHOWN]))


def nothing_to_audit(target: Target, names: Mapping[str, Sequence[str]]) -> str | None:
    """Why there is nothing to audit although the server listed all its contents; None if there is something to audit.

    `names`: database to its measurements. An empty server is a problem: the target is configured because it should
    contain data, and a wrong port, an unmounted volume, or a user without permissions has the same symptom.
    """
    every = [name for found in names.values() for name in found]
    if any(takes(target, name) for name in every):
        return None
    noun = ENGINES[target.engine].words.measurement
    if not every:
        where = f"{_database(target.engine)} {next(iter(names))}" if len(names) == 1 else "any of the databases"
        return f"there is nothing to audit: no {noun} in {where}"
    if not any(_fits(target.include, name) for name in every):
        patterns = ", ".join(f'"{pattern}"' for pattern in target.include)
        return f"include: [{patterns}] {_no_match(target.include[:1], every, noun)}"
    patterns = ", ".join(f'"{pattern}"' for pattern in target.exclude)
    return f"exclude: [{patterns}] removes everything that `include` selects from {many(len(every), noun)}"


def find(target: Target, names: Mapping[str, Sequence[str]], drafts: Iterable[Draft]) -> Iterator[UnusedSetting]:
    """The target's settings that match nothing. `names`: database to its measurements, for all databases."""
    noun = ENGINES[target.engine].words.measurement
    every = sorted({name for found in names.values() for name in found})
    audited = [name for name in every if takes(target, name)]
    for setting, patterns in (("include", target.include), ("exclude", target.exclude)):
        for pattern in patterns:
            if pattern != "*" and not any(fnmatch.fnmatchcase(name, pattern) for name in every):
                yield UnusedSetting(setting, pattern, _no_match([pattern], every, noun))
    for pattern in target.measurements:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in audited):
            yield UnusedSetting("measurements", pattern, _no_match([pattern], audited, noun))
    described = {draft.name: [c.name for c in draft.columns] for draft in drafts if draft.columns}
    for name, columns in target.columns.items():
        if not measuring_of(ENGINES[target.engine]).uses_column_settings:
            yield UnusedSetting("columns", name, f"has no effect: {target.engine} defines them itself")
        elif name not in audited:
            known = "is excluded by include and exclude" if name in every else _no_match([name], audited, noun)
            yield UnusedSetting("columns", name, known)
        elif name in described:
            yield from _columns(name, columns, described[name])


def no_such_database(target: Target, name: str, there: Iterable[str] | None) -> str:
    """The message about a configured database in which nothing was found. `there`: the databases that the server lists;
    None if it does not list any.
    """
    noun = _database(target.engine)
    hint = "; on this engine, `databases` lists schemas" if ENGINES[target.engine].has_one_database else ""
    if there is None:
        return f"nothing is visible in {noun} {name}, and the server does not list its {noun}s{hint}"
    return f"the server lists no {noun} {name}{_near([name], there)}{hint}"


def _columns(measurement: str, columns: Columns, there: Sequence[str]) -> Iterator[UnusedSetting]:
    named = (("time", [columns.time] if columns.time else []), ("tags", columns.tags), ("fields", columns.fields))
    for role, wanted in named:
        for column in wanted:
            if column not in there:
                detail = _no_match([column], there, "column")
                yield UnusedSetting(f"columns.{measurement}.{role}", column, detail)


def _database(engine: str) -> str:
    return "schema" if ENGINES[engine].has_one_database else ENGINES[engine].words.database


def _no_match(patterns: Sequence[str], names: Sequence[str], noun: str) -> str:
    if not names:
        return f"matches nothing: there is no {noun}"
    what = f"matches none of {many(len(names), noun)}" if len(names) > 1 else f"does not match the only {noun}"
    return f"{what}{_near(patterns, names)}"


def _near(patterns: Sequence[str], names: Iterable[str]) -> str:
    """Suggests the most similar name, `, did you mean x?`, or lists a few of the names; empty without names."""
    some = sorted(set(names))[:_MOST_COMPARED]
    for pattern in patterns:
        if found := nearest(re.sub(r"[*?\[\]]+", "", pattern), [name[:80] for name in some]):
            return found
    more = f" and {number(len(some) - _NAMES_SHOWN)} more" if len(some) > _NAMES_SHOWN else ""
    return f"; found {', '.join(name[:80] for name in some[:_NAMES_SHOWN])}{more}" if some else ""


def _fits(patterns: Iterable[str], name: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
