"""The one way to open a connection to a target."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, cast

from tsaudit.connector import Connection, Connector, ConnectorError
from tsaudit.dialect import ENGINES

if TYPE_CHECKING:
    from tsaudit.config import Target


def open_connection(target: Target) -> AbstractContextManager[Connection]:
    """A connection to the target, closed on leaving the context. ConnectorError says why there is none."""
    return _connector(target.engine).connect(
        target.url.get_secret_value(),
        username=target.username,
        password=target.password.get_secret_value() if target.password else None,
        options={
            "engine": target.engine,
            "databases": target.databases,
            "connect_timeout_s": min(10.0, target.budget.statement_timeout_s),
        },
    )


def _connector(engine: str) -> Connector:
    about = ENGINES[engine]
    try:
        return cast("Connector", importlib.import_module(about.connector))
    except ModuleNotFoundError as error:
        raise missing_driver(engine, about.extra, error.name) from error


def missing_driver(engine: str, extra: str | None, module: str | None = None) -> ConnectorError:
    """What to say when the engine's driver is not installed."""
    wanted = f"pip install 'tsaudit[{extra}]'" if extra else f"pip install --upgrade tsaudit (missing: {module})"
    return ConnectorError(f"the {engine} engine needs its driver: {wanted}")
