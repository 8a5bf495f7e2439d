"""`tsaudit init`, which writes a first tsaudit.yaml, filled in as far as possible, and `config`, its JSON schema."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

import click
import yaml

from tsaudit.cli import discovery, screen
from tsaudit.cli.discovery import FoundTarget, as_name, host_name, variable_of
from tsaudit.cli.errors import CommandGroup
from tsaudit.net import addresses
from tsaudit.text import listed, many, printable

if TYPE_CHECKING:
    from tsaudit.engines.engine import Engine

_MOST_COLUMNS: Final = 20
"""Most tables of a target for which the file proposes roles."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


@click.command()
@click.argument("urls", nargs=-1, metavar="[ADDRESS]...")
@click.option("--engine", help="The engine, e.g. influxdb1; default: detected from the address or the server.")
@click.option("--name", help="The target's name; default: derived from the address.")
@click.option("--add", is_flag=True, help="Add new targets to the file, and leave the rest of it unchanged.")
@click.option("-c", "--config", type=click.Path(), metavar="FILE", help="The file to write; default: ./tsaudit.yaml.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
def init(
    urls: tuple[str, ...],
    engine: str | None,
    name: str | None,
    add: bool,
    config: str | None,
    force: bool,
) -> None:
    """Write a commented tsaudit.yaml.

    ADDRESS is that of a database in any usual spelling, e.g. postgres://db7/metrics, db7:8086, or metrics.db. If it
    does not show the engine, the server is asked.

    Without addresses, it looks for DuckDB and SQLite files in this folder, and for InfluxDB, GreptimeDB, MongoDB, and
    PostgreSQL on this machine, on their usual ports. If it finds none, it writes nothing. A target is named after its
    database (the one in its address, or the only one on its server), otherwise after its host or its product.

    With --add, new targets are added to an existing file. If the resulting configuration would be invalid, the problem
    is reported, and nothing is written.

    Each target gets an owner and a schedule. If a table does not declare which columns are tags, and its database can
    be read now, the file proposes column roles as comments; remove the `#` to confirm them.
    """
    if (engine or name) and len(urls) != 1:
        raise click.UsageError("`--engine` and `--name` are about one address: name exactly one")
    if add and force:
        raise click.UsageError("`--add` keeps the file, and `--force` overwrites it: pass only one of them")
    file = Path(config or os.environ.get("TSAUDIT_CONFIG") or "tsaudit.yaml")
    if file.exists() and not (add or force):
        raise click.UsageError(
            f"{printable(str(file))} already exists; pass `--add` to add targets to it, or `--force` to overwrite it"
        )
    before = read(file) if add else None
    with screen.progress() as watched:
        watched.say("this machine", "looking for databases")
        if urls:
            found = discovery.unique(_given(engine, url, name, file.parent) for url in urls)
        else:
            found = discovery.databases(file.parent)
    if not found:
        raise click.UsageError("found no database here; name one, e.g. `tsaudit init db7:8086`")
    if before is not None:
        found = before.new(found)
        if name and any(one.name != name for one in found):
            raise click.UsageError(f"a target of {printable(str(file))} is named `{name}`; pass another `--name`")
    # A user of a server has one password, whatever the number of databases.
    named: dict[tuple[str, str], str] = {}
    logins = [named.setdefault((one.engine, urlsplit(one.url).netloc), one.name) for one in found]
    found = [_tried(one, file.parent, variable_of(login, "PASSWORD")) for one, login in zip(found, logins, strict=True)]
    if found:
        _write(file, before.with_entries(list(map(_target, found))) if before else document(found))
    _say(file, found, config=config, added=add)


def _tried(one: FoundTarget, folder: Path, variable: str) -> FoundTarget:
    """The target with the column roles that tsaudit would guess, or with the reason why connecting failed.

    If its password is not known yet, nothing is tried. `variable`: the one for the password of its user.
    """
    from tsaudit.collect.probing import database_names
    from tsaudit.config.file import ConfigError, load_mapping
    from tsaudit.engines.connection import ConnectorError
    from tsaudit.engines.opening import with_connection
    from tsaudit.engines.registry import ENGINES

    engine = ENGINES[one.engine]
    is_apart = one.password and not one.has_token and one.variable not in one.url
    if is_apart or (_may_need_password(one) and variable in os.environ):
        one = dataclasses.replace(one, variable=variable)
    variables = {**os.environ, **({one.variable: one.password} if one.password else {})}
    password = {"password": f"${{{one.variable}}}"} if one.variable and one.variable not in one.url else {}
    budget = {"statement_timeout_s": discovery.LOOK_S, "deadline_s": discovery.LOOK_S}
    target = {"name": one.name, "engine": one.engine, "url": one.url, "budget": budget, **password}
    try:
        (only,) = load_mapping({"targets": [target]}, label=one.name, folder=folder, variables=variables).targets
        if only.unset:
            return one
        if not engine.infers_roles:
            with_connection(only, lambda connection, end: database_names(only, connection, deadline=end))
            return one
        found = discovery.guessed(discovery.probed(only))
    except ConfigError:
        return one
    except ConnectorError as error:
        if not _may_need_password(one):
            return dataclasses.replace(one, problem=str(error))
        # The line for the password is in the file from now on; only its variable is missing.
        problem = "" if "no password supplied" in str(error) else str(error)
        return dataclasses.replace(one, variable=variable, problem=problem)
    return dataclasses.replace(one, columns=found.entries)


def _may_need_password(one: FoundTarget) -> bool:
    """Whether its address names a user, and nothing says where the user's password is. Some servers ask for none."""
    from tsaudit.engines.registry import ENGINES

    return ENGINES[one.engine].reads_password_apart and not one.variable and "@" in one.url


def _write(file: Path, text: str) -> None:
    """Write the file atomically, replacing an existing one. Raises ConfigError if the result would be invalid."""
    from tsaudit.config.file import ConfigError, load_content
    from tsaudit.report.storage import LocalStorage

    content = text.encode()
    try:
        load_content(content, file)
    except ConfigError as error:
        raise ConfigError(
            *error.problems, f"nothing was written: the lines are those that {file} would have"
        ) from error
    try:
        # A symbolic link stays a link.
        place = file.resolve()
        if (place.exists() and not place.is_file()) or not place.parent.exists():
            file.write_bytes(content)
            return
        permissions = place.stat().st_mode & 0o777 if place.is_file() else None
        LocalStorage(str(place.parent), permissions).write(place.name, content)
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from error


def _described(one: FoundTarget) -> str:
    shown = f" with {listed(one.databases)}" if one.databases else ""
    return printable(f"{one.engine} at {one.url}{shown}")


def _say(file: Path, found: list[FoundTarget], *, config: str | None, added: bool) -> None:
    from tsaudit.engines.registry import ENGINES

    if found:
        screen.line(f"{'added to' if added else 'wrote'} {file}: {many(len(found), 'target')}")
    else:
        screen.line(f"{file} already has every database that was found; nothing was added")
    for one in found:
        screen.line(f"  {one.name}: {_described(one)}")
        if one.problem:
            screen.warning(f"{one.name} was added, but connecting to it failed: {one.problem}")
    variables = {one.variable: one.has_token for one in found if one.variable}
    for variable, is_token in variables.items():
        if variable in os.environ:
            continue
        what = "a token that can read the databases" if is_token else "the password"
        screen.line(f"  export {variable}=...   # {what}; it is not in the file")
    if tables := sum(len(one.columns) for one in found):
        screen.line(
            f"the roles of columns in {many(tables, 'table')} are a guess: confirm them below `columns` in {file}"
        )
    check = f"tsaudit check{f' -c {shlex.quote(config)}' if config else ''}"
    unread = [ENGINES[one.engine] for one in found if one.variable and one.variable not in os.environ]
    first = "export what is missing above, then " if unread else ""
    is_guessed = any(engine.infers_roles for engine in unread)
    roles = f"; `{check} --roles` then proposes what to write below `columns`" if is_guessed else ""
    screen.line(f"next: {first}`{check}`{roles}")


def _given(engine: str | None, url: str, name: str | None, folder: Path) -> FoundTarget:
    """The target that the options describe, with its password moved out of the address. `folder`: the folder of
    tsaudit.yaml.
    """
    from tsaudit.engines.registry import ENGINES

    is_asked = engine is None
    if engine is None:
        try:
            engine, url = discovery.engine_at(url, folder)
        except LookupError as error:
            raise click.BadParameter(str(error.args[0]), param_hint="ADDRESS") from error
    if engine not in ENGINES:
        raise click.BadParameter(f"engine `{engine}` is not supported{ENGINES.near(engine)}", param_hint="--engine")
    about = ENGINES[engine]
    if about.is_a_file and "://" not in url:
        url = about.example_url.partition("://")[0] + f":///{url}"
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise click.BadParameter(f"is not an address: {error}", param_hint="ADDRESS") from error
    database = Path(parts.path).stem if about.is_a_file or about.has_one_database else ""
    chosen = name or as_name(database) or host_name(host) or about.icon or engine
    if not _NAME.fullmatch(chosen):
        raise click.BadParameter(f"`{chosen}`: use only letters, digits, `_`, `.`, and `-`", param_hint="--name")
    for key, value in parse_qsl(parts.query):
        if addresses.names_a_secret(key) and "${" not in value:
            advice = f"`{printable(key, 40)}` is secret: write `{printable(key, 40)}=${{NAME}}`, and export NAME"
            raise click.BadParameter(advice, param_hint="ADDRESS")
    place = parts.netloc.rpartition("@")[2]
    if about.has_one_database and not about.is_a_file and not parts.path.strip("/"):
        login = f"{parts.username}@" if parts.username else ""
        server = printable(f"{parts.scheme}://{login}{place}", 100)
        advice = f"names no database: pass {server}/NAME for each database to audit"
        raise click.BadParameter(advice, param_hint="ADDRESS")
    if (
        about.reads_password_apart
        and parts.scheme.startswith("http")
        and (parts.query or (is_asked and parts.path.strip("/")))
    ):
        # Behind a proxy with a path, a server is not recognized, so that its engine has to be named.
        part = f"`{printable(parts.path, 40)}`" if not parts.query else "what follows `?`"
        right = f"{parts.scheme}://USER:PASSWORD@{place}"
        advice = f"{part} is not a part of the server's address: pass {right}, and name databases below `databases`"
        raise click.BadParameter(advice, param_hint="ADDRESS")
    if about.signs_in_by_token and not parts.password:
        token = "" if "${" in (parts.username or "") else unquote(parts.username or "")
        address = urlunsplit(parts._replace(netloc=place)) if token else url
        return FoundTarget(chosen, engine, address, variable_of(chosen, "TOKEN"), has_token=True, password=token)
    if not parts.password or "${" in parts.password:
        return FoundTarget(chosen, engine, url)
    variable = variable_of(chosen, "PASSWORD")
    login = f"{parts.username}" if about.reads_password_apart else f"{parts.username}:${{{variable}}}"
    address = urlunsplit(parts._replace(netloc=f"{login}@{place}"))
    password = unquote(parts.password) if about.reads_password_apart else parts.password
    return FoundTarget(chosen, engine, address, variable, password=password)


_TEMPLATE: Final = """\
# What tsaudit audits, and whom it notifies. All keys: docs/configuration.md
# Secrets are written ${NAME} and read from the environment. Paths are relative to this file.
%(note)s
targets:
%(targets)s
    # databases: [metrics]          # %(databases)s; default: all that are not the engine's own
    # exclude: ["tmp_*"]            # patterns of measurement names
    # window: 30d                   # how far back rows are read

# Whom to notify: fill in the channel. `default` gets everything without another owner.
owners:
  default:
    # channel: "#data-platform"
  # team-metrics:
    # channel: "#metrics"
    # mention: U024BE7LH            # when something becomes critical

# Without a token, messages are shown in the terminal.
# slack:
#   token: ${SLACK_TOKEN}

# Both have to outlive the machine. Where its files do not, use an object store and PostgreSQL.
# report:
#   folder: .tsaudit/reports        # or s3://bucket/tsaudit
#   base_url: https://reports.example.com
# history: sqlite:///.tsaudit/history.db    # or postgresql://user:${NAME}@host/tsaudit
"""


def document(found: Sequence[FoundTarget], note: str = "") -> str:
    """The text of a tsaudit.yaml with these targets. `note`: lines for its head, each a comment with its line break."""
    from tsaudit.engines.registry import ENGINES

    nouns = listed(list(dict.fromkeys(f"{ENGINES[one.engine].words.database}s" for one in found)))
    return _TEMPLATE % {"targets": "\n".join(map(_target, found)), "databases": nouns, "note": note}


def proposed_limits(engine: Engine) -> str:
    """The lines of a target, as comments, from which its growth becomes a warning: the plan of a product, the series,
    and the space there is.
    """
    plan = next((limit.plan for limit in engine.limits if limit.plan), "")
    lines = f"    # plan: {plan:<24}# limits of a product; `tsaudit rules --plans` lists them\n" if plan else ""
    if not engine.keeps_documents:
        lines += "    # limits:\n    #   high-series-cardinality.max_series: 500000\n"
    if engine.infers_roles:
        # Nothing there limits the number of series, and no such server reports its disk: growth is a note without both.
        lines += "    # harm:\n    #   max_bytes: 500GB              # the space that there is for it\n"
    return lines


def _target(one: FoundTarget) -> str:
    from tsaudit.engines.registry import ENGINES

    lines = [f"  - name: {one.name}", f"    engine: {one.engine}", f"    url: {_quoted(one.url)}"]
    if one.variable and one.variable not in one.url:
        lines.append(f"    password: ${{{one.variable}}}")
    if len(one.databases) > 1:
        names = ", ".join(map(_quoted, one.databases))
        lines.append(f"    # databases: [{names}]    # all that are there now; without it, also later ones")
    lines.append("    owner: default                  # who gets its findings: a name below `owners`")
    lines.append('    schedule: "0 6 * * *"           # when Dagster audits it, in UTC')
    lines += proposed_limits(ENGINES[one.engine]).splitlines()
    if one.columns:
        lines.append("    # columns:                      # a guess: correct it, then uncomment it to declare it")
        lines += [f"    #   {entry}" for entry in one.columns[:_MOST_COLUMNS]]
    if (more := len(one.columns) - _MOST_COLUMNS) > 0:
        lines.append(f"    #   and {many(more, 'more table')}: `tsaudit check --roles {one.name}` lists them")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    """A YAML text with exactly this value; in single quotes, only the quote itself must be doubled."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True, slots=True)
class Existing:
    """An existing tsaudit.yaml."""

    file: Path
    lines: tuple[str, ...]
    targets: dict[str, tuple[str, str]]
    """Name to engine and address."""
    at: int
    """Index of the line before which a target is added."""
    indent: int
    """Column of the `-` before each target."""

    def new(self, found: Iterable[FoundTarget]) -> list[FoundTarget]:
        """The targets whose database is not yet in the file, with names that are not used in it."""
        known = set(self.targets.values())
        return discovery.unique([one for one in found if (one.engine, self._whole(one)) not in known], self.targets)

    def with_entries(self, entries: Sequence[str]) -> str:
        """The text of the file with the entries added; each entry begins with `  - `."""
        return "".join([*self.lines[: self.at], *map(self._indented, entries), *self.lines[self.at :]])

    def _indented(self, entry: str) -> str:
        end = "\r\n" if self.lines[0].endswith("\r\n") else "\n"
        return "".join(f"{' ' * self.indent}{line[2:]}{end}" for line in entry.splitlines())

    def _whole(self, one: FoundTarget) -> str:
        """The address in the form that the settings have."""
        from tsaudit.config.file import anchored_url
        from tsaudit.engines.registry import ENGINES

        return anchored_url(one.url, self.file.absolute().parent) if ENGINES[one.engine].is_a_file else one.url


def read(file: Path) -> Existing:
    """The file's contents. Raises ConfigError if it is invalid, click.UsageError if nothing can be added to it."""
    from tsaudit.config.file import load

    if not file.exists():
        raise click.UsageError(f"there is no {file} to add to; leave out `--add`")
    settings = load(file, resolve_env=False)
    text = file.read_bytes().decode()
    root = yaml.compose(text, yaml.SafeLoader)
    found = [value for key, value in root.value if key.value == "targets"] if isinstance(root, yaml.MappingNode) else []
    if not found or not isinstance(found[0], yaml.SequenceNode) or found[0].flow_style or not found[0].value:
        raise click.UsageError(f"`targets:` in {file} is not a list with a `-` before each target; add it by hand")
    lines = text.splitlines(keepends=True)
    if not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    at = min(found[0].end_mark.line + (found[0].end_mark.column > 0), len(lines))
    # Comments at the beginning of a line are about what follows the targets.
    while lines[at - 1].startswith("#") or not lines[at - 1].strip():
        at -= 1
    known = {t.name: (t.engine, t.url.get_secret_value()) for t in settings.targets}
    return Existing(file, tuple(lines), known, at, found[0].start_mark.column)


@click.group(cls=CommandGroup)
def config() -> None:
    """Work with tsaudit.yaml itself."""


@config.command()
def schema() -> None:
    """Print the JSON schema of the file, for editors."""
    from tsaudit.config.file import json_schema

    screen.as_json(json_schema())
