"""`tsaudit metrics`, as Prometheus reads it."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import pytest
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

from tests.builders import NOW, a_finding, a_profile, a_result, a_rule_result
from tests.cli.conftest import Tsaudit
from tsaudit.cli.errors import Exit
from tsaudit.config.settings import Incidents
from tsaudit.history import clock
from tsaudit.history.incidents import update
from tsaudit.history.store import Store
from tsaudit.model.figures import Cost, Subject
from tsaudit.model.finding import UNREACHABLE_CODE, AuditResult, Forecast, Limit, Outcome, RuleResult, Severity
from tsaudit.model.profile import Profile
from tsaudit.report import metrics
from tsaudit.report.storage import LocalStorage

LIMIT = Limit("high-series-cardinality.max_series", 1_000, "series", "set in tsaudit.yaml", "target")
COSTS = (Cost("series", 3, 0.5, 40, None), Cost("rows", 2, 0.25, 2, None, 4096))


def soon(days: float, severity: Severity = Severity.WARNING) -> Any:
    """A finding whose limit is reached in so many days."""
    forecast = Forecast(1_000, days, None, None, 0.1, None, "steady", False)
    return a_finding(Subject("main", f"m{days}"), severity, forecast=forecast)


def saved(result: AuditResult, profile: Profile | None = None) -> None:
    with Store.open("sqlite:///.tsaudit/history.db") as store:
        store.save(profile, result, None)
        update(store, result, Incidents(), lambda *_: "team")
        store.took(result.target, 12.5)


def audited(*rules: RuleResult, **changes: Any) -> AuditResult:
    return a_result(*rules, **({"target": "shop", "audited_at": NOW} | changes))


def values(text: str, read: ModuleType = parser) -> dict[str, float]:
    """The samples by name and labels, those of `shop` without the target."""
    found: dict[str, float] = {}
    parse: Callable[[str], Any] = read.text_string_to_metric_families
    for family in parse(text):
        assert (family.type, bool(family.documentation)) == ("gauge", True)
        for sample in family.samples:
            labels = {k: v for k, v in sample.labels.items() if (k, v) != ("target", "shop")}
            found[" ".join([sample.name, *labels.values()]).removeprefix("tsaudit_")] = sample.value
    return found


def test_metrics_when_a_target_was_audited(tsaudit: Tsaudit) -> None:
    rule = a_rule_result(
        soon(9), soon(20), soon(2, Severity.NOTE), soon(5, Severity.CRITICAL), limits=(LIMIT,), outcome=Outcome.FAIL
    )
    lacking = a_rule_result(code="TAG001", outcome=Outcome.ERROR)
    saved(audited(rule, lacking), a_profile(target="shop", costs=COSTS))
    critical = next(i for i in tsaudit("incidents").stdout.splitlines() if i.startswith("critical")).split()[1]
    assert tsaudit("mute", critical, "--for", "1w", "--reason", "later", "--owner", "ada").exit_code == Exit.OK

    text = tsaudit("metrics").stdout

    found = values(text)
    assert found == values(text, openmetrics)
    assert found == {
        "target_info sqlite": 1,
        "target_info plant sqlite": 1,
        "last_audit_timestamp_seconds": NOW.timestamp(),
        **{f"verdict {v}": float(v == "warning") for v in ("ok", "unknown", "warning", "critical")},
        **{f"findings {s} {m}": 0 for s in ("note", "warning", "critical") for m in ("false", "true")},
        "findings note false": 1,
        "findings warning false": 2,
        "findings critical true": 1,
        "rules_unknown": 1,
        "series": 3,
        "series_limit": 1_000,
        "time_left_seconds": 9 * 86_400,
        "audit_duration_seconds": 12.5,
        "audit_statements": 5,
        "audit_statement_seconds": 0.75,
        "audit_rows": 42,
        "audit_scanned_bytes": 4096,
    }
    assert {name.split()[0] for name in found} == {name.removeprefix("tsaudit_") for name in metrics.HELP}


def test_metrics_when_nothing_was_measured_have_no_zeros(tsaudit: Tsaudit) -> None:
    missed = a_rule_result(a_finding(Subject()), code=UNREACHABLE_CODE, outcome=Outcome.ERROR)
    saved(audited(missed))
    assert values(tsaudit("metrics", "shop").stdout) == {
        "target_info sqlite": 1,
        "last_audit_timestamp_seconds": NOW.timestamp(),
        **{f"verdict {v}": float(v == "unknown") for v in ("ok", "unknown", "warning", "critical")},
        "findings warning false": 1,
        "audit_duration_seconds": 12.5,
    }


@pytest.mark.parametrize(
    ("rule", "profile"),
    [
        (a_rule_result(limits=(LIMIT,)), {"databases": (), "measurements": ()}),
        (a_rule_result(limits=(LIMIT, replace(LIMIT, name="high-series-cardinality.count_fields", value=1))), {}),
        (a_rule_result(limits=(LIMIT,), outcome=Outcome.NOT_APPLICABLE), {}),
    ],
    ids=["not counted", "counts fields, too", "does not apply"],
)
def test_series_limit_when_nothing_is_compared_with_it_is_absent(rule: RuleResult, profile: dict[str, Any]) -> None:
    made = replace(a_profile(target="shop"), **profile)
    if profile:
        made = replace(made, gaps=(), databases=tuple(replace(d, series=None) for d in a_profile().databases))
        made = replace(made, measurements=tuple(replace(m, series=None) for m in a_profile().measurements))
    audit = metrics.LastAudit(audited(rule), made, (), None)
    found = {sample.metric for sample in metrics.samples("shop", "sqlite", audit)}
    assert "tsaudit_series_limit" not in found
    assert ("tsaudit_series" in found) == (not profile)
    assert "tsaudit_audit_duration_seconds" not in found
    # The profile does not say what it cost.
    assert not any(
        name.startswith(("tsaudit_audit_statement", "tsaudit_audit_rows", "tsaudit_audit_scanned")) for name in found
    )


def test_metrics_when_a_day_is_in_the_future_are_those_before(tsaudit: Tsaudit) -> None:
    saved(audited())
    saved(audited(day=clock.today() + timedelta(days=9)))
    assert values(tsaudit("metrics").stdout)["last_audit_timestamp_seconds"] == NOW.timestamp()


def test_file_when_written_is_replaced_and_readable(tsaudit: Tsaudit, folder: Path) -> None:
    file = folder / "node_exporter" / "tsaudit.prom"
    file.parent.mkdir()
    before = os.umask(0o077)
    try:
        assert tsaudit("metrics", "-o", str(file)).exit_code == Exit.OK
    finally:
        os.umask(before)
    first = file.stat()
    assert stat.S_IMODE(first.st_mode) == 0o644
    saved(audited())
    assert (tsaudit("metrics", "--output", str(file)).stdout, file.read_text()) == ("", tsaudit("metrics").stdout)
    assert file.stat().st_ino != first.st_ino
    assert [f.name for f in file.parent.iterdir()] == ["tsaudit.prom"]


def test_folder_that_is_misspelled_is_not_created(tsaudit: Tsaudit, folder: Path) -> None:
    done = tsaudit("metrics", "-o", "textfiles/tsaudit.prom")
    assert done.exit_code == Exit.USAGE
    assert f"there is no folder {folder / 'textfiles'}" in done.stderr
    assert not (folder / "textfiles").exists()


def test_file_when_it_cannot_be_written_is_one_line(tsaudit: Tsaudit, folder: Path) -> None:
    (folder / "occupied").write_text("")
    done = tsaudit("metrics", "-o", "occupied/tsaudit.prom")
    assert (done.exit_code, done.stderr.count("\n")) == (Exit.USAGE, 1)
    assert "occupied/tsaudit.prom" in done.stderr
    with pytest.MonkeyPatch.context() as patch:
        full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
        patch.setattr(LocalStorage, "write", full)
        done = tsaudit("metrics", "-o", "tsaudit.prom")
    assert (done.exit_code, "No space left on device" in done.stderr) == (Exit.INTERNAL, True)
    # As /dev/stdout is, when it is a pipe.
    os.mkfifo(folder / "pipe")
    done = tsaudit("metrics", "-o", "pipe")
    assert (done.exit_code, "leave it out for stdout" in done.stderr) == (Exit.USAGE, True)
    assert (folder / "pipe").is_fifo()
    assert tsaudit("metrics", "nobody").exit_code == Exit.USAGE


def test_labels_when_hostile_are_escaped() -> None:
    name = 'a"} 1\n\\evil{b="'
    text = metrics.text(metrics.samples("shop", name, None))
    assert values(text) == values(text, openmetrics) == {f"target_info {name}": 1}
