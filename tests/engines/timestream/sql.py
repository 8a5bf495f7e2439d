"""Timestream's SQL for the stand-in: what the service refuses is refused here, the rest is put into DuckDB's words.

Its engine is Trino's. Where DuckDB would say something else without an error, it is made to say the same: whole
numbers divide to whole numbers, a division by zero is an error, an alias is not known before ORDER BY, text is not
compared with numbers, and `try_cast` takes only what Java's parsers take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify_columns import qualify_columns
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.schema import MappingSchema

LONGEST_QUERY: Final = 262_144
"""Characters of a query."""

_READS: Final = (exp.Select, exp.Union, exp.Intersect, exp.Except)
_FUNCTIONS: Final = (
    *(exp.Count, exp.CountIf, exp.Min, exp.Max, exp.Avg, exp.Sum, exp.ApproxDistinct),
    *(exp.Cast, exp.TryCast, exp.Substring, exp.Length, exp.RegexpLike, exp.And, exp.Or),
    *(exp.Case, exp.If, exp.Coalesce, exp.SplitPart),
)
"""What its documentation names, of what is used here."""
_UNDOCUMENTED: Final = (exp.TableSample, exp.Offset, exp.Filter, exp.Unnest)
_AGO: Final = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|\bago\((\d+)([smhd])\)""")
_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_INSTANT: Final = re.compile(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d(\.\d{1,9})?)?)?")
_WHOLE: Final = exp.DataType.INTEGER_TYPES
_TEXT: Final = exp.DataType.TEXT_TYPES
_NUMBER: Final = exp.DataType.NUMERIC_TYPES
_COMPARED: Final = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE)

Types = Mapping[str, Mapping[str, str]]
"""Physical table to its columns, each with its type as DuckDB calls it."""


class RefusedError(Exception):
    """What the service says instead of an answer."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind, self.status = kind, status


def parsed(statement: str) -> exp.Expression:
    """The query's tree. RefusedError for what the service does not take as SQL."""
    if not 1 <= len(statement) <= LONGEST_QUERY:
        raise _invalid(f"1 validation error detected: queryString must have 1 to {LONGEST_QUERY} characters")
    if statement.rstrip().endswith(";"):
        raise _invalid("The query syntax is invalid: mismatched input ';'")
    try:
        trees = sqlglot.parse(_AGO.sub(_instant, statement), read="trino")
    except sqlglot.ParseError as error:
        raise _invalid(f"The query syntax is invalid: {error}") from error
    if len(trees) != 1 or not isinstance(trees[0], _READS):
        raise _invalid("The query syntax is invalid: only queries are run")
    tree = trees[0]
    for node in tree.find_all(exp.Func, *_UNDOCUMENTED):
        if not isinstance(node, _FUNCTIONS):
            raise _invalid(f"Function or clause {node.key} is not registered")
    for alias in tree.find_all(exp.Alias):
        # As users of its JDBC driver met it: https://github.com/awslabs/amazon-timestream-driver-jdbc/pull/22
        if ":" in alias.alias:
            raise _invalid(f"line 1:1: The alias '{alias.alias}' is not valid")
    _check_instants(tree)
    return tree


def check_names(tree: exp.Expression, columns: Mapping[str, frozenset[str]]) -> None:
    """Refuse a column that its clause cannot see. `columns`: table, as it is named in the tree, to its columns."""
    for select in tree.find_all(exp.Select):
        seen = frozenset().union(*(_columns_of(source, columns) for source in _sources(select)))
        named = {projection.alias for projection in select.expressions if projection.alias}
        for column in _own(select):
            clause = _clause(column, select)
            if column.name in seen or (column.name in named and clause == "order"):
                continue
            raise _invalid(f"line 1:1: Column '{column.name}' does not exist")


def in_duckdb(tree: exp.Expression, types: Types) -> str:
    """The query for DuckDB, its tables named as they are there. RefusedError for types that do not go together."""
    schema = MappingSchema(dict(types), normalize=False, dialect="duckdb")
    qualified = qualify_columns(qualify_tables(tree), schema, expand_stars=False, expand_alias_refs=False)
    typed = annotate_types(qualified, schema)
    for node in list(typed.find_all(*_COMPARED)):
        left, right = node.left.type, node.right.type
        if left and right and {left.this in _TEXT, right.this in _TEXT} == {True, False}:
            other = right if left.this in _TEXT else left
            if other.this in _NUMBER:
                what = f"{left.sql()} {node.key} {right.sql()}".lower()
                raise _invalid(f"line 1:1: Cannot apply operator: {what}")
    for node in list(typed.find_all(exp.Div)):
        if all(side.type is not None and side.type.this in _WHOLE for side in (node.left, node.right)):
            node.replace(_whole_division(node.left, node.right))
    for node in list(typed.find_all(exp.TryCast)):
        _as_java_parses(node)
    return typed.sql("duckdb", identify=True)


def _invalid(message: str) -> RefusedError:
    return RefusedError("ValidationException", message)


def _check_instants(tree: exp.Expression) -> None:
    for cast in tree.find_all(exp.Cast):
        if (
            cast.to.is_type("timestamp", "timestamptz")
            and cast.this.is_string
            and not _INSTANT.fullmatch(cast.this.name)
        ):
            raise _invalid(f"line 1:1: '{cast.this.name}' is not a valid timestamp literal")


def _sources(select: exp.Select) -> Iterator[exp.Expression]:
    if (found := select.args.get("from_") or select.args.get("from")) is not None:
        yield found.this
    for join in select.args.get("joins") or ():
        yield join.this


def _columns_of(source: exp.Expression, columns: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if isinstance(source, exp.Subquery):
        first = source.this.find(exp.Select)
        if any(isinstance(e, exp.Star) for e in first.expressions):
            return frozenset().union(*(_columns_of(s, columns) for s in _sources(first)))
        return frozenset(projection.alias_or_name for projection in first.expressions)
    return columns[source.sql()]


def _own(select: exp.Select) -> Iterator[exp.Column]:
    """The columns that this SELECT names itself, not one inside it."""
    return (column for column in select.find_all(exp.Column) if column.find_ancestor(exp.Select) is select)


def _clause(node: exp.Expression, select: exp.Select) -> str:
    """The clause of the SELECT that the node stands in."""
    while node.parent is not select:
        assert node.parent is not None
        node = node.parent
    return str(node.arg_key)


def _whole_division(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    text = "CASE WHEN {r} = 0 THEN error('Division by zero') ELSE {l} // {r} END"
    whole = text.format(l=left.sql("duckdb", identify=True), r=right.sql("duckdb", identify=True))
    return exp.paren(exp.cast(sqlglot.parse_one(whole, read="duckdb"), "BIGINT"))


def _as_java_parses(node: exp.TryCast) -> None:
    """Long.parseLong takes digits alone; Double.parseDouble no underscores and no hexadecimal integers."""
    kind = node.this.type
    if kind is None or kind.this not in _TEXT:
        return
    pattern = (
        r"[+-]?\d+"
        if node.to.this in _WHOLE
        else r"\s*[+-]?(\d+\.?\d*([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?|NaN|Infinity)\s*"
    )
    if node.to.this not in _NUMBER:
        return
    text = node.this.sql("duckdb", identify=True)
    taken = f"CASE WHEN regexp_full_match({text}, '{pattern}') THEN {text} END"
    node.set("this", sqlglot.parse_one(taken, read="duckdb"))


def _instant(found: re.Match[str]) -> str:
    """`ago(1d)` as a literal; texts and quoted names as they are."""
    if found[2] is None:
        return found[0]
    at = datetime.now(UTC) - timedelta(**{_UNITS[found[2]]: int(found[1])})
    return f"TIMESTAMP '{at:%Y-%m-%d %H:%M:%S}'"
