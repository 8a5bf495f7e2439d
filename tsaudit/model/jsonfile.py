"""Profiles and results to JSON and back. The two files are the interfaces of the pipeline: save, diff, replay."""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import TypeAdapter

T = TypeVar("T")


@functools.cache
def _adapter(cls: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def to_json(value: object, *, indent: int | None = None) -> bytes:
    """The dataclass as UTF-8 JSON; the same value always results in the same bytes.

    Unpaired surrogates, which are not valid in JSON, become U+FFFD.
    """
    cls: Any = type(value)
    try:
        return _adapter(cls).dump_json(value, indent=indent)
    except ValueError:
        text = json.dumps(_adapter(cls).dump_python(value, mode="json"), ensure_ascii=False, indent=indent)
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def from_json(cls: type[T], data: bytes | str) -> T:
    """The dataclass from the output of `to_json`. ValueError, with the place in the document, for anything else."""
    hashable: Any = cls
    found: T = _adapter(hashable).validate_json(data)
    return found
