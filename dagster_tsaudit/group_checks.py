"""The checks of an asset for a group of targets: how many of them have problems."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from dagster_tsaudit.audited import AuditedTarget
from dagster_tsaudit.checks import CHECK_NAMES, COVERAGE, Metadata, check_results, numbers, result, text
from tsaudit.model.finding import Severity, Verdict, ordered, worst_first
from tsaudit.text import many
from tsaudit.text.markdown import escape, table

if TYPE_CHECKING:
    from tsaudit.run import AuditRun


def group_check_results(key: dg.AssetKey, found: Sequence[AuditedTarget]) -> Iterator[dg.AssetCheckResult]:
    """One result per family that applies to at least one target, and one for what was not measured.

    Each has the summary of the worst target.
    """
    for name in CHECK_NAMES:
        verdicts = {one.run.target: verdict for one in found if (verdict := _verdict(one.run, name)) is not None}
        if not verdicts:
            continue
        bad = sorted(
            (one for one in found if verdicts.get(one.run.target, Verdict.OK) is not Verdict.OK),
            key=lambda one: (-verdicts[one.run.target].rank, _worst(one, name), one.run.target),
        )
        rows = [(one.run.target, verdicts[one.run.target]) for one in bad]
        metadata: Metadata = {
            **numbers(value=len(bad), targets=len(verdicts)),
            "value_of": text("targets that are not ok"),
            **({"not_ok": dg.MetadataValue.md(table(("target", "verdict"), rows))} if rows else {}),
        }
        yield result(key, name, Verdict.worst(verdicts.values()), metadata, _describe(key, name, bad, len(verdicts)))


def _describe(key: dg.AssetKey, name: str, bad: Sequence[AuditedTarget], count: int) -> str:
    """How many targets are not OK, followed by the description of the worst target's check."""
    if not bad:
        return f"{many(count, 'target')} evaluated, all of them ok"
    worst = bad[0]
    (said,) = [r.description for r in check_results(key, worst) if r.check_name == name]
    return f"{len(bad)} of {many(count, 'target')} not ok. The worst is {escape(worst.run.target)}:\n\n{said}"


def _worst(found: AuditedTarget, name: str) -> tuple[object, ...]:
    """Sort key of a target: its worst finding in the check's family."""
    unmuted = found.run.unmuted
    results = [r for r in unmuted.results if r.family == name] if unmuted else []
    pairs = [(r, f) for r, f in ordered(results) if f.severity is not Severity.NOTE]
    return (0, worst_first(pairs[0][0].code, pairs[0][1])) if pairs else (1,)


def _verdict(run: "AuditRun", name: str) -> Verdict | None:
    """The verdict of one check for one target; None if no rule of the family applies."""
    unmuted = run.unmuted
    if unmuted is None or run.profile is None:
        return Verdict.UNKNOWN
    if name == COVERAGE:
        return Verdict.OK if run.is_complete else Verdict.UNKNOWN
    return unmuted.verdict_of(name)
