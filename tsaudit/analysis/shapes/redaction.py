"""Shows the form of a value without revealing the value."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SHOWN: Final = 2
_LONGEST: Final = 40
_SHORT: Final = 3
"""Values up to this length are too short to reveal anything."""
_NAME: Final = re.compile(r"[^\W\d_]{1,20}(?:[-_./: ][^\W\d_]{1,20}){0,4}")
_CAPITAL_INSIDE: Final = re.compile(r"[a-z][A-Z]")


def redact(value: str) -> str:
    """The first two characters, followed by `x` for each letter and `0` for each digit; 40 characters at most.

    A value of four or more characters that contains letters or digits is never returned unchanged. Control characters,
    invisible characters, and those that change the writing direction are shown as `·`.
    """
    text = "".join(_visible(c) for c in value)
    if len(value) <= _SHORT:
        return text
    hidden = text[:_SHOWN] + "".join(_hidden(c) for c in text[_SHOWN:])
    for shown in (1, 0):
        # The mask may equal the value, as for "xx00"; with stars it cannot.
        if hidden == value:
            hidden = text[:shown] + "".join("*" if c.isalnum() else c for c in text[shown:])
    return hidden if len(hidden) <= _LONGEST else hidden[: _LONGEST - 1] + "…"


def redact_unless_name(value: str) -> str:
    """The value if it names a kind of thing, such as `flow` or `door_open`; otherwise redacted.

    For values that say which rows a finding is about. A name has up to five words of letters: with digits, or with
    capitals inside a word, it could be a secret.
    """
    is_name = _NAME.fullmatch(value) and not _CAPITAL_INSIDE.search(value)
    return value if is_name and len(value) <= _LONGEST else redact(value)


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    return "·" if category[0] == "C" or category in ("Zl", "Zp") else character


def _hidden(character: str) -> str:
    group = unicodedata.category(character)[0]
    if group in "LM":
        return "x"
    if group == "N":
        return "0"
    return character if character.isascii() or character in "·" else "?"
