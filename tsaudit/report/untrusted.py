"""Untrusted text from a database: made safe to display, shortened, and redacted.

The template engine does HTML escaping (autoescape). This module handles what escaping leaves alone: characters that are
invisible, that reorder the text around them, or that end a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

LONGEST: Final = 160
"""Maximum number of characters of a name or value; a value of a megabyte must not become a page of a megabyte."""

_INVISIBLE: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\ud800-\udfff\U000e0000-\U000e0fff"
)
_IN_BLOCKS: Final = re.compile(f"[{_INVISIBLE}]")
_IN_LINES: Final = re.compile(f"[\t\n{_INVISIBLE}]")
_DAY: Final = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])")
_CODE: Final = re.compile(r"`([^`\n]+)`")


def line(text: str) -> str:
    """The text on one line, with every invisible or reordering character written as `<U+202E>` in angle brackets."""
    return _IN_LINES.sub(_spelt_out, text)


def block(text: str) -> str:
    """Like `line`, for preformatted text: newlines and tabs stay."""
    return _IN_BLOCKS.sub(_spelt_out, text.replace("\r\n", "\n"))


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, with its middle replaced by the number of omitted characters if it is longer than `longest`."""
    if len(text) <= longest:
        return text
    head, tail = longest * 3 // 4, longest // 8
    return f"{text[:head]} … {len(text) - head - tail:,} characters … {text[-tail:]}"


def squeezed(text: str, longest: int) -> str:
    """The text, with an ellipsis for its middle if it is longer: what names have in common is mostly at one end."""
    if len(text) <= longest:
        return text
    head = longest // 2
    tail = longest - head - 1
    return f"{text[:head]}…{text[len(text) - tail :]}"


def with_code(text: str) -> Markup:
    """The text as escaped HTML, with text in backticks as code."""
    return _marked(line(text))


def prose(text: str) -> Markup:
    """Like `with_code`, for text in which newlines stay."""
    return _marked(block(text))


def unbroken(text: str) -> Markup:
    """The text as escaped HTML in which no line ends within a date: browsers may break lines at its hyphens."""
    return Markup(_DAY.sub(r'<span class="day">\g<0></span>', str(escape(text))))  # noqa: S704 -- escaped just before


def _marked(text: str) -> Markup:
    return Markup(_CODE.sub(r"<code>\1</code>", str(unbroken(text))))  # noqa: S704 -- escaped there


def shown(values: Sequence[str], *, full: bool, most: int = 3) -> tuple[str, ...]:
    """Up to `most` sample values as they may be shown: redacted unless the configuration says `full`."""
    if full:
        return tuple(values[:most])
    from tsaudit.analysis.shapes.shapes import redact

    return tuple(dict.fromkeys(redact(value) for value in values[:most]))


def _spelt_out(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"
