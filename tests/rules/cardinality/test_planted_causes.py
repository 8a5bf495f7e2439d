"""CAR004 names the cause of a growth, whatever else comes and goes beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rules.cardinality.planted import Planted, findings
from tests.rules.cardinality.planted_causes import CAUSES
from tests.rules.cardinality.planted_causes_noisy import NOISY_CAUSES
from tsaudit.analysis.values import value_sets
from tsaudit.history.store import Store
from tsaudit.model.finding import Finding

pytestmark = pytest.mark.full


@dataclass(frozen=True)
class Named:
    """What the findings of a day name."""

    day: int
    wrong: tuple[str, ...]
    """What is not as expected; empty if the cause is named."""
    finding: Finding | None


def named(planted: Planted, store: Store) -> list[Named]:
    """What was named on the first day with a finding and on the last day."""
    found = findings(planted, store)
    days = [day for day, of_day in found.items() if of_day]
    if not days:
        return [Named(planted.days, ("no finding",), None)]
    return [Named(day, *_judged(planted, found[day])) for day in dict.fromkeys((days[0], max(found)))]


def _judged(planted: Planted, found: tuple[Finding, ...]) -> tuple[tuple[str, ...], Finding | None]:
    finding = next((f for f in found if f.subject.measurement == planted.subject), None)
    if finding is None:
        return (f"findings are about {[f.subject.key for f in found]}",), None
    wrong = (
        []
        if finding.main_contributor == planted.main_contributor
        else [f"names {finding.main_contributor}, not {planted.main_contributor}"]
    )
    wrong += [f"does not say {part!r}" for part in planted.says if part not in finding.message]
    wrong += [f"says {word!r}" for word in planted.never if re.search(rf"\b{word}\b", finding.message)]
    main_contributor = {f.subject.measurement: f.main_contributor for f in found}
    wrong += [
        f"names {main_contributor.get(m)} in {m}, not {tag}"
        for m, tag in planted.also.items()
        if main_contributor.get(m) != tag
    ]
    return tuple(wrong), finding


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as opened:
        yield opened


ALL = CAUSES | NOISY_CAUSES


@pytest.mark.parametrize("name", ALL)
def test_the_planted_cause_is_named(name: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "many_values":
        monkeypatch.setattr(value_sets, "MAX_EXACT", 1_500)
        monkeypatch.setattr(value_sets, "SKETCH_SIZE", 400)
    assert len(ALL) == len(CAUSES) + len(NOISY_CAUSES)
    for one in named(ALL[name], store):
        message = one.finding.message if one.finding else ""
        assert not one.wrong, f"day {one.day}: {'; '.join(one.wrong)}; {message}"
