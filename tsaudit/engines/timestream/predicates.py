"""Finds out which tables a query reads and which columns it filters by, using sqlglot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from tsaudit.engines.opening import missing_driver
from tsaudit.errors import TsauditError

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.dialects import Dialect

_UNITS: Final = ("NS", "US", "MS", "S", "M", "H", "D", "W", "MO", "Y")
"""Units of durations such as `15m`, which do not exist in Trino's SQL."""


class UnreadableError(TsauditError):
    """sqlglot cannot parse the text as a query."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a query reads."""

    tables: frozenset[tuple[str, str]]
    """(database, table) of each table; the database is empty if it is not given. Names defined by WITH are not
    included.
    """
    filters: frozenset[str]
    """Columns that are compared directly in WHERE or ON; inside a function, they do not prune anything."""
    each: tuple[tuple[tuple[str, str], frozenset[str]], ...]
    """For each place where a table is read: the table, and the columns by which its rows are filtered there."""

    def filters_of(self, database: str, table: str) -> frozenset[str]:
        """Columns by which the rows of the table are filtered everywhere it is read, for example in each part of a
        UNION.
        """
        found = [columns for place, columns in self.each if place == (database, table)]
        return frozenset.intersection(*found) if found else frozenset()


def read(sql: str) -> Reading:
    """What the query reads, including its subqueries. Raises UnreadableError, and ConnectorError without sqlglot."""
    tree = _parsed(sql)
    places = _Places(tree)
    try:
        each = tuple(((t.db, t.name), frozenset(places.filters(t))) for t in _tables(tree))
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error
    return Reading(frozenset(place for place, _ in each), frozenset(_filters(tree)), each)


def _parsed(sql: str) -> exp.Query:
    try:
        import sqlglot
        from sqlglot import exp
    except ModuleNotFoundError as error:
        raise missing_driver("timestream", "timestream") from error
    try:
        tokens = _dialect().tokenize(sql)
        # For other statements, sqlglot would log that it does not understand them.
        if not tokens or tokens[0].text.upper() not in ("SELECT", "WITH", "("):
            raise UnreadableError("it does not begin with SELECT or WITH")
        trees = _dialect().parser().parse(tokens, sql)
    except sqlglot.ParseError as error:
        first = error.errors[0] if error.errors else {}
        where = f"line {first.get('line')}, column {first.get('col')}"
        raise UnreadableError(f"{where} is not SQL that sqlglot can parse") from error
    except sqlglot.errors.SqlglotError as error:
        raise UnreadableError("a quote or a comment in it has no end") from error
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error
    if len(trees) != 1 or not isinstance(tree := trees[0], exp.Query):
        raise UnreadableError("it is not a single query")
    return tree


@cache
def _dialect() -> Dialect:
    """The dialect of Trino, which Timestream is based on, extended by durations, which the parser reads as numbers."""
    from sqlglot.dialects.trino import Trino

    class Timestream(Trino):
        class Tokenizer(Trino.Tokenizer):
            NUMERIC_LITERALS = dict.fromkeys(_UNITS, "BIGINT")

    return Timestream()


def _tables(tree: exp.Query) -> Iterator[exp.Table]:
    from sqlglot import exp

    defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Identifier) and (table.db or table.name.lower() not in defined):
            yield table


def _filters(tree: exp.Query) -> Iterator[str]:
    from sqlglot import exp

    conditions = [where.this for where in tree.find_all(exp.Where)]
    conditions += [join.args["on"] for join in tree.find_all(exp.Join) if join.args.get("on")]
    for condition in conditions:
        yield from (column.name for column in _compared(condition))


def _compared(condition: exp.Expression) -> Iterator[exp.Column]:
    """Columns that are compared directly."""
    from sqlglot import exp

    # Subqueries have conditions of their own.
    for node in condition.walk(prune=lambda found: isinstance(found, exp.Query)):
        if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            sides = [node.this, node.expression]
        elif isinstance(node, exp.Predicate) and not isinstance(node, exp.Func):
            sides = [node.this]
        else:
            continue
        yield from (bare for side in sides if isinstance(bare := side.unnest(), exp.Column) and bare.name)


class _Places:
    """Finds the columns by which rows are filtered at each place where a query reads them."""

    def __init__(self, tree: exp.Query) -> None:
        self._tree = tree
        self._defined: dict[str, set[str]] = {}
        """Name defined by WITH to the columns by which all its readers filter."""

    def filters(self, source: exp.Expression) -> set[str]:
        """Columns in conditions on a table or a subquery in FROM: those of its own query, and of the
        queries around it.
        """
        from sqlglot import exp

        select = source.find_ancestor(exp.Select)
        if select is None:
            return set()
        where, name = select.args.get("where"), source.alias_or_name.lower()
        found = _always(where.this, name) if where else set()
        for join in select.args.get("joins") or ():
            # An outer join keeps the rows of one side, whatever its condition is.
            is_joined = join.this is source
            keeps = {"LEFT": not is_joined, "RIGHT": is_joined, "FULL": True}.get(join.side.upper(), False)
            if join.args.get("on") and not keeps:
                found |= _always(join.args["on"], name)
        return found | self._around(select)

    def _around(self, query: exp.Expression) -> set[str]:
        from sqlglot import exp

        around = query.parent
        while isinstance(around, exp.SetOperation) or (
            isinstance(around, exp.Subquery) and isinstance(around.parent, exp.SetOperation | exp.Subquery | exp.CTE)
        ):
            around = around.parent
        if isinstance(around, exp.Subquery) and isinstance(around.parent, exp.From | exp.Join):
            return self.filters(around)
        return self._of_readers(around.alias.lower()) if isinstance(around, exp.CTE) else set()

    def _of_readers(self, name: str) -> set[str]:
        from sqlglot import exp

        if name not in self._defined:
            self._defined[name] = set()  # Its definition may refer to itself.
            readers = [t for t in self._tree.find_all(exp.Table) if not t.db and t.name.lower() == name]
            found = [self.filters(reader) for reader in readers]
            self._defined[name] = set.intersection(*found) if found else set()
        return self._defined[name]


def _always(condition: exp.Expression, name: str) -> set[str]:
    """Columns of the source called `name` that are compared on every side of an OR."""
    from sqlglot import exp

    if isinstance(condition, exp.Paren):
        return _always(condition.this, name)
    if isinstance(condition, exp.And | exp.Or):
        left, right = _always(condition.this, name), _always(condition.expression, name)
        return left | right if isinstance(condition, exp.And) else left & right
    return {c.name for c in _compared(condition) if c.table.lower() in ("", name)}
