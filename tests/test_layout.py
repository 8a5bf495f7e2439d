"""The shape of the packages: no imports in circles, no names of engines outside their own, one root of all errors."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Final

import grimp
import pytest

from tsaudit.engines.registry import ENGINES

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("tsaudit", "dagster_tsaudit", "tsaudit_airflow", "dagster_project")


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def circles(imports: Mapping[str, Set[str]]) -> Iterator[list[str]]:
    """Modules that can each be reached from each other: groups of two and more, each once."""
    reachable: dict[str, set[str]] = {}
    for start in imports:
        found, waiting = set[str](), [start]
        while waiting:
            new = imports.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        reachable[start] = found
    left = {module for module in imports if module in reachable[module]}
    while left:
        first = min(left)
        group = {module for module in reachable[first] if first in reachable.get(module, ())}
        left -= group
        yield sorted(group)


def test_no_modules_import_in_a_circle() -> None:
    """Imports for types, and those within a function, count: what needs each other belongs together, or apart."""
    imports = {module: graph().find_modules_directly_imported_by(module) for module in graph().modules}
    assert sum(map(len, imports.values())) > 1_000
    assert list(circles(imports)) == []


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": {"e"}, "e": {"d"}}, [["b", "c"], ["d", "e"]]),
    ],
)
def test_circles_are_found(imports: Mapping[str, Set[str]], expected: list[list[str]]) -> None:
    assert list(circles(imports)) == expected


@cache
def layers() -> list[set[str]]:
    """The modules of each layer of the contract in pyproject.toml, from top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (found,) = (contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [set(re.findall(r"[\w.]+", layer)) for layer in found]


def imports_across_engines(
    imports: Mapping[str, Set[str]], engines: Mapping[str, Set[str]], shared: Set[str], above: Set[str]
) -> Iterator[str]:
    """Imports that break what the contracts do not say of engines, as they would have to list them.

    `engines`: package to the packages of the engines that its own extends. `shared`: what several engines build on.
    `above`: what no engine may know.
    """
    for importer, all_imported in imports.items():
        home = _inside(importer, {*engines, *shared})
        for imported in all_imported:
            into = _inside(imported, {*engines, *shared})
            if into and into != home and into not in engines.get(home, ()) and not (home and into in shared):
                yield f"{importer} imports {imported}: what engines share is in tsaudit.engines.sql"
            if home in engines and _inside(imported, above):
                yield f"{importer} imports {imported}, which is above it"


def _inside(module: str, packages: Set[str]) -> str:
    """The package that the module is in; empty if it is in none."""
    return next((package for package in packages if f"{module}.".startswith(f"{package}.")), "")


def test_engines_are_found_by_name_and_know_only_what_they_extend() -> None:
    own = {f"tsaudit.engines.{name}": engine for name, engine in ENGINES.items() if not engine.package}
    extended = {
        package: {other for other, about in own.items() if isinstance(engine, type(about))} - {package}
        for package, engine in own.items()
    }
    place = next(n for n, layer in enumerate(layers()) if "tsaudit.engines.sql" in layer)
    shared, above = layers()[place], set[str]().union(*layers()[:place])
    assert {"tsaudit.cli", "tsaudit.rules"} <= above
    imports = {module: graph().find_modules_directly_imported_by(module) for module in graph().modules}
    assert list(imports_across_engines(imports, extended, shared, above)) == []


@pytest.mark.parametrize(
    ("importer", "imported", "allowed"),
    [
        ("e.a.driver", "e.a", True),
        ("e.a.driver", "e.sql.connector", True),
        ("e.a", "e.b.driver", False),
        ("e.c", "e.a.driver", True),
        ("e.sql", "e.influx", True),
        ("e.sql", "e.a", False),
        ("e.registry", "e.a", False),
        ("e.registry", "e.sql", False),
        ("e.a.driver", "rules.names", False),
        ("e.ab", "e.b", False),
    ],
)
def test_imports_across_engines_are_found(importer: str, imported: str, allowed: bool) -> None:
    engines: dict[str, set[str]] = {"e.a": set(), "e.b": set(), "e.c": {"e.a"}}
    found = list(imports_across_engines({importer: {imported}}, engines, {"e.sql", "e.influx"}, {"rules"}))
    assert (not found) is allowed


def errors(source: str) -> Iterator[tuple[str, list[str]]]:
    """Each class of an error that the source defines, and its bases."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base).rpartition(".")[2] for base in node.bases]
            if any(base.endswith(("Error", "Exception", "Interrupt", "Exit")) for base in bases):
                yield node.name, bases


def test_every_error_has_one_root_and_a_name_of_its_own() -> None:
    # tsaudit_airflow must not import tsaudit: another interpreter may be the one that has it.
    own = [path for path in modules() if not path.is_relative_to(ROOT / "tsaudit_airflow")]
    found = [error for path in own for error in errors(path.read_text())]
    assert len(found) > 30
    rooted = {"TsauditError"}
    while new := {name for name, bases in found if rooted.intersection(bases)} - rooted:
        rooted |= new
    assert [name for name, _ in found if name not in rooted] == []
    assert len({name for name, _ in found}) == len(found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class AError(Exception): pass", [("AError", ["Exception"])]),
        ("class A(errors.TsauditError, OSError): pass", [("A", ["TsauditError", "OSError"])]),
        ("class A(dict): pass", []),
    ],
)
def test_errors_are_found(source: str, expected: list[tuple[str, list[str]]]) -> None:
    assert list(errors(source)) == expected


WHERE_NAMES_MEAN_SOMETHING_ELSE: Final = {
    "tsaudit/history": "the history's own database is SQLite or PostgreSQL, as SQLAlchemy calls them",
    "tsaudit_airflow/provider.py": "what a form offers; every process of Airflow reads it, so it imports no engine",
}


def by_name_of_engine(source: str) -> Iterator[tuple[int, str]]:
    """Lines of code that decide by the name of an engine, or by the class of its connector.

    Why a rule does not matter on an engine is no such code: a table of reasons that is given to `not_applicable`.
    """
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    tables = {
        id(argument)
        for call in nodes
        if isinstance(call, ast.Call)
        for argument in (keyword.value for keyword in call.keywords if keyword.arg in ("engines", "not_applicable"))
    }
    declared = {
        name.asname or name.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tsaudit.engines.")
        if (node.module or "").split(".")[2] in ENGINES
        for name in node.names
    }
    named = {name for name in declared if name == "ENGINE"}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _names_engine(node.value, named):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            named |= {target.id for target in targets if isinstance(target, ast.Name)}
    for node in nodes:
        if _decides(node, tables, declared, named):
            yield node.lineno if isinstance(node, ast.expr) else node.pattern.lineno, ast.unparse(node)


def _decides(node: ast.AST, tables: Set[int], declared: Set[str], named: Set[str]) -> bool:
    def names(part: ast.expr) -> bool:
        return _names_engine(part, named)

    match node:
        case ast.Compare():
            return any(map(names, (node.left, *node.comparators)))
        case ast.Set() | ast.Tuple() | ast.List():
            return len(node.elts) > 0 and all(map(names, node.elts))
        case ast.Dict():
            return id(node) not in tables and any(names(key) for key in node.keys if key)
        case ast.match_case():
            return any(names(part.value) for part in ast.walk(node.pattern) if isinstance(part, ast.MatchValue))
        case ast.Call(func=ast.Name("isinstance")):
            return bool(declared & {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)})
        case ast.Call(func=ast.Attribute(value=asked, attr="startswith" | "endswith")):
            # The history's address begins with such a name, too.
            return "engine" in ast.unparse(asked) and any(map(names, node.args))
    return False


def _names_engine(node: ast.expr, named: Set[str]) -> bool:
    """Whether it is the name of an engine, or `engine edition`, or a constant that is."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.partition(" ")[0] in ENGINES
    return isinstance(node, ast.Name) and node.id in named


def test_nothing_outside_the_packages_decides_by_the_name_of_an_engine() -> None:
    """What is true of an engine, its package declares: see `tsaudit.engines.engine.Engine`."""
    outside = [
        path
        for path in modules()
        if not path.is_relative_to(ROOT / "tsaudit/engines") and not path.is_relative_to(ROOT / "dagster_project")
        if not any(path.is_relative_to(ROOT / folder) for folder in WHERE_NAMES_MEAN_SOMETHING_ELSE)
    ]
    assert len(outside) > 200
    found = [
        f"{path.relative_to(ROOT)}:{line}: {code}"
        for path in outside
        for line, code in by_name_of_engine(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "decides"),
    [
        ("if case.profile.engine == 'duckdb': pass", True),
        ("if 'influxdb3 Core' != product: pass", True),
        ("if engine in {'duckdb', 'sqlite'}: pass", True),
        ("_OWN = frozenset({'duckdb', 'sqlite'})", True),
        ("for engine in ('greptimedb',): pass", True),
        ("_MAGIC = {'sqlite': b'SQLite'}", True),
        ("match engine:\n  case 'mongodb' | 'timestream': pass", True),
        ("if engine.startswith('influxdb3'): pass", True),
        ("from tsaudit.engines.mongodb.connector import A\nisinstance(connection, (A, B))", True),
        ("Threshold('max_tags', 5, 'tags', 'our default', {'greptimedb': (5, DESIGN)})", True),
        ("rule(not_applicable={'duckdb': 'it has none'})", False),
        ("from tsaudit.engines.greptimedb.tables import ENGINE\nif case.profile.engine != ENGINE: pass", True),
        ("_OURS: Final = 'duckdb'\nif engine == _OURS: pass", True),
        ("if case.engine.keeps_documents: pass", False),
        ("WORDS = {'sqlite', 'token'}", False),
        ("Target(engine='duckdb')", False),
    ],
)
def test_names_of_engines_are_found(source: str, decides: bool) -> None:
    assert bool(list(by_name_of_engine(source))) is decides


def test_makefile_names_files_that_exist() -> None:
    named = re.findall(r"(?<![\w/])(?:tests|bench|docs)/[\w./-]+", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert "tests/engines/postgresql" in named
    assert [name for name in named if not (ROOT / name).exists()] == []
