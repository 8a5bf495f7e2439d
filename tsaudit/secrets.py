"""Keeps the secrets of the configuration out of all text.

Code that reads a secret registers it here; code that takes in text from elsewhere (an error of a driver or server, a
log record) passes it through `mask`. A secret is found in every form it may take on its way: with any of its characters
escaped in any way (`%70`, `&#112;`, `\\u0070`), repeatedly, decoded, in base64 or hex, cut off by a quote, or split at
the characters that are special in an address.

Deliberate limits: a secret of 1 to 3 characters, or a common word such as `password`, is masked only where it is
clearly used as a secret (quoted, or after `:` or `=`). Anywhere else, the text would turn into asterisks and reveal the
secret that way.
"""

from __future__ import annotations

import base64
import functools
import html
import logging
import re
import threading
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlsplit

MASK: Final = "***"

_RUN: Final = 8
"""This many consecutive characters of any form of a secret are masked anywhere."""
_SHORTEST: Final = 4
"""A secret, or a part of one between separators, of at least this length is masked if it is a separate word."""
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
"""Common words that occur in many messages and reveal nothing by themselves."""

_ESCAPE: Final = re.compile(
    r"&(?:#[0-9]{1,10}+|#[xX][0-9a-fA-F]{1,8}+)(?:;|(?!\Z|\.\.|…))|&[a-zA-Z][a-zA-Z0-9]{1,31};"
    r"|%(?:[0-9a-fA-F]{2}|u[0-9a-fA-F]{4})"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}"
    r"|\\U00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|\\[0-3][0-7]{2}|\\[\\/'\"abfnrtv]"
)
"""One character, escaped as in HTML, addresses, JSON, or programming languages."""
_DEEPEST: Final = 5
"""How many times a text may have been escaped: an address in an address, in JSON, on a page."""
_CUT_OFF: Final = re.compile(r"(?:&#?[0-9a-z]{0,11}|%u?[0-9a-f]{0,3}|\\[ux]?[0-9a-f]{0,7})?(?:\.\.\.?|…|$)")
"""The place where a text was cut off, perhaps within an escape."""
_KEPT: Final = 2_000
"""Longest text whose masked form is cached: lines are often repeated, pages are not."""

_BEFORE_PASSWORDS: Final = tuple(
    f"{word}{sign}{quote}"
    for word in ("password", "passwd", "pwd", "token")
    for sign in ("=", " = ", ": ", "': ", '": ')
    for quote in ("", "'", '"')
)
"""What is written before a password in messages, settings, and JSON."""

_lock = threading.Lock()
_known: dict[str, None] = {}
_shown: set[str] = set()
"""Names that all output shows anyway, in lower case."""


def remember(*values: str | None) -> None:
    """Mask these values from now on in every text that passes through `mask`, and in log records."""
    global _matcher
    new = [value for value in values if value and value.strip()]
    if new and not all(value in _known for value in new):
        with _lock:
            _known.update(dict.fromkeys(new))
            _matcher = None
        _watch_logs()


def remember_login(user: str | None, password: str | None) -> None:
    """Register the password, and both values together as they appear in an HTTP header. A user name alone is not
    secret.
    """
    if password:
        remember(password, base64.b64encode(f"{user or ''}:{password}".encode()).decode())


def show(*names: str) -> None:
    """Leave these names readable in every text, also where a password begins with one or is the same: output that
    hides which target it is about helps nobody, and reveals that the password has to do with its name.
    """
    global _matcher
    with _lock:
        _shown.update(name.lower() for name in names)
        _matcher = None


def clear() -> None:
    """Forget all secrets and names. For tests."""
    global _matcher
    with _lock:
        _known.clear()
        _shown.clear()
        _matcher = None


def page_url(url: str) -> str:
    """The address of a page that reports and messages link to. Raises ValueError if it is not an address, or contains a
    login.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("it is no address of a page; write https://...")
    if parts.username is not None or parts.password is not None:
        raise ValueError("it has a login, which everybody who reads a report would see; leave that out")
    return url


def mask(text: str) -> str:
    """The text with `***` in place of every secret, and of every part of one that could be recognized."""
    if not _known:
        return text
    return (_kept if len(text) <= _KEPT else _masked)(_current(), text)


@dataclass(frozen=True, eq=False)
class _Matcher:
    """The patterns to look for, in lower case. Compared by identity: a new instance is created when a
    secret is added.
    """

    runs: frozenset[str] = field(repr=False)
    """All runs of `_RUN` characters, which are masked anywhere."""
    words: frozenset[str] = field(repr=False)
    """Short secrets, and parts of secrets between separators, which are masked if they are separate words."""
    lengths: tuple[int, ...]
    """The lengths of `words`."""
    begun: frozenset[str] = field(repr=False)
    """Beginnings of secrets that are shorter than a run, which are masked if the text was cut off after them."""
    readable: frozenset[str]
    """Words and names that are never taken for such a beginning, nor is the end of one."""
    in_place: re.Pattern[str] | None = field(repr=False)
    """Matches secrets that are masked only where they are clearly used as a secret."""


_matcher: _Matcher | None = None


def _current() -> _Matcher:
    global _matcher
    found = _matcher
    if found is None:
        with _lock:
            found = _matcher = _made(tuple(_known), _EVERYDAY | _shown)
    return found


def _made(secrets: tuple[str, ...], readable: frozenset[str]) -> _Matcher:
    runs: set[str] = set()
    words: set[str] = set()
    in_place: set[str] = set()
    named: set[str] = set()
    begun: set[str] = set()
    everyday = {w[i : i + _RUN] for w in readable for i in range(len(w) - _RUN + 1)}
    for secret in secrets:
        stripped = secret.strip()
        plain = {one for view, _ in _views(stripped) for one in (view, unquote(view)) if one}
        if len(stripped) < _SHORTEST or stripped.lower() in readable:
            if stripped.lower() in readable - _EVERYDAY:
                named |= plain
            else:
                in_place |= plain
            continue
        for form in {form for one in plain for form in _forms(one)}:
            lower = form.lower()
            own = {lower[i : i + _RUN] for i in range(len(lower) - _RUN + 1)}
            runs |= own - everyday
            if not own or own & everyday:
                words.add(form)
            begun |= {lower[:length] for length in range(_SHORTEST, min(_RUN, len(lower)))}
        words |= {part for one in plain for part in _SEPARATORS.split(one) if _is_worth_masking(part)}
    words = {word.lower() for word in words} - readable
    everyday_starts = {word[:length] for word in readable for length in range(_SHORTEST, _RUN)}
    places = [rf"(?<=[:='\"`]){_any_of(in_place)}(?=$|[@&;'\"`\s,)\]}}/])"] if in_place else []
    if named:
        # A quote is around a name as often as around a password.
        behind = "|".join(f"(?<={re.escape(one)})" for one in _BEFORE_PASSWORDS)
        places += [rf"(?<=:){_any_of(named)}(?=@)", rf"(?:{behind}){_any_of(named)}(?!\w)"]
    return _Matcher(
        frozenset(runs),
        frozenset(words),
        tuple(sorted({len(word) for word in words})),
        frozenset(begun - everyday_starts),
        readable,
        re.compile("|".join(places), re.IGNORECASE) if places else None,
    )


def _any_of(texts: set[str]) -> str:
    return f"(?:{'|'.join(re.escape(text) for text in sorted(texts, key=len, reverse=True))})"


def _is_worth_masking(part: str) -> bool:
    """Whether a part of a secret is worth masking by itself: a short part may be an ordinary word."""
    mixed = any(c.isdigit() for c in part) and any(c.isalpha() for c in part)
    return len(part) >= _SHORTEST or (len(part) == _SHORTEST - 1 and mixed)


def _forms(secret: str) -> Iterator[str]:
    """The secret as it may appear in a text whose escapes have been resolved."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield from (secret, secret.replace(" ", "+"), secret.replace("+", " "))
    yield from (raw.decode("latin-1"), raw.hex())
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for offset in range(3):
            # Characters before the secret shift its base64 form: only the parts that no neighbor affects are always the
            # same.
            encoded = encode(b"\0" * offset + raw).decode().rstrip("=")
            first, last = -(-offset * 8 // 6), (offset + len(raw)) * 8 // 6
            if last - first >= _RUN:
                yield encoded[first:last]


def _views(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """The text as it is, then with its escapes resolved once, twice, and so on.

    Each is paired with the position of each of its characters in the original text, followed by the length of that
    text.
    """
    view: str = text
    places: Sequence[int] = range(len(text) + 1)
    yield view, places
    for _ in range(_DEEPEST):
        if _ESCAPE.search(view) is None:
            return
        view, places = _resolved(view, places)
        yield view, places


def _resolved(text: str, places: Sequence[int]) -> tuple[str, Sequence[int]]:
    parts: list[str] = []
    begins = array("q")
    end = 0
    for escape in _ESCAPE.finditer(text):
        character = _character(escape[0])
        parts += (text[end : escape.start()], character)
        begins.extend(places[end : escape.start()])
        begins.extend([places[escape.start()]] * len(character))
        end = escape.end()
    begins.extend(places[end:])
    return "".join((*parts, text[end:])), begins


def _character(escape: str) -> str:
    """The character that an escape stands for: a byte of UTF-8 becomes a Latin-1 character, which is one of the forms
    of a secret.
    """
    if escape[0] == "&":
        return html.unescape(escape)
    if escape[0] == "%":
        return chr(int(escape.lstrip("%u"), 16))
    if escape == "\\/":
        return "/"
    found = escape.encode("ascii").decode("unicode_escape")
    return found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _masked(matcher: _Matcher, text: str) -> str:
    covered = bytearray(len(text))
    for view, places in _views(text):
        for start, end in _found(matcher, view):
            covered[places[start] : places[end]] = b"\1" * (places[end] - places[start])
    if not any(covered):
        return text
    shown = zip(text.replace("\0", " "), covered, strict=True)
    return re.sub("\0+", MASK, "".join("\0" if hidden else c for c, hidden in shown))


_kept: Final = functools.lru_cache(maxsize=4096)(_masked)


def _found(matcher: _Matcher, text: str) -> Iterator[tuple[int, int]]:
    lower = text.lower()
    if len(lower) != len(text):  # Some letters get longer in lower case: go position by position.
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
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
        # A statement to copy ends with the name of a user: `TO tsaudit` is whole, though the password is `audit...`.
        if _last_word(lower, cut.start()) in matcher.readable:
            continue
        for length in range(_SHORTEST, min(_RUN, cut.start() + 1)):
            if lower[cut.start() - length : cut.start()] in matcher.begun:
                yield cut.start() - length, cut.start()
    if matcher.in_place is not None:
        for found in matcher.in_place.finditer(text):
            yield found.span()


def _last_word(text: str, end: int) -> str:
    """The letters, digits, `_`, and `-` before that position."""
    begin = end
    while begin and (text[begin - 1].isalnum() or text[begin - 1] in "_-"):
        begin -= 1
    return text[begin:end]


# -- logs ------------------------------------------------------------------------------------------------------------

_watching = False


def _watch_logs() -> None:
    """Mask secrets in everything that this process logs: drivers log addresses, and errors with quoted data."""
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
        return  # Logging itself reports arguments that do not fit the message.
    if (clean := mask(text)) != text:
        record.msg, record.args = clean, ()
    if record.exc_info and record.exc_info[0] is not None:
        trace = logging.Formatter().formatException(record.exc_info)
        if (clean := mask(trace)) != trace:
            record.exc_text = clean  # Formatters use it instead of formatting the exception.
