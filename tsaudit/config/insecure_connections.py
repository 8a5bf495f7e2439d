"""Warns about connections that others could read: credentials without TLS, and TLS without certificate verification."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import parse_qsl

from tsaudit.config.settings import Settings, Target
from tsaudit.net import addresses
from tsaudit.net.addresses import Address, is_loopback

_PLAIN: Final = frozenset({"http", "ftp", "webdav", "ws"})
_SQL: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_MYSQL: Final = frozenset({"mysql", "mysql+pymysql", "greptimedb"})
_MONGODB: Final = frozenset({"mongodb", "mongodb+srv"})
_YES: Final = frozenset({"true", "1", "yes", "on"})
_NO: Final = frozenset({"false", "0", "no", "off"})
_MONGODB_OFF: Final = ("tlsinsecure", "tlsallowinvalidcertificates", "tlsallowinvalidhostnames")
_MYSQL_OFF: Final = ("ssl_check_hostname", "ssl_verify_cert", "ssl_verify_identity")


def warnings(settings: Settings, targets: Iterable[Target]) -> Iterator[str]:
    """One line for each address through which someone on the network could read credentials or data."""
    for target in targets:
        login = bool(target.username or target.password)
        yield from (f"{target.name}: {line}" for line in _of(target.url.get_secret_value(), login))
    yield from (f"history: {line}" for line in _of(settings.history.get_secret_value(), False))
    yield from (f"report.folder: {line}" for line in _of(settings.report.folder, False))
    if settings.slack.token:
        yield from (f"slack.base_url: {line}" for line in _of(settings.slack.base_url, True))
    if settings.slack.webhook:
        yield from (f"slack.webhook: {line}" for line in _of(settings.slack.webhook.get_secret_value(), True))


def _of(text: str, has_login: bool) -> Iterator[str]:
    address = addresses.read(text)
    if address is None:
        return
    if address.scheme in _PLAIN:
        yield from _without_tls(address, has_login or address.username is not None)
    elif address.scheme in _SQL:
        yield from _libpq(address)
    elif address.scheme in _MYSQL:
        yield from _mysql(address)
    elif address.scheme in _MONGODB:
        yield from _mongodb(address)
    else:
        # An address inside an option of the address, such as an endpoint.
        for value in address.options.values():
            yield from _of(value, True)


def _without_tls(address: Address, has_login: bool) -> Iterator[str]:
    if has_login and not _is_here(address):
        yield f"credentials go to {address.host} over plain {address.scheme}; use {address.scheme}s"


def _libpq(address: Address) -> Iterator[str]:
    """The rules of libpq: https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-SSLMODE-STATEMENTS"""
    options = address.options
    # SQLAlchemy accepts `host` more than once, with ports.
    named = ",".join([address.hosts, *(value for key, value in parse_qsl(address.query) if key == "host")])
    hosts = [*addresses.hosts_in(named), *options.get("hostaddr", "").split(",")]
    away = [host for host in hosts if not is_loopback(host)]
    if not away:
        return
    mode = options.get("sslmode") or os.environ.get("PGSSLMODE") or "prefer"
    has_root = "sslrootcert" in options or "PGSSLROOTCERT" in os.environ
    if mode in ("verify-full", "verify-ca") or (mode == "require" and has_root):
        return
    what = (
        "does not verify the certificate"
        if mode == "require"
        else "does not verify the certificate, and may not encrypt at all"
    )
    yield f"sslmode={mode} to {away[0]} {what}; add `?sslmode=verify-full`"


def _mysql(address: Address) -> Iterator[str]:
    options = address.options
    off = [f"{name}={options[name]}" for name in _MYSQL_OFF if options.get(name, "").lower() in _NO]
    with_tls = any(name.startswith("ssl_") for name in options) and options.get("ssl_disabled", "").lower() not in _YES
    if off:
        yield f"TLS verification is switched off ({', '.join(off)}); remove that from the address"
    elif not with_tls and not _is_here(address):
        yield f"the connection to {address.host} is not encrypted; add `?ssl_ca=` and the authority's file"
    elif with_tls and not options.keys() & {"ssl_ca", "ssl_capath"}:
        yield "TLS does not verify the certificate without `ssl_ca`; add the authority's file"


def _mongodb(address: Address) -> Iterator[str]:
    options = address.options
    off = [f"{name}={options[name]}" for name in _MONGODB_OFF if options.get(name, "").lower() in _YES]
    off += ["ssl_cert_reqs=CERT_NONE"] if options.get("ssl_cert_reqs", "").upper() == "CERT_NONE" else []
    said = options.get("tls", options.get("ssl", "")).lower()
    with_tls = said in _YES or bool(off) or (address.scheme == "mongodb+srv" and said not in _NO)
    if off:
        yield f"TLS verification is switched off ({', '.join(off)}); remove that from the address"
    elif not with_tls and not _is_here(address):
        yield f"the connection to {address.host} is not encrypted; add `?tls=true`"


def _is_here(address: Address) -> bool:
    return all(map(is_loopback, addresses.hosts_in(address.hosts)))
