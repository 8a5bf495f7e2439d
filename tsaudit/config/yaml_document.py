"""YAML with the line of every value, for error messages about a configuration file.

Scalars stay text, quoted or not, so `no`, `1e6`, and `007` are not converted; only an empty value, `~`, and `null`
become None. The schema decides which text is a number. Duplicate keys, custom tags, and values that contain themselves
are rejected; anchors and merge keys (`<<`) work.

For a text that is not YAML, `explained` says in plain words which line to change, and how. The parser's error describes
the parser's state. What the person did wrong shows in the text around that place.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml.composer import Composer, ComposerError
from yaml.resolver import Resolver

from tsaudit.config import keys, meant
from tsaudit.errors import TsauditError

LINE_END: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""Line ends, as YAML counts lines."""
_LEFT_FROM_MERGE: Final = re.compile(r"(<{7}|>{7}|\|{7}|={7})( .*)?")
_STARTS: Final = "@`%&*!|>?"
"""Characters that have a special meaning where text begins."""
NO_SPACES: Final = "is indented with a tab, or a blank that is no space; indent with spaces"
_WORD: Final = r"[A-Za-z_]\w*"


def explained(text: str, error: yaml.MarkedYAMLError) -> tuple[int, str]:
    """The line, counted from 1, and what is wrong there."""
    lines = LINE_END.split(text)
    at = error.problem_mark or error.context_mark
    opened = error.context_mark or at
    if at is None or opened is None:
        return 1, "cannot be read as YAML"
    row, what = _cause(lines, at, opened, f"{error.problem} {error.context}", text)
    return row + 1, what


def _cause(lines: Sequence[str], at: Any, opened: Any, said: str, text: str) -> tuple[int, str]:
    merge = next((row for row, line in enumerate(lines) if _LEFT_FROM_MERGE.fullmatch(line)), None)
    if merge is not None:
        return merge, f"`{lines[merge][:7]}` is left from a merge; keep one of the two sides, and remove such lines"
    line = line_at(lines, at.line)
    if re.match(r" *[^\S ]", line):
        return at.line, NO_SPACES
    if "escape" in said:
        return at.line, "in double quotes, a backslash has a special meaning; use single quotes around text with one"
    if "quoted" in said:
        return _open_quote(lines, opened.line, opened.column)
    for row, column in ((at.line, at.column), (opened.line, opened.column)):
        if (start := line_at(lines, row)[column : column + 1]) and start in _STARTS:
            return row, needs_quotes(line_at(lines, row), column)
    start, lacks_colon = line_at(lines, opened.line)[opened.column : opened.column + 1], "expected ':'" in said
    if "flow" in said or (lacks_colon and start in ("[", "{")):
        # In a file that ends early, the parser does not report what is still open.
        row, start = (opened.line, start) if start else _open_bracket(text)
        end = "]" if start == "[" else "}"
        return row, f"`{start}` is not closed: add `{end}` or a missing `,`; text with brackets needs quotes"
    for row in (at.line, _above(lines, at.line)):
        if better := _as_pair(line_at(lines, row)):
            blank = f", with a blank after the `{better[0] if better[0] == '-' else ':'}`" if " " in better else ""
            return row, f"write `{better}`{blank}"
    if (long := _last_quote(text)) is not None and long[2] in (at.line, at.line - 1):
        return _open_quote(lines, long[0], long[1])
    before = line[: at.column]
    if (quote := before.rstrip()[-1:]) in ("'", '"'):
        return at.line, f"text goes on after its closing `{quote}`; use the other quotes around text with a `{quote}`"
    if lacks_colon:
        return opened.line, "has no `: `; write `key: value`, or indent it if it belongs to the text above"
    if "not allowed" in said and ": " in before:
        return at.line, f"text that contains `: ` needs quotes{_in_quotes(line, before.index(': ') + 2)}"
    if (end := line[at.column : at.column + 1]) and end in "]}":
        return at.line, f"`{end}` closes nothing; remove it, or put text with brackets in quotes"
    return (
        at.line,
        "wrong indentation: keys that belong together begin in the same column, below the key they belong to",
    )


def needs_quotes(line: str, column: int) -> str:
    """What to do about text that begins with a character that has a special meaning."""
    return f"text that begins with `{line[column : column + 1]}` needs quotes{_in_quotes(line, column)}"


def line_at(lines: Sequence[str], row: int) -> str:
    """The line; empty beyond the end of the file, where the parser may be."""
    return lines[row] if 0 <= row < len(lines) else ""


def _above(lines: Sequence[str], row: int) -> int:
    """The row of the nearest line above that has more than a comment."""
    return next((n for n in range(row - 1, -1, -1) if line_at(lines, n).split("#")[0].strip()), 0)


def _open_quote(lines: Sequence[str], row: int, column: int) -> tuple[int, str]:
    quote = line_at(lines, row)[column : column + 1]
    inside = "; write a `'` inside of the text twice" if quote == "'" else ""
    return row, f"the quote is not closed; add the closing `{quote}`{inside}"


def _last_quote(text: str) -> tuple[int, int, int] | None:
    """Row and column at which the last quoted text begins, and the row where it ends; None unless it spans several
    lines.
    """
    quoted = [t for t in _tokens(text) if isinstance(t, yaml.ScalarToken) and t.style in ("'", '"')]
    if not quoted or quoted[-1].start_mark.line == quoted[-1].end_mark.line:
        return None
    return quoted[-1].start_mark.line, quoted[-1].start_mark.column, quoted[-1].end_mark.line


def _open_bracket(text: str) -> tuple[int, str]:
    """The row and the character of the last bracket that is still open at the end of the text."""
    found: list[tuple[int, str]] = []
    for token in _tokens(text):
        if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
            found.append((token.start_mark.line, "[" if isinstance(token, yaml.FlowSequenceStartToken) else "{"))
        elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken):
            found.pop()
    # The parser takes a tab after a bracket for a blank, the scanner gives up at it, before it returns the bracket.
    return found[-1] if found else _last_bracket(LINE_END.split(text))


def _last_bracket(lines: Sequence[str]) -> tuple[int, str]:
    row = max(n for n, line in enumerate(lines) if "[" in line or "{" in line)
    return row, re.findall(r"[\[{]", lines[row])[-1]


def _tokens(text: str) -> Iterator[Any]:
    """The tokens before the place where the parser gives up."""
    with contextlib.suppress(yaml.YAMLError):
        yield from yaml.scan(text, yaml.SafeLoader)


def _as_pair(line: str) -> str:
    """How to write the line if a colon or spaces are missing in it, such as `engine: duckdb` or `- name: plant`; empty
    if none are missing.
    """
    code = line.strip()
    if keys.places(code):
        return f"{code}:"
    dash = "- " if code.startswith("-") else ""
    if re.match(rf"(- +)?{_WORD}:( |$)", code) or (found := meant.pair(code)) is None or not keys.places(found[0]):
        return ""
    return f"{dash}{keys.as_line(*found)}"


def _in_quotes(line: str, column: int) -> str:
    """What to write instead: the text of the line from the column on, in the quotes that it needs, as in `: "@daily"`.
    Empty if the text may be secret.
    """
    key = re.findall(rf"(<<|{_WORD})[\"']?\s*:\s", line[:column])
    # The key of a text without one on its line may be on another line, unless the text is in a list.
    if not (key[-1] == "<<" or keys.is_shown(key[-1])) if key else not line.lstrip().startswith("- "):
        return ""
    rest = re.split(r"\s#", line[column:])[0].strip()
    if re.search(r"[\[{]", line[:column]):
        rest = re.split(r"[,\]}]", rest)[0].strip()
    quote = "'" if '"' in rest or "\\" in rest else '"'
    return f": {quote}{rest}{quote}" if rest and quote not in rest else ""


_Events: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser if PyYAML has it. Nodes are composed in Python, because libyaml's own composer crashes the process
if a text is deeply nested.
"""

_DEEPEST: Final = 40
"""Maximum levels of nesting; a configuration has six."""
_NULL: Final = "tag:yaml.org,2002:null"
_MERGE: Final = "tag:yaml.org,2002:merge"
_RESOLVED: Final[dict[str, Any]] = {
    **{first: [(_NULL, re.compile(r"(?:~|null|Null|NULL|)$"))] for first in ("~", "n", "N", "")},
    "<": [(_MERGE, re.compile(r"<<$"))],
}
"""Resolvers by the first character of a scalar."""
_COMMENT: Final = re.compile(r"\s*(#[^\s#].*?)(\s+#.*|\s*)")
_TAGS: Final = (_NULL, _MERGE, "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")


@dataclass(slots=True)
class Node:
    """One value of the document."""

    line: int
    """Line number from 1; 0 if there are no lines."""
    value: str | list[Node] | dict[str, Node] | None
    key_lines: dict[str, int] = field(default_factory=dict)
    """For a mapping: the line of each key."""
    comment: str = ""
    """If there is no value: text that begins with `#` without a space after it, which may have been meant
    as the value.
    """

    def child(self, part: int | str) -> Node | None:
        """The value of a key or at a position; None if there is none."""
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None


class DocumentError(TsauditError):
    """The text is not a YAML document, so nothing in it can be used."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


@dataclass(slots=True)
class Document:
    """A YAML text as a tree, and the problems that do not prevent reading it."""

    root: Node
    problems: list[tuple[int, str]]
    """Line and description of each problem."""

    def line(self, path: tuple[int | str, ...]) -> int:
        """The line of the key or list item at `path`, or of the nearest enclosing one."""
        node, line = self.root, self.root.line
        for part in path:
            child = node.child(part)
            if child is None:
                break
            line = node.key_lines.get(str(part), child.line)
            node = child
        return line

    def text(self, path: tuple[int | str, ...]) -> str | None:
        """The text at `path` as written in the file; None if there is no value, or it is not a scalar."""
        node: Node | None = self.root
        for part in path:
            node = node.child(part) if node else None
        return node.value if node and isinstance(node.value, str) else None


def parse(text: str) -> Document:
    """The only document in `text`; an empty text is an empty mapping. Raises DocumentError."""
    lines = LINE_END.split(text)
    try:
        root = _Composer(text, lines).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, max(error.position, 0)) + 1
        raise DocumentError(line, "contains a character that is not allowed in a text file") from error
    except ComposerError as error:
        problem = "begins a second document, but only the first is read; remove `---`"
        raise DocumentError(_line(error), problem) from error
    except yaml.MarkedYAMLError as error:
        raise _unreadable(text, error) from error
    if root is None:
        return Document(Node(1, {}), [])
    builder = _Builder(lines)
    return Document(builder.node(root), builder.problems)


def of(data: object) -> Document:
    """Data from elsewhere as a document without lines: every line is 0."""
    return Document(_node_of(data), [])


def _node_of(data: object) -> Node:
    if isinstance(data, Mapping):
        return Node(0, {str(key): _node_of(value) for key, value in data.items()}, dict.fromkeys(map(str, data), 0))
    if isinstance(data, list | tuple):
        return Node(0, [_node_of(item) for item in data])
    return Node(0, None if data is None else str(data))


def _unreadable(text: str, error: yaml.MarkedYAMLError) -> DocumentError:
    if "nesting depth" in f"{error.problem} {error.context}":
        # libyaml's own limit on nesting is higher, but it parses ahead of what is composed.
        return _too_deep(_line(error))
    return DocumentError(*explained(text, error))


def _too_deep(line: int) -> DocumentError:
    return DocumentError(line, f"nested more than {_DEEPEST} levels deep")


def _line(error: yaml.MarkedYAMLError) -> int:
    place = error.problem_mark or error.context_mark
    return place.line + 1 if place else 1


class _Composer(Composer, Resolver):
    """Composes the only document of a text. Scalars stay text: only null and the merge key are resolved."""

    def __init__(self, text: str, lines: Sequence[str]) -> None:
        Composer.__init__(self)
        Resolver.__init__(self)
        self.yaml_implicit_resolvers = _RESOLVED
        events = _Events(text)
        self.check_event, self.peek_event, self.get_event = events.check_event, events.peek_event, events.get_event
        self._lines = lines
        self._depth = 0
        self._unfinished: set[str] = set()
        """Anchors of the nodes that contain the current one."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node, with all nodes below it. Raises DocumentError if it contains itself, or is nested too deeply
        for the stack.
        """
        event = self.peek_event()
        anchor, line, column = event.anchor, event.start_mark.line + 1, event.start_mark.column
        if isinstance(event, yaml.AliasEvent):
            if anchor in self._unfinished:
                raise DocumentError(line, f"`*{anchor}` is inside `&{anchor}`: it would contain itself")
            if anchor not in self.anchors:
                text = needs_quotes(line_at(self._lines, line - 1), column)
                raise DocumentError(line, f"{text}; without them, it refers to a `&` of that name, which is not above")
            return super().compose_node(parent, index)
        if self._depth > _DEEPEST:
            raise _too_deep(line)
        if anchor and isinstance(event, yaml.ScalarEvent) and not event.value and not event.style:
            raise DocumentError(line, needs_quotes(line_at(self._lines, line - 1), column))
        self.anchors.pop(anchor, None)  # YAML allows redefining an anchor.
        self._unfinished.add(anchor)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._unfinished.discard(anchor)
        return node


class _Builder:
    """Turns composed nodes into `Node` objects, each once, and collects problems that do not prevent reading."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.problems: list[tuple[int, str]] = []
        self._lines = lines
        self._built: dict[yaml.Node, Node] = {}

    def node(self, source: yaml.Node) -> Node:
        """The node, with all nodes below it."""
        if source not in self._built:
            self._built[source] = self._new(source, source.start_mark.line + 1)
        return self._built[source]

    def _new(self, source: yaml.Node, line: int) -> Node:
        if source.tag not in _TAGS:
            # Without the tag itself: it may be the beginning of a password.
            needs = "text that begins with `!` needs quotes"
            foreign = "; a word such as `!vault` before a value has no meaning here" if source.value else ""
            self.problems.append((line, f"{needs}{foreign}"))
        if isinstance(source, yaml.MappingNode):
            return self._mapping(source, line)
        if isinstance(source, yaml.SequenceNode):
            return Node(line, [self.node(item) for item in source.value])
        if source.tag != _NULL:
            return Node(line, source.value)
        rest = "" if source.value else line_at(self._lines, line - 1)[source.start_mark.column :]
        comment = _COMMENT.fullmatch(rest)
        return Node(line, None, comment=comment[1] if comment else "")

    def _mapping(self, source: yaml.MappingNode, line: int) -> Node:
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merged: list[tuple[int, Node]] = []
        for key_source, value_source in source.value:
            key, value = self.node(key_source), self.node(value_source)
            if key_source.tag == _MERGE:
                several = value.value if isinstance(value.value, list) else [value]
                merged += [(key.line, one) for one in several]
            elif not isinstance(name := "" if key.value is None else key.value, str):
                start = ("{" if source.flow_style else "") + ("[" if isinstance(key.value, list) else "{")
                text = f"put text that begins with `{start}` in quotes, and write a variable as ${{NAME}}"
                self.problems.append((key.line, f"a key must be a single text, not `{start}`; {text}"))
            elif name in entries:
                self.problems.append((key.line, f"`{name}` is defined twice, first on line {lines[name]}; remove one"))
            else:
                entries[name], lines[name] = value, key.line
        for at, mapping in merged:
            if not isinstance(mapping.value, dict):
                self.problems.append((at, "`<<` takes `key: value` lines from elsewhere, such as `<<: *name`"))
                continue
            # The mapping itself takes precedence, then the first of several sources.
            entries = {**entries, **mapping.value, **entries}
            lines = {**lines, **mapping.key_lines, **lines}
        return Node(line, entries, lines)
