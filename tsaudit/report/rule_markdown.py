"""The Markdown of rules as HTML. Rules of other packages are not trusted: their texts become no markup of their own."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

from tsaudit.report import untrusted

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_WEB: Final = re.compile(r"https?://", re.IGNORECASE)
_HEADING: Final = "h2"
"""The title of the page is its `h1`."""


def page(text: str) -> Markup:
    """The text as HTML: headings, paragraphs, lists, code, emphasis, and links to web addresses. HTML in it is shown
    as text.
    """
    return Markup(_parser().render(untrusted.block(text)))  # noqa: S704 -- the parser escapes


def inline(text: str) -> Markup:
    """The text of one paragraph as HTML: code, emphasis, and links to web addresses."""
    return Markup(_parser().renderInline(untrusted.line(text)))  # noqa: S704 -- the parser escapes


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": True, "xhtmlOut": False})
    parser.enable("linkify").disable("image")
    # Only addresses with a scheme: `audit.py` is a file, although .py is a country.
    assert parser.linkify is not None
    parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    parser.validateLink = lambda url: _WEB.match(url) is not None  # type: ignore[method-assign]
    # As it was written: decoded, an address could look like another one.
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    parser.core.ruler.push("harmless", _clean)
    parser.add_render_rule("fence", _code)
    parser.add_render_rule("code_block", _code)
    return parser


def _clean(state: StateCore) -> None:
    """After parsing, because a character may have been written as an entity."""
    leads_nowhere = False
    for token in _all(state.tokens):
        if token.type in ("fence", "code_block"):
            token.content = untrusted.block(token.content)
        elif token.type != "inline":
            token.content = untrusted.line(token.content)
        if token.type in ("heading_open", "heading_close"):
            token.tag = _HEADING
        if token.type == "link_open":
            # The parser does not ask about an address that is empty, as in `[text]()`. Links are never nested.
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
