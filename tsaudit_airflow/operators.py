"""Operators that run audits as tasks, and the button on a task's page that opens the report."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tsaudit_airflow.assets import AUDITS, audit_asset
from tsaudit_airflow.auditing import AuditError, InProcess, Order, Outside, verdict_line
from tsaudit_airflow.hooks import AuditHook

if TYPE_CHECKING:
    from airflow.sdk import Context
    from airflow.sdk.types import TaskInstanceKey

_WORST_FIRST: Final = ("critical", "warning", "unknown", "ok")
FailOn = Literal["new", "warning", "critical", "unknown", "never"]
_FAILS: Final = {
    "new": (),
    "warning": ("warning", "critical"),
    "critical": ("critical",),
    "unknown": ("warning", "critical", "unknown"),
    "never": (),
}
_MOST_NAMED: Final = 5
"""Incidents in the message of a task that fails because of them; the report has all."""


class AuditReportLink(BaseOperatorLink):
    """Links to the report; there is no button if a browser cannot open the report's address.

    Airflow gets the link in the task's process, at the end of the task.
    """

    @property
    def name(self) -> str:
        """The text of the button."""
        return "Audit report"

    def get_link(self, operator: BaseOperator, *, ti_key: "TaskInstanceKey") -> str:  # noqa: ARG002
        """The address; empty if there is none."""
        audits = getattr(operator, "audits", {})
        # If one task has several targets, the report of the worst one.
        found = sorted(audits.values(), key=lambda one: _WORST_FIRST.index(one["verdict"]))
        urls = [one["report"] for one in found if one["report"]]
        return next((url for url in urls if url.startswith(("http://", "https://"))), "")


def _failed(error: AuditError) -> AirflowException:
    """The exception that fails the task, without a retry if another attempt would fail in the same way."""
    return (AirflowFailException if error.is_final else AirflowException)(str(error))


class _OfTsaudit(BaseOperator):
    """Base class of operators that read tsaudit.yaml, in this process or with another interpreter."""

    def __init__(
        self, *, config: str, connections: Sequence[str] = (), python: str | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.config = config
        self.connections = connections
        self.python = python
        self._auditor: InProcess | Outside | None = None

    def _open(self) -> InProcess | Outside:
        self._auditor = Outside(self.python) if self.python else InProcess()
        return self._auditor

    def on_kill(self) -> None:
        """End the other interpreter, if there is one, together with the task."""
        if self._auditor is not None:
            self._auditor.stop()


class TargetsOperator(_OfTsaudit):
    """Returns the names of all targets in tsaudit.yaml, to map other tasks over them."""

    template_fields: Sequence[str] = ("config", "connections", "python")

    def execute(self, context: "Context") -> list[str]:  # noqa: ARG002
        """Returns the names. Raises AirflowFailException if tsaudit.yaml cannot be used."""
        try:
            return self._open().targets(self.config, AuditHook(self.connections).variables())
        except AuditError as error:
            raise _failed(error) from None


class AuditOperator(_OfTsaudit):
    """Audits targets as `tsaudit audit` does: with history, incidents, reports, and messages.

    - `config`: path of tsaudit.yaml.
    - `target`: the name of one target; None for all of them. Map it with `.partial(...).expand(target=...)`.
    - `day`: the day to audit, `YYYY-MM-DD`, as of its end; None for that of the logical date in UTC, or without one,
      today.
    - `connections`: IDs of connections that become `${NAME}`; see `AuditHook`.
    - `python`: path of the Python interpreter of another environment with tsaudit, for engines whose drivers do not go
      together with Airflow's; None to audit in the process of the task.
    - `fail_on`: as the command's `--fail-on`. What could not be audited fails the task, too, after the other
      targets, unless it is muted.
    - `workers`: how many targets are audited at a time.
    - `notify`: whether to send messages; otherwise they wait for the next audit. If a target could not be audited, they
      wait for the last try.

    Returns target to verdict, summary, and figures. Each audit is also an event of the asset `tsaudit/<target>`, with
    the same in its extra, unless the task fails.
    """

    template_fields: Sequence[str] = ("config", "target", "day", "connections", "python")
    operator_extra_links: tuple[BaseOperatorLink, ...] = (AuditReportLink(),)

    def __init__(
        self,
        *,
        config: str,
        target: str | None = None,
        day: str | None = None,
        connections: Sequence[str] = (),
        python: str | None = None,
        fail_on: FailOn = "never",
        workers: int = 4,
        notify: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(config=config, connections=connections, python=python, **options)
        if fail_on not in _FAILS:
            raise ValueError(f"fail_on is {fail_on!r}; write {', '.join(_FAILS)}")
        self.target = target
        self.day = day
        self.fail_on = fail_on
        self.workers = workers
        self.notify = notify
        # A mapped task names it itself.
        self.outlets = [*(one for one in self.outlets if one != AUDITS), AUDITS]
        self.audits: dict[str, dict[str, Any]] = {}
        """Target to its audit, set once the task has run, for the link and the callbacks."""

    def execute(self, context: "Context") -> dict[str, dict[str, Any]]:
        """Returns target to its audit. Raises AirflowException if a target could not be audited, a message could not be
        delivered, or the history could not be reached. Raises AirflowFailException, which is not retried, for findings,
        for a past day without rows, and for a configuration that cannot be used.
        """
        ti = context["ti"]
        order = Order(
            config=self.config,
            targets=None if self.target is None else [self.target],
            day=self._chosen_day(context),
            workers=self.workers,
            run_url=ti.log_url,
            notify=self.notify,
            will_retry=ti.try_number <= ti.max_tries,
            variables=AuditHook(self.connections).variables(),
        )
        try:
            done = self._open().run(order, self.log.info)
        except AuditError as error:
            raise _failed(error) from None
        self.audits = done.audits
        for name, one in done.audits.items():
            self.log.info("%s", verdict_line(one))
            context["outlet_events"][AUDITS].add(audit_asset(name), extra=one)
        bad = [reason for one in done.audits.values() if (reason := self._reason_to_fail(one))]
        final = {f"{one['target']}: {one['error']}" for one in done.audits.values() if one["final"]}
        if not final.issuperset(done.problems):
            raise AirflowException("\n".join([*done.problems, *bad]))
        bad = [*done.problems, *bad]
        if bad:
            raise AirflowFailException("\n".join(bad))
        return done.audits

    @property
    def outcome(self) -> str:
        """The target with its verdict, such as `shop: warning`: for `map_index_template`, which Airflow renders again
        after the task. Before, the target alone; empty for all targets.
        """
        return ", ".join(f"{name}: {one['verdict']}" for name, one in self.audits.items()) or self.target or ""

    def _reason_to_fail(self, audit: dict[str, Any]) -> str:
        """What `fail_on` names in the audit; empty if nothing."""
        new, more = audit["new"][:_MOST_NAMED], len(audit["new"]) - _MOST_NAMED
        if self.fail_on == "new" and new:
            return f"{audit['target']}: new or worse: {', '.join(new)}{f', and {more:,} more' if more > 0 else ''}"
        return (
            f"{audit['target']} is {audit['verdict']}: {audit['headline']}"
            if audit["verdict"] in _FAILS[self.fail_on]
            else ""
        )

    def _chosen_day(self, context: "Context") -> date | None:
        today = datetime.now(UTC).date()
        if self.day:
            try:
                chosen = date.fromisoformat(self.day)
            except ValueError:
                raise AirflowFailException(f"day is {self.day!r}; write YYYY-MM-DD") from None
        else:
            logical = context.get("logical_date")
            chosen = logical.astimezone(UTC).date() if logical else today
        if chosen > today:
            raise AirflowFailException(f"{chosen} is in the future; in UTC it is {today}")
        return chosen
