"""What all generations of InfluxDB have in common about changes: what writers send, and Telegraf's settings for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.engines.influx import telegraf
from tsaudit.engines.influx.rewriting import Rewriting, in_words
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.model.change import LeaveOut
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed, many


def write(rewrite: Rewriting, lost: str) -> Iterator[Step]:
    """What writers send from now on, and how Telegraf is told. `lost`: what `overwritten` says of it."""
    words = [*in_words(rewrite), f"Write to {rewrite.new}, which takes the place of {rewrite.old}."]
    if lost:
        tags = [column.old for column in rewrite.columns if column.was_tag and not column.is_tag]
        one = len(tags) == 1
        kept = f"If queries need {'it as a tag' if one else 'them as tags'}, write fewer or coarser values instead."
        words.append(kept)
    yield Step(Phase.WRITE, " ".join(words), loses=lost)
    yield Step(Phase.WRITE, "Where Telegraf writes it:", telegraf.settings(rewrite), "toml", loses=lost)


def overwritten(place: Place) -> str:
    """What is lost where points get the tags and the time of others; empty where none does, or no tag goes."""
    found, how = place.effect.collisions, place.effect.collisions_how
    if not how or found == 0:
        return ""
    if found is None:
        return f"points that then share their tags and their time overwrite each other; how many is not known: {how}"
    return f"at least {many(found, 'point')} would overwrite another one, having its tags and its time ({how})"


def leave_out(place: Place, changes: Sequence[LeaveOut]) -> Iterator[Step]:
    """Columns that are no longer written."""
    columns = [change.column for change in changes]
    yield Step(Phase.WRITE, f"Stop writing {listed(columns, 20)} to {place.here.name}.", loses=overwritten(place))
    tags = [column for column in columns if place.here.tag(column) is not None]
    for option, names in (("tagexclude", tags), ("fieldexclude", [c for c in columns if c not in tags])):
        if names:
            setting = f"{option} = {telegraf.strings(map(telegraf.glob, names))}"
            yield Step(
                Phase.WRITE, "Where Telegraf writes it, in its input:", setting, "toml", loses=overwritten(place)
            )


def by_program(rewrite: Rewriting, language: str, reasons: Sequence[str], lost: str) -> Step:
    """The copy, where no statement makes it. `reasons`: what the language cannot do, such as `rename the tag a`."""
    return Step(
        Phase.COPY,
        f"{language} cannot {listed(reasons, 6)}: have a program read the stored points of {rewrite.old}, one day at a "
        f"time, change them in the same way, and write them to {listed(rewrite.targets, 6)}. Let it count what it "
        "cannot change, and keep that as it is.",
        cost="reads and writes all stored points",
        loses=lost,
    )


def switched(rewrite: Rewriting) -> Step:
    """Queries read what takes the measurement's place."""
    return Step(Phase.SWITCH, f"Have queries and dashboards read {listed(rewrite.targets, 6)}.")


COMMON: Final[Renderers] = {LeaveOut: leave_out}
"""What is said alike by all generations."""
