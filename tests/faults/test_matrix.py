"""Each engine meets each fault, and ends as `expectations` says, in time and within its memory."""

from __future__ import annotations

from typing import Final

import pytest

from tests.faults.expectations import Outcome
from tests.faults.matrix import ENGINES, faults_of, name_of, running
from tests.faults.runner import complaints

UNSTEADY: Final = frozenset(
    {
        ("influxdb2", "measure-endless"),
        ("influxdb2", "measure-long-line"),
    }
)
"""Cells that came out differently once on a loaded machine, and have to be understood: InfluxDB 2's recording was
lost sight of before the fault was met. They are run and printed, and do not decide yet."""


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
    for name in [name for name in wrong if (engine, name) in UNSTEADY]:
        print(f"unsteady: {engine} {name}: {'; '.join(wrong.pop(name))}")
    assert wrong == {}
