"""JavaScript for mongosh that several rules suggest. It is only displayed, never run; every name in it is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

_WIDTH: Final = 94
"""Maximum number of characters per line: with a semicolon and an indent, a line fits into 96 columns."""
_PIECE: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])*(?:,\s*|$)')
"""Text up to a comma outside of string literals."""
_PLAIN: Final = re.compile(r"[$A-Za-z_][$\w]*", re.ASCII)


def text(value: str | list[str]) -> str:
    """The text, or list of texts, as a JavaScript literal."""
    return json.dumps(value, ensure_ascii=False)


class Blank:
    """A placeholder for a value that the user of the command has to fill in."""


def script(value: Any) -> str:
    """Documents, lists, texts, numbers, and times as JavaScript literals."""
    if isinstance(value, Blank):
        return "..."
    if isinstance(value, datetime):
        return f'ISODate("{value:%Y-%m-%dT%H:%M:%SZ}")'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{k if _PLAIN.fullmatch(k) else text(k)}: {script(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(script, value))}]"
    return json.dumps(value, ensure_ascii=False)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """A nested document from values by path."""
    found: dict[str, Any] = {}
    for path, value in values.items():
        *above, last = path.split(".")
        inside = found
        for name in above:
            below = inside.get(name)
            inside[name] = inside = below if isinstance(below, dict) else {}
        inside[last] = value
    return found


def wrapped(command: str) -> str:
    """The command in lines of at most `_WIDTH` characters, as far as names and texts allow; lines are broken after
    commas.
    """
    lines = [""]
    for piece in _PIECE.findall(command):
        if lines[-1].strip() and len(lines[-1]) + len(piece.rstrip()) > _WIDTH:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def collection(database: str, name: str) -> str:
    """The expression for the collection, whichever database the shell is using."""
    return f"db.getSiblingDB({text(database)}).getCollection({text(name)})"
