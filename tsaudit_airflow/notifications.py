"""The summary of an audit for any of Airflow's notifiers."""

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from airflow.sdk.bases.notifier import BaseNotifier

from tsaudit_airflow.auditing import counted

if TYPE_CHECKING:
    from airflow.sdk import Context

_NOT_OK: Final = ("critical", "warning", "unknown")


class AuditNotifier(BaseNotifier):
    """Sends the summary of an audit through another notifier, for example of email or a chat.

    Use it as `on_success_callback` and `on_failure_callback` of an `AuditOperator`. The templates of the other notifier
    can use `{{ audit_summary }}`, the text of the summary, and `{{ audits }}`, the return value of the task. tsaudit's
    own messages, one per incident, do not need this notifier: `tsaudit.yaml` defines who gets them.
    """

    def __init__(self, notifier: BaseNotifier, verdicts: Collection[str] = _NOT_OK, **options: Any) -> None:
        """`verdicts`: the verdicts to notify about. A task without any audit always notifies."""
        super().__init__(**options)
        self.notifier = notifier
        self.verdicts = frozenset(verdicts)

    def notify(self, context: "Context") -> None:
        """Notify about the audits of the task whose callback this is. Does nothing if no verdict is in `verdicts`."""
        audits: dict[str, Any] = getattr(context["task"], "audits", {})
        selected = {name: one for name, one in audits.items() if one["verdict"] in self.verdicts}
        if audits and not selected:
            return
        summaries = [summary(name, one) for name, one in selected.items()]
        text = "\n\n".join(summaries) or f"No audit: {context.get('exception') or 'the task audited nothing'}"
        # Passed as values of the context, not as parts of a template, because names in a database may look like
        # templates.
        self.notifier(cast("Context", {**context, "audit_summary": text, "audits": selected}))


def summary(target: str, audit: dict[str, Any]) -> str:
    """The summary as lines: verdict and headline, figures, findings, the first step with its statement, the report."""
    lines: Sequence[str] = (
        f"{target}: {audit['verdict']}. {audit['error'] or audit['headline']}",
        *(f"{label}: {text}" for label, text in audit["figures"].items()),
        f"Findings: {counts}" if (counts := counted(audit)) else "",
        audit["first_step"],
        audit["statement"],
        f"Report: {audit['report']}" if audit["report"] else "",
    )
    return "\n".join(line for line in lines if line)
