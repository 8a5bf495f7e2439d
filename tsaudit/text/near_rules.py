"""Suggestions for somebody who named a rule that does not exist."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from tsaudit.text.names import listed, nearest

_CODE: Final = re.compile(r"([A-Za-z]+)[-_ ]?(\d+)")
_LETTERS: Final = re.compile(r"[A-Za-z]{2,4}")
_MOST: Final = 12
_TOO_COMMON: Final = 4
"""A word that is in the names of more rules than this is ignored."""
_LIST: Final = "`tsaudit rules` lists them"


def near(word: str, rules: Mapping[str, str]) -> str:
    """What to append to `no rule is called ...`: rules with similar names, and where all are listed.

    `rules`: code to name. A code is compared with codes only, and words with the words in names.
    """
    codes: dict[str, list[str]] = {}
    for code in sorted(rules):
        codes.setdefault(code.rstrip("0123456789"), []).append(code)
    written = _CODE.fullmatch(word)
    letters = (written[1] if written else word).upper()
    number = f"{int(written[2]):03}" if written else ""
    if letters in codes:
        padded = letters + number
        if padded in rules:
            return f", did you mean {padded}?"
        return f"; the codes of {letters} are {listed(codes[letters], _MOST)}; {_LIST}"
    if written or (_LETTERS.fullmatch(word) and word.isupper()):
        same_number = [code for code in rules if number and code.endswith(number)]
        hint = nearest(letters + number, same_number or codes)
        return hint or f"; codes begin with {listed(sorted(codes), 30)}; {_LIST}"
    parts = set(re.split(r"[-_ ]+", word.lower()))
    alike = {name: parts & set(name.split("-")) for name in rules.values()}
    shared = [name for name, common in alike.items() if any(_is_specific(part, rules) for part in common)]
    if shared and len(parts) < 3:
        return f", did you mean {' or '.join(shared)}?"
    return nearest("-".join(re.split(r"[-_ ]+", word)), rules.values()) or f"; {_LIST}"


def _is_specific(part: str, rules: Mapping[str, str]) -> bool:
    return len(part) > 2 and sum(part in name.split("-") for name in rules.values()) <= _TOO_COMMON
