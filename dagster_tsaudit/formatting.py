"""Findings in Markdown."""

from collections.abc import Iterable

from tsaudit.model.finding import Finding, RuleResult
from tsaudit.model.subject import Subject
from tsaudit.text.findings import sentence as sentence_of
from tsaudit.text.markdown import escape, items


def findings_list(pairs: Iterable[tuple[RuleResult, Finding]]) -> str:
    """The findings with what to do, in the given order.

    A list and not a table: a table of findings, or a name together with its column, is wider than Dagster's space for
    it.
    """
    return items(_line(*pair) for pair in pairs)


def _line(result: RuleResult, finding: Finding) -> str:
    place = Subject(finding.subject.database, finding.subject.measurement)
    where = f"{escape(result.code)} {escape(result.name)}, {escape(place)}"
    return f"**{finding.severity}** {where}: {escape(sentence_of(finding))} {escape(finding.fix)}".rstrip()
