"""Recognizes columns of label sets: several tags packed into a map, a JSON object, or a list of pairs.

Labels identify a source; a payload describes an event. In a sample of rows, they differ as follows:

- A label set is flat and small, its values are short strings, and nearly all rows have the same few keys. A payload
  nests, contains measured numbers or long text, or has other keys each time.
- A source has many rows, so whole sets repeat. The payload of an event rarely does: it contains an ID, an amount, or a
  time. A payload that repeats distinguishes kinds of rows, as a column of short strings does, and that is a tag, too.
- A set that is the same in all rows adds no series. If more series are active than rows were read, no set repeats in
  the sample: see `Labels.recurring`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MIN_VALUES: Final = 20
FORM_SHARE: Final = 0.95
"""Minimum share of the values that have the form of a label set."""
OPENING: Final = ("{", "[", '"')
"""The characters with which each text in that form begins."""
_MOST_LABELS: Final = 64
_LONGEST: Final = 128
"""Maximum length of one label's value, in characters."""
_RECURRING_KEYS: Final = 0.9
"""Minimum share of all labels whose keys occur in at least a twentieth of the rows."""
_COMMON: Final = 0.05
_RECURRING_SETS: Final = 0.5
"""Sets count as repeating if there are at most this many distinct sets per row."""
_ROWS_OF_ID: Final = 4
"""A label whose values have fewer rows than this on average is an ID."""
_HSTORE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|NULL)(?:, |$)')
_PAIR: Final = re.compile(r"([A-Za-z_][\w./-]*)[:=](.*)", re.DOTALL)
_LIST: Final = re.compile(r"[\[{](.*)[\]}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Labels:
    """What the sampled values of a column of label sets show."""

    keys: tuple[str, ...]
    """Keys, those in the most rows first."""
    sets: int
    """Number of distinct sets."""
    rows: int
    recurring: bool
    """Whether whole sets repeat. If not, too few rows of each source were read, or these are not labels."""
    recurring_but_ids: bool = False
    """Whether the sets repeat, and still differ, once keys whose values hardly repeat are left out."""
    rare: int = 0
    """Number of further keys, each in few rows."""


def label_sets(values: Iterable[object]) -> Labels | None:
    """The label sets of the column, if its values have that form; otherwise None. `values`: as read, without nulls."""
    rows, sets = 0, Counter[tuple[tuple[str, str], ...]]()
    read: dict[str, dict[str, str] | None] = {}
    for value in values:
        rows += 1
        if isinstance(value, str):
            if value not in read:
                read[value] = labels_of(value)
            found = read[value]
        else:
            found = labels_of(value)
        if found:
            sets[tuple(sorted(found.items()))] += 1
    in_form = sets.total()
    if rows < MIN_VALUES or in_form < FORM_SHARE * rows or len(sets) < 2:
        return None
    keys = Counter[str]()
    for labels, times in sets.items():
        keys.update(dict.fromkeys((key for key, _ in labels), times))
    common = [key for key, times in keys.most_common() if times >= _COMMON * in_form]
    if sum(keys[key] for key in common) < _RECURRING_KEYS * keys.total():
        return None
    recurring = len(sets) <= _RECURRING_SETS * in_form
    return Labels(
        tuple(common), len(sets), in_form, recurring, recurring or _without_ids(sets), len(keys) - len(common)
    )


def _without_ids(sets: Counter[tuple[tuple[str, str], ...]]) -> bool:
    """Whether the sets repeat without their ID labels: an ID among the labels makes every set different.

    If all sets are then the same, nothing shows that they identify sources.
    """
    values: dict[str, Counter[str]] = {}
    for labels, times in sets.items():
        for key, value in labels:
            values.setdefault(key, Counter())[value] += times
    ids = {key for key, counts in values.items() if _ROWS_OF_ID * len(counts) > counts.total()}
    left = {tuple(pair for pair in labels if pair[0] not in ids) for labels in sets}
    return 2 <= len(left) <= _RECURRING_SETS * sets.total()


def labels_of(value: object) -> dict[str, str] | None:
    """The value as labels; None if it has another form or contains none."""
    pairs = _pairs(value)
    if not pairs or len(pairs) > _MOST_LABELS:
        return None
    texts = {key: item for key, item in pairs.items() if isinstance(item, str | bool) and len(str(item)) <= _LONGEST}
    # An integer may be a shard or a status; a number with a fraction was measured.
    numbers = {key: item for key, item in pairs.items() if isinstance(item, int) and not isinstance(item, bool)}
    absent = sum(item is None for item in pairs.values())
    if len(texts) + len(numbers) + absent < len(pairs) or len(texts) <= len(numbers):
        return None
    return {key: str(item).lower() if isinstance(item, bool) else str(item) for key, item in (texts | numbers).items()}


def _pairs(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value if all(isinstance(key, str) for key in value) else None
    if isinstance(value, list | tuple):
        return _of_list(list(value))
    return _of_text(value.strip()) if isinstance(value, str) else None


def _of_list(items: list[Any]) -> Mapping[str, Any] | None:
    """Labels from a list of (key, value), as maps are read, of {key, value}, or of strings such as `env:prod`."""
    if all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in items):
        return dict(items)
    if all(isinstance(item, Mapping) and set(item) == {"key", "value"} for item in items):
        return {str(item["key"]): item["value"] for item in items}
    texts = [_PAIR.fullmatch(item) if isinstance(item, str) else None for item in items]
    return {match[1]: match[2] for match in texts if match} if items and all(texts) else None


def _of_text(text: str) -> Mapping[str, Any] | None:
    """Labels from JSON, PostgreSQL's hstore, or a list of strings as printed by PostgreSQL and DuckDB."""
    if text[:1] in ("{", "["):
        try:
            return _pairs(found) if isinstance(found := json.loads(text), dict | list) else None
        except (ValueError, RecursionError):  # not JSON, or nested a thousand levels deep
            match = _LIST.fullmatch(text)
            items = match[1].split(",") if match else []
            return _of_list([item.strip().strip("\"'") for item in items])
    if text.startswith('"') and "".join(m[0] for m in _HSTORE.finditer(text)) == text:
        return {m[1]: m[2] for m in _HSTORE.finditer(text)}
    return None
