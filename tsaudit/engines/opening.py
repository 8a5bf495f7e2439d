"""Opens connections to targets; no other module does. An engine's query files are checked before their use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from tsaudit import plugins, secrets
from tsaudit.engines import queries
from tsaudit.engines.connection import Access, Connection, ConnectorError, FactError
from tsaudit.engines.engine import Engine
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS, OfTarget, names_of
from tsaudit.net import addresses
from tsaudit.net.watchdog import Deadline, OutOfTimeError, within
from tsaudit.text import nearest

if TYPE_CHECKING:
    from jinja2 import Environment

    from tsaudit.config.settings import Target


T = TypeVar("T")

_CONNECT_S: Final = 10.0
"""Time limit of one step of connecting, in seconds."""
_OPEN_S: Final = 30.0
"""Time limit of all steps together, in seconds: some engines need several steps, and some can connect in two ways."""
_CLOSE_S: Final = 2.0
_LAST_RESORT_S: Final = 7.0
"""Seconds to wait after the deadline. Normally, statements are stopped earlier, by the connection or by its caller."""


def open_connection(target: Target, deadline: Deadline | None = None) -> AbstractContextManager[Connection]:
    """A connection to the target, closed on leaving the context. Raises ConnectorError, which says why it could not be
    opened.

    DNS lookup, TLS, login, and the version query have a wall-clock limit and end by the `deadline`; None for the
    budget's deadline.
    """
    if target.unset:
        raise ConnectorError(target.unset)
    url, password = target.url.get_secret_value(), target.password.get_secret_value() if target.password else None
    secrets.remember(*addresses.secrets_in(url, user_is_token=ENGINES[target.engine].signs_in_by_token))
    secrets.remember_login(target.username, password)
    if addresses.is_ambiguous(url):
        raise ConnectorError(f"the address {addresses.AMBIGUOUS}{addresses.TARGET_HINT}")
    timeout_s = min(_CONNECT_S, target.budget.statement_timeout_s, target.budget.deadline_s)
    engine = _usable(target.engine)
    access = Access(engine.spelled(url), target.username, password, tuple(target.databases), timeout_s)
    try:
        with of_package(target.engine):
            opening = engine.connect(access)
    except ModuleNotFoundError as error:
        raise missing_driver(target.engine, engine.extra, error.name) from error
    address = addresses.read(url)
    place = address.hosts if address else ""
    return _opened(opening, deadline or Deadline(target.budget.deadline_s), place)


def log_in(connection: Connection, target: Target) -> None:
    """Make sure that the server accepts the login, by one query if connecting did not. Raises ConnectorError.

    An audit needs no such query: its own first one is the same.
    """
    if not ENGINES[target.engine].connects_without_login:
        return
    timeout_s = min(_CONNECT_S, target.budget.statement_timeout_s, target.budget.deadline_s)
    address = addresses.read(target.url.get_secret_value())
    place = address.hosts if address else ""
    try:
        for _ in connection.query("databases", timeout_s, OfTarget()):
            pass
    except FactError as error:
        raise ConnectorError(_placed(place, error.detail)) from error


@contextmanager
def _opened(opening: AbstractContextManager[Connection], deadline: Deadline, place: str) -> Iterator[Connection]:
    """`place`: the hosts of the address, for errors that do not name one; empty for a file, which errors name."""
    limit = min(_OPEN_S, max(deadline.left(), 0.0))
    try:
        # Neither drivers in C nor DNS lookups can be interrupted.
        connection = within(limit, opening.__enter__, too_late=lambda _: opening.__exit__(None, None, None))
        # The server's name for itself appears in profiles and reports. It may repeat text that it was sent, so it is
        # masked.
        connection.server_version = secrets.mask(connection.server_version)
    except OutOfTimeError as error:
        why = (
            "the server does not respond" if limit == _OPEN_S else "raise budget.deadline_s if the server is just slow"
        )
        raise ConnectorError(_placed(place, f"no connection within {limit:.3g} s: {why}")) from error
    except ConnectorError as error:
        # The error's own cause, or none: that of an unreadable address may quote the password.
        raise ConnectorError(_placed(place, str(error))) from error.__cause__
    except Exception as error:
        # Drivers assume a valid greeting from the server, and fail in various ways on other responses.
        said = next(iter(str(error).splitlines()), "")[:200]
        detail = f"{type(error).__name__}: {said}" if said else type(error).__name__
        raise ConnectorError(_placed(place, f"tsaudit does not understand the server's greeting ({detail})")) from error
    try:
        yield connection
    finally:
        # Data already read stays valid, however the connection ends.
        with suppress(Exception):
            within(_CLOSE_S, lambda: opening.__exit__(None, None, None), give_up=connection.abort)


def _placed(place: str, text: str) -> str:
    """The error with the host that it is about, unless it names an address itself, or there is no host."""
    return f"{place}: {text}" if place and place not in text and "://" not in text else text


def with_connection(target: Target, work: Callable[[Connection, Deadline], T]) -> T:
    """The result of `work`, given a connection and the deadline of the target's budget, which starts now.

    Ends at most a few seconds after the deadline, whatever the server and its driver do: `work` is left running in its
    thread if necessary, which raises ConnectorError. Also raises ConnectorError if connecting fails, and any error of
    `work`.
    """
    deadline = Deadline(target.budget.deadline_s)
    opened: list[Connection] = []

    def whole() -> T:
        with open_connection(target, deadline) as connection:
            opened.append(connection)
            return work(connection, deadline)

    def give_up() -> None:
        deadline.end_now()
        for connection in opened:
            connection.abort()

    limit = target.budget.deadline_s + _LAST_RESORT_S
    try:
        return within(limit, whole, give_up=give_up)
    except OutOfTimeError as error:
        raise ConnectorError(
            f"the audit did not end within {limit:g} s: the driver is waiting for the server and cannot be interrupted"
        ) from error


def _usable(name: str) -> Engine:
    engine = ENGINES[name]
    if engine.broken:
        raise ConnectorError(engine.broken)
    # Tests make sure that tsaudit's own query files are valid, so only those of other packages are checked.
    if engine.package and (problem := next(problems(engine), "")):
        raise ConnectorError(f"the {name} engine of {engine.package} cannot be used: {problem}")
    return engine


@contextmanager
def of_package(engine: str) -> Iterator[None]:
    """Converts any error raised by another package's code to a ConnectorError that names the package."""
    try:
        yield
    except (Exception, SystemExit) as error:
        package = ENGINES[engine].package
        if not package or isinstance(error, ConnectorError):
            raise
        raise ConnectorError(f"the {engine} engine of {package} cannot be used: {plugins.why(error)}") from error


def missing_driver(engine: str, extra: str | None, module: str | None = None) -> ConnectorError:
    """The error for a missing driver of the engine."""
    wanted = f"pip install 'tsaudit[{extra}]'" if extra else f"pip install --upgrade tsaudit (missing: {module})"
    return ConnectorError(f"the {engine} engine needs its driver: {wanted}")


def problems(engine: Engine) -> Iterator[str]:
    """A line for each query file that is not a valid template, and for each name in it that has no value."""
    for fact in queries.query_files(engine.name):
        offered = names_of(FACTS[fact].given).keys() | engine.parameters.keys()
        for path in queries.files_by_language(engine.name, fact).values():
            yield from _problems(engine.name, fact, path, sorted(offered))


def _problems(engine: str, fact: str, path: Path, offered: list[str]) -> Iterator[str]:
    from jinja2 import TemplateError

    file = f"{path.parent.name}/{path.name}"
    try:
        used = names_in(engine, path)
    except TemplateError as error:
        yield f"{file} is not a valid template: {str(error).splitlines()[0]}"
        return
    except queries.QueryFileError as error:
        yield str(error)
        return
    for name in sorted(used - set(offered)):
        hint = nearest(name, offered) or f"; they get {', '.join(offered) or 'nothing'}"
        yield f"{file} uses `{name}`, which queries for {fact} do not get{hint}"


def names_in(engine: str, path: Path) -> frozenset[str]:
    """The variables that a query file and its includes expect. Raises jinja2.TemplateError."""
    environment = queries.environment(engine, path.suffix[1:])
    return _names(environment, queries.source(path))


def _names(environment: Environment, source: str) -> frozenset[str]:
    from jinja2 import meta, nodes

    assert environment.loader is not None
    template = environment.parse(source)
    found = meta.find_undeclared_variables(template)
    # An included file also sees the variables set by the including file.
    own = {name.name for name in template.find_all(nodes.Name) if name.ctx == "store"}
    for included in meta.find_referenced_templates(template):
        if included is not None:
            found |= _names(environment, environment.loader.get_source(environment, included)[0]) - own
    return frozenset(found)
