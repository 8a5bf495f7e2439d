"""YAML with the line of every value, for error messages about a configuration file.

Scalars stay text, quoted or not, so `no`, `1e6`, and `007` are not converted; only an empty value, `~`, and `null`
become None. The schema decides which text is a number. Duplicate keys, custom tags, and values that contain themselves
are rejected; anchors and merge keys (`<<`) work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml.composer import Composer, ComposerError
from yaml.resolver import Resolver

from tsaudit.errors import TsauditError

_LINE_END: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""Line ends, as YAML counts lines."""
_NO_SPACES: Final = "is indented with a tab, or a blank that is no space; indent with spaces"
_NEEDS_QUOTES: Final = "text that begins with one of @ ` % & * ! | > ? needs quotes"
_CAUSES: Final = (
    ("escape", "in double quotes, a backslash has a special meaning; use single quotes around text with one"),
    ("quoted", "a quote is not closed, or text goes on after it; use the other quotes around text with quotes"),
    ("flow", "a `[` or `{` is not closed, or a `,` is missing; text with brackets needs quotes"),
    ("token|alias|anchor|tag|directive|block scalar", _NEEDS_QUOTES),
)
"""What is wrong, by words in the parser's error, which describes the state of the parser."""
_OTHERWISE: Final = (
    "cannot be read, because of this line or one above: write `key: value` with a blank after the `:` and after a `-`, "
    "begin keys that belong together in the same column, close each quote, and put text with `: ` or quotes in quotes"
)

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
    is_comment: bool = False
    """Whether there is no value, but text that begins with `#` without a space after it, which may have been meant as
    the value.
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
    lines = _LINE_END.split(text)
    try:
        root = _Composer(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, max(error.position, 0)) + 1
        raise DocumentError(line, "contains a character that is not allowed in a text file") from error
    except ComposerError as error:
        problem = "begins a second document, but only the first is read; remove `---`"
        raise DocumentError(_line(error), problem) from error
    except yaml.MarkedYAMLError as error:
        raise _unreadable(lines, error) from error
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


def _unreadable(lines: Sequence[str], error: yaml.MarkedYAMLError) -> DocumentError:
    """The error for a text that is not YAML. It quotes nothing, because the text may be secret."""
    said = f"{error.problem} {error.context}"
    if "nesting depth" in said:
        # libyaml's own limit on nesting is higher, but it parses ahead of what is composed.
        return _too_deep(_line(error))
    line = _line(error)
    if re.match(r" *[^\S ]", _line_at(lines, line)):
        return DocumentError(line, _NO_SPACES)
    for words, what in _CAUSES:
        if re.search(words, said):
            # What is not closed begins where the parser's context does.
            return DocumentError(error.context_mark.line + 1 if error.context_mark else line, what)
    return DocumentError(line, _OTHERWISE)


def _line_at(lines: Sequence[str], line: int) -> str:
    """The line, counted from 1; empty beyond the end of the file, where the parser may be."""
    return lines[line - 1] if line <= len(lines) else ""


def _too_deep(line: int) -> DocumentError:
    return DocumentError(line, f"nested more than {_DEEPEST} levels deep")


def _line(error: yaml.MarkedYAMLError) -> int:
    place = error.problem_mark or error.context_mark
    return place.line + 1 if place else 1


class _Composer(Composer, Resolver):
    """Composes the only document of a text. Scalars stay text: only null and the merge key are resolved."""

    def __init__(self, text: str) -> None:
        Composer.__init__(self)
        Resolver.__init__(self)
        self.yaml_implicit_resolvers = _RESOLVED
        events = _Events(text)
        self.check_event, self.peek_event, self.get_event = events.check_event, events.peek_event, events.get_event
        self._depth = 0
        self._unfinished: set[str] = set()
        """Anchors of the nodes that contain the current one."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node, with all nodes below it. Raises DocumentError if it contains itself, or is nested too deeply
        for the stack.
        """
        event = self.peek_event()
        anchor, line = event.anchor, event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            if anchor in self._unfinished:
                raise DocumentError(line, f"`*{anchor}` is inside `&{anchor}`: it would contain itself")
            if anchor not in self.anchors:
                raise DocumentError(line, _NEEDS_QUOTES)
            return super().compose_node(parent, index)
        if self._depth > _DEEPEST:
            raise _too_deep(line)
        if anchor and isinstance(event, yaml.ScalarEvent) and not event.value and not event.style:
            raise DocumentError(line, _NEEDS_QUOTES)
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
            self.problems.append((line, _NEEDS_QUOTES))
        if isinstance(source, yaml.MappingNode):
            return self._mapping(source, line)
        if isinstance(source, yaml.SequenceNode):
            return Node(line, [self.node(item) for item in source.value])
        if source.tag != _NULL:
            return Node(line, source.value)
        rest = "" if source.value else _line_at(self._lines, line)[source.start_mark.column :]
        return Node(line, None, is_comment=_COMMENT.fullmatch(rest) is not None)

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
                what = "a key must be a single text; put text with brackets in quotes, and write a variable as ${NAME}"
                self.problems.append((key.line, what))
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
