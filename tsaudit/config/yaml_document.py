"""YAML read so that every value knows its line: what messages about a configuration file need.

Scalars stay text, quoted or not (`no`, `1e6` and `007` mean what they say); only an empty value, `~` and `null` are
None. Which text is a number is for the schema to decide. Keys given twice, custom tags and values that hold
themselves are refused; anchors and merge keys (`<<`) work.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DEEPEST: Final = 40
"""Levels of nesting; a configuration has six."""
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_PLAIN_TAGS: Final = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map", "!")


@dataclass(slots=True)
class Node:
    """One value of the document."""

    line: int
    """Counted from 1; 0 where there are no lines."""
    value: str | list[Node] | dict[str, Node] | None
    key_lines: dict[str, int] = field(default_factory=dict)
    """Of a mapping: where each key stands."""

    def child(self, part: int | str) -> Node | None:
        """The value behind a key or at a position; None where there is none."""
        if isinstance(self.value, dict) and isinstance(part, str):
            return self.value.get(part)
        if isinstance(self.value, list) and isinstance(part, int) and part < len(self.value):
            return self.value[part]
        return None


class DocumentError(Exception):
    """The text is no YAML document; nothing in it can be trusted."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line = line
        self.problem = problem


@dataclass(slots=True)
class Document:
    """A YAML text as a tree, and what is wrong with it although it can be read."""

    root: Node
    problems: list[tuple[int, str]]
    """(line, what is wrong)."""

    def line(self, path: tuple[int | str, ...]) -> int:
        """The line of the key or list item at `path`, or of the nearest thing around it."""
        node, line = self.root, self.root.line
        for part in path:
            child = node.child(part)
            if child is None:
                break
            line = node.key_lines.get(str(part), child.line)
            node = child
        return line

    def text(self, path: tuple[int | str, ...]) -> str | None:
        """The text at `path` as it stands in the file; None where there is none, or no single text."""
        node: Node | None = self.root
        for part in path:
            node = node.child(part) if node else None
        return node.value if node and isinstance(node.value, str) else None


def parse(text: str) -> Document:
    """The one document in `text`; an empty text is an empty mapping. Raises DocumentError."""
    try:
        return _Builder(yaml.parse(text, Loader=Loader)).document()
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, max(error.position, 0)) + 1
        raise DocumentError(line, "holds a character that no text file should hold") from error
    except yaml.MarkedYAMLError as error:
        raise _unreadable(error) from error


def of(data: object) -> Document:
    """What was read elsewhere, as a document without lines: every line is 0."""
    return Document(_node_of(data), [])


def _node_of(data: object) -> Node:
    if isinstance(data, Mapping):
        return Node(0, {str(key): _node_of(value) for key, value in data.items()}, dict.fromkeys(map(str, data), 0))
    if isinstance(data, list | tuple):
        return Node(0, [_node_of(item) for item in data])
    return Node(0, None if data is None else str(data))


def _unreadable(error: yaml.MarkedYAMLError) -> DocumentError:
    mark = error.problem_mark or error.context_mark
    problem = " ".join(str(part) for part in (error.problem, error.context) if part) or "cannot be read as YAML"
    if "cannot start any token" in problem:
        problem += " (a tab? YAML is indented with spaces; text that starts with @, ` or % needs quotes)"
    return DocumentError(mark.line + 1 if mark else 1, f"not YAML: {problem}")


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


class _Builder:
    """Turns parser events into nodes. Not recursive in C, so that no nesting, however deep, ends the process."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._anchors: dict[str, Node | None] = {}
        self._problems: list[tuple[int, str]] = []

    def document(self) -> Document:
        first = next(e for e in self._events if not isinstance(e, yaml.StreamStartEvent | yaml.DocumentStartEvent))
        if isinstance(first, yaml.StreamEndEvent):
            return Document(Node(1, {}), [])
        root = self._node(first, 0)
        rest = itertools.dropwhile(lambda e: isinstance(e, yaml.DocumentEndEvent), self._events)
        if isinstance(event := next(rest), yaml.DocumentStartEvent):
            raise DocumentError(_line(event), "holds a second document (`---`); only one is read")
        return Document(root, self._problems)

    def _node(self, event: Any, depth: int) -> Node:
        line = _line(event)
        if depth > _DEEPEST:
            raise DocumentError(line, f"nested more than {_DEEPEST} levels deep")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor or "", line)
        if event.tag not in (None, *_PLAIN_TAGS):
            self._problems.append((line, f"the tag `{event.tag}` is not understood here; leave it out"))
        if event.anchor:
            self._anchors[event.anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            plain = event.style in (None, "") and event.tag is None
            node = Node(line, None if plain and event.value in _NULLS else event.value)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = Node(line, [self._node(e, depth + 1) for e in self._until(yaml.SequenceEndEvent)])
        else:
            node = self._mapping(line, depth)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := next(self._events), end):
            yield event

    def _alias(self, anchor: str, line: int) -> Node:
        if anchor not in self._anchors:
            raise DocumentError(line, f"`*{anchor}` is used before `&{anchor}` is set")
        if (node := self._anchors[anchor]) is None:
            raise DocumentError(line, f"`*{anchor}` stands inside `&{anchor}`: it would hold itself")
        return node

    def _mapping(self, line: int, depth: int) -> Node:
        entries: dict[str, Node] = {}
        key_lines: dict[str, int] = {}
        merged: list[Node] = []
        for event in self._until(yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            plain = isinstance(event, yaml.ScalarEvent) and event.style in (None, "")
            value = self._node(next(self._events), depth + 1)
            if plain and key.value == "<<":
                merged.append(value)
                continue
            name = "" if key.value is None else key.value
            if not isinstance(name, str):
                self._problems.append((key.line, "a key must be a single text"))
            elif name in entries:
                self._problems.append((key.line, f"`{name}` is given twice, first on line {key_lines[name]}"))
            else:
                entries[name], key_lines[name] = value, key.line
        for source in merged:
            self._merge(source, line, entries, key_lines)
        return Node(line, entries, key_lines)

    def _merge(self, source: Node, line: int, entries: dict[str, Node], key_lines: dict[str, int]) -> None:
        """Add what `<<` brings in and the mapping does not say itself."""
        for mapping in source.value if isinstance(source.value, list) else [source]:
            if not isinstance(mapping.value, dict):
                self._problems.append((line, "`<<` takes a mapping, or a list of mappings"))
                continue
            for name, value in mapping.value.items():
                if name not in entries:
                    entries[name], key_lines[name] = value, mapping.key_lines[name]
