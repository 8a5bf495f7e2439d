"""Calls Timestream's two services with boto3: credentials, endpoints, throttling, and the meaning of errors.

botocore prepares and signs the requests. A bounded pool sends them instead of its own connections, which read
responses of any length, with timeouts that restart with each packet.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import boto3
import botocore.session
import urllib3
from botocore import exceptions
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.discovery import EndpointDiscoveryRefreshFailed
from botocore.httpsession import get_cert_path
from botocore.parsers import ResponseParserError as ParserError
from botocore.utils import get_environ_proxies
from urllib3.exceptions import HTTPError, ReadTimeoutError

from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.model.figures import Reason
from tsaudit.net import http
from tsaudit.net.http import BoundedPool, UnfitAnswerError, through, whole
from tsaudit.net.watchdog import OutOfTimeError, within

_MOST_BYTES: Final = 8 << 20
"""Maximum size of a response in bytes: the services' own pages have at most one megabyte."""

_turn: ContextVar[tuple[Sender, float] | None] = ContextVar("_turn", default=None)
"""The sender to use in this thread, and the time limit in seconds."""


class Sender:
    """Connections to both services, for one thread at a time, except for `abort`."""

    def __init__(self, connect_timeout_s: float, certificates: str | None) -> None:
        self._connect_timeout_s = connect_timeout_s
        self._trust = {"ca_certs": certificates} if certificates else {}
        self._pools: dict[str, BoundedPool] = {}
        """Proxy to the connections through it; an empty string stands for no proxy."""

    @contextmanager
    def turn(self, seconds: float) -> Iterator[None]:
        """Send the calls inside the `with` block, in this thread, with this sender; stop them after so many seconds."""
        token = _turn.set((self, seconds))
        try:
            yield
        finally:
            _turn.reset(token)

    def abort(self) -> None:
        """Abort all calls by shutting their sockets down, from any thread."""
        for pool in list(self._pools.values()):
            pool.abort()

    def close(self) -> None:
        """Close the connections."""
        for pool in self._pools.values():
            pool.clear()

    def send(self, request: Any, seconds: float) -> AWSResponse:
        """The response to one request. Raises urllib3's errors, OSError, and OutOfTimeError; UnfitAnswerError if the
        response is too long.
        """
        pool = self._pool(request.url)
        timeout = urllib3.Timeout(connect=min(self._connect_timeout_s, seconds), read=seconds + 1)
        with pool.until(seconds):
            response = pool.urlopen(
                request.method,
                request.url,
                body=request.body,
                headers=dict(request.headers),
                timeout=timeout,
                preload_content=False,
            )
            # The bodies of errors have already been read.
            body = whole(response, _MOST_BYTES) if 200 <= response.status < 300 else response.data
        return AWSResponse(request.url, response.status, response.headers, _Body(body))

    def _pool(self, url: str) -> BoundedPool:
        proxies: Mapping[str, str] = get_environ_proxies(url)
        proxy = proxies.get(urlsplit(url).scheme) or proxies.get("all") or ""
        if proxy not in self._pools:
            self._pools[proxy] = through(proxy, **self._trust) if proxy else BoundedPool(**self._trust)
        return self._pools[proxy]


class _Body:
    """A response body in the form that botocore reads."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def stream(self) -> Iterator[bytes]:
        yield self._data


def attach(client: Any) -> None:
    """Make the client send its requests with the current sender."""
    client.meta.events.register("before-send", _send)


def _send(request: Any, **_: Any) -> AWSResponse | None:
    turn = _turn.get()
    return turn[0].send(request, turn[1]) if turn else None


_APART_S: Final = 0.25
"""Seconds between calls: an account may list and describe five times a second, and other programs may use it, too."""


class Pace:
    """The pace of calls, shared by all connections to one account. Thread-safe.

    Once the service has throttled a call, list and describe calls are spaced out to stay below the quota.
    """

    def __init__(self) -> None:
        self._next = 0.0
        self._slow = False
        self._lock = threading.Lock()

    def throttled(self) -> None:
        """Space out the calls from now on."""
        with self._lock:
            self._slow = True

    def wait(self, operation: str, deadline: float) -> bool:
        """Wait until the operation may be called; False at once if that is past the deadline. Queries have no quota."""
        if not operation.startswith(("List", "Describe")):
            return True
        with self._lock:
            if not self._slow:
                return True
            at = max(self._next, time.monotonic())
            if at >= deadline:
                return False
            self._next = at + _APART_S
        time.sleep(max(0.0, at - time.monotonic()))
        return True


_GRACE_S: Final = 0.5
_FIRST_WAIT_S: Final = 0.2
_LONGEST_WAIT_S: Final = 5.0
_MOST_FAILURES: Final = 3
"""Number of consecutive failures of the service tolerated per call."""
_THROTTLED: Final = frozenset({"ThrottlingException", "Throttling", "TooManyRequestsException"})
_UNKNOWN_CALLER: Final = frozenset(
    {
        "UnrecognizedClientException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "ExpiredTokenException",
        "RequestExpired",
        "IncompleteSignature",
        "IncompleteSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
    }
)
# Raised for credentials of `aws login`, which was added in botocore 1.41; older versions do not raise it.
_NOT_LOGGED_IN: Final[type[Exception]] = getattr(exceptions, "LoginError", exceptions.SSOError)
_NO_CREDENTIALS: Final = (
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.CredentialRetrievalError,
    exceptions.SSOError,
    exceptions.TokenRetrievalError,
    exceptions.InvalidConfigError,
    exceptions.ConfigParseError,
    exceptions.ProfileNotFound,
    _NOT_LOGGED_IN,
)
_UNREACHABLE: Final = (
    exceptions.HTTPClientError,
    exceptions.EndpointConnectionError,
    exceptions.ConnectTimeoutError,
    exceptions.ProxyConnectionError,
    EndpointDiscoveryRefreshFailed,
)
_GRANT: Final = "see sql/timestream/grants.md"
_SET_CREDENTIALS: Final = "set AWS_PROFILE or the AWS_ keys, or set the name of a profile as `username`"


@dataclass(frozen=True, slots=True)
class Account:
    """Where the services are, and which identity to use."""

    region: str
    profile: str | None
    """The profile in the AWS configuration; None leaves the choice to boto3, which checks the environment first."""
    query_endpoint: str | None
    """The endpoint of the query service; None: it is discovered, as the services require."""
    write_endpoint: str | None
    connect_timeout_s: float


class _Services:
    """What all connections to an account share: credentials, and a botocore client for each service."""

    def __init__(self, account: Account) -> None:
        self.account = account
        self.pace = Pace()
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()
        core = botocore.session.Session(profile=account.profile)
        self.certificates: str | None = (
            core.get_config_variable("ca_bundle") or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(True)
        )
        self.session = boto3.session.Session(botocore_session=core, region_name=account.region)

    def of(self, service: str) -> Any:
        """The service's client. It prepares, signs, and parses; a `Sender` sends the requests."""
        with self._lock:
            if service not in self._made:
                endpoint = self.account.query_endpoint if service == "timestream-query" else None
                endpoint = endpoint or (self.account.write_endpoint if service == "timestream-write" else None)
                # Calls are retried here, where the time limit of the statement is known.
                config = Config(retries={"total_max_attempts": 1})
                self._made[service] = self.session.client(service, endpoint_url=endpoint, config=config)
                attach(self._made[service])
            return self._made[service]


class Client:
    """Both services, for one thread at a time."""

    def __init__(self, account: Account, services: _Services | None = None) -> None:
        self._account = account
        try:
            self._services = services or _Services(account)
        except exceptions.BotoCoreError as error:
            raise ConnectorError(f"{_without_credentials(error)}; {_SET_CREDENTIALS}") from error
        self._sender = self._new_sender()

    def again(self) -> Client:
        """The same connections for another thread."""
        return Client(self._account, self._services)

    def abort(self) -> None:
        """Abort the current call, from any thread."""
        self._sender.abort()

    def close(self) -> None:
        """Close the connections."""
        self._sender.close()

    def greet(self) -> None:
        """Check whether the service responds at all, even if it refuses. Raises ConnectorError."""
        try:
            answer = self._sent("timestream-write", "ListDatabases", self._account.connect_timeout_s, {"MaxResults": 1})
        except exceptions.ClientError as error:
            if _code(error) in _UNKNOWN_CALLER:
                raise ConnectorError(_unknown(error)) from error
            if _code(error).isdigit():
                # Errors of the service itself have names.
                raise ConnectorError(f"the server {self._place} is not Timestream: HTTP {_code(error)}") from error
        except _NO_CREDENTIALS as error:
            raise ConnectorError(f"{_without_credentials(error)}; {_SET_CREDENTIALS}") from error
        except UnfitAnswerError as error:
            raise ConnectorError(f"the server {self._place} is not Timestream: {error}") from error
        except (exceptions.BotoCoreError, HTTPError, OSError) as error:
            said = http.cause_of(error) if isinstance(error, HTTPError | OSError) else _words(error)
            raise ConnectorError(f"Timestream {self._place} does not respond: {said}{self._hint()}") from error
        except Exception as error:
            # botocore raises arbitrary errors when it parses unexpected responses.
            raise ConnectorError(f"the server {self._place} is not Timestream: {_words(error)}") from error
        else:
            if "Databases" not in answer:
                raise ConnectorError(f"the server {self._place} is not Timestream: it lists no databases")

    @property
    def _place(self) -> str:
        return f"at {self._account.write_endpoint}" if self._account.write_endpoint else f"in {self._account.region}"

    def _hint(self) -> str:
        """A hint with the service's regions if this is none of them; empty if it is, or with an endpoint."""
        known = self._services.session.get_available_regions("timestream-write")
        if self._account.write_endpoint or self._account.region in known:
            return ""
        return f"; it is available in {', '.join(known)}"

    def call(self, service: str, operation: str, deadline: float, **parameters: Any) -> dict[str, Any]:
        """The response to one call, which is retried while the service throttles, and a few times on failures. Raises
        FactError.

        Returns by the deadline.
        """
        wait, failures = _FIRST_WAIT_S, 0
        throttled: exceptions.ClientError | None = None
        while True:
            if not self._services.pace.wait(operation, deadline):
                said = "the service throttles: Request rate limit exceeded"
                raise FactError(Reason.TIMED_OUT, said, cheaper_helps=False)
            left = max(deadline - time.monotonic(), 0.001)
            try:
                return self._sent(service, operation, left, parameters)
            except exceptions.ClientError as error:
                failures += _is_failure(error)
                if _code(error) in _THROTTLED:
                    self._services.pace.throttled()
                    throttled = error
                again = _code(error) in _THROTTLED or (_is_failure(error) and failures < _MOST_FAILURES)
                if not again or time.monotonic() + wait >= deadline:
                    raise _refused(error) from error
            except (exceptions.BotoCoreError, HTTPError, OSError) as error:
                failed = _failed(error, left)
                # The time ran out while the call waited for its turn.
                raise (_refused(throttled) if throttled and failed.reason is Reason.TIMED_OUT else failed) from error
            except ParserError as error:
                raise FactError(
                    Reason.FAILED, f"the response does not come from Timestream: {_words(error)}"
                ) from error
            time.sleep(wait)
            wait = min(2 * wait, _LONGEST_WAIT_S)

    def _sent(self, service: str, operation: str, seconds: float, parameters: dict[str, Any]) -> dict[str, Any]:
        """The response to a single attempt. Looking up credentials uses other connections, with a limit of its own."""
        sender = self._sender

        def send() -> dict[str, Any]:
            with sender.turn(seconds):
                answer: dict[str, Any] = self._services.of(service)._make_api_call(operation, parameters)
                return answer

        try:
            return within(seconds + _GRACE_S, send)
        except OutOfTimeError:
            # The abandoned thread may still be sending.
            sender.abort()
            self._sender = self._new_sender()
            raise

    def _new_sender(self) -> Sender:
        return Sender(self._account.connect_timeout_s, self._services.certificates)


def _code(error: exceptions.ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _is_failure(error: exceptions.ClientError) -> bool:
    """Whether the service failed, so that a retry may help."""
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)) >= 500


def _refused(error: exceptions.ClientError) -> FactError:
    code = _code(error)
    if code in _UNKNOWN_CALLER:
        return FactError(Reason.DENIED, _unknown(error))
    if code == "AccessDeniedException":
        return FactError(Reason.DENIED, _words(error), _GRANT)
    if code in _THROTTLED or "MaxQueryTCU" in str(error):
        return FactError(Reason.TIMED_OUT, f"the service throttles: {_words(error)}", cheaper_helps=False)
    return FactError(Reason.FAILED, _words(error))


def _failed(error: exceptions.BotoCoreError | HTTPError | OSError, timeout_s: float) -> FactError:
    if isinstance(error, UnfitAnswerError):
        return FactError(Reason.FAILED, str(error))
    if isinstance(error, TimeoutError | ReadTimeoutError):
        return FactError(Reason.TIMED_OUT, f"no response within {timeout_s:.3g} s, and no ID to cancel the query with")
    if isinstance(error, _NO_CREDENTIALS):
        return FactError(Reason.DENIED, _without_credentials(error), _SET_CREDENTIALS)
    if isinstance(error, HTTPError | OSError):
        return FactError(Reason.UNREACHABLE, http.cause_of(error))
    return FactError(Reason.UNREACHABLE if isinstance(error, _UNREACHABLE) else Reason.FAILED, _words(error))


def _unknown(error: exceptions.ClientError) -> str:
    return f"AWS does not accept the credentials: {_words(error)}"


def _without_credentials(error: exceptions.BotoCoreError) -> str:
    return f"no AWS credentials: {_words(error)}"


def _words(error: Exception) -> str:
    """The service's own message in one line."""
    text = error.response.get("Error", {}).get("Message") if isinstance(error, exceptions.ClientError) else str(error)
    return " ".join(str(text or error).split())[:300]
