"""Measures how arrays grow, by the times in their items."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import bson

from tsaudit.analysis.columns.name_words import HINT, words_of
from tsaudit.analysis.columns.time_columns import time_names
from tsaudit.model.profile import ItemGrowth

_EPOCHS: Final = ((1.2e9, 2.2e9, 1.0), (1.2e12, 2.2e12, 1e-3))
"""Minimum and maximum of a number that counts seconds or milliseconds since 1970 (from 2008 to 2039), and the factor
that converts it to seconds.
"""
_LEAST_SPAN: Final = timedelta(hours=1)
"""Rates from a shorter span are too unreliable."""
_LATE: Final = 0.1
"""Share of the time that the items span, after which one that got no more is finished, but a day at least."""
_OF_PERIOD: Final = 0.5
"""Of the time that an array has grown for, from which on one that is finished was of the same period."""
_AHEAD_DAYS: Final = 90
"""The document that will be the largest after this many days matters most."""


def ends(items: Sequence[Any]) -> tuple[datetime | None, datetime | None]:
    """The times of the oldest and of the newest item of an array, to which items are added at its end or its start;
    None for one without.
    """
    first, last = (_time_of(items[0]), _time_of(items[-1])) if items else (None, None)
    return (last, first) if first and last and _utc(last) < _utc(first) else (first, last)


def _utc(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _time_of(item: Any) -> datetime | None:
    """A date in the item, as such or as text, else a number named like a time, else the time in an ID of its own, else
    a time further inside.
    """
    if isinstance(item, datetime):
        return item
    if isinstance(item, str):
        return _from_text(item)
    if isinstance(item, list):
        return _time_of(item[0]) if item and not isinstance(item[0], list) else None
    if not isinstance(item, Mapping):
        return None
    dates = (_time_of(value) for value in item.values() if isinstance(value, datetime | str))
    counted = (_from_epoch(value) for key, value in item.items() if _names_time(str(key)))
    own = item.get("_id")
    created = own.generation_time if isinstance(own, bson.ObjectId) else None
    inside = (_time_of(value) for value in item.values() if isinstance(value, Mapping))
    return next((found for found in (*dates, *counted, created, *inside) if found is not None), None)


def _names_time(key: str) -> bool:
    """Whether a number so large is a time under this name: also under one as short as `t` or `tms`."""
    return key.lower() in time_names() or bool(words_of(key) & HINT) or re.fullmatch("t[a-z]{0,2}", key) is not None


_AS_TEXT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")


def _from_text(text: str) -> datetime | None:
    if not _AS_TEXT.fullmatch(text):
        return None
    try:
        return _utc(datetime.fromisoformat(text))
    except ValueError:
        return None


def _from_epoch(value: Any) -> datetime | None:
    if not isinstance(value, int | float):
        return None
    seconds = next((value * unit for least, most, unit in _EPOCHS if least <= value <= most), None)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


@dataclass(frozen=True, slots=True)
class DatedArray:
    """An array whose items have times."""

    document_bytes: int
    array_bytes: int
    items: int
    first: datetime
    last: datetime
    created: datetime | None
    """When the document was created; None if its ID does not show it."""

    @property
    def span(self) -> timedelta:
        return self.last - self.first

    @property
    def bytes_per_day(self) -> float:
        return self.array_bytes / (self.span / timedelta(days=1))


def growth(arrays: Iterable[DatedArray], now: datetime) -> ItemGrowth | None:
    """The growth of the array that will make a document the largest; None if no array grows without bound.

    They do not where as many are finished that took about as long: then each document is one of a period.
    """
    # Times in the future are plans.
    known = [one for one in arrays if one.span >= _LEAST_SPAN and one.last <= now + timedelta(days=1)]
    lengths = Counter(one.items for one in known)
    growing: list[DatedArray] = []
    finished: list[DatedArray] = []
    for one in known:
        margin = max(_LATE * one.span, timedelta(days=1))
        # An array from which the oldest items are removed has the same length as others, and its first item is newer
        # than its document.
        is_cut = lengths[one.items] > 1 and (one.created is None or one.first - one.created > margin)
        if now - one.last > margin:
            finished.append(one)
        elif not is_cut:
            growing.append(one)
    if not growing:
        return None
    worst = max(growing, key=lambda one: one.document_bytes + _AHEAD_DAYS * one.bytes_per_day)
    if sum(one.span >= _OF_PERIOD * worst.span for one in finished) >= len(growing):
        return None
    days = worst.span / timedelta(days=1)
    return ItemGrowth(worst.document_bytes, worst.bytes_per_day, worst.items / days, days)
