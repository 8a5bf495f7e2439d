"""Whether values of a tag come and go for the same sources, or recur.

A source is what all other tags say. Each is cut in three parts with as many instants: what begins in the last part
shows that new values keep coming, and what is there in the first and in the last part shows that values recur. A source
whose values begin at one instant only may have changed once, such as a machine that was updated.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.model.profile import Source, Turnover

Codes = npt.NDArray[np.int64]

_PARTS: Final = 3
_FEWEST_INSTANTS: Final = 6
"""Of a source: two in each part."""
_LASTING_US: Final = 3_600_000_000
"""What reports for an hour or more is a source itself, however soon another takes its place."""
_LASTING_INSTANTS: Final = 3


def turnover_of(
    tag: Codes, source: Codes, times_us: Codes, *, by: tuple[str, ...] | None = (), measured: Source
) -> Turnover | None:
    """Examines rows given by their codes: equal codes are equal values. None if no source has enough instants."""
    order = np.lexsort((times_us, source))
    tag, source, times_us = tag[order], source[order], times_us[order]
    starts = np.append(True, source[1:] != source[:-1]) if len(source) else np.zeros(0, np.bool_)
    begins = starts | np.append(True, times_us[1:] != times_us[:-1]) if len(source) else starts
    number = np.cumsum(begins) - 1
    of_source = np.cumsum(starts) - 1
    first = number[starts]
    instants = np.diff(np.append(first, number[-1] + 1 if len(number) else 0))[of_source]
    part = (number - first[of_source]) * _PARTS // instants
    enough = instants >= _FEWEST_INSTANTS
    if not enough.any():
        return None
    tag, of_source, number, part, times_us = (all_[enough] for all_ in (tag, of_source, number, part, times_us))
    _, pair = np.unique(of_source * (int(tag.max()) + 1) + tag, return_inverse=True)
    order = np.lexsort((number, pair))
    pair, number, part, times_us = pair[order], number[order], part[order], times_us[order]
    is_first = np.append(True, pair[1:] != pair[:-1])
    is_last = np.append(is_first[1:], True)
    seen = np.add.reduceat(is_first | np.append(True, number[1:] != number[:-1]), np.flatnonzero(is_first))
    lasting = (seen >= _LASTING_INSTANTS) & (times_us[is_last] - times_us[is_first] >= _LASTING_US)
    began, ended, owner = part[is_first], part[is_last], of_source[order][is_first]
    # Each instant is of one source.
    _, one = np.unique(np.where(began > 0, number[is_first], -1), return_index=True)
    changes = np.bincount(owner[one[began[one] > 0]], minlength=int(owner.max()) + 1)
    return Turnover(
        by=by,
        sources=len(np.unique(of_source)),
        first=int((began == 0).sum()),
        again=int(((began == 0) & (ended == _PARTS - 1)).sum()),
        new=int((began == _PARTS - 1).sum()),
        going_on=int(((began == _PARTS - 1) & (changes[owner] > 1)).sum()),
        pairs=len(began),
        lasting_ratio=float(lasting.mean()),
        hours=float(times_us.max() - times_us.min()) / _LASTING_US,
        source=measured,
    )
