"""Computes the effect of changing a measurement's tags: the number of its series, and the points that would collide.
From the last snapshot if possible, otherwise from the live database.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.analysis.codes import combined
from tsaudit.analysis.values.hashes import Counted, bucketed
from tsaudit.collect import catalog
from tsaudit.collect.draft import as_text
from tsaudit.collect.measuring import Measuring, measuring_of
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.roles import ROLE_ROWS, assign_roles, find_time
from tsaudit.collect.rows import sample_source
from tsaudit.collect.series import list_tag_sets, scope
from tsaudit.engines.connection import Connection, ConnectorError
from tsaudit.engines.opening import with_connection
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import TsauditError
from tsaudit.model.columns import TagSets
from tsaudit.model.figures import Cost, How, Role, Source, Window, utc_now
from tsaudit.model.profile import Measurement, Profile
from tsaudit.net.watchdog import Deadline
from tsaudit.text import instant, nearest, number

if TYPE_CHECKING:
    from tsaudit.collect.draft import Draft
    from tsaudit.config.settings import Target


_ROWS_NOT_READ: Final = "not measured: rows are read only when asked for"


class UnknownNameError(TsauditError, LookupError):
    """There is no measurement or tag with that name; the error's text lists similar names."""


@dataclass(frozen=True, slots=True)
class TagReduction:
    """Tags to remove, or to reduce to fewer values."""

    dropped: frozenset[str] = frozenset()
    """Tags to drop or turn into fields."""
    buckets: Mapping[str, int] | None = None
    """Tag to the maximum number of values it may have afterward."""


@dataclass(frozen=True, slots=True)
class Left:
    """The number of series of a measurement before and after a change."""

    now: int
    after: int
    """An upper bound if a profile contains only a sample of the series."""
    determined_by: tuple[str, ...] = ()
    """Tags that each determine the dropped one, so that dropping it alone saves nothing."""
    together: int | None = None
    """Number of series left if those tags are dropped, too; None if there are none, or if it was not computed."""
    now_error: float | None = None
    """Standard error of `now`; None if it is exact or, when computed from a snapshot, the same as that of the
    measurement's series.
    """
    after_error: float | None = None


@dataclass(frozen=True, slots=True)
class Collisions:
    """Rows with the same tags and time as another row, which they overwrite on engines where these identify a row."""

    rows: int
    """Number of rows compared."""
    now: int
    after: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The effect of changing the tags of one measurement."""

    database: str
    measurement: str
    left: Left | None
    """What is left of the series; None: not measured; `left_how` says why."""
    left_how: str
    collisions: Collisions | None
    """Points that would overwrite each other; None: not measured; `collisions_how` says why."""
    collisions_how: str
    costs: tuple[Cost, ...] = ()
    """The cost of each fact queried; empty if there was no connection."""


def answer(
    target: Target,
    profile: Profile | None,
    name: str,
    change: TagReduction,
    *,
    database: str | None = None,
    with_collisions: bool = False,
    now: datetime | None = None,
) -> Answer:
    """The effect of `change` on the measurement `name`.

    `profile`: the target's last snapshot; None if there is none. `now`: rows from this time on do not count; None for
    the current time. The database is queried if the snapshot is not enough, or if `with_collisions` requires reading
    rows. Raises UnknownNameError, and ConnectorError if the database is needed and cannot be reached.
    """
    stored = stored_answer(profile, name, change, database)
    if stored is not None and not with_collisions:
        return stored

    def measure(connection: Connection, deadline: Deadline) -> Answer:
        end = now or utc_now()
        with closing(QueryRunner(target, connection, Window(end - target.window, end), deadline)) as runner:
            measuring = measuring_of(ENGINES[target.engine])(runner)
            return _live(measuring, name, change, database, with_collisions)

    return with_connection(target, measure)


def stored_answer(profile: Profile | None, name: str, change: TagReduction, database: str | None) -> Answer | None:
    """The effect of `change` according to the snapshot, see `answer`; None if it is not enough. Raises
    UnknownNameError.
    """
    known = _in_snapshot(profile, name, database)
    if profile is None or known is None:
        return None
    _check_tags(change, known)
    stored = _stored(known, change)
    if stored is None:
        return None
    return Answer(known.database, known.name, stored, _stored_how(profile, known), None, _ROWS_NOT_READ)


def _in_snapshot(profile: Profile | None, name: str, database: str | None) -> Measurement | None:
    measurements = profile.measurements if profile else ()
    found = [m for m in measurements if m.name in _within(m.database, name) and database in (None, m.database)]
    found = [m for m in found if m.name == name] or found
    _check_single(name, [m.database for m in found])
    return found[0] if found else None


def _within(database: str, name: str) -> set[str]:
    """The names that `name` may stand for in the database: with the database before it, as reports show it, or not.
    The second counts only if no measurement has the first.
    """
    return {name, name.removeprefix(f"{database}/")}


def _stored(measurement: Measurement, change: TagReduction) -> Left | None:
    if measurement.tag_sets is None or change.buckets or len(change.dropped) != 1:
        return None
    return from_tag_sets(measurement.tag_sets, next(iter(change.dropped)))


def _stored_how(profile: Profile, measurement: Measurement) -> str:
    """The day of the figures, which may have been reused from an earlier day, and the rows they cover."""
    assert measurement.tag_sets is not None
    source = measurement.tag_sets.source
    exact = "exact" if source.how is How.EXACT else "at most this many, if the sampled series are like the others"
    how = f"{exact}, from the snapshot of {profile.day}, measured at {instant(source.as_of)}"
    return f"{how}: {source.words}" if source.words else how


def _live(measuring: Measuring, name: str, change: TagReduction, database: str | None, with_collisions: bool) -> Answer:
    runner = measuring.runner
    files = frozenset(query_files(runner.target.engine))
    draft, database_series = _draft(measuring, name, database, files)
    draft = assign_roles(
        runner, find_time(runner, draft), runner.rows_each if with_collisions else min(runner.rows_each, ROLE_ROWS)
    )
    _check_tags(change, draft.finished())
    counter = LeftCounter([t.key for t in draft.tags], change, runner.target.budget.max_series)
    draft = list_tag_sets(runner, draft, also=counter.add)
    left, how = (
        (counter.left, _live_how(counter.left))
        if draft.measurement.tag_sets
        else (None, _why(runner, "series_listing"))
    )
    if left and draft.partial_scan and draft.measurement.series:
        how = f"sampled, live: {draft.measurement.series.source.words}"
    elif left and (which := scope(runner, draft, "series_listing")):
        how += f": {which}"
    found, found_how = None, _ROWS_NOT_READ
    if with_collisions:
        draft = measuring.with_rows(draft, database_series)
        if draft.sampled_series and left and left == Left(left.now, left.now):
            found, found_how = Collisions(0, 0, 0), "exact: no two series would become one"
        else:
            found, found_how = _collisions(measuring, draft, change)
    return Answer(draft.database, draft.name, left, how, found, found_how, runner.costs())


def _live_how(left: Left) -> str:
    errors = [
        f"{name} ± {number(round(error))}"
        for name, error in (("now", left.now_error), ("after", left.after_error))
        if error
    ]
    return f"estimated, live, standard error of {', of '.join(errors)}" if errors else "exact, live"


def _draft(measuring: Measuring, name: str, database: str | None, files: frozenset[str]) -> tuple[Draft, int | None]:
    """The measurement according to the catalog, and the number of series of its database if the engine counts them."""
    runner, target = measuring.runner, measuring.runner.target
    wanted = files & {"measurements", "columns", "tag_keys", "field_types", "retention", "database_series"}
    # These figures determine how much of a big table is read.
    wanted |= files & {"row_estimate", "column_statistics", "scan_estimate", "time_extents"}
    found: list[tuple[Draft, int | None]] = []
    known = catalog.databases(measuring, wanted)
    databases = [db for db in known.audited if database in (None, db)]
    for db in databases:
        names = tuple(map(glob.escape, sorted(_within(db, name))))
        runner.target = target.model_copy(update={"include": names, "exclude": ()})
        outlined, drafts, _ = catalog.outline(measuring, db, known, wanted, {})
        found += [(draft, outlined.series.value if outlined.series else None) for draft in drafts]
    runner.target = target
    found = [one for one in found if one[0].name == name] or found
    _check_single(name, [draft.database for draft, _ in found])
    if not found:
        inside = [catalog.outline(measuring, db, known, wanted, {})[1] for db in databases]
        others = {draft.name for drafts in inside for draft in drafts}
        if runner.gaps and not others:
            raise ConnectorError(runner.gaps[0].detail)
        raise UnknownNameError(f"no measurement is named `{name}`{_near(name, others)}")
    return found[0]


def _collisions(measuring: Measuring, draft: Draft, change: TagReduction) -> tuple[Collisions | None, str]:
    runner = measuring.runner
    if draft.sample is None or not draft.sample.num_rows:
        gaps = any(gap.fact == "row_sample" for gap in runner.gaps)
        return None, _why(runner, "row_sample") if gaps else "not measured: no rows within the window"
    if draft.time is None:
        return None, "not measured: the table has no time column"
    if draft.sampled_series:
        return _of_all_series(measuring, draft, change)
    time, _ = draft.read_times()
    tags = {t.key: _one(as_text(draft.read(Role.TAG, t.key).values)) for t in draft.tags}
    source = sample_source(runner, draft)
    return collisions(tags, _one(time.values), change), f"{_how(source)}: {source.scope}"


def _of_all_series(measuring: Measuring, draft: Draft, change: TagReduction) -> tuple[Collisions | None, str]:
    """Collisions if only rows of a few series were read: rows of other series may have the same time."""
    part = measuring.row_slice(draft, gone={*change.dropped, *(change.buckets or {})})
    if part is None:
        runner = measuring.runner
        gaps = any(gap.fact == "row_slice" for gap in runner.gaps)
        return None, _why(
            runner, "row_slice"
        ) if gaps else "not measured: there are too many series to read rows of all"
    found = collisions({key: _one(column) for key, column in part.tags.items()}, _one(part.times), change)
    how = _how(part.source) if part.whole else "at least"
    return found, f"{how}: {part.source.scope}"


def _how(source: Source) -> str:
    return "exact" if source.how is How.EXACT else "sampled"


def _one(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _why(runner: QueryRunner, fact: str) -> str:
    gap = next((g for g in runner.gaps if g.fact == fact), None)
    return f"not measured: {gap.detail}" if gap else "not measured: the measurement has no tags"


def _check_single(name: str, databases: list[str]) -> None:
    if len(databases) > 1:
        raise UnknownNameError(f"`{name}` is in several databases: {', '.join(sorted(databases))}; choose one")


def _check_tags(change: TagReduction, measurement: Measurement) -> None:
    keys = {t.key for t in measurement.tags}
    for tag in sorted({*change.dropped, *(change.buckets or {})} - keys):
        raise UnknownNameError(f"`{measurement.name}` has no tag `{tag}`{_near(tag, keys)}")


def _near(name: str, names: Iterable[str]) -> str:
    few = ", ".join(sorted(names)[:10])
    return nearest(name, names, cutoff=0.5) or (f"; there are {few}" if few else "; there is none")


_ABSENT: Final = -1


def from_tag_sets(tag_sets: TagSets, tag: str) -> Left | None:
    """The number of series left after dropping one tag, computed from stored figures; None if they do not cover the
    tag.
    """
    found = next((c for c in tag_sets.contributions if c.tag == tag), None)
    if found is None:
        return None
    if not found.together_with:
        return Left(tag_sets.series, found.series_left)
    # A tag that another one determines adds no series of its own.
    return Left(tag_sets.series, tag_sets.series, found.together_with, found.series_left)


class LeftCounter:
    """Counts the series of a listing before and after a change, batch by batch."""

    def __init__(self, tags: Sequence[str], change: TagReduction, ceiling: int | None = None) -> None:
        """`ceiling`: counts up to this many series are exact, higher ones are estimates. None: always exact."""
        self._change = change
        self._kept = [tag for tag in tags if tag not in change.dropped]
        self._now, self._after = (TagSetCounter(names, ceiling=ceiling) for names in (tags, self._kept))

    def add(self, batch: pa.RecordBatch) -> None:
        """Add tag sets: one string column per tag, null if the tag is absent."""
        self._now.add(batch)
        if self._kept:
            columns = changed({tag: batch.column(tag) for tag in self._kept}, self._change)
            self._after.add(pa.record_batch(columns))

    @property
    def left(self) -> Left:
        """The number of series so far, before and after the change."""
        now = self._now.series
        after = self._after.series if self._kept else Counted(min(now.value, 1))
        return Left(now.value, after.value, now_error=now.standard_error, after_error=after.standard_error)


def changed(columns: Mapping[str, pa.Array], change: TagReduction) -> dict[str, pa.Array]:
    """The tags as they would be after the change, from one column for each current tag."""
    buckets = change.buckets or {}
    return {
        tag: bucketed(column, buckets[tag]) if tag in buckets else column
        for tag, column in columns.items()
        if tag not in change.dropped
    }


def collisions(tags: Mapping[str, pa.Array], time: pa.Array, change: TagReduction) -> Collisions:
    """How many rows have the same tags and time as an earlier row, before and after the change.

    `tags` and `time`: one column each, for the same rows. Rows without a time are left out.
    """
    timed = time.is_valid()
    moments = time.filter(timed)
    columns = {tag: column.filter(timed) for tag, column in tags.items()}
    after = changed(columns, change)
    return Collisions(
        rows=len(moments),
        now=_repeating([moments, *columns.values()]),
        after=_repeating([moments, *after.values()]),
    )


def _repeating(columns: Sequence[pa.Array]) -> int:
    """The number of rows that equal an earlier one."""
    rows = len(columns[0])
    codes = [column.dictionary_encode().indices.fill_null(_ABSENT).to_numpy() for column in columns]
    return rows - int(combined(codes, rows).max(initial=-1)) - 1
