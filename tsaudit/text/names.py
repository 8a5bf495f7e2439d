"""Text around numbers and names: lists, suggestions for misspelled names, and safe display of untrusted text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tsaudit.secrets import mask
from tsaudit.text.numbers import number


def short_fingerprint(fingerprint: str) -> str:
    """The first characters of a fingerprint, which people see and type; commands accept any unique prefix."""
    return fingerprint[:8]


def listed(words: Sequence[str], most: int = 8, last: str = "and") -> str:
    """`a and b`; `a, b, and c`; beyond `most`, the rest is only counted: `a, b, and 7 more`.

    `last`: the word before the last one, such as `or`.
    """
    if not words:
        return "none"
    if len(words) > most:
        words = [*words[: most - 1], f"{number(len(words) - most + 1)} more"]
    if len(words) <= 2:
        return f" {last} ".join(words)
    return f"{', '.join(words[:-1])}, {last} {words[-1]}"


def nearest(word: str, choices: Iterable[str], cutoff: float = 0.6) -> str:
    """A suggestion, `, did you mean x?`; empty if no choice is similar, or the word is too short to compare. Case is
    ignored.
    """
    import difflib

    names = {name.lower(): name for name in choices}
    start = word.lower()
    found = [n for n in names if len(start) > 2 and n and (n.startswith(start) or start.startswith(n))]
    found = found[:3] or (difflib.get_close_matches(start, names, n=1, cutoff=cutoff) if len(start) > 2 else [])
    return f", did you mean {' or '.join(names[n] for n in found)}?" if found else ""


def near_rule(word: str, rules: Mapping[str, str]) -> str:
    """What to append to `no rule is called ...`: rules with similar names, or where all are listed. `rules`: code to
    name.
    """
    return nearest(word.replace("_", "-"), (*rules, *rules.values())) or "; `tsaudit rules` lists them"


def printable(text: str, longest: int = 200) -> str:
    """`text` on one line, limited in length, with unprintable characters written as escapes.

    That covers control characters, ANSI sequences, line separators, and the invisible marks that reverse text: text
    from a database must not move a terminal's cursor. Secrets of the configuration are masked before anything is cut
    off.
    """
    text = mask(text)
    short = text if len(text) <= longest else text[: longest - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in short)
