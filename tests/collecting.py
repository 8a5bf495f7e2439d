"""Collecting from real databases of each engine."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, Server, Sql, write, writing_of
from tests.engines.influxdb2.conversations import is_kept_back
from tests.engines.traits import ARE_FILES, KEEP_DOCUMENTS
from tests.servers import without_unsupported
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.connection import Connection, Rows, RowsOfSeveral
from tsaudit.engines.opening import open_connection
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import Given, OfMeasurement
from tsaudit.model.profile import Profile


def collected(target: Target, asked_as: Target | None = None, **settings: Any) -> Profile:
    """A profile of the target as of NOW. `asked_as`: the target with another budget, once it is connected to."""
    with open_connection(target) as connection:
        profile = collect(asked_as or target, connection, **{"day": DAY, "now": NOW} | settings)
    return without_unsupported(
        dataclasses.replace(profile, gaps=tuple(gap for gap in profile.gaps if not is_kept_back(gap)))
    )


def audited_twice(target: Target) -> Profile:
    """A profile of the target as of NOW, which knows the one of the day before."""
    before = collected(target, day=DAY - timedelta(days=1), now=NOW - timedelta(days=1))
    return collected(target, previous=before)


def apart(target: Target, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """A profile for which nothing was queried together."""
    with monkeypatch.context() as context:
        context.setattr(ENGINES[target.engine], "batched_facts", frozenset())
        return collected(target)


def figures(profile: Profile) -> Profile:
    """The profile without what says how much was queried, and when: the server counts the reads of an audit, too."""
    measurements = tuple(dataclasses.replace(one, status=None) for one in profile.measurements)
    return dataclasses.replace(profile, costs=(), collected_at=NOW, measurements=measurements)


def statements(profile: Profile, *facts: str) -> int:
    """How many were sent for these facts."""
    return sum(cost.statements for cost in profile.costs if cost.fact in facts)


Tampering = Callable[[str, Mapping[str, Any]], Rows | None]


class Tampered:
    """A connection that asks `tampering` first: it may answer a fact itself, raise, or let the real one answer."""

    def __init__(self, connection: Connection, tampering: Tampering) -> None:
        self._connection = connection
        self._tampering = tampering
        self.server_version = connection.server_version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        rows = self._tampering(fact, given.variables())
        return self._connection.query(fact, timeout_s, given) if rows is None else rows

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """Nothing is answered together, so that every query can be tampered with."""
        rows = RowsOfSeveral("", {})
        rows.statements = 0
        return rows

    def reconnect(self) -> Connection:
        return Tampered(self._connection.reconnect(), self._tampering)

    def close(self) -> None:
        self._connection.close()

    def abort(self) -> None:
        self._connection.abort()


def collected_with(target: Target, tampering: Tampering, **settings: Any) -> Profile:
    """A profile as of NOW, with answers tampered with."""
    with open_connection(target) as connection:
        return collect(target, Tampered(connection, tampering), **{"day": DAY, "now": NOW} | settings)


class Writer(Protocol):
    """Writes a data set into a new database."""

    engine: str

    def __call__(self, dataset: Dataset, **settings: Any) -> Target: ...


class FixedWriter:
    def __init__(self, engine: str, where: Callable[[], str | Path | Server | Sql]) -> None:
        self.engine = engine
        self._where = where

    def __call__(self, dataset: Dataset, **settings: Any) -> Target:
        return write(dataset, self.engine, self._where(), **settings)


def writer_to(engine: str, request: pytest.FixtureRequest, folder: Path) -> Writer:
    place = writing_of(engine).place(request, folder)
    return FixedWriter(engine, lambda: place)


def file_with(engine: str, path: Path, *statements: str, **settings: Any) -> Target:
    """A target for a new file, of an engine whose databases are files, in which the statements were run."""
    target = write(Dataset([]), engine, path, **settings)
    server = writing_of(engine).server(path, target)
    for statement in statements:
        server.rows(statement)
    return target


@pytest.fixture(params=sorted(ENGINES))
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    """For each engine: a way to write a data set into it."""
    return writer_to(request.param, request, tmp_path)


@pytest.fixture(params=sorted(ENGINES.keys() - KEEP_DOCUMENTS))
def written_table(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    """The same for the engines that have tags, and rows at a time."""
    return writer_to(request.param, request, tmp_path)


@pytest.fixture(params=sorted(ARE_FILES))
def written_sql(request: pytest.FixtureRequest, tmp_path: Path) -> Writer:
    """The same for the engines whose databases are files."""
    return writer_to(request.param, request, tmp_path)
