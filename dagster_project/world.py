"""Writes the data of the demo's applications, one day after the other."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dagster_project import tables
from tsaudit.errors import TsauditError

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from tsaudit.config.settings import Settings

DAYS: Final = 35
"""Number of days in the demo."""


class DemoError(TsauditError):
    """The demo cannot go on. One line, with what to do."""


@dataclass(frozen=True, slots=True)
class World:
    """The demo's database in a DuckDB file."""

    path: Path

    @classmethod
    def of(cls, settings: "Settings") -> "World":
        """The database of the first target in the settings."""
        return cls(Path(settings.targets[0].url.get_secret_value().removeprefix("duckdb:///")))

    def first_day(self) -> date | None:
        """The first day of the demo; None if nothing was written yet. Raises DemoError."""
        return self._day("SELECT CAST(min(time) AS DATE) FROM http_requests")

    def last_day(self) -> date | None:
        """The newest day written; None if there is none. Raises DemoError."""
        return self._day("SELECT CAST(max(time) AS DATE) FROM http_requests")

    def missing(self, until: date, days: int = DAYS) -> list[date]:
        """The days still to be written up to `until`, oldest first. Raises DemoError.

        A new demo starts `days` days before `until`.
        """
        last = self.last_day()
        start = last + timedelta(days=1) if last else until - timedelta(days=days - 1)
        return [start + timedelta(days=n) for n in range((until - start).days + 1)]

    def advance(self, day: date) -> None:
        """Write the data of `day`; the first call starts the demo.

        Each day is one transaction, so a day exists completely or not at all. A day that exists is left unchanged.
        Raises DemoError, also for a day before the demo, or one that would leave a gap.
        """
        first, last = self.first_day(), self.last_day()
        if last is not None and day <= last:
            if first is not None and day < first:
                raise DemoError(f"the demo started on {first}; {day} can no longer be written")
            return
        if last is not None and day != last + timedelta(days=1):
            raise DemoError(f"the demo's newest day is {last}; write {last + timedelta(days=1)} before {day}")
        with _open(self.path) as connection:
            _write(connection, first or day, day)

    def _day(self, query: str) -> date | None:
        from sqlalchemy import text

        if not self.path.exists():
            return None
        with _open(self.path) as connection:
            there = connection.execute(
                text("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'http_requests'")
            ).scalar_one()
            if not there:
                return None
            found = connection.execute(text(query)).scalar_one()
        return found if isinstance(found, date) else None


def _write(connection: "Connection", first: date, day: date) -> None:
    from sqlalchemy import text

    age = (day - first).days
    deployed = age - tables.DEPLOYMENT
    connection.execute(text(tables.NOISE))
    for statement in tables.CREATE if age == 0 else ():
        connection.execute(text(statement))
    if deployed == 0:
        connection.execute(text(tables.ADD_REQUEST_ID))
    values = {"day": day.isoformat(), "first_day": deployed == 0, "old_firmware": age < tables.FIRMWARE}
    http = tables.HTTP if deployed < 0 else tables.HTTP_WITH_ID
    for statement in (http, *tables.EVERY_DAY):
        connection.execute(text(statement), {k: v for k, v in values.items() if f":{k}" in statement})


@contextmanager
def _open(path: Path) -> Iterator["Connection"]:
    """A transaction on the file, which no other process can open meanwhile: DuckDB locks it."""
    from sqlalchemy import create_engine
    from sqlalchemy.exc import SQLAlchemyError

    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        engine = create_engine(f"duckdb:///{path}")
        try:
            with engine.begin() as connection:
                yield connection
        finally:
            engine.dispose()
    except SQLAlchemyError as error:
        problem = str(getattr(error, "orig", error)).splitlines()[0]
        # DuckDB allows only one process; another process is no reason to delete the file.
        busy = "lock" in problem
        advice = "stop the other process, or wait for it" if busy else "remove the file to restart the demo"
        raise DemoError(f"{path}: {problem}; {advice}") from error
