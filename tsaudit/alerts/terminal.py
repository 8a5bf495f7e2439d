"""A message as plain text, for people without Slack."""

from __future__ import annotations

import html
import re
from typing import Final

from tsaudit.alerts.blocks import Message, texts

_LINK: Final = re.compile(r"<(https?://[^|>]*)\|([^>]*)>")
_MARKS: Final = re.compile(r"[*`]")


def readable(message: Message) -> str:
    """The message's lines. Holds no control characters: foreign text lost them when the message was made."""
    lines = []
    for block in message.blocks:
        for text in texts(block):
            is_markup = block["type"] != "header" and not _is_prose(block)
            lines.append(html.unescape(_without_markup(text)) if is_markup else _indented(html.unescape(text), block))
    return "\n".join(lines)


def _without_markup(text: str) -> str:
    return _MARKS.sub("", _LINK.sub(r"\2: \1", text))


def _is_prose(block: dict[str, object]) -> bool:
    text = block.get("text")
    return isinstance(text, dict) and text.get("type") == "plain_text"


def _indented(text: str, block: dict[str, object]) -> str:
    return text if block["type"] == "header" else "\n".join(f"    {line}" for line in text.splitlines())
