"""No secret in any text: the forms a secret may take, the texts it may turn up in, and what stays readable."""

from __future__ import annotations

import base64
import html
import json
import logging
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsaudit import secrets
from tsaudit.engines.connection import ConnectorError, FactError
from tsaudit.history.database import HistoryError
from tsaudit.model.figures import Gap, Reason
from tsaudit.report.storage import ReportError
from tsaudit.secrets import mask
from tsaudit.text import printable

AWKWARD = (
    *("aa@TAIL/zz9", "p:a?s#s&w=9Q", "100%Sure%zz77", "with blank 99x", "tab\there88", "quo'te\"d77x", "back\\slash66"),
    *(
        "ünïcödé-55",
        "密码秘密钥匙九四",
        "emoji🔑key12",
        "[brackets]33",
        "plus+sign+22",
        "semi;colon,11",
        "a" * 300 + "Z9",
    ),
    *("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.sIgNaTuRe", "xoxb-123-456-AbCdEf", "deadBEEF0123", "Tr0ub4dor&3"),
    *("%70%61%73%73%2Fw0rd", "line\nend77qq"),
)


def pieces(secret: str, least: int = 4) -> set[str]:
    """Parts of a secret that a text must not show."""
    return {piece for piece in secrets._SEPARATORS.split(secret) if len(piece) >= least} | {secret}


def html_numbers(text: str, form: str) -> str:
    return "".join(form.format(ord(c)) for c in text)


def forms(secret: str) -> dict[str, str]:
    raw = secret.encode()
    return {
        "itself": secret,
        "encoded": quote(secret, safe=""),
        "encoded but for slashes": quote(secret),
        "as a form": quote_plus(secret),
        "encoded twice": quote(quote(secret, safe=""), safe=""),
        "hex": raw.hex(),
        "decoded": unquote(secret),
        "repr": repr(secret),
        "bytes": repr(raw),
        "ascii": ascii(secret),
        "json": json.dumps(secret),
        "json in utf-8": json.dumps(secret, ensure_ascii=False),
        "latin-1": raw.decode("latin-1"),
        "upper case": secret.upper(),
        "host": secret.lower(),
        "in an address": f"http://user:{secret}@host/x",
        "cut off": f"no such host {secret[: max(5, len(secret) - 3)]}...",
        "end of it": f"no such host {secret[2:]}" if len(secret) > 9 else secret,
        "printable": printable(secret, 1000),
        "html": html_numbers(secret, "&#{};"),
        "html in hex": html_numbers(secret, "&#x{:x};"),
        "html in capitals, with zeros": html_numbers(secret, "&#X{:06X};"),
        "html without semicolons": html_numbers(secret, "&#{}") + "&#x21;",
        "html of html": html.escape(html_numbers(secret, "&#{};")),
        "html of an address": html.escape(quote(secret)),
        "every byte encoded": "".join(f"%{byte:02x}" for byte in raw),
        "json of nothing but escapes": json.dumps(html_numbers(secret, "&#{};").replace("&", "\\u0026")),
        "utf-16 escapes": "".join(f"\\u{unit:04x}" for unit in memoryview(secret.encode("utf-16-le")).cast("H")),
        "octal": "".join(f"\\{byte:03o}" for byte in raw),
        "cut off in html": html_numbers(secret[: max(5, len(secret) - 3)], "&#{};") + "&#1",
    }


@pytest.mark.parametrize("secret", AWKWARD, ids=range(len(AWKWARD)))
def test_a_secret_is_masked_in_every_form(secret: str) -> None:
    secrets.remember(secret)
    for name, form in forms(secret).items():
        text = mask(f"the server says: {form}")
        assert "***" in text, name
        for piece in pieces(secret):
            assert piece.lower() not in text.lower(), (name, piece)
        for piece in pieces(unquote(secret), 6):
            assert piece.lower() not in text.lower(), (name, piece)


ESCAPES: Final[tuple[Callable[..., str], ...]] = (
    str,
    "&#{0:d};".format,
    "&#{0:07d};".format,
    "&#x{0:x};".format,
    "&#X{0:04X};".format,
    "%{0:02x}".format,
    "%u{0:04X}".format,
    "\\u{0:04x}".format,
    "\\U{0:08X}".format,
    "\\x{0:02x}".format,
    "\\{0:03o}".format,
)
WRAPPINGS: Final[tuple[Callable[[str], str], ...]] = (
    str,
    html.escape,
    quote,
    lambda text: json.dumps(text)[1:-1],
    lambda text: html_numbers(text, "&#{};"),
)


@settings(deadline=None)
@given(st.sampled_from([secret for secret in AWKWARD if len(secret) < 100]), st.data())
def test_a_secret_of_which_any_character_is_escaped_in_any_way_is_masked(secret: str, data: st.DataObject) -> None:
    """Nobody can list what proxies, drivers and pages do: each character as itself or in one of these ways."""
    secrets.clear()
    secrets.remember(secret)
    is_wide = any(c > "\x7f" for c in secret)
    written = ""
    for c in secret:
        ways = ESCAPES[:5] if c > "\x7f" else ESCAPES
        # Whoever escapes anything escapes what begins an escape; and a backslash in the way of the others that begin
        # with one: JSON around the text doubles all of these, or none.
        way = data.draw(st.sampled_from(ways[7:] if c == "\\" else ways[1:] if c in "&%" else ways))
        written += c if way is str else way(ord(c))
    for wrap in data.draw(st.lists(st.sampled_from(WRAPPINGS[: 2 if is_wide else None]), max_size=3)):
        written = wrap(written)
    assert mask(f"<p>you sent: {written}</p>") == "<p>you sent: ***</p>"


def test_what_only_looks_escaped_stays_as_it_is() -> None:
    secrets.remember("hunter22!", "aa@TAIL/zz9")
    for line in (
        "100% of &amp; \\u0041",
        "a=1&copy=2&x=%41",
        "C:\\new\\table &#9999999999; &nosuch; \\ud83d %",
        "&#12",
    ):
        assert mask(line) == line


def test_long_texts_are_not_kept() -> None:
    secrets.remember("hunter22!")
    before = secrets._kept.cache_info().currsize
    assert mask("x" * 100_000 + " hunter22!").endswith(" ***")
    assert secrets._kept.cache_info().currsize == before


@pytest.mark.parametrize("secret", AWKWARD, ids=range(len(AWKWARD)))
@pytest.mark.parametrize("user", ["u", "admin", "team:x", ""])
def test_a_secret_is_masked_in_basic_headers(secret: str, user: str) -> None:
    header = base64.b64encode(f"{user}:{secret}".encode()).decode()
    secrets.remember(secret)
    rest = mask(f"401 for Basic {header}").rpartition(" ")[2]
    # What is left is at most a character or two beside those that the user has a part in.
    assert len(rest.replace("***", "")) <= len(base64.b64encode(f"{user}:".encode())) + 4
    secrets.remember_login(user, secret)
    assert mask(f"401 for Basic {header}") == "401 for Basic ***"


def test_what_was_taken_apart_is_masked_piece_by_piece() -> None:
    secrets.remember("aa@TAIL/zz9")
    assert mask("cannot resolve TAIL") == "cannot resolve ***"
    assert mask("cannot resolve tail:80") == "cannot resolve ***:80"
    assert mask("GET /zz9 HTTP/1.1") == "GET /*** HTTP/1.1"
    assert mask("http://aa@tail/zz9@host") == "http://***@host"
    assert mask("detail and retailers") == "detail and retailers"


@pytest.mark.parametrize("short", ["a", "1", "is", "ab3", "password", "tsaudit"])
def test_a_short_or_everyday_secret_does_not_turn_texts_into_asterisks(short: str) -> None:
    secrets.remember(short)
    line = "a server is at 1 of 31 hosts: tsaudit has no password for it, is ab3 1"
    assert mask(line) == line
    assert mask(f"user=x password={short} host=y") == "user=x password=*** host=y"
    assert mask(f'role "{short}" is unknown') == 'role "***" is unknown'
    assert mask(f"http://u:{short}@host") == "http://u:***@host"


@pytest.mark.parametrize("password", ["legacy-pw", "legacy", "legacy2026", "Legacy!", "my-legacy-password"])
def test_names_that_everything_shows_stay_readable(password: str) -> None:
    """A target named like the beginning of its password, or like all of it."""
    secrets.remember(password)
    secrets.show("legacy")
    lines = ("legacy", "legacy  2026-11-28  critical", "tsaudit backtest SRV003 legacy", "legacy/orders")
    pages = ('{"target": "legacy", "day": 1}', '<a href="legacy/latest.html">', "target 'legacy' is unknown")
    for line in (*lines, *pages):
        assert mask(line) == line
    for begin, end in (("postgresql://u:", "@host/d"), ("password=", " user=u"), ('{"password": "', '"}')):
        assert mask(f"{begin}{password}{end}").startswith(begin)
        assert password not in mask(f"{begin}{password}{end}").removeprefix(begin)


@pytest.mark.parametrize("user", ["tsaudit", "my_audit", "main-audit"])
def test_the_end_of_a_users_name_is_no_beginning_of_a_password(user: str) -> None:
    secrets.remember("auditorpw1")
    secrets.show(user)
    statement = f"GRANT SELECT ON public.audit_log TO {user}"
    assert mask(statement) == statement
    assert mask(f"the password is {user}:auditor") == f"the password is {user}:***"
    assert mask("cannot read http://host/xaudit...") == "cannot read http://host/x***..."


def test_without_secrets_texts_stay_as_they_are() -> None:
    assert mask("anything *** at all") == "anything *** at all"


@pytest.mark.parametrize("error", [ConnectorError, HistoryError, ReportError, lambda t: FactError(Reason.FAILED, t)])
def test_errors_hold_no_secret(error: type[Exception]) -> None:
    secrets.remember("hunter22!")
    raised = error("cannot connect as hunter22!")
    assert "hunter" not in f"{raised} {raised!r} {vars(raised)} {raised.args}"


def test_gaps_and_terminal_lines_hold_no_secret() -> None:
    secrets.remember("hunter22!")
    assert Gap("rows", Reason.FAILED, "bad option hunter22!").detail == "bad option ***"
    assert printable("x" * 195 + "hunter22!") == "x" * 195 + "***"


def test_log_records_hold_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    secrets.remember("hunter22!", "aa@TAIL/zz9")
    log = logging.getLogger("some.driver")
    with caplog.at_level("DEBUG"):
        log.debug("connecting to %s with %r", "TAIL", {"password": "hunter22!"})
        try:
            raise ValueError("bad password hunter22!")
        except ValueError:
            log.exception("it failed")
    assert "hunter" not in caplog.text
    assert "TAIL" not in caplog.text
    assert "connecting to *** with {'password': '***'}" in caplog.text
    assert "ValueError: bad password ***" in caplog.text


@pytest.mark.wall_clock
def test_many_secrets_cost_little() -> None:
    """A configuration of thousands of targets, each with a password of its own."""
    import time

    secrets.remember(*(f"pw-{number:06d}-{number * 7919 % 1000003:06d}" for number in range(3_000)))
    began = time.process_time()
    mask("warm up")
    for number in range(500):
        assert "***" not in mask(f"statement {number} failed: syntax error at or near SELECT " * 3)
    assert time.process_time() - began < 5
