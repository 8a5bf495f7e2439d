"""Connections of Airflow as the `${NAME}` of tsaudit.yaml."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from airflow.sdk.bases.hook import BaseHook
from airflow.sdk.exceptions import AirflowFailException

if TYPE_CHECKING:
    from airflow.sdk import Connection

_SCHEMES: Final = {"postgres": "postgresql", "mongo": "mongodb"}
"""Types of connections whose addresses begin with another word."""

_WEB: Final = frozenset({"http", "https", "influxdb"})
"""Types of connections whose `schema` is that of a web address."""


class AuditHook(BaseHook):
    """Gives tsaudit the connections that it may use.

    The connection `shop-db` becomes `${SHOP_DB_URL}`, `${SHOP_DB_HOST}`, `${SHOP_DB_PORT}`, `${SHOP_DB_LOGIN}`,
    `${SHOP_DB_PASSWORD}`, `${SHOP_DB_SCHEMA}`, and one for each entry of its extra that is text or a number, such as
    `${SHOP_DB_TOKEN}`: those of them that the connection has.
    """

    def __init__(self, connections: Sequence[str] = ()) -> None:
        """`connections`: the IDs of those that tsaudit.yaml refers to, or a single one."""
        super().__init__()
        self.connections = (connections,) if isinstance(connections, str) else tuple(connections)

    def variables(self) -> dict[str, str]:
        """The values by name. Raises AirflowException if a connection does not exist, and AirflowFailException if two
        give the same name.
        """
        found: dict[str, str] = {}
        for connection_id in self.connections:
            for part, value in _parts(self.get_connection(connection_id)):
                name = re.sub(r"\W", "_", f"{connection_id}_{part}", flags=re.ASCII).upper()
                if name in found:
                    raise AirflowFailException(f"connections give ${{{name}}} two values; rename one of them")
                found[name] = value
        return found


def _parts(connection: "Connection") -> Iterator[tuple[str, str]]:
    """What the connection has, by the part of the name that says it. An extra never hides another part."""
    known = {
        "url": _url(connection),
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


def _url(connection: "Connection") -> str:
    """The address as tsaudit.yaml has it. Airflow's own URI has the extra in it, and other schemes.

    Web addresses have no login: tsaudit.yaml has `username` and `password` for that. The host may begin with the
    scheme: without a database's provider, Airflow offers only the type `generic` for it.
    """
    kind, host = (connection.conn_type or "").lower(), (connection.host or "").rstrip("/")
    scheme, found, rest = host.partition("://")
    if found:
        kind, host = scheme, rest
    elif kind in _WEB:
        kind = connection.schema or "http"
    if host.startswith("/"):
        return f"{kind}://{host}" if found else f"{kind}:///{host}"
    if host.count(":") > 1 and re.fullmatch(r"[0-9A-Fa-f:.]+", host):
        host = f"[{host}]"  # An address of IPv6.
    if connection.port:
        host = f"{host}:{connection.port}"
    if kind in _WEB:
        return f"{kind}://{host}"
    login = quote(connection.login or "", safe="")
    secret = f":{quote(connection.password, safe='')}" if connection.password else ""
    at = f"{login}{secret}@" if login or secret else ""
    path = f"/{quote(connection.schema, safe='')}" if connection.schema else ""
    return f"{_SCHEMES.get(kind, kind)}://{at}{host}{path}"
