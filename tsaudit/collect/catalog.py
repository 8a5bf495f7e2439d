"""The first steps: databases, their measurements, columns, retention, and counts, from the catalog and the index; and
which settings of the target match nothing there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from tsaudit.collect import earlier_days
from tsaudit.collect.catalog_facts import Row, rows_about, rows_of
from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import Audited, Measuring, measuring_of
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS, OfDatabase, OfMeasurement, OfMeasurements, OfTarget, offered
from tsaudit.model.figures import FOREVER, Count, Gap, How, Listed, Reason, Selection, UnusedSetting, fits, utc_now
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.server import KeptPoints, ServerCounter, ServerStatus, StoredQuery
from tsaudit.model.storage import DatabaseStorage, Retention, Storage
from tsaudit.text import many, nearest, number

if TYPE_CHECKING:
    from tsaudit.config.settings import Columns, Target


@dataclass(frozen=True, slots=True)
class Outline:
    """What the catalog and index show, before any row is read."""

    databases: list[Database]
    drafts: list[Draft]
    listed: tuple[Listed, ...]
    unused_settings: tuple[UnusedSetting, ...]
    beyond_budget: dict[str, tuple[str, ...]]
    """`Profile.beyond_budget`."""

    def series_at_most(self) -> dict[str, int]:
        """Database to its series count, if known; for a retention policy, the count of all policies together."""
        counts = {database.name: database.series.value for database in self.databases if database.series}
        whole = {database.name: counts.get(database.policy_of or database.name) for database in self.databases}
        return {name: count for name, count in whole.items() if count is not None}

    def series_not_listed(self, reused: Sequence[Draft]) -> dict[str, int]:
        """Database to an upper bound on the series not examined. `reused`: measurements that are not examined again."""
        series, unwanted = self.series_at_most(), defaultdict[str, int](int)
        for draft in reused:
            unwanted[draft.database] += draft.measurement.series.value if draft.measurement.series else 0
        known = Counter(draft.database for draft in self.drafts)
        for listed in self.listed:
            if known[listed.database] < listed.measurements:
                # How many of the database's series belong to the measurements left out is unknown.
                unwanted[listed.database] = series.get(listed.database, 0)
        return unwanted


@dataclass(frozen=True, slots=True)
class Databases:
    """The databases to audit, and those that the server lists."""

    audited: Mapping[str, Audited]
    """The databases to audit, by name."""
    listed: frozenset[str] | None
    """The databases that the server lists; None if it did not list any."""


def find(
    measuring: Measuring,
    queried: frozenset[str],
    known: Databases,
    previous: Profile | None,
    status: ServerStatus | None,
) -> Outline:
    """The databases and measurements to examine. `known`: see `databases`. `previous`: the newest profile of an earlier
    day. `status`: what the server reports of itself, if it does.
    """
    runner = measuring.runner
    if previous:
        hidden = _no_longer_listed(runner.target, known, previous, status)
        known = replace(known, audited=dict(sorted({**hidden, **known.audited}.items())))
    before = {(m.database, m.name): m for m in previous.measurements} if previous else {}
    outlined: list[Database] = []
    drafts: list[Draft] = []
    names: dict[str, list[str]] = {}
    for name in known.audited:
        database, found, listed = outline(measuring, name, known, queried, before)
        outlined.append(database)
        drafts += found
        if listed is not None:
            names[name] = listed
    unused: tuple[UnusedSetting, ...] = ()
    if known.audited and len(names) == len(known.audited):
        # A setting can only be called unused if everything on the server is known.
        unused = tuple(unused_settings(runner.target, names, drafts))
        if why := nothing_to_audit(runner.target, names):
            runner.gap_in_all(queried, Reason.NOTHING_THERE, why)
    listed_counts = tuple(listing_of(runner.target, name, found) for name, found in names.items())
    beyond = {name: tuple(rest) for name, found in names.items() if (rest := _chosen(runner, found)[1])}
    return Outline(outlined, drafts, listed_counts, unused, beyond)


def databases(measuring: Measuring, queried: frozenset[str]) -> Databases:
    """The configured databases, or else all that the server lists, with their retention policies if it has any."""
    runner = measuring.runner
    rows = rows_of(runner, "databases", OfTarget())
    listed = None if rows is None else frozenset(row["database"] for row in rows)
    configured = runner.target.databases
    if listed is None and not configured:
        gap = runner.gaps[-1]
        runner.gap_in_all(queried, gap.reason, gap.cause, fix=gap.fix)
        return Databases({}, None)
    if not configured and not listed:
        reason = Reason.DENIED if runner.target.username else Reason.FAILED
        detail = "no database to audit: there is none, or the user cannot read any"
        runner.gap("databases", reason, detail)
        runner.gap_in_all(queried, reason, detail)
    # Also includes unlisted ones: when their measurements are listed, the server shows whether access is denied or
    # there are none.
    return Databases(measuring.databases(sorted(configured or listed or ()), listed, queried), listed)


def _no_longer_listed(
    target: Target, known: Databases, previous: Profile, status: ServerStatus | None
) -> dict[str, Audited]:
    """The databases of the previous profile that the server does not list, although nobody can tell whether they were
    dropped: it lists only those that the account may read.

    They stay unknown until they are listed again, or the configuration names the databases to audit.
    """
    engine = ENGINES[target.engine]
    signs_in = target.username or target.password or urlsplit(target.url.get_secret_value()).username
    sees_all = not signs_in or (engine.settings_are_for_admins and status is not None and status.settings)
    if not (engine.right_to_list and known.listed) or sees_all or target.databases:
        return {}
    noun = engine.words.database
    cause = (
        "an earlier audit saw it, and the server no longer lists it: either it was dropped, or the account lost "
        f"{engine.right_to_list}"
    )
    fix = f"grant it again, or name the {noun}s to audit under `databases`"
    gone = (one for one in previous.databases if one.server_name not in known.listed)
    return {
        one.name: Audited(one.name, policy_of=one.policy_of, unknown=Gap("databases", Reason.DENIED, cause, fix=fix))
        for one in gone
    }


def outline(
    measuring: Measuring,
    name: str,
    known: Databases,
    queried: frozenset[str],
    previous: Mapping[tuple[str, str], Measurement],
) -> tuple[Database, list[Draft], list[str] | None]:
    """One database with its own figures, its measurements as the catalog and the index show them, and the names of all
    its measurements, including those not in scope; None in place of the names if they could not be listed.

    `known`: the result of `databases`. `previous`: (database, name) to the measurements of the previous profile.
    """
    runner, audited = measuring.runner, known.audited[name]
    if audited.unknown is not None:
        runner.gap_in_all(queried, audited.unknown.reason, audited.unknown.cause, name, fix=audited.unknown.fix)
        return Database(name, policy_of=audited.policy_of), [], None
    first_gap = len(runner.gaps)
    found = rows_of(runner, "measurements", OfDatabase(database=name))
    names = [row["measurement"] for row in found or ()]
    if found == [] and name not in (known.listed or ()):
        runner.gap_in_all(queried, Reason.FAILED, no_such_database(runner.target, name, known.listed), name)
        return Database(name), [], None
    chosen, left_out = _chosen(runner, names)
    described = None if found is None else measuring.outline(name, chosen)
    retention = _retention_of(runner, name) if "retention" in queried else None
    counted = "database_series" in queried and not audited.policy_of
    series, with_fields = _series_of(runner, name) if counted else (None, None)
    storage = _storage_of(runner, name, queried)
    database = Database(
        name,
        kept=_kept_of(runner, name) if "kept_points" in queried else None,
        series=series,
        policy_of=audited.policy_of,
        retention=retention,
        series_with_fields=with_fields,
        storage=storage,
    )
    if found is None or described is None:
        gap = runner.gaps[first_gap]
        runner.gap_in_all(queried, gap.reason, gap.cause, name, fix=gap.fix)
        return database, [], None
    if left_out:
        count = len(left_out) + len(chosen)
        cause = f"{len(left_out)} of {count} measurements were skipped"
        fix = f"set budget.max_measurements to {count} or more"
        runner.gap("measurements", Reason.OVER_BUDGET, cause, name, fix=fix)
        # Facts about the database as a whole were measured.
        of_each = {fact for fact in queried if issubclass(FACTS[fact].given, OfMeasurements | OfMeasurement)}
        runner.gap_in_all(of_each, Reason.OVER_BUDGET, cause, name, fix=fix)
    as_of = earlier_days.as_of(runner.window)
    estimated = rows_about(runner, "row_estimate", name, chosen) if "row_estimate" in queried else None
    estimates = {row["measurement"]: row for row in estimated or ()}
    # The list of facts is part of the fingerprint, so that a new version with more facts measures again: with a reused
    # profile, the missing facts would look like a pass.
    settings = [sorted(queried), sorted(FACTS), str(runner.target.window)]
    if "column_statistics" in queried:
        settings.append(str(runner.target.budget.max_scan_rows))
    of_all = json.dumps(settings)[:-1]
    policies = tuple(r.policy for r in retention or ())
    drafts = []
    for measurement in chosen:
        draft = described.get(measurement) or measuring.listed(name, measurement)
        counted_rows = estimates.get(measurement, {}).get("rows")
        estimate = None if counted_rows is None else Count(counted_rows, runner.source("row_estimate", How.ESTIMATE))
        before = previous.get((name, measurement))
        state = series.value if series else with_fields.value if with_fields else _state(estimates.get(measurement))
        if audited.is_divided:
            # Adding a series to another policy does not change anything that is cheap to query.
            state = None
        further = f"{of_all}, {json.dumps(repr(runner.target.columns.get(measurement)))}]"
        outlined = replace(
            draft.measurement,
            path=audited.path or runner.path_of("field_types", name),
            rows_total=estimate,
            fingerprint=_fingerprint(draft, policies, state, further),
            fingerprint_as_of=as_of,
        )
        draft = replace(draft, measurement=outlined, policies=policies, is_divided=audited.is_divided, previous=before)
        if measuring.lists_columns and not draft.columns and not draft.unreadable:
            runner.gap("columns", Reason.FAILED, _without_columns(runner), name, measurement)
            draft = replace(draft, unreadable=runner.gap_in("columns", name, measurement))
        drafts.append(draft)
    return database, measuring.with_catalog(name, drafts, queried), names


def _without_columns(runner: QueryRunner) -> str:
    """Explains that a table listed without columns is not necessarily empty."""
    package = ENGINES[runner.target.engine].package
    see = "" if package else f": see sql/{runner.target.engine}/grants.md"
    return f"the server lists it without columns; it was never written to, or the user may not read it{see}"


_WITH_DIGITS: Final = re.compile(r"[A-Za-z0-9]*\d[A-Za-z0-9]*")


def _chosen(runner: QueryRunner, names: list[str]) -> tuple[list[str], list[str]]:
    """The measurements to examine, and the others that the budget excludes; both sorted.

    Names that differ only in words with digits take turns with the others, so that those of hosts or jobs leave none of
    the others out. Among themselves, they are sorted by a hash: old and new ones alike are chosen, nearly the same ones
    each day.
    """
    wanted = sorted(name for name in names if _takes(runner.target, name))
    most = runner.target.budget.max_measurements
    if len(wanted) <= most:
        return wanted, []
    hashes = {name: hashlib.sha512(name.encode(errors="surrogatepass")).digest() for name in wanted}
    alike = Counter[str]()
    turns: list[tuple[int, bytes, str]] = []
    for name in sorted(wanted, key=hashes.__getitem__):
        shape = _WITH_DIGITS.sub("0", name)
        turns.append((alike[shape], hashes[name], name))
        alike[shape] += 1
    chosen = {name for *_, name in sorted(turns)[:most]}
    return sorted(chosen), [name for name in wanted if name not in chosen]


def _state(estimate: Row | None) -> int | str | None:
    """A value that changes when rows are written; None if the engine reports no such value."""
    return None if estimate is None else estimate.get("state", estimate["rows"])


def _fingerprint(draft: Draft, policies: Sequence[str], state: int | str | None, settings: str) -> str:
    """A hash, in 16 hex digits, of what is cheap to query about the measurement; empty if that cannot show whether it
    has changed.

    `policies`: the retention policies of its database. `state`: from `_state`. `settings`: the settings that affect its
    expensive facts, as a list in JSON; when they change, old figures are not reused.
    """
    if state is None:
        return ""
    columns = [[c.name, c.data_type, c.key_position] for c in draft.columns]
    tags, fields = sorted(t.key for t in draft.tags), sorted([f.key, *f.types] for f in (*draft.fields, *draft.unread))
    own = json.dumps([state, columns, tags, fields, policies])
    text = f"{own[:-1]}, {settings}]"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def profile_of(
    measuring: Measuring, found: Outline, measured: Sequence[Draft], day: date, server_version: str
) -> Profile:
    """The profile of the outline and its measurements, as far as they were measured."""
    runner, target = measuring.runner, measuring.runner.target
    drafts = sorted(measured, key=lambda d: (d.database, d.name))
    return Profile(
        target=target.name,
        engine=target.engine,
        server_version=server_version,
        day=day,
        collected_at=utc_now(),
        window=runner.window,
        facts=tuple(sorted(offered(frozenset(query_files(target.engine))))),
        databases=tuple(measuring.with_own_series(found.databases, drafts)),
        measurements=tuple(draft.finished() for draft in drafts),
        gaps=runner.sorted_gaps(),
        costs=runner.costs(),
        selection=Selection(
            target.databases,
            target.include,
            target.exclude,
            parts_of=target.databases if "policies" in query_files(target.engine) else (),
        ),
        listed=found.listed,
        beyond_budget=found.beyond_budget,
        unused_settings=found.unused_settings,
    )


def of_target(
    runner: QueryRunner, queried: frozenset[str]
) -> tuple[ServerStatus | None, tuple[StoredQuery, ...] | None, Storage | None]:
    """The server's status, its stored queries, and the storage of the target as a whole; None for each that the server
    does not report, or that left a gap.
    """
    # First of all, what the server itself reports as wrong, because everything after it costs more.
    status = _server_status(runner, queried)
    stored = _stored_queries(runner) if "scheduled_queries" in queried else None
    storage = rows_of(runner, "target_storage", OfTarget()) if "target_storage" in queried else None
    return status, stored, Storage(**storage[0]) if storage else None


def _stored_queries(runner: QueryRunner) -> tuple[StoredQuery, ...] | None:
    """The enabled queries that the service runs automatically; None if a gap was left."""
    rows = rows_of(runner, "scheduled_queries", OfTarget())
    if rows is None:
        return None
    enabled = [row for row in rows if row["enabled"]]
    read = [row for row in enabled if row["statement"] is not None]
    if len(read) < len(enabled):
        detail = f"{len(enabled) - len(read)} of {len(enabled)} scheduled queries were skipped: each needs a call"
        runner.gap("scheduled_queries", Reason.OVER_BUDGET, detail)
    figures = ("statement", "bytes_scanned", "spatial_coverage", "temporal_range_s", "period_s")
    found = [
        StoredQuery(row["query"], **{figure: row[figure] for figure in figures}, database=row.get("database", ""))
        for row in read
    ]
    return tuple(sorted(found, key=lambda query: (query.database, query.name)))


def _server_status(runner: QueryRunner, queried: frozenset[str]) -> ServerStatus | None:
    """The limits and counters of the server; None if it shows the user none, or a gap was left."""
    fact = next((fact for fact in ("server_status", "server_counters") if fact in queried), None)
    rows = rows_of(runner, fact, OfTarget()) if fact else None
    if not rows:
        return None
    started = next((row["value"] for row in rows if row["kind"] == "started"), None)

    def counted(kind: str) -> tuple[ServerCounter, ...]:
        return tuple(
            ServerCounter(row["name"], row["database"], int(row["value"])) for row in rows if row["kind"] == kind
        )

    return ServerStatus(
        settings={row["name"]: row["value"] for row in rows if row["kind"] == "setting"},
        counters=counted("counter"),
        failures=counted("failure"),
        started=None if started is None else datetime.fromtimestamp(started, UTC),
    )


def _retention_of(runner: QueryRunner, database: str) -> tuple[Retention, ...] | None:
    """The retention policies of the database; None if a gap was left."""
    rows = rows_of(runner, "retention", OfDatabase(database=database))
    if rows is None:
        return None
    return tuple(
        Retention(row["policy"], row["duration_s"] or FOREVER, row["partition_s"] or None, row["default"])
        for row in sorted(rows, key=lambda row: str(row["policy"]))
    )


def _kept_of(runner: QueryRunner, database: str) -> KeptPoints | None:
    """How many of the points that the server accepted it still has; None if unknown."""
    rows = rows_of(runner, "kept_points", OfDatabase(database=database))
    if not rows:
        return None
    return KeptPoints(**rows[0] | {name: datetime.fromisoformat(rows[0][name]) for name in ("first", "last")})


def _series_of(runner: QueryRunner, database: str) -> tuple[Count | None, Count | None]:
    """The number of series, counted as tag sets, and counted as combinations of tag set and field: an engine counts one
    or the other, and the other is None.
    """
    rows = rows_of(runner, "database_series", OfDatabase(database=database))
    if not rows:
        return None, None
    count = Count(rows[0]["series"], runner.source("database_series", database=database))
    return (None, count) if rows[0]["counts_fields"] else (count, None)


def _storage_of(runner: QueryRunner, database: str, queried: frozenset[str]) -> DatabaseStorage | None:
    """The bytes that the database uses, and the size of its disk; None if unknown."""
    if "database_bytes" in queried:
        rows = rows_of(runner, "database_bytes", OfDatabase(database=database))
        return DatabaseStorage(**rows[0], disk_used_bytes=None, disk_bytes=None) if rows else None
    if "database_storage" not in queried:
        return None
    rows = rows_of(runner, "database_storage", OfDatabase(database=database))
    if not rows:
        return None
    found = DatabaseStorage(**rows[0])
    if found.disk_bytes is None:
        runner.gap("database_storage", Reason.UNSUPPORTED, "the server does not report its disk", database)
    return found


_MOST_COMPARED: Final = 2_000
"""Most names to search for a similar one: comparing takes a few microseconds per name, and there may be many patterns.
"""
_NAMES_SHOWN: Final = 3


def _takes(target: Target, measurement: str) -> bool:
    """Whether the target's patterns include the measurement."""
    return fits(measurement, target.include) and not fits(measurement, target.exclude)


def listing_of(target: Target, database: str, names: Sequence[str]) -> Listed:
    """The contents of the database, under the names that the server lists."""
    left_out = sorted(name for name in names if not _takes(target, name))
    return Listed(database, len(names), len(left_out), tuple(left_out[:_NAMES_SHOWN]))


def nothing_to_audit(target: Target, names: Mapping[str, Sequence[str]]) -> str | None:
    """Why there is nothing to audit although the server listed all its contents; None if there is something to audit.

    `names`: database to its measurements. An empty server is a problem: the target is configured because it should
    contain data, and a wrong port, an unmounted volume, or a user without permissions has the same symptom.
    """
    every = [name for found in names.values() for name in found]
    if any(_takes(target, name) for name in every):
        return None
    noun = ENGINES[target.engine].words.measurement
    if not every:
        where = (
            f"{ENGINES[target.engine].words.database} {next(iter(names))}"
            if len(names) == 1
            else "any of the databases"
        )
        return f"there is nothing to audit: no {noun} in {where}"
    if not any(fits(name, target.include) for name in every):
        patterns = ", ".join(f'"{pattern}"' for pattern in target.include)
        return f"include: [{patterns}] {_no_match(target.include[:1], every, noun)}"
    patterns = ", ".join(f'"{pattern}"' for pattern in target.exclude)
    return f"exclude: [{patterns}] removes everything that `include` selects from {many(len(every), noun)}"


def unused_settings(
    target: Target, names: Mapping[str, Sequence[str]], drafts: Iterable[Draft]
) -> Iterator[UnusedSetting]:
    """The target's settings that match nothing. `names`: database to its measurements, for all databases."""
    noun = ENGINES[target.engine].words.measurement
    every = sorted({name for found in names.values() for name in found})
    audited = [name for name in every if _takes(target, name)]
    for setting, patterns in (("include", target.include), ("exclude", target.exclude)):
        for pattern in patterns:
            if pattern != "*" and not any(fits(name, [pattern]) for name in every):
                yield UnusedSetting(setting, pattern, _no_match([pattern], every, noun))
    for pattern in target.measurements:
        if not any(fits(name, [pattern]) for name in audited):
            yield UnusedSetting("measurements", pattern, _no_match([pattern], audited, noun))
    described = {draft.name: [c.name for c in draft.columns] for draft in drafts if draft.columns}
    for name, columns in target.columns.items():
        if not measuring_of(ENGINES[target.engine]).uses_column_settings:
            yield UnusedSetting("columns", name, f"has no effect: {target.engine} defines them itself")
        elif name not in audited:
            known = "is excluded by include and exclude" if name in every else _no_match([name], audited, noun)
            yield UnusedSetting("columns", name, known)
        elif name in described:
            yield from _unused_columns(name, columns, described[name])


def no_such_database(target: Target, name: str, there: Iterable[str] | None) -> str:
    """The message about a configured database in which nothing was found. `there`: the databases that the server lists;
    None if it does not list any.
    """
    noun = ENGINES[target.engine].words.database
    hint = "; on this engine, `databases` lists schemas" if ENGINES[target.engine].has_one_database else ""
    if there is None:
        return f"nothing is visible in {noun} {name}, and the server does not list its {noun}s{hint}"
    return f"the server lists no {noun} {name}{_near([name], there)}{hint}"


def _unused_columns(measurement: str, columns: Columns, there: Sequence[str]) -> Iterator[UnusedSetting]:
    named = (("time", [columns.time] if columns.time else []), ("tags", columns.tags), ("fields", columns.fields))
    for role, wanted in named:
        for column in wanted:
            if column not in there:
                detail = _no_match([column], there, "column")
                yield UnusedSetting(f"columns.{measurement}.{role}", column, detail)


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
