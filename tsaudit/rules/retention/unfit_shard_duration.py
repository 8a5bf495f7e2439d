"""RET003."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit import costs
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Database
from tsaudit.model.storage import Retention
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import day as written
from tsaudit.text import duration, many, number, retention, rounded_down, size

_DAY_S: Final = 86_400
_HALF_A_YEAR_S: Final = 180 * _DAY_S
_SOURCE: Final = "measured on InfluxDB 1.6.7"


@dataclass(frozen=True, slots=True)
class _Price:
    """The cost of a shard, regardless of its contents, as measured on InfluxDB 1.6.7."""

    files: int
    """Number of files that are kept open."""
    bytes: float
    """Bytes of heap per shard."""
    series_bytes: float
    """Bytes of heap for each series with points in the shard."""
    index: str


_IN_MEMORY: Final = _Price(2, 50_000, 84, "index in memory")
_ON_DISK: Final = _Price(10, 490_000, 410, "index on disk")


@rule(
    code="RET003",
    title="Shards do not fit the retention, or outlive it",
    costs={Currency.BYTES, Currency.LIMIT, Currency.MECHANISM},
    guidelines=("F1", "H5"),
    requires={"retention", "database_bytes"},
    uses={"server_status"},
    shows={"database_series"},
    engines=lambda engine: engine.has_shards,
    not_applicable={"influxdb2 Cloud": "the service manages its shards itself"},
    thresholds=(
        Threshold(
            "open_files",
            65_536,
            "open files",
            "LimitNOFILE in the vendor's packages for systemd: "
            "https://github.com/influxdata/influxdb/blob/v1.8.10/scripts/influxdb.service",
        ),
    ),
)
def unfit_shard_duration(case: Case) -> Iterator[Finding]:
    """Retention policies and buckets whose shards cost more than their data need, because of their duration, or because
    they are not deleted.

    InfluxDB sets one hour for a retention below two days, a day up to half a year, and a week above; whoever changes
    the retention later keeps the duration. Shards shorter than that cost memory: each takes 50 kB of heap with the
    index in memory and 490 kB with the one on disk, and 84 or 410 B more for each series in it. The finding counts what
    the vendor's duration would save.

    Shards longer than the whole retention keep points for long after it: a shard is deleted when its newest point
    expires. The finding counts the bytes that the vendor's duration would save, on average.

    Shards that are still there a day after their retention has passed show that it is not carried out: on InfluxDB 1.x,
    `[retention] enabled` may be false in the configuration. Otherwise it is a note until an audit a day later sees such
    shards, too.

    All shards together keep files open, 2 or 10 each. If they approach `open_files`, the server can make no more
    shards. That limit is not read from the server, so this is a warning, unless you set it.

    ## Why it matters

    Every query opens the shards of its time range, and at the start the server opens all of them. A server with
    thousands of small shards takes minutes to start, and gigabytes before it has answered anything.

    ## Example

    A policy was made with a retention of a day, so with shards of an hour, and later set to keep everything: 8,760
    shards a year.

    ## Fix

    `ALTER RETENTION POLICY "p" ON "d" SHARD DURATION 7d`, on InfluxDB 2 `influx bucket update --shard-group-duration
    7d`. That is for new shards: the others stay until they expire. If there are thousands, copy their data once into a
    policy or bucket with long shards. Where the retention is not carried out, set `enabled = true` in the section
    [retention] of the configuration, once nobody needs what has expired in any database of the server.

    ## References

    - Shard group duration management:
      https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/#shard-group-duration-management
    - The service that deletes shards: https://docs.influxdata.com/influxdb/v1/administration/config/#retention
    - Shards and shard groups: https://docs.influxdata.com/influxdb/v2/reference/internals/shards/
    """
    price = _price(case)
    kept = [one for one in (_kept(case, database, price) for database in case.profile.databases) if one]
    for one in kept:
        if expired := _expired(one):
            yield _outlived(case, one, expired)
        if one.policy.partition_s is None:
            continue
        spared = one.shards * (1 - one.policy.partition_s / one.recommended_s)
        if spared >= 1:
            yield from _too_short(case, one)
        elif one.policy.duration_s != FOREVER and one.policy.partition_s > one.policy.duration_s:
            yield from _too_long(case, one)
    yield from _too_many_files(case, kept, price)


@dataclass(frozen=True, slots=True)
class _Kept:
    """The shards of one policy or bucket."""

    database: Database
    policy: Retention
    shards: int
    series: int | None
    """Number of series, summed over all shards, so a series counts once per shard; None if not known."""
    price: _Price
    is_written: bool

    @property
    def recommended_s(self) -> int:
        """The shard duration that the vendor recommends for such a retention, in seconds."""
        if self.policy.duration_s == FOREVER or self.policy.duration_s >= _HALF_A_YEAR_S:
            return 7 * _DAY_S
        return _DAY_S if self.policy.duration_s >= 2 * _DAY_S else 3_600

    @property
    def per_day(self) -> float:
        """Number of new shards per day, if points keep coming."""
        return _DAY_S / self.policy.partition_s if self.policy.partition_s and self.is_written else 0.0

    @property
    def kept_days(self) -> float | None:
        return None if self.policy.duration_s == FOREVER else self.policy.duration_s / _DAY_S


def _price(case: Case) -> _Price:
    """The price for the index in use; if the server does not show which index it has, the lower price."""
    is_on_disk = case.engine.enforces_limits(case.profile) is False
    return _ON_DISK if is_on_disk else _IN_MEMORY


def _kept(case: Case, database: Database, price: _Price) -> _Kept | None:
    """The shards of the database's policy; None if the shards or their policy are not known, or if several policies
    share them.
    """
    policies = database.retention or ()
    policy = policies[0] if len(policies) == 1 else next((one for one in policies if one.default), None)
    storage = database.storage
    if policy is None or storage is None or not storage.shards:
        return None
    inside = [m for m in case.profile.measurements if m.database == database.name]
    is_written = any(costs.added_a_day(case, m) for m in inside)
    return _Kept(database, policy, storage.shards, storage.shard_series, price, is_written)


def _expired(one: _Kept) -> int:
    """The number of shards that should have been deleted."""
    known = one.database.storage.expired_shards if one.database.storage else None
    return 0 if one.policy.duration_s == FOREVER else known or 0


def _was_expired(case: Case, one: _Kept) -> bool:
    """Whether the previous audit, a day before, saw shards that should have been deleted by the same retention."""
    before = case.timeline.previous if case.timeline.is_older(case.profile, timedelta(days=1)) else None
    known = (d for d in before.databases if d.name == one.database.name) if before else ()
    return any(bool(d.storage and d.storage.expired_shards) and one.policy in (d.retention or ()) for d in known)


def _outlived(case: Case, one: _Kept, expired: int) -> Finding:
    """Shards that are kept although their retention has passed."""
    assert one.database.storage is not None
    held, since = one.database.storage.expired_bytes, one.database.storage.expired_since
    enabled = case.profile.server.settings.get("retention_enabled") if case.profile.server else None
    kept = retention(one.policy.duration_s)
    did = f"{one.policy.policy} keeps data for {kept}, but {number(expired)} of {many(one.shards, 'shard')}"
    oldest = f", the oldest on {written(datetime.fromtimestamp(since, UTC).date())}" if since is not None else ""
    why = ""
    if enabled is not None:
        why = ", although the retention service is on" if enabled else ": the retention service is switched off"
    is_certain = enabled == 0 or _was_expired(case, one)
    deletes = f"these shards{f', {size(held)},' if held else ''} and with them all points that are older than {kept}"
    return Finding(
        subject=Subject(one.database.name),
        impact=Impact(
            Currency.MECHANISM,
            consequence="Data is kept beyond its retention, and its shards stay open.",
            how="the server's list of shards, and its clock",
        )
        if is_certain
        else None,
        message=f"{did} should have been deleted{oldest}{why}.",
        headline=f"{did} should have been deleted",
        fix="Set `enabled = true` in the section [retention] of the configuration, and restart the server. It then "
        f"deletes {deletes}, and what has expired in all other policies and databases: look at these first, and set a "
        "longer duration where somebody needs the data."
        if enabled == 0
        else "Look for `retention` in the log of the server: it says which shards it could not delete."
        if is_certain
        else "The next audit shows whether they stay.",
        observed=expired,
        unit="shards",
        evidence=(
            Evidence("shards", number(one.shards)),
            Evidence("that should have been deleted", number(expired)),
            *([Evidence("their bytes", size(held))] if held is not None else []),
            # If the server does not report which index it has, the price is the lower one; series take memory, too.
            Evidence("their memory", f"at least {size(rounded_down(expired * one.price.bytes))}: {_SOURCE}"),
            *([Evidence("[retention] enabled", "true" if enabled else "false")] if enabled is not None else []),
        ),
        facts=("retention", "database_bytes"),
    )


def _too_short(case: Case, one: _Kept) -> Iterator[Finding]:
    """The memory used by shards that would not exist with the vendor's duration."""
    assert one.policy.partition_s is not None
    part = one.policy.partition_s / one.recommended_s
    spared = one.shards * (1 - part)
    # A series that is in only one shard would also be in one longer shard.
    series, own = one.series or 0, one.database.series.value if one.database.series else one.series or 0
    again = max(series - max(series * part, own), 0)
    saved = spared * one.price.bytes + again * one.price.series_bytes
    how = f"heap of shards, with the {one.price.index}: {_SOURCE}"
    impact = Impact(
        Currency.BYTES,
        now=saved,
        per_day=saved / one.shards * one.per_day,
        kept_days=one.kept_days,
        unit="memory",
        how=how,
    )
    yield _finding(
        case,
        one,
        impact,
        f"{_begin(one)}: {many(one.shards, 'shard')}, of which {duration(one.recommended_s)} each would leave "
        f"{number(max(round(one.shards * part), 1))}, and save about {size(saved)} of memory",
    )


def _too_long(case: Case, one: _Kept) -> Iterator[Finding]:
    """The bytes that are kept beyond the retention. A shard is deleted when its newest point expires, so on average
    half of a shard is kept longer than necessary.
    """
    assert one.policy.partition_s is not None
    assert one.policy.duration_s != FOREVER
    held = one.database.storage.data_bytes if one.database.storage else None
    if not held:
        return
    now = one.policy.duration_s + one.policy.partition_s / 2
    saved = held * (one.policy.partition_s - one.recommended_s) / 2 / now
    how = "half of a shard is kept beyond the retention"
    impact = Impact(Currency.BYTES, now=saved, whole=held, per_day=0.0, how=how)
    yield _finding(
        case,
        one,
        impact,
        f"{_begin(one)}, so it keeps points for up to {duration(one.policy.duration_s + one.policy.partition_s)}: "
        f"about {size(saved)} of {size(held)} are older than they should be",
    )


def _begin(one: _Kept) -> str:
    kept = "forever" if one.policy.duration_s == FOREVER else f"for {retention(one.policy.duration_s)}"
    return f"{one.policy.policy} keeps data {kept} in shards of {duration(one.policy.partition_s or 0)}"


def _finding(case: Case, one: _Kept, impact: Impact, message: str) -> Finding:
    policy, database = (case.engine.quoted(name) for name in (one.policy.policy, one.database.server_name))
    hours = one.recommended_s // 3_600
    statement = case.engine.shard_duration_statement.format(policy=policy, database=database, hours=hours)
    others = "stay until they expire"
    if one.policy.duration_s == FOREVER:
        others = "never expire, and keep what they take until you set a retention, or copy their points elsewhere"
    return Finding(
        subject=Subject(one.database.name),
        impact=impact,
        message=f"{message}.",
        fix=f"Set a shard duration of {duration(one.recommended_s)}: `{statement}`. It holds for new shards; the "
        f"others {others}.",
        observed=one.shards,
        unit="shards",
        evidence=(
            Evidence("shards", number(one.shards)),
            Evidence("duration of a shard", duration(one.policy.partition_s or 0)),
            *([Evidence("series in each shard, summed", number(one.series))] if one.series is not None else []),
        ),
        facts=("retention", "database_bytes"),
    )


def _too_many_files(case: Case, kept: list[_Kept], price: _Price) -> Iterator[Finding]:
    """The files that all shards keep open, if they are close to the server's limit."""
    limit = case.limit("open_files")
    used = float(sum(one.shards for one in kept) * price.files)
    rate = sum(one.per_day * price.files for one in kept if _is_filling(one))
    how = f"{price.files} files for each shard with the {price.index}: {_SOURCE}"
    impact = costs.of_limit(case, used, limit, per_day=rate, how=how)
    # The limit may have been set by somebody; the default is that of the vendor's packages, and cannot be read from the
    # server.
    impact = impact if impact.is_enforced else replace(impact, is_enforced=None)
    if not costs.is_near(case, impact, case.harm.limit_warning):
        return
    largest = max(kept, key=lambda one: one.shards)
    yield Finding(
        subject=Subject(),
        impact=impact,
        message=f"The shards keep about {number(used)} files open, of the {number(limit.value)} that a server may; "
        f"most are those of {largest.database.name}, {many(largest.shards, 'shard')} of "
        f"{duration(largest.policy.partition_s or 0)}.",
        fix="Set a longer shard duration, and delete what nobody needs; or allow the server more files (LimitNOFILE).",
        observed=used,
        limit=limit,
        unit="open files",
        evidence=tuple(
            Evidence(f"shards of {one.database.name}", number(one.shards))
            for one in sorted(kept, key=lambda one: -one.shards)[:5]
        ),
        facts=("retention", "database_bytes"),
    )


def _is_filling(one: _Kept) -> bool:
    """Whether shards are being added while none expire."""
    return one.kept_days is None or one.shards < one.kept_days * one.per_day
