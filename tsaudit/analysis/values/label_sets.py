"""Whether the values of one column are label sets: several tags packed into a map, a JSON object or a list of pairs.

Labels name a source, a payload tells what happened. What sets them apart in a sample of rows:

- A label set is flat and small, its values are short texts, and a few keys come again in nearly all rows. A payload
  nests, holds measured numbers or long texts, or has other keys each time.
- A source has many rows, so whole sets come again. The payload of an event hardly ever does: it holds an id, an amount
  or a time. One that does come again tells kinds of rows apart, as a column of short texts does, and that is a tag too.
- One set for all rows adds no series.

Where more series are alive than rows were read, no set comes again in the sample: see `Labels.recurring`.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MIN_VALUES: Final = 20
_FORM_SHARE: Final = 0.95
"""Of the values, those that have to have the form of a label set."""
_MOST_LABELS: Final = 64
_LONGEST: Final = 128
"""Characters of one label's value."""
_RECURRING_KEYS: Final = 0.9
"""Of all labels, those under keys that come in at least a twentieth of the rows."""
_COMMON: Final = 0.05
_RECURRING_SETS: Final = 0.5
"""Up to this many different sets per row, sets come again."""
_HSTORE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"=>(?:"((?:[^"\\]|\\.)*)"|NULL)(?:, |$)')
_PAIR: Final = re.compile(r"([A-Za-z_][\w./-]*)[:=](.*)", re.DOTALL)
_LIST: Final = re.compile(r"[\[{](.*)[\]}]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Labels:
    """What the sampled values of a column of label sets show."""

    keys: tuple[str, ...]
    """Those in most rows first."""
    sets: int
    """Different ones."""
    rows: int
    recurring: bool
    """Whether whole sets come again. If not, too few rows of each source were read, or these are no labels."""


def label_sets(values: Iterable[object]) -> Labels | None:
    """What the column holds if it has the form of label sets, else None. `values`: as read, nulls left out."""
    rows, sets = 0, Counter[tuple[tuple[str, str], ...]]()
    for value in values:
        rows += 1
        found = _labels(value)
        if found:
            sets[tuple(sorted(found.items()))] += 1
    in_form = sets.total()
    if rows < MIN_VALUES or in_form < _FORM_SHARE * rows or len(sets) < 2:
        return None
    keys = Counter[str]()
    for labels, times in sets.items():
        keys.update(dict.fromkeys((key for key, _ in labels), times))
    common = [key for key, times in keys.most_common() if times >= _COMMON * in_form]
    if sum(keys[key] for key in common) < _RECURRING_KEYS * keys.total():
        return None
    return Labels(tuple(common), len(sets), in_form, len(sets) <= _RECURRING_SETS * in_form)


def _labels(value: object) -> dict[str, str] | None:
    """The value as labels; None where it has another form, or holds none."""
    pairs = _pairs(value)
    if not pairs or len(pairs) > _MOST_LABELS:
        return None
    texts = {key: item for key, item in pairs.items() if isinstance(item, str | bool) and len(str(item)) <= _LONGEST}
    # A number may name a shard or a status; with a fraction it was measured.
    numbers = {key: item for key, item in pairs.items() if isinstance(item, int) and not isinstance(item, bool)}
    absent = sum(item is None for item in pairs.values())
    if len(texts) + len(numbers) + absent < len(pairs) or len(texts) <= len(numbers):
        return None
    return {key: str(item) for key, item in (texts | numbers).items()}


def _pairs(value: object) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value if all(isinstance(key, str) for key in value) else None
    if isinstance(value, list | tuple):
        return _of_list(list(value))
    return _of_text(value.strip()) if isinstance(value, str) else None


def _of_list(items: list[Any]) -> Mapping[str, Any] | None:
    """A list of (key, value), as maps are read, of {key, value}, or of texts such as `env:prod`."""
    if all(isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str) for item in items):
        return dict(items)
    if all(isinstance(item, Mapping) and set(item) == {"key", "value"} for item in items):
        return {str(item["key"]): item["value"] for item in items}
    texts = [_PAIR.fullmatch(item) if isinstance(item, str) else None for item in items]
    return {match[1]: match[2] for match in texts if match} if items and all(texts) else None


def _of_text(text: str) -> Mapping[str, Any] | None:
    """JSON, PostgreSQL's hstore, or a list of texts as PostgreSQL and DuckDB print it."""
    if text[:1] in ("{", "["):
        try:
            return _pairs(found) if isinstance(found := json.loads(text), dict | list) else None
        except (ValueError, RecursionError):  # no JSON, or nested a thousand times
            match = _LIST.fullmatch(text)
            items = match[1].split(",") if match else []
            return _of_list([item.strip().strip("\"'") for item in items])
    if text.startswith('"') and "".join(m[0] for m in _HSTORE.finditer(text)) == text:
        return {m[1]: m[2] for m in _HSTORE.finditer(text)}
    return None
