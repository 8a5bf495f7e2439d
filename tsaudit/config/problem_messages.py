"""Plain error messages for a configuration file, in place of pydantic's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

from pydantic import BaseModel

from tsaudit.config.settings import Path, Settings
from tsaudit.text import nearest, printable

_EXPECTED: Final = {
    "string_type": "expected text",
    "tuple_type": "expected a list: lines that start with `- `, or [a, b]",
    "dict_type": "expected `key: value` lines",
    "model_type": "expected `key: value` lines",
    "model_attributes_type": "expected `key: value` lines",
    "int_type": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_parsing_size": "expected a whole number of fewer digits",
    "int_from_float": "expected a whole number",
    "float_type": "expected a number",
    "float_parsing": "expected a number",
    "finite_number": "expected a number, not infinity",
    "time_delta_type": "expected a duration such as 30d, 12h, 15m, 90s, or 2w",
    "string_pattern_mismatch": "expected letters, digits, `_`, `.`, and `-`, with a letter or digit first",
}


def place(path: Path) -> str:
    """`targets[0].engine`; empty for the top of the file."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{printable(part, 80)}" for part in path)
    return text.removeprefix(".")


def unset(name: str) -> str:
    """The message about a reference whose variable does not exist."""
    return f"the environment variable {name} is not set; export it or write the value here"


def not_passed(name: str) -> str:
    """The same where a program passes the variables."""
    return f"the variable {name} has no value; set it where this program gets its variables, or write the value here"


def no_target(name: str, known: Collection[str]) -> str:
    """The message about a target that the configuration does not have."""
    hint = nearest(name, known) or f"; the configuration has {', '.join(list(known)[:10])}"
    return f"no target is named `{name}`{hint}"


def problem(item: Mapping[str, Any], path: Path, written: str | None) -> str:
    """What is wrong, in words. `written` is the text in the file; None for secrets, lists, and mappings."""
    kind, context = item["type"], item.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown_key(path)
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        return _not_a_choice(path, written)
    if kind == "value_error":
        return str(context["error"])
    if kind in ("too_short", "string_too_short"):
        return "is empty" if context.get("min_length") == 1 else f"needs at least {context['min_length']} entries"
    if kind == "string_too_long":
        return f"is longer than {context['max_length']} characters"
    if bound := _bound(context):
        return bound + _got(item, written)
    return _EXPECTED.get(kind, str(item["msg"])) + _got(item, written)


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


def _unknown_key(path: Path) -> str:
    model = _annotation_at(path[:-1])
    if not isinstance(model, type) or not issubclass(model, BaseModel):
        return "unknown key"
    names = list(model.model_fields)
    return "unknown key" + (nearest(str(path[-1]), names) or f"; known here: {', '.join(names)}")


def _not_a_choice(path: Path, written: str | None) -> str:
    choices = [str(c) for c in get_args(_annotation_at(path))]
    thing = f"{path[-1]} `{printable(written, 60)}`" if written is not None else str(path[-1])
    return f"unknown {thing}" + (nearest(written or "", choices) or f"; one of {', '.join(choices)}")


def _annotation_at(path: Path) -> Any:
    """The type that the configuration has at `path`; None if it has none."""
    found: Any = Settings
    for part in path:
        found = _inside(found, part)
    return found


def _inside(annotation: Any, part: int | str) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        field = annotation.model_fields.get(str(part))
        return _without_none(field.annotation) if field else None
    if get_origin(annotation) in (dict, tuple, list):
        return next((a for a in reversed(get_args(annotation)) if a is not Ellipsis), None)
    return None


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) in (Union, UnionType):
        return next(a for a in get_args(annotation) if a is not type(None))
    return annotation
