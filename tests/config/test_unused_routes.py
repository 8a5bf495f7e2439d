"""Routes whose patterns of measurements match nothing that is audited."""

from __future__ import annotations

from typing import Any

from tests.builders import a_measurement, a_profile
from tsaudit.config.pitfalls import unused_routes
from tsaudit.config.settings import Owner, Route, Settings, Target
from tsaudit.model.figures import Gap, Reason
from tsaudit.model.profile import Profile

SHOP = Target(name="shop", engine="duckdb", url="duckdb:///shop")
PLANT = Target(name="plant", engine="duckdb", url="duckdb:///plant")


def found(*routes: Route, **profiles: Profile) -> list[str]:
    settings = Settings(targets=(SHOP, PLANT), owners={"default": Owner(), "web": Owner()}, routes=routes)
    return [str(one) for one in unused_routes(settings, profiles)]


def a_route(*measurements: str, **changes: Any) -> Route:
    return Route(**{"owner": "web", "measurements": measurements} | changes)


def seen(*names: str, **changes: Any) -> Profile:
    return a_profile(*(a_measurement(name) for name in names), **changes)


def test_a_pattern_that_matches_on_one_of_its_targets_is_used() -> None:
    assert found(a_route("http_*"), shop=seen("http_get"), plant=seen("cpu")) == []


def test_a_pattern_that_matches_nowhere_is_named_with_what_is_near() -> None:
    assert found(a_route("cpu", "htp_*"), shop=seen("http_get"), plant=seen("cpu")) == [
        "routes[0].measurements: `htp_*` matches none of 2 measurements of 2 targets, did you mean http_get?"
    ]


def test_a_route_for_one_target_needs_only_that() -> None:
    only = a_route("cpu", targets=("shop",))
    assert found(a_route("x"), only, shop=seen("http")) == [
        "routes[1].measurements: `cpu` matches none of 1 measurement of target shop"
    ]


def test_what_was_not_seen_whole_may_be_there() -> None:
    gap = Gap("measurements", Reason.OVER_BUDGET, "1 of 2 not looked at", "main")
    assert found(a_route("cpu", targets=("shop",)), shop=seen("http", gaps=(gap,))) == []
    assert found(a_route("cpu"), shop=seen("http")) == []


def test_patterns_for_everything_and_for_whole_targets_are_used() -> None:
    assert found(a_route("*"), a_route(""), shop=seen("http"), plant=seen("cpu")) == []
