"""The button on a task's page that opens the report."""

from typing import TYPE_CHECKING, Final

from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

_WORST_FIRST: Final = ("critical", "warning", "unknown", "ok")


class AuditReportLink(BaseOperatorLink):
    """Links to the report; there is no button if a browser cannot open the report's address.

    Airflow gets the link in the task's process, at the end of the task.
    """

    @property
    def name(self) -> str:
        """The text of the button."""
        return "Audit report"

    def get_link(self, operator: "BaseOperator", *, ti_key: "TaskInstanceKey") -> str:  # noqa: ARG002
        """The address; empty if there is none."""
        audits = getattr(operator, "audits", {})
        # If one task has several targets, the report of the worst one.
        found = sorted(audits.values(), key=lambda one: _WORST_FIRST.index(one["verdict"]))
        urls = [one["report"] for one in found if one["report"]]
        return next((url for url in urls if url.startswith(("http://", "https://"))), "")
