"""Makes connections of Airflow available as `${NAME}` in tsaudit.yaml."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from airflow.sdk.bases.hook import BaseHook
from airflow.sdk.exceptions import AirflowFailException

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from tsaudit.engines.engine import Engine

_SCHEMES: Final = {"postgres": "postgresql", "mongo": "mongodb"}
"""Type of a connection to the scheme of its address, if they differ."""

_WEB: Final = frozenset({"http", "https", "influxdb"})
"""Types of connections whose `schema` is the scheme of a web address."""

_CHOOSE: Final = 'choose an engine under "Extra Fields", which is `engine` in the extra'


class AuditHook(BaseHook):
    """Gives tsaudit the connections that it may use.

    The connection `shop-db` becomes `${SHOP_DB_URL}`, `${SHOP_DB_HOST}`, `${SHOP_DB_PORT}`, `${SHOP_DB_LOGIN}`,
    `${SHOP_DB_PASSWORD}`, `${SHOP_DB_SCHEMA}`, and one for each entry of its extra that is text or a number, such as
    `${SHOP_DB_TOKEN}`: those of them that the connection has. It may be of any type; tsaudit's own has a form with
    the engine.
    """

    conn_name_attr = "connections"
    conn_type = "tsaudit"
    hook_name = "tsaudit"

    def __init__(self, connections: Sequence[str] = ()) -> None:
        """`connections`: the IDs of the connections that tsaudit.yaml refers to, or a single ID."""
        super().__init__()
        self.connections = (connections,) if isinstance(connections, str) else tuple(connections)

    def variables(self) -> dict[str, str]:
        """The values by name of the variable. Raises AirflowException if a connection does not exist, and
        AirflowFailException if one has no address, or if two give the same name.
        """
        found: dict[str, str] = {}
        for connection_id in self.connections:
            connection = self.get_connection(connection_id)
            if _lacks_engine(connection):
                engine = connection.extra_dejson.get("engine")
                what = f"an unknown engine, `{engine}`" if engine else "no engine"
                raise AirflowFailException(f"the connection `{connection_id}` has {what}; {_CHOOSE}")
            for part, value in _parts(connection):
                name = re.sub(r"\W", "_", f"{connection_id}_{part}", flags=re.ASCII).upper()
                if name in found:
                    raise AirflowFailException(f"connections give ${{{name}}} two values; rename one of them")
                found[name] = value
        return found

    def test_connection(self) -> tuple[bool, str]:
        """Whether an audit could connect, and to what, or why not. Only reads the server's version, and the names
        of its databases where nothing else shows that the login is right.
        """
        from tsaudit.cli.errors import in_a_line
        from tsaudit.config.file import load_mapping
        from tsaudit.engines.opening import log_in, open_connection

        connection = self.get_connection(*self.connections)
        parts, engine = dict(_parts(connection)), _engine(connection)
        if "engine" not in parts:
            return False, _CHOOSE
        target = {"name": "connection", "engine": "${engine}", "url": "${url}"}
        if engine and engine.keeps_login_apart:
            login = {"username": "login", "password": "token" if "token" in parts else "password"}
            target |= {key: f"${{{part}}}" for key, part in login.items() if part in parts}
        try:
            # As references: text in a value that looks like a reference must not be replaced from the environment.
            settings = load_mapping({"targets": [target]}, label="connection", folder=Path.cwd(), variables=parts)
            with open_connection(settings.targets[0]) as opened:
                log_in(opened, settings.targets[0])
                return True, f"connected: {parts['engine']} {opened.server_version}"
        except Exception as error:
            return False, in_a_line(error)[1]


def _parts(connection: "Connection") -> Iterator[tuple[str, str]]:
    """The parts of the connection, each with the part of the variable's name for it. An extra never replaces another
    part.
    """
    known = {
        "url": "" if _has_no_address(connection) else _url(connection),
        "host": connection.host,
        "port": connection.port,
        "login": connection.login,
        "password": connection.password,
        "schema": connection.schema,
    }
    extra = {key: value for key, value in connection.extra_dejson.items() if key.lower() not in known}
    for part, value in (known | extra).items():
        if isinstance(value, str | int | float) and not isinstance(value, bool) and value != "":
            yield part, str(value)


def _engine(connection: "Connection") -> "Engine | None":
    """The engine chosen in the form. Looking it up imports no driver, because drivers may be installed elsewhere."""
    if connection.conn_type != AuditHook.conn_type:
        return None
    from tsaudit.engines.registry import ENGINES

    return ENGINES.get(str(connection.extra_dejson.get("engine")))


def _lacks_engine(connection: "Connection") -> bool:
    """Whether nothing says how the address begins."""
    has_scheme = "://" in (connection.host or "")
    return connection.conn_type == AuditHook.conn_type and _engine(connection) is None and not has_scheme


def _has_no_address(connection: "Connection") -> bool:
    """Whether its type is not known: Airflow replaces a type by `generic` if its provider is not installed."""
    return connection.conn_type in ("generic", "", None) and "://" not in (connection.host or "")


def _url(connection: "Connection") -> str:
    """The address in the format of tsaudit.yaml. Airflow's own URI contains the extra, and has other schemes.

    The host may be a complete address; the other fields then add the parts that are missing in it.
    """
    kind, host, engine = (connection.conn_type or "").lower(), (connection.host or "").rstrip("/"), _engine(connection)
    if engine:
        kind, _, _ = engine.example_url.partition("://")
    elif kind in _WEB:
        kind = connection.schema or "http"
    scheme, has_scheme, rest = host.partition("://")
    if has_scheme:
        kind, host = scheme, rest
    if host.startswith("/") or (engine and engine.is_a_file):
        return f"{kind}://{host}" if has_scheme else f"{kind}:///{host}"
    host, query, options = host.partition("?")
    host, _, path = host.partition("/")
    login, _, host = host.rpartition("@")
    if host.count(":") > 1 and re.fullmatch(r"[0-9A-Fa-f:.]+", host):
        host = f"[{host}]"  # An IPv6 address.
    if connection.port:
        host = f"{host}:{connection.port}"
    if kind not in _WEB and not (engine and engine.keeps_login_apart):
        login = login or quote(connection.login or "", safe="")
        if connection.password and ":" not in login:
            login += f":{quote(connection.password, safe='')}"
        path = path or quote(connection.schema or "", safe="")
    at, path = f"{login}@" if login else "", f"/{path}" if path else ""
    return f"{_SCHEMES.get(kind, kind)}://{at}{host}{path}{query}{options}"
