"""The document has what is expected, which `test_matrix` holds every engine to; TSAUDIT_REBASELINE=1 writes it anew."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.faults import rights
from tests.faults.expectations import ANSWERS, FILES, NETWORK
from tests.faults.matrix import ENGINES, faults_of, table

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
_BEGIN: Final = "<!-- generated: begin -->\n"
_END: Final = "<!-- generated: end -->\n"


@pytest.mark.golden
def test_document_is_that_of_the_expectations() -> None:
    written = DOCUMENT.read_text(encoding="utf-8")
    head, _, rest = written.partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    wanted = f"{head}{_BEGIN}\n{table()}\n{rights.table()}\n{_END}{tail}"
    if os.environ.get("TSAUDIT_REBASELINE"):
        DOCUMENT.write_text(wanted, encoding="utf-8")
    assert wanted == DOCUMENT.read_text(encoding="utf-8"), "run `make golden` and review the diff"


def test_matrix_is_as_large_as_promised() -> None:
    assert len(ENGINES) >= 9
    for engine in ENGINES:
        assert len({fault.name for fault in faults_of(engine)}) >= 25
    for faults in (NETWORK, FILES, ANSWERS):
        assert len({(fault.moment, fault.name) for fault in faults}) == len(faults)
