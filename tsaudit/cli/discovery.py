"""Finds databases, which are files in a folder or on servers of a machine, and how tsaudit would read their tables: the
roles of columns that it had to guess, as YAML to confirm and paste.
"""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

from tsaudit.cli import screen
from tsaudit.text import listed, many, printable

if TYPE_CHECKING:
    from tsaudit.collect.probing import Probed
    from tsaudit.config.settings import Target
    from tsaudit.engines.connection import Connection
    from tsaudit.engines.engine import Engine
    from tsaudit.model.figures import Subject
    from tsaudit.model.profile import Measurement, Profile
    from tsaudit.net.watchdog import Deadline

HERE: Final = "127.0.0.1"
_LARGEST_FOLDER: Final = 1000
_ANSWER_S: Final = 2.0
"""Time limit for an answer from whatever listens on a port, in seconds."""
LOOK_S: Final = 5.0
"""Time limit for reading the databases of a server, or the tables of a database, in seconds."""


@dataclass(frozen=True, slots=True)
class FoundTarget:
    """A database or server that can be audited."""

    name: str
    engine: str
    url: str
    variable: str = ""
    """The environment variable for a password or token; empty if none is needed."""
    has_token: bool = False
    """Whether the variable contains a token instead of a password."""
    databases: tuple[str, ...] = ()
    """The server's databases that can be listed without a login; empty if none can."""
    password: str = field(default="", repr=False)
    """The value for the variable, if an address contained it; never written to the file."""
    columns: tuple[str, ...] = ()
    """Entries for `columns:` with the roles that were guessed."""
    problem: str = ""
    """Why connecting to it failed just now, in one line; empty if it worked, or was not tried."""


def databases(folder: Path) -> list[FoundTarget]:
    """Database files in the folder, and servers on this machine on their usual ports. Names are unique."""
    return unique([*_files(folder), *_servers()])


def unique(found: Iterable[FoundTarget], taken: Collection[str] = ()) -> list[FoundTarget]:
    """The same targets in the same order, with names made unique and different from those in `taken`."""
    named: dict[str, FoundTarget] = {}
    for one in found:
        name, number = one.name, 2
        while name in named or name in taken:
            name, number = f"{one.name}-{number}", number + 1
        # The variable is named after the target.
        variable = variable_of(name, "TOKEN" if one.has_token else "PASSWORD") if one.variable else ""
        named[name] = dataclasses.replace(one, name=name, variable=variable)
    return list(named.values())


def engine_at(text: str, folder: Path) -> tuple[str, str]:
    """The engine and the address of the database that `text` names in any usual way: a file, an address with or without
    its driver, or `host:port`. File paths are relative to `folder`. Raises LookupError, one line, if the engine is not
    known.

    If several engines use such addresses, for example web servers, the server is asked which one it is.
    """
    from tsaudit.engines.registry import ENGINES

    if "://" not in text and Path(text).is_file():
        root = folder.resolve()
        path = Path(text).parent.resolve() / Path(text).name  # without `..`, but with the name of a link
        if found := _file(path):
            place = path.relative_to(root) if path.is_relative_to(root) else path
            return found.engine, f"{_scheme(found.url)}:///{place}"
        raise LookupError(f"{text} is not a DuckDB or SQLite file")
    if "://" not in text and (text[:1] in "./~" or Path(text).suffix in _OF_FILES):
        raise LookupError(f"there is no file {Path(text).absolute()}")
    scheme, separator, rest = text.partition("://")
    by_scheme: dict[str, list[Engine]] = {}
    for engine in ENGINES.values():
        by_scheme.setdefault(_scheme(engine.example_url), []).append(engine)
    own: list[Engine] | None = None
    if separator:
        scheme = scheme.lower()
        for engine in ENGINES.values():
            scheme = engine.spelled(f"{scheme}://").partition("://")[0]
        own = by_scheme.get("http" if scheme == "https" else scheme.partition("+")[0])
        if own is None:
            known = listed(sorted(by_scheme))
            raise LookupError(f"no engine has addresses that begin with {scheme}://, only with {known}")
        if len(own) == 1:
            example = own[0].example_url.partition("://")[0]
            # If the engine's example address has a driver, the address must have the same one.
            return own[0].name, f"{example if '+' in example else scheme}://{rest}"
    host, port = host_and_port(f"//{rest if separator else text}")
    for engine, url in _recognized(host, port, scheme if separator else "http"):
        if own is None or engine in own:
            # The database that every server has is hardly the one to audit.
            usual = urlunsplit(urlsplit(url)._replace(path="")) if engine.has_one_database else url
            return engine.name, _as_written(usual, text) if own is None else text
    at = f"{host}:{port}" if port else host
    raise LookupError(f"nothing that tsaudit knows responds at {at}; name the engine with `--engine`")


_OF_FILES: Final = frozenset({".db", ".db3", ".ddb", ".duckdb", ".sqlite", ".sqlite3"})


def host_and_port(text: str) -> tuple[str, int | None]:
    """Host and port of `//host:port`, with or without a path. Raises LookupError if there is no host, or the port is
    not a number.
    """
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host:
        shown = text.removeprefix("//").rpartition("@")[2]
        raise LookupError(f"{shown} is neither an existing file nor an address such as db7:8086")
    return host, port


def host_name(host: str | None) -> str:
    """The host as a name for a target; empty for an IP address or this machine, which say nothing about the
    database.
    """
    try:
        ipaddress.ip_address((host or "").strip("[]").split("%")[0])
    except ValueError:
        return "" if (host or "localhost").lower().startswith("localhost") else as_name(host or "")
    return ""


def as_name(text: str) -> str:
    """The text as a target name: characters that a name cannot contain become `-`. Empty if no character is valid."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:100]


def variable_of(name: str, what: str) -> str:
    """The name of the environment variable for a target's secret."""
    return f"TSAUDIT_{re.sub(r'[^A-Z0-9]', '_', name.upper())}_{what}"


def _files(folder: Path) -> Iterator[FoundTarget]:
    """Database files in the folder, recognized by their first bytes."""
    try:
        paths = sorted(folder.iterdir())[:_LARGEST_FOLDER]
    except OSError:
        return  # Writing the configuration to this folder will report the error.
    for path in paths:
        if found := _file(path):
            yield dataclasses.replace(found, url=f"{_scheme(found.url)}:///{path.name}")


def _file(path: Path) -> FoundTarget | None:
    """The database in a file; None if the file is not a database."""
    from tsaudit.engines.registry import ENGINES

    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            head = file.read(16)
    except OSError:
        return None
    # The first engine that matches: an engine of another package may extend one of tsaudit's, which are listed first.
    engine = next((one for one in ENGINES.values() if one.has_magic(head)), None)
    if engine is None or not path.name.isprintable():
        return None
    return FoundTarget(as_name(path.stem) or "database", engine.name, f"{_scheme(engine.example_url)}:///{path}")


def _scheme(url: str) -> str:
    return url.partition("://")[0].partition("+")[0]


def _servers() -> Iterator[FoundTarget]:
    """Servers on this machine, on their usual ports, recognized by their responses."""
    for engine, url in _recognized(HERE, None):
        needs_token = engine.signs_in_by_token
        there = () if needs_token or engine.has_one_database else databases_of(engine.name, url)
        name = (as_name(there[0]) if len(there) == 1 else "") or engine.icon or engine.name
        secret = "TOKEN" if needs_token else "PASSWORD" if engine.has_one_database else ""
        variable = variable_of(name, secret) if secret else ""
        yield FoundTarget(name, engine.name, url, variable, needs_token, there)


def _recognized(host: str, port: int | None, scheme: str = "http") -> Iterator[tuple[Engine, str]]:
    """The engines that respond, each with the address of its server. `port`: None for each engine's usual port."""
    from tsaudit.engines.registry import ENGINES

    ask = functools.cache(lambda address: _answer(address) or ({}, ""))
    for engine in ENGINES.values():
        if (local := engine.local) is None:
            continue
        address = _address(host, port or local.port)
        if local.is_native:
            said = _native(address)
        else:
            headers, body = ask(address.replace("http", scheme, 1) + local.path)
            said = headers.get(local.header, "") if local.header else body
        if local.answers.search(said):
            # A server may use another port for SQL statements.
            yield engine, _on(host, local.url, port if urlsplit(local.url).port == local.port else None)


def databases_of(engine: str, url: str) -> tuple[str, ...]:
    """The server's databases that an audit would read without a login, by name; empty if a login is needed."""
    from tsaudit.collect.probing import database_names
    from tsaudit.config.settings import Budget, Target
    from tsaudit.engines.connection import ConnectorError
    from tsaudit.engines.opening import with_connection

    budget = Budget(statement_timeout_s=LOOK_S, deadline_s=LOOK_S)
    target = Target(name="x", engine=engine, url=url, budget=budget)
    try:
        found = with_connection(target, lambda connection, end: database_names(target, connection, deadline=end))
    except ConnectorError:
        return ()
    return tuple(name for name in found if name.isprintable())


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _on(host: str, url: str, port: int | None) -> str:
    """The server's address with the host replaced. `port`: None to keep the port."""
    parts = urlsplit(url)
    before, at, _ = parts.netloc.rpartition("@")
    place = urlsplit(_address(host, port or parts.port or 0)).netloc
    return urlunsplit(parts._replace(netloc=f"{before}{at}{place}"))


def _as_written(url: str, text: str) -> str:
    """The address with the login, the database, and the options of the text, if there are any."""
    parts, given = urlsplit(url), urlsplit(f"//{text}")
    login, at, _ = given.netloc.rpartition("@")
    return urlunsplit(
        parts._replace(
            netloc=f"{login}@{parts.netloc.rpartition('@')[2]}" if at else parts.netloc,
            path=given.path.rstrip("/") or parts.path,
            query=given.query or parts.query,
        )
    )


def _native(address: str) -> str:
    """What listens on the port, as far as it can be recognized without HTTP; empty if it is not recognized."""
    from tsaudit.net.port_probe import what_listens

    parts = urlsplit(address)
    return what_listens(parts.hostname or HERE, parts.port or 0, _ANSWER_S)


def _answer(url: str) -> tuple[Mapping[str, str], str] | None:
    """Headers and body of the response; None if there is no response in time."""
    from tsaudit.net.http import BoundedPool

    pool = BoundedPool()
    try:
        with pool.until(_ANSWER_S):
            answer = pool.request("GET", url, timeout=_ANSWER_S)
    except Exception:
        return None  # whatever listens there, it is not what is looked for
    finally:
        pool.clear()
    return (answer.headers, answer.data.decode("utf-8", "replace")) if answer.status < 300 else None


MOST_TABLES: Final = 50
"""Most tables of one target whose kind and columns are shown."""
_MOST_OF_COMMENT: Final = 300
"""Maximum number of characters in the comment after the roles of a table."""


@dataclass(frozen=True, slots=True)
class GuessedRoles:
    """The roles that somebody who knows the tables has to confirm."""

    entries: tuple[str, ...]
    """Entries below the target's `columns:`: one line for each table, with a comment about what is in doubt."""
    roles: int
    tables: int
    """Those with such roles."""
    without_rows: int
    """Number of tables that were checked, and of which no row was read."""
    unseen: int
    """Number of tables beyond those that are checked."""

    def __str__(self) -> str:
        """`3 roles guessed in 2 tables; 1 table not classified; 5 tables empty or not read; 9 tables not checked`."""
        roles = f"{many(self.roles, 'role')} guessed in {many(self.tables, 'table')}"
        others = {
            "not classified": len(self.entries) - self.tables,
            "empty or not read": self.without_rows,
            "not checked": self.unseen,
        }
        return (roles if self.roles else "no role guessed") + "".join(
            f"; {many(count, 'table')} {what}" for what, count in others.items() if count
        )


def probed(target: Target, before: Profile | None = None) -> Probed:
    """What exists on the target. Raises ConnectorError if it cannot be reached. `before`: its newest profile."""
    from tsaudit.collect.probing import probe
    from tsaudit.engines.opening import with_connection

    def look(connection: Connection, end: Deadline) -> Probed:
        return probe(target, connection, deadline=end, most_tables=MOST_TABLES, previous=before)

    with screen.progress() as watched:
        watched.say(target.name, f"looking at what can be measured on {target.engine}")
        return with_connection(target, look)


def guessed(found: Probed) -> GuessedRoles:
    """The tables whose tags were guessed, or that could not be classified."""
    from tsaudit.text.table_roles import guessed_tags

    read = [(table, guessed_tags(table)) for table in found.tables if table.kind is not None]
    asked = [(table, tags) for table, tags in read if is_in_doubt(table) and (tags or _at(table) not in found.tiny)]
    roles = sum(len(tags) for _, tags in read)
    tables = sum(bool(tags) for _, tags in read)
    entries = tuple(starmap(_entry, asked))
    return GuessedRoles(entries, roles, tables, len(found.tables) - len(read), found.others)


def _at(table: Measurement) -> Subject:
    from tsaudit.model.figures import Subject

    return Subject(table.database, table.name)


def _entry(table: Measurement, tags: list[str]) -> str:
    from tsaudit.model.figures import CLASSIFIED
    from tsaudit.text.table_roles import override

    kinds = listed(sorted(CLASSIFIED), len(CLASSIFIED), last="or")
    doubt = f"guessed: {', '.join(tags)}" if tags else f"what are its rows? set `kind` to {kinds}"
    return f"{override(table)}  # {printable(doubt, _MOST_OF_COMMENT)}"


def is_in_doubt(table: Measurement) -> bool:
    """Whether somebody who knows the table has to confirm its roles, or set the kind that its rows do not show."""
    from tsaudit.model.figures import CLASSIFIED
    from tsaudit.text.table_roles import CONFIGURED, guessed_tags

    is_unclassified = table.kind is not None and table.kind not in CLASSIFIED and table.kind_reason != CONFIGURED
    return is_unclassified or bool(guessed_tags(table))
