"""The wording of code, documents, templates and query files: `words.txt` lists what to keep out of them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("tsaudit", "dagster_tsaudit", "tsaudit_airflow", "dagster_project")
LIST = ROOT / "tests" / "words.txt"


def listed() -> dict[str, str]:
    """Wrong wording to the better one."""
    lines = (line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    pairs = [tuple(map(str.strip, line.split("=>"))) for line in lines]
    return {pair[0]: pair[1] for pair in pairs}


def pattern(wrong: str) -> re.Pattern[str]:
    """Finds the wording, but neither in names (`grey-list`, `catalogue.py`) nor in addresses."""
    words = r"\s+".join(re.escape(word).replace(r"\*", r"\w*") for word in wrong.split())
    return re.compile(rf"(?<![\w`/.=-]){words}(?![\w`/=-]|\.\w)", re.IGNORECASE)


PATTERNS = {wrong: pattern(wrong) for wrong in listed()}
ANY = re.compile("|".join(p.pattern for p in PATTERNS.values()), re.IGNORECASE)


def python_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every string and every block of comments."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
    block, last = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            block = f"{block} {token.string[1:].strip()}" if line == last + 1 else token.string[1:].strip()
            last = line
            yield line, block


def query_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of the comments; the rest belongs to the database."""
    for number, line in enumerate(source.splitlines(), start=1):
        if line.startswith(("--", "//")):
            yield number, line[2:]


def texts() -> Iterator[tuple[Path, int, str]]:
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            yield from ((path, *found) for found in python_texts(path.read_text(encoding="utf-8")))
        for path in (ROOT / package).rglob("*.j2"):
            yield path, 1, path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "sql").rglob("*.md")):
        yield path, 1, path.read_text(encoding="utf-8")
    for path in (ROOT / "sql").rglob("*.*"):
        if path.suffix != ".md":
            yield from ((path, *found) for found in query_texts(path.read_text(encoding="utf-8")))


def problems(text: str) -> list[str]:
    """`wrong -> better` for each listed wording in the text."""
    if not ANY.search(text):
        return []
    return [
        f"{found[0]!r} -> {better}" for wrong, better in listed().items() if (found := PATTERNS[wrong].search(text))
    ]


def test_wording_when_everything_is_read() -> None:
    found = {
        f"{path.relative_to(ROOT)}:{line}: {problem}" for path, line, text in texts() for problem in problems(text)
    }
    assert not found, "reword these, or change tests/words.txt:\n" + "\n".join(sorted(found))


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
    for wrong, better in listed().items():
        assert not pattern(wrong).search(better.replace("(", " ")), f"{wrong}: the better wording contains it"
