"""SRV002."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.engines.engine import Failure
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Measurement, ServerCounter, ServerStatus
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import day as written
from tsaudit.text import instant, listed, many, number, percent

_OVERDUE: Final = 2
"""From how many times `autovacuum_freeze_max_age` on nothing makes transactions younger again as it should."""
_PROCESSES: Final = (
    "max_connections",
    "max_prepared_transactions",
    "autovacuum_max_workers",
    "max_worker_processes",
    "max_wal_senders",
)
"""Settings whose sum is the number of processes, and prepared transactions, that have a share of the lock table."""
_UNKNOWN_FAILURE: Final = Failure("{name} fails", "Find the reason in the server's log.")
"""Of an engine that does not say more."""


@rule(
    code="SRV002",
    title="The server is in distress",
    costs={Currency.LIMIT, Currency.MECHANISM, Currency.REJECTED},
    guidelines=("H5",),
    requires={"server_counters"},
    uses={"server_status", "partitions", "indexes"},
    thresholds=(
        Threshold(
            "max_transactions",
            2_144_483_648,
            "transactions",
            "three million before they repeat, the server accepts none that writes: "
            "https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND",
        ),
    ),
)
def server_in_distress(case: Case) -> Iterator[Finding]:
    """What the server itself says is about to stop it, or does not work.

    - The age of the oldest transaction that is not frozen, or of the oldest row lock that several share, of any
      database of the server. At `max_transactions`, no database of the server accepts writes. Reported from half of it
      on, or from twice `autovacuum_freeze_max_age` on: by then, autovacuum should have frozen it.
    - Locks of one statement on all partitions of a table: one for the table and each partition, and as many for each
      index. Beyond the lock table, it fails with `out of shared memory`. The limit is `max_locks_per_transaction` for
      each process that the server may have. Reported from half of it on.
    - What failed since the audit before: continuous queries and subscriptions of InfluxDB, so that what they should
      have written or sent on is missing, and writes that GreptimeDB rejected because its memory was full. Failed
      compactions and flushes are a warning if they failed on the day before as well. In the same finding, and a note by
      themselves: requests that ended in an error of the server, queries that ran out of memory, writes that had to
      wait, and a restart.
    - Open files and connections of MongoDB: beyond what the system or its configuration allows, the server stops, or
      refuses clients. Reported from half of it on.
    - Mechanisms that fail now: the cache of MongoDB, so that clients have to make room in it, and its removal of
      expired documents; archiving of the write-ahead log; a replication slot that nobody reads, for which more log than
      `max_wal_size` is kept; a job of TimescaleDB whose last run failed; a region of GreptimeDB whose leader has been
      down for a minute, which rejects writes now.

    ## Why it matters

    Each of these ends in a server that accepts no writes, by itself and often at night, and gives no other sign before.

    ## Example

    A prepared transaction that a client left open a year ago: nothing can be frozen, and the age of the oldest
    transaction has reached 1.8 billion.

    ## Fix

    It depends on what fails; the finding says it.

    ## References

    - Transaction numbers: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND
    - The lock table: https://www.postgresql.org/docs/current/runtime-config-locks.html
    - Archiving: https://www.postgresql.org/docs/current/continuous-archiving.html
    - Replication slots: https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS
    - Regions of GreptimeDB: https://docs.greptime.com/reference/sql/information-schema/region-peers/
    - Jobs of TimescaleDB: https://docs.timescale.com/api/latest/informational-views/job_stats/
    """
    status = case.profile.server
    if status is None:
        return
    yield from _transactions(case, status)
    for measurement in case.profile.measurements:
        yield from _locks(measurement, status)
    for failure in status.failures:
        yield _failing(case, failure)
    yield from _near(status)
    yield from _risen(case, status)


def _transactions(case: Case, status: ServerStatus) -> Iterator[Finding]:
    ages = [one for one in status.counters if one.name == "transaction_age"]
    if not ages:
        return
    oldest, limit = max(ages, key=lambda one: one.value), case.limit("max_transactions")
    overdue = _OVERDUE * status.settings.get("autovacuum_freeze_max_age", limit.value)
    if oldest.value < min(costs.NOTED * limit.value, overdue):
        return
    # Up to then it falls again each time that autovacuum has been everywhere.
    per_day = costs.rate(case, "transaction_age", Subject(oldest.database), oldest.value)
    per_day = per_day if oldest.value >= overdue else 0.0
    left = (limit.value - oldest.value) / per_day if per_day > 0 else None
    yield Finding(
        subject=Subject(),
        message=f"The oldest transaction of database {oldest.database} is {number(oldest.value)} transactions old, "
        f"{percent(oldest.value / limit.value)} of the age at which the server accepts no writes.",
        impact=costs.toward_limit(
            oldest.value, limit.value, limit.unit, per_day=per_day, days_left=left, how="the catalog of databases"
        ),
        fix="End what keeps it: transactions open for long (pg_stat_activity), prepared ones (pg_prepared_xacts), "
        "replication slots (pg_replication_slots). Then run VACUUM (FREEZE) in that database, first on the tables with "
        "the greatest age(relfrozenxid).",
        observed=oldest.value,
        limit=limit,
        unit=limit.unit,
        evidence=tuple(Evidence(one.database, many(one.value, "transaction")) for one in ages),
        facts=("server_status",),
    )


def _locks(measurement: Measurement, status: ServerStatus) -> Iterator[Finding]:
    """Whether the lock table has room for a statement on all partitions of the table."""
    each, processes = status.settings.get("max_locks_per_transaction"), [*map(status.settings.get, _PROCESSES)]
    if measurement.partitioning is None or measurement.indexes is None or not each or None in processes:
        return
    room = each * (1 + sum(one or 0 for one in processes))
    relations, of_each = measurement.partitioning.count + 1, 1 + len(measurement.indexes)
    used = relations * of_each
    if used < costs.NOTED * room:
        return
    yield Finding(
        subject=subject_of(measurement),
        message=f"A statement on all {number(measurement.partitioning.count)} partitions needs {number(used)} locks, "
        f"{percent(used / room)} of those that the server has.",
        impact=costs.toward_limit(used, room, "locks", how="partitions and indexes, and the server's settings"),
        fix="Let each partition span more time, or drop old ones; or raise max_locks_per_transaction, which takes a "
        "restart.",
        observed=used,
        unit="locks",
        evidence=(
            Evidence("locks for each partition", f"1, and {many(len(measurement.indexes), 'index')}"),
            Evidence("max_locks_per_transaction", number(each)),
        ),
        facts=("server_status", "partitions", "indexes"),
    )


_ROOM: Final = {
    "open_files": ("file", "Raise the limit of the process (LimitNOFILE), and merge collections of one kind."),
    "connections": ("connection", "Let programs share a pool of connections, or raise maxIncomingConnections."),
}
"""What the server may have only so many of, by the name of both its counter and its setting."""


def _near(status: ServerStatus) -> Iterator[Finding]:
    """The limit that is nearest, of what the server has open."""
    used = {name: (status.counted(name, ""), status.settings.get(name)) for name in _ROOM}
    known = {name: (now, most) for name, (now, most) in used.items() if now is not None and most}
    if not known:
        return
    name, (now, most) = max(known.items(), key=lambda one: one[1][0] / one[1][1])
    thing, fix = _ROOM[name]
    if now < costs.NOTED * most:
        return
    yield Finding(
        subject=Subject(),
        message=f"{many(now, thing)} of the server {'is' if now == 1 else 'are'} open, {percent(now / most)} of those "
        "that it may have.",
        impact=costs.toward_limit(now, most, f"{thing}s", how="the server's own state"),
        fix=fix,
        observed=now,
        unit=f"{thing}s",
        evidence=(Evidence(f"{thing}s that it may have", number(most)),),
        facts=("server_status",),
    )


def _failing(case: Case, failure: ServerCounter) -> Finding:
    kind = case.engine.failures.get(failure.name.split(" ", 1)[0], _UNKNOWN_FAILURE)
    often = f", {many(failure.value, 'time')} so far" if failure.value > 1 else ""
    return Finding(
        subject=Subject(failure.database),
        message=f"{kind.words.format(name=failure.name)}{often}.",
        impact=Impact(
            Currency.MECHANISM,
            days_left=0 if kind.rejects_writes else None,
            is_enforced=True if kind.rejects_writes else None,
            how="the server's own state",
        ),
        fix=kind.fix,
        observed=failure.value,
        unit="failures",
        facts=("server_status",),
    )


_LOSE_DATA: Final = frozenset({"continuous_queries_failed", "subscriptions_failed", "writes_rejected"})
_REPEATED: Final = frozenset({"compactions_failed", "flushes_failed"})
"""What the server tries again, so that only a second day shows that it does not succeed."""
_COUNTED: Final = {
    "continuous_queries_failed": ("continuous query failed", "continuous queries failed"),
    "subscriptions_failed": ("write to a subscriber failed", "writes to subscribers failed"),
    "writes_rejected": ("write was rejected because memory was full", "writes were rejected because memory was full"),
    "writes_delayed": ("write had to wait for memory", "writes had to wait for memory"),
    "flushes_failed": ("flush failed", "flushes failed"),
    "compactions_failed": ("compaction failed", "compactions failed"),
    "queries_out_of_memory": ("query ran out of memory", "queries ran out of memory"),
    "server_errors": ("request failed", "requests failed"),
}


def _risen(case: Case, status: ServerStatus) -> Iterator[Finding]:
    """What failed since the audit before, all in one finding. On the first day nobody knows when it was."""
    day = case.timeline.previous
    before = day.server if day else None
    if day is None or before is None:
        return
    is_restarted = bool(status.is_restarted(before))
    risen = {}
    for name in _COUNTED:
        then = 0 if is_restarted else before.counted(name, "")
        now = status.counted(name, "")
        if now is not None and then is not None and now > then:
            risen[name] = now - then
    words = [many(count, *_COUNTED[name]) for name, count in risen.items()]
    words += ["the server was restarted"] if is_restarted else []
    if not words:
        return
    again = {name for name in risen if _rose_before(case, name)}
    is_broken = _LOSE_DATA & risen.keys() or _REPEATED & again
    impact = Impact(Currency.MECHANISM, is_enforced=None, how="the server's counters") if is_broken else None
    if rejected := risen.get("writes_rejected"):
        impact = Impact(
            Currency.REJECTED,
            now=rejected,
            goes_on="writes_rejected" in again,
            unit="write",
            how="the server's counter",
        )
    yield Finding(
        subject=Subject(),
        message=f"Since the audit of {written(day.day)}, {listed(words)}.",
        impact=impact,
        fix="Find the reason in the server's log." if risen else "Find out whether somebody meant to.",
        observed=float(sum(risen.values())),
        unit="failures",
        evidence=(
            *(Evidence(name.replace("_", " "), number(count)) for name, count in risen.items()),
            *([Evidence("started", instant(status.started))] if is_restarted and status.started else []),
        ),
        facts=("server_counters",),
    )


def _rose_before(case: Case, name: str) -> bool:
    """Whether the counter had risen between the two audits before."""
    past = case.timeline.of(name, Subject())
    return len(past) > 1 and past[-1].value > past[-2].value
