"""Puts packages on the path that declare entry points, as an installer would, for the length of a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tsaudit import plugins, rule, rules
from tsaudit.engines import queries
from tsaudit.engines.registry import ENGINES
from tsaudit.rules import rule_texts

Install = Callable[..., None]


def forget() -> None:
    """Let the next call search for packages and their files again."""
    ENGINES.forget()
    for module in (plugins, queries, rule, rules, rule_texts):
        for one in vars(module).values():
            if hasattr(one, "cache_clear"):
                one.cache_clear()


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """`install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules="the module's text")`."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    before = set(sys.modules)

    def installing(package: str, points: dict[str, dict[str, str]], **modules: str) -> None:
        info = site / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [
            line
            for group, entries in points.items()
            for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
        ]
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for name, text in modules.items():
            (site / f"{name}.py").write_text(text)
        forget()

    yield installing
    for name in set(sys.modules) - before:
        if str(site) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]
    monkeypatch.undo()
    forget()
