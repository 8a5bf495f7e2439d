"""Untrusted text: made safe to display, shortened, and redacted.

The template engine does HTML escaping (autoescape). This module handles what escaping does not change: characters that
are invisible, that reorder the text around them, or that end a line. It also renders the Markdown of rules. Rules of
other packages are not trusted, so their texts cannot add markup of their own.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

LONGEST: Final = 160
"""Maximum number of characters of a name or value; a value of a megabyte must not become a page of a megabyte."""

_INVISIBLE: Final = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    r"\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\ud800-\udfff\U000e0000-\U000e0fff"
)
_IN_BLOCKS: Final = re.compile(f"[{_INVISIBLE}]")
_IN_LINES: Final = re.compile(f"[\t\n{_INVISIBLE}]")
_DAY: Final = re.compile(r"(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])|&[lg]t; [\d.]+%")
"""What is not broken between lines: a date, and a share such as `> 99.9%`, as escaped."""
_CODE: Final = re.compile(r"`([^`\n]+)`")
_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_HEADING: Final = "h2"
"""Level of the headings in a rule's text, because the title of the page is its `h1`."""


def line(text: str) -> str:
    """The text on one line, with every invisible or reordering character written as `<U+202E>` in angle brackets."""
    return _IN_LINES.sub(_spelt_out, text)


def block(text: str) -> str:
    """Like `line`, for preformatted text: newlines and tabs stay."""
    return _IN_BLOCKS.sub(_spelt_out, text.replace("\r\n", "\n"))


def cut(text: str, longest: int = LONGEST) -> str:
    """The text; if it is longer than `longest`, its middle is replaced by the number of omitted characters."""
    if len(text) <= longest:
        return text
    head, tail = longest * 3 // 4, longest // 8
    return f"{text[:head]} … {len(text) - head - tail:,} characters … {text[-tail:]}"


def beginning(text: str, longest: int) -> str:
    """The text; if it is longer than `longest`, its first lines, or words of one long line, and how much is left out:
    a statement without its middle would be another one.
    """
    if len(text) <= longest:
        return text
    end = max(text.rfind("\n", longest // 2, longest), 0) or max(text.rfind(" ", 0, longest), 0) or longest
    return f"{text[:end]}\n… and {len(text) - end:,} more characters"


def squeezed(text: str, longest: int) -> str:
    """The text; if it is longer, its middle is replaced by an ellipsis, because similar names usually differ at one
    end.
    """
    if len(text) <= longest:
        return text
    head = longest // 2
    tail = longest - head - 1
    return f"{text[:head]}…{text[len(text) - tail :]}"


def with_code(text: str) -> Markup:
    """The text as escaped HTML, with text in backticks as code."""
    return _marked(line(text))


def prose(text: str) -> Markup:
    """Like `with_code`, but newlines are kept."""
    return _marked(block(text))


def unbroken(text: str) -> Markup:
    """The text as escaped HTML without line breaks inside dates, which browsers may break at their hyphens, and inside
    shares such as `> 99.9%`.
    """
    return Markup(_DAY.sub(r'<span class="day">\g<0></span>', str(escape(text))))  # noqa: S704 -- escaped just before


def _marked(text: str) -> Markup:
    return Markup(_CODE.sub(r"<code>\1</code>", str(unbroken(text))))  # noqa: S704 -- escaped there


def markdown(text: str) -> Markup:
    """The text as HTML: headings, paragraphs, lists, code, emphasis, and links to web addresses. HTML in it is shown
    as text.
    """
    return Markup(_parser().render(block(text)))  # noqa: S704 -- the parser escapes


def markdown_line(text: str) -> Markup:
    """The text of one paragraph as HTML: code, emphasis, and links to web addresses."""
    return Markup(_parser().renderInline(line(text)))  # noqa: S704 -- the parser escapes


def shown(values: Sequence[str], *, full: bool, most: int = 3) -> tuple[str, ...]:
    """Up to `most` sample values in the form to display: redacted unless the configuration says `full`."""
    if full:
        return tuple(values[:most])
    from tsaudit.analysis.shapes.shapes import redact

    return tuple(dict.fromkeys(redact(value) for value in values[:most]))


_COMPARED: Final = re.compile(r"(?<=[^<>!]= ')(?:[^'\\]|\\.|'')+(?=')")
"""A value that a statement compares a column with, such as one of the series whose rows it reads."""


def without_values(statement: str) -> str:
    """The statement with the values that it asks for redacted, unless they are names."""
    from tsaudit.analysis.shapes.shapes import redact_unless_name

    return _COMPARED.sub(lambda match: redact_unless_name(match[0]), statement)


def _spelt_out(match: re.Match[str]) -> str:
    return f"⟨U+{ord(match[0]):04X}⟩"


_of_thread: Final = threading.local()


def _parser() -> MarkdownIt:
    """The parser of this thread: it keeps the state of the text in which it looks for links, and reports are written by
    several threads.
    """
    if not hasattr(_of_thread, "parser"):
        _of_thread.parser = _new_parser()
    parser: MarkdownIt = _of_thread.parser
    return parser


def _new_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "xhtmlOut": False})
    parser.enable("linkify").disable("image")
    # Only addresses with a scheme become links: otherwise `audit.py` would be one, because .py is a country.
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    parser.validateLink = lambda url: _WEB.match(url) is not None  # type: ignore[method-assign]
    # The address as written: decoded, it could look like another one.
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    parser.core.ruler.push("harmless", _clean)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)
    return parser


def _clean(state: StateCore) -> None:
    """Remove unsafe characters after parsing, because a character may have been written as an entity."""
    leads_nowhere = False
    for token in _all(state.tokens):
        if token.type in ("fence", "code_block"):
            token.content = block(token.content)
        elif token.type != "inline":
            token.content = line(token.content)
        if token.type in ("heading_open", "heading_close"):
            token.tag = _HEADING
        if token.type == "link_open":
            # The parser does not ask about an empty address, as in `[text]()`. Links are never nested.
            token.hidden = leads_nowhere = not token.attrGet("href")
            token.attrs = {"href": str(token.attrGet("href")), "rel": "noreferrer noopener"}
        if token.type == "link_close":
            token.hidden = leads_nowhere


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


def _code(_renderer: Any, tokens: Sequence[Token], at: int, _options: Any, _env: MutableMapping[str, Any]) -> str:
    return f'<pre tabindex="0" aria-label="Example">{escape(tokens[at].content.rstrip())}</pre>\n'
