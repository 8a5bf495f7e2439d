"""What follows from content that several columns or measurements share is worked out once for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

_KEPT: Final = 32
"""Results in memory at once: measurements of one collector mostly have similar names, and are measured one after the
other.
"""

Result = TypeVar("Result")


class Alike:
    """Results, by what they follow from; at most `most` of them. Thread-safe."""

    def __init__(self, most: int = _KEPT) -> None:
        self._results: Callable[[Hashable], list[Any]] = lru_cache(most)(lambda _: [])

    def of(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """The result of `make`, or of an earlier call with an equal key. Nobody may change it."""
        found: list[Any] = self._results(key)
        if not found:
            found.append(make())
        result: Result = found[0]
        return result


_LONGEST: Final = 4_096
"""Most characters of all values of a list together to keep them with its result: of longer lists, only a digest is
kept, because they would take hundreds of megabytes.
"""
_OF_VALUES: Final = Alike(4_096)


def remembered(find: Callable[[Sequence[str]], Result], values: Sequence[str]) -> Result:
    """The result of `find` for the values, from memory if possible. `find` may depend on nothing but the values.

    Several rules ask about the same column, and tables of one family have the same values, such as hosts and states.
    """
    lengths = [*map(len, values)]
    key: tuple[str, ...] | bytes = tuple(values)
    if sum(lengths) > _LONGEST:
        text = f"{lengths}{''.join(values)}"
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    return _OF_VALUES.of((find, key), lambda: find(values))
