"""The blind set of November 2026: 40 databases."""

from __future__ import annotations

from typing import Final

from tests.blind.expected import BlindDatabase
from tests.blind.first import columnar, documents, influxdb, influxdb_fleets, influxdb_homes, sql_files, sql_servers

DATABASES: Final[tuple[BlindDatabase, ...]] = tuple(
    one
    for module in (columnar, documents, influxdb, influxdb_fleets, influxdb_homes, sql_files, sql_servers)
    for one in module.DATABASES
)
