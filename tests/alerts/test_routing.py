from __future__ import annotations

from typing import Any

import pytest

from tests.alerts.builders import settings
from tests.builders import a_finding, a_rule_result
from tsaudit.alerts import owner_of
from tsaudit.alerts.owners import channel_of
from tsaudit.model.figures import Subject

OWNERS = {name: {"channel": f"#{name}"} for name in ("default", "web", "dba", "ops", "names")}
ROUTES = [
    {"owner": "names", "rules": ["NAM*", "mixed-*"]},
    {"owner": "web", "measurements": ["http_*"]},
    {"owner": "dba", "targets": ["demo"], "rules": ["CAR001"]},
    {"owner": "ops", "rules": ["CAR*"]},
]


def owner(
    measurement: str, *, code: str = "CAR001", name: str = "high-series", target: dict[str, Any] | None = None
) -> str:
    first = {"name": "demo", "engine": "duckdb", "url": "duckdb:///x"} | (target or {})
    chosen = settings(owners=OWNERS, routes=ROUTES, targets=[first])
    finding = a_finding(Subject("main" if measurement else "", measurement))
    return owner_of(chosen, chosen.targets[0])(finding, a_rule_result(finding, code=code, name=name))


@pytest.mark.parametrize(
    ("measurement", "code", "name", "expected"),
    [
        ("http_requests", "CAR001", "high-series", "web"),
        ("http_requests", "NAM003", "keywords", "names"),
        ("http_requests", "FLD001", "mixed-field-types", "names"),
        ("cpu", "CAR001", "high-series", "dba"),
        ("cpu", "CAR002", "other", "ops"),
        ("cpu", "TIM001", "other", "default"),
        ("", "CAR001", "high-series", "dba"),
        ("", "TGT001", "target-not-audited", "default"),
        ("HTTP_requests", "TIM001", "other", "default"),
    ],
)
def test_first_matching_route_wins(measurement: str, code: str, name: str, expected: str) -> None:
    assert owner(measurement, code=code, name=name) == expected


def test_measurement_of_the_target_wins_over_routes() -> None:
    patterns = {"http_a*": {"limits": {}}, "http_*": {"owner": "ops"}, "*": {"owner": "dba"}}
    assert owner("http_admin", target={"measurements": patterns}) == "ops"
    assert owner("cpu", target={"measurements": patterns}) == "dba"


def test_measurement_patterns_do_not_claim_the_whole_target() -> None:
    assert owner("", code="TGT001", name="x", target={"measurements": {"*": {"owner": "dba"}}}) == "default"


def test_owner_of_the_target_is_told_when_no_route_matches() -> None:
    assert owner("cpu", code="TIM001", name="x", target={"owner": "ops"}) == "ops"
    assert owner("http_x", code="TIM001", name="x", target={"owner": "ops"}) == "web"


def test_channel_falls_back_to_that_of_default() -> None:
    owners = {"default": {"channel": "#all"}, "dba": {"mention": "U1"}}
    chosen = settings(owners=owners, slack={"token": "x"})
    assert channel_of(chosen, "dba") == "#all"
    assert channel_of(chosen, "left the company") == "#all"


def test_channel_is_empty_without_a_token() -> None:
    assert channel_of(settings(), "dba") == ""
