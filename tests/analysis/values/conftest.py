"""What the tests of values share."""

from __future__ import annotations

import pytest

from tsaudit.analysis.values import value_sets


@pytest.fixture
def small_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 40)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 16)
