"""JavaScript for mongosh that several rules suggest. It is displayed, never run; every name in it is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from tsaudit.model.profile import Profile

_PLAIN: Final = re.compile(r"[$A-Za-z_][$\w]*", re.ASCII)


def is_one_of(profile: Profile, database: str, names: Sequence[str]) -> str:
    """A condition that `name` is one of these collections, oldest first: matches their form between the first and the
    last.

    If names do not sort like their periods, or if other collections that were not examined may have this form, it is a
    list of all.
    """
    if len(names) == 1:
        return f"name === {text(names[0])}"
    selection = profile.selection
    listed = profile.all_listed(database) and (selection.include, selection.exclude) == (("*",), ())
    if not listed or len({re.sub(r"\d", "0", name) for name in names}) > 1 or sorted(names) != list(names):
        return f"{text(list(names))}.includes(name)"
    form = re.sub(r"\d", r"\\d", re.sub(r"([\\/.*+?^${}()|\[\]])", r"\\\1", names[0]))
    inside = (m.name for m in profile.measurements if m.database == database)
    between = {n for n in inside if re.fullmatch(form, n) and names[0] <= n <= names[-1]}
    others = sorted(between - set(names))
    besides = f" && !{text(others)}.includes(name)" if others else ""
    return f"/^{form}$/.test(name) && name >= {text(names[0])} && name <= {text(names[-1])}{besides}"


def text(value: str | list[str]) -> str:
    """A JavaScript string literal."""
    return json.dumps(value, ensure_ascii=False)


def script(value: Any) -> str:
    """Documents, lists, texts, numbers and instants as JavaScript writes them."""
    if isinstance(value, datetime):
        return f'ISODate("{value:%Y-%m-%dT%H:%M:%SZ}")'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{k if _PLAIN.fullmatch(k) else text(k)}: {script(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(script, value))}]"
    return json.dumps(value, ensure_ascii=False)


def collection(database: str, name: str) -> str:
    """The collection, wherever the shell is."""
    return f"db.getSiblingDB({text(database)}).getCollection({text(name)})"
