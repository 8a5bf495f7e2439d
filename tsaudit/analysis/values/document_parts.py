"""Finds what repeats within documents that differ as a whole: each has its own ID and time, and many describe one
device. Runs no queries.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tsaudit.analysis.significance import REPEATS

_MOST_KEYS: Final = 100
"""Keys examined in each object: documents with IDs as keys have any number of them."""
_EMPTY: Final = frozenset([None, "null", '""', "[]", "{}"])
"""Values that say nothing, as programs write them for all attributes that they have not set."""


def repeated_parts(documents: Sequence[object], *, within: str = "") -> dict[str, list[str | None]]:
    """The parts whose values repeat, with the JSON of each row, by path (`device.model`); None where it is absent.

    `documents`: the parsed document of each row; what is no object has no parts. `within`: how the paths begin. An
    object that differs from row to row is divided further, a list is not.
    """
    found: dict[str, list[str | None]] = {}
    keys = Counter(key for one in documents if isinstance(one, dict) for key in one)
    for key, rows in keys.most_common(_MOST_KEYS):
        if rows < REPEATS:
            break
        values = [one.get(key) if isinstance(one, dict) else None for one in documents]
        texts = _texts(values)
        if texts is None:
            found |= repeated_parts(values, within=f"{within}{key}.")
        elif not _EMPTY.issuperset(texts):
            found[within + key] = texts
    return found


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
"""Rows whose documents are compressed, for each part."""


def share_of_part(documents: Sequence[object], values: Sequence[str | None], *, is_packed: bool) -> float:
    """The share of the documents' bytes that they would not take without this part, 0 to 1. `values`: as from
    `repeated_parts`. `is_packed`: whether the server compresses each document: a hash then takes more of it than keys
    and numbers that resemble each other.
    """
    some = range(0, len(documents), max(len(documents) // _WEIGHED_ROWS, 1))
    texts = [(_text(documents[row]), values[row] or "") for row in some if documents[row] is not None]
    whole, rest = (
        sum(len(zlib.compress(text.encode(), 1)) if is_packed else len(text) for text in each)
        for each in ([text for text, _ in texts], [text.replace(part, "", 1) for text, part in texts])
    )
    return 1 - rest / whole if whole else 0.0


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
