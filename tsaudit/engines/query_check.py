"""Checks an engine's query files before any of them is run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tsaudit.engines import queries
from tsaudit.engines.engine import Engine
from tsaudit.model.facts import FACTS
from tsaudit.model.facts.given import names_of
from tsaudit.text import nearest

if TYPE_CHECKING:
    from jinja2 import Environment


def problems(engine: Engine) -> Iterator[str]:
    """A line for each file that is not a valid template, and for each name without a value."""
    for fact in queries.query_files(engine.name):
        offered = names_of(FACTS[fact].given).keys() | engine.parameters.keys()
        for path in queries.files_by_language(engine.name, fact).values():
            yield from _problems(engine.name, fact, path, sorted(offered))


def _problems(engine: str, fact: str, path: Path, offered: list[str]) -> Iterator[str]:
    from jinja2 import TemplateError

    file = f"{path.parent.name}/{path.name}"
    try:
        used = names_in(engine, path)
    except TemplateError as error:
        yield f"{file} is not a valid template: {str(error).splitlines()[0]}"
        return
    except queries.QueryFileError as error:
        yield str(error)
        return
    for name in sorted(used - set(offered)):
        hint = nearest(name, offered) or f"; they get {', '.join(offered) or 'nothing'}"
        yield f"{file} uses `{name}`, which queries for {fact} do not get{hint}"


def names_in(engine: str, path: Path) -> frozenset[str]:
    """The names that a query file and its includes expect. Raises jinja2.TemplateError."""
    environment = queries.environment(engine, path)
    return _names(environment, queries.source(path))


def _names(environment: Environment, source: str) -> frozenset[str]:
    from jinja2 import meta, nodes

    assert environment.loader is not None
    template = environment.parse(source)
    found = meta.find_undeclared_variables(template)
    # An included file also sees the variables set by the including file.
    own = {name.name for name in template.find_all(nodes.Name) if name.ctx == "store"}
    for included in meta.find_referenced_templates(template):
        if included is not None:
            found |= _names(environment, environment.loader.get_source(environment, included)[0]) - own
    return frozenset(found)
