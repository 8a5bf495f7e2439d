"""Converts profiles and results to JSON and back. The two files are the interfaces of the pipeline: save,
diff, replay.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


def _made(cls: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


adapter: Final[Callable[[Any], TypeAdapter[Any]]] = functools.cache(_made)
"""The pydantic adapter of a class, cached because building it takes longer than reading most values."""


def to_json(value: object, *, indent: int | None = None) -> bytes:
    """The dataclass as UTF-8 JSON; the same value always results in the same bytes.

    Unpaired surrogates, which are not valid in JSON, become U+FFFD.
    """
    cls = type(value)
    try:
        return adapter(cls).dump_json(value, indent=indent)
    except ValueError:
        text = json.dumps(adapter(cls).dump_python(value, mode="json"), ensure_ascii=False, indent=indent)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def from_json(cls: type[T], data: bytes | str) -> T:
    """The dataclass from the output of `to_json`. Raises ValueError, with the place in the document,
    for anything else.
    """
    found: T = adapter(cls).validate_json(data)
    return found
