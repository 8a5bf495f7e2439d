"""Which type values that are stored as text should have instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tsaudit.analysis.columns.columns import HINT, names_code, names_numbered, names_source, snake_case, words_of
from tsaudit.engines.engine import Engine

_FLAG: Final = frozenset({"0", "1"})
"""Values of a state that is never added up, so it may stay text."""
_IN_A_TREE: Final = re.compile("(^|_)(path|lineage|oid)$")
"""Names, in snake case, of a place in a hierarchy: high up, such as `0.4711`, it looks like a fraction."""
_BOOLEANS: Final = frozenset({"true", "false", ""})
"""Values of a boolean. Other pairs, such as on and off or open and closed, are states: a third one, such as
`unavailable`, may be added.
"""


def kind_of_texts(name: str, texts: Sequence[str], engine: Engine) -> str:
    """`integer`, `float`, `boolean`, or `time`; empty if the texts should stay text. `name`: the name of
    their column.
    """
    from tsaudit.analysis.shapes import shapes

    if names_code(name) or names_source(name) or _IN_A_TREE.search(snake_case(name)):
        return ""
    kind = shapes.number_kind(texts)
    if kind == "time" and not words_of(name) & HINT and all(v.strip().isdecimal() for v in texts):
        # A ten-digit counter looks like seconds since 1970.
        kind = "integer"
    distinct = {v.strip().lower() for v in texts}
    if kind in ("integer", "float") and _are_codes(texts):
        return ""
    if kind == "integer" and (names_numbered(name) or any(_LETTERED.fullmatch(text.strip()) for text in texts)):
        return ""
    if (kind == "boolean" and not distinct <= _BOOLEANS) or (kind == "integer" and distinct <= _FLAG):
        return ""
    return "" if kind is None or (kind == "time" and not _is_time(name, texts, engine)) else kind


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether the numbers identify something, such as phones or versions, or have more digits than measured
    values do.
    """
    found = [text.strip() for text in texts if text.strip()]
    if any(text.startswith("+") and text[1:].isdecimal() for text in found):
        return True
    digits = [text for text in found if text.isdecimal()]
    if len(digits) == len(found):
        return max(map(len, found)) > _LONGEST
    if not all(_VERSION.fullmatch(text) for text in found):
        return False
    # As numbers, the versions 12.1 and 12.10 would be one.
    return len(found) < _FEW or len(set(map(float, found))) < len(set(found))


_LONGEST: Final = 15
_FEW: Final = 20
_LETTERED: Final = re.compile(r"[A-Za-z]{1,2}-?\d{1,4}|\d{1,4}-?[A-DF-Za-df-z]")
"""A number of a thing with a letter of its kind, or of its part. An `e` may be an exponent."""
_VERSION: Final = re.compile(r"\d{1,2}\.\d{1,2}")


def _is_time(name: str, texts: Sequence[str], engine: Engine) -> bool:
    """Whether texts that are times should have another type. False if the engine has no such type, and for dates that
    are names of days.
    """
    of_day = any(":" in value for value in texts)
    return engine.enforces_types and (of_day or bool(words_of(name) & HINT))
