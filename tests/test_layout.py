"""The shape of the packages: modules of a length to be read, few at the top, and no imports in circles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from functools import cache
from pathlib import Path
from typing import Final

import grimp
import pytest

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("tsaudit", "dagster_tsaudit", "dagster_project")
MOST_LINES: Final = 350
MOST_AT_THE_TOP: Final = 12


def modules() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_no_module_is_too_long() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in modules()}
    assert len(lengths) > 300
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_few_modules_stand_at_the_top() -> None:
    top = sorted(path.name for path in (ROOT / "tsaudit").glob("*.py"))
    assert len(top) <= MOST_AT_THE_TOP, top


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
