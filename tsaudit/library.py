"""What other programs call: a complete audit, or its stages, each by itself and without a history."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from tsaudit import run, secrets
from tsaudit.collect import collect as collect_profile
from tsaudit.collect.past_days import of_its_day
from tsaudit.config import file as config_file
from tsaudit.config import problem_messages
from tsaudit.config.settings import Settings, Target
from tsaudit.engines.opening import with_connection
from tsaudit.evaluation import evaluate as evaluate_profile
from tsaudit.evaluation import required_facts
from tsaudit.history.database import patience
from tsaudit.history.store import Store
from tsaudit.model.finding import AuditResult, Verdict
from tsaudit.model.profile import Profile, utc_now
from tsaudit.policy import harm_policy, limit_policy, rule_policy
from tsaudit.rule import Rule

if TYPE_CHECKING:
    from tsaudit.alerts import SendReport
    from tsaudit.engines.connection import Connection
    from tsaudit.net.watchdog import Deadline
    from tsaudit.report.index import IndexEntry


@dataclass(slots=True)
class AuditSession:
    """Complete audits with one history, and what has come of them so far.

    The command, Dagster, and `run_audit` all audit in a session, so that they always agree.
    """

    settings: Settings
    store: Store
    runs: list[run.AuditRun] = field(default_factory=list)
    """The finished audits, in the order in which they ended."""
    notified: SendReport | None = None
    """What became of the messages; None before `notify`."""
    index: list[IndexEntry] = field(default_factory=list)
    """The newest audit of each target with a report in the folder, most urgent first; empty before `write_index`."""
    index_problem: str | None = None
    """Why the index of reports could not be written; None if it was, and before `write_index`."""

    @classmethod
    @contextmanager
    def open(cls, settings: Settings) -> Iterator[Self]:
        """With the history of the settings, closed on leaving the context. Raises HistoryError."""
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
        `progress` gets a target's name and a line. `reactions`: whether to read those to messages before; False if
        another process does.

        If the iterator is closed early, audits in progress end and are stored, but are not among `runs`; no other
        begins. The index and the messages are the caller's: see `write_index` and `notify`.
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
        with self.patience():
            self.index, self.index_problem = run.write_index(self.settings, self.store)

    def notify(self, out: Callable[[str], None]) -> SendReport:
        """Send what is queued; `out` gets the messages if there is neither Slack nor another notifier."""
        with self.patience():
            self.notified = run.notify(self.settings, self.store, out)
        return self.notified

    def patience(self) -> AbstractContextManager[None]:
        """Don't wait for a history again that no audit could use."""
        unusable = bool(self.runs) and all(one.result is None for one in self.runs)
        return patience(0.0) if unusable else nullcontext()

    @property
    def not_audited(self) -> list[str]:
        """One line for each audit that failed, with the day if there are several."""
        several = len({one.day for one in self.runs}) > 1
        return [f"{one.target}{f' on {one.day}' if several else ''}: {one.error}" for one in self.runs if one.error]

    @property
    def not_written(self) -> list[str]:
        """One line if the index of reports could not be written."""
        return [f"reports: {self.index_problem}"] if self.index_problem else []

    @property
    def not_delivered(self) -> list[str]:
        """One line for each reason why a message was not delivered."""
        return [f"alert not delivered: {error}" for error in (self.notified.errors if self.notified else ())]


@dataclass(frozen=True, slots=True)
class AuditOutcome:
    """The result of `run_audit`."""

    runs: tuple[run.AuditRun, ...]
    """One for each target, in the order of the configuration."""
    problems: tuple[str, ...]
    """One line for each target that could not be audited, if the index of reports could not be written, and for each
    reason why a message was not delivered.
    Findings are no problems; a database that nobody watches is one.
    """

    @property
    def verdict(self) -> Verdict:
        """The worst one; `unknown` without targets."""
        return Verdict.worst(one.verdict for one in self.runs) if self.runs else Verdict.UNKNOWN


def load_settings(path: str | Path | None = None, *, variables: Mapping[str, str] | None = None) -> Settings:
    """The configuration in the file; None: in what TSAUDIT_CONFIG names, else in `./tsaudit.yaml`.

    `variables`: what `${NAME}` in the file stands for; None for the environment. Raises ConfigError, with a
    line for each problem.
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
    out: Callable[[str], None] = print,
    progress: Callable[[str, str], None] | None = None,
) -> AuditOutcome:
    """Audit targets completely, as `tsaudit audit` does: with history, incidents, reports, and messages.

    `targets`: names, or one alone; None for all. `day`: the logical day in UTC, None for today; a past day is audited
    as of its end. `workers`: how many targets are audited at a time. `run_url`: a page about this run, for reports and
    messages. `notify`: whether to send messages; otherwise they wait in the history for the next audit. `out` gets the
    messages if there is neither Slack nor another notifier; `progress` gets a target's name and a line.

    A target that cannot be audited and a message that cannot be delivered are in `AuditOutcome.problems`. Raises
    ConfigError for a name that is not in the configuration, HistoryError if the history cannot be used, and ValueError
    for a day in the future, and for a `run_url` that is no address or has a login.
    """
    today = utc_now().date()
    if day and day > today:
        raise ValueError(f"{day} is in the future; in UTC it is {today}")
    if run_url is not None:
        secrets.page_url(run_url)
    chosen = _named(settings, targets)
    with AuditSession.open(settings) as session:
        audits = session.run(chosen, day=day or today, workers=workers, run_url=run_url, progress=progress)
        runs = {one.target: one for one in audits}
        session.write_index()
        if notify:
            session.notify(out)
    ordered = tuple(runs[target.name] for target in chosen)
    return AuditOutcome(ordered, (*session.not_audited, *session.not_written, *session.not_delivered))


def measure(target: Target, *, day: date | None = None) -> Profile:
    """Connect to the target and measure it, within its budget; `day` is the logical day in UTC, None for today.

    What could not be measured is in `Profile.gaps`. Only reads, and keeps nothing. Raises ConnectorError if the target
    cannot be connected to.
    """

    def measured(connection: Connection, deadline: Deadline) -> Profile:
        wanted = required_facts(target.engine)
        chosen = day or utc_now().date()
        now = run.as_of(chosen)
        return of_its_day(collect_profile(target, connection, day=chosen, wanted=wanted, now=now, deadline=deadline))

    return with_connection(target, measured)


def evaluate(profile: Profile, *, settings: Settings | None = None, rules: Iterable[Rule] | None = None) -> AuditResult:
    """Evaluate the profile by itself: rules that compare with earlier days find nothing to compare with.

    `settings`: limits and switches of its target of the profile's name; None, or no such target, for the defaults.
    `rules`: those to evaluate; None for all there are, those of plug-ins included.
    """
    target = next((t for t in settings.targets if t.name == profile.target), None) if settings else None
    if settings is None or target is None:
        return evaluate_profile(profile, rules=rules)
    policy, switches = limit_policy(settings, target), rule_policy(settings, target)
    harm = harm_policy(settings, target)
    return evaluate_profile(profile, policy=policy, rules=rules, switches=switches, harm=harm)


def _named(settings: Settings, names: Iterable[str] | None) -> list[Target]:
    """The targets of these names, in the order of the configuration. Raises ConfigError."""
    known = [target.name for target in settings.targets]
    # One name alone is an iterable, too: of its characters.
    chosen = known if names is None else [names] if isinstance(names, str) else list(names)
    if problems := [problem_messages.no_target(name, known) for name in chosen if name not in known]:
        raise config_file.ConfigError(*problems)
    return [target for target in settings.targets if target.name in chosen]
