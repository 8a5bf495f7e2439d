"""How users of InfluxDB 2.x make the changes of a plan."""

from __future__ import annotations

import shlex
from typing import Final

from tsaudit.engines.influx.advice import InfluxAdvice, weeks
from tsaudit.engines.quoting import quote_flux
from tsaudit.model.change import Diagnose, MergeMeasurements, SetRetention, StopSource
from tsaudit.model.plan import Step, StepKind

_NOT_MAPPED: Final = (
    " (the audit could not reach this bucket by InfluxQL; if it has no DBRP mapping, create one, with its id from "
    "`influx bucket list`: influx v1 dbrp create --bucket-id ID --db NAME --rp autogen --default)"
)
_SCHEMA: Final = 'import "influxdata/influxdb/schema"'


class Influxdb2Advice(InfluxAdvice):
    """The steps in Flux, or in InfluxQL where Flux cannot distinguish a tag from a field."""

    kept_in = "bucket"

    def query(self, change: Diagnose) -> Step | None:
        return self._of_bucket(change) if self.place.measurement is None else self._of_measurement(change)

    def _of_bucket(self, change: Diagnose) -> Step | None:
        bucket = self.place.database
        if change.what == "measurements":
            text = f"{_SCHEMA}\nschema.measurements(bucket: {quote_flux(bucket)})"
            return Step(StepKind.FIND, f"See which measurements bucket {bucket} has.", text, "flux")
        return None

    def _of_measurement(self, change: Diagnose) -> Step | None:
        name = self.place.here.name
        if change.what == "new values":
            return self._sources(change.column)
        if change.what == "schema":
            given = f"bucket: {quote_flux(self.place.database)}, measurement: {quote_flux(name)}"
            text = f"{_SCHEMA}\nschema.measurementTagKeys({given})"
            return Step(
                StepKind.FIND, f"See which tags {name} has; measurementFieldKeys lists its fields.", text, "flux"
            )
        return self.by_influxql(change, ", by InfluxQL" + ("" if self.place.here.path else _NOT_MAPPED))

    def _sources(self, tag: str) -> Step:
        """The query for the sources with the most new values within a day; if no other tag identifies a source, the
        query for the newest values.
        """
        writers = self.place.writers_of(tag)
        shown = ", ".join(map(quote_flux, [*(writers or ["_time"]), tag]))
        lines = [
            f"from(bucket: {quote_flux(self.place.database)})",
            "range(start: -1d)",
            f"filter(fn: (r) => r._measurement == {quote_flux(self.place.here.name)})",
            "first()",
            f"keep(columns: [{shown}])",
        ]
        if not writers:
            lines += ["group()", 'sort(columns: ["_time"], desc: true)', "limit(n: 20)"]
            words = f"Find what writes new values of {tag}: these are the newest series of the last day."
            return Step(StepKind.FIND, words, _piped(lines), "flux", cost="reads the index and a point of each series")
        by = ", ".join(map(quote_flux, writers))
        lines += [f"group(columns: [{by}])", f"distinct(column: {quote_flux(tag)})", "count()", "group()"]
        lines += ['sort(columns: ["_value"], desc: true)']
        words = f"Find which sources write new values of {tag}: this counts those of each within a day."
        return Step(StepKind.FIND, words, _piped(lines), "flux", cost="reads the index and a point of each series")

    def limited(self, change: SetRetention) -> tuple[str, str, str]:
        text = f"influx bucket update --id ID --retention {weeks(change.keep)}w --shard-group-duration 7d"
        words = f"Set a retention period for bucket {self.place.database}, with its ID from `influx bucket list`"
        return words, text, "sh"

    def deleted(self) -> tuple[str, str, str]:
        name, bucket = self.place.here.name, self.place.database
        return self._delete(name), "sh", f"all points of {name} in bucket {bucket} until then"

    def of_source(self, change: StopSource) -> tuple[str, str]:
        one = f"{self.place.quoted([change.by])}={self.place.quoted([change.value])}"
        return self._delete(self.place.here.name, one), "sh"

    def dropped(self, change: MergeMeasurements) -> tuple[str, str, bool]:
        return self._delete(change.members[0].measurement), "sh", False

    def _delete(self, measurement: str, *conditions: str) -> str:
        """The command that deletes a measurement from the bucket, or its points that meet the conditions.

        InfluxQL deletes from the default bucket of the database it runs in, which may be another bucket.
        https://docs.influxdata.com/influxdb/v2/reference/syntax/delete-predicate/
        """
        predicate = shlex.quote(" AND ".join((f"_measurement={self.place.quoted([measurement])}", *conditions)))
        return (
            f"influx delete --bucket {shlex.quote(self.place.database)} --start 1970-01-01T00:00:00Z "
            f"--stop $(date -u +%FT%TZ) --predicate {predicate}"
        )


def _piped(lines: list[str]) -> str:
    """The steps of a Flux query, one per line except that the first two share a line."""
    head = " |> ".join(lines[:2])
    return "\n".join([head, *(f"  |> {line}" for line in lines[2:])])
