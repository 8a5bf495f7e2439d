"""What follows from content that several measurements share is worked out once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any, Final, TypeVar

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
