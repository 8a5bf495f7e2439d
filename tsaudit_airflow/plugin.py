"""What Airflow loads from this package into each of its processes."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin


class TsauditPlugin(AirflowPlugin):
    """Mounts the pages of the reports at `/tsaudit`."""

    name = "tsaudit"

    # Only the API server asks for them, and only there can their module be imported at a bearable price.
    @property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]
        """The application, as Airflow mounts it."""
        from tsaudit_airflow.pages import reports

        return [{"app": reports, "url_prefix": "/tsaudit", "name": "tsaudit"}]
