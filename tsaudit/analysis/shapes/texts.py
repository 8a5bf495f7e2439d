"""Recognizes values that are meant to be read: messages in any script, statements, code, documents."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_WORDS: Final = re.compile(r"\S+")
_LETTERS: Final = re.compile(r"[^\W\d_]{2,}")
_LOG_BEGIN: Final = re.compile(
    r"(?:\[?(?:trace|debug|info|notice|warn(?:ing)?|error|fatal|critical)\b|\d{4}-\d\d-\d\d[ T]\d)", re.IGNORECASE
)
_EXCEPTION: Final = re.compile(
    r"(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Failure|Warning|Fault)\b(?::\s|\s*\()|at [\w$]+(?:\.[\w$<>]+)+\("
)
_MARKUP: Final = re.compile(r"<(?!\S+@\S+>)[?!/]?[A-Za-z][^<>]*>.*", re.DOTALL)
_OPTION: Final = re.compile(r"(?<=\s)--?[A-Za-z][\w.-]*")
"""An option of a command, as in `java -Xmx2g -jar shop.jar`."""
_SYNTAX: Final = ("()", "[]", "{}", "<>", "\"'", "=", ";", "|", "$", "*", ":", ",", "!", "?", "#")
_WITHOUT_SPACES: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Letters of scripts that do not put spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_HIRAGANA: Final = re.compile(r"[\u3041-\u3096]")
_SOUTHEAST: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_KOREAN_VERB: Final = re.compile(r"[\uac00-\ud7a3](?:\ub2c8\ub2e4|\uc138\uc694|\uc2b5\ub2c8\uae4c)\b")
_STOPS: Final = re.compile(r"[\uff0c\u3002\uff1a\uff1b\uff01\uff1f\u3001\uff08.!?:;,]|\d{3}")


def is_text(value: str) -> bool:
    """Whether the value reads as a sentence, a line of a log, a command, or code."""
    if "\n" in value.strip() or _EXCEPTION.match(value) or _MARKUP.fullmatch(value):
        return True
    if _REQUEST.search(value):
        return len(_WORDS.findall(value)) >= _OF_REQUEST
    return bool(_is_unspaced(value) or _is_prose(value) or _is_code(value) or _KOREAN_VERB.search(value))


_REQUEST: Final = re.compile(r"\b(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|CONNECT) [/*h]\S*")
_OF_REQUEST: Final = 4
"""Minimum number of words in a line about a request: a route has only two."""


def _is_prose(value: str) -> bool:
    words = [w.strip(".,:;!?()[]'\"") for w in _WORDS.findall(value)]
    if len(words) > 2 and (len(value) > 120 or _LOG_BEGIN.match(value)):
        return True
    has_signs = any(c.isdigit() or c in ":;=[]{}()<>\"'!?%" for c in value)
    # Letters without case are neither lower nor upper, so only its length can distinguish a title from a sentence.
    uncased = sum(len(w) for w in words if w.lower() == w.upper() and _is_word(w))
    if uncased and not _WITHOUT_SPACES.search(value):
        return len(words) >= 3 and uncased >= 8 and (has_signs or len(words) >= 5)
    # Product names have as many words and numbers, but rarely contain two lower-case words, and titles contain only
    # short ones. A short word after a number is a unit, and one before a number shows a location, as in `floor 3 room
    # 200`.
    common = [
        len(word)
        for before, word, behind in zip(("", *words), words, (*words[1:], ""), strict=False)
        if word.islower()
        and word.isalpha()
        and len(word) > (5 if behind.isdigit() else 2 if before[:1].isdigit() else 1)
    ]
    is_title = len(common) < 5 and max(common, default=0) <= 3
    return len(common) >= 2 and not is_title and (len(words) >= 7 or (len(words) >= 4 and has_signs))


def _is_word(text: str) -> bool:
    """Whether the text consists of letters, and of marks above and below them, as in Indian scripts."""
    return all(c.isalpha() or unicodedata.category(c)[0] == "M" for c in text)


def _is_code(value: str) -> bool:
    if " " not in value or len(value) < 20:
        return False
    if len(_OPTION.findall(value)) >= 2 and len(_WORDS.findall(value)) >= 4:
        return True
    kinds = sum(any(c in value for c in characters) for characters in _SYNTAX)
    return kinds >= 3 and len(_LETTERS.findall(value)) >= 3


def _is_unspaced(value: str) -> bool:
    letters = len(_WITHOUT_SPACES.findall(value))
    if letters < 8:
        return False
    if len(_SOUTHEAST.findall(value)) > letters / 2:
        return letters >= 20
    return letters >= 16 or len(_HIRAGANA.findall(value)) >= 4 or bool(_STOPS.search(value))


_VERB: Final = (
    "select|insert|update|delete|with|create|alter|drop|truncate|set|call|explain|analyze|vacuum|begin|commit|rollback|"
    "show|grant|revoke|copy|merge|replace|lock|declare|fetch|exec|execute|use|values|deallocate|prepare|discard"
)
_STATEMENT: Final = re.compile(
    r"\s*(?:select\b.*\bfrom\b|insert\s+into\b|update\b.*\bset\b|delete\s+from\b|with\b.*\bas\s*\(|"
    r"(?:create|alter|drop|truncate)\s+(?:table|index|view|database)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_COMMAND: Final = re.compile(rf"\s*(?:{_VERB.upper()})\b.*[\s(].*", re.DOTALL)


def is_statement(value: str) -> bool:
    """Whether the value is a statement in SQL."""
    return bool(_STATEMENT.fullmatch(value) or _COMMAND.fullmatch(value))
