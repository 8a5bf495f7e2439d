"""Classifies a single string: the first of the ordered rules that fits all of it, and its name for people."""

from __future__ import annotations

import functools
import ipaddress
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from tsaudit.analysis.shapes.texts import is_statement, is_text
from tsaudit.analysis.shapes.times import is_time

UNKNOWN: Final = "unknown"

_LOOKED_AT: Final = 1000
"""In characters: anything longer is prose, a document, or an address."""

EARLIEST_EPOCH: Final = int(datetime(2005, 1, 1, tzinfo=UTC).timestamp())
LATEST_EPOCH: Final = int(datetime(2035, 1, 1, tzinfo=UTC).timestamp())
"""Integers in this range are read as seconds since 1970 if nearly all values of a column are in it."""
_EPOCH_UNITS: Final = {10: 1, 13: 10**3, 16: 10**6, 19: 10**9}

KUBERNETES: Final = "[bcdfghjklmnpqrstvwxz2456789]"
"""The letters and digits of Kubernetes' random names: they cannot spell a word."""

_TOP_LEVEL: Final = (
    "com|net|org|io|dev|app|cloud|edu|gov|int|info|biz|local|localdomain|internal|intranet|lan|corp|home|private|svc|"
    "cluster|prod|example|test|invalid|arpa|de|uk|us|eu|fr|nl|at|ch|it|es|pl|se|no|fi|dk|be|cz|ru|cn|jp|kr|in|br|au|ca|nz|za"
)


@dataclass(frozen=True, slots=True)
class ShapeRule:
    """One kind of string."""

    kind: str
    fits: Callable[[str], object]
    sure: bool = True
    """Whether even a few values are conclusive; otherwise many are needed to rule out coincidence."""


def kind_of(value: str) -> str:
    """The kind of one value; `unknown` if no rule fits."""
    rule = rule_for(value)
    return rule.kind if rule else UNKNOWN


def rule_for(value: str) -> ShapeRule | None:
    """The first rule that fits the whole value; for a very long value, its beginning."""
    return _rule_for(value[:_LOOKED_AT])


@functools.lru_cache(maxsize=4096)
def _rule_for(beginning: str) -> ShapeRule | None:
    # The same values are asked for by several rules, one after the other.
    return next((rule for rule in RULES if rule.fits(beginning)), None)


def _pattern(regex: str, *, case: bool = False) -> Callable[[str], object]:
    return re.compile(regex, 0 if case else re.IGNORECASE).fullmatch


_IPV4: Final = _pattern(r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?::\d{1,5}|/\d\d?)?")
_IPV6: Final = re.compile(r"\[?([0-9a-f:.]{2,45})(?:%\w+)?\]?(?::\d{1,5}|/\d{1,3})?", re.IGNORECASE)


def _is_ip(value: str) -> bool:
    if _IPV4(value):
        return True
    found = _IPV6.fullmatch(value)
    if not found or value.count(":") < 2:
        return False
    try:
        ipaddress.IPv6Address(found[1])
    except ValueError:
        return False
    return True


def is_epoch(value: str) -> bool:
    """Whether the value is a number of seconds, or of thousandths, millionths or billionths, since 1970."""
    whole, _, fraction = value.partition(".")
    unit = _EPOCH_UNITS.get(len(whole))
    return bool(
        unit
        and whole.isascii()
        and whole.isdigit()
        and (not fraction or fraction.isdigit())
        and EARLIEST_EPOCH <= int(whole) // unit <= LATEST_EPOCH
    )


_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_READABLE: Final = 0.75
_MEAN_WORD: Final = 2.75
"""Share of the letters in words of at least three, and mean length of all words, from which a name is made of words: of
random ones, an eighth reaches either.
"""


def _is_camel_case(token: str) -> bool:
    """Whether capitals begin words, as in `leafTemp1` or `InECT0Pkts`."""
    if token.islower() or token.isupper():
        return False
    lengths = [len(word) for word in _WORDS.findall(token)]
    return sum(n for n in lengths if n >= 3) >= _READABLE * sum(lengths) or sum(lengths) >= _MEAN_WORD * len(lengths)


def is_random(token: str) -> bool:
    """Whether letters and digits alternate as they would not in a name that a person chose."""
    if len(token) < 8 or not token.isascii() or not token.isalnum() or _is_camel_case(token):
        return False
    kinds = ["d" if c.isdigit() else "u" if c.isupper() else "l" for c in token]
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    return "d" in kinds and len(set(kinds)) > 1 and changes >= max(3, len(token) // 4)


_PRODUCT: Final = r"[\w!#$%&'*+.^`|~-]+/[\w.+-]*\d[\w.+-]*"
_USER_AGENT: Final = _pattern(rf"{_PRODUCT}(?: {_PRODUCT}| \([^()]+\)| [\w.-]+)+")
"""Products with versions, and comments: RFC 9110, section 10.1.5. A product alone could be a path."""

RULES: Final = (
    ShapeRule("uuid", _pattern(r"(?:urn:uuid:)?\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?")),
    ShapeRule("ulid", _pattern(r"[0-7][0-9A-HJKMNP-TV-Z]{25}|(?=.*[a-z])[0-7][0-9a-hjkmnp-tv-z]{25}", case=True)),
    ShapeRule("mac", _pattern(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}|(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}")),
    ShapeRule("ip", _is_ip),
    ShapeRule("email", _pattern(r"[^@\s,;]+@[^@\s,;]+\.[a-z]{2,}")),
    ShapeRule("url", _pattern(r"[a-z][a-z0-9+.-]*://\S+")),
    ShapeRule("iso_time", is_time),
    ShapeRule("hash", _pattern(r"(?:(?:sha\d+|md5)[:-])?(?=.*\d)(?:[0-9a-f]{8}){4,16}")),
    ShapeRule("position", _pattern(r"\(?[+-]?\d{1,2}\.\d{2,}[,; ] ?[+-]?\d{1,3}\.\d{2,}\)?")),
    ShapeRule("epoch", is_epoch, sure=False),
    ShapeRule("float", _pattern(
        # More digits than a float can have are two numbers.
        r"(?!\d{8,}\.\d{8,})[+-]?(?:\d+\.\d*|\.\d+)(?:e[+-]?\d+)?|[+-]?\d+e[+-]\d+|[+-]?(?:nan|inf)"
    )),
    ShapeRule("integer", _pattern(r"[+-]?\d{1,14}")),
    ShapeRule("duration", _pattern(
        r"-?(?:\d+(?:\.\d+)?(?:ns|us|[\u00b5\u03bc]s|ms|sec|min|s|m|h|d|w|y) ?)+"
        r"|(?:[a-z]+ )?\d+(?:[.,]\d+)? ?[^\W\d_]{1,8}\.?(?:,? (?:and )?\d+(?:[.,]\d+)? ?[^\W\d_]{1,8}\.?)+"
        r"|-?p(?:\d+(?:\.\d+)?[ymwd])*(?:t(?:\d+(?:\.\d+)?[hms])+)?"
    )),
    ShapeRule("version", _pattern(
        r"(?:v\d{1,5}(?:\.\d{1,8})*|\d{1,8}(?:\.\d{1,8}){2,})(?:[-+.][0-9a-z.-]+)?"
    ), sure=False),
    ShapeRule("boolean", _pattern(r"true|false|yes|no|on|off")),
    ShapeRule("path", _pattern(r"/\S*|~/\S*|\.{1,2}/\S*|[a-z]:\\.*|\\\\[^\\]+\\.*"), sure=False),
    ShapeRule("sql", is_statement),
    ShapeRule("json", _pattern(r"(?:\{\s*\"|\[\s*[\[{\"])[\s\S]*")),
    ShapeRule("user_agent", _USER_AGENT, sure=False),
    ShapeRule("log_text", is_text, sure=False),
    ShapeRule("hostname", _pattern(
        rf"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9])?\.)+(?:{_TOP_LEVEL})(?::\d{{1,5}})?|(?:gke|aks|ec2)-[a-z0-9-]+"
    ), sure=False),
    ShapeRule("counter_name", _pattern(
        r"[a-z]+(?:[-_. ][a-z]+)*[-_. #]?\d{1,5}(?:[-_. #]\d{1,5})*(?:[-_.]?[a-z][a-z0-9]*)?(?:[-_.][a-z][a-z0-9]*)*"
    ), sure=False),
    ShapeRule("word", _pattern(r"(?!\d)\w[\w+&'./-]*(?: [\w+&'./()-]+){0,5}"), sure=False),
)  # fmt: skip
"""In order: a value that matches one rule is not passed to the next."""


_DESCRIPTIONS: Final = {
    "uuid": "UUID",
    "ulid": "ULID",
    "mac": "MAC address",
    "ip": "IP address",
    "email": "email address",
    "url": "URL",
    "iso_time": "timestamp",
    "epoch": "timestamp",
    "hash": "hash",
    "position": "coordinates",
    "float": "decimal number",
    "integer": "integer",
    "version": "version",
    "boolean": "yes or no",
    "path": "path",
    "sql": "SQL statement",
    "json": "JSON",
    "user_agent": "user agent",
    "log_text": "text",
    "pod": "pod name",
    "hostname": "host name",
    "id": "ID",
}
"""Kind to word. A plain word and an unknown kind have none: saying so would help nobody."""


def description_of(kind: str) -> str:
    """The kind in a word; its own name if it has none."""
    return _DESCRIPTIONS.get(kind, kind.replace("_", " "))


def describe_kinds(values: Iterable[str]) -> tuple[str, ...]:
    """The kinds of the values, each once, in their order; empty if no value has a kind worth a word."""
    return tuple(dict.fromkeys(word for value in values if (word := _DESCRIPTIONS.get(kind_of(value)))))
