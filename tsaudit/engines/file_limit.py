"""For engines that refuse a statement over too many files: the longest window that they do read, found by halving."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tsaudit.engines.connection import FactError, Rows
from tsaudit.model.profile import Reason

if TYPE_CHECKING:
    import pyarrow as pa

_SHORTEST: Final = timedelta(minutes=10)
"""The span of one file as InfluxDB 3 Core writes them by default: a shorter window reads no fewer."""

Sending = Callable[[dict[str, Any]], "Iterator[pa.RecordBatch]"]


class TooManyFilesError(FactError):
    """The statement would read more files than the server reads for one; a shorter window may do."""


class FileLimit:
    """What one server was found to read at once, of each measurement."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], datetime] = {}
        """(database, measurement) to the start of the longest window within the limit."""

    def read(self, rows: Rows, parameters: dict[str, Any], send: Sending) -> Iterator[pa.RecordBatch]:
        """The answer for the window, or for the longest part up to its end; `rows` say which.

        `send` is given the parameters with the start to use. FactError when even the shortest part has too many files.
        """
        table = parameters["database"], parameters["measurement"]
        asked, end = parameters["start"], parameters["end"]
        start = max(asked, self._since.get(table, asked))
        while True:
            rows.since = start if start > asked else None
            try:
                yield from send({**parameters, "start": start})
                return
            except TooManyFilesError as error:
                if (end - start) / 2 < _SHORTEST:
                    detail = f"even {end - start} of data are in more files than the server reads at once"
                    raise FactError(Reason.OVER_BUDGET, f"{detail} ({error.detail})") from error
            start = end - (end - start) / 2
            self._since[table] = start
            rows.statements += 1
