"""Plain error messages for a configuration file, in place of pydantic's: what is wrong, and what is expected."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, Final

from tsaudit.config.settings import Path, Settings
from tsaudit.engines.registry import ENGINES
from tsaudit.text import nearest, printable

Schema = Mapping[str, Any]
"""The JSON schema of one value."""

_KINDS: Final = {
    "string": "text",
    "integer": "a whole number in digits, such as 5000",
    "number": "a number in digits, such as 5000 or 0.8",
    "boolean": "true or false",
    "array": "a list such as [a, b]",
    "object": "`key: value` lines",
}
_EXPECTED: Final = {
    "int_parsing_size": "expected a whole number of fewer digits",
    "finite_number": "expected a number, not infinity",
    "string_pattern_mismatch": "expected letters, digits, `_`, `.`, and `-`, with a letter or digit first",
}
"""What was expected, by the kind of pydantic's error, where the type of the value does not show it."""


def place(path: Path) -> str:
    """The place in words: `targets[0].engine`; empty for the top of the file."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part, 80)}" for part in path)
    return text.removeprefix(".")


def unset(name: str) -> str:
    """The message about a reference whose variable does not exist."""
    return f"the environment variable {name} is not set; export it or write the value here"


def not_passed(name: str) -> str:
    """The message about a reference whose variable does not exist, if a program passes the variables."""
    return (
        f"the variable {name} has no value; pass it (in Airflow, by a connection in `connections` of a type whose "
        "provider is installed), or export it"
    )


def no_target(name: str, known: Collection[str]) -> str:
    """The message about a target that the configuration does not have."""
    hint = nearest(name, known) or f"; the configuration has {', '.join(list(known)[:10])}"
    return f"no target is named `{name}`{hint}"


def problem(item: Mapping[str, Any], path: Path, written: str | None) -> str:
    """The message for one of pydantic's errors. `written` is the text in the file; None for secrets, lists, and
    mappings.
    """
    kind, context, schema = item["type"], item.get("ctx", {}), _at(path)
    shown = None if _is_secret(schema) else written
    if kind == "missing":
        return f"is missing{_example(str(path[-1]), item['input'], schema)}"
    if kind in ("literal_error", "enum"):
        return _not_a_choice(_choices(schema), shown)
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "string_too_short"):
        return "is empty" if context.get("min_length") == 1 else f"needs at least {context['min_length']} entries"
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters"
    wrong = context.get("problem") or _bound(context) or _EXPECTED.get(kind) or f"expected {_kind(schema)}"
    return f"{wrong}{_got(item, shown)}"


def unknown_key(path: Path, value: object) -> str:
    """What is wrong with a key that does not exist at the place."""
    if lacks_blank(path, value):
        return "write `key: value`, with a blank after the `:`"
    name, known = str(path[-1]), list(_at(path[:-1]).get("properties", ()))
    hint = nearest(name.strip(), known) or (f"; known here: {', '.join(known)}" if known else "")
    return f"unknown key{hint}"


def lacks_blank(path: Path, value: object) -> bool:
    """Whether the key is probably a key together with its value, which may be secret: in `{token:x}`, YAML reads all of
    `token:x` as a key without a value.
    """
    return value is None and any(mark in str(path[-1]).strip() for mark in ":= ")


def comment(path: Path) -> str:
    """The message about a text that looks like a comment; empty if no text is expected at the place."""
    if _at(path).get("type") != "string":
        return ""
    return "has no value, because what begins with `#` is a comment; put it in quotes, or put a blank after the `#`"


def _example(key: str, parent: object, schema: Schema) -> str:
    if choices := _choices(schema):
        return f"; one of {', '.join(choices)}"
    example = next(iter(schema.get("examples", ())), "")
    if key == "url":
        # Only the engine knows its format of addresses.
        said = parent if isinstance(parent, dict) else {}
        engine = ENGINES.get(str(said.get("engine"))) or next(iter(ENGINES.values()))
        example = engine.example_url.replace("{name}", printable(str(said.get("name", "metrics")), 40))
    return f"; an example is `{key}: {example}`" if example else ""


def _bound(context: Mapping[str, Any]) -> str:
    for key, phrase in (("gt", "more than"), ("ge", "at least"), ("lt", "less than"), ("le", "at most")):
        if key in context:
            return f"must be {phrase} {context[key]:g}"
    return ""


def _got(item: Mapping[str, Any], written: str | None) -> str:
    if written is not None:
        return f", got `{printable(written, 60)}`"
    kinds = {dict: "`key: value` lines", list: "a list", type(None): "nothing"}
    found = kinds.get(type(item.get("input")))
    return f", got {found}" if found else ""


def _not_a_choice(choices: list[str], written: str | None) -> str:
    shown = f" `{printable(written, 60)}`" if written is not None else ""
    return f"unknown value{shown}" + (nearest(written or "", choices) or f"; one of {', '.join(choices)}")


def _at(path: Path) -> Schema:
    """The schema of the value at the place; empty if there is no such key."""
    found = _schema()
    for part in path:
        below = found.get("properties", {}).get(part) or found.get("items") or found.get("additionalProperties")
        found = _resolved(below) if isinstance(below, dict) else {}
    return found


def _kind(schema: Schema) -> str:
    return _KINDS.get(schema.get("type", ""), "another value")


def _choices(schema: Schema) -> list[str]:
    """The only values that are accepted; empty if there are others, too."""
    return [str(choice) for choice in schema.get("enum", ())]


def _is_secret(schema: Schema) -> bool:
    """Whether the value, or one of the values in it, is secret."""
    within = [*schema.get("properties", {}).values(), schema.get("additionalProperties"), schema.get("items")]
    return bool(schema.get("writeOnly")) or any(_is_secret(_resolved(one)) for one in within if isinstance(one, dict))


@cache
def _schema() -> Schema:
    return Settings.model_json_schema()


def _resolved(schema: Schema) -> Schema:
    """The schema that a reference or an optional value stands for."""
    said = {key: schema[key] for key in ("description", "examples") if key in schema}
    if options := [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]:
        return {**_resolved(options[0]), **said}
    if "$ref" in schema:
        return {**_schema()["$defs"][schema["$ref"].rpartition("/")[2]], **said}
    return schema
