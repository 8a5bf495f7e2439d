"""What all generations of InfluxDB have in common about changes: what writers send, and Telegraf's settings for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.engines.influx import collector, copying, telegraf
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.rewriting import Column, Rewriting
from tsaudit.model.change import LeaveOut
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed


def write(rewrite: Rewriting, lost: str) -> Iterator[Step]:
    """What writers send from now on, and how collectors and Telegraf are told. `lost`: what `overwritten` says."""
    words = [*in_words(rewrite), f"Write to {rewrite.new}, which replaces {rewrite.old}."]
    if lost:
        tags = [column.old for column in rewrite.columns if column.was_tag and not column.is_tag]
        one = len(tags) == 1
        kept = f"If queries need {'it as a tag' if one else 'them as tags'}, write fewer or coarser values instead."
        words.append(kept)
    yield Step(Phase.WRITE, " ".join(words), loses=lost)
    yield from collector.write(rewrite, lost)
    if not collector.is_for_collector_only(rewrite.place.here):
        yield Step(Phase.WRITE, "If Telegraf writes it:", telegraf.settings(rewrite), "toml", loses=lost)


def overwritten(place: Place) -> str:
    """What is lost where points get the tags and the time of others; empty where none does, or no tag goes."""
    return place.lost("point", "then have their tags and their time in common, and overwrite each other")


def leave_out(place: Place, changes: Sequence[LeaveOut]) -> Iterator[Step]:
    """Columns that are no longer written."""
    columns = [change.column for change in changes]
    yield Step(Phase.WRITE, f"Stop writing {listed(columns, 20)} to {place.here.name}.", loses=overwritten(place))
    yield from collector.leave_out(place, changes, overwritten(place))
    if collector.is_for_collector_only(place.here):
        return
    tags = [column for column in columns if place.here.tag(column) is not None]
    for option, names in (("tagexclude", tags), ("fieldexclude", [c for c in columns if c not in tags])):
        if names:
            setting = f"{option} = {telegraf.strings(map(telegraf.glob, names))}"
            yield Step(Phase.WRITE, "If Telegraf writes it, in its input:", setting, "toml", loses=overwritten(place))


def by_program(
    rewrite: Rewriting, target: str, name: str, reasons: Sequence[str], lost: str, reads: str, each: timedelta
) -> Step:
    """The copy into a measurement, where no statement makes it.

    `name`: of the language. `reasons`: what it cannot do, such as `rename the tag a`. `reads`: the statement that reads
    the points of the newest period, which is `each` long.
    """
    copy = copying.rewritten(rewrite, target)
    return Step(
        Phase.COPY,
        f"{name} cannot {listed(reasons, 6)}: write a program that reads the stored points of {rewrite.old}, one "
        f"day at a time, changes them in the same way, and writes them to {target}. {copying.in_words(copy)}",
        reads,
        name.lower(),
        cost="reads and writes all stored points",
        loses=lost,
        repeat_every=each,
        copy=copy,
    )


def switched(rewrite: Rewriting) -> Step:
    """Queries read what takes the measurement's place."""
    return Step(Phase.SWITCH, f"Have queries and dashboards read {listed(rewrite.targets, 6)}.")


def in_words(rewrite: Rewriting) -> Iterator[str]:
    """What writers send from now on: a sentence for each kind of change."""
    name = rewrite.old
    demoted = [c.old for c in rewrite.columns if c.changes_role and not c.is_tag]
    promoted = [c.old for c in rewrite.columns if c.changes_role and c.is_tag]
    if demoted:
        yield f"Write {_all(demoted)} as {_a('field', demoted)} of {name}, not as {_a('tag', demoted)}."
    if promoted:
        yield f"Write {_all(promoted)} as {_a('tag', promoted)} of {name}, not as {_a('field', promoted)}."
    for column in rewrite.columns:
        if column.split is not None:
            parts = ", ".join(f"{part.name}={part.example}" for part in column.split.parts)
            role = "tag" if column.is_tag else "field"
            yield f"Write one {role} per attribute: {parts} instead of {column.old}={column.split.example}."
    if renamed := [f"{_role(c)}{c.old} as {c.new}" for c in rewrite.columns if c.new != c.old]:
        yield f"Write {_all(renamed)}."
    if typed := [f"{c.old} as {_TYPED[c.to]}" for c in rewrite.columns if c.to in _TYPED]:
        yield f"Write {_all(typed)}."
    for target in rewrite.moved:
        moved = [column.new for column in rewrite.fields_of(target)]
        yield f"Write {_all(moved)} to a measurement of {_its(moved)} own, {target}, with the same tags."


_TYPED = {
    "integer": "whole numbers (42i)",
    "float": "numbers",
    "boolean": "true or false",
    "time": "times, in nanoseconds since 1970 (1709294400000000000i)",
}


def _role(column: Column) -> str:
    return f"{'tag' if column.was_tag else 'field'} " if column.shares_name else ""


def _all(names: Sequence[str]) -> str:
    return listed(names, 20)


def _a(noun: str, names: Sequence[str]) -> str:
    return f"a {noun}" if len(names) == 1 else f"{noun}s"


def _its(names: Sequence[str]) -> str:
    return "its" if len(names) == 1 else "their"


COMMON: Final[Renderers] = {LeaveOut: leave_out}
"""What is said alike by all generations."""
