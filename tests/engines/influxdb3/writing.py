"""Writes data sets to InfluxDB 3."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Server, write_to_server
from tests.engines.influxdb3 import cli
from tests.planning.places import Held, counted, split
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.plan import Step
from tsaudit.model.profile import Profile


def place(request: pytest.FixtureRequest, folder: Path) -> Server:
    """The stand-in, or a real server."""
    del folder
    found: Server = request.getfixturevalue("influxdb3")
    return found


written = write_to_server


def server(where: Any, target: Target) -> InfluxDB3:
    """Runs SQL, and the commands of the `influxdb3` program."""
    return InfluxDB3(where, target.databases[0] if target.databases else "")


@dataclass(frozen=True, slots=True)
class InfluxDB3:
    """A database of the stand-in, or of a real server."""

    server: Any
    database: str

    def run(self, step: Step) -> int:
        """The statements or commands of a step; how many these are."""
        if step.language == "sql":
            for statement in (found := split(step.text)):
                self.server.rows(self.database, statement.rstrip(";"))
            return len(found)
        commands = step.text.splitlines() if step.language == "sh" else []
        for command in commands:
            cli.run(command, self.server)
        return len(commands)

    def held(self, profile: Profile) -> Held:
        """Counts of rows and of values."""
        names = {m.name: ENGINES[profile.engine].language.identifier(m.name) for m in profile.measurements}
        return {
            name: counted(self.server.rows(self.database, f"SELECT * FROM {quoted}")) for name, quoted in names.items()
        }
