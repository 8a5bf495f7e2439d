"""Writes data sets to Timestream."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Server, write_to_server
from tests.engines.timestream import proposals
from tests.planning.places import Held, counted
from tsaudit.config.settings import Target
from tsaudit.model.plan import Step
from tsaudit.model.profile import Profile


def place(request: pytest.FixtureRequest, folder: Path) -> Server:
    """The stand-in."""
    del folder
    found: Server = request.getfixturevalue("timestream")
    return found


written = write_to_server


def server(where: Any, target: Target) -> Timestream:
    """Checks each statement, and carries out the commands of the AWS CLI."""
    del target
    return Timestream(where)


@dataclass(frozen=True, slots=True)
class Timestream:
    """The stand-in."""

    server: Any

    def run(self, step: Step) -> int:
        """The statements or commands of a step; how many these are."""
        return proposals.works(step.text, self.server) if step.language in ("sql", "sh") else 0

    def held(self, profile: Profile) -> Held:
        """Counts of rows and of values."""
        databases = {m.database for m in profile.measurements}
        stored = ((name, rows) for one in databases for name, rows in self.server.stored(one).items())
        return {name: counted(rows.to_pylist()) for name, rows in stored}
