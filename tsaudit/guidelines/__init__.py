"""The schema guidelines, which of them the rules check, and the documents generated from that."""

from tsaudit.guidelines.catalog import GUIDELINES, matters
from tsaudit.guidelines.coverage import as_json, markdown, status
from tsaudit.guidelines.guideline import CHAPTERS, CheckingRule, CheckState, Coverage, Guideline, Status

__all__ = [
    "CHAPTERS",
    "GUIDELINES",
    "CheckState",
    "CheckingRule",
    "Coverage",
    "Guideline",
    "Status",
    "as_json",
    "markdown",
    "matters",
    "status",
]
