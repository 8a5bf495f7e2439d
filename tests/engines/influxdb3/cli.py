"""The commands of the `influxdb3` program that plans use, carried out on a stand-in; what it refuses is refused.

https://docs.influxdata.com/influxdb3/core/reference/cli/influxdb3/
"""

from __future__ import annotations

import argparse
import re
import shlex
from datetime import timedelta
from typing import Final, NoReturn

from tests.databases import Dataset
from tests.engines.influxdb3.double import InfluxDB3

_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_NAME: Final = re.compile(r"[A-Za-z0-9][\w/-]{0,63}", re.ASCII)
"""Of a database: begins with a letter or a digit."""


class RefusedCommandError(Exception):
    """What the program prints instead of doing it."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise RefusedCommandError(message)


def run(command: str, server: InfluxDB3) -> None:
    """RefusedCommandError for what the program does not know, RefusedError for what the server does not do."""
    program, *words = shlex.split(command)
    if program != "influxdb3":
        raise RefusedCommandError(f"{program}: command not found")
    asked = _parser().parse_args(words)
    if asked.verb == "show":
        return
    if asked.verb == "delete":
        server.delete_table(asked.database, asked.name)
    else:
        if not _NAME.fullmatch(asked.name) or server.has(asked.name):
            raise RefusedCommandError(f"attempted to create database {asked.name}: invalid, or exists")
        server.write(Dataset(database=asked.name, retention=_period(asked.retention_period)))


def _parser() -> _Parser:
    parser = _Parser(prog="influxdb3", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("show").add_subparsers(dest="what", required=True).add_parser("databases")
    delete = verbs.add_parser("delete").add_subparsers(dest="what", required=True).add_parser("table")
    delete.add_argument("--database", "-d", required=True)
    delete.add_argument("name")
    create = verbs.add_parser("create").add_subparsers(dest="what", required=True).add_parser("database")
    create.add_argument("--retention-period")
    create.add_argument("name")
    return parser


def _period(text: str | None) -> timedelta | None:
    if text is None:
        return None
    if not (found := re.fullmatch(r"(\d+)([hdw])", text)):
        raise RefusedCommandError(f"invalid value '{text}' for '--retention-period'")
    return int(found[1]) * _UNITS[found[2]]
