"""The engines that can be audited."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Final

from tsaudit.engines.engine import Engine

_ROOMS: Final = (
    "duckdb",
    "sqlite",
    "postgresql",
    "influxdb1",
    "influxdb2",
    "influxdb3",
    "greptimedb",
    "timestream",
    "mongodb",
)
"""In the order in which documents list them."""


def _declared(room: str) -> Engine:
    # By name, as the rooms themselves read this: what a room declares stands in its __init__, which needs no driver.
    engine: Engine = importlib.import_module(f"tsaudit.engines.{room}").ENGINE
    return engine


ENGINES: Final[Mapping[str, Engine]] = {engine.name: engine for engine in map(_declared, _ROOMS)}
"""By name. Rules apply to an engine as soon as it stands here, and the tests then break and keep each of them on it."""
