"""Which measurements are examined if there are more than the budget allows, and what is known of the others."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from types import SimpleNamespace

from tests.builders import NOW, a_measurement, a_profile
from tests.rules.cases import run_rule
from tsaudit.collect.catalog import _chosen
from tsaudit.config.settings import Target
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline, figures
from tsaudit.rules.names.awkward_name import awkward_name
from tsaudit.rules.names.data_in_measurement_name import data_in_measurement_name

PRINTERS = [f"printer_{n:04}" for n in range(1, 401)]


def _examined(names: list[str], most: int) -> set[str]:
    url = "influxdb1://localhost/db"
    target = Target(name="t", engine="influxdb1", url=url, budget={"max_measurements": most})
    examined, others = _chosen(SimpleNamespace(target=target), names)
    assert sorted([*examined, *others]) == sorted(names)
    return set(examined)


def test_alike_names_leave_out_none_of_the_others() -> None:
    examined = _examined([*PRINTERS, "zone", "visits", "a_last_one"], 40)
    assert {"zone", "visits", "a_last_one"} <= examined
    assert len(examined) == 40
    # The first and the last ones alike.
    assert 8 <= len(examined & set(PRINTERS[:200])) <= 29


def test_nearly_the_same_ones_are_examined_each_day() -> None:
    before = _examined(PRINTERS[:380], 100)
    after = _examined(PRINTERS, 100)
    assert len(before & after) >= 85
    assert after & set(PRINTERS[380:]), "new ones, too"


def _of_printers(names: list[str], **changes: object) -> Profile:
    examined = [a_measurement(name) for name in names[:2]]
    detail = f"{len(names) - 2} of {len(names)} measurements were skipped; set budget.max_measurements to 400 or more"
    facts = ("measurements", "tag_keys", "field_types", "series_listing")
    gaps = tuple(Gap(fact, Reason.OVER_BUDGET, detail, "main") for fact in facts)
    beyond = {"main": tuple(names[2:])}
    return a_profile(*examined, engine="influxdb1", gaps=gaps, beyond_budget=beyond, **changes)


def test_names_beyond_the_budget_count() -> None:
    profile = _of_printers(PRINTERS)
    result = run_rule(data_in_measurement_name, profile)
    (finding,) = result.findings
    assert (finding.observed, finding.share, result.gaps) == (400, 1.0, ())
    assert result.not_evaluated == "the columns of 398 measurements that budget.max_measurements leaves out"
    counts = [figure.value for figure in figures(profile) if figure.name == "measurements"]
    assert counts == [400, 400]
    assert not profile.all_listed()


def test_names_added_beyond_the_budget_are_growth() -> None:
    earlier = _of_printers(PRINTERS[:360], collected_at=NOW - timedelta(days=2))
    (finding,) = run_rule(
        data_in_measurement_name, _of_printers(PRINTERS), timeline=Timeline(previous=earlier)
    ).findings
    assert finding.impact is not None
    assert finding.impact.per_day == 20


def test_awkward_names_beyond_the_budget_count() -> None:
    words = [f"{a}-{b}" for a in ("north", "south", "upper") for b in ("hall", "roof", "yard", "gate")]
    profile = _of_printers(["cpu", "mem", *words])
    (finding,) = run_rule(awkward_name, profile).findings
    assert finding.observed >= len(words)
    assert finding.subject == Subject("main", "north-gate")


def test_only_rules_that_need_more_than_names_are_unknown() -> None:
    unknown = {r.code for r in evaluate(_of_printers(PRINTERS)).results if r.gaps}
    assert "CAR001" in unknown
    assert unknown & {"NAM001", "NAM002", "RET001"} == set()
    # In SQL, the columns decide whether names are those of one table.
    sql = dataclasses.replace(_of_printers(PRINTERS), engine="sqlite")
    assert "NAM002" in {r.code for r in evaluate(sql).results if r.gaps}
