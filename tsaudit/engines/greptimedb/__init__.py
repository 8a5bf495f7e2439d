"""GreptimeDB: how to connect to it, and what its own tables mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import Engine, Failure, LocalServer, ServerLimit, Words
from tsaudit.engines.sql import BATCHED

if TYPE_CHECKING:
    from tsaudit.model.profile import Measurement, Profile


_DOCS: Final = "https://docs.greptime.com"
_DESIGN: Final = "user-guide/deployments-administration/performance-tuning/design-table"


class Greptimedb(Engine):
    """GreptimeDB."""

    name = "greptimedb"
    connector = "tsaudit.engines.greptimedb.connector:connect"
    adviser = "tsaudit.engines.greptimedb.advice:GreptimeAdvice"
    example_url = "mysql+pymysql://localhost:4002"
    extra = "greptimedb"
    keywords = ("greptimedb/keywords.txt",)
    words = Words(
        series="One distinct combination of the tags in the primary key.",
        as_field="A field can have its own index. Of rows with the same key and time only one is kept, unless "
        "the table is\n"
        "append-only, which keeps them all.",
    )
    # The HTTP port with the build information; audits use the MySQL port, which is two higher.
    local = LocalServer(
        4000,
        "/status",
        re.compile(r'"version".*"rustc_version"|"rustc_version".*"version"', re.DOTALL),
        "mysql+pymysql://127.0.0.1:4002",
    )
    reads_password_apart = True
    alters_types = True
    default_schema = ""
    sql_types = {**Engine.sql_types, "time": "TIMESTAMP(3)"}
    has_costly_series = True
    divides_by_time = True
    checks_key_types = True
    batched_facts = BATCHED - {"time_extents"}
    # Its count includes every version of rows that are stored more than once.
    total_falls_short = 0.05
    parameters = {
        "catalog": "which of the server's catalogs to read: `statistics`, or the other tables of information_schema",
        "instants": "the columns whose values are times",
        "measurement": "in files about all measurements: the measurement to query, if each needs its own statement",
    }
    failures = {
        "region": Failure(
            "The leader of {name} is down",
            "Start its datanode again, or let the cluster move the region to another one. Until then writes to it are "
            "rejected, and queries of it fail.",
            rejects_writes=True,
        )
    }
    limits = (
        ServerLimit("near-limit.tags", 5, f"{_DOCS}/{_DESIGN}/", is_enforced=False),
        # The limit of the legacy format, for which the vendor states a maximum of 100 thousand values of the key.
        ServerLimit(
            "high-series-cardinality.max_series",
            100_000,
            f"{_DOCS}/0.17/{_DESIGN}/",
            edition="primary_key",
            is_enforced=False,
        ),
        ServerLimit(
            "high-series-cardinality.max_series",
            100_000,
            "our default: the vendor's number for files in the old format; for this format it names none, and says "
            "that many key values cost memory and insert time",
            edition="flat",
            is_enforced=False,
        ),
    )
    own_guidelines = frozenset({"E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12", "E13"})
    not_applicable = {
        "D1": "it documents no limit on columns, and an empty one takes hardly any space",
        "F2": "permissions are granted per table",
    }

    def edition(self, profile: Profile, measurement: Measurement) -> str:
        from tsaudit.engines.greptimedb import tables

        # The number of series of a metric table is not limited by its files.
        if tables.is_metric(measurement):
            return profile.edition
        return "primary_key" if tables.has_legacy_format(profile, measurement) else "flat"

    def has_given_columns(self, measurement: Measurement) -> bool:
        from tsaudit.engines.greptimedb import tables

        return tables.has_given_columns(measurement)

    def has_labels_as_key(self, measurement: Measurement) -> bool:
        from tsaudit.engines.greptimedb import tables

        return tables.is_metric(measurement)

    def keeps_all_rows(self, measurement: Measurement) -> bool:
        from tsaudit.engines.greptimedb import tables

        return tables.is_append_only(measurement)

    def deduplicates_within_partitions(self, measurement: Measurement) -> bool:
        from tsaudit.engines.greptimedb import tables

        return measurement.options is not None and not tables.is_append_only(measurement)


ENGINE: Final = Greptimedb()
