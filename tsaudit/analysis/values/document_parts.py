"""Finds what repeats within documents that differ as a whole: each has its own ID and time, and many describe one
device. Runs no queries.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from tsaudit.analysis.shapes.shapes import redact
from tsaudit.analysis.significance import REPEATS

_MOST_KEYS: Final = 100
"""Keys examined in each object: documents with IDs as keys have any number of them."""
_DEEPEST: Final = 4
"""Levels of keys examined."""
_EMPTY: Final = frozenset([None, "null", '""', "[]", "{}"])
"""Values that say nothing, as programs write them for all attributes that they have not set."""


def repeated_parts(
    documents: Sequence[object], *, within: str = "", levels: int = _DEEPEST
) -> dict[str, list[str | None]]:
    """The parts whose values repeat, with the JSON of each row, by path (`device.model`); None where it is absent.

    `documents`: the parsed document of each row; what is no object has no parts. `within`: how the paths begin. An
    object that differs from row to row is divided further, up to `levels` of keys, a list is not. Keys that may be
    data are redacted; of parts that then have one path, that of the most frequent key is found.
    """
    found: dict[str, list[str | None]] = {}
    keys = Counter(key for one in documents if isinstance(one, dict) for key in one)
    for key, rows in keys.most_common(_MOST_KEYS):
        if rows < REPEATS:
            break
        values = [one.get(key) if isinstance(one, dict) else None for one in documents]
        texts = _texts(values)
        path = within + _shown(key)
        if texts is None and levels > 1:
            found = repeated_parts(values, within=f"{path}.", levels=levels - 1) | found
        elif texts is not None and not _EMPTY.issuperset(texts):
            found.setdefault(path, texts)
    return found


_WORD: Final = r"[^\W\d_]{1,30}\d{0,3}"
_NAME: Final = re.compile(rf"[_$@#]*{_WORD}(?:[-_./: ]{_WORD}){{0,4}}")


def _shown(key: str) -> str:
    """The key if it is a name, such as `serialNumber`, `@type`, or `line2`; otherwise redacted, as an address is."""
    return key if _NAME.fullmatch(key) else redact(key)


def _texts(values: Sequence[object]) -> list[str | None] | None:
    """The values as JSON; None if they hardly repeat."""
    texts: list[str | None] = []
    distinct: set[str | None] = set()
    for value in values:
        text = None if value is None else _text(value)
        texts.append(text)
        distinct.add(text)
        if len(distinct) * REPEATS > len(values):
            return None
    return texts


_WEIGHED_ROWS: Final = 200
"""Rows whose documents are weighed."""


def shares_of_parts(
    documents: Sequence[object], parts: Mapping[str, Sequence[str | None]], *, least: float, is_packed: bool
) -> dict[str, float]:
    """By path, the share of the documents' bytes that they would not take without the part, 0 to 1. Parts of less than
    `least` characters in a document, on average, are left out.

    `parts`: as from `repeated_parts`. `is_packed`: whether the server compresses each document: a hash then takes more
    of it than keys and numbers that resemble each other.
    """
    some = range(0, len(documents), max(len(documents) // _WEIGHED_ROWS, 1))
    texts = {row: _text(documents[row]) for row in some if documents[row] is not None}
    whole = sum(map(_packed if is_packed else len, texts.values()))
    found: dict[str, float] = {}
    for path, values in parts.items():
        own = {row: values[row] or "" for row in texts}
        length = sum(map(len, own.values()))
        if texts and length >= least * len(texts):
            rest = sum(_packed(text.replace(own[row], "", 1)) for row, text in texts.items()) if is_packed else 0
            found[path] = 1 - rest / whole if is_packed else length / whole
    return found


def _packed(text: str) -> int:
    return len(zlib.compress(text.encode(), 1))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
