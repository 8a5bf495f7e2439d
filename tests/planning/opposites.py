"""Findings of one audit that ask for opposite changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from tsaudit.model.finding import RuleResult


def opposites(results: Iterable[RuleResult]) -> list[tuple[str, str]]:
    """Each two changes that decide the same aspect of a measurement differently, or of which one assumes what the other
    one changes.
    """
    asked = [(result.code, change) for result in results for finding in result.findings for change in finding.changes]
    found = []
    for (code, one), (other_code, other) in itertools.combinations(asked, 2):
        decided = (one.claims(), other.claims()), (one.claims(), other.relies_on()), (one.relies_on(), other.claims())
        if one.at == other.at and any(b.get(key, a[key]) != a[key] for a, b in decided for key in a):
            found.append((f"{code}: {one}", f"{other_code}: {other}"))
    return found
