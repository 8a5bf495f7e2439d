"""Parses addresses that contain credentials, and checks whether every program would parse them the same way."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

AMBIGUOUS: Final = (
    "is ambiguous: user, password, or an option contains a character that is special in addresses (@ / ? # : "
    "[ ] or a blank); "
)
TARGET_HINT: Final = "write them as `username:` and `password:`, or percent-encode them (`@` is %40)"
OTHER_HINT: Final = "percent-encode it (`@` is %40)"
_SECRET_NAME: Final = re.compile(
    r"pass|pwd|token|secret|credential|signature|\bsig\b|api_?key|access_?key", re.IGNORECASE
)
_FILE_PATH: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:///[^?#@]*|[^:?#@]*)(?=[?#]|$)")
"""The path in the address of a file, or a path by itself. A path with `@` is excluded: it may be credentials after a
misspelled scheme.
"""
_TOKEN: Final = 8
"""Minimum length of a token, in characters: services do not issue shorter ones."""
_PLAIN: Final = re.compile(r"[a-z]+([-_.][a-z]+)*|[^@\s]+@[\w-]+(\.[\w-]+)+")


@dataclass(frozen=True, slots=True)
class Address:
    """An address parsed according to RFC 3986; every part is kept as written, including percent-encoding."""

    scheme: str
    username: str | None
    password: str | None
    hosts: str
    """The hosts with their ports; several are separated by commas."""
    path: str
    query: str
    fragment: str

    @property
    def host(self) -> str:
        """The first host, without port and brackets; empty for a socket or file on this machine."""
        return hosts_in(self.hosts)[0]

    @property
    def options(self) -> dict[str, str]:
        """The options after `?`, by lower-case name; if a name occurs twice, the last one."""
        return {key.lower(): value for key, value in parse_qsl(self.query, keep_blank_values=True)}


def hosts_in(text: str) -> list[str]:
    """The hosts of a comma-separated list, each without port and brackets."""
    return [one[1:].partition("]")[0] if one.startswith("[") else one.partition(":")[0] for one in text.split(",")]


def read(text: str) -> Address | None:
    """The parts of a network address; None for paths, files, and anything without `//`.

    `scheme:///name` is a file, unless its options name a host.
    """
    scheme, separator, rest = text.partition("://")
    if not separator or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.:-]*", scheme):
        return None
    rest, _, fragment = rest.partition("#")
    rest, _, query = rest.partition("?")
    authority, slash, path = rest.partition("/")
    if not authority and slash and "host" not in query:
        return None
    userinfo, at, hosts = authority.rpartition("@")
    username, colon, password = userinfo.partition(":")
    return Address(
        scheme.lower(), username if at else None, password if colon else None, hosts, slash + path, query, fragment
    )


def sql_url(text: str) -> URL:
    """The parts of the address of a SQL database, all decoded, with every version of SQLAlchemy. Raises ArgumentError
    or ValueError if it cannot be parsed.
    """
    from sqlalchemy.engine import make_url

    url = make_url(text)
    # Since 2.1, SQLAlchemy decodes the database name itself.
    is_decoded = make_url("sqlite:///%20").database == " "
    return url if is_decoded or url.database is None else url.set(database=unquote(url.database))


def is_ambiguous(text: str, template: str = "", values: Mapping[str, str] | None = None) -> bool:
    """Whether another program may parse the address differently.

    `template` is the address before its `${NAME}` were filled in, with a word in place of each. `values` contains the
    value for each word, which must stay in the part of the address where it was written.
    """
    address = read(text)
    if address is None:
        return False
    if re.search(r"[\s\x00-\x1f\x7f]", text) or "@" in address.path + address.query + address.fragment:
        return True
    if "@" in f"{address.username}{address.password}" or re.search(r"[\[\]]", f"{address.username}{address.password}"):
        return True
    login = f"{address.username}:{address.password or ''}@" if address.username is not None else ""
    try:
        for host in address.hosts.split(","):
            # Newer versions of Python reject a list in which an address in brackets is not the first.
            urlsplit(f"//{login}{host}")
    except ValueError:
        if login:
            return True
    return bool(template) and _changed(address, template, values or {})


def _changed(address: Address, template: str, values: Mapping[str, str]) -> bool:
    """Whether a value has changed how the address is parsed."""
    meant = read(template)
    if meant is None or (meant.username is None and not any(word in meant.query for word in values)):
        return False  # The host itself, or the whole address, comes from a variable.

    def filled(part: str | None) -> str | None:
        for word, value in values.items():
            part = None if part is None else part.replace(word, value)
        return part

    if (filled(meant.username), filled(meant.password)) != (address.username, address.password):
        return True
    return any(filled(getattr(meant, part)) != getattr(address, part) for part in ("path", "query", "fragment")) or len(
        parse_qsl(meant.query, keep_blank_values=True)
    ) != len(parse_qsl(address.query, keep_blank_values=True))


def secrets_in(text: str, *, user_is_token: bool = True) -> Iterator[str]:
    """The secret parts of an address, both as written and percent-decoded.

    `user_is_token`: whether the user in an HTTP address without a password may be a token, which some services accept
    there.
    """
    address = read(text)
    if address is None:
        return
    found = [address.password] if address.password else []
    if user_is_token and address.password is None and address.username and address.scheme in ("http", "https"):
        found.append(address.username)
    yield from found
    yield from (value for key, value in parse_qsl(address.query) if names_a_secret(key))


def tokens_in(text: str) -> Iterator[str]:
    """Parts of a service's address that may be tokens, whose position differs between services: every part except for
    the scheme, host names, plain words (which are common in reports), and e-mail addresses.
    """
    address = read(text)
    if address is None:
        return
    if address.password:
        yield address.password
    hosts = [host for host in hosts_in(address.hosts) if "." not in host]
    values = [value for _, value in parse_qsl(address.query)]
    for part in (address.username or "", *hosts, *address.path.split("/"), *values):
        if len(part) >= _TOKEN and not _PLAIN.fullmatch(part):
            yield part


def names_a_secret(name: str) -> bool:
    """Whether an option or variable of that name usually holds a secret."""
    return _SECRET_NAME.search(name) is not None


def secret_path(text: str) -> str:
    """The secret part of an address that is secret as a whole, such as a webhook's: everything after the host."""
    address = read(text)
    return f"{address.path}?{address.query}".strip("/?") if address else text


def in_secret_part(template: str, word: str) -> bool:
    """Whether the word is in a position for credentials: before `@`, in an option, or as the whole address."""
    address = read(template)
    if address is None:
        return True
    return any(
        word in part for part in (address.username or "", address.password or "", address.query, address.fragment)
    )


def in_file_path(template: str, word: str) -> bool:
    """Whether the word is only in the path of a file or folder on this machine."""
    path = _FILE_PATH.match(template) if read(template) is None else None
    return path is not None and word in path[0] and word not in template[path.end() :]


def without_credentials(text: str) -> str:
    """The address for display: without user, password, and options."""
    address = read(text)
    if address is None:
        return text
    end = f"#{address.fragment}" if address.fragment else ""
    return f"{text.partition('://')[0]}://{address.hosts}{address.path}{end}"


IN_CLEAR: Final = (
    "the server asks for the password in clear text over a connection that is not encrypted, so it was not sent; "
    "have the URL ask for TLS"
)


def is_loopback(host: str) -> bool:
    """Whether the host is this machine: then nobody on a network can read the traffic."""
    if not host or host.startswith("/") or host.lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
