"""The assets that represent audits."""

from typing import Final

from airflow.sdk import Asset, AssetAlias

AUDITS: Final = AssetAlias("tsaudit")
"""Outlet of every audit task; a DAG that is scheduled on it runs after any audit."""


def audit_asset(target: str) -> Asset:
    """The audits of one target: `tsaudit/<target>`. A DAG that is scheduled on this asset runs after each audit.

    The asset has no URI of its own. Airflow uses the name instead, so that the two always match; a task fails if one
    name is used with two URIs.
    """
    return Asset(name=f"tsaudit/{target}")
