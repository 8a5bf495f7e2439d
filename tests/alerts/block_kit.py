"""Slack's blocks by its documented rules: what Slack would reject or show otherwise than meant, and what clients show.

https://docs.slack.dev/reference/block-kit/blocks. Unlike `slack_double`, which answers as the server does, this names
each problem, and makes a page to look at: `python -m tests.alerts.message_pages FOLDER`.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from tests.alerts import mrkdwn

Block = dict[str, Any]

MOST_BLOCKS: Final = 50
MOST_CHARACTERS: Final = 13_200
"""Of all blocks together; undocumented, see `slack_double`."""
_MOST_NOTIFICATION: Final = 4_000
_STYLES: Final = {"bold": "b", "italic": "i", "strike": "s", "code": "code"}
_INLINE: Final[dict[str, tuple[str, ...]]] = {
    "text": ("text",),
    "link": ("url",),
    "user": ("user_id",),
    "usergroup": ("usergroup_id",),
    "channel": ("channel_id",),
    "emoji": ("name",),
    "broadcast": ("range",),
}


def problems(message: dict[str, Any]) -> list[str]:
    """Everything wrong with the text and the blocks of a message, a line each, with the place."""
    text, blocks = message.get("text", ""), message.get("blocks", [])
    found = [f"text: {problem}" for problem in mrkdwn.problems(text, verbatim=False)]
    if not 1 <= len(text) <= _MOST_NOTIFICATION:
        found.append(f"text: {len(text)} characters")
    if len(blocks) > MOST_BLOCKS:
        found.append(f"{len(blocks)} blocks")
    if (sum_ := sum(map(characters, blocks))) > MOST_CHARACTERS:
        found.append(f"{sum_} characters in all blocks")
    for number, block in enumerate(blocks):
        check = _CHECKS.get(block.get("type", ""))
        wrong = check(block) if check else ["unknown type"]
        found += [f"block {number}, {block.get('type')}: {problem}" for problem in wrong]
        if len(block.get("block_id", "")) > 255:
            found.append(f"block {number}: block_id is too long")
    return found


def characters(value: Any) -> int:
    """Of all texts within a block."""
    if isinstance(value, dict):
        return sum(len(v) if k in ("text", "url") and isinstance(v, str) else characters(v) for k, v in value.items())
    return sum(map(characters, value)) if isinstance(value, list) else 0


def to_html(blocks: Sequence[Block]) -> str:
    """The blocks as a client shows them."""
    return "".join(f'<div class="block {block["type"]}">{_SHOWN[block["type"]](block)}</div>' for block in blocks)


# --- The rules --------------------------------------------------------------------------------------------------------


def _text(found: Any, longest: int, kinds: Sequence[str] = ("plain_text", "mrkdwn")) -> Iterator[str]:
    if not isinstance(found, dict) or found.get("type") not in kinds:
        yield f"no text object of the kind {' or '.join(kinds)}"
        return
    said = found.get("text")
    if not isinstance(said, str) or not said.strip():
        yield "empty text"
        return
    if len(said) > longest:
        yield f"{len(said)} characters, {longest} allowed"
    if found["type"] == "mrkdwn":
        yield from mrkdwn.problems(said, verbatim=found.get("verbatim", False))
    unknown = found.keys() - {"type", "text", "emoji" if found["type"] == "plain_text" else "verbatim"}
    if unknown:
        yield f"unknown key {', '.join(sorted(unknown))}"


def _header(block: Block) -> Iterator[str]:
    yield from _text(block.get("text"), 150, ("plain_text",))
    if "\n" in str(block.get("text", {}).get("text")):
        yield "several lines"


def _section(block: Block) -> Iterator[str]:
    fields = block.get("fields", [])
    if "text" in block or not fields:
        yield from _text(block.get("text"), 3_000)
    if len(fields) > 10:
        yield f"{len(fields)} fields"
    for field in fields:
        yield from _text(field, 2_000)


def _context(block: Block) -> Iterator[str]:
    elements = block.get("elements", [])
    if not 1 <= len(elements) <= 10:
        yield f"{len(elements)} elements"
    for element in elements:
        if element.get("type") != "image":
            yield from _text(element, 3_000)


def _divider(block: Block) -> Iterator[str]:
    if block.keys() - {"type", "block_id"}:
        yield "has contents"


def _actions(block: Block) -> Iterator[str]:
    elements = block.get("elements", [])
    if not 1 <= len(elements) <= 25:
        yield f"{len(elements)} elements"
    for element in elements:
        if element.get("type") == "button":
            yield from _text(element.get("text"), 75, ("plain_text",))
            if len(element.get("url", "")) > 3_000:
                yield "the address is too long"


def _rich_text(block: Block) -> Iterator[str]:
    parts = block.get("elements", [])
    if not parts:
        yield "no elements"
    for part in parts:
        kind, inner = part.get("type"), part.get("elements", [])
        if kind not in ("rich_text_section", "rich_text_preformatted", "rich_text_quote", "rich_text_list"):
            yield f"unknown part {kind}"
        elif not inner:
            yield f"{kind} without elements"
        elif kind == "rich_text_list":
            yield from (p for one in inner for p in _rich_text({"elements": [one]}))
        else:
            allowed = ("text", "link") if kind == "rich_text_preformatted" else tuple(_INLINE)
            yield from (p for run in inner for p in _run(run, allowed))


def _run(run: Block, allowed: Sequence[str]) -> Iterator[str]:
    kind = str(run.get("type"))
    if kind not in allowed:
        yield f"{kind} is not allowed here"
        return
    for key in _INLINE[kind]:
        if not run.get(key):
            yield f"{kind} without {key}"
    if set(run.get("style", {})) - set(_STYLES):
        yield f"unknown style {run['style']}"


_CHECKS: Final[dict[str, Callable[[Block], Iterator[str]]]] = {
    "header": _header,
    "section": _section,
    "context": _context,
    "divider": _divider,
    "actions": _actions,
    "rich_text": _rich_text,
}


# --- What clients show ------------------------------------------------------------------------------------------------


def _shown_text(found: Block) -> str:
    if found["type"] == "mrkdwn":
        return mrkdwn.to_html(found["text"])
    return html.escape(html.unescape(found["text"]), quote=False).replace("\n", "<br>")


def _shown_section(block: Block) -> str:
    text = f"<p>{_shown_text(block['text'])}</p>" if "text" in block else ""
    fields = "".join(f"<p>{_shown_text(field)}</p>" for field in block.get("fields", []))
    return text + (f'<div class="fields">{fields}</div>' if fields else "")


def _shown_context(block: Block) -> str:
    return "".join(f"<span>{_shown_text(one)}</span>" for one in block["elements"] if one["type"] != "image")


def _shown_actions(block: Block) -> str:
    return "".join(f"<button>{_shown_text(one['text'])}</button>" for one in block["elements"] if "text" in one)


def _shown_rich_text(block: Block) -> str:
    tags = {"rich_text_section": "p", "rich_text_preformatted": "pre", "rich_text_quote": "blockquote"}
    shown = []
    for part in block["elements"]:
        if part["type"] == "rich_text_list":
            items = "".join(f"<li>{''.join(map(_shown_run, one['elements']))}</li>" for one in part["elements"])
            shown.append(f"<ul>{items}</ul>")
            continue
        tag, runs = tags[part["type"]], "".join(map(_shown_run, part["elements"]))
        shown.append(f"<{tag}>{runs if tag == 'pre' else runs.replace(chr(10), '<br>')}</{tag}>")
    return "".join(shown)


def _shown_run(run: Block) -> str:
    if run["type"] == "user":
        return mrkdwn.person(run["user_id"])
    if run["type"] == "usergroup":
        return mrkdwn.person(run["usergroup_id"])
    if run["type"] == "emoji":
        return mrkdwn.emoji(run["name"])
    # Rich text has no entities and no markup.
    shown = html.escape(run.get("text") or run.get("url") or run.get("range") or run.get("channel_id", ""), quote=False)
    if run["type"] == "link":
        shown = f'<a href="{html.escape(run["url"])}">{shown}</a>'
    for style in run.get("style", {}):
        shown = f"<{_STYLES[style]}>{shown}</{_STYLES[style]}>"
    return shown


_SHOWN: Final[dict[str, Callable[[Block], str]]] = {
    "header": lambda block: f"<h3>{_shown_text(block['text'])}</h3>",
    "section": _shown_section,
    "context": _shown_context,
    "divider": lambda _: "<hr>",
    "actions": _shown_actions,
    "rich_text": _shown_rich_text,
}
