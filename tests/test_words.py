"""The wording of code, documents, templates and query files, and their names: `words.txt` lists what to avoid."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from tsaudit.cli import main
from tsaudit.history.schema import metadata

ROOT = Path(__file__).parents[1]
PACKAGES = ("tsaudit", "dagster_tsaudit", "tsaudit_airflow", "dagster_project")
LIST = ROOT / "tests" / "words.txt"


def entries() -> dict[str, str]:
    """What to avoid to what to write. Names have backticks."""
    lines = (line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    pairs = [tuple(map(str.strip, line.split("=>"))) for line in lines]
    return {pair[0]: pair[1] for pair in pairs}


def listed() -> dict[str, str]:
    """Wrong wording to the better one."""
    return {wrong: better for wrong, better in entries().items() if not wrong.startswith("`")}


def listed_names() -> dict[str, str]:
    """The same for words in names."""
    return {wrong.strip("`"): better for wrong, better in entries().items() if wrong.startswith("`")}


def pattern(wrong: str) -> re.Pattern[str]:
    """Finds the wording, but neither in names (`grey-list`, `catalogue.py`) nor in addresses."""
    words = r"\s+".join(re.escape(word).replace(r"\*", r"\w*") for word in wrong.split())
    return re.compile(rf"(?<![\w`/.=-]){words}(?![\w`/=-]|\.\w)", re.IGNORECASE)


BETTER = listed()
PATTERNS = {wrong: pattern(wrong) for wrong in BETTER}
WORDS = {wrong: frozenset(re.findall(r"\w+(?![\w*])", wrong.lower())) for wrong in BETTER}
"""The wording to the words that a text has to have for it, other than those that may end in any way."""


@cache
def python_words(source: str) -> tuple[list[tuple[int, str]], set[str]]:
    """(line, text) of every string and every block of comments; every identifier, and every key of a dictionary."""
    texts, names = [], set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append((node.lineno, node.value))
        elif isinstance(node, ast.Dict):
            keys = (key.value for key in node.keys if isinstance(key, ast.Constant))
            names |= {key for key in keys if isinstance(key, str) and key.isidentifier()}
    block, last = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            names.add(token.string)
        elif token.type == tokenize.COMMENT:
            line = token.start[0]
            block = f"{block} {token.string[1:].strip()}" if line == last + 1 else token.string[1:].strip()
            last = line
            texts.append((line, block))
    return texts, names


def query_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the comments; the rest belongs to the database."""
    for number, line in enumerate(source.splitlines(), start=1):
        if line.startswith(("--", "//")):
            yield number, line[2:]


def texts() -> Iterator[tuple[Path, int, str]]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            yield from ((path, *found) for found in python_words(path.read_text(encoding="utf-8"))[0])
        for path in (ROOT / package).rglob("*.j2"):
            yield path, 1, path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "sql").rglob("*.md")):
        yield path, 1, path.read_text(encoding="utf-8")
    for path in (ROOT / "sql").rglob("*.*"):
        if path.suffix != ".md":
            yield from ((path, *found) for found in query_texts(path.read_text(encoding="utf-8")))


def problems(text: str) -> list[str]:
    """`wrong -> better` for each listed wording in the text."""
    # A pattern is tried at each place of the text, and few texts have all words of one.
    words = set(re.findall(r"\w+", text.lower()))
    likely = (wrong for wrong in PATTERNS if WORDS[wrong] <= words)
    return [f"{found[0]!r} -> {BETTER[wrong]}" for wrong in likely if (found := PATTERNS[wrong].search(text))]


def test_wording_when_everything_is_read() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {problem}" for path, line, text in texts() for problem in problems(text)
    }
    assert not found, "reword these, or change tests/words.txt:\n" + "\n".join(sorted(found))


def name_words(name: str) -> str:
    """`ChangingTag`, `changing-tag`, and `CHANGING_TAG` as `_changing_tag_`."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+", name)
    return f"_{'_'.join(parts).lower()}_"


ANY_NAME = re.compile("|".join(wrong.replace("_", "[-_]?") for wrong in listed_names()), re.IGNORECASE)


@cache
def name_problems(name: str) -> list[str]:
    """`name: word -> better` for each listed word in the name."""
    if not ANY_NAME.search(name):
        return []
    words = name_words(name)
    return [f"{name}: {wrong} -> {better}" for wrong, better in listed_names().items() if f"_{wrong}_" in words]


def json_keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for inside in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from json_keys(inside)


def options(command: click.Command) -> Iterator[str]:
    """The command's name, its options and arguments, and those of the commands inside."""
    yield command.name or ""
    for parameter in command.params:
        yield from (parameter.name or "", *parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inside = command.get_command(context, name)
            assert inside is not None
            yield from options(inside)


def names() -> Iterator[tuple[str, str]]:
    """(where, name) of every name that people or programs read."""
    for folder in (*PACKAGES, "sql", "docs"):
        for path in (ROOT / folder).rglob("*.*"):
            where = str(path.relative_to(ROOT))
            if "__pycache__" in path.parts:
                continue
            yield where, path.stem
            if path.suffix == ".py":
                yield from ((where, name) for name in python_words(path.read_text(encoding="utf-8"))[1])
    for path in (ROOT / "tests" / "golden").glob("*.json"):
        yield from ((path.name, key) for key in json_keys(json.loads(path.read_text(encoding="utf-8"))))
    yield from (("tsaudit --help", name) for name in options(main))
    for table in metadata.tables.values():
        yield from ((table.name, column.name) for column in table.columns)


def refused(found: Iterable[tuple[str, str]]) -> list[str]:
    return sorted({f"{where}: {problem}" for where, name in found for problem in name_problems(name)})


def test_names_when_everything_is_read() -> None:
    found = set(names())
    assert len(found) > 20_000
    assert ("incident_day", "owner") in found
    assert ("tsaudit --help", "--no-notify") in found
    assert not (wrong := refused(found)), "rename these, or change tests/words.txt:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("changing_tag", 1),
        ("ChangingTagRule", 1),
        ("--changing-tag", 1),
        ("_MOST_TOLD", 1),
        ("is_guilty_of_story", 2),
        ("unchanging_tags", 0),
        ("HTMLStory2", 1),
        ("history", 0),
    ],
)
def test_name_when_a_word_of_it_is_listed(name: str, count: int) -> None:
    assert len(name_problems(name)) == count


def test_names_are_read_from_code_and_json() -> None:
    assert {"told", "story"} <= python_words("def f(told): return {'story': 1, 'a b': 2}")[1]
    assert list(json_keys({"a": [{"guilty": None}], "b": {"c": 1}})) == ["a", "b", "guilty", "c"]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("the tag to blame", 1),
        ("The tag to\n    blame", 1),
        ("its Behaviours", 1),
        ("a dear query, for good", 2),
        ("see catalogue.py, `catalogue` and catalogue_of", 0),
        ("endear, dearth, renewed", 0),
    ],
)
def test_wording_when_it_is_listed(text: str, count: int) -> None:
    assert len(problems(text)) == count


def test_list_when_read() -> None:
    assert len(listed()) > 40
    assert len(listed_names()) > 30
    for wrong, better in listed().items():
        assert not pattern(wrong).search(better.replace("(", " ")), f"{wrong}: the better wording contains it"
