"""Text as Markdown. Names and messages contain text from databases: it is shown, never rendered."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tsaudit.text import number, printable

MAX_ROWS: Final = 50
"""Maximum number of rows in a table: Dagster stores each of them in its event log permanently, and pages
become slow.
"""
_LONGEST: Final = 1000
_CODE: Final = re.compile("`([^`]+)`")
_SYNTAX: Final = re.compile(r"([\\`*_{}\[\]<>()#|!~&@])")


_ADDRESS: Final = re.compile(r"\b((?:https?|ftp):(?=//)|(?:mailto|xmpp):|www(?=\.))", re.IGNORECASE)
_NO_LINK: Final = "\u200b"
"""A zero-width space: GitHub and Dagster turn bare addresses into links, even escaped ones."""


def escape(text: object) -> str:
    """The text on one line, with all Markdown syntax escaped, including `@`, which would notify people on GitHub, and
    bare addresses, which would become links.
    """
    return _escaped(_line(text))


def _line(text: object) -> str:
    return printable(" ".join(str(text).split()), _LONGEST)


def _escaped(line: str) -> str:
    return _ADDRESS.sub(rf"\1{_NO_LINK}", _SYNTAX.sub(r"\\\1", line))


def prose(text: object) -> str:
    """The text on one line, escaped except for what stands between backticks, which becomes code: commands and keys.

    Nothing in code is rendered, so text from a database may contain backticks, too. Not for cells of tables.
    """
    return "".join(code(part) if at % 2 else _escaped(part) for at, part in enumerate(_CODE.split(_line(text))))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table of at most MAX_ROWS rows; a last line says how many are left out."""
    lines = ["| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows]
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *_first(lines)])


def items(lines: Iterable[str]) -> str:
    """A Markdown list of at most MAX_ROWS lines, which must already be escaped; a last line says how many
    are left out.
    """
    return "\n".join(_first([f"- {line}" for line in lines]))


def _first(lines: Sequence[str]) -> Iterator[str]:
    yield from lines[:MAX_ROWS]
    if len(lines) > MAX_ROWS:
        yield f"\n{number(len(lines) - MAX_ROWS)} more are in the report."


def statement(text: str) -> str:
    """The text unchanged, to be copied, each line as inline code, which wraps: a code block does not wrap and would
    widen Dagster's pages, which then cut off whatever is beside it.
    """
    lines = text.split("\n")
    if any(not line or line != " ".join(line.split()) for line in lines):
        # A browser would show, and copy, several spaces as one.
        return code_block(text)
    return "\\\n".join(map(_inline_code, lines))


def _inline_code(line: str) -> str:
    longest = _longest_run(line)
    fence, blank = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{blank}{line}{blank}{fence}"


def code_block(text: str) -> str:
    """The text unchanged, to be copied, as a code block with a fence that is longer than any in the text."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}\n{text}\n{fence}"


def code(text: str) -> str:
    """The text as inline code in one line."""
    return _inline_code(printable(" ".join(text.split()), _LONGEST))


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
