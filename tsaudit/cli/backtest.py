"""`tsaudit backtest`: on which days of the history a rule would have fired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tsaudit.cli import options, screen
from tsaudit.cli.errors import Exit
from tsaudit.text import in_full, many, number

if TYPE_CHECKING:
    from tsaudit.backtest import EvaluatedDay
    from tsaudit.config.settings import Settings
    from tsaudit.history.store import Store
    from tsaudit.rule import Rule


@click.command()
@click.argument("rule", metavar="RULE")
@options.targets_argument
@options.config_option
@options.format_option("text", "json")
@click.option(
    "--days", type=click.IntRange(1), default=90, show_default=True, help="Days to go back from the newest audit."
)
def backtest(rule: str, targets: tuple[str, ...], config: str | None, form: str, days: int) -> int:
    """Show on which audited days a rule would have fired.

    Runs the rule, given by its code or name, on the history with the limits that tsaudit.yaml sets now. Change a limit,
    and see which findings you would have had. Nothing is measured, saved, or sent.

    Exits with 1 if the rule would have fired with a warning or critical, and with 3 if not a single day could be
    evaluated.
    """
    settings = options.load_settings(config, "history")
    chosen = _rule(rule)
    with options.open_store(settings) as store:
        evaluated = _evaluated(chosen, settings, store, targets, days)
    found = [_as_dict(one) for one in evaluated]
    if form == "json":
        screen.as_json(found)
    else:
        _print(chosen, found)
    return _exit_code(evaluated)


def _rule(word: str) -> Rule:
    from tsaudit.rules import all_rules, rule_named

    if (found := rule_named(word)) is None:
        from tsaudit.text import near_rule

        hint = near_rule(word, {rule.code: rule.name for rule in all_rules()})
        raise click.BadParameter(f"no rule is called `{word}`{hint}", param_hint="RULE")
    return found


def _evaluated(rule: Rule, settings: Settings, store: Store, names: Sequence[str], days: int) -> list[EvaluatedDay]:
    """The evaluated days of all targets, one target after the other. Raises a usage error for a named target without
    audits.
    """
    from tsaudit.backtest import backtest as evaluated_days
    from tsaudit.policy import harm_policy, limit_policy

    found: list[EvaluatedDay] = []
    chosen = options.chosen(settings, names)
    with screen.progress(total=len(chosen)) as watched:
        for target in chosen:
            of_target = []
            limits, harm = limit_policy(settings, target), harm_policy(settings, target)
            for one in evaluated_days(rule, store, target.name, limits, days, harm):
                of_target.append(one)
                watched.say(target.name, f"evaluated {one.day}")
            watched.end(target.name)
            if names and not of_target:
                raise click.BadParameter(f"`{target.name}` was never audited", param_hint="TARGET")
            found += of_target
    return found


def _as_dict(evaluated: EvaluatedDay) -> dict[str, Any]:
    result = evaluated.result
    return {
        "target": evaluated.target,
        "day": evaluated.day.isoformat(),
        "outcome": str(result.outcome) if result else None,
        "reason": evaluated.reason,
        "limits": [
            {"name": limit.name, "value": limit.value, "unit": limit.unit, "origin": limit.origin}
            for limit in (result.limits if result else ())
        ],
        "findings": [
            {"severity": str(f.severity), "subject": str(f.subject), "message": f.message}
            for f in (result.findings if result else ())
        ],
    }


def _print(rule: Rule, found: list[dict[str, Any]]) -> None:
    if not found:
        screen.line("there are no audits yet; run `tsaudit audit`")
        return
    for target in dict.fromkeys(one["target"] for one in found):
        _print_target(rule, target, [one for one in found if one["target"] == target])


def _print_target(rule: Rule, target: str, days: list[dict[str, Any]]) -> None:
    fired = sum(bool(one["findings"]) for one in days)
    unknown = sum(one["outcome"] == "open" for one in days)
    not_known = f", unknown on {number(unknown)}" if unknown else ""
    screen.line(f"{target}  {rule.code} {rule.name}: fires on {fired} of {many(len(days), 'audited day')}{not_known}")
    # Limits may depend on the engine, and a target can change its engine; the limits of the newest day are today's.
    for limit in next((one["limits"] for one in reversed(days) if one["limits"]), ()):
        screen.line(f"  limit {limit['name']} = {in_full(limit['value'])} {limit['unit']} ({limit['origin']})")
    for one in days:
        for finding in one["findings"]:
            click.echo(f"  {one['day']}  {screen.word(finding['severity'], 8)}  ", nl=False)
            screen.line(finding["subject"])
            screen.paragraph(finding["message"], "    ")
        if one["reason"]:
            what = "not evaluated" if one["outcome"] in (None, "error", "notApplicable") else "partly evaluated"
            screen.line(f"  {one['day']}  {what}: {one['reason']}")


def _exit_code(evaluated: Sequence[EvaluatedDay]) -> int:
    verdicts = {one.result.verdict if one.result else "unknown" for one in evaluated}
    if verdicts & {"warning", "critical"}:
        return Exit.FINDINGS
    return Exit.NOT_AUDITED if verdicts == {"unknown"} else Exit.OK
