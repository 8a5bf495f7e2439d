"""What Airflow reads about this package when it starts."""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """The entry point `apache_airflow_provider`. Imports nothing: every process of Airflow calls it."""
    return {
        "package-name": "tsaudit",
        "name": "tsaudit",
        "description": "Scheduled schema audits of live time-series databases.",
        "integrations": [{"integration-name": "tsaudit", "external-doc-url": "", "tags": ["software"]}],
        "operators": [{"integration-name": "tsaudit", "python-modules": ["tsaudit_airflow.operators.audit"]}],
        "hooks": [{"integration-name": "tsaudit", "python-modules": ["tsaudit_airflow.hooks.audit"]}],
        "notifications": ["tsaudit_airflow.notifications.audit.AuditNotifier"],
        "extra-links": ["tsaudit_airflow.links.audit.AuditReportLink"],
        "config": {
            "tsaudit": {
                "description": "Schema audits.",
                "options": {
                    "report_folder": {
                        "description": "The `report.folder` of tsaudit.yaml, whose pages the API server shows at "
                        "/tsaudit/reports to users who are logged in. Without it, there are no such pages.",
                        "version_added": None,
                        "type": "string",
                        "example": "s3://audits/tsaudit",
                        "default": "",
                    }
                },
            }
        },
    }
