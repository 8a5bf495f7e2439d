"""The keys of tsaudit.yaml and the values each of them accepts, according to the JSON schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import yaml
from pydantic import ValidationError

from tsaudit.config.settings import Path, Settings
from tsaudit.text import printable

Schema = Mapping[str, Any]

_KINDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "`key: value` lines",
}
_NONE: Final[Schema] = {}


def at(path: Path) -> Schema:
    """The schema of the value at the place; empty if there is no such key."""
    found = _schema()
    for part in path:
        found = at_key(found, part)
    return found


def at_key(schema: Schema, part: int | str) -> Schema:
    """The schema of the value below a key, or at a position; empty if there is none."""
    below = schema.get("properties", {}).get(part) or schema.get("items") or schema.get("additionalProperties")
    return _resolved(below) if isinstance(below, dict) else _NONE


def takes(path: Path, text: str) -> bool:
    """Whether the text is a valid value at the place, even if other required keys are missing."""
    value: Any = text
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    try:
        Settings.model_validate(value)
    except ValidationError as error:
        place = tuple(0 if isinstance(part, int) else part for part in path)
        return all(item["loc"] != place for item in error.errors())
    return True


def kind(schema: Schema) -> str:
    """The kind of a value in words: `text`, `a list`; empty if it is unknown."""
    return _KINDS.get(schema.get("type", ""), "")


def choices(schema: Schema) -> list[str]:
    """The only values that are accepted; empty if there are others, too."""
    return [str(choice) for choice in schema.get("enum", ())]


def is_share(schema: Schema) -> bool:
    """Whether the value is a share of 1."""
    return bool(schema.get("maximum") == 1)


def is_secret(schema: Schema) -> bool:
    """Whether the value, or one of the values in it, is secret."""
    within = [*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")]
    return bool(schema.get("writeOnly")) or any(is_secret(_resolved(one)) for one in within if isinstance(one, dict))


def names(schema: Schema) -> list[str]:
    """The valid keys below it; empty if any key is."""
    return list(schema.get("properties", ()))


def says(schema: Schema) -> str:
    """The description up to its first full stop or semicolon."""
    text = " ".join(str(schema.get("description", "")).split())
    return text.split(". ")[0].split(";")[0].rstrip(".")


def example(schema: Schema) -> str:
    """An example of a valid value."""
    if found := schema.get("examples"):
        return in_yaml(str(found[0]))
    if schema.get("type") == "array":
        inside = at_key(schema, 0)
        return f"- {example(inside)}" if inside.get("type") == "object" else f"[{example(inside)}]"
    if first := next(iter(names(schema)), None):
        return f"{first}: {example(at_key(schema, first))}"
    return next(iter(choices(schema)), "...")


def in_yaml(text: str) -> str:
    """The text as a YAML scalar, in quotes where the file requires them; `off` and `7` are text without quotes, too."""
    shown = printable(text, 60)
    if re.fullmatch(r"[A-Za-z0-9_.-]+", shown):
        return shown
    return yaml.safe_dump([shown], default_flow_style=True, width=1000, allow_unicode=True).strip()[1:-1]


def as_line(key: str, text: str) -> str:
    """`name: plant`, or `token: ...` where the value may be secret."""
    return f"{key}: {in_yaml(text) if is_shown(key) else '...'}"


def places(key: str) -> list[Path]:
    """All places where a key of that name exists; `*` stands for any name or position."""
    return [(*parent, key) for parent, keys in _parents().items() if key in keys]


def is_shown(key: str) -> bool:
    """Whether values of the key may be quoted in a message about a file that cannot be read."""
    found = places(key)
    return bool(found) and not any(is_secret(at(place)) for place in found)


@cache
def _schema() -> Schema:
    return Settings.model_json_schema()


@cache
def _parents() -> Mapping[Path, frozenset[str]]:
    return dict(_walk(_schema(), ()))


def _walk(schema: Schema, path: Path) -> Iterator[tuple[Path, frozenset[str]]]:
    if keys := names(schema):
        yield path, frozenset(keys)
    for key in (*keys, "*"):
        if below := at_key(schema, key):
            yield from _walk(below, (*path, key))


def _resolved(schema: Schema) -> Schema:
    """The schema that a reference or an optional value stands for."""
    said = {key: schema[key] for key in ("description", "examples") if key in schema}
    if options := [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]:
        return {**_resolved(options[0]), **said}
    if "$ref" in schema:
        return {**_schema()["$defs"][schema["$ref"].rpartition("/")[2]], **said}
    return schema
