"""How users of InfluxDB make the changes of a plan: the common part of all generations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cached_property
from typing import ClassVar, Final

from tsaudit.engines.advice import WRITTEN, Advice, Place, days_of, no_longer_sent, tags_removed
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.writers import Program, Terms, loss, opentelemetry, program_of, sentences, step
from tsaudit.engines.writers.opentelemetry import Signal
from tsaudit.model.change import (
    Change,
    ChangeType,
    Claim,
    Diagnose,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
    SetRetention,
    StopSource,
)
from tsaudit.model.figures import FOREVER
from tsaudit.model.plan import Step, StepKind
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Retention
from tsaudit.text import day, instant, listed, many, number, retention

_MOST_QUERIES: Final = 3
_NUMBERS: Final = frozenset({"float", "integer", "unsigned"})
"""Types of which a query reads all as the first that it finds, in this order."""
_TYPES: Final = {
    "integer": "integers (42i)",
    "float": "floats (42.0)",
    "boolean": "booleans",
    "time": "timestamps in nanoseconds (1709294400000000000i)",
}


def weeks(keep: timedelta) -> int:
    """A retention in whole weeks, at least one."""
    return max(round(keep / timedelta(weeks=1)), 1)


class InfluxAdvice(Advice):
    """The steps of one plan. Stored points are never changed: writers write different points, and the old ones expire
    or are deleted.
    """

    also: Sequence[InfluxAdvice]
    handles = frozenset({*WRITTEN, Diagnose, SetRetention})
    terms: ClassVar[Terms] = Terms(types=_TYPES)
    kept_in: ClassVar[str]
    """The engine's word for what has a retention."""

    # --- What a generation adds ---------------------------------------------------------------------------------------

    def query(self, change: Diagnose) -> Step | None:
        """The step with the query for the change; None if there is none."""
        raise NotImplementedError

    def limited(self, change: SetRetention) -> tuple[str, str, str]:
        """How to set the retention: what to do, the statement, and its language."""
        raise NotImplementedError

    @property
    def limits_stored(self) -> bool:
        """Whether the new retention also applies to points that are already stored."""
        return True

    def deleted(self) -> tuple[str, str, str]:
        """A single statement that deletes the points stored with the tags to remove, after that of `copied`; its
        language, and what it deletes.
        """
        raise NotImplementedError

    def copied(self) -> tuple[str, str]:
        """A single statement that writes the stored points again without the tags to remove, and what becomes of these
        tags, as the end of a clause; both empty if there is none.
        """
        return "", ""

    def of_source(self, change: StopSource) -> tuple[str, str]:
        """A single statement that deletes the points of a source, and its language; both empty if there is none."""
        return "", ""

    def dropped(self, change: MergeMeasurements) -> tuple[str, str, bool]:
        """The statement that drops the old measurements of a family, its language, and whether it drops all of them,
        or only the first.
        """
        raise NotImplementedError

    def by_influxql(self, change: Diagnose, reach: str = "") -> Step | None:
        """The query that only InfluxQL can make: of the types of a field, of the sources that stopped sending it, and
        of a field beside a tag of its name. `reach`: what else to say of it.
        """
        column, table = self.place.quoted([change.column]), self.place.table()
        if change.what == "types":
            return self._newest_of_each_type(change, reach)
        if change.what == "sources":
            by = f" GROUP BY {self.place.quoted(found)}" if (found := self.place.sources()) else ""
            words = f"Find the sources that stopped sending {change.column}: the times of their newest values{reach}."
            return Step(StepKind.FIND, words, f"SELECT last({column}) FROM {table}{by}", "influxql")  # noqa: S608
        if change.what == "both":
            words = f"Until the old points have expired, say which {change.column} is meant{reach}."
            text = f"SELECT {column}::field FROM {table} WHERE {column}::tag = '...'"  # noqa: S608 -- shown, never run
            return Step(StepKind.FIND, words, text, "influxql")
        return None

    def _newest_of_each_type(self, change: Diagnose, reach: str) -> Step:
        """The query for the newest point of each source."""
        column, table, sources = self.place.quoted([change.column]), self.place.table(), self.place.sources()
        by = f" GROUP BY {self.place.quoted(sources)}" if sources else ""
        # Naming the type would convert the values of numbers; that of others, a query must name.
        casts = [f"::{kind}" for kind in change.values if kind not in _NUMBERS]
        casts += [""] if len(casts) < len(change.values) else []
        each = [f"SELECT last({column}{cast}) FROM {table}{by}" for cast in casts]  # noqa: S608 -- shown, never run
        words = f"See the newest value of {change.column} of each source{reach}."
        if sources:
            words += " A source whose newest one is older than that of others may send the type that is rejected."
        return Step(StepKind.FIND, words, ";\n".join(each), "influxql")

    # --- The steps ----------------------------------------------------------------------------------------------------

    @property
    def order(self) -> Sequence[StepKind]:
        # What gains time comes first.
        return sorted(StepKind, key=lambda kind: not (kind is StepKind.SCHEMA and self.place.stopgap))

    def find(self) -> Step | None:
        """The query for the sources of new values of a tag to remove, or the query that a rule asks for."""
        # Tags that distinguish the same series need only one statement.
        by_text: dict[str, Step] = {}
        for change in self.asked_for() or self.new_values():
            if query := self.query(change):
                by_text.setdefault(query.text, query)
        queries = list(by_text.values())
        if not queries:
            return None
        first = queries[0]
        if first.language == "flux":
            queries = [first]
        shown = [query for query in queries if query.language == first.language][:_MOST_QUERIES]
        text = first.text if len(shown) == 1 else "\n".join(f"{query.text};" for query in shown)
        words = " ".join(dict.fromkeys(query.words for query in shown)) + self._likewise("Query the others likewise.")
        return Step(StepKind.FIND, words, text, first.language, cost=first.cost)

    def writer(self) -> Step | None:
        """What writers should send, with the settings of Telegraf unless the columns indicate another program."""
        here = self.place.measurement
        if here is not None and (found := exporter_step(self.place, self.changes, self.terms)):
            return found
        example = "" if here is None else self._line(here)
        made = replace(self, changes=[*self.changes, *self._of_one_type()])
        found = step(made, self.terms, usual=Program.TELEGRAF, new_name=self.new_name, example=example)
        until_then = self._until_next_shard()
        if found is None or not until_then:
            return found
        return replace(found, words=f"{until_then} From then on, {found.words[:1].lower()}{found.words[1:]}")

    def schema(self) -> Step | None:
        """The step that sets the retention, the only thing that a statement can change; otherwise what gains time."""
        change = next((change for change in self.changes if isinstance(change, SetRetention)), None)
        if change is None:
            return Step(StepKind.SCHEMA, self.place.stopgap) if self.place.stopgap else None
        words, text, language = self.limited(change)
        if not self.limits_stored:
            return Step(StepKind.SCHEMA, f"{words}.", text, language)
        age = many(days_of(change), "day")
        return Step(
            StepKind.SCHEMA,
            f"{words}. First decide how long the data is needed: older data is deleted at once. Write what you need "
            f"longer to a {self.kept_in} of its own.",
            text,
            language,
            loses=f"all data older than {age}",
        )

    def stored(self) -> Step | None:
        """What to do about stored points: nothing if they expire; otherwise a single statement that deletes them."""
        for change in self.changes:
            if isinstance(change, MergeMeasurements):
                return self._merged(change)
        source = next((change for change in self.changes if isinstance(change, StopSource)), None)
        if not self._gone and not self._kept_as_it_is and source is None:
            return self._shard_of_one_type()
        if expiry := self._expiry():
            return Step(StepKind.STORED, f"Nothing to do: {expiry}.{self._likewise('')}")
        if not self._gone and source is not None:
            return self._deletion_of(source)
        if not self._gone:
            return Step(StepKind.STORED, f"Stored points stay as they are: {self._kept_as_it_is}.")
        return self._deletion()

    def verify(self) -> Step | None:
        """The figures of a later audit that show whether the changes worked."""
        words = " ".join(self._figures())
        return Step(StepKind.VERIFY, f"Check that it worked. {words}") if words else None

    # --- Names --------------------------------------------------------------------------------------------------------

    @cached_property
    def new_name(self) -> str:
        """The name of a new measurement that replaces this one, because an existing column cannot become a tag or a
        field, or change its type; empty if writers keep the name, or cannot be configured to write to another one.
        """
        here = self.place.measurement
        needs_one = any(isinstance(change, MakeField | MakeTag | ChangeType) for change in self.changes)
        if here is None or not needs_one or not program_of(here, Program.TELEGRAF).has_fields:
            return ""
        wanted = f"{here.name}_new"
        claims = [claim for change in self.changes for claim in change.claims().items()]
        # A plan of an earlier day may already be carried out.
        is_made = any(
            (m.database, m.name) == (here.database, wanted) and all(_is_so(m, *claim) for claim in claims)
            for m in self.place.profile.measurements
        )
        return wanted if is_made else self.place.free(wanted)

    @cached_property
    def _gone(self) -> tuple[str, ...]:
        """The tags that are dropped or become fields."""
        return tuple(tag.key for tag in tags_removed(self.place.measurement, self.changes))

    @property
    def _kept_as_it_is(self) -> str:
        """What queries find in points stored before other changes of columns, as part of a sentence; or empty."""
        for change in self.changes:
            if isinstance(change, MakeTag):
                return f"there, {change.column} is a field"
            if isinstance(change, Rename):
                return f"there, {change.old or 'the measurement'} has the old name"
            if isinstance(change, ChangeType):
                return f"there, {change.column} has the old type"
        return ""

    # --- Parts of steps -----------------------------------------------------------------------------------------------

    def _of_several_types(self) -> list[Diagnose]:
        """The fields of several types."""
        return [change for change in self.asked_for() if change.what == "types"]

    def _of_one_type(self) -> Iterator[ChangeType]:
        """The type to send the values of such a field with: a number where one of its types is a number."""
        typed = {change.column for change in self.changes if isinstance(change, ChangeType)}
        # Several rules may ask for the types of one field.
        for change in {change.column: change for change in self._of_several_types()}.values():
            if change.column not in typed and not _NUMBERS.isdisjoint(change.values):
                kinds = [kind for kind in change.values if kind in _NUMBERS]
                yield ChangeType(change.at, change.column, kinds[0] if len(kinds) == 1 else "float")

    @property
    def _waits_for_shard(self) -> bool:
        """Whether the writers change nothing but the type of fields that have several."""
        return not any(isinstance(change, WRITTEN) for change in self.changes)

    def _until_next_shard(self) -> str:
        """What to send until the type may be another one, in sentences; empty if the writers can change at once."""
        wanted = list(self._of_one_type()) if self._waits_for_shard else []
        if not wanted or all(self._type_in_shard(one.column) == one.to for one in wanted):
            return ""
        types = {self._type_in_shard(one.column) for one in wanted}
        kind = types.pop() if len(types) == 1 else ""
        sent = f"as {self.terms.types.get(kind, f'{kind}s')}" if kind else "with the type that the current shard has"
        bounds = self._current_shard()
        until = f"until {instant(bounds[1])}, when the next shard begins" if bounds else "until the next shard begins"
        return (
            f"Send {listed([one.column for one in wanted], 3)} {sent} {until}: other types are rejected. Stop the "
            "writers before that time, and start them changed after it: the first point decides the type of a shard."
        )

    def _type_in_shard(self, column: str) -> str:
        """The type of the field in the current shard of all measurements of the plan; empty if it is not known."""
        found, bounds = set[str](), self._current_shard()
        for measurement in self.measurements:
            field = next((one for one in measurement.fields if one.key == column), None)
            newest, last = field.newest_type if field else None, measurement.last_time
            if field is None or newest is None or bounds is None or last is None or last < bounds[0]:
                return ""
            # Of several types of numbers, a query returns all values as one.
            is_number = newest.type in _NUMBERS
            found.add("" if is_number and len(_NUMBERS.intersection(field.types)) > 1 else newest.type)
        return found.pop() if len(found) == 1 else ""

    def _shard_of_one_type(self) -> Step | None:
        """What becomes of points of another type than the current shard has; None if no field has several types."""
        fields = [change.column for change in self._of_several_types()]
        if not fields:
            return None
        name, bounds = listed(fields, 3), self._current_shard()
        since, until = (f" (since {instant(bounds[0])})", f" at {instant(bounds[1])}") if bounds else ("", "")
        words = (
            f"In each shard, {name} has the type of the first point: in the current one{since}, points of another type "
            f"are rejected with all of their fields, until the next one begins{until}. "
        )
        if not self._waits_for_shard or not any(self._of_one_type()):
            words += "To lose none until then, send the type that it has, or write another field name. "
        words += "Stored values keep their type until they expire."
        return Step(StepKind.STORED, words)

    def _current_shard(self) -> tuple[datetime, datetime] | None:
        """When the shard of new points began, and when it ends; None if that is not known."""
        kept = self._retention()
        if kept is None or not kept.partition_s:
            return None
        # Shards begin at multiples of their duration since the year 1.
        now, length = self.place.profile.collected_at, timedelta(seconds=kept.partition_s)
        start = now - (now - datetime(1, 1, 1, tzinfo=UTC)) % length
        return start, start + length

    def _likewise(self, words: str) -> str:
        """The end of a paragraph about the first of several measurements; empty if there is only one."""
        if not self.also:
            return ""
        here, words_of = self.place.measurement, ENGINES[self.place.profile.engine].words
        noun = words_of.database if here is None else words_of.measurement
        name, total = here.name if here is not None else self.place.database, many(len(self.also) + 1, noun)
        return f" {name} is the first of {total}. {words}".rstrip()

    def _merged(self, change: MergeMeasurements) -> Step:
        count = many(len(change.members), "measurement")
        if expiry := self._expiry():
            return Step(StepKind.STORED, f"Nothing to do: {expiry}. Until then, queries read both.")
        text, language, is_for_all = self.dropped(change)
        words = (
            f"The {count} keep what is stored. To move it, a program would have to read all of their points and write "
            f"them to {change.into} with the tags in the plan's JSON (`changes`). Delete them once nobody reads them."
        )
        if not is_for_all:
            words += " The statement names the first; delete the others likewise."
        words += self._likewise("")
        first = change.members[0].measurement
        lost = f"all {self.terms.row}s of {f'the {count}' if is_for_all else first}"
        beyond = self._also_deleted(first)
        return Step(StepKind.STORED, words + beyond, text, language, loses=lost)

    def _also_deleted(self, measurement: str) -> str:
        """A sentence about what DROP affects beyond the audited retention policy, because it cannot name one. Empty if
        no other policy contains a measurement with this name.
        """
        profile, database = self.place.profile, self.place.database
        own = next((d for d in profile.databases if d.name == database), None)
        if own is None:
            return ""
        holding = {m.database for m in profile.measurements if m.name == measurement} - {database}
        others = [d.name for d in profile.databases if d.name in holding and d.server_name == own.server_name]
        if not others:
            return ""
        return (
            f" This deletes from all retention policies of {own.server_name}, including {listed(others, 3)}: let the "
            "data expire instead, or first copy what has to stay."
        )

    def _deletion(self) -> Step:
        text, language, lost = self.deleted()
        gone, rows = listed(self._gone, 3), f"{self.terms.row}s"
        beyond = self._also_deleted(self.place.here.name)
        _, become = self.copied()
        if become:
            words = (
                f"Stored {rows} stay as they are. After the writers have changed, the first statement writes them "
                f"again {become}; where there are many, add a condition on time and run it for one range after the "
                f"other. Only then delete them.{beyond}"
                f"{self._likewise('Change the others likewise.')}"
            )
            merged = loss(self.place.effect, self.terms.row)
            lost = f"{lost}, unless they were written again{f'; of those, {merged}' if merged else ''}"
            return Step(StepKind.STORED, words, text, language, loses=lost)
        words = (
            f"Stored {rows} stay as they are. If nobody needs them, delete them after the writers have changed: to "
            f"have them without {gone}, a program would have to write them again.{beyond}"
            f"{self._likewise('Delete the others likewise.')}"
        )
        return Step(StepKind.STORED, words, text, language, loses=lost)

    def _deletion_of(self, source: StopSource) -> Step:
        name, rows = self.place.here.name, f"{self.terms.row}s"
        text, language = self.of_source(source) if source.is_apart else ("", "")
        if not text:
            words = (
                f"Stored {rows} stay as they are: what would delete those of {source.by}={source.value} is not known."
            )
            return Step(StepKind.STORED, words)
        words = (
            f"If nobody needs the {rows} of this source, delete them after it has stopped; those of the others stay."
            f"{self._also_deleted(name)}"
        )
        return Step(
            StepKind.STORED, words, text, language, loses=f"all {rows} of {name} with {source.by}={source.value}"
        )

    def _figures(self) -> Iterator[str]:
        when = self._last_expiry()
        by = f"by {day(when)}" if when else "once the old points are gone"
        if any(isinstance(change, SetRetention) for change in self.changes):
            yield "The next audit shows the new retention, and after a day no older data."
        for change in self.changes:
            if isinstance(change, MergeMeasurements):
                yield (
                    f"After a day, none of the {many(len(change.members), 'measurement')} has new points; {by}, the "
                    f"count of measurements is lower by {number(len(change.members) - 1)}."
                )
        effect = self.place.effect
        if self.place.measurement is None:
            return
        name = self.place.here.name
        if fields := [change.column for change in self._of_several_types()]:
            yield f"Once all send the type of the shard, the server drops no point because of {listed(fields, 3)}."
        for change in self.changes:
            if isinstance(change, StopSource):
                yield f"From the next day on, {change.tag} of {name} has no new values with {change.by}={change.value}."
        if self._gone and (effect.series_now is None or effect.series_after is None):
            yield f"From the next day on, the audit finds no new values of {listed(self._gone, 3)} in {name}."
        elif self._gone:
            now, left = effect.series_now or 0, effect.series_after or 0
            at_most = "" if effect.is_exact else "at most "
            falls = f"its number of series falls from {number(now)} to"
            rest = f"0; {self.new_name} has {at_most}{number(left)}" if self.new_name else f"{at_most}{number(left)}"
            yield (
                f"From the next day on, {listed(self._gone, 3)} add{'s' if len(self._gone) == 1 else ''} no series to "
                f"{name}; {by}, {falls} {rest}."
            )
        elif self._kept_as_it_is:
            yield f"The audit of the next day lists the new columns in {self.new_name or name}."

    # --- Retention ----------------------------------------------------------------------------------------------------

    def _expiry(self) -> str:
        """When stored points expire, as part of a sentence; empty if they do not expire, or if that is not known."""
        when, kept = self._last_expiry(), self._retention()
        if when is None or kept is None or kept.duration_s == FOREVER:
            return ""
        return f"points stored until now expire by {day(when)} (retention {retention(kept.duration_s)})"

    def _last_expiry(self) -> date | None:
        """The day on which the last of the points stored until now expires. A shard expires as a whole."""
        kept = self._retention()
        if kept is None or kept.duration_s == FOREVER:
            return None
        newest: datetime = self.place.profile.window.end
        return (newest + timedelta(seconds=kept.duration_s + (kept.partition_s or 0))).date()

    def _retention(self) -> Retention | None:
        """The retention of the measurement's points; None if not known."""
        known = next((d for d in self.place.profile.databases if d.name == self.place.database), None)
        kept: Sequence[Retention] = () if known is None else known.retention or ()
        path = self.place.measurement.path if self.place.measurement else ()
        named = [one for one in kept if path[1:] == (one.policy,)]
        return next(iter([*named, *(one for one in kept if one.default), *kept]), None)

    def _line(self, here: Measurement) -> str:
        """An example of a point as it should be written, in line protocol."""
        return "\n".join(_lines(here, self.new_name or here.name, self.changes))


def _lines(here: Measurement, name: str, changes: Sequence[Change]) -> Iterator[str]:
    gone = no_longer_sent(changes) | {c.tag for c in changes if isinstance(c, MakeField)}
    made = [c.column for c in changes if isinstance(c, MakeTag)]
    demoted = [c.tag for c in changes if isinstance(c, MakeField)]
    tags = [*(tag.key for tag in here.tags if tag.key not in gone), *made]
    fields = [*(field.key for field in here.fields if field.key not in (*gone, *made)), *demoted]

    def written(columns: Sequence[str]) -> list[str]:
        return [f"{_escaped(column)}=..." for column in columns]

    if fields:
        most = [*written(fields[:3]), *(["..."] if len(fields) > 3 else [])]
        yield f"{','.join([_escaped(name), *written(tags[:6])])} {','.join(most)}"


def _escaped(name: str) -> str:
    return "".join(f"\\{c}" if c in ", =" else c for c in name)


_IDS: Final = ("trace_id", "span_id")
_NO_ID: Final = {"trace_id": f"TraceID(0x{'0' * 32})", "span_id": f"SpanID(0x{'0' * 16})"}


def exporter_step(place: Place, changes: Sequence[Change], terms: Terms) -> Step | None:
    """How to configure the exporter so that it drops tags of logs or spans; None for other signals."""
    here, signal = place.here, opentelemetry.signal_of(place.here)
    gone = [tag.key for tag in tags_removed(here, changes)]
    if signal not in (Signal.LOG, Signal.SPAN) or not gone:
        return None
    words = " ".join(sentences(here, changes, terms))
    ids = [name for name in gone if name in _IDS]
    if signal is Signal.SPAN and ids:
        words += (
            f" The exporter refuses spans without {listed(_IDS)}, and makes tags of them: give the bucket a short "
            "retention, or keep spans in a database for traces."
        )
    kept = [] if signal is Signal.SPAN or not ids else [name for name in _IDS if name not in gone]
    tags = [tag.key for tag in here.tags if tag.key in kept or tag.key not in (*gone, *_IDS)]
    option = "log_record_dimensions" if signal is Signal.LOG else "span_dimensions"
    text = f"exporters:\n  influxdb:\n    {option}: {opentelemetry.flow(tags)}"
    if signal is Signal.LOG and ids:
        block = opentelemetry.transform(here.name, [(signal, list(_as_attributes()))])
        text = f"{block}\n{text}"
    words += " If an OpenTelemetry collector writes it, in its exporter; what is no tag is in the field attributes:"
    return Step(StepKind.WRITER, words, text, "yaml", loses=loss(place.effect, terms.row))


def _as_attributes() -> Iterator[str]:
    """The exporter turns either both IDs into tags or, if one is missing, neither."""
    for name, none in _NO_ID.items():
        yield f"set({opentelemetry.attribute('log', name)}, log.{name}.string) where log.{name} != {none}"
    yield f"set(log.trace_id, {_NO_ID['trace_id']})"


def _is_so(measurement: Measurement, claim: Claim, to: str) -> bool:
    """Whether a column of the measurement has the role or type that a change claims for it."""
    aspect, column = claim
    if aspect == "role":
        roles = {"tag": {tag.key for tag in measurement.tags}, "field": {field.key for field in measurement.fields}}
        return [role for role, columns in roles.items() if column in columns] == [to]
    return any(one.key == column and one.types == (to,) for one in measurement.fields)
