"""`tsaudit show`: one finding in full, or all findings of a target."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import block, options, plan, results
from tsaudit.cli import show as screen
from tsaudit.text import short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.model.finding import AuditResult
    from tsaudit.model.plan import Plan
    from tsaudit.model.profile import Profile
    from tsaudit.report.findings import Item

_SAMPLES: Final = 10
_MATCHES: Final = 3
"""Most findings that are named if several match."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A finding, and the audit that found it."""

    item: Item
    result: AuditResult
    profile: Profile | None


@click.command()
@click.argument("what", metavar="FINGERPRINT|TARGET")
@click.argument("rule", required=False)
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
@options.format_option("text", "json")
@click.option("--queries", is_flag=True, help="Print the statements sent to the database, too; JSON always has them.")
def show(what: str, rule: str | None, config: str | None, day: date | None, form: str, queries: bool) -> None:
    """Print a finding in full, or list all findings of a target.

    Give a finding's fingerprint, any unique prefix of it, or its target and its rule. Prints figures, evidence, the
    incident, all steps of the plan, how the finding was measured, and commands for it. If you give only a target,
    prints what `tsaudit audit --all` prints.
    """
    settings = options.load_settings(config, "history")
    full_values = settings.report.values == "full"
    with options.open_store(settings) as store:
        if what in store.targets():
            result = options.result_of(store, what, day)
            if rule is None:
                _print_target(store, result, form)
                return
            found = _of_rule(store, result, rule)
        elif rule is not None:
            raise click.BadParameter(f"`{what}` was never audited", param_hint="TARGET")
        else:
            found = _of_fingerprint(store, what, day)
    if form == "json":
        screen.as_json([_as_dict(one, full_values=full_values) for one in found])
        return
    for number, one in enumerate(found):
        if number:
            screen.line()
        _print(one, full_values=full_values, queries=queries)


def _print_target(store: Store, result: AuditResult, form: str) -> None:
    from tsaudit.history import incidents

    profile = store.profile(result.target, result.day)
    found = results.of_result(result, profile, incidents.muted(store, result.target, result.day))
    if form == "json":
        screen.as_json(found)
    else:
        block.print_block(found, everything=True)


def _of_rule(store: Store, result: AuditResult, rule: str) -> list[Shown]:
    wanted = rule.lower().replace("_", "-")
    found = [one for one in _findings(store, result) if wanted in (one.item.rule.code.lower(), one.item.rule.name)]
    if not found:
        codes = dict.fromkeys(r.code for r, _ in result.findings())
        known = f"; it has findings of {', '.join(codes)}" if codes else ""
        text = f"`{result.target}` has no finding of `{rule}` on {result.day}{known}"
        raise click.BadParameter(text, param_hint="RULE")
    return found


def _of_fingerprint(store: Store, prefix: str, day: date | None) -> list[Shown]:
    """The findings whose fingerprint starts with the prefix: usually one, but a rule may have several findings about
    one place.
    """
    from tsaudit.model.finding import fingerprint

    matches: dict[str, AuditResult] = {}
    for result in _results(store, prefix, day):
        for rule, finding in result.findings():
            key = fingerprint(result.target, rule.code, finding.subject)
            if prefix and key.startswith(prefix.lower()):
                matches.setdefault(key, result)
    if not matches:
        when = f" on {day}" if day else ""
        text = f"no target and no finding{when} is called `{prefix}`; `tsaudit incidents` lists incidents"
        raise click.BadParameter(text, param_hint="FINGERPRINT")
    if len(matches) > 1:
        some = ", ".join(sorted(matches)[:_MATCHES])
        raise click.BadParameter(
            f"`{prefix}` matches several findings: {some}; add more characters", param_hint="FINGERPRINT"
        )
    ((key, result),) = matches.items()
    return [one for one in _findings(store, result) if one.item.fingerprint == key]


def _results(store: Store, prefix: str, day: date | None) -> Iterator[AuditResult]:
    """The newest results of all targets, or those of the day; then the newest results that still contained an incident
    that is no longer in a target's newest result.
    """
    from tsaudit.history import incidents

    days = dict.fromkeys(store.targets(), day) if day else dict(store.newest_days())
    for target, audited in days.items():
        if (result := store.result(target, audited)) is not None:
            yield result
    for one in incidents.current(store):
        if day is None and one.fingerprint.startswith(prefix.lower()):
            before = [d for d in store.past_days(one.target) if d < (one.resolved or one.day)]
            if before and (result := store.result(one.target, _last_bad(store, one.target, before, one.fingerprint))):
                yield result


def _last_bad(store: Store, target: str, days: list[date], key: str) -> date:
    """The last of the days on which the finding was there; if it was too long ago, the last of all days."""
    from tsaudit.model.finding import fingerprint

    for day in reversed(days[-30:]):
        result = store.result(target, day)
        if result and any(fingerprint(target, r.code, f.subject) == key for r, f in result.findings()):
            return day
    return days[-1]


def _findings(store: Store, result: AuditResult) -> list[Shown]:
    from tsaudit.history import incidents
    from tsaudit.report import findings

    profile = store.profile(result.target, result.day)
    known = incidents.current(store, result.target)
    return [Shown(item, result, profile) for item in findings.items_of(result, profile, known)]


def _plan_of(one: Shown) -> Plan | None:
    from tsaudit.planning import describe

    return describe.of_finding(one.item.finding, one.result.plans)


def _as_dict(one: Shown, *, full_values: bool) -> dict[str, Any]:
    from tsaudit.cli.incidents import as_dict
    from tsaudit.model.jsonfile import to_json
    from tsaudit.report.findings import statements
    from tsaudit.report.untrusted import shown

    item, steps = one.item, _plan_of(one)
    source = item.finding.source
    return results.of_finding(one.result, item.rule, item.finding, item.muted) | {
        "target": one.result.target,
        "day": one.result.day.isoformat(),
        "evidence": [{"label": e.label, "value": e.value} for e in item.finding.evidence],
        "samples": list(shown(item.finding.samples, full=full_values, most=_SAMPLES)),
        "measured": source and {"how": str(source.how), "scope": source.scope, "query": source.query},
        "statements": dict(statements(item, one.profile)),
        "incident": item.incident and as_dict(item.incident),
        "plan": steps and json.loads(to_json(steps)),
    }


def _print(one: Shown, *, full_values: bool, queries: bool) -> None:
    from tsaudit.summary import of_finding

    item, result = one.item, one.result
    finding = item.finding
    summary = of_finding(finding, item.rule.code, result.plans, result.target, result.day)
    key = short_fingerprint(item.fingerprint)
    click.echo(f"{screen.word(finding.severity)}  {item.rule.code} {item.rule.name}  {key}")
    screen.line(f"{result.target}  {finding.subject}  {result.day}")
    for line in block.brief(summary):
        click.echo(line)
    if finding.message.strip().rstrip(".") not in summary.headline:
        screen.paragraph(finding.message, "  ")
    _section("state", _state(one))
    _section("evidence", _evidence(one, full_values=full_values))
    steps = _plan_of(one)
    if steps is not None:
        screen.line("plan")
        plan.print_plan(steps)
    elif finding.fix:
        screen.line("what to do")
        for line in finding.fix.split("\n"):
            screen.paragraph(line, "  ")
    _section("how it was measured", _measured(one))
    if queries:
        _print_statements(one)
    _section("commands", _commands(one, queries=queries))


def _section(title: str, lines: Iterator[str]) -> None:
    for number, line in enumerate(lines):
        if not number:
            screen.line(title)
        screen.paragraph(line, "  ")


def _state(one: Shown) -> Iterator[str]:
    from tsaudit.history.decisions import describe, outgrown

    item = one.item
    yield item.state
    if (incident := item.incident) is None:
        return
    yield f"owner {incident.owner}"
    if item.decision:
        yield describe(item.decision)
    if incident.exceeded:
        yield f"{describe(incident.exceeded)}, which no longer applies: it {outgrown(incident)}"


def _evidence(one: Shown, *, full_values: bool) -> Iterator[str]:
    from tsaudit.report.untrusted import shown

    finding = one.item.finding
    yield from (f"{e.label}: {e.value}" for e in finding.evidence)
    if samples := shown(finding.samples, full=full_values, most=_SAMPLES):
        yield f"values seen{'' if full_values else ', redacted'}: {', '.join(samples)}"


def _measured(one: Shown) -> Iterator[str]:
    from tsaudit.text import instant, quantity
    from tsaudit.text.findings import origin, reason

    finding = one.item.finding
    source, limit = finding.source, finding.limit
    if source is not None:
        scope = f": {source.scope}" if source.scope else ""
        yield f"{source.how}{scope}; measured {instant(source.as_of)} by {source.query}"
    if limit is not None:
        value = quantity(limit.value, limit.unit)
        why = f": {reason(limit)}" if reason(limit) else ""
        yield f"limit {limit.name} = {value}, {origin(limit)}{why}"
    if source is None and limit is None and not finding.facts:
        yield "no separate statement: computed from the figures above"


def _print_statements(one: Shown) -> None:
    from tsaudit.report.findings import statements

    screen.line("queries")
    for fact, text in statements(one.item, one.profile):
        screen.line(f"  {fact}")
        screen.statement(text, "    ")


def _commands(one: Shown, *, queries: bool) -> Iterator[str]:
    from tsaudit.report.findings import statements

    item, target = one.item, one.result.target
    yield from (command.text for command in item.commands)
    if not queries and statements(item, one.profile):
        yield f"tsaudit show {short_fingerprint(item.fingerprint)} --queries"
    yield f"tsaudit explain {item.rule.code}"
    yield f"tsaudit backtest {item.rule.code} {target}"
