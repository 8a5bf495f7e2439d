"""Plans carried out on an InfluxDB 1.x, and what is gone of its values afterward."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from tests import plans as steps
from tests.databases import influxql, line, write_lines
from tests.planning import points
from tests.planning.losses import Run
from tests.planning.points import Point
from tests.planning.program import Read, written
from tsaudit.engines.quoting import quote_identifier
from tsaudit.model.plan import Plan, Step
from tsaudit.model.profile import Profile

_SINCE: Final = datetime(1970, 1, 1, tzinfo=UTC)


def contents(url: str, database: str) -> list[Point]:
    """All points, with the values of fields of whatever type."""
    types: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for series in influxql(url, "SHOW FIELD KEYS", db=database)["results"][0].get("series", ()):
        for key, kind in series["values"]:
            types[series["name"]][key].add(kind)
    several = {name: fields for name, fields in types.items() if any(len(kinds) > 1 for kinds in fields.values())}
    found = [point for point in _points(url, "SELECT * FROM /.*/ GROUP BY *", database) if point[0] not in several]
    for name, fields in several.items():
        listed = ", ".join(
            f"{_quoted(key)}::{kind} AS {_quoted(f'{key}.{kind}')}" for key, kinds in fields.items() for kind in kinds
        )
        # The server converts numbers to each other: they are there once.
        for _, read in _points(url, f"SELECT {listed} FROM {_quoted(name)} GROUP BY *", database):
            found.append((name, Read(read.time, read.tags, {k.rpartition(".")[0]: v for k, v in read.fields.items()})))
    return [Point(name, one.time, {k: v for k, v in one.tags.items() if v}, one.fields) for name, one in found]


def _quoted(name: str) -> str:
    return quote_identifier("influxdb1", name)


def _points(url: str, statement: str, database: str) -> Iterator[tuple[str, Read]]:
    """The measurement, and the point, with the fields that it has."""
    for result in influxql(url, statement, db=database, epoch="ns")["results"]:
        for series in result.get("series", ()):
            names, tags = series["columns"][1:], series.get("tags", {})
            for time, *row in series["values"]:
                fields = {name: value for name, value in zip(names, row, strict=True) if value is not None}
                yield series["name"], Read(_SINCE + timedelta(microseconds=time // 1000), tags, fields)


def answers(url: str, statement: str, database: str) -> list[dict[str, Any]]:
    """The answers to each statement of a text, those that are refused first."""
    body = urlencode({"q": statement})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = urllib3.request("POST", f"{url}/query?db={database}", body=body, headers=headers, timeout=60).json()
    found: list[dict[str, Any]] = answer.get("results", [answer])
    return sorted(found, key=lambda one: "error" not in one)


@dataclass(frozen=True, slots=True)
class InfluxHand:
    """Runs the statements, and stands in for the programs that copy."""

    url: str
    database: str

    def contents(self, profile: Profile) -> list[Point]:
        return contents(self.url, self.database)

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        return [self._carry_out(plan, first, last) for plan in plans]

    def _carry_out(self, plan: Plan, first: datetime, last: datetime) -> Run:
        done = Run()
        for step in plan.steps:
            for statement in steps.statements_of(step, first, last, steps.MOST_SPANS):
                try:
                    self._run(step, statement)
                except AssertionError as error:
                    done.refused.append(f"{statement}: {error}")
                done.executed += 1
        return done

    def _run(self, step: Step, statement: str) -> None:
        if step.copy is None:
            (answer, *_) = answers(self.url, statement, self.database)
            assert "error" not in answer, answer["error"]
            return
        database, policy = step.copy.place
        table = written(step.copy, (read for _, read in _points(self.url, statement, self.database)))
        lines = (text for row in table.rows if (text := line(table, row)) is not None)
        write_lines(self.url, database, lines, policy)

    def lost(
        self, before: list[Point], after: list[Point], plans: Sequence[Plan], done: Sequence[Run], now: datetime
    ) -> list[str]:
        return points.lost(before, after, plans, now)
