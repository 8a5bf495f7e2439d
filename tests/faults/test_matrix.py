"""Each engine meets each fault, and ends as `expectations` says, in time and within its memory."""

from __future__ import annotations

import pytest

from tests.faults.expectations import Outcome
from tests.faults.matrix import ENGINES, faults_of, name_of, running
from tests.faults.runner import complaints

pytestmark = [pytest.mark.wall_clock, pytest.mark.waits]


@pytest.mark.parametrize("engine", ENGINES)
def test_outcome_of_every_fault(engine: str) -> None:
    with running(engine) as row:
        healthy = row.healthy
        assert (healthy.outcome, healthy.problems) == (Outcome.COMPLETE, ()), healthy.cause
        found = row.run(faults_of(engine))
    wrong = {
        name_of(fault): [*complaints(fault, observed), f"{observed.outcome}: {observed.cause}"]
        for fault, observed in found.items()
        if not isinstance(observed, str) and complaints(fault, observed)
    }
    assert wrong == {}
