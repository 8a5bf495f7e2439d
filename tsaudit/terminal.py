"""Foreign text on a terminal: what was read from a database must not move the cursor or turn the text around."""

from __future__ import annotations

from tsaudit.secrets import mask


def printable(text: str, longest: int = 200) -> str:
    """`text` on one line, not endless, with everything but printable characters written as escapes.

    That covers control characters, ANSI sequences, line separators, and the invisible marks that reverse text.
    Secrets of the configuration are masked, before anything is cut off.
    """
    text = mask(text)
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in short)
