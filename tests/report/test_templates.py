"""Compiled templates are kept beside the bytecode, where that is allowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tsaudit.report import html

Render = Callable[[], str]


@pytest.fixture
def render(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Render:
    """As a new process does, with a folder of its own."""
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "hello.html.j2").write_text("hello")
    for asset in ("style.css", "script.js"):
        (tmp_path / asset).write_text("")
    monkeypatch.setattr(html, "_HERE", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return lambda: html._environment.__wrapped__().get_template("hello.html.j2").render()


def test_templates_are_compiled_once(render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert render() == "hello"
    assert list((tmp_path / "__pycache__").glob("*.jinja"))
    monkeypatch.setattr("jinja2.environment.Environment.compile", None)
    assert render() == "hello"


def test_another_text_is_compiled_anew(render: Render, tmp_path: Path) -> None:
    render()
    (tmp_path / "hello.html.j2").write_text("good morning")
    assert render() == "good morning"


@pytest.mark.parametrize("why", ["no bytecode", "no right", "no folder"])
def test_nothing_is_kept_where_python_keeps_nothing(
    render: Render, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    folder = tmp_path / "__pycache__"
    if why == "no bytecode":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    elif why == "no right":
        monkeypatch.setattr(os, "access", lambda *_: False)
    else:
        folder.rmdir()
    assert render() == "hello"
    assert not list(tmp_path.glob("**/*.jinja"))
