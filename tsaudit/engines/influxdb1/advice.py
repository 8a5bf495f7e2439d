"""How users of InfluxDB 1.x make the changes of a plan."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from tsaudit.engines.influx.advice import InfluxAdvice, weeks
from tsaudit.model.change import Diagnose, LeaveOut, MakeField, MergeMeasurements, SetRetention, StopSource
from tsaudit.model.plan import Step, StepKind
from tsaudit.text import listed

_DATA: Final = re.compile(r"\{\w+\}")
"""A placeholder for the varying part in the template of a family's names."""


class Influxdb1Advice(InfluxAdvice):
    """The steps in InfluxQL."""

    kept_in = "retention policy"

    def query(self, change: Diagnose) -> Step | None:
        found = self._of_database() if self.place.measurement is None else self._of_measurement(change)
        if found:
            return Step(StepKind.FIND, *found, "influxql")
        step = self.by_influxql(change)
        if step is None or change.what != "types":
            return step
        column, table = self.place.quoted([change.column]), self.place.table()
        # Which type the current shard has is told by the plan of a query of nothing else.
        text = f"EXPLAIN SELECT {column} FROM {table} WHERE time > now() - 1s;\n{step.text}"  # noqa: S608 -- shown
        return replace(
            step,
            words=f"See which type {change.column} has in the current shard (AUXILIARY FIELDS). {step.words}",
            text=text,
        )

    def _of_measurement(self, change: Diagnose) -> tuple[str, str] | None:
        place = self.place
        column, table = place.quoted([change.column]), place.table()
        database = place.quoted([next(iter(place.here.path), place.database)])
        if change.what == "new values":
            if writers := place.writers_of(change.column):
                return (
                    f"Find which sources write new values of {change.column}: this counts the series of each by shard.",
                    f"SHOW SERIES EXACT CARDINALITY ON {database} FROM {table} GROUP BY {place.quoted(writers)}",
                )
            shown = f"SHOW TAG VALUES ON {database} FROM {table} WITH KEY = {column} LIMIT 20"
            return f"See some values of {change.column}, to find what writes them.", shown
        if change.what == "schema":
            return (
                f"See which tags and fields {place.here.name} has, and where.",
                f"SHOW SERIES ON {database} FROM {table};\nSHOW FIELD KEYS ON {database} FROM {table}",
            )
        return None

    def _of_database(self) -> tuple[str, str]:
        name = self._server_database()
        return f"See which measurements {name} has.", f"SHOW MEASUREMENTS ON {self.place.quoted([name])}"

    def limited(self, change: SetRetention) -> tuple[str, str, str]:
        database = self._server_database()
        policy, on = self.place.quoted([change.policy]), self.place.quoted([database])
        text = f"ALTER RETENTION POLICY {policy} ON {on} DURATION {weeks(change.keep)}w SHARD DURATION 7d"
        return f"Set a duration for retention policy {change.policy} of {database}", text, "influxql"

    def deleted(self) -> tuple[str, str, str]:
        name, database = self.place.here.name, self._server_database()
        deletion = f"DROP SERIES FROM {self.place.quoted([name])} WHERE {self._having}"
        text = self._used(";\n".join(filter(None, (self.copied()[0], deletion))))
        return text, "influxql", f"all points of {name} with {' or '.join(self._gone)}, in database {database}"

    @property
    def _having(self) -> str:
        """The condition that a point has one of the tags to remove."""
        return " OR ".join(f"{self.place.quoted([tag])} != ''" for tag in self._gone)

    def copied(self) -> tuple[str, str]:
        is_only_about_tags = all(isinstance(change, MakeField | LeaveOut | Diagnose) for change in self.changes)
        # How many points would overwrite another has to be known.
        if not is_only_about_tags or self.place.effect.loss_unknown:
            return "", ""
        place, new = self.place, self.new_name or self.place.here.name
        # The statement converts no text, so what writers send as numbers is left out.
        texts = {c.tag for c in self.changes if isinstance(c, MakeField) and self.new_name and not c.to}
        texts -= {field.key for field in place.here.fields}
        made, lost = ([tag for tag in self._gone if (tag in texts) is is_text] for is_text in (True, False))
        read = ", ".join(["*::field", *(f"{place.quoted([tag])}::tag" for tag in made)])
        become = " and ".join(
            f"{how} {listed(names, 3)}{role}"
            for how, names, role in (
                ("with", made, f" as {'text fields' if made[1:] else 'a text field'}"),
                ("without", lost, ""),
            )
            if names
        )
        kept = [tag.key for tag in place.here.tags if tag.key not in self._gone]
        # Points without the tags stay where the name does.
        where = "" if self.new_name else f" WHERE {self._having}"
        by = f" GROUP BY {place.quoted(kept)}" if kept else ""
        text = f"SELECT {read} INTO {place.table(new)} FROM {place.table()}{where}{by}"  # noqa: S608 -- shown, never run
        return text, become

    def of_source(self, change: StopSource) -> tuple[str, str]:
        name, by = self.place.quoted([self.place.here.name]), self.place.quoted([change.by])
        # A name, which is all that a change shows of a value, contains no quotes.
        return self._used(f"DROP SERIES FROM {name} WHERE {by} = '{change.value}'"), "influxql"

    def dropped(self, change: MergeMeasurements) -> tuple[str, str, bool]:
        if pattern := self._pattern(change):
            return self._used(f"DROP SERIES FROM /{pattern.replace('/', chr(92) + '/')}/"), "influxql", True
        text = f"DROP MEASUREMENT {self.place.quoted([change.members[0].measurement])}"
        return self._used(text), "influxql", False

    def _used(self, text: str) -> str:
        """The statement, which cannot name its database, after the command of the `influx` shell that chooses it."""
        return f"USE {self.place.quoted([self._server_database()])}\n{text}"

    def _pattern(self, change: MergeMeasurements) -> str:
        """A regular expression that matches the members' names and no others; empty if there is none."""
        names = {member.measurement for member in change.members}
        beside = {m.name for m in self.place.profile.measurements if m.database == self.place.database} - names
        for data in (".+", r".*\d.*"):
            pattern = f"^{data.join(map(re.escape, _DATA.split(change.template)))}$"
            if all(re.search(pattern, name) for name in names) and not any(re.search(pattern, name) for name in beside):
                return pattern
        return ""

    def _server_database(self) -> str:
        known = next((d for d in self.place.profile.databases if d.name == self.place.database), None)
        return known.server_name if known else self.place.database
