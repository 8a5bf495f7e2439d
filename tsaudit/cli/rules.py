"""`tsaudit rules`, `explain`, and `guidelines`: what is checked, and why. They print the texts of the rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from tsaudit.cli import options, screen
from tsaudit.text import in_full

if TYPE_CHECKING:
    from tsaudit.policy import RulePolicy
    from tsaudit.rule import Rule
    from tsaudit.rules.rule_texts import RuleText

_AT_MOST: Final = "at most: the highest severity of a rule's findings. The severity depends on what a finding costs."


@click.command()
@options.format_option("text", "json")
@click.option("--plans", is_flag=True, help="List the plans (named sets of limits).")
@click.option("--target", metavar="NAME", help="Show the setting of each rule for this target, and why.")
@options.config_option
def rules(form: str, plans: bool, target: str | None, config: str | None) -> None:
    """List the rules: code, name, highest severity, and the problem each finds.

    The severity of a finding depends on what it costs; the list shows the highest severity of each rule.
    """
    if plans:
        _plans(form)
        return
    if target is not None:
        _of_target(form, target, config)
        return
    from tsaudit.rules.rule_texts import rule_texts

    if form == "json":
        screen.as_json([text.as_dict() for text in rule_texts()])
        return
    screen.table(
        [(t.code, t.name, t.severity, t.title) for t in rule_texts()],
        ("code", "name", "at most", "finds"),
    )
    click.echo(f"\n{_AT_MOST}\n`tsaudit explain CODE` prints the page of a rule.")
    _warn()


def _of_target(form: str, name: str, config: str | None) -> None:
    from tsaudit.config import file as config_file
    from tsaudit.policy import rule_policy
    from tsaudit.rules import all_rules

    settings = config_file.load(config_file.find(config), resolve_env=False)
    (target,) = options.chosen(settings, [name])
    switches = rule_policy(settings, target)
    rows = [(rule.code, rule.name, *severity_on(rule, target.engine, switches)) for rule in all_rules()]
    if form == "json":
        screen.as_json([dict(zip(("code", "name", "severity", "why"), row, strict=True)) for row in rows])
        return
    screen.table(rows, ("code", "name", "at most", "why"))
    click.echo(f"\n{_AT_MOST}")
    _warn()


def _warn() -> None:
    """Print on stderr which plug-ins cannot be used."""
    from tsaudit import plugins

    if plugins.installed(plugins.RULES):
        from tsaudit.rules import unusable

        for problem in unusable():
            screen.warning(str(problem))


def _plans(form: str) -> None:
    from tsaudit.policy import limit_plans

    heads = ("plan", "limit", "value", "source")
    rows = [(plan, name, *found) for plan, limits in limit_plans().items() for name, found in limits.items()]
    if form == "json":
        screen.as_json([dict(zip(heads, row, strict=True)) for row in rows])
        return
    screen.table([(plan, name, in_full(value), source) for plan, name, value, source in rows], heads)


@click.command()
@click.argument("rule", metavar="RULE")
@click.option("--open", "in_browser", is_flag=True, help="Open the page in the browser; it needs no network.")
def explain(rule: str, in_browser: bool) -> None:
    """Print the page of a rule, or open it in the browser."""
    from tsaudit.rules.rule_texts import rule_texts

    wanted = rule.lower().replace("_", "-")
    texts = rule_texts()
    page = next((text for text in texts if wanted in (text.code.lower(), text.name)), None)
    code = page.code if page else _code_without_rule(wanted)
    if code is None:
        from tsaudit.text import near_rule

        hint = near_rule(rule, {text.code: text.name for text in texts})
        raise click.BadParameter(f"no rule is called `{rule}`{hint}", param_hint="RULE")
    if in_browser:
        _open(code)
        return
    click.echo("\n".join(_lines(page) if page else _without_rule(code)))


def _code_without_rule(wanted: str) -> str | None:
    # Imported only here, because it imports half of the model.
    from tsaudit.model.finding import RULELESS_CODES

    return next((code for code, name in RULELESS_CODES.items() if wanted in (code.lower(), name)), None)


def _open(code: str) -> None:
    """Write the pages of all rules to this user's own folder, as they are written beside reports, and open
    one of them.
    """
    import webbrowser
    from pathlib import Path

    from tsaudit.report import html
    from tsaudit.report.html import RULES
    from tsaudit.report.storage import Folder, ReportError

    root = Path(click.get_app_dir("tsaudit"))
    try:
        html.write_rule_pages(Folder(str(root)))
    except ReportError as error:
        raise click.ClickException(str(error)) from error
    page = root / RULES / f"{code}.html"
    click.echo(str(page))
    # Not click.launch: without a display, it lets xdg-open print an error for each browser that is not installed.
    if not webbrowser.open(page.as_uri()):
        screen.line("found no browser to open it in")


def _without_rule(code: str) -> tuple[str, ...]:
    """The meaning of a code that an audit reports without a rule."""
    from tsaudit.model.finding import RULELESS_CODES
    from tsaudit.not_audited import TEXTS

    about = TEXTS[code]
    return (click.style(f"{code}  {RULELESS_CODES[code]}", bold=True), about.title, "", about.why, "", about.fix)


def _lines(page: RuleText) -> Iterator[str]:
    yield click.style(f"{page.code}  {page.name}", bold=True)
    yield page.title
    yield f"severity at most {page.severity}" + (
        f"; guidelines {', '.join(page.guidelines)}" if page.guidelines else ""
    )
    yield f"engines {', '.join(sorted(page.engines))}"
    yield f"needs {', '.join(page.requires)}"
    opening, _, rest = page.doc.partition("\n\n")
    conditions, heading, sections = rest.partition("## Why it matters")
    yield f"\n{opening}\n\n{heading}{sections}"
    # What exactly is reported, and what is not, is for those who want to know it all.
    if conditions.strip():
        yield f"\n## When it is reported\n\n{conditions.strip()}"
    if page.limits:
        yield "\n## Limits"
    for limit in page.limits:
        default = "none" if limit.default is None else f"{in_full(limit.default)} {limit.unit}"
        yield f"{limit.name}: {default} ({limit.source})"
        for engine, (value, source) in limit.engines.items():
            here = "that of the server" if value is None else f"{in_full(value)} {limit.unit}"
            yield f"  on {engine}: {here} ({source})"


@click.command()
def guidelines() -> None:
    """Print the guidelines, with the rules that check them."""
    from tsaudit import guidelines as texts
    from tsaudit.rules.rule_texts import rule_texts

    rules = rule_texts()
    rows = [
        (one.id, one.title, ", ".join(rule.code for rule in texts.rules_of(one, rules)) or "-")
        for one in texts.GUIDELINES
    ]
    screen.table(rows, ("id", "guideline", "rules"))


def severity_on(rule: Rule, engine: str, switches: RulePolicy) -> tuple[str, str]:
    """(The highest severity of the rule's findings on the engine, empty if it is not evaluated; the reason, empty if
    there is none.)

    The products of an engine may differ further; only an audit finds out which product a server is.
    """
    from tsaudit.harm import worst_of

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
    if reason := rule.why_not_on(engine):
        return f"does not apply to {engine}: {reason}"
    from tsaudit.engines.queries import query_files
    from tsaudit.engines.registry import ENGINES
    from tsaudit.guidelines import GUIDELINES
    from tsaudit.model.facts import offered

    missing = rule.requires - offered(frozenset(query_files(engine)))
    why = [g.not_applicable[engine] for g in GUIDELINES if g.id in rule.guidelines and engine in g.not_applicable]
    if rule.only is not None and not rule.only(ENGINES[engine]):
        about = sorted(name for name in ENGINES if rule.only(ENGINES[name]))
        return f"does not apply to {engine}: it is about {', '.join(about) or 'no engine'}"
    if why and len(why) == len(rule.guidelines):
        return f"does not apply to {engine}: {why[0]}"
    return f"{engine} does not offer {', '.join(sorted(missing))}"


def _differs(rule: Rule, switches: RulePolicy, pattern: str) -> bool:
    from tsaudit.policy import RulePolicy

    only = RulePolicy(target=switches.measurements[pattern])
    return only.setting(rule.code, rule.name) not in (None, switches.setting(rule.code, rule.name))
