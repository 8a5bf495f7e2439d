"""Converts profiles and results to JSON and back. The two files are the interfaces of the pipeline: save,
diff, replay.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from tsaudit.model.profile import Profile

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
        separators = (",", ":") if indent is None else None
        plain = adapter(cls).dump_python(value, mode="json")
        text = json.dumps(plain, ensure_ascii=False, indent=indent, separators=separators)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def in_parts(profile: Profile) -> Iterator[bytes]:
    """The text of `to_json` in parts, at least one for each measurement: all of it may not fit into memory."""
    key = b'"measurements":['
    before, after = to_json(replace(profile, measurements=())).split(key, 1)
    yield before + key
    for place, measurement in enumerate(profile.measurements):
        yield (b"," if place else b"") + to_json(measurement)
    yield after


def from_json(cls: type[T], data: bytes | str) -> T:
    """The dataclass from the output of `to_json`. Raises ValueError, with the place in the document,
    for anything else.
    """
    found: T = adapter(cls).validate_json(data)
    return found
