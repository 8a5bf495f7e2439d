"""The provider information that Airflow reads from this package when it starts."""

from typing import Any, Final

_ENGINES: Final = [
    "duckdb",
    "sqlite",
    "postgresql",
    "influxdb1",
    "influxdb2",
    "influxdb3",
    "greptimedb",
    "timestream",
    "mongodb",
]
"""A test compares the list with the registry. Targets on engines of other packages connect with an address
as the host.
"""


def get_provider_info() -> dict[str, Any]:
    """The provider information, for the entry point `apache_airflow_provider`. Imports nothing, because every process
    of Airflow calls it.
    """
    return {
        "package-name": "tsaudit",
        "name": "tsaudit",
        "description": "Scheduled schema audits of live time-series databases.",
        "integrations": [{"integration-name": "tsaudit", "external-doc-url": "", "tags": ["software"]}],
        "operators": [{"integration-name": "tsaudit", "python-modules": ["tsaudit_airflow.operators"]}],
        "hooks": [{"integration-name": "tsaudit", "python-modules": ["tsaudit_airflow.hooks"]}],
        "connection-types": [
            {
                "connection-type": "tsaudit",
                "hook-class-name": "tsaudit_airflow.hooks.AuditHook",
                "hook-name": "tsaudit",
                "ui-field-behaviour": {
                    "hidden-fields": [],
                    "relabeling": {"host": "Host, address, or file", "schema": "Database"},
                    "placeholders": {
                        "host": "db.example.com, https://influx.example.com:8086?org=acme, or /data/plant.duckdb"
                    },
                },
                "conn-fields": {
                    "engine": {
                        "label": "Engine",
                        "description": "The engine of the target, as in tsaudit.yaml.",
                        "schema": {"type": ["string", "null"], "enum": _ENGINES},
                    },
                    "token": {
                        "label": "Token",
                        "description": "An API token, for InfluxDB 2 and 3 in place of login and password.",
                        "schema": {"type": ["string", "null"], "format": "password"},
                    },
                },
            }
        ],
        "notifications": ["tsaudit_airflow.notifications.AuditNotifier"],
        "extra-links": ["tsaudit_airflow.operators.AuditReportLink"],
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
