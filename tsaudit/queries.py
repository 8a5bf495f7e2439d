"""Reads the query files, `sql/<engine>/<fact>.<ext>`. The folder of an engine is its list of facts.

A query file is a Jinja template. Its header, comment lines at the top, says `fact:`, `columns:`, `cost:`,
`grant:`, `versions:` and `link:`. Names and text go through the filters `name` and `text`, which quote for the engine;
a parameter that is missing is an error, never an empty place in a statement. Instants go through `instant`
(a quoted text in UTC) and `epoch` (a number since 1970). Parts shared by queries are files whose names start with `_`.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tsaudit.dialect import quote_identifier, quote_text
from tsaudit.facts import FACTS

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_EXTENSIONS: Final = (".sql", ".influxql", ".flux", ".json")
_COMMENT: Final = re.compile(r"^\s*--.*\n?", re.MULTILINE)


def root() -> Path:
    """The folder `sql/`: inside the installed package, else at the top of the checkout."""
    installed = Path(__file__).parent / "_sql"
    return installed if installed.is_dir() else Path(__file__).parent.parent / "sql"


@functools.cache
def query_files(engine: str) -> dict[str, Path]:
    """Fact name to its file, for the facts the engine can be asked; empty for an engine without a folder."""
    folder = root() / engine
    if not folder.is_dir():
        return {}
    files = [p for p in sorted(folder.iterdir()) if p.suffix in _EXTENSIONS and p.stem in FACTS]
    return {p.stem: p for p in files}


def query_name(engine: str, fact: str) -> str:
    """How a figure names its query: the path below `sql/`."""
    return f"{engine}/{query_files(engine)[fact].name}"


@functools.cache
def _environment(engine: str) -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    shared = FunctionLoader(lambda name: _source(root() / engine / name))
    # Statements are no HTML: the filters `name` and `text` do the quoting.
    environment = Environment(loader=shared, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    environment.filters["name"] = functools.partial(quote_identifier, engine)
    environment.filters["text"] = functools.partial(quote_text, engine)
    environment.filters["instant"] = _instant
    environment.filters["epoch"] = _epoch
    return environment


def _instant(time: datetime) -> str:
    return time.astimezone(UTC).strftime("'%Y-%m-%d %H:%M:%S.%f'")


_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def _epoch(time: datetime, unit: str) -> int:
    # In whole microseconds: nanoseconds since 1970 do not fit a float.
    since = time - datetime.fromtimestamp(0, UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    # Rounded up: among whole numbers, `at or after 10.5` and `before 10.5` both mean 11.
    return -(-microseconds * _PER_SECOND[unit] // 1_000_000)


@functools.cache
def _source(path: Path) -> str:
    return _COMMENT.sub("", path.read_text(encoding="utf-8"), count=0).strip()


def render(engine: str, fact: str, **parameters: Any) -> str:
    """The statement for a fact, comments left out. KeyError for a fact the engine does not offer."""
    return _template(engine, fact).render(**parameters).strip()


@functools.cache
def _template(engine: str, fact: str) -> Template:
    # Compiling takes longer than many a statement, and there is one statement per measurement.
    return _environment(engine).from_string(_source(query_files(engine)[fact]))


def header(path: Path) -> dict[str, str]:
    """The `word: text` lines of a query file's header."""
    found: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("--"):
            break
        if match := re.match(r"--\s*(\w+):\s*(.+)", line):
            found[match[1]] = match[2].strip()
    return found
