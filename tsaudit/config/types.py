"""Types of values in tsaudit.yaml, and the base class of all its parts."""

from __future__ import annotations

import ast
import inspect
import re
from datetime import timedelta
from itertools import pairwise
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SecretStr,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from tsaudit.config import cron
from tsaudit.engines.registry import ENGINES
from tsaudit.text import printable


class Model(BaseModel):
    """Base of all configuration: frozen, unknown keys rejected."""

    # Only `Settings` validates, so the other parts need no validator of their own.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @classmethod
    def meanings(cls) -> dict[str, str]:
        """The docstring of each key. Pydantic's `use_attribute_docstrings` would parse the source in every process."""
        tree, found = ast.parse(inspect.getsource(cls)), {}
        for key, text in pairwise(tree.body[0].body):  # type: ignore[attr-defined]  # a class
            match key, text:
                case ast.AnnAssign(ast.Name(name)), ast.Expr(ast.Constant(str(said))):
                    found[name] = inspect.cleandoc(said)
        return found

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, said in cls.meanings().items():
            properties[name]["description"] = said
        return schema

    @model_validator(mode="before")
    @classmethod
    def _empty_is_absent(cls, data: Any) -> Any:
        """A key without a value, for example with all its lines commented out, counts as absent. Unknown keys are kept
        so that they are reported: in `{token:x}`, YAML reads all of `token:x` as the key.
        """
        if data is None:
            return {}
        return (
            {k: v for k, v in data.items() if v is not None or k not in cls.model_fields}
            if isinstance(data, dict)
            else data
        )


_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_SIZES: Final = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_LONGEST: Final = timedelta(days=36_500)


def misfit(problem: str) -> PydanticCustomError:
    """The error for a value in the wrong format: `mistakes` adds the text in the file."""
    return PydanticCustomError("format", "{problem}", {"problem": problem})


def web_address(value: str) -> str:
    """The address itself, or a reference to it. Raises `misfit` for other text."""
    if not value.startswith(("https://", "http://", "${")):
        raise misfit("must start with https:// or http://")
    return value


def _duration(value: Any) -> Any:
    """`30d`, `12h`, `15m`, `90s`, `2w` as a timedelta; anything but text is left to pydantic."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"([0-9]{1,8})\s*([smhdw])", value)
    if match is None:
        raise misfit("expected a duration such as 30d, 12h, 15m, 90s, or 2w")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])


def _size(value: Any) -> Any:
    """`100MB` or `2TB` as a number of bytes; anything but text is left to pydantic."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"([0-9]{1,15})\s*(|B|kB|MB|GB|TB)", value)
    if match is None:
        raise misfit("expected a size such as 500MB, 20GB, or 1TB")
    return int(match[1]) * _SIZES[match[2]]


def _at_most_longest(value: timedelta) -> timedelta:
    if not timedelta(0) <= value <= _LONGEST:
        raise ValueError(f"must be between 0s and {_LONGEST.days}d")
    return value


def _reaction(value: str) -> str:
    name = value.strip(":")
    if not re.fullmatch(r"[a-z0-9_+'-]*|\$\{\w+\}", name):
        raise ValueError(f"expected the name of a reaction such as `eyes`, got `{value}`")
    return name


Duration = Annotated[
    timedelta,
    BeforeValidator(_duration),
    AfterValidator(_at_most_longest),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,8}\s*[smhdw]$", "examples": ["30d", "12h"]}),
]
"""A length of time, written as `30d`, `12h`, `15m`, `90s`, or `2w`."""
Size = Annotated[
    int,
    BeforeValidator(_size),
    Field(ge=0),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]{1,15}\s*(B|kB|MB|GB|TB)?$", "examples": ["100MB", "2TB"]}),
]
"""A number of bytes, written as `100MB`, `2TB`, or `500000000`; a kB is 1,000 bytes."""
Reaction = Annotated[str, AfterValidator(_reaction)]
"""The name of an emoji in Slack, with or without colons; may be empty."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A finite number, because `nan` as a limit would never be exceeded and look like a pass."""
Secret = Annotated[SecretStr, Field(min_length=1)]
"""Text that stays out of every message and file. Never empty: an empty variable is a mistake, not a password."""


def _schedule(value: str) -> str:
    try:
        return cron.check(value)
    except ValueError as error:
        raise misfit(str(error)) from error


Schedule = Annotated[str, AfterValidator(_schedule)]
"""A cron expression, or `never`."""


def _known(name: str) -> str:
    if name not in ENGINES:
        raise ValueError(f"unknown engine `{printable(name, 60)}`{ENGINES.near(name)}")
    return name


def _with_engines(schema: dict[str, Any]) -> None:
    schema["enum"] = list(ENGINES)


EngineName = Annotated[str, AfterValidator(_known), Field(json_schema_extra=_with_engines)]
"""Name of an engine, including those of other packages. Checked when a file is read, not when this module
is imported.
"""


def _nothing_is_empty(value: Any) -> Any:
    return {} if value is None else value


USE: Final = "use"
"""The key that names the notifier of an entry, so that there can be several entries for one notifier."""
SEVERITY: Final = "severity"
"""The key of an entry with the lowest severity that its notifier is notified about."""
NotifierSettings = Annotated[dict[str, Secret], BeforeValidator(_nothing_is_empty)]
"""The settings of a notifier: `pager:` alone is enough for a notifier without settings."""


def _one_word(value: SecretStr) -> SecretStr:
    """The secret without the trailing newline of a file. Rejects characters that no HTTP header or address can contain:
    they would fail later, with an error that quotes the secret.
    """
    text = value.get_secret_value().strip()
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError("contains blanks or characters that are not ASCII; copy it again from Slack")
    return SecretStr(text)


SlackSecret = Annotated[Secret, AfterValidator(_one_word)]
"""A secret token or address, as shown by Slack."""


def _word(value: Any) -> Any:
    """Undo YAML's reading of `on` and `off` as true and false."""
    return {True: "on", False: "off"}.get(value, value) if isinstance(value, bool) else value


RuleSetting = Annotated[
    Literal["on", "off", "note", "warning", "critical"], BeforeValidator(_word), Field(examples=["off"])
]
"""Whether a rule is on, or the severity of its findings."""
