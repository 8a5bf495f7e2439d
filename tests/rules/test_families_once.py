"""Families of names are computed once per audit, however many findings and rules ask for them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from typing import Final

import pytest

from tests.builders import a_field, a_measurement, a_profile
from tsaudit.analysis.shapes import name_families
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile

_WORDS: Final = ("basket", "coupon", "invoice", "ledger", "parcel", "refund", "search", "voucher")


def _graphite(hosts: int) -> Profile:
    """Dotted names of Graphite, half of them with hosts inside; all have too many parts and need quotes."""
    about = ("cpu", "disk")
    names = [
        f"collectd.prod.shop.web{host:03}.{what}.percent_bytes_used.mean" for host in range(hosts) for what in about
    ]
    chosen = random.Random(7)
    names += [f"stats.timers.{'.'.join(chosen.choices(_WORDS, k=7))}.upper" for _ in range(2 * hosts)]
    return a_profile(*(a_measurement(name, fields=(a_field("value"),)) for name in names), engine="influxdb1")


def _asked(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> tuple[Counter[frozenset[str]], int]:
    """How often each list of names was searched for families during the audit, and the names read in all searches."""
    searched: Counter[frozenset[str]] = Counter()
    read = 0
    find, readings = name_families.name_families, name_families.readings

    def counting(names: Sequence[str]) -> list[name_families.NameFamily]:
        searched[frozenset(names)] += 1
        return find(names)

    def reading(names: Sequence[str]) -> object:
        nonlocal read
        read += len(set(names))
        return readings(names)

    with monkeypatch.context() as patch:
        patch.setattr(name_families, "name_families", counting)
        patch.setattr(name_families, "readings", reading)
        outcomes = {result.code: result.outcome for result in evaluate(profile).results}
    assert [outcomes[code] for code in ("NAM001", "NAM002")] == [Outcome.FAIL] * 2
    assert Outcome.ERROR not in outcomes.values()
    return searched, read


def test_each_list_of_names_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = _graphite(hosts=8)
    searched, _ = _asked(profile, monkeypatch)
    assert searched[frozenset(m.name for m in profile.measurements)] == 1
    assert set(searched.values()) == {1}


def test_names_read_per_name_stay_the_same_when_there_are_more(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = _graphite(hosts=8), _graphite(hosts=32)
    (_, read_few), (_, read_many) = _asked(few, monkeypatch), _asked(many, monkeypatch)
    assert len(many.measurements) == 4 * len(few.measurements)
    assert read_few > 0
    assert read_many <= 4.5 * read_few
