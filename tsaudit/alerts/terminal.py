"""A message as plain text, for use without Slack."""

from __future__ import annotations

import html
import re
from typing import Final

from tsaudit.alerts.blocks import Message, texts

_MARKUP: Final = re.compile(r"<(?P<url>https?://[^|>]*)\|(?P<label>[^>]*)>|`(?P<code>[^`]*)`|\*(?P<bold>\w+)\*")


def readable(message: Message) -> str:
    """The message's lines, without control characters: untrusted text lost them when the message was created."""
    lines = []
    for block in message.blocks:
        if block["type"] == "rich_text":
            lines += [_indented(text, block) for text in texts(block)]
            continue
        for text in texts(block):
            is_markup = block["type"] != "header" and not _is_prose(block)
            lines.append(html.unescape(_without_markup(text)) if is_markup else _indented(html.unescape(text), block))
    return "\n".join(lines)


def _without_markup(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        if found["url"]:
            return f"{found['label']}: {found['url']}"
        return found["code"] or found["bold"] or ""

    return _MARKUP.sub(shown, text)


def _is_prose(block: dict[str, object]) -> bool:
    text = block.get("text")
    return isinstance(text, dict) and text.get("type") == "plain_text"


def _indented(text: str, block: dict[str, object]) -> str:
    return text if block["type"] == "header" else "\n".join(f"    {line}" for line in text.splitlines())
