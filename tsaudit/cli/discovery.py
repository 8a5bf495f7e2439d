"""Finds databases: files in a folder, and servers on a machine, with the databases on them."""

from __future__ import annotations

import dataclasses
import functools
import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

HERE: Final = "127.0.0.1"
_LARGEST_FOLDER: Final = 1000
_LOOK_S: Final = 2.0
"""Seconds to wait for whatever listens on a port."""
_LIST_S: Final = 5.0
"""Seconds that listing the databases of a server may take."""


@dataclass(frozen=True, slots=True)
class FoundTarget:
    """A database or server that can be audited."""

    name: str
    engine: str
    url: str
    variable: str = ""
    """The environment variable for a password or token; empty for none."""
    has_token: bool = False
    """The variable contains a token."""
    databases: tuple[str, ...] = ()
    """Those on the server that can be seen without a login; empty if none can."""


def databases(folder: Path, host: str | None) -> list[FoundTarget]:
    """Files in the folder and servers on this machine; with a `host`, only servers there. Names are unique."""
    found = [*_files(folder), *_servers(HERE)] if host is None else list(_servers(host))
    return unique(found)


def unique(found: Iterable[FoundTarget]) -> list[FoundTarget]:
    """The same in the same order, with names made unique."""
    named: dict[str, FoundTarget] = {}
    for one in found:
        name, number = one.name, 2
        while name in named:
            name, number = f"{one.name}-{number}", number + 1
        named[name] = renamed(one, name)
    return list(named.values())


def renamed(one: FoundTarget, name: str) -> FoundTarget:
    """The same with another name, also in its variable."""
    variable = variable_of(name, "TOKEN" if one.has_token else "PASSWORD") if one.variable else ""
    return dataclasses.replace(one, name=name, variable=variable)


def target_name(text: str) -> str:
    """`text` as a target's name; empty if nothing of it can be part of one."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:100]


def host_name(host: str | None) -> str:
    """The host as a name; empty for a number or this machine, which tell nobody what is on them."""
    try:
        ipaddress.ip_address((host or "").strip("[]").split("%")[0])
    except ValueError:
        return "" if (host or "localhost").lower().startswith("localhost") else target_name(host or "")
    return ""


def variable_of(name: str, what: str) -> str:
    """The environment variable of a target's secret."""
    return f"TSAUDIT_{re.sub(r'[^A-Z0-9]', '_', name.upper())}_{what}"


def _files(folder: Path) -> Iterator[FoundTarget]:
    """Database files in the folder, recognized by their first bytes."""
    from tsaudit.engines.registry import ENGINES

    try:
        paths = sorted(folder.iterdir())[:_LARGEST_FOLDER]
    except OSError:
        return  # Writing the file there will report the error.
    for path in paths:
        try:
            if not path.is_file():
                continue
            with path.open("rb") as file:
                head = file.read(16)
        except OSError:
            continue
        # The first one: an engine that extends another may have its files, and tsaudit's own are listed first.
        engine = next((one for one in ENGINES.values() if one.has_magic(head)), None)
        if engine is not None and path.name.isprintable():
            scheme = engine.example_url.partition(":")[0]
            yield FoundTarget(target_name(path.stem) or "database", engine.name, f"{scheme}:///{path.name}")


def _servers(host: str) -> Iterator[FoundTarget]:
    """Servers with default ports on the machine, recognized by their responses."""
    from tsaudit.engines.registry import ENGINES

    ask = functools.cache(lambda port, path: _answer(_address(host, port) + path) or ({}, ""))
    for engine in ENGINES.values():
        if (local := engine.local) is None:
            continue
        if local.is_native:
            said = _native(_address(host, local.port))
        else:
            headers, body = ask(local.port, local.path)
            said = headers.get(local.header, "") if local.header else body
        if local.answers.search(said):
            url, needs_token = _on(host, local.url), engine.signs_in_by_token
            listed = () if needs_token or engine.has_one_database else databases_of(engine.name, url)
            name = (target_name(listed[0]) if len(listed) == 1 else "") or host_name(host) or engine.icon or engine.name
            secret = "TOKEN" if needs_token else "PASSWORD" if engine.has_one_database else ""
            variable = variable_of(name, secret) if secret else ""
            yield FoundTarget(name, engine.name, url, variable, needs_token, listed)


def databases_of(engine: str, url: str) -> tuple[str, ...]:
    """The databases of the server that an audit would see without a login, by name; none if it needs one."""
    from tsaudit.collect import database_names
    from tsaudit.config.settings import Budget, Target
    from tsaudit.engines.connection import ConnectorError
    from tsaudit.engines.opening import with_connection

    budget = Budget(statement_timeout_s=_LIST_S, deadline_s=_LIST_S)
    target = Target(name="x", engine=engine, url=url, budget=budget)
    try:
        found = with_connection(target, lambda connection, end: database_names(target, connection, deadline=end))
    except ConnectorError:
        return ()
    return tuple(name for name in found if name.isprintable())


def _address(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _on(host: str, url: str) -> str:
    """The address of a server on this machine, as if it were on that one."""
    parts = urlsplit(url)
    before, at, _ = parts.netloc.rpartition("@")
    place = urlsplit(_address(host, parts.port or 0)).netloc
    return urlunsplit(parts._replace(netloc=f"{before}{at}{place}"))


def _native(address: str) -> str:
    """What listens on the port, as far as one can tell without HTTP."""
    from tsaudit.net.port_probe import what_listens

    parts = urlsplit(address)
    return what_listens(parts.hostname or HERE, parts.port or 0, _LOOK_S)


def _answer(url: str) -> tuple[Mapping[str, str], str] | None:
    """Headers and body of the response; None if there is none in time."""
    from tsaudit.net.watchdog import OutOfTimeError, within

    try:
        return within(_LOOK_S, lambda: _asked(url))
    except OutOfTimeError:
        return None


def _asked(url: str) -> tuple[Mapping[str, str], str] | None:
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(url, timeout=1) as answer:
            return answer.headers, answer.read(10_000).decode("utf-8", "replace")
    except (OSError, ValueError, HTTPException):
        return None
