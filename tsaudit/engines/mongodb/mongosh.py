"""JavaScript for mongosh that several rules propose. It is shown to people, never run; every name in it is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tsaudit.model.profile import Profile


def is_one_of(profile: Profile, database: str, names: Sequence[str]) -> str:
    """A condition that `name` is one of these collections, oldest first: their form, the first and the last of them.

    Where names do not sort as their periods do, or not all collections were looked at, so that others may be of that
    form, it is a list of all.
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
    """As JavaScript writes it."""
    return json.dumps(value, ensure_ascii=False)
