"""How users of InfluxDB 3 make the changes of a plan. No statement changes stored rows."""

from __future__ import annotations

import shlex
from typing import Final

from tsaudit.engines.advice import days_of
from tsaudit.engines.influx.advice import InfluxAdvice
from tsaudit.engines.sql.statements import DiagnosticQueries, diagnostic_query
from tsaudit.engines.writers import Terms
from tsaudit.model.change import Diagnose, MergeMeasurements, SetRetention
from tsaudit.model.plan import Step, StepKind

_QUERIES: Final = DiagnosticQueries(
    recent=lambda _: "time >= now() - INTERVAL '1 day'",
    columns=lambda place: f"SHOW COLUMNS FROM {place.table()}",
    tables=lambda _: "SHOW TABLES",
    end="",
)


class Influxdb3Advice(InfluxAdvice):
    """The steps in SQL, and with the product's command."""

    terms = Terms("row", "table", types=InfluxAdvice.terms.types)
    kept_in = "database"

    def query(self, change: Diagnose) -> Step | None:
        found = diagnostic_query(self.place, change, _QUERIES)
        return None if found is None else Step(StepKind.FIND, found.words, found.text, "sql", cost=found.cost)

    def writer(self) -> Step | None:
        change = next((change for change in self.changes if isinstance(change, SetRetention)), None)
        if change is None or self.limits_stored:
            return super().writer()
        return Step(
            StepKind.WRITER, f"Write to another database, {self._new_database(change)}, which has that retention."
        )

    def stored(self) -> Step | None:
        if self.limits_stored or not any(isinstance(change, SetRetention) for change in self.changes):
            return super().stored()
        words = f"What is stored in {self.place.database} stays there. Delete that database once nobody reads it."
        return Step(StepKind.STORED, words)

    @property
    def limits_stored(self) -> bool:
        """Whether the new retention also applies to stored rows: in Core, a database gets it when it is created."""
        return self.place.profile.edition != "Core"

    def _new_database(self, change: SetRetention) -> str:
        return f"{self.place.database}_{days_of(change)}d"

    def limited(self, change: SetRetention) -> tuple[str, str, str]:
        days, name, edition = days_of(change), self.place.database, self.place.profile.edition
        if not self.limits_stored:
            words = "Core sets a retention period only when a database is created: create another one"
            new = shlex.quote(self._new_database(change))
            return words, f"influxdb3 create database --retention-period {days}d {new}", "sh"
        text = f"influxdb3 update database --database {shlex.quote(name)} --retention-period {days}d"
        if "Dedicated" in edition:
            text = f"influxctl database update --retention-period {days}d {shlex.quote(name)}"
        if "Serverless" in edition:
            text = f"influx bucket update --id ID --retention {days}d"
        return f"Set a retention period for database {name}", text, "sh"

    def deleted(self) -> tuple[str, str, str]:
        name = self.place.here.name
        return self._delete_table(name), "sh", f"all rows of {name}"

    def dropped(self, change: MergeMeasurements) -> tuple[str, str, bool]:
        return self._delete_table(change.members[0].measurement), "sh", False

    def _deletion(self) -> Step:
        if self.new_name:
            return super()._deletion()
        words = (
            f"No statement of InfluxDB 3 removes a column: what is stored keeps {', '.join(self._gone)} until it "
            "expires. New rows have none."
        )
        return Step(StepKind.STORED, words)

    def _delete_table(self, name: str) -> str:
        end_of_options = "-- " if name.startswith("-") else ""
        database = shlex.quote(self.place.database)
        return f"influxdb3 delete table --database {database} {end_of_options}{shlex.quote(name)}"
