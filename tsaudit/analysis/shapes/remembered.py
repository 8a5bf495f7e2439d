"""Caches findings about lists of values, for all callers that ask about the same values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

_Found = TypeVar("_Found")

_LISTS: Final = 4_096
_LONGEST: Final = 4_096
"""Most characters of all values of a list together to cache its result: longer lists hardly recur, and would take
hundreds of megabytes.
"""


def remembered(find: Callable[[Sequence[str]], _Found], values: Sequence[str]) -> _Found:
    """The result of `find` for the values, from the cache if possible. `find` may depend on nothing but the values.

    Several rules ask about the same column, and tables of one family have the same values, such as hosts and states.
    """
    if sum(map(len, values)) > _LONGEST:
        return find(values)
    found: _Found = _remembered(find, tuple(values))
    return found


@functools.lru_cache(maxsize=_LISTS)
def _remembered(find: Callable[[Sequence[str]], Any], values: tuple[str, ...]) -> Any:
    return find(values)
