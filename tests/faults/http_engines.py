"""The engines that are asked over HTTP, behind a proxy that answers some of the requests itself."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.collect.test_contract import _http
from tests.databases import Dataset, influxql, line, write_lines
from tests.engines.influxdb2.conversations import Answer as Recorded
from tests.engines.influxdb2.conversations import Conversation
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.timestream.double import AUDITOR, Timestream
from tests.faults import bad_http, proxy
from tests.faults.bad_http import Answer, FaultyHttp, Request, response
from tests.faults.engine import Scene, Settings, Stage, behind, unreachable
from tests.faults.expectations import Fault, Moment
from tests.faults.proxy import FaultyProxy
from tests.servers import ADMIN, Influxd, need

DATA: Final = Dataset([_http()])

_AWAY_S: Final = 0.7
_PAGES: Final = {401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 429: "Too Many Requests",
                 500: "Internal Server Error", 503: "Service Unavailable"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """How an engine says things over HTTP."""

    errors: Mapping[int, tuple[int, bytes]]
    """What a status stands for to the status and body in which the engine says so; else it is a proxy's page."""
    greets: Callable[[Request], bool]
    measures: Callable[[Request], bool]
    """Whether the request reads a measurement's data."""
    row: bytes
    """A piece of an answer that may follow itself for ever."""
    beginning: bytes = b""


def _says(**errors: object) -> bytes:
    return json.dumps(errors).encode()


_INFLUXDB1: Final = Dialect(
    errors={
        401: (401, _says(error="authorization failed")),
        403: (403, _says(error="error authorizing query: tsaudit not authorized to execute statement")),
        404: (404, b"404 page not found\n"),
        500: (500, _says(error="engine is closed")),
        503: (503, _says(error="timeout")),
    },
    greets=lambda request: request.path.startswith("/ping"),
    # What the server notes of itself is read before the databases.
    measures=lambda request: (
        "q=SHOW+SERIES" in request.text or ("q=SELECT" in request.text and "_internal" not in request.text)
    ),
    row=b'{"results":[{"statement_id":0,"series":[{"name":"databases","columns":["name"],"values":[["a"]]}],"partial":true}]}\n',
)
_INFLUXDB2: Final = Dialect(
    errors={
        401: (401, _says(code="unauthorized", message="unauthorized access")),
        403: (403, _says(code="forbidden", message="insufficient permissions")),
        404: (404, _says(code="not found", message="path not found")),
        429: (429, _says(code="too many requests", message="org 0b has exceeded limited_query plan limit")),
        500: (500, _says(code="internal error", message="An internal error has occurred - check server logs")),
        503: (503, _says(code="unavailable", message="service temporarily unavailable")),
    },
    greets=lambda request: request.path.startswith("/ping"),
    measures=lambda request: "SHOW+SERIES" in request.text or "SELECT" in request.text,
    beginning=b'{"buckets":[',
    row=b'{"id":"0a","orgID":"0b","name":"db","type":"user","retentionRules":[]},',
)
_INFLUXDB3: Final = Dialect(
    errors={
        401: (401, _says(error="the request was not authenticated")),
        403: (403, _says(error="the request was not authorized")),
        404: (404, _says(error="query error: database not found: shop")),
        500: (500, _says(error="External error: the object store failed")),
    },
    greets=lambda request: request.path.startswith("/ping"),
    measures=lambda request: "host" in request.text.partition("\r\n\r\n")[2] and "schema" not in request.text,
    row=b'{"database":"shop"}\n',
)


def _aws(kind: str, message: str) -> bytes:
    return json.dumps({"__type": f"com.amazonaws.timestream.v20181101#{kind}", "message": message}).encode()


_TIMESTREAM: Final = Dialect(
    errors={
        401: (400, _aws("UnrecognizedClientException", "The security token included in the request is invalid.")),
        403: (
            400,
            _aws("AccessDeniedException", "User: arn:aws:iam::1:user/a is not authorized to perform: timestream"),
        ),
        404: (404, _aws("ResourceNotFoundException", "The resource does not exist.")),
        429: (429, _aws("ThrottlingException", "Request rate limit exceeded")),
        500: (500, _aws("InternalServerException", "The service failed.")),
    },
    greets=lambda request: '{"MaxResults": 1}' in request.text,
    measures=lambda request: "SELECT" in request.text and "http" in request.text.partition("QueryString")[2],
    beginning=b'{"Databases":[',
    row=b'{"Arn":"arn:aws:timestream:eu-central-1:1:database/a","DatabaseName":"a"},',
)


@dataclass(slots=True)
class HttpEngine:
    """A server that is asked over HTTP."""

    name: str
    upstream: tuple[str, int]
    dialect: Dialect
    settings: Callable[[str, int], Settings]
    close: Callable[[], None]
    environment: Mapping[str, str] = field(default_factory=dict)
    restart: Callable[[], None] | None = None
    """Ends the real server and starts it again; None: only the proxy plays it."""
    lose_rights: Callable[[], tuple[Settings, Callable[[], None]]] | None = None
    """A login of its own, and what takes its rights away; None: the proxy answers 401 from then on."""

    def healthy(self) -> Stage:
        return behind(lambda: FaultyProxy(self.upstream), self.settings)

    def stage(self, fault: Fault) -> Stage | str:
        if found := unreachable(fault, self.settings):
            return found
        if fault.name == "restart":
            return behind(self._restarting, self.settings)
        if fault.name == "rights" and self.lose_rights:
            return self._without_rights
        if fault.name == "redirect":
            return self._redirected(fault)
        answer = self._answer(fault.name)
        return behind(lambda: FaultyHttp(self.upstream, answer, self._is_bad(fault)), self.settings)

    def _is_bad(self, fault: Fault) -> Callable[[Request], bool]:
        if fault.moment is Moment.CONNECT:
            return lambda request: True
        if fault.moment is Moment.LIST:
            return lambda request: not self.dialect.greets(request)
        if fault.name != "rights":
            return self.dialect.measures
        begun = threading.Event()

        def from_then_on(request: Request) -> bool:
            if self.dialect.measures(request):
                begun.set()
            return begun.is_set() and not self.dialect.greets(request)

        return from_then_on

    def _answer(self, name: str) -> Answer:
        if name.isdigit() or name == "rights":
            return self._refusal(401 if name == "rights" else int(name))
        own: dict[str, Answer] = {
            "empty": bad_http.always(response(200, b"")),
            "null": bad_http.always(response(200, b"null")),
            "shape": bad_http.always(response(200, _says(surprise=[1, {"deep": None}]))),
            "endless": bad_http.endless(self.dialect.beginning, self.dialect.row),
            "long-line": bad_http.endless(b'{"results":"', b"x"),
        }
        common: dict[str, Answer] = {
            "html": bad_http.html,
            "closed": bad_http.closed,
            "cut": bad_http.cut,
            "drip-head": bad_http.dripping_head,
            "drip-body": bad_http.dripping_body,
            "drip-error": bad_http.dripping_error,
            "silence": bad_http.silent,
            "stall": bad_http.stalled,
            "bomb": bad_http.bomb,
            "wrong-server": bad_http.wrong_server,
        }
        return (own | common)[name]

    def _refusal(self, code: int) -> Answer:
        if code in self.dialect.errors:
            status, body = self.dialect.errors[code]
            return bad_http.status(status, body)
        page = f"<html><body><h1>{code} {_PAGES[code]}</h1><hr>nginx</body></html>".encode()
        return bad_http.always(response(code, page, "text/html"))

    def _redirected(self, fault: Fault) -> Stage:
        """To another host, which must never hear of it: what is sent there has the password in it."""

        @contextmanager
        def stage(_: Path) -> Iterator[Scene]:
            with (
                closing(FaultyHttp(self.upstream, bad_http.html, lambda _: True)) as trap,
                closing(FaultyHttp(self.upstream, bad_http.redirect(trap.port), self._is_bad(fault))) as faulty,
            ):
                yield Scene(
                    self.settings("127.0.0.1", faulty.port),
                    check=lambda: f"the redirect was followed: {trap.asked}" if trap.asked else None,
                )

        return stage

    def _restarting(self) -> FaultyHttp:
        """Hangs up on everybody for a while."""
        away_until = 0.0

        def go_away() -> None:
            nonlocal away_until
            if self.restart:
                self.restart()
            away_until = time.monotonic() + _AWAY_S

        def is_away(request: Request) -> bool:
            return time.monotonic() < away_until if faulty.struck.is_set() else self.dialect.measures(request)

        faulty = FaultyHttp(self.upstream, lambda *_: proxy.reset(iter(())), is_away, action=go_away)
        return faulty

    @contextmanager
    def _without_rights(self, folder: Path) -> Iterator[Scene]:
        assert self.lose_rights
        login, lose = self.lose_rights()

        def begins(request: Request) -> bool:
            return not faulty.struck.is_set() and self.dialect.measures(request)

        faulty = FaultyHttp(self.upstream, lambda request, true: true(), begins, action=lose)
        with behind(lambda: faulty, self.settings, **login)(folder) as scene:
            yield scene


# --- The servers ---------------------------------------------------------------------------------------------------


def influxdb1() -> HttpEngine:
    """A real server that asks for a login."""
    need("influxd", "influxdb")
    folder = Path(tempfile.mkdtemp(prefix="tsaudit-influxd-"))
    server = Influxd(folder, auth=True)
    server.start()
    name, secret = ADMIN
    influxql(server.url, f"CREATE USER {name} WITH PASSWORD '{secret}' WITH ALL PRIVILEGES")
    login = {"u": name, "p": secret}
    influxql(server.url, "CREATE DATABASE shop", **login)
    for table in DATA.tables:
        write_lines(server.url, "shop", (text for row in table.rows if (text := line(table, row))), **login)

    def with_user(user: str) -> Settings:
        influxql(server.url, f"CREATE USER {user} WITH PASSWORD 'reads-only-9'", **login)
        influxql(server.url, f"GRANT READ ON shop TO {user}", **login)
        when_there(lambda: influxql(server.url, f"GRANT READ ON _internal TO {user}", **login))
        return {"username": user, "password": "reads-only-9"}

    reader, numbers = with_user("reader"), itertools.count()

    def rotated() -> tuple[Settings, Callable[[], None]]:
        user = f"rotated{next(numbers)}"
        found = with_user(user)
        return found, lambda: influxql(server.url, f"SET PASSWORD FOR {user} = 'another-1'", **login)

    def restart() -> None:
        server.kill()
        threading.Thread(target=server.start).start()

    def close() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    return HttpEngine(
        "influxdb1",
        ("127.0.0.1", server.port),
        _INFLUXDB1,
        lambda host, port: {"url": f"http://{host}:{port}", "databases": ["shop"], **reader},
        close,
        restart=restart,
        lose_rights=rotated,
    )


def when_there(do: Callable[[], object]) -> None:
    """The server makes its own database a second after it has started."""
    deadline = time.monotonic() + 10
    while True:
        try:
            do()
        except AssertionError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        else:
            return


class _Recorded(Conversation):
    """What a real InfluxDB 2.x said as of another instant of the day than the one that an audit of a past day is of."""

    def answer(self, method: str, path: str, headers: object, body: bytes) -> Recorded:
        for asked, recorded in ((b"1775001600", b"1774936800"), (b"1772409600", b"1772344800")):
            body = body.replace(asked, recorded)
        return super().answer(method, path, headers, body)


def influxdb2() -> HttpEngine:
    """The recording of a real server."""
    server = _Recorded("tests/collect/test_contract.py::test_profile_of_a_known_data_set[influxdb2]")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    bucket = server.write(DATA)

    def close() -> None:
        server.shutdown()
        server.server_close()

    return HttpEngine(
        "influxdb2",
        ("127.0.0.1", server.server_port),
        _INFLUXDB2,
        lambda host, port: {"url": f"http://{host}:{port}", "databases": [bucket], **server.login},
        close,
    )


def influxdb3() -> HttpEngine:
    """The stand-in, asked over HTTP as behind a proxy that lets no gRPC through."""
    server = InfluxDB3(with_flight=False)
    name = server.write(DATA)
    return HttpEngine(
        "influxdb3",
        ("127.0.0.1", int(server.url.rpartition(":")[2])),
        _INFLUXDB3,
        lambda host, port: {"url": f"http://{host}:{port}", "databases": [name], **server.login},
        server.stop,
    )


def timestream() -> HttpEngine:
    """The stand-in for an account."""
    server = Timestream()
    name = server.write(DATA)
    return HttpEngine(
        "timestream",
        ("127.0.0.1", urlsplit(server.address).port or 0),
        _TIMESTREAM,
        lambda host, port: {"url": f"timestream://eu-central-1?endpoint=http://{host}:{port}", "databases": [name]},
        server.stop,
        environment={
            "AWS_ACCESS_KEY_ID": AUDITOR,
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
        },
    )
