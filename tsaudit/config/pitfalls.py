"""Warns about what a valid configuration does, but hardly should: connections that others could read, files that other
machines of the deployment cannot read, and routes that match nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

import yaml

from tsaudit.config.settings import Route, Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import UnusedSetting, fits
from tsaudit.model.profile import Profile
from tsaudit.net import addresses
from tsaudit.net.addresses import Address, is_loopback
from tsaudit.text import many, nearest

_PLAIN: Final = frozenset({"http", "ftp", "webdav", "ws"})
_SQL: Final = frozenset({"postgresql", "postgres", "postgresql+psycopg"})
_MYSQL: Final = frozenset({"mysql", "mysql+pymysql", "greptimedb"})
_MONGODB: Final = frozenset({"mongodb", "mongodb+srv"})
_YES: Final = frozenset({"true", "1", "yes", "on"})
_NO: Final = frozenset({"false", "0", "no", "off"})
_MONGODB_OFF: Final = ("tlsinsecure", "tlsallowinvalidcertificates", "tlsallowinvalidhostnames")
_MYSQL_OFF: Final = ("ssl_check_hostname", "ssl_verify_cert", "ssl_verify_identity")


def insecure_connections(settings: Settings, targets: Iterable[Target]) -> Iterator[str]:
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


_ON_THIS_MACHINE: Final = frozenset({"DefaultRunLauncher", "SyncInMemoryRunLauncher"})
_SHOWN: Final = 5


def distributed_deployment(settings: Settings, targets: Iterable[Target]) -> Iterator[str]:
    """One line for each kind of file that other machines could not read; none if all runs stay on one machine, by
    $DAGSTER_HOME.
    """
    launcher = _launcher(os.environ.get("DAGSTER_HOME"))
    if launcher is None:
        return
    where = f"{launcher} launches runs on other machines"
    if settings.history.get_secret_value().startswith("sqlite:"):
        yield f"history: {where}, and this history is a file on one; use postgresql://"
    if settings.report.folder.startswith("file://") or "://" not in settings.report.folder:
        yield f"report.folder: {where}, and this folder is on one; use an object store, such as s3://"
    files = [target for target in targets if ENGINES[target.engine].is_a_file and not target.run_tags]
    if files:
        names = ", ".join(target.name for target in files[:_SHOWN]) + (", ..." if len(files) > _SHOWN else "")
        is_are = "is a file" if len(files) == 1 else "are files"
        yield (
            f"{names}: {where}, and {many(len(files), 'target')} {is_are} on one; "
            "use `run_tags` to choose the queue of the machine that has it"
        )


def _launcher(home: str | None) -> str | None:
    """The class of a run launcher that starts runs on other machines; None if there is none, or no readable
    dagster.yaml.
    """
    if not home:
        return None
    try:
        read = yaml.safe_load((Path(home) / "dagster.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    named: Any = read.get("run_launcher") if isinstance(read, Mapping) else None
    name = named.get("class") if isinstance(named, Mapping) else None
    return name if isinstance(name, str) and name not in _ON_THIS_MACHINE else None


def unused_routes(settings: Settings, profiles: Mapping[str, Profile]) -> Iterator[UnusedSetting]:
    """The measurement patterns that match no measurement of the route's targets.

    `profiles`: target to its profile. A route is skipped if one of its targets has no profile or was not listed
    completely, because the pattern may match there.
    """
    for number, route in enumerate(settings.routes):
        # The targets with a profile are checked first: an audit has one, and there may be thousands of targets and
        # routes.
        if not all(profile.all_listed() for name, profile in profiles.items() if fits(name, route.targets)):
            continue
        if not any(fits(name, route.targets) for name in profiles):
            continue
        if any(target.name not in profiles and fits(target.name, route.targets) for target in settings.targets):
            continue
        meant = [target.name for target in settings.targets if fits(target.name, route.targets)]
        if not meant:
            continue
        names = sorted({m.name for name in meant for m in profiles[name].measurements})
        for pattern in _unmatched(route, names):
            where = f"target {meant[0]}" if len(meant) == 1 else many(len(meant), "target")
            detail = f"matches none of {many(len(names), 'measurement')} of {where}"
            yield UnusedSetting(
                f"routes[{number}].measurements", pattern, detail + nearest(pattern.strip("*?[]"), names[:2_000])
            )


def _unmatched(route: Route, names: list[str]) -> Iterator[str]:
    """The patterns of the route that match none of the names. An empty pattern matches findings about whole databases
    and targets.
    """
    yield from (p for p in route.measurements if p not in ("*", "") and not any(fits(n, [p]) for n in names))
