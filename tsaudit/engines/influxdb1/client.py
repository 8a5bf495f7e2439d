"""InfluxDB 1.x over HTTP: identifies the server, and streams responses of InfluxQL in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import HTTPError

from tsaudit.engines.connection import ConnectorError, FactError, Rows
from tsaudit.engines.influx import influxql, streaming
from tsaudit.engines.influx.influxql import Series
from tsaudit.model.profile import Reason
from tsaudit.net import causes
from tsaudit.net.pool import BoundedPool, UnfitAnswerError

_GRANT: Final = "grant READ on the database, see sql/influxdb1/grants.md"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the login."""

    url: str
    username: str | None
    """User name; None if the server requires no login."""
    password: str | None = field(repr=False)
    connect_timeout_s: float


class Client:
    """A pool of one HTTP connection, used by one thread. Raises ConnectorError if the server is not InfluxDB 1.x."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if address.username is not None:
            self._headers |= urllib3.make_headers(basic_auth=f"{address.username}:{address.password or ''}")
        self._pool = BoundedPool()
        try:
            self.version = self._ping()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection; the server aborts its current statement."""
        self._pool.clear()

    def abort(self) -> None:
        """Shut the connection down, from any thread; the server aborts the statement."""
        self._pool.abort()

    def whole(self, statement: str, timeout_s: float, rows: Rows, policy: str = "") -> Iterator[Series]:
        """The series of a response that is kept in memory, so that its size is limited. See `series`."""
        return self.series(statement, timeout_s, rows, streaming.MOST_BYTES, policy)

    def series(
        self, statement: str, timeout_s: float, rows: Rows, most: int | None = None, policy: str = ""
    ) -> Iterator[Series]:
        """The series of the response as they arrive. Raises FactError unless the response is complete and without
        error.

        `most`: maximum size in bytes; None for a response that is used as it arrives. `policy`: the retention policy
        for statements that name none; empty for the default one.
        """
        response = None
        try:
            with self._pool.until(timeout_s):
                response = self._post({"q": statement} | ({"rp": policy} if policy else {}), timeout_s)
                if response.status != 200:
                    raise influxql.refused(response, _GRANT)
                yield from influxql.read_series(response, rows, _GRANT, most)
        except TimeoutError as error:
            raise streaming.timed_out(timeout_s) from error
        except UnfitAnswerError as error:
            raise streaming.unfit(error) from error
        except (HTTPError, OSError) as error:
            raise FactError(Reason.UNREACHABLE, f"the connection broke ({causes.words(error)})") from error
        finally:
            if response is not None:
                # A connection with unread data is not reused: closing it makes the server stop.
                response.close()

    def _ping(self) -> str:
        try:
            with self._pool.until(self.address.connect_timeout_s):
                timeout, headers = self.address.connect_timeout_s, self._headers
                response = self._pool.request("GET", f"{self.address.url}/ping", headers=headers, timeout=timeout)
        except (HTTPError, OSError) as error:
            raise ConnectorError(f"{self.address.url} does not respond: {causes.words(error)}") from error
        if what := causes.what_it_is(response, "the user name or the password"):
            raise ConnectorError(f"{self.address.url} {what}")
        version = response.headers.get("X-Influxdb-Version")
        if version is None:
            raise ConnectorError(f"{self.address.url} responds, but not like InfluxDB (HTTP {response.status})")
        if not streaming.is_major(version, 1):
            raise ConnectorError(f"{self.address.url} is InfluxDB {version[:40]}; this engine is for 1.x")
        return version.removeprefix("v")[:40]

    def _post(self, form: Mapping[str, str], timeout_s: float) -> urllib3.BaseHTTPResponse:
        # The socket's own timeout must come after that of the pool.
        timeout = urllib3.Timeout(connect=min(self.address.connect_timeout_s, timeout_s), read=timeout_s + 1)
        return self._pool.request(
            "POST",
            f"{self.address.url}/query",
            body=urlencode({**form, **influxql.PARAMETERS}),
            headers=self._headers,
            timeout=timeout,
            preload_content=False,
        )
