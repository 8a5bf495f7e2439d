"""The first tier does not depend on the speed of the machine: what has a short limit is tried again, and is `full`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_AMPLE_S: Final = 30.0
"""Longer than a busy machine stops; whoever measures nothing but what comes back gives 60."""

_LIMITS: Final = frozenset({"timeout_s", "statement_timeout_s", "deadline_s"})
_QUERIES: Final = frozenset({"query", "query_together"})


def test_limits_of_the_first_tier_are_ample() -> None:
    files = {path: path.read_text() for path in Path(__file__).parent.rglob("test_*.py") if path != Path(__file__)}
    written = re.compile("|".join((*_LIMITS, *_QUERIES, "monotonic")))
    tight = [
        f"{path.name}::{test}"
        for path, text in files.items()
        if written.search(text)
        for test in _tight(ast.parse(text))
    ]
    assert not tight, "mark them as wall_clock, or give them 60 s"


def test_a_tight_limit_is_noticed() -> None:
    source = (
        "def test_a(): connection.query('rows', 5, {})\n"
        "def test_b(): Budget(deadline_s=2)\n"
        "def test_c(): assert time.monotonic() - began < 2\n"
        "def test_d(): connection.query('rows', 60, {})\n"
        "@pytest.mark.wall_clock\n"
        "def test_e(): Budget(deadline_s=2)\n"
    )
    assert list(_tight(ast.parse(source))) == ["test_a", "test_b", "test_c"]


def _tight(module: ast.Module) -> Iterator[str]:
    for test in ast.walk(module):
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
            marked = any("wall_clock" in ast.unparse(mark) for mark in test.decorator_list)
            if not marked and any(_is_tight(part) for part in ast.walk(test)):
                yield test.name


def _is_tight(part: ast.AST) -> bool:
    if isinstance(part, ast.Compare):
        return "time.monotonic() - " in ast.unparse(part)
    if not isinstance(part, ast.Call):
        return False
    limits = [keyword.value for keyword in part.keywords if keyword.arg in _LIMITS]
    if isinstance(part.func, ast.Attribute) and part.func.attr in _QUERIES:
        limits += part.args[1:2]
    given = [limit.value for limit in limits if isinstance(limit, ast.Constant)]
    return any(isinstance(seconds, int | float) and seconds < _AMPLE_S for seconds in given)
