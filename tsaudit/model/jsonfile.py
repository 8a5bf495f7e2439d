"""Converts profiles and results to JSON and back. The files are the interfaces of the pipeline: save, diff, replay."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pydantic_core

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from tsaudit.model.profile import Profile

T = TypeVar("T")


def _made(cls: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


adapter: Final[Callable[[Any], TypeAdapter[Any]]] = functools.cache(_made)
"""The pydantic adapter that reads a class, cached because building it takes longer than reading most values."""


def to_json(value: object, *, indent: int | None = None) -> bytes:
    """The dataclass as UTF-8 JSON; the same value always results in the same bytes.

    Unpaired surrogates, which are not valid in JSON, become U+FFFD.
    """
    # By the values themselves, not by an adapter: an audit that reads nothing back needs none.
    try:
        return pydantic_core.to_json(value, indent=indent, inf_nan_mode="null")
    except ValueError:
        separators = (",", ":") if indent is None else None
        text = json.dumps(to_plain(value), ensure_ascii=False, indent=indent, separators=separators)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def to_plain(value: object) -> Any:
    """What `to_json` writes, as dictionaries, lists, and other values of JSON."""
    return pydantic_core.to_jsonable_python(value, inf_nan_mode="null")


def in_parts(profile: Profile) -> Iterator[bytes]:
    """The text of `to_json` in parts, at least one for each measurement: all of it may not fit into memory."""
    key = b'"measurements":['
    before, after = to_json(replace(profile, measurements=())).split(key, 1)
    yield before + key
    for place, measurement in enumerate(profile.measurements):
        yield (b"," if place else b"") + to_json(measurement)
    yield after


def from_json(cls: type[T], data: bytes | str) -> T:
    """The dataclass from the output of `to_json`. Raises ValueError, with the place, for anything else."""
    found: T = adapter(cls).validate_json(data)
    return found
