"""Each engine meets each fault, and ends as `expectations` says, in time and within its memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from tests.faults.expectations import Fault, Outcome
from tests.faults.matrix import ENGINES, faults_of, name_of, running
from tests.faults.runner import complaints
from tsaudit.engines.registry import ENGINES as REGISTRY

ONE_OF_EACH_KIND: Final = frozenset(
    {
        *("connect-refused", "list-403", "list-html", "measure-null", "measure-closed", "measure-cut"),
        *("file-missing", "file-garbage", "file-half"),
        *("answer-twice", "answer-negative"),
    }
)
"""No server, no rights, something else that answers, values that are not there or cannot be, a lost connection,
and half an answer; none of them keeps the audit waiting, except for a server of MongoDB to be chosen.
"""
_WAITS: Final = {"mongodb": frozenset({"connect-refused"})}
TRANSPORTS: Final = ("influxdb1", "influxdb3", "postgresql", "greptimedb", "mongodb", "sqlite")
"""InfluxDB 2 and Timestream are reached as InfluxDB 1 is, and DuckDB as SQLite."""


def test_matrix_has_a_row_for_every_engine() -> None:
    """An engine that extends another is reached as that one is."""
    rows = tuple(type(REGISTRY[name]) for name in ENGINES)
    for name, engine in REGISTRY.items():
        assert isinstance(engine, rows), f"add `{name}` to ENGINES in tests/faults/matrix.py, with its server's faults"


def _ends_as_expected(engine: str, faults: Iterable[Fault]) -> None:
    with running(engine) as row:
        healthy = row.healthy
        assert (healthy.outcome, healthy.problems) == (Outcome.COMPLETE, ()), healthy.cause
        found = row.run(faults)
    wrong = {
        name_of(fault): [*complaints(fault, observed), f"{observed.outcome}: {observed.cause}"]
        for fault, observed in found.items()
        if not isinstance(observed, str) and complaints(fault, observed)
    }
    assert wrong == {}


@pytest.mark.waits
@pytest.mark.wall_clock
@pytest.mark.parametrize("engine", ENGINES)
def test_outcome_of_every_fault(engine: str) -> None:
    _ends_as_expected(engine, faults_of(engine))


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_outcome_of_one_fault_of_each_kind(transport: str) -> None:
    chosen = ONE_OF_EACH_KIND - _WAITS.get(transport, frozenset())
    _ends_as_expected(transport, [fault for fault in faults_of(transport) if name_of(fault) in chosen])
