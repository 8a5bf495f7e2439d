"""What was found out about a list of values, for all who ask about the same ones."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

_Found = TypeVar("_Found")

_LISTS: Final = 4_096
_LONGEST: Final = 4_096
"""Characters of all values of a list together; longer ones hardly come again, and would take hundreds of megabytes."""


def remembered(find: Callable[[Sequence[str]], _Found], values: Sequence[str]) -> _Found:
    """What `find`, which only looks at the values, returns for them.

    Several rules ask about a column, and tables of one family have the same hosts and states.
    """
    if sum(map(len, values)) > _LONGEST:
        return find(values)
    found: _Found = _remembered(find, tuple(values))
    return found


@functools.lru_cache(maxsize=_LISTS)
def _remembered(find: Callable[[Sequence[str]], Any], values: tuple[str, ...]) -> Any:
    return find(values)
