"""Recognizes files that are not a database of the expected engine, by their first bytes and never by their names."""

from __future__ import annotations

import re
from typing import Final

from tsaudit.engines.registry import ENGINES

HEAD_BYTES: Final = 512

_LOAD: Final = "load it into a DuckDB file (`CREATE TABLE t AS FROM '...'`), and audit that with `engine: duckdb`"
_UNPACK: Final = "unpack it, and give the path of the database in it"
_MAIN: Final = "give the path of the database beside it"

_KINDS: Final = (
    (b"PAR1", "a Parquet file", _LOAD),
    (b"ARROW1", "an Arrow file", _LOAD),
    (b"ORC", "an ORC file", _LOAD),
    (b"Obj\x01", "an Avro file", _LOAD),
    (b"\x1f\x8b", "compressed by gzip", _UNPACK),
    (b"BZh", "compressed by bzip2", _UNPACK),
    (b"\xfd7zXZ\0", "compressed by xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", _UNPACK),
    (b"PK\x03\x04", "a ZIP archive", _UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"PGDMP", "a dump of PostgreSQL", "restore it, and audit that server with `engine: postgresql`"),
    (b"\x37\x7f\x06\x82", "the write-ahead log of a SQLite database", _MAIN),
    (b"\x37\x7f\x06\x83", "the write-ahead log of a SQLite database", _MAIN),
    (b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", "the journal of a SQLite database", _MAIN),
)
"""First bytes, what they mean, and what to do."""
_STATEMENT: Final = re.compile(r"\s*(--|/\*|(PRAGMA|BEGIN|CREATE|INSERT|SET)\b)", re.IGNORECASE)
_ROW: Final = re.compile(r"[^,;\t\r\n]*([,;\t])[^\r\n]*\r?\n")
"""A line of at least two values."""


def what_else(head: bytes, engine: str) -> str:
    """What a file with these first bytes is, and what to do, if it is no database of the engine; else empty.

    `head`: up to `HEAD_BYTES` bytes. Of an empty file, only its driver knows.
    """
    own = ENGINES[engine]
    if own.file_magic is None or own.has_magic(head):
        return ""
    if other := next((other for other in ENGINES.values() if other.has_magic(head)), None):
        # An engine that extends another may read its files, too.
        if isinstance(own, type(other)):
            return ""
        return f"is a {other.name} database; set `engine: {other.name}` and start the URL with `{other.name}:`"
    if not head:
        return ""  # To some engines, that is a database without tables.
    kind, hint = next(((kind, hint) for magic, kind, hint in _KINDS if head.startswith(magic)), _text(head))
    if not kind:
        return f"is not a {engine} database; check the path, and audit a decrypted copy if it is encrypted"
    return f"is {kind}, not a {engine} database; {hint}"


def _text(head: bytes) -> tuple[str, str]:
    """What kind of text, and what to do; twice empty if it is none."""
    # The last character may be cut in two.
    text = head.decode("utf-8-sig", "ignore")
    if b"\0" in head or len(text.encode()) < len(head.removeprefix(b"\xef\xbb\xbf")) - 3:
        return "", ""
    if not all(c.isprintable() or c in "\t\r\n\f" for c in text):
        return "", ""
    if _STATEMENT.match(text):
        return "a text file with SQL", "run it on a database, and audit that"
    if text.lstrip()[:1] in ("{", "["):
        return "a JSON file", _LOAD
    if _ROW.match(text):
        return "a CSV file", _LOAD
    return "a text file", "check the path"
