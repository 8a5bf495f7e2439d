"""For engines that refuse statements that read too many files: finds the longest readable window by repeatedly halving
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tsaudit.engines.connection import FactError, Rows
from tsaudit.model.profile import Reason

if TYPE_CHECKING:
    import pyarrow as pa

_SHORTEST: Final = timedelta(minutes=10)
"""The time range of one file in InfluxDB 3 Core by default: a shorter window would not read fewer files."""

Sending = Callable[[dict[str, Any]], "Iterator[pa.RecordBatch]"]


class TooManyFilesError(FactError):
    """The statement would read more files than the server allows; a shorter window may work."""


class FileLimit:
    """The limits found on one server, for each measurement."""

    def __init__(self) -> None:
        self._since: dict[tuple[str, str], datetime] = {}
        """(database, measurement) to the start of the longest window within the limit."""

    def is_known(self, database: str, measurement: str) -> bool:
        """Whether the server has refused to read the measurement's whole window before."""
        return (database, measurement) in self._since

    def read(self, rows: Rows, parameters: Mapping[str, Any], send: Sending) -> Iterator[pa.RecordBatch]:
        """The response for the window, or for the longest part at its end that can be read; `rows.since` says where
        that begins.

        `send` is called with the parameters, including the start to use. Raises FactError if even the shortest part has
        too many files.
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
                    detail = f"even {end - start} of data are in more files than the server reads in one query"
                    raise FactError(Reason.OVER_BUDGET, f"{detail} ({error.detail})") from error
            start = end - (end - start) / 2
            self._since[table] = start
            rows.statements += 1
