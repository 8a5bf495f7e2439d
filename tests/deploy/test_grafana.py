"""The dashboard in deploy/grafana, and docs/monitoring.md: both name what `tsaudit metrics` writes."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import promql_parser
import pytest
import yaml

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tsaudit.model.figures import Cost
from tsaudit.model.finding import Forecast, Limit
from tsaudit.report import metrics

ROOT: Final = Path(__file__).parents[2]
FILE: Final = ROOT / "deploy" / "grafana" / "tsaudit.json"
PAGE: Final = ROOT / "docs" / "monitoring.md"
DASHBOARD: Final[dict[str, Any]] = json.loads(FILE.read_text())
PANELS: Final[list[dict[str, Any]]] = DASHBOARD["panels"]
QUERIES: Final = [
    pytest.param(target["expr"], target["legendFormat"], id=f"{panel['title']} {target['refId']}")
    for panel in PANELS
    for target in panel["targets"]
]


@pytest.fixture(scope="module")
def written() -> dict[str, dict[str, set[str]]]:
    """Each metric that can be written to its labels and their values."""
    limit = Limit("high-series-cardinality.max_series", 1_000, "series", "", "target")
    finding = a_finding(forecast=Forecast(1_000, 9.0, None, None, 0.1, None, "steady", False))
    profile = a_profile(costs=(Cost("series", 3, 0.5, 40, None, 4096),))
    audit = metrics.LastAudit(a_result(a_rule_result(finding, limits=(limit,))), profile, (), 1.0)
    found: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for sample in metrics.samples("demo", "duckdb", audit):
        for name, value in sample.labels.items():
            found[sample.metric][name].add(value)
    assert found.keys() == metrics.HELP.keys()
    return found


def selectors(node: Any) -> Iterator[promql_parser.VectorSelector]:
    if isinstance(node, promql_parser.VectorSelector):
        yield node
    for part in (getattr(node, name, None) for name in ("lhs", "rhs", "expr", "args")):
        for child in part if isinstance(part, list) else [] if part is None else [part]:
            yield from selectors(child)


@pytest.mark.parametrize(("query", "legend"), QUERIES)
def test_query_is_about_what_is_written(query: str, legend: str, written: dict[str, dict[str, set[str]]]) -> None:
    found = list(selectors(promql_parser.parse(query)))
    assert found
    assert {selector.name for selector in found} <= written.keys()
    for selector in found:
        labels = written[selector.name]
        for matcher in selector.matchers.matchers:
            asked = set() if matcher.value.startswith("$") else set(matcher.value.split("|"))
            assert asked <= labels[matcher.name]
    kept = set(re.findall(r"by \((\w+)\)", query))
    assert all(kept <= written[selector.name].keys() for selector in found)
    assert set(re.findall(r"{{(\w+)}}", legend)) <= kept
    assert "$target" in query
    # Without metrics, nothing is known, so there must be no 0.
    assert not re.search(r"\b(vector|absent)\(", query)


def test_dashboard_shows_every_metric() -> None:
    queried = {s.name for p in PANELS for t in p["targets"] for s in selectors(promql_parser.parse(t["expr"]))}
    assert queried == metrics.HELP.keys()


def test_dashboard_is_valid(written: dict[str, dict[str, set[str]]]) -> None:
    assert (DASHBOARD["uid"], DASHBOARD["schemaVersion"] >= 39, DASHBOARD.get("id")) == ("tsaudit", True, None)
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    assert all(
        {"title", "type", "description", "gridPos", "fieldConfig", "options"} <= panel.keys() for panel in PANELS
    )
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variables["target"]["query"]["query"]).groups()  # type: ignore[union-attr]
    assert label in written[metric]
    text = FILE.read_text()
    assert set(re.findall(r"\$\{?(\w+)", text)) == variables.keys()
    sources = [where["datasource"] for panel in PANELS for where in (panel, *panel["targets"])]
    assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)


def test_panels_when_drawn_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in PANELS]
    assert all(p["x"] + p["w"] <= 24 for p in places)
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        above = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or above


def test_fields_when_renamed_are_those_of_the_queries() -> None:
    (table,) = (panel for panel in PANELS if panel["type"] == "table")
    join, organize = (one["options"] for one in table["transformations"])
    assert join["byField"] == "target"
    assert {target["format"] for target in table["targets"]} == {"table"}
    names = organize["renameByName"]
    assert names.keys() == {"target", *(f"Value #{target['refId']}" for target in table["targets"])}
    shown = {override["matcher"]["options"] for override in table["fieldConfig"]["overrides"]}
    assert shown <= set(names.values())


def test_page_has_every_metric_and_label(written: dict[str, dict[str, set[str]]]) -> None:
    rows = [line.split("|")[1:3] for line in PAGE.read_text().splitlines() if line.startswith("| `tsaudit_")]
    labels = {
        name: set(re.findall(r"`(\w+)`", about)) for names, about in rows for name in re.findall(r"`(\w+)`", names)
    }
    known = {
        name: {*of} - {"target"} | {v for k in of if k in ("verdict", "muted") for v in of[k]}
        for name, of in written.items()
    }
    assert labels == known


def test_alerts_of_the_page_are_about_what_is_written(written: dict[str, dict[str, set[str]]]) -> None:
    (block,) = re.findall(r"```yaml\n(groups:.*?)```", PAGE.read_text(), re.DOTALL)
    (group,) = yaml.safe_load(block)["groups"]
    queried = [s.name for rule in group["rules"] for s in selectors(promql_parser.parse(rule["expr"]))]
    assert len(group["rules"]) == 4
    assert set(queried) <= written.keys()
