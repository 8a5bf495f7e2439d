"""What measurements of one collector have in common: the same tag sets, and rows at the same times. What follows from
that alone is worked out once for all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Any, Final, TypeVar

import pyarrow as pa

_KEPT: Final = 32
"""Results in memory at once: measurements of one collector mostly have similar names, and are measured one after the
other.
"""

Result = TypeVar("Result")


class Alike:
    """The results of one audit, by what they follow from. Thread-safe."""

    def __init__(self) -> None:
        self._results: Callable[[Hashable], list[Any]] = lru_cache(_KEPT)(lambda _: [])

    def of(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result of `make`, or of an earlier call with an equal key. Nobody may change it."""
        found: list[Any] = self._results(key)
        if not found:
            found.append(make())
        result: Result = found[0]
        return result


def content_of(batches: Iterable[pa.RecordBatch]) -> bytes:
    """A digest of these batches: their columns, with names and types, and all values."""
    digest = hashlib.blake2b(digest_size=16)
    for batch in batches:
        digest.update(repr([batch.num_rows, batch.schema.names, batch.schema.types]).encode("utf-8", "surrogatepass"))
        # What a batch serializes to lacks its dictionaries.
        plain = [c.dictionary_decode() if isinstance(c, pa.DictionaryArray) else c for c in batch.columns]
        digest.update(pa.RecordBatch.from_arrays(plain, batch.schema.names).serialize())
    return digest.digest()
