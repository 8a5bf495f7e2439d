"""The second blind set of November 2026: 20 databases."""

from __future__ import annotations

from typing import Final

from tests.blind.expected import BlindDatabase
from tests.blind.second import (
    columnar,
    documents,
    influxdb,
    influxdb_sources,
    postgresql_devices,
    postgresql_web,
    sql_files,
)

DATABASES: Final[tuple[BlindDatabase, ...]] = tuple(
    one
    for module in (columnar, documents, influxdb, influxdb_sources, postgresql_devices, postgresql_web, sql_files)
    for one in module.DATABASES
)
