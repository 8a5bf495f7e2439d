"""The rules' texts without the rules: what `tsaudit rules`, `explain`, and `guidelines` print, and reports link to.

Importing the rules of all engines takes three times as long as the rest of these commands. So they read
`rule_texts.json`, which is generated from the rules as their pages in docs/ are.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from tsaudit import plugins

if TYPE_CHECKING:
    from tsaudit.rule import Rule

FILE: Final = os.path.join(os.path.dirname(__file__), "rule_texts.json")  # noqa: PTH118, PTH120 -- pathlib loads slowly


@dataclass(frozen=True)
class RuleLimit:
    """One limit of a rule."""

    name: str
    """The limit's name, as in tsaudit.yaml."""
    default: float | None
    """None: only some engines have a value, or none has."""
    unit: str
    source: str
    engines: Mapping[str, Sequence[Any]]
    """Engine to value and source of the limit there; None if only the server knows the value."""


@dataclass(frozen=True)
class RuleText:
    """The texts of one rule, or of a finding without a rule: that has only texts."""

    code: str
    name: str
    title: str
    family: str = ""
    severity: str = ""
    """The highest severity of its findings."""
    guidelines: tuple[str, ...] = ()
    engines: frozenset[str] = frozenset()
    requires: tuple[str, ...] = ()
    limits: tuple[RuleLimit, ...] = ()
    package: str = ""
    """The distribution that provides the rule, and its version; empty for tsaudit itself."""
    summary: str = ""
    """One paragraph of Markdown."""
    doc: str = ""
    """All of it in Markdown."""

    def as_dict(self) -> dict[str, Any]:
        """The texts as plain lists and dictionaries."""
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(self).items()}
        return plain | {"engines": sorted(self.engines), "limits": [asdict(limit) for limit in self.limits]}


@functools.cache
def rule_texts() -> tuple[RuleText, ...]:
    """The texts of all rules, by code."""
    if plugins.installed(plugins.RULES) or plugins.installed(plugins.ENGINES):
        from tsaudit.rules import all_rules

        return texts_of(all_rules())
    with open(FILE, encoding="utf-8") as file:  # noqa: PTH123 -- pathlib loads slowly
        return tuple(map(_from_json, json.load(file)))


def texts_of(rules: Iterable[Rule]) -> tuple[RuleText, ...]:
    """The texts of the rules, by code."""
    return tuple(sorted(map(_of_rule, rules), key=lambda text: text.code))


def _of_rule(rule: Rule) -> RuleText:
    from tsaudit.harm import worst_of

    return RuleText(
        code=rule.code,
        name=rule.name,
        title=rule.title,
        family=str(rule.family),
        severity=str(worst_of(rule.costs)),
        guidelines=rule.guidelines,
        engines=rule.engines,
        requires=tuple(sorted(rule.requires)),
        limits=tuple(
            RuleLimit(
                f"{rule.name}.{t.name}", t.default, t.unit, t.source, {e: list(v) for e, v in rule.by_engine(t).items()}
            )
            for t in rule.thresholds
        ),
        package=rule.package,
        summary=rule.summary,
        doc=rule.doc,
    )


def _from_json(entry: dict[str, Any]) -> RuleText:
    kept = {"guidelines": tuple(entry["guidelines"]), "engines": frozenset(entry["engines"])}
    limits = tuple(RuleLimit(**limit) for limit in entry["limits"])
    return RuleText(**entry | kept | {"requires": tuple(entry["requires"]), "limits": limits})
