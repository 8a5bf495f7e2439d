"""Sends the statements that one query of a GreptimeDB needs, and caches what is known about its catalog."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tsaudit.engines.connection import FactError, Rows
from tsaudit.engines.file_limit import FileLimit
from tsaudit.engines.greptimedb import typed
from tsaudit.engines.greptimedb.catalog import Row, Table
from tsaudit.model.profile import Reason

if TYPE_CHECKING:
    from tsaudit.engines.greptimedb.wire import Wire

_GRANT: Final = "a read-only user is enough, see sql/greptimedb/grants.md"


@dataclass(slots=True)
class Known:
    """What all connections of one audit know about the catalog."""

    answers: dict[str, list[Row]] = field(default_factory=dict)
    """Statement to its rows, for statements about the catalog."""
    tables: dict[str, dict[str, Table]] | None = None
    """Database to table name to table; None before the tables were queried."""
    limit: FileLimit = field(default_factory=FileLimit)
    metrics_url: str = ""
    """The address of the server's metrics page; empty if it is not known."""


class CatalogQueries:
    """Sends the statements for one query before its deadline, and records them in `rows`."""

    def __init__(self, transport: Wire, known: Known, rows: Rows, deadline: float) -> None:
        self.known = known
        self._transport = transport
        self._rows = rows
        self._deadline = deadline

    def stream(
        self, statement: str, names: Sequence[str], kinds: Sequence[pa.DataType], longest: int | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The response as it arrives, with these names and types. `longest`: maximum number of characters kept of a
        string.
        """
        self._rows.statement = statement
        try:
            for block in self._transport.run(statement, self._deadline):
                columns = list(zip(*block.rows, strict=True)) or [()] * len(names)
                arrays = [typed.array(values, kind, longest) for values, kind in zip(columns, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, names=list(names))
        except FactError as error:
            raise _with_grant(error) from error

    def once(self, statement: str) -> list[Row]:
        """The rows of a catalog statement, which is sent only once per audit."""
        # The first statement is recorded for the whole query; the others only add details.
        self._rows.statement = self._rows.statement or statement
        if statement not in self.known.answers:
            self._rows.statements += 1
            try:
                blocks = list(self._transport.run(statement, self._deadline))
            except FactError as error:
                raise _with_grant(error) from error
            self.known.answers[statement] = [
                dict(zip(block.names, values, strict=True)) for block in blocks for values in block.rows
            ]
        return self.known.answers[statement]


def _with_grant(error: FactError) -> FactError:
    # TooManyFilesError is passed on unchanged.
    return FactError(error.reason, f"{error.detail}; {_GRANT}") if error.reason is Reason.DENIED else error
