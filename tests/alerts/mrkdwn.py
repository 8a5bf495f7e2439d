"""Slack's markup as its clients show it, written from its documentation: what is wrong with a text, and its HTML.

https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Final

EMOJI: Final = {"eyes": "👀", "zzz": "💤", "tada": "🎉", "tools": "🛠️"}
"""The names in the tests; Slack shows a name that it does not know as it is."""
NAMES: Final = {"U0ANN": "Ann Lee", "U0BOB": "Bob Roy", "U0DBA": "Dana Ba", "S0OPS": "ops"}

_CODE_BLOCK: Final = re.compile(r"```(.+?)```", re.DOTALL)
_CODE: Final = re.compile(r"`([^`\n]+)`")
_TOKEN: Final = re.compile(r"<([^<>]*)>")
_ENTITY: Final = re.compile(r"&(?!(?:amp|lt|gt);)")
_EMOJI: Final = re.compile(r":([a-z0-9_+'-]+):")
_ADDRESS: Final = re.compile(r"https?://[^|<>\s]+|mailto:[^|<>\s]+")
_STYLES: Final = (("*", "b"), ("_", "i"), ("~", "s"))
_ALONE: Final = re.compile(r"https?://\S+|(?<!\w)@(?:here|channel|everyone)\b")


def problems(text: str, *, verbatim: bool = True) -> Iterator[str]:
    """What Slack would show otherwise than it is meant: control characters that are not escaped, or no token of its."""
    for token in _TOKEN.finditer(text):
        if not _is_token(token[1]):
            yield f"unknown token {token[0]}"
    rest = _TOKEN.sub("", text)
    if "<" in rest or ">" in rest:
        yield "a bare < or >"
    if _ENTITY.search(text):
        yield "a bare &"
    # A client that parses everything makes links and mentions of these, outside of code as well as of tokens.
    if not verbatim and (found := _ALONE.search(_CODE.sub("", rest))):
        yield f"{found[0]} becomes a link or a mention"


def to_html(text: str) -> str:
    """The text as a client shows it."""
    kept: list[str] = []

    def keep(made: str) -> str:
        kept.append(made)
        return f"\ue000{len(kept) - 1}\ue001"

    text = _CODE_BLOCK.sub(lambda m: keep(f"<pre>{_plain(m[1].strip())}</pre>"), text)
    text = _CODE.sub(lambda m: keep(f"<code>{_plain(m[1])}</code>"), text)
    text = _TOKEN.sub(lambda m: keep(_token(m[1])), text)
    text = _EMOJI.sub(lambda m: keep(emoji(m[1])) if m[1] in EMOJI else m[0], text)
    text = _plain(text)
    for sign, tag in _STYLES:
        # A sign opens where no word is before it, and closes where none is after it.
        styled = (
            rf"(?<![\w{re.escape(sign)}]){re.escape(sign)}(?=\S)([^\n{re.escape(sign)}]*?\S){re.escape(sign)}(?!\w)"
        )
        text = re.sub(styled, rf"<{tag}>\1</{tag}>", text)
    lines = [f"<blockquote>{line[4:]}</blockquote>" if line.startswith("&gt;") else line for line in text.split("\n")]
    text = "<br>".join(lines).replace("</blockquote><br>", "</blockquote>")
    while "\ue000" in text:
        text = re.sub("\ue000(\\d+)\ue001", lambda m: kept[int(m[1])], text)
    return text


def emoji(name: str) -> str:
    """The picture of an emoji by its name."""
    return f'<span class="emoji" title="{name}">{EMOJI[name]}</span>' if name in EMOJI else f":{name}:"


def person(identity: str) -> str:
    """A mention of a person or a group, with the name that Slack knows."""
    return f'<span class="mention">@{html.escape(NAMES.get(identity, identity))}</span>'


def _is_token(inner: str) -> bool:
    if inner.startswith("@"):
        return re.fullmatch(r"@[UW][A-Z0-9]+", inner) is not None
    if inner.startswith("!"):
        return re.fullmatch(r"!(?:here|channel|everyone|subteam\^S[A-Z0-9]+)(?:\|.*)?", inner) is not None
    address, _, label = inner.partition("|")
    return _ADDRESS.fullmatch(address) is not None and "\n" not in label


def _token(inner: str) -> str:
    if inner.startswith("@"):
        return person(inner[1:])
    if inner.startswith("!"):
        return person(inner.removeprefix("!subteam^").removeprefix("!"))
    address, _, label = inner.partition("|")
    return f'<a href="{html.escape(html.unescape(address))}">{_plain(label or address)}</a>'


def _plain(text: str) -> str:
    return html.escape(html.unescape(text), quote=False)
