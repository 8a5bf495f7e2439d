"""`tsaudit show` and `plan`: one finding in full, or all findings of a target, and what to do about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import click

from tsaudit.cli import block, options, results, screen
from tsaudit.text import listed, many, short_fingerprint

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.model.figures import Subject
    from tsaudit.model.finding import AuditResult, Finding, RuleResult
    from tsaudit.model.plan import Plan, Step
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
@click.argument("what", metavar="[FINGERPRINT|TARGET]", required=False)
@click.argument("rule", required=False)
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
@options.format_option("text", "json")
@click.option("--queries", is_flag=True, help="Print the statements sent to the database, too; JSON always has them.")
def show(what: str | None, rule: str | None, config: str | None, day: date | None, form: str, queries: bool) -> None:
    """Print a finding in full, or list all findings of a target.

    Give a finding's fingerprint, any unique prefix of it, or its target and its rule. Prints figures, evidence, the
    incident, all steps of the plan, how the finding was measured, and commands for it. If you give only a target, or
    nothing and there is one target, prints what `tsaudit audit --all` prints.
    """
    settings = options.load_settings(config, "history")
    full_values = settings.report.values == "full"
    with options.open_store(settings) as store:
        if what is None or what in store.targets():
            what = options.one_target(settings, what)
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
        _print_finding(one, full_values=full_values, queries=queries)


def _print_target(store: Store, result: AuditResult, form: str) -> None:
    from tsaudit.history import incidents

    profile = store.profile_of(result)
    standing = incidents.of_day(store, result.target, result.day)
    found = results.of_result(result, profile, incidents.muted(standing), incidents.acknowledged(standing))
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

    profile = store.profile_of(result)
    known = incidents.current(store, result.target)
    return [Shown(item, result, profile) for item in findings.items_of(result, profile, known)]


def _plan_of(one: Shown) -> Plan | None:
    from tsaudit.planning import describe

    return describe.of_finding(one.item.finding, one.result.plans)


def _as_dict(one: Shown, *, full_values: bool) -> dict[str, Any]:
    from tsaudit.cli.incidents import as_dict
    from tsaudit.history.incidents import acknowledged
    from tsaudit.model.jsonfile import to_plain
    from tsaudit.report.findings import statements
    from tsaudit.report.untrusted import shown

    item, steps = one.item, _plan_of(one)
    source = item.finding.source
    by = acknowledged([item.incident] if item.incident else []).get(item.fingerprint)
    return results.of_finding(one.result, item.rule, item.finding, item.muted, by) | {
        "target": one.result.target,
        "day": one.result.day.isoformat(),
        "evidence": [{"label": e.label, "value": e.value} for e in item.finding.evidence],
        "samples": list(shown(item.finding.samples, full=full_values, most=_SAMPLES)),
        "measured": source and {"how": str(source.how), "scope": source.words, "query": source.query},
        "statements": dict(statements(item, one.profile, full=full_values)),
        "incident": item.incident and as_dict(item.incident),
        "plan": steps and to_plain(steps),
    }


def _print_finding(one: Shown, *, full_values: bool, queries: bool) -> None:
    from tsaudit.summary import of_finding
    from tsaudit.text.findings import unsaid

    item, result = one.item, one.result
    finding = item.finding
    summary = of_finding(finding, item.rule.code, result.plans, result.target, result.day)
    key = short_fingerprint(item.fingerprint)
    click.echo(f"{screen.word(finding.severity)}  {item.rule.code} {item.rule.name}  {key}")
    screen.line(f"{result.target}  {finding.subject}  {result.day}")
    for line in block.brief(summary):
        click.echo(line)
    if more := unsaid(finding):
        screen.paragraph(more, "  ")
    _section("state", _state(one))
    _section("evidence", _evidence(one, full_values=full_values))
    steps = _plan_of(one)
    if steps is not None:
        screen.line("plan")
        print_plan(steps)
    elif finding.fix:
        screen.line("what to do")
        for line in finding.fix.split("\n"):
            screen.paragraph(line, "  ")
    _section("how it was measured", _measured(one))
    if queries:
        _print_statements(one, full_values=full_values)
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
        # Redaction leaves numbers and names as they are.
        redacted = not set(samples) <= set(finding.samples)
        yield f"values seen{', redacted' if redacted else ''}: {', '.join(samples)}"


def _measured(one: Shown) -> Iterator[str]:
    from tsaudit.model.finding import RULELESS_CODES
    from tsaudit.text import instant, quantity
    from tsaudit.text.findings import origin, reason

    finding = one.item.finding
    source, limit = finding.source, finding.limit
    if source is not None:
        scope = f": {source.words}" if source.words else ""
        yield f"{source.how}{scope}; measured {instant(source.as_of)} by {source.query}"
    if limit is not None:
        value = quantity(limit.value, limit.unit)
        why = f": {reason(limit)}" if reason(limit) else ""
        yield f"limit {limit.name} = {value}, {origin(limit)}{why}"
    if source is None and limit is None and not finding.facts and one.item.rule.code not in RULELESS_CODES:
        yield "no separate statement: computed from the figures above"


def _print_statements(one: Shown, *, full_values: bool) -> None:
    from tsaudit.report.findings import statements

    screen.line("queries")
    for fact, text in statements(one.item, one.profile, full=full_values):
        screen.line(f"  {fact}")
        screen.statement(text, "    ")


def _commands(one: Shown, *, queries: bool) -> Iterator[str]:
    from tsaudit.report.findings import statements

    item, target = one.item, one.result.target
    yield from (command.text for command in item.commands)
    if not queries and statements(item, one.profile, full=True):
        yield f"tsaudit show {short_fingerprint(item.fingerprint)} --queries"
    yield f"tsaudit explain {item.rule.code}"
    yield f"tsaudit backtest {item.rule.code} {target}"


_COLUMNS: Final = 100
_MOST_CODES: Final = 6


@click.command()
@click.argument("target", required=False)
@click.argument("measurement", required=False)
@options.config_option
@options.day_option("The audited day; default: the newest in the history.")
@options.format_option("text", "json")
def plan(target: str | None, measurement: str | None, config: str | None, day: date | None, form: str) -> None:
    """Print what to do about the findings of an audit.

    There is one plan for each measurement that warnings and critical findings ask to change, and one for all that need
    the same changes. It fits on a screen: what is wrong, what the changes achieve, and at most five steps. The plan of
    the worst finding comes first. Findings without a plan come after the plans, with what to do about them, and muted
    findings come last.
    """
    settings = options.load_settings(config, "history")
    with options.open_store(settings) as store:
        result = options.result_of(store, options.one_target(settings, target), day)
        result, muted = _apart(store, result)
    chosen, muted_plans = (
        [p for p in r.plans if measurement is None or measurement in _names(p)] for r in (result, muted)
    )
    others, muted_others = (
        [pair for pair in _without_plan(one) if measurement is None or measurement in _called(pair[1].subject)]
        for one in (result, muted)
    )
    is_found = chosen or others or muted_plans or muted_others
    if measurement is not None and not is_found:
        from tsaudit.text import nearest

        both = (result, muted)
        names = {name for one in both for plan in one.plans for name in _names(plan)}
        names |= {name for one in both for _, finding in _without_plan(one) for name in _called(finding.subject)}
        raise click.BadParameter(
            f"no finding asks to change `{measurement}`{nearest(measurement, names)}", param_hint="MEASUREMENT"
        )
    if form == "json":
        from tsaudit.model.jsonfile import to_plain

        each = [(one, False) for one in chosen] + [(one, True) for one in muted_plans]
        screen.as_json([{**to_plain(one), "muted": is_muted} for one, is_muted in each])
        return
    _print_plans(chosen, others, result)
    if muted_plans or muted_others:
        screen.line("Muted, so no action is requested:")
        screen.line()
        _print_plans(muted_plans, muted_others, muted)
    if not is_found:
        notes = sum(1 for _ in result.findings())
        only = f", only {many(notes, 'note')}; `tsaudit show {result.target}` prints them" if notes else ""
        screen.line(f"Nothing to do: there is no warning or critical finding{only}.")


def _apart(store: Store, result: AuditResult) -> tuple[AuditResult, AuditResult]:
    """Two results: one without muted findings, and one with only those, each with its own plans. Steps for muted
    findings must not be part of the other plans.
    """
    from tsaudit.history import incidents

    muted = incidents.muted(incidents.of_day(store, result.target, result.day))
    profile = store.profile_of(result) if muted else None
    if profile is None:
        return result, replace(result, results=(), plans=())

    from tsaudit.model.finding import fingerprint
    from tsaudit.planning.plans import plans_of

    all_others = {fingerprint(result.target, rule.code, f.subject) for rule, f in result.findings()} - muted.keys()
    parts = (result.without(muted), result.without(all_others))
    asked, silent = (replace(part, plans=plans_of(profile, part.results)) for part in parts)
    return asked, silent


def _print_plans(plans: Sequence[Plan], others: Sequence[tuple[RuleResult, Finding]], result: AuditResult) -> None:
    for one in plans:
        print_plan(one, result)
        screen.line()
    for rule, finding in others:
        screen.paragraph(str(finding.subject), "", most=_COLUMNS)
        _print_summary(rule, finding, result)
        screen.paragraph(finding.fix, "  ", most=_COLUMNS)
        screen.line()


def _without_plan(result: AuditResult) -> list[tuple[RuleResult, Finding]]:
    """Warnings and critical findings that have no plan: what to do about them is one sentence."""
    from tsaudit.model.finding import Severity
    from tsaudit.planning import describe

    return [
        (rule, finding)
        for rule, finding in result.findings()
        if finding.severity is not Severity.NOTE and describe.of_finding(finding, result.plans) is None
    ]


def _names(found: Plan) -> set[str]:
    """The names of measurements that the plan is about, including those that it merges."""
    from tsaudit.model.change import MergeMeasurements

    merges = [one.change for one in found.changes if isinstance(one.change, MergeMeasurements)]
    merged = (replace(one.at, measurement=member.measurement) for one in merges for member in one.members)
    return {name for at in (*found.subjects, *merged) for name in _called(at)}


def _called(at: Subject) -> set[str]:
    """The measurement's name alone and with its database, as all commands show it; empty for a whole database."""
    return {at.measurement, f"{at.database}/{at.measurement}"} if at.measurement else set()


def _print_problem(found: Plan, result: AuditResult) -> None:
    """Print the summary of the worst finding behind the plan: what is wrong, how severe it is, and the time left."""
    from tsaudit.planning import describe

    behind = describe.behind(found, result)
    if not behind:
        return
    _print_summary(*behind[0], result)
    if others := behind[1:]:
        codes = listed(list(dict.fromkeys(rule.code for rule, _ in others)), _MOST_CODES)
        screen.line(f"  and {many(len(others), 'other finding')} ({codes})")


def _print_summary(rule: RuleResult, finding: Finding, result: AuditResult) -> None:
    from tsaudit.summary import of_finding

    summary = of_finding(finding, rule.code, (), result.target, result.day)
    click.echo(f"  {screen.word(finding.severity)}  {rule.code}  {short_fingerprint(summary.fingerprint)}")
    screen.paragraph(summary.headline, "  ", most=_COLUMNS)
    # A plan has to fit on a screen: the headline already contains some of the figures, and the plan what it achieves.
    figures = ((figure.label, figure.text) for figure in summary.figures if figure.text not in summary.headline)
    for line in screen.figures(figures, "    ", _COLUMNS):
        click.echo(line)


def print_plan(found: Plan, why: AuditResult | None = None) -> None:
    """Print all steps of the plan, what they achieve, and what was left out.

    `why`: the audit whose worst finding is printed above the steps; None if that finding has been printed already.
    """
    from tsaudit.planning import describe

    screen.paragraph(f"{found.subject}  {describe.summary(found)}", "", most=_COLUMNS)
    if why is not None:
        _print_problem(found, why)
    if found.also:
        screen.paragraph(f"The same in {describe.others(found)}.", "  ", most=_COLUMNS)
    if said := describe.effect(found.effect):
        screen.paragraph(said, "  ", most=_COLUMNS)
    for number, step in enumerate(found.steps, start=1):
        _print_step(number, step)
    for line in describe.left_out(found):
        screen.paragraph(line, "  ", most=_COLUMNS)


def _print_step(number: int, step: Step) -> None:
    from tsaudit.planning import describe

    words, introduction = describe.introduced(step)
    screen.paragraph(f"{number}. {words}", "  ", "   ", _COLUMNS)
    if labels := describe.labels(step):
        screen.paragraph(f"({'; '.join(labels)})", "     ", most=_COLUMNS)
    if step.loses:
        screen.paragraph(f"Loses {step.loses}.", "     ", most=_COLUMNS)
    if introduction:
        screen.paragraph(introduction, "     ", most=_COLUMNS)
    if step.text:
        screen.statement(step.text, "     ")
