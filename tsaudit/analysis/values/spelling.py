"""Recognizes new values that are old ones in another spelling."""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.values.value_sample import sample
from tsaudit.model.profile import Respelled

_SAMPLED: Final = 1_000
_MOST: Final = 0.8
"""Share of the new values that must be old ones in another spelling."""


def respelled(new: pa.StringArray, old: pa.StringArray) -> Respelled:
    """What distinguishes most of the new values from old ones; empty if these are really new."""
    if not len(new) or not len(old):
        return ""
    some = pa.array(sample(new, _SAMPLED), pa.string())
    if _share(_trimmed(some), _trimmed(old)) >= _MOST:
        return "spaces"
    if _share(_lower(some), _lower(old)) >= _MOST:
        return "letter case"
    return ""


def _share(new: pa.StringArray, old: pa.StringArray) -> float:
    return float(pc.sum(pc.is_in(new, value_set=old)).as_py()) / len(new)


def _trimmed(values: pa.StringArray) -> pa.StringArray:
    return pc.utf8_trim_whitespace(values)


def _lower(values: pa.StringArray) -> pa.StringArray:
    return pc.utf8_lower(_trimmed(values))
