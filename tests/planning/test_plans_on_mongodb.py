"""The plans for the cases of rules, run on MongoDB: nothing is refused, what was found is gone, and no value is lost.

All plans of a database are run together, decisions included, as somebody does who follows the report to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pymongo
import pytest

from tests.builders import DAY, NOW
from tests.databases import Collection, Dataset, times, write
from tests.planning.on_mongodb import lost, run, values
from tests.rules.cases import Case
from tests.rules.test_on_engines import cases_of
from tests.servers import without_unsupported
from tsaudit.audit import audit
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.model.change import ChangeType, MakeField, MakeTag, Part, Rename, SplitColumn, SplitMeasurement
from tsaudit.model.finding import AuditResult, Finding, Outcome, RuleResult, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject
from tsaudit.planning.plans import plans_of
from tsaudit.rule import LimitPolicy, Rule
from tsaudit.rules import all_rules


def _each() -> Iterator[Any]:
    for rule in all_rules():
        for position, case in enumerate(cases_of(rule)):
            if "mongodb" in (case.engines or rule.engines) and case.history is None and case.before is None:
                yield pytest.param(rule, case, id=f"{rule.code}-{position}")


def _collected(target: Target) -> Profile:
    with open_connection(target) as connection:
        return without_unsupported(collect(target, connection, day=DAY, now=NOW))


def _audited(target: Target, case: Case, rule: Rule) -> tuple[Profile, AuditResult]:
    profile = _collected(target)
    return profile, audit(profile, None, LimitPolicy(target=case.limits), [rule])


def _warned(result: AuditResult) -> set[tuple[str, str]]:
    return {(r.code, str(f.subject)) for r, f in result.findings() if f.severity is not Severity.INFO}


@pytest.mark.parametrize(("rule", "case"), tuple(_each()))
def test_what_is_found_is_gone_and_nothing_lost(rule: Rule, case: Case, mongodb: str) -> None:
    target = write(case.breaks, "mongodb", mongodb)
    database = target.databases[0]
    _, result = _audited(target, case, rule)
    before, known = values(mongodb, database), _warned(result)
    ran = run(result.plans, mongodb, NOW)
    if not [step for plan in result.plans for step in plan.steps if step.phase not in ("look", "check") and step.text]:
        return
    assert ran
    assert not lost(before, values(mongodb, database), result.plans)
    _, after = _audited(target, case, rule)
    assert not _warned(after) - known
    changed = {str(f.subject) for _, f in result.findings() if f.changes and _copies(result, f)}
    assert not changed & {str(f.subject) for _, f in after.findings()}


def _copies(result: AuditResult, finding: Finding) -> bool:
    """Whether its plan copies or sets something; what writers alone can change is still there."""
    at = {change.at for change in finding.changes}
    return any(
        step.text and step.phase == "switch" for plan in result.plans if plan.subject in at for step in plan.steps
    )


def _result(finding: Finding) -> RuleResult:
    (result, *_) = (rule for rule in all_rules() if rule.code == "NAM001")
    return RuleResult(result.code, result.name, result.title, result.family, (), Outcome.FAIL, findings=(finding,))


READINGS = [
    {
        "time": at,
        "meta": {"host": f"h{i % 3}", "unit": f"loc-{i % 2}.model-A{i % 3}", "load": str(i % 7)},
        "reading": str(i) if i % 10 else "n/a",
        "room": f"r{i % 4}",
        "alarm": i,
    }
    for i, at in enumerate(times(60, timedelta(hours=1)))
]
TAGGED = "meta."


@pytest.mark.parametrize("is_series", [True, False])
def test_all_kinds_of_changes_in_one_copy(is_series: bool, mongodb: str) -> None:
    """An expert wants each value that fits in its new place, with its new type, and any other one left where it was."""
    options = {"timeseries": {"timeField": "time", "metaField": "meta"}} if is_series else {}
    flat = [{**{k: v for k, v in d.items() if k != "meta"}, **d["meta"]} for d in READINGS]  # type: ignore[dict-item]
    documents = READINGS if is_series else flat
    target = write(Dataset(collections=[Collection("m x", documents, options=options)]), "mongodb", mongodb)
    database, at = target.databases[0], Subject(target.databases[0], "m x")
    tag = TAGGED if is_series else ""
    parts = (Part("place", "0"), Part("model", "A0"))
    changes = [
        ChangeType(at, "reading", "integer", ("n/a",)),
        SplitColumn(at, f"{tag}unit", ".", parts, "loc-0.model-A0", is_tag=is_series),
        Rename(at, f"{tag}host", "machine"),
        SplitMeasurement(at, "alarms", ("alarm",)),
        *([MakeTag(at, "room"), MakeField(at, "meta.load")] if is_series else []),
    ]
    profile = _collected(target)
    finding = Finding(at, Severity.WARN, "A finding.", changes=tuple(changes))
    found = plans_of(profile, [_result(finding)])
    assert not found[0].set_aside
    scripts = run(found, mongodb, NOW)
    copies = [script for script in scripts if "$merge" in script or "insertMany" in script]
    assert copies
    with pymongo.MongoClient[dict[str, Any]](mongodb) as client:
        names = set(client[database].list_collection_names())
        left = next(client[database][name] for name in ("m x", "m x_new") if name in names)
        rows = sorted(left.find({}, {"_id": 0}), key=lambda d: d["time"])
        alarms = sorted(d["alarm"] for d in client[database]["alarms"].find())
    assert alarms == list(range(60))
    assert len(rows) == 60
    for i, row in enumerate(rows):
        tags = row["meta"] if is_series else row
        assert row["reading"] == (i if i % 10 else "n/a")
        assert (tags["place"], tags["model"], tags["machine"]) == (str(i % 2), f"A{i % 3}", f"h{i % 3}")
        assert not {"unit", "host", "alarm"} & {*tags, *row}
        if is_series:
            assert tags["room"] == f"r{i % 4}"
            assert row["load"] == i % 7  # its values are numbers, so the new field is one
    assert len([name for name in names if name.startswith("m x")]) == 1
