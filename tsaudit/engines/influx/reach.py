"""Which data a statement of InfluxQL affects, since it can name a retention policy unless it deletes; and
alternatives.
"""

from __future__ import annotations

import shlex

from tsaudit.engines.place import Quoting
from tsaudit.engines.quoting import quote_identifier
from tsaudit.model.profile import Measurement
from tsaudit.text import listed


def not_mapped(case: Quoting, measurement: Measurement) -> str:
    """A clause about a bucket of InfluxDB 2.x that InfluxQL cannot access; empty if it can."""
    if case.profile.engine != "influxdb2" or measurement.path:
        return ""
    return (
        " (the audit could not reach this bucket by InfluxQL; if it has no DBRP mapping, create one, with its id from "
        "`influx bucket list`: influx v1 dbrp create --bucket-id ID --db NAME --rp autogen --default)"
    )


def delete_rows(bucket: str, measurement: str, tag: str = "") -> str:
    """The command that deletes a measurement from a bucket of InfluxDB 2.x, or only its rows with one value of the tag.

    There, InfluxQL deletes from the default bucket of the database it runs in, which may be another bucket.
    https://docs.influxdata.com/influxdb/v2/reference/syntax/delete-predicate/
    """
    predicate = f"_measurement={quote_identifier('influxdb2', measurement)}"
    predicate += f' AND {quote_identifier("influxdb2", tag)}="..."' if tag else ""
    return (
        f"influx delete --bucket {shlex.quote(bucket)} --start 1970-01-01T00:00:00Z --stop $(date -u +%FT%TZ) "
        f"--predicate {shlex.quote(predicate)}"
    )


def also_deleted(case: Quoting, database: str, measurement: str) -> str:
    """A sentence about what DROP affects beyond the retention policy audited as `database`: it cannot name one.

    Empty if no other policy contains a measurement with this name.
    """
    own = next((d for d in case.profile.databases if d.name == database), None)
    if own is None:
        return ""
    holding = {m.database for m in case.profile.measurements if m.name == measurement} - {database}
    others = [d.name for d in case.profile.databases if d.name in holding and d.server_name == own.server_name]
    if not others:
        return ""
    return (
        f" This deletes from all retention policies of {own.server_name}, including {listed(others, 3)}: let the data "
        "expire instead, or first copy what has to stay."
    )
