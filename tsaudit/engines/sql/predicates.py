"""Which tables a query reads and which columns it filters by, as far as its words tell. No statement is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""(?P<skip>\s+|--[^\n]*|/\*.*?\*/)
      | (?P<text>'(?:[^']|'')*')
      | (?P<quoted>"(?:[^"]|"")*")
      | (?P<word>[^\W\d]\w*)
      | (?P<comparison><>|!=|<=|>=|=|<|>)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_COMPARING: Final = frozenset({"IN", "BETWEEN", "LIKE", "IS", "NOT"})
_ENDS_FILTER: Final = frozenset({"GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "SELECT"})
_WORDS: Final = (
    _COMPARING | _ENDS_FILTER | {"AND", "OR", "NULL", "TRUE", "FALSE", "CASE", "WHEN", "THEN", "ELSE", "END"}
)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str

    @property
    def keyword(self) -> str:
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """The identifier that it is; empty when it is none."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text if self.kind == "word" and self.keyword not in _WORDS else ""


def tables(sql: str) -> frozenset[tuple[str, str]]:
    """(database, table) of each that stands behind FROM or JOIN; the database is empty where it is not named."""
    found, depth, naming = set(), 0, set[int]()
    tokens = _tokens(sql)
    for i, token in enumerate(tokens):
        if token.kind == "other" and token.text == "(":
            depth += 1
        elif token.kind == "other" and token.text == ")":
            naming.discard(depth)
            depth -= 1
        elif token.keyword == "FROM":
            naming.add(depth)
        elif token.keyword == "WHERE" or token.keyword in _ENDS_FILTER:
            naming.discard(depth)
        # Behind a comma stands a further table, as long as conditions have not begun.
        begins = token.keyword in ("FROM", "JOIN") or (token.text == "," and depth in naming)
        if begins and i + 1 < len(tokens) and tokens[i + 1].name:
            first = tokens[i + 1].name
            named = i + 3 < len(tokens) and tokens[i + 2].text == "."
            found.add((first, tokens[i + 3].name) if named else ("", first))
    return frozenset(found)


def filtered_columns(sql: str) -> frozenset[str]:
    """Columns that stand beside a comparison behind WHERE or ON, by themselves: in a function they prune nothing."""
    tokens = list(_filters(_tokens(sql)))
    found = set()
    for i, token in enumerate(tokens):
        if token.kind != "comparison" and token.keyword not in _COMPARING:
            continue
        if i and tokens[i - 1].name:
            found.add(tokens[i - 1].name)
        if token.kind == "comparison" and i + 1 < len(tokens) and tokens[i + 1].name:
            behind = tokens[i + 2].text if i + 2 < len(tokens) else ""
            if behind == "." and i + 3 < len(tokens):
                found.add(tokens[i + 3].name)
            elif behind != "(":
                found.add(tokens[i + 1].name)
    return frozenset(found - {""})


def _tokens(sql: str) -> list[_Token]:
    found = (_Token(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(sql))
    return [token for token in found if token.kind != "skip"]


def _filters(tokens: Sequence[_Token]) -> Iterator[_Token]:
    """The tokens of the conditions, of subqueries too."""
    depth, filtering = 0, set[int]()
    for token in tokens:
        if token.text == "(" and token.kind == "other":
            depth += 1
            if depth - 1 in filtering:
                filtering.add(depth)
        elif token.text == ")" and token.kind == "other":
            filtering.discard(depth)
            depth -= 1
        elif token.keyword in ("WHERE", "ON"):
            filtering.add(depth)
            continue
        elif token.keyword in _ENDS_FILTER:
            filtering.discard(depth)
        if depth in filtering:
            yield token
