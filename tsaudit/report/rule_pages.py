"""The texts of each rule for its page beside the reports: the same as `tsaudit explain` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup, escape

from tsaudit.model.finding import RULELESS_CODES
from tsaudit.report import foreign

if TYPE_CHECKING:
    from tsaudit.rule import Rule

FOLDER: Final = "rules"
_MARKED: Final = re.compile(r"`([^`\n]+)`|(https?://[^\s<>\"'`]*[^\s<>\"'`.,;:!?)\]])")
_INDENT: Final = "    "


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a rule's text."""

    kind: str
    """`heading`, `text`, `list`, or `code`."""
    lines: tuple[str, ...]
    """The items of a list; otherwise one text."""


@dataclass(frozen=True, slots=True)
class Page:
    """One code with its texts."""

    code: str
    name: str
    title: str
    blocks: tuple[Block, ...]
    rule: Rule | None = None
    """None for a finding without a rule."""


def address(code: str) -> str:
    """Where a report links to for a code: its page, or the text on the report itself if there is no such page."""
    from tsaudit.rules import all_rules

    has_page = code in RULELESS_CODES or any(rule.code == code for rule in all_rules())
    return f"../{FOLDER}/{code}.html" if has_page else f"#r-{code}"


def pages() -> list[Page]:
    """Every code with its texts, those without a rule last."""
    from tsaudit.rules import all_rules

    found = [Page(rule.code, rule.name, rule.title, tuple(blocks(rule.doc)), rule) for rule in all_rules()]
    return [*found, *_without_rule()]


def blocks(text: str) -> Iterator[Block]:
    """The parts of a docstring: headings, paragraphs, lists, and code that is fenced or indented by four spaces."""
    parts = re.split(r"^```[^\n]*\n(.*?)^```[ \t]*$", text, flags=re.DOTALL | re.MULTILINE)
    for number, part in enumerate(parts):
        if number % 2:
            yield Block("code", (part.rstrip(),))
        else:
            yield from (_block(one.strip("\n")) for chunk in re.split(r"\n\s*\n", part) for one in _apart(chunk))


def _apart(chunk: str) -> Iterator[str]:
    """A heading may be followed by its text without an empty line, and a text by its list."""
    one: list[str] = []
    for line in chunk.strip("\n").split("\n"):
        starts_list = line.startswith("- ") and one and not one[0].startswith("- ")
        if one and (starts_list or one[-1].startswith("#") or line.startswith("#")):
            yield "\n".join(one)
            one = []
        one.append(line)
    if "".join(one).strip():
        yield "\n".join(one)


def _block(chunk: str) -> Block:
    if chunk.startswith("#"):
        return Block("heading", (chunk.lstrip("#").strip(),))
    if chunk.startswith("- "):
        items = re.split(r"^- ", chunk, flags=re.MULTILINE)[1:]
        return Block("list", tuple(" ".join(item.split()) for item in items))
    lines = chunk.split("\n")
    if all(line.startswith(_INDENT) or not line.strip() for line in lines):
        return Block("code", ("\n".join(line[len(_INDENT) :] for line in lines),))
    return Block("text", (" ".join(chunk.split()),))


def inline(text: str) -> Markup:
    """The text as escaped HTML, with text in backticks as code, and web addresses as links."""
    out, end = Markup(), 0
    text = foreign.line(text)
    for match in _MARKED.finditer(text):
        code, url = match.groups()
        out += escape(text[end : match.start()])
        wanted = "<code>{}</code>" if code else '<a href="{0}" rel="noreferrer noopener">{0}</a>'
        out += Markup(wanted).format(code or url)  # noqa: S704 -- format escapes
        end = match.end()
    return out + escape(text[end:])


def _without_rule() -> Iterator[Page]:
    from tsaudit import not_audited, silenced_rules
    from tsaudit.model.finding import PLUGIN_CODE, SILENCED_CODE
    from tsaudit.rules import foreign as plug_ins

    about: dict[str, Any] = {SILENCED_CODE: silenced_rules, PLUGIN_CODE: plug_ins}
    for code, name in RULELESS_CODES.items():
        source = about.get(code, not_audited)
        texts = (("heading", "Why it matters"), ("text", source.WHY), ("heading", "Fix"), ("text", source.FIX))
        yield Page(code, name, source.TITLE, tuple(Block(kind, (text,)) for kind, text in texts))
