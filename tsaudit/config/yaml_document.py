"""YAML with the line of every value, which error messages about a configuration file need.

Scalars stay text, quoted or not (`no`, `1e6`, and `007` mean what they say); only an empty value, `~`, and `null` are
None. The schema decides which text is a number. Duplicate keys, custom tags, and values that contain themselves are
rejected; anchors and merge keys (`<<`) work.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml
from yaml.composer import Composer, ComposerError
from yaml.resolver import Resolver

from tsaudit.errors import TsauditError

_Events: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's parser if PyYAML has it. Composing stays in Python: libyaml's own composer ends the process if a text is
nested deeply.
"""

_DEEPEST: Final = 40
"""Levels of nesting; a configuration has six."""
_NULL: Final = "tag:yaml.org,2002:null"
_MERGE: Final = "tag:yaml.org,2002:merge"
_RESOLVED: Final[dict[str, Any]] = {
    **{first: [(_NULL, re.compile(r"(?:~|null|Null|NULL|)$"))] for first in ("~", "n", "N", "")},
    "<": [(_MERGE, re.compile(r"<<$"))],
}
"""By a scalar's first character."""
_TAGS: Final = (_NULL, _MERGE, "tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")


@dataclass(slots=True)
class Node:
    """One value of the document."""

    line: int
    """Counted from 1; 0 if there are no lines."""
    value: str | list[Node] | dict[str, Node] | None
    key_lines: dict[str, int] = field(default_factory=dict)
    """Of a mapping: the line of each key."""

    def child(self, part: int | str) -> Node | None:
        """The value of a key or at a position; None if there is none."""
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None


class DocumentError(TsauditError):
    """The text is not a YAML document; nothing in it can be trusted."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


@dataclass(slots=True)
class Document:
    """A YAML text as a tree, and the problems that do not prevent reading it."""

    root: Node
    problems: list[tuple[int, str]]
    """(line, what is wrong)."""

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
        """The text at `path` as written in the file; None if there is none, or not a single text."""
        node: Node | None = self.root
        for part in path:
            node = node.child(part) if node else None
        return node.value if node and isinstance(node.value, str) else None


def parse(text: str) -> Document:
    """The one document in `text`; an empty text is an empty mapping. Raises DocumentError."""
    try:
        root = _Composer(text).get_single_node()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, max(error.position, 0)) + 1
        raise DocumentError(line, "contains a character that is not allowed in a text file") from error
    except ComposerError as error:
        raise DocumentError(_line(error), "contains a second document (`---`); only one is read") from error
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error) from error
    if root is None:
        return Document(Node(1, {}), [])
    builder = _Builder()
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


def _unreadable(error: yaml.MarkedYAMLError) -> DocumentError:
    problem = " ".join(str(part) for part in (error.problem, error.context) if part) or "cannot be read as YAML"
    if "nesting depth" in problem:
        # libyaml's own limit is higher, but it reads ahead of what is composed.
        return _too_deep(_line(error))
    if "cannot start any token" in problem:
        problem += " (a tab? YAML is indented with spaces; text that starts with @, ` or % needs quotes)"
    return DocumentError(_line(error), f"not YAML: {problem}")


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
        """Anchors of the nodes around the current one."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """The next node, and all below it. DocumentError if it contains itself, or would exhaust the stack."""
        event = self.peek_event()
        anchor, line = event.anchor, event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            if anchor in self._unfinished:
                raise DocumentError(line, f"`*{anchor}` is inside `&{anchor}`: it would contain itself")
            if anchor not in self.anchors:
                text = f'if it is text, put it in quotes: "*{anchor}"'
                raise DocumentError(line, f"`*{anchor}` refers to `&{anchor}`, which is not set above; {text}")
            return super().compose_node(parent, index)
        if self._depth > _DEEPEST:
            raise _too_deep(line)
        self.anchors.pop(anchor, None)  # YAML allows redefining an anchor.
        self._unfinished.add(anchor)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        self._unfinished.discard(anchor)
        return node


class _Builder:
    """Turns composed nodes into ours, each once, and collects problems that do not prevent reading."""

    def __init__(self) -> None:
        self.problems: list[tuple[int, str]] = []
        self._built: dict[yaml.Node, Node] = {}

    def node(self, source: yaml.Node) -> Node:
        """The node, and all below it."""
        if source not in self._built:
            self._built[source] = self._new(source, source.start_mark.line + 1)
        return self._built[source]

    def _new(self, source: yaml.Node, line: int) -> Node:
        if source.tag not in _TAGS:
            self.problems.append((line, f"the tag `{source.tag}` is not supported; remove it"))
        if isinstance(source, yaml.MappingNode):
            return self._mapping(source, line)
        if isinstance(source, yaml.SequenceNode):
            return Node(line, [self.node(item) for item in source.value])
        return Node(line, None if source.tag == _NULL else source.value)

    def _mapping(self, source: yaml.MappingNode, line: int) -> Node:
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        merged: list[Node] = []
        for key_source, value_source in source.value:
            key, value = self.node(key_source), self.node(value_source)
            if key_source.tag == _MERGE:
                merged += value.value if isinstance(value.value, list) else [value]
            elif not isinstance(name := "" if key.value is None else key.value, str):
                self.problems.append((key.line, "a key must be a single text"))
            elif name in entries:
                self.problems.append((key.line, f"`{name}` is defined twice, first on line {lines[name]}"))
            else:
                entries[name], lines[name] = value, key.line
        for mapping in merged:
            if not isinstance(mapping.value, dict):
                self.problems.append((line, "`<<` takes a mapping, or a list of mappings"))
                continue
            # The mapping itself takes precedence, then the first of several sources.
            entries = {**entries, **mapping.value, **entries}
            lines = {**lines, **mapping.key_lines, **lines}
        return Node(line, entries, lines)
