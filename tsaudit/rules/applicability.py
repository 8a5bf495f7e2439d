"""Which rules are evaluated on a target, as far as its engine and the configuration show it."""

from __future__ import annotations

from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import GUIDELINES
from tsaudit.harm import worst_of
from tsaudit.model.facts import offered
from tsaudit.policy import RulePolicy
from tsaudit.rule import Rule


def severity_on(rule: Rule, engine: str, switches: RulePolicy) -> tuple[str, str]:
    """(The highest severity of the rule's findings on the engine, empty if it is not evaluated; the reason, empty if
    there is none.)

    The products of an engine may differ further; only an audit finds out which product a server is.
    """
    if reason := why_not(rule, engine):
        return "", reason
    if switches.is_off(rule.code, rule.name):
        return "", "switched off by `rules` in tsaudit.yaml"
    setting = switches.setting(rule.code, rule.name)
    special = [pattern for pattern in switches.measurements if _differs(rule, switches, pattern)]
    reasons = [f"differs for {', '.join(special)}"] if special else []
    if setting in (None, "on"):
        return str(worst_of(rule.costs)), "; ".join(reasons)
    return ("" if setting == "off" else str(setting)), "; ".join(["set by `rules` in tsaudit.yaml", *reasons])


def why_not(rule: Rule, engine: str) -> str:
    """Why the rule does not apply to the engine; empty if it does."""
    if rule.applies_to(engine):
        return ""
    if engine in rule.not_applicable:
        return f"does not apply to {engine}: {rule.not_applicable[engine]}"
    missing = rule.requires - offered(frozenset(query_files(engine)))
    why = [g.not_applicable[engine] for g in GUIDELINES if g.id in rule.guidelines and engine in g.not_applicable]
    if rule.only is not None and not rule.only(ENGINES[engine]):
        about = sorted(name for name in ENGINES if rule.only(ENGINES[name]))
        return f"does not apply to {engine}: it is about {', '.join(about) or 'no engine'}"
    if why and len(why) == len(rule.guidelines):
        return f"does not apply to {engine}: {why[0]}"
    return f"{engine} does not offer {', '.join(sorted(missing))}"


def _differs(rule: Rule, switches: RulePolicy, pattern: str) -> bool:
    only = RulePolicy(target=switches.measurements[pattern])
    return only.setting(rule.code, rule.name) not in (None, switches.setting(rule.code, rule.name))
