"""How the value of a tag changes over time for one source, if the other tags identify the source of a row, and whether
its values come and go for the same sources, or recur.

A tag that identifies sources has several values at the same time; an attribute of the source keeps one value for long
and then switches to another; a measured value changes from row to row, with one value at each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, changes, combined, count_distinct, counted, order_by
from tsaudit.model.profile import Source, TagChanges, Turnover

Numbers = npt.NDArray[np.float64]


def changes_of(
    tag: Codes,
    source: Codes,
    time: Codes,
    numbers: Numbers | None = None,
    *,
    by: tuple[str, ...] = (),
    measured: Source,
) -> TagChanges:
    """Examines rows given by their codes: equal codes are equal values, and codes of `time` are in time order.

    `numbers`: for each code of the tag, its value; NaN if it is not a number. `by` and `measured` are passed on as they
    are; `shared` is left at 0.
    """
    if not len(tag):
        return TagChanges(by, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, None, measured)
    values = len(counted(tag, int(tag.max()) + 1)[0])
    order = order_by(source, time)
    tag, source, time = tag[order], source[order], time[order]
    starts = np.flatnonzero(changes(source) | changes(time))
    lowest = np.minimum.reduceat(tag, starts)
    clashes = int((lowest != np.maximum.reduceat(tag, starts)).sum())
    # One value stands for an instant.
    tag, source = lowest, source[starts]
    same = source[1:] == source[:-1]
    differs = same & (tag[1:] != tag[:-1])
    size = int(source.max()) + 1
    pairs = np.bincount(source[1:][same], minlength=size)
    of_sources = TagChanges(by, values, 0, int((pairs > 0).sum()), 0, 0, 0, 0.0, len(starts), clashes, None, measured)
    if not differs.any():
        return of_sources
    switches = np.bincount(source[1:][differs], minlength=size)
    changing = switches > 0
    return replace(
        of_sources,
        changing=int(changing.sum()),
        pairs=int(pairs[changing].sum()),
        changes=int(switches.sum()),
        by_chance=float((pairs * _differing(tag, source, size))[changing].sum()),
        roughness=None if numbers is None else _roughness(numbers[tag], source, same, changing),
    )


def shared(tag: Codes, other: Codes) -> int:
    """The number of its values that occur with several values of another tag."""
    width = int(tag.max(initial=0)) + 1
    pairs, _ = counted(other * width + tag, (int(other.max(initial=0)) + 1) * width)
    return int((np.bincount(pairs % width) > 1).sum())


def other_sources(tags: Sequence[Codes]) -> list[Codes]:
    """For each tag, a number per row that identifies its source by all other tags."""
    count = len(tags)
    rows = len(tags[0]) if tags else 0
    before = [np.zeros(rows, np.int64)]
    after = [np.zeros(rows, np.int64)]
    for i in range(count - 1):
        before.append(combined([before[-1], tags[i]], rows))
        after.append(combined([after[-1], tags[count - 1 - i]], rows))
    return [combined([before[i], after[count - 1 - i]], rows) for i in range(count)]


def _differing(tag: Codes, source: Codes, size: int) -> Numbers:
    """For each source, the probability that two of its instants differ in value."""
    width = int(tag.max()) + 1
    both, times = counted(source * width + tag, size * width)
    number = np.bincount(source, minlength=size).astype(np.float64)
    same = np.bincount(both // width, weights=times * (times - 1.0), minlength=size)
    every = number * (number - 1)
    return np.where(every > 0, 1 - same / np.maximum(every, 1), 0.0)


def _roughness(
    values: Numbers, source: Codes, same: npt.NDArray[np.bool_], changing: npt.NDArray[np.bool_]
) -> float | None:
    values = np.where(np.isinf(values), np.nan, values)
    known = ~np.isnan(values) & changing[source]
    steps = np.abs(values[1:] - values[:-1])[same & known[1:] & known[:-1]]
    values, source = values[known], source[known]
    if not len(steps):
        return None
    order = order_by(source, values)
    values, source = values[order], source[order]
    count = np.bincount(source)[source]
    place = np.arange(len(source)) - np.searchsorted(source, source)
    # The mean difference of any two of n ordered values x is the sum of (2i - n + 1) x_i by n (n - 1) / 2, and a source
    # has n - 1 steps: https://en.wikipedia.org/wiki/Mean_absolute_difference
    expected = float(((2 * place - count + 1) * values / (count / 2)).sum())
    return float(steps.sum()) / expected if expected > 0 else None


_PARTS: Final = 3
_FEWEST_INSTANTS: Final = 6
"""Of a source: two in each part."""
_LASTING_US: Final = 3_600_000_000
"""What reports for an hour or more is a source itself, however soon another takes its place."""
_LASTING_INSTANTS: Final = 3
_DUE: Final = 1.5
"""What has not come for so many times its mean spacing has ended."""


def turnover_of(
    tag: Codes, source: Codes, times_us: Codes, *, by: tuple[str, ...] | None = (), measured: Source
) -> Turnover | None:
    """Examines rows given by their codes: equal codes are equal values. None if no source has enough instants."""
    order = order_by(source, times_us)
    tag, source, times_us = tag[order], source[order], times_us[order]
    debuts = np.full(int(tag.max(initial=0)) + 1, times_us.max(initial=0))
    np.minimum.at(debuts, tag, times_us)
    starts = changes(source)
    begins = starts | changes(times_us)
    number = np.cumsum(begins) - 1
    of_source = np.cumsum(starts) - 1
    first = number[starts]
    instants = np.diff(np.append(first, number[-1] + 1 if len(number) else 0))[of_source]
    part = (number - first[of_source]) * _PARTS // instants
    if by is None and len(times_us):
        # Most instants may be those of one busy series, which may have begun long after the others.
        part = (times_us - times_us.min()) * _PARTS // (times_us.max() - times_us.min() + 1)
    enough = instants >= _FEWEST_INSTANTS
    if not enough.any():
        return None
    if not enough.all():
        tag, of_source, number, part, times_us = (all_[enough] for all_ in (tag, of_source, number, part, times_us))
    last_parts = np.full(int(of_source.max()) + 1, times_us.max())
    np.minimum.at(last_parts, of_source[part == _PARTS - 1], times_us[part == _PARTS - 1])
    ends = np.full(len(last_parts), times_us.min())
    np.maximum.at(ends, of_source, times_us)
    pair = combined([of_source, tag], len(tag))
    order = order_by(pair, number)
    pair, number, part, times_us = pair[order], number[order], part[order], times_us[order]
    is_first = changes(pair)
    is_last = np.append(is_first[1:], True)
    seen = np.add.reduceat(is_first | changes(number), np.flatnonzero(is_first))
    lasting = (seen >= _LASTING_INSTANTS) & (times_us[is_last] - times_us[is_first] >= _LASTING_US)
    began, ended, owner = part[is_first], part[is_last], of_source[order][is_first]
    # What comes slowly is not gone because others come so fast that the last part is shorter than its spacing.
    spacing = (times_us[is_last] - times_us[is_first]) / np.maximum(seen - 1, 1)
    is_due = (seen >= _LASTING_INSTANTS) & (times_us[is_last] + _DUE * spacing >= ends[owner])
    is_new = began == _PARTS - 1
    is_new_value = is_new & (debuts[tag[order][is_first]] >= last_parts[owner])
    # Each instant is of one source.
    _, one = np.unique(np.where(began > 0, number[is_first], -1), return_index=True)
    switches = np.bincount(owner[one[began[one] > 0]], minlength=int(owner.max()) + 1)
    return Turnover(
        by=by,
        sources=count_distinct(of_source),
        first=int((began == 0).sum()),
        again=int(((began == 0) & ((ended == _PARTS - 1) | is_due)).sum()),
        new=int(is_new.sum()),
        new_values=int(is_new_value.sum()),
        going_on=int((is_new & (switches[owner] > 1)).sum()),
        pairs=len(began),
        lasting_ratio=float(lasting.mean()),
        hours=float(times_us.max() - times_us.min()) / _LASTING_US,
        source=measured,
    )
