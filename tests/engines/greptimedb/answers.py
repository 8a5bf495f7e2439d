"""How GreptimeDB's answers look on the MySQL wire, and how it words what failed: src/servers/src/mysql/writer.rs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from tests.engines.greptimedb.mysql_server import Answer, MysqlError, ResultColumn
from tests.engines.greptimedb.tables import DOCUMENT, PER_SECOND

_MYSQL_TYPES: Final = {
    pa.bool_(): (1, False),
    pa.int8(): (1, False),
    pa.uint8(): (1, True),
    pa.int16(): (2, False),
    pa.uint16(): (2, True),
    pa.int32(): (3, False),
    pa.uint32(): (3, True),
    pa.int64(): (8, False),
    pa.uint64(): (8, True),
    pa.float32(): (4, False),
    pa.float64(): (5, False),
}


def next_batch(stream: Any) -> pa.RecordBatch | None:
    """The next batch; None after the last one. What fails only while rows are read fails like the rest."""
    try:
        batch = next(stream, None)
    except Exception as error:
        raise refused(error) from error
    return None if batch is None else batch.to_pyarrow()


def one_value(name: str, value: str) -> Answer:
    """An answer of one text."""
    return Answer([ResultColumn(name, 253)], iter([(value.encode(),)]))


def refused(error: Exception) -> MysqlError:
    """What the product says where DataFusion fails."""
    text = str(error).replace("\n", " ")
    if "not found" in text and "table" in text.lower():
        return MysqlError(1146, f"(TableNotFound): Failed to plan SQL: {text}", "42S02")
    if "No field named" in text:
        return MysqlError(1054, f"(TableColumnNotFound): {text}", "42S22")
    if "ParserError" in text:
        return MysqlError(1064, f"(InvalidSyntax): {text}", "42000")
    return MysqlError(1815, f"(PlanQuery): {text}")


def in_utc(naive: str, zone: ZoneInfo) -> str:
    return datetime.fromisoformat(naive).replace(tzinfo=zone).astimezone(UTC).isoformat(" ")


def described(column: pa.Field) -> ResultColumn:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return ResultColumn(column.name, 7)
    if pa.types.is_large_binary(kind):
        return ResultColumn(column.name, 245)
    if pa.types.is_binary(kind):
        return ResultColumn(column.name, 252, binary=True)
    number, unsigned = _MYSQL_TYPES.get(kind, (253, False))
    return ResultColumn(column.name, number, unsigned)


def printed(column: pa.Array, zone: ZoneInfo) -> Iterator[bytes | None]:
    if pa.types.is_timestamp(column.type):
        per_second = PER_SECOND[column.type.unit]
        return (None if v is None else _instant(v, per_second, zone) for v in column.cast(pa.int64()).to_pylist())
    if pa.types.is_large_binary(column.type):
        return (None if v is None else v.removeprefix(DOCUMENT) for v in column.to_pylist())
    return (None if v is None else _plain(v) for v in column.to_pylist())


def _plain(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return str(int(value) if isinstance(value, bool) else value).encode()


def _instant(value: int, per_second: int, zone: ZoneInfo) -> bytes:
    """Without a zone, with as many digits as it takes; a year that MySQL does not know ends the answer."""
    seconds, fraction = divmod(value, per_second)
    try:
        at = (datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)).astimezone(zone)
        year = at.year
    except OverflowError:
        year = 10_000 if value > 0 else 0
    if not 1000 <= year <= 9999:
        text = f"timestamp {value} has local year {year}, outside MySQL DATETIME range 1000..=9999"
        raise MysqlError(1815, f"(Internal): {text}")
    nanoseconds = fraction * (10**9 // per_second)
    digits = f"{nanoseconds:09}"
    shown = next((digits[:n] for n in (3, 6) if nanoseconds % 10 ** (9 - n) == 0), digits) if nanoseconds else ""
    return (at.strftime("%Y-%m-%d %H:%M:%S") + (f".{shown}" if shown else "")).encode()
