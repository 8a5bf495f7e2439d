"""`tsaudit rules`, `explain` and `guidelines`: what is looked for and why. Printed from the rules' own texts."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

from tsaudit.cli import options, show

if TYPE_CHECKING:
    from tsaudit.rule import Rule, Threshold


@click.command()
@options.format_option("text", "json")
@click.option("--plans", is_flag=True, help="List the named sets of limits instead.")
def rules(form: str, plans: bool) -> None:
    """List the rules: code, name, severity, what each finds."""
    if plans:
        _plans(form)
        return
    from tsaudit.rules import all_rules

    found = sorted(all_rules(), key=lambda r: r.code)
    if form == "json":
        show.as_json([_as_dict(r) for r in found])
        return
    show.table([(r.code, r.name, str(r.severity), r.title) for r in found], ("code", "name", "severity", "finds"))
    click.echo("\n`tsaudit explain CODE` prints the page of a rule.")


def _plans(form: str) -> None:
    from tsaudit.plans import PLANS

    rows = [
        (plan.name, name, f"{value:g}", source)
        for plan in PLANS.values()
        for name, (value, source) in plan.limits.items()
    ]
    if form == "json":
        show.as_json([dict(zip(("plan", "limit", "value", "source"), row, strict=True)) for row in rows])
        return
    show.table(rows, ("plan", "limit", "value", "source"))


@click.command()
@click.argument("rule", metavar="RULE")
def explain(rule: str) -> None:
    """Print the page of a rule, given by its code or name."""
    from tsaudit.rules import all_rules

    known = {name: r for r in all_rules() for name in (r.code.lower(), r.name)}
    found = known.get(rule.lower().replace("_", "-"))
    if found is None:
        import difflib

        near = difflib.get_close_matches(rule.lower(), known, n=1, cutoff=0.5)
        hint = f"did you mean {known[near[0]].name}?" if near else "`tsaudit rules` lists them"
        raise click.BadParameter(f"no rule is called `{rule}`; {hint}", param_hint="RULE")
    click.echo(_page(found))


def _page(rule: Rule) -> str:
    engines = ", ".join(sorted(rule.engines))
    parts = [
        click.style(f"{rule.code}  {rule.name}", bold=True),
        rule.title,
        f"severity {rule.severity}; guidelines {', '.join(rule.guidelines)}; engines {engines}",
        f"needs {', '.join(sorted(rule.requires))}",
        "",
        rule.doc,
    ]
    if rule.thresholds:
        parts += ["", "## Limits", *(line for t in rule.thresholds for line in _threshold(rule, t))]
    if rule.fixes:
        parts += ["", "## Fix by engine"]
        for engine, text in sorted(rule.fixes.items()):
            parts += [f"{engine}:", textwrap.indent(text.strip(), "  ")]
    return "\n".join(parts)


def _threshold(rule: Rule, threshold: Threshold) -> list[str]:
    lines = [f"{rule.name}.{threshold.name}: {threshold.default:g} {threshold.unit} ({threshold.source})"]
    lines += [f"  on {e}: {v:g} {threshold.unit} ({why})" for e, (v, why) in sorted(threshold.engines.items())]
    return lines


def _as_dict(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "title": rule.title,
        "family": str(rule.family),
        "severity": str(rule.severity),
        "guidelines": list(rule.guidelines),
        "engines": sorted(rule.engines),
        "requires": sorted(rule.requires),
        "limits": [
            {"name": f"{rule.name}.{t.name}", "default": t.default, "unit": t.unit, "source": t.source}
            for t in rule.thresholds
        ],
        "summary": rule.summary,
    }
