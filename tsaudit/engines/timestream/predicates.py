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
    """(database, table) of each table; the database is empty if it is not given. Without names defined by WITH."""
    filters: frozenset[str]
    """Columns that are compared directly in WHERE or ON."""
    only_computed: frozenset[str]
    """Other columns in these conditions: inside a function or a calculation, a column does not prune anything."""


def read(sql: str) -> Reading:
    """What the query reads, including its subqueries. Raises UnreadableError, and ConnectorError without sqlglot."""
    tree = _parsed(sql)
    try:
        conditions = list(_conditions(tree))
        filters = frozenset(column.name for one in conditions for column in _compared(one))
        named = frozenset(column.name for one in conditions for column in _columns(one))
        return Reading(frozenset((t.db, t.name) for t in _tables(tree)), filters, named - filters)
    except RecursionError as error:
        raise UnreadableError("it is nested too deeply") from error


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


def _conditions(tree: exp.Query) -> Iterator[exp.Expression]:
    from sqlglot import exp

    yield from (where.this for where in tree.find_all(exp.Where))
    yield from (join.args["on"] for join in tree.find_all(exp.Join) if join.args.get("on"))


def _inside(condition: exp.Expression) -> Iterator[exp.Expr]:
    """All parts of a condition but its subqueries, which have conditions of their own."""
    from sqlglot import exp

    return condition.walk(prune=lambda found: isinstance(found, exp.Query))


def _columns(condition: exp.Expression) -> Iterator[exp.Column]:
    from sqlglot import exp

    return (node for node in _inside(condition) if isinstance(node, exp.Column))


def _compared(condition: exp.Expression) -> Iterator[exp.Column]:
    """Columns that are compared directly."""
    from sqlglot import exp

    for node in _inside(condition):
        if isinstance(node, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE):
            sides = [node.this, node.expression]
        elif isinstance(node, exp.Predicate) and not isinstance(node, exp.Func):
            sides = [node.this]
        else:
            continue
        yield from (bare for side in sides if isinstance(bare := side.unnest(), exp.Column) and bare.name)
