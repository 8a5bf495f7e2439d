"""Rows that others of the same second overwrote."""

from __future__ import annotations

import numpy as np
import pytest

from tsaudit.analysis.rows.duplicates import lost_ratio

_SECOND = 1_000_000


def _left(per_second: float, *, sources: int = 3, seconds: int = 4_000) -> tuple[list[tuple[int, int]], float]:
    """Source and second of what is left of events at random, and the share of them that is lost."""
    noise = np.random.default_rng(3)
    events = round(per_second * seconds * sources)
    written = zip(noise.integers(0, sources, events).tolist(), noise.integers(0, seconds, events).tolist(), strict=True)
    left = sorted(set(written))
    return left, 1 - len(left) / events


def _ratio(rows: list[tuple[int, int]], unit: int = _SECOND) -> float | None:
    series, times = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return lost_ratio(series, times * unit)


@pytest.mark.parametrize("per_second", [0.05, 0.3, 1.0, 3.5])
def test_share_of_events_that_were_overwritten(per_second: float) -> None:
    left, lost = _left(per_second)
    assert _ratio(left) == pytest.approx(lost, abs=0.02)


def test_bursts_lose_more_than_is_told() -> None:
    noise = np.random.default_rng(4)
    minutes = np.repeat(noise.exponential(1.0, 60), 60)
    written = noise.poisson(minutes)
    left = [(0, second) for second, count in enumerate(written) if count]
    found = _ratio(left)
    assert found is not None
    assert 0.1 < found <= 1 - len(left) / written.sum()


def test_nothing_is_told_of_clocks_and_of_finer_times() -> None:
    left, _ = _left(1.0)
    assert _ratio(left, unit=_SECOND + 1) is None
    assert _ratio([(source, 5 * n) for source in range(3) for n in range(900)]) is None
    assert _ratio(left[:150]) is None
    assert _ratio([(n, 7) for n in range(900)]) is None
