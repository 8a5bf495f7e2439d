"""The plugin that Airflow loads from this package into each of its processes."""

from typing import Any

from airflow.plugins_manager import AirflowPlugin


class TsauditPlugin(AirflowPlugin):
    """Mounts the pages of the reports at `/tsaudit`."""

    name = "tsaudit"

    # Only the API server uses them, and only there is importing their module acceptable, because it is slow.
    @property
    def fastapi_apps(self) -> list[Any]:  # type: ignore[override]
        """The application, as Airflow mounts it."""
        from tsaudit_airflow.pages import reports

        return [{"app": reports, "url_prefix": "/tsaudit", "name": "tsaudit"}]
