"""Names of kinds of things are shown; anything that could be a secret is not."""

from __future__ import annotations

import pytest

from tsaudit.analysis.shapes.shapes import redact, redact_unless_name


@pytest.mark.parametrize(
    "value", ["flow", "door_open", "Room temperature", "payload.size", "Füllstand", "ValvePosition"]
)
def test_names_of_kinds_are_shown(value: str) -> None:
    assert redact_unless_name(value) == value


@pytest.mark.parametrize(
    "value",
    ["tok-5f3a9c1e", "QWxhZGRpbjpvcGVu", "kWalter", "passworT", "a@b.org", "x" * 30, "one two three four five six"],
)
def test_values_that_could_be_secrets_are_not_shown(value: str) -> None:
    assert redact_unless_name(value) == redact(value) != value
