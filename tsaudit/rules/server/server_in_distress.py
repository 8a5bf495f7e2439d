"""SRV002."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Final

from tsaudit.engines.engine import Failure
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.server import ServerCounter, ServerStatus
from tsaudit.rule import Case, rule
from tsaudit.rules import downsampling
from tsaudit.text import day as written
from tsaudit.text import duration, instant, listed, many, number, size
from tsaudit.text.impacts import hours_or_days

_UNKNOWN_FAILURE: Final = Failure("{name} fails", "Find the reason in the server's log.")
"""Used for failures that the engine does not describe."""


@rule(
    code="SRV002",
    title="The server is in distress",
    costs={Currency.MECHANISM, Currency.REJECTED},
    guidelines=("H5",),
    requires={"server_counters"},
    uses={"scheduled_queries", "server_status"},
    shows={"table_status", "retention", "row_count", "row_sample"},
)
def server_in_distress(case: Case) -> Iterator[Finding]:
    """What the server itself says is about to stop it, or does not work.

    - What failed since the audit before, or since the server started if that was within the last day: continuous
      queries, tasks, and subscriptions of InfluxDB, so that what they should have written or sent on is missing until
      somebody repeats it, and writes that GreptimeDB rejected because its memory was full. Failed compactions and
      flushes are a warning if they failed on the day before as well. In the same finding, and a note by themselves:
      requests that ended in an error of the server, queries that ran out of memory, writes that had to wait, and a
      restart. On the first audit of a server that has run for longer, what is missing is a note, because nobody knows
      since when.
    - Mechanisms that fail now: the cache of MongoDB, so that clients have to make room in it, and its removal of
      expired documents; archiving of the write-ahead log; a replication slot that nobody reads, for which more log than
      `max_wal_size` is kept; a subscription whose worker does not run; a transaction that has been open for a day or
      prepared for an hour, with the number of dead rows that it may keep (a note if it has no snapshot, and keeps
      none); checksums of pages; the order of texts, if the operating system has changed it; a job of TimescaleDB whose
      last run failed; a region of GreptimeDB whose leader has been down for a minute, which rejects writes now.
    - Continuous queries of InfluxDB 1.x that run without an error and write nothing, because the points go to another
      retention policy since it became the default one, or, as the audits of earlier days show, under another name. A
      source that ended more than four days ago while other measurements are written is a note.
    - Summaries in a retention policy of InfluxDB 1.x that were written at an interval of their own and are not anymore,
      although a policy that keeps points for a shorter time still gets what they sum up: the continuous queries are
      gone, as after a restore, or write nothing. It is critical within two weeks of the day from which on points are
      deleted that nobody has summed up (`critical_days`). It is a note if other measurements of the policy are written
      and no query reads the summaries, and from two weeks after that day on.

    ## Why it matters

    Some of these end in a server that accepts no writes, by itself and often at night. Others give wrong answers, or
    lose data that should have arrived elsewhere. Nothing else shows them.

    ## Example

    A prepared transaction that a client left open a year ago: nothing can be frozen, and the age of the oldest
    transaction has reached 1.8 billion.

    ## Fix

    It depends on what fails; the finding says it.

    ## References

    - Transaction numbers: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-WRAPAROUND
    - Archiving: https://www.postgresql.org/docs/current/continuous-archiving.html
    - Replication slots: https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS
    - Regions of GreptimeDB: https://docs.greptime.com/reference/sql/information-schema/region-peers/
    - Jobs of TimescaleDB: https://docs.timescale.com/api/latest/informational-views/job_stats/
    """
    yield from downsampling.without_input(case)
    status = case.profile.server
    if status is None:
        return
    for failure in status.failures:
        yield _failing(case, failure)
    yield from _risen(case, status)


def _failing(case: Case, failure: ServerCounter) -> Finding:
    kind = case.engine.failures.get(failure.name.split(" ", 1)[0], _UNKNOWN_FAILURE)
    is_size, is_age = (f"{{{what}}}" in kind.words for what in ("size", "age"))
    often = f", {many(failure.value, 'time')} so far" if failure.value > 1 and not (is_size or is_age) else ""
    names = {
        "name": _brief(failure.name),
        "own": failure.name.partition(" ")[2],
        "size": size(failure.value),
        "age": hours_or_days(failure.value / 86_400),
    }
    kept = _dead_rows(case) if kind.keeps_dead_rows else _more_kept(case, failure) if is_size else ""
    return Finding(
        # Each mechanism has an incident of its own: whoever mutes one wants to hear about the next.
        subject=Subject(failure.database, failure.name),
        message=f"{kind.words.format(**names)}{often}{f'; {kept}' if kept else ''}.",
        impact=None
        if kind.is_note
        else Impact(
            Currency.MECHANISM,
            days_left=0 if kind.rejects_writes else None,
            is_enforced=True if kind.rejects_writes else None,
            consequence=kind.consequence,
            how="the server's own state",
        ),
        fix=kind.fix.format(**names),
        observed=None if is_age else failure.value,
        unit="" if is_age else "bytes" if is_size else "failures",
        facts=("server_status", "table_status") if kind.keeps_dead_rows and kept else ("server_status",),
    )


_LONGEST_NAME: Final = 60
_END_OF_NAME: Final = 20


def _brief(name: str) -> str:
    """The name without its middle, if it is long: a global transaction ID has up to 200 characters."""
    if len(name) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - _END_OF_NAME - 1]}\N{HORIZONTAL ELLIPSIS}{name[-_END_OF_NAME:]}"


def _more_kept(case: Case, failure: ServerCounter) -> str:
    """By how much the bytes that it keeps have grown since the previous audit, a day before or more; empty if that is
    not known.
    """
    previous = case.timeline.previous
    if previous is None or previous.server is None or not case.timeline.is_older(case.profile, timedelta(days=1)):
        return ""
    # What it kept while it did not fail is not known.
    before = next((one.value for one in previous.server.failures if one.name == failure.name), failure.value)
    more = failure.value - before
    return f"{size(more)} more than at the audit of {written(previous.collected_at.date())}" if more > 0 else ""


def _dead_rows(case: Case) -> str:
    """How many dead rows there are, of which an open transaction may keep all; empty if that is not known."""
    counted = [(m.status.figures.get("dead_rows"), m.name) for m in case.profile.measurements if m.status]
    dead = [(rows, name) for rows, name in counted if rows is not None]
    if not dead:
        return ""
    most, name = max(dead)
    if not most:
        return f"the {case.engine.words.measurement}s that are audited have no dead rows yet"
    return f"it may keep all dead rows, {number(sum(rows for rows, _ in dead))} now, most of them in {name}"


_LOSE_DATA: Final = frozenset({"continuous_queries_failed", "tasks_failed", "subscriptions_failed", "writes_rejected"})
_REPEATED: Final = frozenset({"compactions_failed", "flushes_failed"})
"""Operations that the server retries, so that only a second day shows that they do not succeed."""
_COUNTED: Final = {
    "continuous_queries_failed": ("continuous query failed", "continuous queries failed"),
    "tasks_failed": ("run of a task failed", "runs of tasks failed"),
    "subscriptions_failed": ("write to a subscriber failed", "writes to subscribers failed"),
    "writes_rejected": ("write was rejected because memory was full", "writes were rejected because memory was full"),
    "writes_delayed": ("write had to wait for memory", "writes had to wait for memory"),
    "flushes_failed": ("flush failed", "flushes failed"),
    "compactions_failed": ("compaction failed", "compactions failed"),
    "queries_out_of_memory": ("query ran out of memory", "queries ran out of memory"),
    "server_errors": ("request failed", "requests failed"),
}


def _risen(case: Case, status: ServerStatus) -> Iterator[Finding]:
    """What has failed since the previous audit, in one finding. If the counters are read for the first time, all that
    has failed since the server started: it is not known when, unless that was within the last day. Nothing is reported
    if another server of a group answered, whose counters are others.
    """
    from tsaudit.rules.counter_period import counter_period

    period, previous = counter_period(case, status), case.timeline.previous
    is_restarted = bool(previous and previous.server and status.is_restarted(previous.server, previous.collected_at))
    if not period.is_recent and not period.is_first:
        return
    risen = {name: count for name in _COUNTED if (count := period.risen(name))}
    if not period.is_recent:
        risen = {name: count for name, count in risen.items() if name in _LOSE_DATA}
    words = [many(count, *_COUNTED[name]) for name, count in risen.items()]
    words += ["the server was restarted"] if is_restarted else []
    if not words:
        return
    again = {name for name in risen if _rose_before(case, name)}
    is_broken = _LOSE_DATA & risen.keys() or _REPEATED & again
    impact = None
    if is_broken and period.is_recent:
        left = _missing(case, risen, period.began) or "Files pile up, and each query has to read more of them."
        impact = Impact(Currency.MECHANISM, is_enforced=None, consequence=left, how="the server's counters")
    if period.is_recent and (rejected := risen.get("writes_rejected")):
        impact = Impact(
            Currency.REJECTED,
            now=rejected,
            goes_on="writes_rejected" in again,
            unit="write",
            how="the server's counter",
        )
    since = period.since
    if previous and is_restarted:
        since = f"since the audit of {written(previous.collected_at.date())}"
    yield Finding(
        subject=Subject(),
        message=f"{since[0].upper()}{since[1:]}, {listed(words)}.",
        impact=impact,
        fix=_what_to_do(case, risen),
        observed=float(sum(risen.values())) if risen else None,
        unit="failures" if risen else "",
        evidence=(
            *(Evidence(name.replace("_", " "), number(count)) for name, count in risen.items()),
            *([Evidence("started", instant(status.started))] if is_restarted and status.started else []),
        ),
        facts=("server_counters",),
    )


_REPEATABLE: Final = frozenset({"continuous_queries_failed", "tasks_failed"})


def _missing(case: Case, risen: Collection[str], began: datetime | None) -> str:
    """What is missing because of what failed, and until when somebody can still add it; empty if nothing is."""
    said = []
    if _REPEATABLE & set(risen):
        said.append(
            "What failed is not run again by itself, so what it should have written is missing. It can be run for the "
            "missed times while the points that it reads are there"
        )
    if "subscriptions_failed" in risen:
        said.append("What subscribers missed is not sent again. It can be copied to them while its points are there")
    if not said:
        return ""
    if (shortest := downsampling.kept_shortest(case)) is not None:
        name, kept = shortest
        until = f", so from {written((began + kept).date())} on, some of them may be gone" if began else ""
        said[-1] += f": {name} keeps them for {duration(kept.total_seconds())}{until}"
    return ". ".join(said) + "."


def _what_to_do(case: Case, risen: Collection[str]) -> str:
    if not risen:
        return "Find out whether somebody meant to."
    own = [failure.fix for name, failure in case.engine.failures.items() if name in risen]
    return " ".join(["Find the reason in the server's log.", *own])


def _rose_before(case: Case, name: str) -> bool:
    """Whether the counter had risen between the two previous audits."""
    past = case.timeline.of(name, Subject())
    return len(past) > 1 and past[-1].value > past[-2].value
