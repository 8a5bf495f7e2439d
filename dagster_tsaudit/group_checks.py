"""The checks of an asset for a group of targets: how many of them have problems."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from dagster_tsaudit.checks import CHECK_NAMES, COVERAGE, numbers
from dagster_tsaudit.words import table
from tsaudit.model.finding import Verdict

if TYPE_CHECKING:
    from tsaudit.run import AuditRun


def group_check_results(key: dg.AssetKey, runs: Sequence["AuditRun"]) -> Iterator[dg.AssetCheckResult]:
    """One result per family that applies to at least one target, and one for what was not measured."""
    for name in CHECK_NAMES:
        verdicts = {run.target: verdict for run in runs if (verdict := _verdict(run, name)) is not None}
        if not verdicts:
            continue
        worst = Verdict.worst(verdicts.values())
        bad = sorted((v.rank, t) for t, v in verdicts.items() if v is not Verdict.OK)
        rows = [(target, verdicts[target]) for _, target in reversed(bad)]
        yield dg.AssetCheckResult(
            asset_key=key,
            check_name=name,
            passed=worst is Verdict.OK,
            severity=dg.AssetCheckSeverity.ERROR if worst is Verdict.CRITICAL else dg.AssetCheckSeverity.WARN,
            metadata={
                "verdict": dg.MetadataValue.text(worst.value),
                **numbers(value=len(bad), threshold=0, targets=len(verdicts)),
                "value_of": dg.MetadataValue.text("targets that are not ok"),
                **({"not_ok": dg.MetadataValue.md(table(("target", "verdict"), rows))} if rows else {}),
            },
        )


def _verdict(run: "AuditRun", name: str) -> Verdict | None:
    """Of one check for one target; None if no rule of the family applies."""
    if run.result is None or run.profile is None:
        return Verdict.UNKNOWN
    if name == COVERAGE:
        return Verdict.OK if run.is_complete else Verdict.UNKNOWN
    verdicts = [v for r in run.result.results if r.family == name and (v := r.verdict) is not None]
    return Verdict.worst(verdicts) if verdicts else None
