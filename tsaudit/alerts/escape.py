"""Escapes untrusted text: nothing from a database can notify anyone, create a link, or format anything.

Names and values are shown as inline code or in `plain_text` objects, which have no markup. Only the notification text
is always markup, so its control characters are replaced by look-alikes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Final
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
