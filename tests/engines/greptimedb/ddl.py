"""Statements that change tables of the stand-in for GreptimeDB: those that tsaudit proposes, and what is refused.

Refused is what the product's sources and recorded outputs say (github.com/GreptimeTeam/greptimedb, src/sql/src/parsers,
src/table/src/requests.rs, tests/cases/standalone/common/alter at v0.17.2, v1.0.2 and v1.1.4).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.greptimedb.mysql_server import MysqlError
from tests.engines.greptimedb.stored import TYPES, Column, Stored

_NAME: Final = r"\"(?:\"\"|[^\"])*\""
_NAMES: Final = rf"{_NAME}(?:, {_NAME})*"
_TEXT: Final = r"'(?:''|[^'])*'"
_TABLE: Final = rf"(?P<database>{_NAME})\.(?P<name>{_NAME})"
_INDEXES: Final = r"(?P<indexes>(?: (?:INVERTED|SKIPPING|FULLTEXT) INDEX)*)"
_TYPE: Final = r"[A-Z]+(?: UNSIGNED)?(?:\(\d\))?"
_COLUMN: Final = re.compile(rf"(?P<name>{_NAME}) (?P<type>{_TYPE})( NOT NULL)?{_INDEXES}")
_OPTIONS: Final = frozenset(
    {"append_mode", "comment", "merge_mode", "skip_wal", "sst_format", "ttl", "write_buffer_size"}
)
_KINDS: Final = {name.upper(): kind for kind, (name, _) in TYPES.items()}


def execute(server: GreptimeDB, statement: str) -> None:
    """Run it; MysqlError where the server's version refuses it."""
    # Outside of quotes, a line break is a blank.
    on_one_line = re.sub(rf"({_NAME}|{_TEXT})|\s+", lambda found: found[1] or " ", statement.strip().rstrip(";"))
    for form, run in _FORMS.items():
        if found := re.fullmatch(form, on_one_line, re.DOTALL):
            run(server, found.groupdict())
            return
    raise MysqlError(1064, f"(InvalidSyntax): {statement}", "42000")


def _table(server: GreptimeDB, words: Mapping[str, str]) -> Stored:
    where = _plain(words["database"]), _plain(words["name"])
    if where not in server.tables:
        raise MysqlError(1146, f"(TableNotFound): {'.'.join(where)}", "42S02")
    return server.tables[where]


def _create(server: GreptimeDB, words: Mapping[str, str]) -> None:
    *columns, time = _parts(words["body"])
    key: list[str] = []
    if time.startswith("PRIMARY KEY"):
        key, time = _list(time), columns.pop()
    index = _one_of(_list(time), "a table has one time index")
    described, indexes = [], {}
    for line in columns:
        found = _COLUMN.fullmatch(line) or _refuse(f"a column that nobody understands: {line}")
        name, kind = _plain(found["name"]), _KINDS.get(found["type"]) or _refuse(f"a type that is none: {line}")
        described.append(Column(name, kind, "TIMESTAMP" if name == index else "TAG" if name in key else "FIELD"))
        indexes[name] = _kinds(found["indexes"])
    partition_by = _list(words["partition_by"] or "")
    made = Stored(
        _plain(words["database"]), _plain(words["name"]), 0, "mito", described, key, _settings(words["options"] or "")
    )
    bounds = [one.strip() for one in (words["bounds"] or "").split(", ") if one]
    _check(server, made, index)
    made = dataclasses.replace(made, indexes=indexes, partition_by=partition_by)
    server.keep(made, pa.table([pa.array([], c.type) for c in described], [c.name for c in described]), bounds)


def _check(server: GreptimeDB, table: Stored, index: str) -> None:
    names = [column.name for column in table.columns]
    if (table.database, table.name) in server.tables:
        _refuse(f"(TableAlreadyExists): {table.name}")
    if index in table.key or not {index, *table.key} <= set(names) or len(set(names)) < len(names):
        _refuse("(InvalidArguments): columns of the key or the time index")
    if table.is_append_only and table.options.get("merge_mode"):
        _refuse("(InvalidArguments): merge_mode is not allowed when append_mode is enabled")
    if unknown := set(table.options) - _OPTIONS:
        _refuse(f"(InvalidArguments): unrecognized table option key: {unknown}")
    if "sst_format" in table.options and server.version.number < (1, 0):
        _refuse("(InvalidArguments): unrecognized table option key: sst_format")


def _insert(server: GreptimeDB, words: Mapping[str, str]) -> None:
    table = _table(server, words)
    read, into = server.read(words["select"]), _list(words["columns"])
    given = dict(zip(into, read.columns, strict=True))
    rows = pa.table(
        [given[c.name].cast(c.type) if c.name in given else pa.nulls(len(read), c.type) for c in table.columns],
        [c.name for c in table.columns],
    )
    server.keep(table, pa.concat_tables([server.rows(table), rows]))


def _rename(server: GreptimeDB, words: Mapping[str, str]) -> None:
    table, new = _table(server, words), _plain(words["new"])
    if (table.database, new) in server.tables:
        _refuse(f"(TableAlreadyExists): {new}")
    rows = server.rows(table)
    server.drop(table)
    server.keep(dataclasses.replace(table, name=new), rows)


def _set_option(server: GreptimeDB, words: Mapping[str, str]) -> None:
    table, option, value = _table(server, words), words["option"], words["value"]
    is_new = server.version.number >= (1, 0)
    options = {**table.options, option: value}
    if option == "append_mode" and is_new and value == "true":
        options.pop("merge_mode", None)
    elif option != "ttl" and not (option == "sst_format" and is_new and value in ("flat", "primary_key")):
        _refuse(f"(InvalidArguments): option {option}={value} cannot be changed")
    server.keep(dataclasses.replace(table, options=options), server.rows(table))


def _change_index(server: GreptimeDB, words: Mapping[str, str]) -> None:
    table, column = _table(server, words), _plain(words["column"])
    (kind,) = _kinds(f" {words['kind']} INDEX")
    described = next((c for c in table.columns if c.name == column), None) or _refuse("(TableColumnNotFound)")
    kept = [k for k in table.indexes.get(column, ()) if k != kind]
    if words["change"] == "SET":
        if kind == "fulltext" and described.type != pa.string():
            _refuse("(InvalidArguments): a full-text index is for texts")
        kept.append(kind)
    server.keep(dataclasses.replace(table, indexes={**table.indexes, column: kept}), server.rows(table))


def _drop(server: GreptimeDB, words: Mapping[str, str]) -> None:
    server.drop(_table(server, words))


def _add_column(server: GreptimeDB, words: Mapping[str, str]) -> None:
    table, column = _table(server, words), _plain(words["column"])
    kind = _KINDS.get(words["type"]) or _refuse("a type that is none")
    if column in [c.name for c in table.columns]:
        _refuse("(ColumnExists)")
    added = Column(column, kind, "TAG" if words["key"] else "FIELD")
    key = [*table.key, *([column] if words["key"] else [])]
    rows = server.rows(table)
    rows = rows.append_column(column, pa.nulls(len(rows), added.type))
    server.keep(dataclasses.replace(table, columns=[*table.columns, added], key=key), rows)


def _modify_type(server: GreptimeDB, words: Mapping[str, str]) -> None:
    """A value that does not convert reads as null (tests/cases/standalone/common/alter/change_col_type.result)."""
    table, column = _table(server, words), _plain(words["column"])
    kind = _KINDS.get(words["type"]) or _refuse("a type that is none")
    if column in (*table.key, table.time):
        _refuse("(InvalidArguments): Not allowed to change primary key index column")
    columns = [dataclasses.replace(c, type=kind) if c.name == column else c for c in table.columns]
    rows = server.rows(table)
    place = rows.column_names.index(column)
    changed = dataclasses.replace(table, columns=columns)
    values = pa.array([_cast(value, columns[place].type) for value in rows.column(column).to_pylist()], kind)
    server.keep(changed, rows.set_column(place, column, values))


def _cast(value: Any, kind: pa.DataType) -> Any:
    try:
        return None if value is None else pa.scalar(value).cast(kind).as_py()
    except pa.ArrowInvalid:
        return None


def _show(server: GreptimeDB, words: Mapping[str, str]) -> None:
    _table(server, words)


def _parts(body: str) -> list[str]:
    """What commas separate, but those within quotes and parentheses."""
    return [one.strip() for one in re.findall(rf"(?:{_NAME}|\([^()]*\)|[^,\"()])+", body) if one.strip()]


def _kinds(clauses: str) -> list[str]:
    return re.findall(r"inverted|skipping|fulltext", clauses.lower())


def _settings(clause: str) -> dict[str, str]:
    pairs = re.findall(rf"({_TEXT})=({_TEXT})", clause)
    return {option[1:-1]: value[1:-1].replace("''", "'") for option, value in pairs}


def _list(names: str) -> list[str]:
    return [_plain(name) for name in re.findall(_NAME, names)]


def _plain(name: str) -> str:
    return name[1:-1].replace('""', '"')


def _one_of(names: Sequence[str], complaint: str) -> str:
    return names[0] if len(names) == 1 else _refuse(complaint)


def _refuse(text: str) -> Any:
    raise MysqlError(1815, text)


_FORMS: Final[Mapping[str, Callable[[GreptimeDB, Mapping[str, str]], None]]] = {
    rf"CREATE TABLE {_TABLE} \( (?P<body>.*?) \)"
    rf"(?: PARTITION ON COLUMNS \((?P<partition_by>{_NAMES})\) \( (?P<bounds>.*?) \))?"
    rf"(?: WITH \((?P<options>{_TEXT}={_TEXT}(?:, {_TEXT}={_TEXT})*)\))?": _create,
    rf"INSERT INTO {_TABLE} \((?P<columns>{_NAMES})\) (?P<select>SELECT .*)": _insert,
    rf"ALTER TABLE {_TABLE} RENAME (?P<new>{_NAME})": _rename,
    rf"ALTER TABLE {_TABLE} SET '(?P<option>\w+)'='(?P<value>[^']*)'": _set_option,
    rf"ALTER TABLE {_TABLE} MODIFY COLUMN (?P<column>{_NAME}) (?P<change>SET|UNSET) (?P<kind>\w+) INDEX": _change_index,
    rf"ALTER TABLE {_TABLE} ADD COLUMN (?P<column>{_NAME}) (?P<type>{_TYPE})(?P<key> PRIMARY KEY)?": _add_column,
    rf"ALTER TABLE {_TABLE} MODIFY COLUMN (?P<column>{_NAME}) (?P<type>{_TYPE})": _modify_type,
    rf"DROP TABLE {_TABLE}": _drop,
    rf"SHOW CREATE TABLE {_TABLE}": _show,
}
"""Form of a statement to what it does."""
