"""Slack's blocks and their limits, messages made of them, and text that is safe in them.

Nothing from a database can notify anyone, create a link, or format anything. Names and values are shown as inline code
or in `plain_text` objects, which have no markup. Only the notification text is always markup, so its control characters
are replaced by look-alikes.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote

ELLIPSIS: Final = "…"

_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_LOOK_ALIKES: Final = str.maketrans({"*": "\u2217", "~": "\u223c", "`": "\u02cb"})
_WORD_JOINER: Final = "\u2060"
"""An invisible zero-width character. Placed after `@`, inside `://`, or in the name of an emoji, it keeps Slack from
recognizing a mention, a link, or an emoji.
"""

_EMOJI: Final = re.compile(r":(?=[a-z0-9_+'-]+:)")
# Slack treats `_` as markup only at the edge of a word, so names such as user_id need no escaping.
_EDGE_UNDERSCORE: Final = re.compile(r"(?<![^\W_])_|_(?![^\W_])")


def size(text: str) -> int:
    """Length of the text as Slack may count it: in characters or UTF-16 units, whichever is larger."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def clean(text: str) -> str:
    """`text` on one line, without control, format (bidi, zero width), private, and surrogate characters."""
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if category in ("Cc", "Zl", "Zp"):
            kept.append(" ")
        elif not category.startswith("C"):
            kept.append(character)
    return " ".join("".join(kept).split())


def cut(text: str, limit: int) -> str:
    """`text` for rich text, which has no markup: cleaned, at most `limit` long, and never empty."""
    return _cut(clean(text), limit) or " "


def plain(text: str, limit: int) -> str:
    """`text` for `plain_text` objects: cleaned, entities escaped, at most `limit` long."""
    return _escaped(clean(text), limit)


def code(text: str, limit: int) -> str:
    """`text` for `mrkdwn` objects: as inline code, in which only the backquote is special."""
    inner = _escaped(clean(text).replace("`", "\u02cb"), limit - 2)
    return f"`{inner or ' '}`"


def inert(text: str, limit: int) -> str:
    """`text` for the notification text, which Slack always reads as markup. At most `limit` long."""
    harmless = clean(text).translate(_LOOK_ALIKES)
    harmless = _EDGE_UNDERSCORE.sub("\uff3f", harmless)
    harmless = _EMOJI.sub(":" + _WORD_JOINER, harmless)
    harmless = harmless.replace("@", "@" + _WORD_JOINER).replace("://", f":{_WORD_JOINER}//")
    return _escaped(harmless, limit)


def link(url: str, label: str) -> str:
    """A link to `url` with the given label; an address that people cannot open, such as a file path, is
    shown as code.
    """
    if re.match(r"https?://", url, re.IGNORECASE):
        # Percent-encoded first, because `|` and `>` would end the link early.
        address = quote(clean(url), safe="/:?#[]@!$&'()*+,;=%~-._")
        return f"<{address.replace('&', '&amp;')}|{label}>"
    return f"{label}: {code(url, 300)}"


def _escaped(text: str, limit: int) -> str:
    """The text with its entities escaped, at most `limit` long; it is cut between characters, never
    within an entity.
    """
    return _cut((_ENTITIES.get(character, character) for character in text), limit)


def _cut(text: Iterable[str], limit: int) -> str:
    pieces: list[str] = []
    used = 0
    for piece in text:
        used += size(piece)
        if used > limit:
            return _shortened(pieces, limit)
        pieces.append(piece)
    return "".join(pieces)


def _shortened(pieces: list[str], limit: int) -> str:
    while pieces and sum(map(size, pieces)) > limit - size(ELLIPSIS):
        pieces.pop()
    return "".join(pieces).rstrip() + ELLIPSIS


Block = dict[str, Any]

MAX_BLOCKS: Final = 50
"""https://docs.slack.dev/reference/block-kit/blocks"""
MAX_HEADER: Final = 150
MAX_TEXT: Final = 1_500
"""Maximum length of the notification text. Slack accepts more (4,000 in an edit), but counts it together with the
blocks.
"""
MAX_TOTAL: Final = 10_000
"""Maximum characters of all blocks together. Undocumented: Slack rejects about 13,200
(github.com/slackapi/bolt-js/issues/2509).
"""

_MARKUP: Final = re.compile(r"<(?P<url>https?://[^|>]*)\|(?P<label>[^>]*)>|`(?P<code>[^`]*)`|\*(?P<bold>\w+)\*")


@dataclass(frozen=True, slots=True)
class Message:
    """One message for Slack, and the incidents it covers."""

    text: str
    """Shown in notifications and in clients without blocks; the whole message if Slack rejects the blocks."""
    blocks: tuple[Block, ...]
    about: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of each incident in the message to its severity. It is not sent, but stored with the message."""
    muted: tuple[str, ...] = ()
    """Fingerprints of the incidents that the message shows as open and muted; stored like `about`."""
    incidents: tuple[Mapping[str, Any], ...] = ()
    """The owner's incidents that are open now or were open in an earlier message, as JSON values (`ReportedIncident`),
    for notifiers that track each incident.
    """

    def to_payload(self) -> dict[str, Any]:
        """The message as JSON values."""
        stored: dict[str, Any] = {"text": self.text, "blocks": list(self.blocks), "about": dict(self.about)}
        more = {"muted": list(self.muted), "incidents": list(self.incidents)}
        return stored | {name: some for name, some in more.items() if some}

    def readable(self) -> str:
        """The whole message as plain text, for use without Slack.

        The text has no control characters: untrusted text lost them when the message was created.
        """
        lines = []
        for block in self.blocks:
            if block["type"] == "rich_text":
                lines += [_indented(text, block) for text in texts(block)]
                continue
            is_markup = block["type"] != "header" and not _is_prose(block)
            for text in texts(block):
                plain = html.unescape(_without_markup(text)) if is_markup else _indented(html.unescape(text), block)
                lines.append(plain)
        return "\n".join(lines)

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> Message:
        """The message from the output of `to_payload`."""
        muted, incidents = tuple(payload.get("muted", ())), tuple(payload.get("incidents", ()))
        return cls(payload["text"], tuple(payload["blocks"]), payload.get("about", {}), muted, incidents)


def header(text: str) -> Block:
    """A heading. `text` is escaped and within MAX_HEADER."""
    return {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": False}}


def markup(text: str) -> Block:
    """A paragraph in Slack's markup. `verbatim`: plain addresses, #names and @names stay plain."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def prose(lines: Iterable[str]) -> Block:
    """A paragraph without markup."""
    return {"type": "section", "text": {"type": "plain_text", "text": "\n".join(lines), "emoji": False}}


def small(text: str) -> Block:
    """A line in small type, in Slack's markup."""
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True}]}


@dataclass(frozen=True, slots=True)
class Run:
    """A piece of text in one style. It is shown literally: rich text has no markup."""

    text: str
    style: Literal["", "bold", "person", "emoji"] = ""
    """`person`: the text is the Slack ID of a user, whose name Slack shows. `emoji`: the text is the name of an emoji.
    """


def rich(runs: Iterable[Run], preformatted: str = "") -> Block:
    """A paragraph, followed by a code block if `preformatted` is not empty. The texts must be cleaned, not escaped, and
    not empty.
    """
    elements = [{"type": "rich_text_section", "elements": [_rich_run(run) for run in runs]}]
    if preformatted:
        elements.append({"type": "rich_text_preformatted", "elements": [_rich_run(Run(preformatted))]})
    return {"type": "rich_text", "elements": elements}


def _rich_run(run: Run) -> Block:
    if run.style == "person":
        return {"type": "user", "user_id": run.text}
    if run.style == "emoji":
        return {"type": "emoji", "name": run.text}
    return {"type": "text", "text": run.text} | ({"style": {"bold": True}} if run.style else {})


def texts(block: Block) -> list[str]:
    """All texts of a block that count toward the limits."""
    if block["type"] == "rich_text":
        return ["".join(map(_text, part["elements"])) for part in block["elements"]]
    objects = [block["text"]] if "text" in block else block.get("elements", [])
    return [o["text"] for o in objects]


def _text(run: Block) -> str:
    return str(f":{run['name']}:" if run["type"] == "emoji" else run.get("text") or run["user_id"])


def characters(blocks: Iterable[Block]) -> int:
    """The number of characters that counts toward Slack's undocumented limit (`MAX_TOTAL`)."""
    return sum(size(text) for block in blocks for text in texts(block))


def fitting(groups: Iterable[list[Block]], blocks_left: int, characters_left: int) -> list[list[Block]]:
    """The leading groups that fit within both limits; a group is never split."""
    taken = []
    for group in groups:
        blocks_left -= len(group)
        characters_left -= characters(group)
        if blocks_left < 0 or characters_left < 0:
            break
        taken.append(group)
    return taken


def _without_markup(text: str) -> str:
    def shown(found: re.Match[str]) -> str:
        if found["url"]:
            return f"{found['label']}: {found['url']}"
        return found["code"] or found["bold"] or ""

    return _MARKUP.sub(shown, text)


def _is_prose(block: Block) -> bool:
    text = block.get("text")
    return isinstance(text, dict) and text.get("type") == "plain_text"


def _indented(text: str, block: Block) -> str:
    return text if block["type"] == "header" else "\n".join(f"    {line}" for line in text.splitlines())
