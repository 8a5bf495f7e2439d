"""The functions for other programs: a complete audit, or its stages, each usable by itself and without a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tsaudit import alerts, report, run, secrets
from tsaudit.collect import collect as collect_profile
from tsaudit.collect import of_its_day
from tsaudit.config import file as config_file
from tsaudit.config import mistakes
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.opening import with_connection
from tsaudit.errors import internal
from tsaudit.evaluation import evaluate as evaluate_profile
from tsaudit.evaluation import required_facts
from tsaudit.history.database import HistoryError, patience
from tsaudit.history.store import Store
from tsaudit.model.figures import ahead, utc_now
from tsaudit.model.finding import AuditResult, Verdict
from tsaudit.model.profile import Profile
from tsaudit.policy import harm_policy, limit_policy, rule_policy
from tsaudit.rule import Rule

if TYPE_CHECKING:
    from tsaudit.engines.connection import Connection
    from tsaudit.net.watchdog import Deadline
    from tsaudit.report.index import IndexEntry


@dataclass(slots=True)
class AuditSession:
    """Complete audits with one history, and their results so far.

    The command, Dagster, and `run_audit` all audit in a session, so that they always agree.
    """

    settings: Settings
    store: Store
    runs: list[run.AuditRun] = field(default_factory=list)
    """The finished audits, in the order in which they ended."""
    notified: alerts.SendReport | None = None
    """The outcome of sending messages; None before `notify`."""
    index: list[IndexEntry] = field(default_factory=list)
    """The index entry of each target with a report in the folder, most urgent first; empty before `write_index`."""
    index_problem: str | None = None
    """Why the index of reports could not be written; None if it was, and before `write_index`."""

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator[Self]:
        """A session with the history of the settings, which is closed on leaving the context. Raises HistoryError."""
        with patience(max((target.budget.deadline_s for target in settings.targets), default=60.0)):
            opened = Store.open(settings.history.get_secret_value())
        with opened as store:
            yield cls(settings, store)

    def run(
        self,
        targets: Iterable[Target],
        *,
        day: date,
        workers: int = 4,
        run_url: str | None = None,
        progress: Callable[[str, str], None] | None = None,
        reactions: bool = True,
    ) -> Iterator[run.AuditRun]:
        """Audit the targets for the logical day (in UTC), `workers` at a time, and yield each one when it is finished.

        A failing target neither stops nor hides the others. `run_url`: a page about this run, for reports and messages.
        `progress` is called with a target's name and a line of text. `reactions`: whether to read the reactions on
        messages first; False if another process does that.

        If the iterator is closed early, audits in progress are finished and stored, but are not in `runs`; no further
        audit begins. The caller has to write the index and send the messages: see `write_index` and `notify`.
        """
        for one in run.audit_targets(
            targets,
            self.settings,
            self.store,
            day=day,
            workers=workers,
            run_url=run_url,
            progress=progress,
            reactions=reactions,
        ):
            self.runs.append(one)
            yield one

    def write_index(self) -> None:
        """Write the index of all reports, once all audits have ended."""
        try:
            with self.patience():
                self.index = report.write_index(self.settings.report, self.store)
        except (report.ReportError, HistoryError) as error:
            self.index_problem = str(error)
        except Exception as error:
            self.index_problem = f"the index of reports could not be created: {internal(error)}"

    def notify(self, out: Callable[[str], None]) -> alerts.SendReport:
        """Read reactions, send queued messages, and the digest of a day once everything due on it has been audited.

        `out` is called with the messages if there is neither Slack nor another notifier, and with a line for each
        reaction that cannot be read, which is not a failure. Sending takes at most `slack.deadline_s` seconds. Messages
        that could not be sent by then stay queued; the report says so.
        """
        with self.patience():
            for problem in alerts.read_reactions(self.store, self.settings).problems:
                out(problem)
            alerts.queue_due_digest(self.store, self.settings)
            self.notified = alerts.send(self.store, self.settings, out)
        return self.notified

    def patience(self) -> AbstractContextManager[None]:
        """Limits waiting for the history inside the context, if the audits have already waited for it in vain."""
        unusable = bool(self.runs) and all(one.result is None for one in self.runs)
        return patience(0.0) if unusable else nullcontext()

    @property
    def may_succeed_later(self) -> bool:
        """Whether an audit failed that another attempt may complete."""
        return any(one.error and not one.is_final for one in self.runs)

    @property
    def not_audited(self) -> list[str]:
        """One line for each audit that failed, with the day if there are several."""
        several = len({one.day for one in self.runs}) > 1
        return [f"{one.target}{f' on {one.day}' if several else ''}: {one.error}" for one in self.runs if one.error]

    @property
    def not_written(self) -> list[str]:
        """One line if the index of reports could not be written, otherwise none."""
        return [f"reports: {self.index_problem}"] if self.index_problem else []

    @property
    def not_delivered(self) -> list[str]:
        """One line for each reason why a message was not delivered."""
        return [f"alert not delivered: {error}" for error in (self.notified.errors if self.notified else ())]


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """The result of `run_audit`."""

    runs: tuple[run.AuditRun, ...]
    """One run for each target, in the order of the configuration."""
    problems: tuple[str, ...]
    """One line for each target that could not be audited, for an index of reports that could not be written, and for
    each reason why a message was not delivered. Findings are not problems, but a database that is not being monitored
    is.
    """

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of all targets; `unknown` without targets."""
        return Verdict.worst(one.verdict for one in self.runs) if self.runs else Verdict.UNKNOWN


def load_settings(path: str | Path | None = None, *, variables: Mapping[str, str] | None = None) -> Settings:
    """The configuration in the file at `path`; None: the file named in TSAUDIT_CONFIG, otherwise `./tsaudit.yaml`.

    `variables`: the values of `${NAME}` in the file; None for the environment. Raises ConfigError, with a line for each
    problem.
    """
    return config_file.load(config_file.find(path), variables=variables)


def run_audit(
    settings: Settings,
    targets: Iterable[str] | None = None,
    *,
    day: date | None = None,
    workers: int = 4,
    run_url: str | None = None,
    notify: bool = True,
    will_retry: bool = False,
    out: Callable[[str], None] = print,
    progress: Callable[[str, str], None] | None = None,
) -> AuditOutcome:
    """Audit targets completely, as `tsaudit audit` does: with history, incidents, reports, and messages.

    `targets`: names, or a single name; None for all. `day`: the logical day in UTC, None for today; a past day is
    audited as of its end. `workers`: how many targets are audited at a time. `run_url`: a page about this run, for
    reports and messages. `notify`: whether to send messages; otherwise they stay queued in the history until the next
    audit. `will_retry`: whether the caller repeats an audit that fails; messages then wait for that, so that nobody is
    notified of a failure that has passed by then. `out` is called with the messages if there is neither Slack nor
    another notifier; `progress` is called with a target's name and a line of text.

    A target that cannot be audited, or a message that cannot be delivered, is reported in `AuditOutcome.problems`.
    Raises ConfigError for a name that is not in the configuration, HistoryError if the history cannot be used, and
    ValueError for a day in the future, and for a `run_url` that is not an address or contains a login.
    """
    if day and (problem := ahead(day)):
        raise ValueError(problem)
    if run_url is not None:
        secrets.page_url(run_url)
    chosen = _named(settings, targets)
    with AuditSession.open(settings) as session:
        audits = session.run(chosen, day=day or utc_now().date(), workers=workers, run_url=run_url, progress=progress)
        runs = {one.target: one for one in audits}
        session.write_index()
        if notify and not (will_retry and session.may_succeed_later):
            session.notify(out)
    ordered = tuple(runs[target.name] for target in chosen)
    return AuditOutcome(ordered, (*session.not_audited, *session.not_written, *session.not_delivered))


def measure(target: Target, *, day: date | None = None) -> Profile:
    """Connect to the target and measure it, within its budget; `day` is the logical day in UTC, None for today.

    What could not be measured is in `Profile.gaps`. This only reads from the database, and stores nothing. Raises
    ConnectorError if the target cannot be connected to.
    """

    def measured(connection: Connection, deadline: Deadline) -> Profile:
        wanted = required_facts(target.engine)
        chosen = day or utc_now().date()
        now = run.as_of(chosen)
        return of_its_day(collect_profile(target, connection, day=chosen, wanted=wanted, now=now, deadline=deadline))

    return with_connection(target, measured)


def evaluate(profile: Profile, *, settings: Settings | None = None, rules: Iterable[Rule] | None = None) -> AuditResult:
    """Evaluate the profile by itself: rules that compare with earlier days find nothing to compare with.

    `settings`: the configuration, whose target with the profile's name has the limits and switches; without it, or
    without such a target, the defaults apply. `rules`: the rules to evaluate; None for all, including those of
    plug-ins.
    """
    target = next((t for t in settings.targets if t.name == profile.target), None) if settings else None
    if settings is None or target is None:
        return evaluate_profile(profile, rules=rules)
    policy, switches = limit_policy(settings, target), rule_policy(settings, target)
    harm = harm_policy(settings, target)
    return evaluate_profile(profile, policy=policy, rules=rules, switches=switches, harm=harm)


def _named(settings: Settings, names: Iterable[str] | None) -> list[Target]:
    """The targets with these names, in the order of the configuration. Raises ConfigError."""
    known = [target.name for target in settings.targets]
    # A single name is an iterable, too: of its characters.
    chosen = known if names is None else [names] if isinstance(names, str) else list(names)
    if problems := [mistakes.no_target(name, known) for name in chosen if name not in known]:
        raise config_file.ConfigError(*problems)
    return [target for target in settings.targets if target.name in chosen]
