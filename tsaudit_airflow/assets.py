"""The assets that stand for audits."""

from typing import Final

from airflow.sdk import Asset, AssetAlias

AUDITS: Final = AssetAlias("tsaudit")
"""Outlet of every audit task; a DAG with this schedule runs after any audit."""


def audit_asset(target: str) -> Asset:
    """The audits of one target: `tsaudit/<target>`. A DAG with this schedule runs after each of them.

    The asset has no URI of its own. Airflow takes the name in its place, so that the two always belong together; a task
    fails if a name comes with two URIs.
    """
    return Asset(name=f"tsaudit/{target}")
