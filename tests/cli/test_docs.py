"""`docs/cli.md` and `docs/configuration.md` say what the program says; the README's commands exist.

The parts between the `generated` marks are written by `make golden`.
"""

from __future__ import annotations

import enum
import os
import re
import types
import typing
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from tsaudit.cli import main
from tsaudit.config.settings import Settings
from tsaudit.config.types import Model
from tsaudit.rules import all_rules

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- generated: begin -->\n", "<!-- generated: end -->\n"
WIDTH = 100


def top() -> click.Context:
    """The context of `tsaudit` itself. Its settings matter: click keeps the help option it makes from them."""
    return click.Context(main, info_name="tsaudit", terminal_width=WIDTH, **main.context_settings)


def commands(command: click.Command, context: click.Context | None = None) -> Iterator[tuple[str, click.Command, str]]:
    """(full name, command, help text), depth first."""
    name = context.command_path if context else "tsaudit"
    own = context or top()
    yield name, command, command.get_help(own)
    if isinstance(command, click.Group):
        for child in command.list_commands(own):
            found = command.get_command(own, child)
            assert found is not None
            yield from commands(found, click.Context(found, info_name=child, parent=own, terminal_width=WIDTH))


def cli_page() -> str:
    return "\n".join(f"### `{name}`\n\n```text\n{text}\n```\n" for name, _, text in commands(main))


def models(model: type[Model]) -> Iterator[type[Model]]:
    """The model and those inside it, in the order of the file."""
    yield model
    for field in model.model_fields.values():
        for inner in inside(field.annotation):
            yield from models(inner)


def inside(annotation: Any) -> Iterator[type[Model]]:
    if isinstance(annotation, type) and issubclass(annotation, Model):
        yield annotation
    for part in typing.get_args(annotation):
        yield from inside(part)


def kind(annotation: Any) -> str:
    """The type in a reader's words."""
    origin, parts = typing.get_origin(annotation), [p for p in typing.get_args(annotation) if p is not type(None)]
    if origin in (typing.Union, types.UnionType, typing.Annotated):
        return kind(parts[0])
    if origin is typing.Literal:
        return "one of " + ", ".join(f"`{p}`" for p in parts)
    if origin is tuple:
        return f"list of {kind(parts[0])}"
    if origin is dict:
        return f"name: {kind(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return "one of " + ", ".join(f"`{p.value}`" for p in annotation)
    plain = {str: "text", bool: "true or false", int: "whole number", float: "number"}
    return (plain | {timedelta: "duration", SecretStr: "secret"})[annotation]


def kind_of(field: FieldInfo) -> str:
    """Its type, with the values of a field for which they are looked up when a file is read."""
    schema: dict[str, Any] = {}
    if callable(field.json_schema_extra):
        field.json_schema_extra(schema)
    return "one of " + ", ".join(f"`{one}`" for one in schema["enum"]) if schema else kind(field.annotation)


def default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "**required**"
    if value is None or value in ({}, ()) or isinstance(value, Model | dict):
        return ""
    if isinstance(value, SecretStr):
        return f"`{value.get_secret_value()}`"
    if isinstance(value, timedelta):
        return f"`{value.days}d`"
    return f"`{', '.join(value) if isinstance(value, tuple) else value}`"


def configuration_page() -> str:
    seen = {m.__name__: m for m in models(Settings)}
    pages = []
    for name, model in seen.items():
        meanings = model.meanings()
        rows = [
            f"| `{key}` | {kind_of(f)} | {default(f)} | {' '.join(meanings.get(key, '').split())} |"
            for key, f in model.model_fields.items()
        ]
        about = " ".join((model.__doc__ or "").split())
        pages.append(
            f"### {name}\n\n{about}\n\n| key | what | default | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "\n".join(pages)


@pytest.mark.golden
@pytest.mark.parametrize(("file", "page"), [("cli.md", cli_page), ("configuration.md", configuration_page)])
def test_page_when_generated_is_current(file: str, page: typing.Callable[[], str]) -> None:
    path = ROOT / "docs" / file
    before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    found, _, after = rest.partition(END)
    if os.environ.get("TSAUDIT_REBASELINE"):
        path.write_text(f"{before}{BEGIN}\n{page()}\n{END}{after}", encoding="utf-8")
        return
    assert found == f"\n{page()}\n", f"docs/{file} is stale; `make golden` writes it"


def test_every_option_when_listed_has_help() -> None:
    silent = [
        f"{name} {parameter.name}"
        for name, command, _ in commands(main)
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help
    ]
    assert silent == []


def test_every_command_when_listed_has_its_own_first_line() -> None:
    """`tsaudit --help` prints them without loading the commands."""
    listed = dict(re.findall(r"^  ([a-z-]+) +(.+)$", main.get_help(top()), re.MULTILINE))
    context = top()
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        assert listed[name] == (command.help or "").split("\n")[0]
        assert command.name == name


def commands_in(text: str) -> set[str]:
    """`tsaudit x` in code blocks and inline code; a sentence may start with the program's name."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL))
    inline = re.findall(r"`tsaudit ([a-z][a-z-]*)", text)
    return {*re.findall(r"^tsaudit ([a-z][a-z-]*)", blocks, re.MULTILINE), *inline}


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "docs/cli.md", "docs/configuration.md"])
def test_commands_when_mentioned_exist(file: str) -> None:
    mentioned = commands_in((ROOT / file).read_text(encoding="utf-8"))
    assert mentioned <= set(main.list_commands(top()))


def test_commands_when_a_message_names_them_exist() -> None:
    known = {name: command for name, command, _ in commands(main)}
    texts = [
        file.read_text(encoding="utf-8") for file in (ROOT / "tsaudit").rglob("*") if file.suffix in (".py", ".j2")
    ]
    said = {found for text in texts for found in re.findall(r"(?:`|<code>)(tsaudit [a-z][a-z-]*)( [a-z]+)?", text)}
    groups = {name for name, command in known.items() if isinstance(command, click.Group)}
    named = {name + (rest if name in groups else "") for name, rest in said}
    assert "tsaudit history drop" in named
    assert named <= known.keys()


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_when_mentioned_exist(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    mentioned = set(re.findall(r"(?:^|`)make ([a-z0-9-]+)", text, re.MULTILINE))
    defined = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert mentioned
    assert mentioned <= defined


@pytest.mark.parametrize("file", ["README.md", "CONTRIBUTING.md", "docs/cli.md", "docs/configuration.md"])
def test_links_when_local_lead_somewhere(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    targets = [
        t.split("#")[0] for t in re.findall(r"(?<!!)\[[^\]]*\]\(([^)]+)\)", text) if not t.startswith(("http", "#"))
    ]
    assert [t for t in targets if not (ROOT / file).parent.joinpath(t).exists()] == []


def test_readme_when_counted_is_short_and_names_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 100
    assert {"make audit", "make test"} <= set(re.findall(r"^make [a-z]+", text, re.MULTILINE))
    assert {"init", "check", "audit"} <= commands_in(text)


def test_rules_when_a_page_gives_code_and_name_belong_together() -> None:
    names = {rule.code: rule.name for rule in all_rules()}
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    found = {
        (page.name, code, name)
        for page in pages
        for code, name in re.findall(r"\b([A-Z]{3}\d{3})[^\w\n]{1,4}([a-z]+(?:-[a-z]+)+)", page.read_text("utf-8"))
    }
    assert len(found) > len(names)
    assert {(page, code, name) for page, code, name in found if names.get(code) != name} == set()
