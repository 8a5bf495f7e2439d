"""The secrets of the configuration, and the one way to keep them out of texts.

Whoever reads a secret remembers it here; whatever takes in text from elsewhere (a driver's or a server's error, a log
record) passes it through `mask`. A secret is found in every form it may take on its way: percent-encoded or decoded,
escaped, in base64, cut off by whoever quoted it, or taken apart at the characters that mean something in an address.

Limits, on purpose: of 1 to 3 characters, or a word of everyday messages such as `password`, a secret is masked only
where it stands as one (quoted, or behind `:` or `=`); anywhere else the text would turn into asterisks, and show the
secret by that.
"""

from __future__ import annotations

import base64
import functools
import html
import json
import logging
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, quote_plus, unquote, unquote_plus

MASK: Final = "***"

_RUN: Final = 8
"""So many characters in a row, of any form of a secret, are masked wherever they stand."""
_SHORTEST: Final = 4
"""A secret, or a part of one between separators, of at least that length is masked where it stands as a word."""
_SEPARATORS: Final = re.compile(r"[\s@/?#:&=%;,+|\\'\"`<>\[\](){}]+")
_EVERYDAY: Final = frozenset(
    {
        "administrator",
        "authentication",
        "certificate",
        "connection",
        "credentials",
        "database",
        "greptimedb",
        "influxdata",
        "influxdb",
        "localhost",
        "measurement",
        "metrics",
        "mongodb",
        "password",
        "permission",
        "postgres",
        "postgresql",
        "private",
        "production",
        "public",
        "readonly",
        "secret",
        "server",
        "services",
        "sqlalchemy",
        "telegraf",
        "timescaledb",
        "timestream",
        "token",
        "tsaudit",
        "user",
        "username",
        "webhook",
        "workflows",
    }
)
"""Words that tell nothing by themselves, and that messages are full of."""

_CUT_OFF: Final = re.compile(r"\.\.\.?|…|$")

_lock = threading.Lock()
_known: dict[str, None] = {}


def remember(*values: str | None) -> None:
    """Keep the values out of every text that passes through `mask`, and out of log records, from now on."""
    global _matcher
    new = [value for value in values if value and value.strip()]
    if new and not all(value in _known for value in new):
        with _lock:
            _known.update(dict.fromkeys(new))
            _matcher = None
        _watch_logs()


def remember_login(user: str | None, password: str | None) -> None:
    """Remember the password, and how both look in an HTTP header. The user alone is no secret."""
    if password:
        remember(password, base64.b64encode(f"{user or ''}:{password}".encode()).decode())


def forget() -> None:
    """Remember nothing any more: for tests."""
    global _matcher
    with _lock:
        _known.clear()
        _matcher = None


def mask(text: str) -> str:
    """The text with `***` in place of every secret, and of every part of one that could be recognized."""
    if not _known:
        return text
    return _masked(_current(), text)


class MaskedError(Exception):
    """An error whose text, which may quote what a driver or server said, holds no secret."""

    def __init__(self, line: str) -> None:
        super().__init__(mask(line))


@dataclass(frozen=True, eq=False)
class _Matcher:
    """What to look for, in lower case. Compared by identity: a new one is made when a secret is added."""

    runs: frozenset[str] = field(repr=False)
    """All runs of `_RUN` characters: masked wherever they stand."""
    words: frozenset[str] = field(repr=False)
    """Short secrets and parts between separators: masked where they stand as words."""
    lengths: tuple[int, ...]
    """Of the words."""
    begun: frozenset[str] = field(repr=False)
    """Beginnings shorter than a run: masked where the text was cut off behind them."""
    in_place: re.Pattern[str] | None = field(repr=False)
    """What is masked only where it stands as a secret."""


_matcher: _Matcher | None = None


def _current() -> _Matcher:
    global _matcher
    found = _matcher
    if found is None:
        with _lock:
            found = _matcher = _made(tuple(_known))
    return found


def _made(secrets: tuple[str, ...]) -> _Matcher:
    runs: set[str] = set()
    words: set[str] = set()
    in_place: set[str] = set()
    begun: set[str] = set()
    everyday = {w[i : i + _RUN] for w in _EVERYDAY for i in range(len(w) - _RUN + 1)}
    for secret in secrets:
        stripped = secret.strip()
        plain = {stripped, unquote(stripped)}
        if len(stripped) < _SHORTEST or stripped.lower() in _EVERYDAY:
            in_place |= plain
            continue
        for form in {form for one in plain for form in _forms(one)}:
            lower = form.lower()
            own = {lower[i : i + _RUN] for i in range(len(lower) - _RUN + 1)}
            runs |= own - everyday
            if not own or own & everyday:
                words.add(form)
            begun |= {lower[:length] for length in range(_SHORTEST, min(_RUN, len(lower)))}
        words |= {part for one in plain for part in _SEPARATORS.split(one) if _tells(part)}
    words = {word.lower() for word in words} - _EVERYDAY
    everyday_starts = {word[:length] for word in _EVERYDAY for length in range(_SHORTEST, _RUN)}
    behind = rf"(?<=[:='\"`]){_any_of(in_place)}(?=$|[@&;'\"`\s,)\]}}/])"
    return _Matcher(
        frozenset(runs),
        frozenset(words),
        tuple(sorted({len(word) for word in words})),
        frozenset(begun - everyday_starts),
        re.compile(behind, re.IGNORECASE) if in_place else None,
    )


def _any_of(texts: set[str]) -> str:
    return f"(?:{'|'.join(re.escape(text) for text in sorted(texts, key=len, reverse=True))})"


def _tells(part: str) -> bool:
    """Whether a part of a secret, standing alone, is worth masking: a short word may be any word."""
    mixed = any(c.isdigit() for c in part) and any(c.isalpha() for c in part)
    return len(part) >= _SHORTEST or (len(part) == _SHORTEST - 1 and mixed)


def _forms(secret: str) -> Iterator[str]:
    """The secret as it may appear in a text."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield secret
    yield from (unquote_plus(secret), quote_plus(secret, errors="replace"))
    yield from (quote(secret, safe=kept, errors="replace") for kept in ("", "/", ":/?#[]@!$&'()*+,;="))
    yield from (repr(secret)[1:-1], repr(raw)[2:-1], ascii(secret)[1:-1])
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (html.escape(secret), raw.decode("latin-1"), raw.hex())
    yield quote(quote(secret, safe="", errors="replace"), safe="")  # an address within an address
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # What stands before the secret shifts it: only what no neighbor has a part in is the same everywhere.
            encoded = encode(b"\0" * offset + raw).decode().rstrip("=")
            first, last = -(-offset * 8 // 6), (offset + len(raw)) * 8 // 6
            if last - first >= _RUN:
                yield encoded[first:last]


@functools.lru_cache(maxsize=4096)
def _masked(matcher: _Matcher, text: str) -> str:
    lower = text.lower()
    if len(lower) != len(text):  # letters whose lower case is longer: position by position instead
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    covered = bytearray(len(text))
    for start, end in _found(matcher, text, lower):
        covered[start:end] = b"\1" * (end - start)
    if not any(covered):
        return text
    shown = zip(text.replace("\0", " "), covered, strict=True)
    return re.sub("\0+", MASK, "".join("\0" if hidden else c for c, hidden in shown))


def _found(matcher: _Matcher, text: str, lower: str) -> Iterator[tuple[int, int]]:
    for i in range(len(text)):
        if lower[i : i + _RUN] in matcher.runs:
            yield i, i + _RUN
        if i == 0 or not lower[i - 1].isalnum():
            for length in matcher.lengths:
                if (
                    i + length <= len(text)
                    and lower[i : i + length] in matcher.words
                    and not lower[i + length : i + length + 1].isalnum()
                ):
                    yield i, i + length
    for cut in _CUT_OFF.finditer(lower):
        for length in range(_SHORTEST, min(_RUN, cut.start() + 1)):
            if lower[cut.start() - length : cut.start()] in matcher.begun:
                yield cut.start() - length, cut.start()
    if matcher.in_place is not None:
        for found in matcher.in_place.finditer(text):
            yield found.span()


# -- logs ------------------------------------------------------------------------------------------------------------

_watching = False


def _watch_logs() -> None:
    """Mask what this process logs, whichever library does: drivers log addresses, and errors with all they quote."""
    global _watching
    with _lock:
        if _watching:
            return
        _watching = True
    make = logging.getLogRecordFactory()

    def masked(*arguments: Any, **named: Any) -> logging.LogRecord:
        record = make(*arguments, **named)
        if _known:
            _mask_record(record)
        return record

    logging.setLogRecordFactory(masked)


def _mask_record(record: logging.LogRecord) -> None:
    try:
        text = record.getMessage()
    except Exception:
        return  # logging itself reports arguments that do not fit
    if (clean := mask(text)) != text:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[0] is not None:
        trace = logging.Formatter().formatException(record.exc_info)
        if (clean := mask(trace)) != trace:
            record.exc_text = clean  # what a formatter uses in place of its own
