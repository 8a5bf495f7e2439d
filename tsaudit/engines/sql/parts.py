"""What each change adds to a step: sentences and statements, which must fit on one screen together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.model.plan import Step, StepKind
from tsaudit.text import listed, many

MOST_LINES: Final = 10
"""Maximum number of lines in the text of a step."""
MOST_OF_PLAN: Final = 20
"""Maximum number of lines in the texts of all steps, so that they fit on a screen of forty lines together with the
sentences.
"""
_WIDTH: Final = 96
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a step about one change, or about several changes of the same kind."""

    words: str
    """Complete sentences. The first one says what to do, and can be understood without the others."""
    statements: tuple[str, ...] = ()
    """The statements, in order; each may have several lines, and ends as the language requires."""
    locks: str = ""
    cost: str = ""
    loses: str = ""
    are_one: bool = False
    """Whether the statements belong together: all of them are shown, or none."""


def joined(kind: StepKind, parts: Sequence[Part], language: str = "sql") -> Step | None:
    """One step with all the parts; None if there are none. Statements that do not fit are only counted."""
    if not parts:
        return None
    each = (("\n".join(part.statements),) if part.are_one and part.statements else part.statements for part in parts)
    statements = list(dict.fromkeys(one for some in each for one in some))

    def all_of(values: Iterable[str]) -> str:
        return "; ".join(dict.fromkeys(filter(None, values)))

    return Step(
        kind,
        " ".join(dict.fromkeys(part.words for part in parts if part.words)),
        shown(statements),
        language if statements else "",
        locks=all_of(part.locks for part in parts),
        cost=all_of(part.cost for part in parts),
        loses=all_of(part.loses for part in parts),
    )


def shown(statements: Sequence[str], most: int = MOST_LINES) -> str:
    """As many of the statements as fit into `most` lines, followed by the number of those left out."""
    found, lines = list[str](), 0
    for number, one in enumerate(statements):
        lines += lines_of(one)
        if number and lines + (number + 1 < len(statements)) > most:
            return "\n".join([*found, _left_out(found, statements[number:])])
        found.append(one)
    return "\n".join(found)


def _left_out(found: Sequence[str], rest: Sequence[str]) -> str:
    """The number of statements that are not shown, and their form."""
    known = {_form(one) for text in found for one in _split(text)}
    left = [_form(one) for text in rest for one in _split(text)]
    others = [form for form in dict.fromkeys(left) if form not in known]
    return f"-- {many(len(left), 'more statement')} {f'({listed(others, 3)})' if others else 'of the same form'}"


def _split(text: str) -> list[str]:
    return text.split(";\n")


def _form(statement: str) -> str:
    return " ".join(statement.split()[:2])


def fits(*statements: str, most: int = MOST_LINES) -> bool:
    """Whether all the statements fit into one step."""
    return lines_of(*statements) <= min(most, MOST_LINES)


def lines_of(*texts: str) -> int:
    """The total number of lines of the texts."""
    return sum(len(text.splitlines()) for text in texts)


def folded(pieces: Iterable[str]) -> str:
    """The pieces separated by spaces, on as many lines as necessary. Lines are only broken between pieces."""
    lines = [""]
    for piece in pieces:
        if lines[-1].strip() and len(lines[-1]) + len(piece) >= _WIDTH:
            lines.append(f"{_INDENT}{piece}")
        else:
            lines[-1] += f" {piece}" if lines[-1] else piece
    return "\n".join(lines)


def enumerated(items: Sequence[str], before: str = "", after: str = "") -> list[str]:
    """The items as pieces of a list, separated by commas."""
    if not items:
        return []
    found = [f"{item}," for item in items[:-1]] + [items[-1]]
    found[0], found[-1] = f"{before}{found[0]}", f"{found[-1]}{after}"
    if len(items) == 1:
        found[0] = f"{before}{items[0]}{after}"
    return found


def insert(table: str, columns: Sequence[str], values: Sequence[str], end: str, distinct: str = "") -> str:
    """An INSERT INTO ... SELECT statement. Names must be quoted; `end`: the part from FROM on."""
    into = folded([f"INSERT INTO {table}", *enumerated(columns, "(", ")")])
    return f"{into}\n{folded([f'SELECT{distinct}', *enumerated(values), end])}"


def create_table(name: str, lines: Sequence[str], end: str = "") -> str:
    """A CREATE TABLE statement. `name` must be quoted; `lines`: columns and constraints; `end`: what follows the
    parenthesis.
    """
    body = folded(enumerated(lines))
    return f"CREATE TABLE {name} (\n{_INDENT}{body}\n){end};"
