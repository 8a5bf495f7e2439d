"""The complete audit of one target on one day: collect, audit, store, report, queue the alerts.

The command line and Dagster both call this module, so that they always agree.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final

from tsaudit import alerts, not_audited, report
from tsaudit.collect import collect, of_its_day
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.connection import Connection, ConnectorError
from tsaudit.engines.opening import with_connection
from tsaudit.errors import internal
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.history import clock, decisions, incidents, lease
from tsaudit.history.database import HistoryError, patience
from tsaudit.history.lifecycle import ChangeKind, Incident, IncidentChange
from tsaudit.history.removal import compact, is_due
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues
from tsaudit.model.figures import utc_now
from tsaudit.model.finding import AuditResult, Outcome, Verdict
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.model.version import VERSION
from tsaudit.net.watchdog import Deadline
from tsaudit.not_audited import NO_ROWS_THEN, degraded_rules, outcomes_of
from tsaudit.policy import harm_policy, limit_policy, rule_policy
from tsaudit.summary import Summary, of_result
from tsaudit.text import many

Progress = Callable[[str], None]

_REACTIONS_S: Final = 5.0
"""Seconds to wait for the history before the audits in order to read reactions; the next audit reads the remaining
ones.
"""
_LEASE_GRACE_S: Final = lease.STALE_S + 30.0
"""Seconds after the deadline for rules, report, and history; an audit that takes even longer was killed."""


@dataclass(frozen=True, slots=True)
class AuditRun:
    """The outcome for one target."""

    target: str
    day: date
    result: AuditResult | None
    """None only if tsaudit itself failed (`error` describes the failure); nothing was saved then."""
    profile: Profile | None
    """None if the target could not be audited at all. If only an earlier audit of the day could, that one's."""
    changes: tuple[IncidentChange, ...]
    report: report.ReportLocation | None
    """None if it could not be written."""
    seconds: float
    error: str | None
    """The problem, in one line, if anything went wrong that must fail the run; otherwise None."""
    is_first: bool = False
    """Whether nothing is known about other days of the target, so that everything found is new."""
    muted: Mapping[str, date] = field(default_factory=dict)
    """Fingerprint to the last muted day of muted findings, which are counted separately and do not fail the run."""
    returned: frozenset[str] = frozenset()
    """Fingerprints of findings that were muted at the previous audit and are not anymore: the mute ended, or no longer
    covers them.
    """
    acknowledged: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint to who acknowledged it, of findings that somebody works on."""
    back: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint to why a decision about the finding no longer applies, in words, see `decisions.back`."""

    @property
    def is_final(self) -> bool:
        """Whether another attempt would end with the same error."""
        return self.error == NO_ROWS_THEN

    @property
    def unmuted(self) -> AuditResult | None:
        """The result without muted findings; None without a result."""
        return self.result.without(self.muted) if self.result else None

    @property
    def verdict(self) -> Verdict:
        """The verdict without muted findings; `unknown` if there was no audit."""
        unmuted = self.unmuted
        return unmuted.verdict if unmuted else Verdict.UNKNOWN

    @property
    def new(self) -> tuple[Incident, ...]:
        """Incidents that opened, became more severe or more urgent, or are no longer muted: their owners are
        notified.
        """
        kinds = (ChangeKind.OPENED, ChangeKind.RAISED)
        found = [c for c in self.changes if c.kind is not ChangeKind.RESOLVED and not c.incident.is_absent]
        unmuted = [c for c in found if c.incident.fingerprint not in self.muted]
        return tuple(c.incident for c in unmuted if c.kind in kinds or c.incident.fingerprint in self.returned)

    @property
    def summary(self) -> Summary:
        """The worst finding that is not muted, in brief; without an audit, the failure."""
        if self.result is None:
            return Summary(self.error or "")
        return of_result(self.result, self.profile, self.muted)

    @property
    def is_complete(self) -> bool:
        """Whether everything needed was measured, and nothing else went wrong."""
        return self.error is None and self.result is not None and self.result.is_complete(self.profile)

    def verdict_of(self, family: str) -> Verdict | None:
        """The verdict of the rules of one family, without muted findings; None if none of them applies, `unknown` if
        nothing was measured.
        """
        unmuted = self.unmuted
        return Verdict.UNKNOWN if unmuted is None or self.profile is None else unmuted.verdict_of(family)

    def passes(self, family: str) -> bool:
        """Whether the verdict of the family is `ok`, or unknown only because single measurements could not be read, and
        others were evaluated: `is_complete` covers that, once for all families.
        """
        verdict = self.verdict_of(family)
        if verdict is not Verdict.UNKNOWN or self.result is None or self.profile is None or self.result.failed_at:
            return verdict is Verdict.OK
        lacking = [r for r in self.result.results if r.family == family and r.verdict is Verdict.UNKNOWN]
        unread = {(gap.database, gap.measurement) for r in lacking for gap in r.gaps}
        is_partial = all(r.outcome is not Outcome.ERROR for r in lacking) and all(where for _, where in unread)
        return is_partial and any((m.database, m.name) not in unread for m in self.profile.measurements)


def audit_target(
    target: Target,
    settings: Settings,
    store: Store,
    *,
    day: date,
    run_url: str | None = None,
    progress: Progress | None = None,
) -> AuditRun:
    """Audit one target for the logical `day` (in UTC) and store everything. Alerts are queued, but not sent.

    A past day is audited as of its end: rows with later times do not count. A target that cannot be audited also has a
    result, with the verdict `unknown`. If the same database is already being audited, this waits as long as that audit
    may take. Problems with a database, a report folder, or a rule raise nothing. Raises HistoryError if the history
    cannot be written.
    """
    began, say = time.monotonic(), progress or (lambda _line: None)
    try:
        with (
            patience(target.budget.deadline_s),
            lease.held(store, lease.identity(target), target.budget.deadline_s + _LEASE_GRACE_S, say),
        ):
            try:
                return _audit_alone(target, settings, store, day, run_url, say, began)
            except Exception as error:
                return _not_saved(target, settings, store, day, run_url, say, began, error)
    except lease.InUseError as error:
        return AuditRun(target.name, day, None, None, (), None, time.monotonic() - began, str(error))


def _not_saved(
    target: Target,
    settings: Settings,
    store: Store,
    day: date,
    run_url: str | None,
    say: Progress,
    began: float,
    error: Exception,
) -> AuditRun:
    """The run of an audit that failed before its result and its messages were stored. It becomes an incident like any
    other.

    Whatever could not be stored, the cause usually can. Raises HistoryError if even that fails, because then the
    history itself is unavailable.
    """
    if isinstance(error, HistoryError):
        cause = f"the audit could not be saved: {error}"
    else:
        cause = f"the audit could not be saved: {internal(error)}"
    say(cause)
    result = _evaluate(target, settings, Timeline(), None, cause, day)
    result, profile = _of_day(store, result, None)
    store.save(None, result, None)
    changes = incidents.update(store, result, settings.incidents, alerts.owner_of(settings, target))
    context = alerts.RunContext(target.name, target.engine, day, result.verdict, None, run_url, result.plans)
    alerts.queue(store, settings, changes, context)
    return AuditRun(target.name, day, result, profile, tuple(changes), None, time.monotonic() - began, cause)


def _of_day(store: Store, result: AuditResult, profile: Profile | None) -> tuple[AuditResult, Profile | None]:
    """The result and the profile that the day has after this audit: its own, or those of an earlier audit of the day
    that measured more, with the failure of this one. `profile`: None if nothing could be measured.
    """
    earlier = store.result(result.target, result.day)
    if earlier is None or not earlier.has_measured or (profile and earlier.failure and not earlier.failed_at):
        return result, profile
    before = store.profile(result.target, result.day)
    if before is None:
        return result, profile
    if result.failure is not None:
        return not_audited.after_failure(earlier, result), before
    if profile is not None and (lost := not_audited.most_lost(profile, before)):
        return not_audited.after_failure(earlier, result, lost), before
    return result, profile


def _audit_alone(
    target: Target, settings: Settings, store: Store, day: date, run_url: str | None, say: Progress, began: float
) -> AuditRun:
    """The same as `audit_target`, while holding the lease of the database."""
    working = time.monotonic()
    timeline = store.timeline(target.name, before=day)
    values = RememberedValues(store, target.name, day)
    profile, failure = _collect(target, timeline.previous, values, day, say)
    if profile is not None and settings.routes:
        from tsaudit.config.pitfalls import unused_routes

        unused = (*profile.unused_settings, *unused_routes(settings, {target.name: profile}))
        profile = dataclasses.replace(profile, unused_settings=unused)
    result = _evaluate(target, settings, timeline, profile, failure, day)
    if profile is not None and not_audited.unseen(profile) is not None:
        # An incomplete profile, stored as the day's schema, would look as if everything had been dropped.
        profile = None
    measured, (result, profile) = profile, _of_day(store, result, profile)
    if result.failed_at is None:
        result = _with_degraded_rules(store, settings, result)
        store.save(measured, result, None, values.write if measured else None)
    else:
        store.save(None, result, None)
    changes = incidents.update(store, result, settings.incidents, alerts.owner_of(settings, target))
    days = store.days(target.name)
    standing = incidents.of_day(store, target.name, day)
    muted = incidents.muted(standing)
    verdict = result.without(muted).verdict
    preceding = max((one for one in days if one < day), default=None)
    earlier = incidents.of_day(store, target.name, preceding) if preceding else ()
    returned = incidents.muted(earlier).keys() - muted.keys()
    warning = clock.future_days_warning(target.name, days)
    location, report_error = _report(store, settings, result, profile, timeline, standing, run_url)
    if location:
        store.published(target.name, day, location.url)
    context = alerts.RunContext(
        target=target.name,
        engine=target.engine,
        day=day,
        verdict=verdict,
        report_url=location.url if location else None,
        run_url=run_url,
        plans=result.plans,
    )
    alerts.queue(store, settings, changes, context)
    store.took(target.name, time.monotonic() - working)
    reference = clock.reference_date(days, day)
    if is_due(target.name, days, day):
        compact(store, target.name, reference)
    removal_error = _remove_old_reports(settings, target, reference)
    say(f"verdict {verdict}")
    return AuditRun(
        target=target.name,
        day=day,
        result=result,
        profile=profile,
        changes=tuple(changes),
        report=location,
        seconds=time.monotonic() - began,
        error="; ".join(filter(None, (result.without(muted).error, warning, report_error, removal_error))) or None,
        is_first=timeline.is_empty and not any(day < one <= clock.today() for one in days),
        muted=muted,
        returned=frozenset(returned),
        acknowledged=incidents.acknowledged(standing),
        back=decisions.all_back(standing),
    )


def audit_targets(
    targets: Iterable[Target],
    settings: Settings,
    store: Store,
    *,
    day: date,
    workers: int = 4,
    run_url: str | None = None,
    progress: Callable[[str, str], None] | None = None,
    reactions: bool = True,
) -> Iterator[AuditRun]:
    """Audit many targets, `workers` at a time, and yield each one when it is finished.

    A failing target neither stops nor hides the others. `progress` is called with the target's name and a line of text.
    `reactions`: whether to read the reactions on messages first; False if another process does that.
    """

    def one(target: Target) -> AuditRun:
        say = (lambda line: progress(target.name, line)) if progress else None
        return audit_target(target, settings, store, day=day, run_url=run_url, progress=say)

    if reactions:
        with suppress(HistoryError), patience(_REACTIONS_S):
            # Before anything is queued: an incident that somebody has decided about in the meantime is no news.
            # Reading them again before messages are sent reports problems.
            alerts.read_reactions(store, settings)
    with ThreadPoolExecutor(max_workers=max(1, workers), thread_name_prefix="tsaudit") as pool:
        futures = {pool.submit(one, target): target for target in targets}
        try:
            for future in as_completed(futures):
                try:
                    yield future.result()
                except Exception as error:
                    # Any failure of one target must be reported for that target, and must not affect the others.
                    line = str(error) if isinstance(error, HistoryError) else internal(error)
                    yield AuditRun(futures[future].name, day, None, None, (), None, 0.0, line)
        finally:
            # The caller stopped iterating: running audits are finished, waiting ones do not start.
            pool.shutdown(wait=False, cancel_futures=True)


def as_of(day: date, now: datetime | None = None) -> datetime:
    """The time up to which rows count for a logical day: the end of the day, or the current time if it has
    not ended.
    """
    end = datetime.combine(day + timedelta(days=1), datetime.min.time(), UTC)
    return min(end, now or utc_now())


def _collect(
    target: Target, previous: Profile | None, values: RememberedValues, day: date, say: Progress
) -> tuple[Profile | None, str | None]:
    """The profile and None, or None and one line that says why nothing could be queried."""

    def measure(connection: Connection, deadline: Deadline) -> Profile:
        say(f"connected to {target.engine} {connection.server_version}")
        found = collect(
            target,
            connection,
            day=day,
            previous=previous,
            memory=values,
            wanted=required_facts(target.engine),
            now=as_of(day),
            deadline=deadline,
        )
        return of_its_day(found)

    if previous is not None and previous.engine != target.engine:
        line = (
            f"the history of {target.name} is about {previous.engine} (last on {previous.day}), and the configuration "
            f"says {target.engine}; give this database a target name of its own"
        )
        say(line)
        return None, line
    say(f"connecting to {target.engine}")
    try:
        profile = with_connection(target, measure)
    except ConnectorError as error:
        say(str(error))
        return None, str(error)
    except Exception as error:
        # Whatever failed, in a driver or here, the target is not being monitored now: notify its owner, and fail the
        # run.
        line = internal(error)
        say(line)
        return None, line
    statements = sum(cost.statements for cost in profile.costs)
    say(f"{many(len(profile.measurements), 'measurement')}, {many(statements, 'statement')}")
    return profile, None


def _evaluate(
    target: Target, settings: Settings, timeline: Timeline, profile: Profile | None, failure: str | None, day: date
) -> AuditResult:
    if profile is not None:
        switches, harm = rule_policy(settings, target), harm_policy(settings, target)
        return evaluate(profile, timeline, limit_policy(settings, target), switches=switches, harm=harm)
    nothing = not_audited.result_of([not_audited.whole(failure or "")])
    return AuditResult(target.name, target.engine, "", day, utc_now(), VERSION, (nothing,))


def _with_degraded_rules(store: Store, settings: Settings, result: AuditResult) -> AuditResult:
    if not outcomes_of(result).unknown:
        return result
    earlier = store.rule_outcomes(result.target, before=result.day)
    found = degraded_rules(result, earlier, settings.incidents.unknown_after)
    return dataclasses.replace(result, results=(*result.results, found)) if found else result


def _report(
    store: Store,
    settings: Settings,
    result: AuditResult,
    profile: Profile | None,
    timeline: Timeline,
    standing: Sequence[Incident],
    run_url: str | None,
) -> tuple[report.ReportLocation | None, str | None]:
    """Write the report. If that fails, no alert is lost: the audit continues, and the run fails."""
    try:
        return report.write_saved(store, settings, result, profile, timeline, standing, run_url), None
    except report.ReportError as error:
        return None, str(error)
    except HistoryError:
        raise
    except Exception as error:
        return None, f"the report could not be created: {internal(error)}"


def _remove_old_reports(settings: Settings, target: Target, newest: date) -> str | None:
    """The line that says why old reports could not be removed; None if they were."""
    try:
        report.remove_old(target.name, settings.report, newest)
    except report.ReportError as error:
        return str(error)
    return None
