"""`tsaudit init`: a first tsaudit.yaml, filled in as far as possible."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import click

from tsaudit.cli import show
from tsaudit.text import many, nearest, printable

_LARGEST_FOLDER: Final = 1000
_LOOK_S: Final = 2.0
"""Seconds to wait for whatever listens on a port."""


@dataclass(frozen=True, slots=True)
class Found:
    """A database that can be audited."""

    name: str
    engine: str
    url: str
    variable: str = ""
    """The environment variable for a password or token; empty for none."""
    has_token: bool = False
    """The variable contains a token."""


@click.command()
@click.option("--engine", help="The engine, e.g. influxdb1; default: what is found here.")
@click.option("--url", help="The address, e.g. http://127.0.0.1:8086 or sqlite:///metrics.db.")
@click.option("--name", help="The target's name; default: derived from the address.")
@click.option("-c", "--config", type=click.Path(), metavar="FILE", help="The file to write; default: ./tsaudit.yaml.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def init(engine: str | None, url: str | None, name: str | None, config: str | None, force: bool) -> None:
    """Write a commented tsaudit.yaml.

    Without options, it looks for DuckDB and SQLite files in this folder, and for InfluxDB, GreptimeDB, and MongoDB on
    this machine. If it finds none, it writes examples to fill in.
    """
    if bool(engine) != bool(url):
        raise click.UsageError("`--engine` and `--url` must be given together")
    if name and not url:
        raise click.UsageError("`--name` needs `--engine` and `--url`")
    file = Path(config or os.environ.get("TSAUDIT_CONFIG") or "tsaudit.yaml")
    if file.exists() and not force:
        raise click.UsageError(f"{printable(str(file))} already exists; pass `--force` to overwrite it")
    found = [_given(engine, url, name)] if engine and url else _unique(_here(file.parent))
    try:
        file.write_text(_text(found), encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    _say(file, found)


def _say(file: Path, found: list[Found]) -> None:
    show.line(f"wrote {file}: {many(len(found), 'target')}")
    for one in found:
        show.line(f"  {one.name}: {one.engine} at {one.url}")
        if one.variable:
            what = "a token that can read the databases" if one.has_token else "the password"
            show.line(f"  export {one.variable}=...   # {what}; it is not in the file")
    if not found:
        show.line("  found no database here; fill in the example under `targets`")
    show.line("next: `tsaudit check`")


def _given(engine: str, url: str, name: str | None) -> Found:
    """The target that the options describe, with its password moved out of the address."""
    from tsaudit.engines.registry import ENGINES

    if engine not in ENGINES:
        hint = nearest(engine, ENGINES) or f"; one of {', '.join(ENGINES)}"
        raise click.BadParameter(f"engine `{engine}` is not supported{hint}", param_hint="--engine")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise click.BadParameter(f"is not an address: {error}", param_hint="--url") from error
    stem = Path(parts.path).stem if parts.scheme.startswith(engine) else ""
    chosen = name or _name(stem or host or engine)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", chosen):
        raise click.BadParameter(f"`{chosen}`: use only letters, digits, `_`, `.`, and `-`", param_hint="--name")
    if not parts.password or "${" in parts.password:
        by_token = ENGINES[engine].signs_in_by_token and not parts.password
        return _with_token(chosen, engine, url) if by_token else Found(chosen, engine, url)
    variable = _variable(chosen, "PASSWORD")
    place = parts.netloc.rpartition("@")[2]
    login = f"{parts.username}" if ENGINES[engine].reads_password_apart else f"{parts.username}:${{{variable}}}"
    return Found(chosen, engine, urlunsplit(parts._replace(netloc=f"{login}@{place}")), variable)


def _with_token(name: str, engine: str, url: str) -> Found:
    return Found(name, engine, url, _variable(name, "TOKEN"), has_token=True)


def _variable(name: str, what: str) -> str:
    return f"TSAUDIT_{re.sub(r'[^A-Z0-9]', '_', name.upper())}_{what}"


def _name(text: str) -> str:
    """`text` as a target name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:100] or "database"


def _here(folder: Path) -> list[Found]:
    return [*_files(folder), *_servers()]


def _files(folder: Path) -> Iterator[Found]:
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
        for engine in ENGINES.values():
            position, magic = engine.file_magic or (0, b"")
            if magic and head[position:].startswith(magic) and path.name.isprintable():
                yield Found(_name(path.stem), engine.name, f"{engine.name}:///{path.name}")


def _servers() -> Iterator[Found]:
    """Servers on this machine, recognized by their responses."""
    from tsaudit.engines.registry import ENGINES

    ask = functools.cache(lambda port, path: _answer(_address(port) + path) or ({}, ""))
    for engine in ENGINES.values():
        if (local := engine.local) is None:
            continue
        headers, body = ask(local.port, local.path)
        if local.answers.search(headers.get(local.header, "") if local.header else body):
            found = _with_token if engine.signs_in_by_token else Found
            yield found(engine.icon or engine.name, engine.name, local.url)


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def _answer(url: str) -> tuple[Mapping[str, str], str] | None:
    """Headers and body of the response on this machine; None if there is none in time."""
    from tsaudit.net.watchdog import OutOfTimeError, within

    try:
        return within(_LOOK_S, lambda: _asked(url))
    except OutOfTimeError:
        return None


def _asked(url: str) -> tuple[Mapping[str, str], str] | None:
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    local = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with local.open(url, timeout=1) as answer:
            return answer.headers, answer.read(10_000).decode("utf-8", "replace")
    except (OSError, ValueError, HTTPException):
        return None


def _unique(found: list[Found]) -> list[Found]:
    """Names made unique, in the order found."""
    names: list[str] = []
    for one in found:
        name, number = one.name, 2
        while name in names:
            name, number = f"{one.name}-{number}", number + 1
        names.append(name)
    return [dataclasses.replace(one, name=name) for name, one in zip(names, found, strict=True)]


_TEMPLATE: Final = """\
# What tsaudit audits, and whom it notifies. All keys: docs/configuration.md
# Secrets are written ${NAME} and read from the environment. Paths are relative to this file.

targets:
%(targets)s
    # databases: [metrics]          # default: all that are not the engine's own
    # exclude: ["tmp_*"]            # patterns of measurement names
    # window: 30d                   # how far back rows are read
    # plan: influxdb-cloud-free     # limits of a product; `tsaudit rules --plans` lists them
    # limits:
    #   high-series-cardinality.max_series: 500000
    # owner: team-metrics
    # schedule: "0 6 * * *"         # when Dagster audits it, in UTC

# Whom to notify. `default` gets everything without another owner.
# owners:
#   default:
#     channel: "#data-platform"
#   team-metrics:
#     channel: "#metrics"
#     mention: U024BE7LH            # when something becomes critical

# Without a token, messages are shown in the terminal.
# slack:
#   token: ${SLACK_TOKEN}

# report:
#   folder: .tsaudit/reports        # or s3://bucket/tsaudit
#   base_url: https://reports.example.com

# history: sqlite:///.tsaudit/history.db
"""

_EXAMPLE: Final = """\
  - name: metrics
    engine: influxdb1
    url: http://127.0.0.1:8086
    # username: tsaudit
    # password: ${METRICS_PASSWORD}"""


def _text(found: list[Found]) -> str:
    targets = "\n".join(
        f"  - name: {one.name}\n    engine: {one.engine}\n    url: {_quoted(one.url)}"
        + (f"\n    password: ${{{one.variable}}}" if one.variable and one.variable not in one.url else "")
        for one in found
    )
    return _TEMPLATE % {"targets": targets or _EXAMPLE}


def _quoted(text: str) -> str:
    """A YAML text with exactly this value; in single quotes, only the quote itself must be doubled."""
    return "'" + text.replace("'", "''") + "'"
