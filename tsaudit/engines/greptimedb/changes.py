"""How GreptimeDB makes changes: by ALTER TABLE where it can, and all that it cannot by one copy of the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

from tsaudit.engines.greptimedb import collector, rebuild
from tsaudit.engines.greptimedb.rebuild import A_DAY, Shape
from tsaudit.engines.greptimedb.split_off import moved_out
from tsaudit.engines.greptimedb.statements import (
    APPEND_ONLY,
    left_out_by_sender,
    merged_partitions,
    set_index,
    set_option,
    unset_index,
)
from tsaudit.engines.greptimedb.tables import (
    indexes_on,
    is_append_only,
    is_metric,
    option,
    primary_key,
)
from tsaudit.engines.greptimedb.wanted import Wanted
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Place, Renderers
from tsaudit.engines.sql import merging
from tsaudit.engines.sql.looks import Looks, renderer
from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    DropRepeats,
    Inspect,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SetKey,
    SetOption,
    SetRetention,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.plan import Phase, Step
from tsaudit.text import listed


def table_changes(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """All that becomes of a table, in at most one copy: several would undo each other."""
    if is_metric(place.here):
        yield from _metric(place, changes)
        return
    yield from _Table(place, tuple(changes)).steps()


def _metric(place: Place, changes: Sequence[Change]) -> Iterator[Step]:
    """A table that the server makes out of what is written."""
    gone = [change.tag for change in changes if isinstance(change, MakeField)]
    if gone:
        yield Step(Phase.WRITE, left_out_by_sender(place.here, gone), loses=_overwritten(place))
    names = {c.old: c.new for c in changes if isinstance(c, Rename) and c.old}
    yield from collector.without_labels(place, gone, names, _overwritten(place) if gone else "")
    if any(isinstance(c, Rename | SplitColumn | SplitMeasurement | ChangeType | MakeTag) for c in changes):
        yield Step(
            Phase.WRITE,
            f"Change what is sent to {place.here.name}: the metric engine makes its tables out of what is written, and "
            "no statement changes their columns or names.",
        )
    if any(isinstance(c, SetKey) for c in changes):
        yield Step(
            Phase.WRITE,
            "Make another physical table with another rule of partitions, and have the senders name it "
            "(physical_table=... in the address of Prometheus's remote write): rows there are not copied.",
        )
    yield from _Table(place, tuple(c for c in changes if isinstance(c, SetRetention | SetOption))).altered(
        place.here.name
    )


def _overwritten(place: Place) -> str:
    return place.lost("row", "then have key and time in common, and become one")


class _Table(Wanted):
    """The steps to it."""

    __slots__ = ()

    def steps(self) -> Iterator[Step]:
        """All steps; a plan puts them into the order of their phases."""
        shape, name = self.shape(), self.name()
        if self.needs_copy(shape):
            yield from self._copied(shape, name)
        else:
            for change in self.changes:
                if isinstance(change, SetKey) and change.only_with_copy and change.key is not None:
                    key = ", ".join(change.key)
                    yield Step(Phase.PREPARE, f"If the table is rebuilt for another reason, set its key to ({key}).")
            yield from self._index_steps(shape, name)
            if name != self.place.here.name:
                renamed = f"ALTER TABLE {self.place.table()} RENAME {self.place.quoted([name])};"
                words = "Have writers and queries use the new name from the same moment on."
                yield Step(Phase.SWITCH, words, renamed, "sql")
        yield from self.altered(name, self.needs_copy(shape))
        fields = [change.tag for change in self.changes if isinstance(change, MakeField)]
        yield from collector.not_extracted(self.place.here, fields)
        splits = [change for change in self.changes if isinstance(change, SplitMeasurement)]
        yield from moved_out(self.place, splits, shape.names, name)

    # --- By ALTER TABLE ---------------------------------------------------------------------------------------------

    def _index_steps(self, shape: Shape, name: str) -> Iterator[Step]:
        for column, kinds in sorted(shape.indexes.items()):
            now = set(indexes_on(self.place.here, column))
            for kind in sorted(kinds - now):
                yield Step(
                    Phase.PREPARE,
                    f"Set {_a(kind)} index on {column}. It covers files written from then on; others when they are "
                    "compacted.",
                    set_index(self.place, self.place.here, column, kind),
                    "sql",
                )
            for kind in sorted(now - kinds):
                yield Step(
                    Phase.REMOVE,
                    f"Unset the {kind} index on {column}, and watch the slow queries before the next one: an "
                    "index that is set again covers only files written from then on.",
                    # By then the table has its new name.
                    unset_index(self.place, replace(self.place.here, name=name), column, kind),
                    "sql",
                )

    def altered(self, name: str, is_copied: bool = False) -> Iterator[Step]:
        """Options that ALTER TABLE sets. `name`: of the table by then; `is_copied`: whether a copy has the others."""
        here = self.place.here
        for change in self.changes:
            if isinstance(change, SetOption) and not is_copied and self.alters(change.option, change.value):
                is_for_good = change.option == "append_mode"
                yield Step(
                    Phase.PREPARE,
                    "Make the table append-only: it keeps all rows, also those that a sender's retry repeats. This "
                    "cannot be undone, and DELETE is refused from then on."
                    if is_for_good
                    else f"Set {change.option} to {change.value}. Existing files stay as they are until they are "
                    "compacted.",
                    set_option(self.place, here, change.option, change.value),
                    "sql",
                    can_undo=not is_for_good,
                )
            elif isinstance(change, SetRetention):
                days = round(change.keep / timedelta(days=1))
                value = quote_text("greptimedb", f"{days}d")
                yield Step(
                    Phase.REMOVE,
                    f"Decide how long the rows of {name} are needed, and set that as its TTL.",
                    f"ALTER TABLE {self.place.table(name)} SET 'ttl'={value};",
                    "sql",
                    can_undo=False,
                    loses=f"all rows of {name} older than {days} days; how many is not known: only the window was read",
                )

    # --- By a copy --------------------------------------------------------------------------------------------------

    def _copied(self, shape: Shape, name: str) -> Iterator[Step]:
        place, here = self.place, self.place.here
        new, old = place.free(f"{here.name}_new"), place.free(f"{here.name}_old")
        yield Step(Phase.PREPARE, " ".join(self._why(shape)), rebuild.create(place, shape, new), "sql")
        yield Step(
            Phase.COPY,
            "Stop the writers, and copy the rows one day at a time, the newest day first.",
            rebuild.insert_day(place, shape, new),
            "sql",
            cost="reads and writes all rows",
            repeat_every=A_DAY,
            loses=self._merged(shape),
        )
        yield Step(
            Phase.CHECK,
            "Compare the counts of each day: they must be equal, except for what the copy is said to lose.",
            rebuild.counts(place, shape, new),
            "sql",
            cost="reads all rows",
            repeat_every=A_DAY,
        )
        for split in shape.parts.values():
            yield Step(
                Phase.CHECK,
                f"See which values of {split.column} have another form: each stays whole in {split.parts[0].name}.",
                rebuild.split_statement(place, split),
                "sql",
                repeat_every=A_DAY,
            )
        lost = ["partitions"] if rebuild.loses_partitions(place, shape) else []
        carried = listed([*lost, "defaults", "comments", "details of indexes"], 8)
        yield Step(
            Phase.SWITCH,
            f"Swap the two. Carry over by hand what else SHOW CREATE TABLE shows: {carried}.",
            f"ALTER TABLE {place.table()} RENAME {place.quoted([old])};\n"
            f"ALTER TABLE {place.table(new)} RENAME {place.quoted([name])};",
            "sql",
            locks="writers, until the copy is complete",
        )
        beside = [c for c in shape.types if c not in shape.kept_beside]
        texts = f", and the values of {listed(beside)} that the check shows as not converted" if beside else ""
        yield Step(
            Phase.REMOVE,
            "Drop the old table once the counts are equal and nobody needs it.",
            f"DROP TABLE {place.table(old)};",
            "sql",
            can_undo=False,
            loses=f"{old}, of which {name} then holds all rows{texts}",
        )

    def _why(self, shape: Shape) -> Iterator[str]:
        """What the new table is like, in sentences."""
        here, now = self.place.here, primary_key(self.place.here)
        yield "No ALTER TABLE does this, so rebuild the table with all changes."
        if gone := [column for column in now if column not in shape.key and column not in shape.parts]:
            yield (
                f"Take {listed(gone, 20)} out of the key: as {'a field it' if len(gone) == 1 else 'fields they'} can "
                "have a skipping index, which finds single values as well."
            )
        elif shape.key != now:
            yield f"Its key is ({', '.join(rebuild.final_key(shape))})."
        if shape.options.get("append_mode") == "true" and not is_append_only(here):
            yield "It is append-only: it keeps all rows, and DELETE is refused from then on."
            if not shape.key:
                yield "Without a key it has to be, or rows of one instant overwrite each other."
        for name, value in self.settled_by_copy(shape).items():
            if name not in APPEND_ONLY or value not in ("", "true"):
                yield f"Its {name} is {value or 'the default'}."
        if shape.time != here.time_column:
            yield f"{shape.time} is the time index; rows without it keep the time that they have."
        if not shape.is_divided and here.partitioning is not None:
            yield "It has no partitions."
            if merge := merged_partitions(self.place, here):
                in_place = " ".join(merge.split())
                yield (
                    "A cluster with shared object storage and its garbage collection on merges two of them at a time "
                    f"in place instead: {in_place}"
                )
        for column, kind in shape.types.items():
            kept = f", and {shape.kept_beside[column]} holds what is none" if column in shape.kept_beside else ""
            yield f"{column} is {rebuild.TYPES[kind]}{kept}."
        for split in shape.parts.values():
            yield f"{listed([part.name for part in split.parts], 8)} take the place of {split.column}."
        if shape.names:
            yield f"Renamed: {listed([f'{old} to {new}' for old, new in shape.names.items()], 8)}."

    def _merged(self, shape: Shape) -> str:
        """What the copy loses, by which rows become one."""
        found = [f"{change.found}: one of each stays" for change in self.changes if isinstance(change, DropRepeats)]
        here = self.place.here
        appends = shape.options.get("append_mode", option(here, "append_mode")) == "true"
        if appends:
            return "; ".join(found)
        if is_append_only(here):
            seen = here.repeats
            known = f"{seen.repeated} of {seen.rows} rows read" if seen else "how many was not measured"
            found.append(f"rows that repeat key and time of another, of which the last one stays: {known}")
        if lost := _overwritten(self.place):
            found.append(lost)
        if shape.time != here.time_column:
            found.append(
                f"rows that share key and {shape.time} become one; how many is not known: its times were not compared"
            )
        known_key = set(primary_key(here))
        effect = {c.tag for c in self.changes if isinstance(c, MakeField)}
        if dropped := known_key - set(shape.key) - effect - set(shape.parts):
            found.append(f"rows that differ in {listed(sorted(dropped))} alone become one; how many was not measured")
        return "; ".join(found)


def _a(word: str) -> str:
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


_KINDS: Final[tuple[type[Change], ...]] = (
    AddIndex,
    ChangeType,
    DropIndex,
    DropRepeats,
    MakeField,
    MakeTag,
    Rename,
    SetKey,
    SetOption,
    SetRetention,
    SplitColumn,
    SplitMeasurement,
)
RENDERERS: Final[Renderers] = {
    Inspect: renderer(
        Looks(recent=lambda place: f"{place.quoted([place.here.time_column or ''])} >= now() - INTERVAL '1 day'")
    ),
    LeaveOut: collector.leave_out,
    MergeMeasurements: merging.renderer(rebuild.create_merged, lambda _: set(), fold=False),
    **dict.fromkeys(_KINDS, table_changes),
}
