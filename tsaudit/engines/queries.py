"""Reads the query files, `sql/<engine>/<fact>.<language>`. The files in an engine's folder define which facts it
offers.

A query file is a Jinja template. An engine may have files in several languages for one fact: the first in the order of
LANGUAGES is the normal one. The header, comment lines at the top (`--`, in Flux and JSON `//`), contains `fact:`,
`columns:`, `cost:`, `grant:`, `versions:`, and `link:`. Names and text go through the filters `name` and `text`, which
quote for the language; `selected` also extracts a tag that is a label from its column. A missing parameter is an error,
and never becomes an empty text in a statement. Times go through `instant` (a quoted string in UTC that ends with the
given zone) and `epoch` (a number since 1970). Parts shared by queries are files whose names start with `_`.
"""

from __future__ import annotations

import functools
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tsaudit.engines.quoting import Label, quote_flux
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import TsauditError
from tsaudit.model.facts import FACTS
from tsaudit.text import compiled_templates

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LANGUAGES: Final = ("sql", "influxql", "flux", "json")
_MARKS: Final = {"sql": "--", "influxql": "--", "flux": "//", "json": "//"}


class QueryFileError(TsauditError):
    """A query file cannot be read. The error's text is one line."""


def root() -> Path:
    """The folder `sql/`: inside the installed package, otherwise at the top of the checkout."""
    installed = Path(__file__).parents[1] / "_sql"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "sql"


def folders(engine: str) -> tuple[Path, ...]:
    """The folders with the engine's query files; the first one takes precedence."""
    about = ENGINES.get(engine)
    return about.sql_folders if about and about.sql_folders else (root() / engine,)


@functools.cache
def query_files(engine: str) -> dict[str, Path]:
    """Fact name to its file, for the facts that the engine offers; empty for an engine without a folder."""
    return {fact: next(iter(files.values())) for fact, files in _files(engine).items()}


def files_by_language(engine: str, fact: str) -> dict[str, Path]:
    """Language to file, for each way to query the engine for the fact; the normal one first."""
    return _files(engine)[fact]


@functools.cache
def _files(engine: str) -> dict[str, dict[str, Path]]:
    found: dict[str, dict[str, Path]] = {}
    for language in LANGUAGES:
        for path in (path for folder in folders(engine) for path in sorted(folder.glob(f"*.{language}"))):
            if path.stem in FACTS:
                found.setdefault(path.stem, {}).setdefault(language, path)
    return dict(sorted(found.items()))


def query_name(engine: str, fact: str, language: str = "") -> str:
    """The name of a query in a figure's source: its path below `sql/`, whatever engine the file was made for. Without a
    language, that of the normal file.
    """
    path = files_by_language(engine, fact)[language] if language else query_files(engine)[fact]
    return f"{path.parent.name}/{path.name}"


@functools.cache
def environment(engine: str, language: str) -> Environment:
    """The Jinja environment for the engine's query files in the language."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def found(name: str) -> str | None:
        if (path := Path(name)).is_absolute():
            return source(path)
        shared = next((path for folder in folders(engine) if (path := folder / name).is_file()), None)
        return source(shared) if shared else None

    # Escaping for HTML is off: the filters `name` and `text` do the quoting. Not optimized, so that what is stored does
    # not depend on them.
    environment = Environment(  # noqa: S701
        loader=FunctionLoader(found),
        bytecode_cache=compiled_templates.beside(Path(__file__).parent, f"{engine}-"),
        undefined=StrictUndefined,
        optimized=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["name"] = ENGINES[engine].language.identifier
    environment.filters["selected"] = functools.partial(_selected, engine)
    environment.filters["text"] = _TEXT.get(language) or ENGINES[engine].language.string
    environment.filters["instant"] = _instant
    environment.filters["epoch"] = _epoch
    return environment


def _selected(engine: str, name: str) -> str:
    """The tag for use in a list of columns to select: its quoted name, preceded by an expression if it is a label."""
    about = ENGINES[engine]
    quoted = about.language.identifier(name)
    if not isinstance(name, Label):
        return quoted
    column, label = about.language.identifier(name.column), about.language.string(name.label)
    return f"{about.label(column, name.data_type, label)} AS {quoted}"


_TEXT: Final = {"flux": quote_flux, "json": lambda text: json.dumps(str(text))}
"""Functions that quote text for languages that do not belong to an engine. To str first, so that the error about a
missing parameter names it.
"""


def _instant(time: datetime, zone: str = "") -> str:
    return time.astimezone(UTC).strftime(f"'%Y-%m-%d %H:%M:%S.%f{zone}'")


_PER_SECOND: Final = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def _epoch(time: datetime, unit: str) -> int:
    # In whole microseconds: nanoseconds since 1970 do not fit a float.
    since = time - datetime.fromtimestamp(0, UTC)
    microseconds = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    # Rounded up: for integers, `at or after 10.5` and `before 10.5` are both compared with 11.
    return -(-microseconds * _PER_SECOND[unit] // 1_000_000)


@functools.cache
def source(path: Path) -> str:
    """A query file without its comments. Raises QueryFileError."""
    comment = rf"^\s*{_MARKS[path.suffix[1:]]}.*\n?"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise QueryFileError(f"the query file {path} cannot be read ({error}): install tsaudit again") from error
    return re.sub(comment, "", text, flags=re.MULTILINE).strip()


def render(engine: str, fact: str, language: str = "", **parameters: Any) -> str:
    """The statement for a fact, without comments. Raises KeyError for a fact that the engine does not offer."""
    path = files_by_language(engine, fact)[language] if language else query_files(engine)[fact]
    return _template(engine, path).render(**parameters).strip()


def render_file(engine: str, name: str, **parameters: Any) -> str:
    """The statement in one of the engine's files that are not about a single fact, without comments."""
    return _template(engine, root() / engine / name).render(**parameters).strip()


@functools.cache
def _template(engine: str, path: Path) -> Template:
    # Cached, because compiling takes longer than many statements, and there is one statement per measurement.
    return environment(engine, path.suffix[1:]).get_template(str(path))
