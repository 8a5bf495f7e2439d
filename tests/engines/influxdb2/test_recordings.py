"""What was not recorded."""

from __future__ import annotations

import pytest

from tests.engines.influxdb2.conversations import _scenes


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_without_a_recording_a_test_is_skipped_and_in_ci_it_fails(
    ci: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    name = "tests/rules/test_on_engines.py::test_finding_when_broken"
    with pytest.raises(outcome, match=r"^nothing was recorded for .*; record again: make record-influxdb2"):
        _scenes(name)
