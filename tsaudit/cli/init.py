"""`tsaudit init`: a first tsaudit.yaml, filled in as far as possible."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

import click

from tsaudit.cli import discovery, progress, show
from tsaudit.cli.discovery import FoundTarget, host_name, target_name, variable_of
from tsaudit.text import listed, many, nearest, printable

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@click.command()
@click.option("--engine", help="The engine, e.g. influxdb1; default: what is found here.")
@click.option("--url", help="The address, e.g. http://127.0.0.1:8086 or sqlite:///metrics.db.")
@click.option("--name", help="The target's name; default: derived from the address.")
@click.option("--host", help="Look for servers on this machine instead of here, e.g. db7.example.com.")
@click.option("-y", "--yes", is_flag=True, help="Take everything that is found without asking.")
@click.option("-c", "--config", type=click.Path(), metavar="FILE", help="The file to write; default: ./tsaudit.yaml.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def init(
    engine: str | None,
    url: str | None,
    name: str | None,
    host: str | None,
    yes: bool,
    config: str | None,
    force: bool,
) -> None:
    """Write a commented tsaudit.yaml.

    Without options, it looks for DuckDB and SQLite files in this folder, and for InfluxDB, GreptimeDB, MongoDB, and
    PostgreSQL on this machine, on their usual ports. If it finds none, it writes examples to fill in. A target is named
    after its database, or the only one on its server, otherwise after its host or its product.

    On a terminal, it asks which of them to audit and how to name them. Otherwise, or with --yes, it asks nothing and
    takes them all.
    """
    if bool(engine) != bool(url):
        raise click.UsageError("`--engine` and `--url` must be given together")
    if name and not url:
        raise click.UsageError("`--name` needs `--engine` and `--url`")
    if host and url:
        raise click.UsageError("`--host` looks for servers, and `--url` names one: pass only one of them")
    if host is not None and not re.fullmatch(r"[A-Za-z0-9:._%-]+", host):
        raise click.BadParameter(f"`{host}` is not the name of a host", param_hint="--host")
    file = Path(config or os.environ.get("TSAUDIT_CONFIG") or "tsaudit.yaml")
    if file.exists() and not force:
        raise click.UsageError(f"{printable(str(file))} already exists; pass `--force` to overwrite it")
    if engine and url:
        found = [_given(engine, url, name)]
    else:
        with progress.shown() as watched:
            watched.say(host or "this machine", "looking for databases")
            found = discovery.databases(file.parent, host)
        if found and not yes and _is_asked():
            found = _chosen(found)
    try:
        file.write_text(_text(found), encoding="utf-8")
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error
    _say(file, found, host)


def _is_asked() -> bool:
    """Whether somebody can answer questions."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _chosen(found: Iterable[FoundTarget]) -> list[FoundTarget]:
    """Those that the person wants to audit, under the names that they choose."""
    chosen: list[FoundTarget] = []
    for one in found:
        if not click.confirm(f"Audit {_described(one)}?", default=True):
            continue
        while True:
            name = click.prompt("  Name of the target", default=one.name)
            if not _NAME.fullmatch(name):
                show.line("  use only letters, digits, `_`, `.`, and `-`")
            elif any(name == other.name for other in chosen):
                show.line("  another target has this name")
            else:
                break
        chosen.append(discovery.renamed(one, name))
    return chosen


def _described(one: FoundTarget) -> str:
    shown = f" with {listed(one.databases)}" if one.databases else ""
    return printable(f"{one.engine} at {one.url}{shown}")


def _say(file: Path, found: list[FoundTarget], host: str | None) -> None:
    show.line(f"wrote {file}: {many(len(found), 'target')}")
    for one in found:
        show.line(f"  {one.name}: {_described(one)}")
        if one.variable:
            what = "a token that can read the databases" if one.has_token else "the password"
            show.line(f"  export {one.variable}=...   # {what}; it is not in the file")
    if not found:
        where = f"on {host}" if host else "here"
        show.line(f"  found no database {where}; fill in the example under `targets`")
    show.line("next: `tsaudit check`")


def _given(engine: str, url: str, name: str | None) -> FoundTarget:
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
    about = ENGINES[engine]
    database = Path(parts.path).stem if about.is_a_file or about.has_one_database else ""
    chosen = name or target_name(database) or host_name(host) or about.icon or engine
    if not _NAME.fullmatch(chosen):
        raise click.BadParameter(f"`{chosen}`: use only letters, digits, `_`, `.`, and `-`", param_hint="--name")
    if not parts.password or "${" in parts.password:
        if about.signs_in_by_token and not parts.password:
            return FoundTarget(chosen, engine, url, variable_of(chosen, "TOKEN"), has_token=True)
        return FoundTarget(chosen, engine, url)
    variable = variable_of(chosen, "PASSWORD")
    place = parts.netloc.rpartition("@")[2]
    login = f"{parts.username}" if about.reads_password_apart else f"{parts.username}:${{{variable}}}"
    return FoundTarget(chosen, engine, urlunsplit(parts._replace(netloc=f"{login}@{place}")), variable)


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


def _text(found: list[FoundTarget]) -> str:
    return _TEMPLATE % {"targets": "\n".join(map(_target, found)) or _EXAMPLE}


def _target(one: FoundTarget) -> str:
    lines = [f"  - name: {one.name}", f"    engine: {one.engine}", f"    url: {_quoted(one.url)}"]
    if one.variable and one.variable not in one.url:
        lines.append(f"    password: ${{{one.variable}}}")
    if len(one.databases) > 1:
        names = ", ".join(map(_quoted, one.databases))
        lines.append(f"    # databases: [{names}]    # all that are there now; without it, also later ones")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A YAML text with exactly this value; in single quotes, only the quote itself must be doubled."""
    return "'" + text.replace("'", "''") + "'"
