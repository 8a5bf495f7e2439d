"""`tsaudit check`: whether the audit will work from here, and what it cannot measure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from tsaudit.cli import discovery, options, screen
from tsaudit.cli.errors import Exit
from tsaudit.text import listed, many, number

if TYPE_CHECKING:
    from tsaudit.collect.probing import Probed
    from tsaudit.config.settings import Settings, Slack, Target
    from tsaudit.model.figures import Gap, Reason
    from tsaudit.model.finding import RuleResult
    from tsaudit.model.profile import Measurement, Profile
    from tsaudit.policy import RulePolicy

_TABLES = (
    "How the audit reads tables. To change it, edit the last line of one and paste it below `columns:` of the target:"
)
_WIDTH = "tsaudit.cli.check.width"
"""Key of the width of the first column in the command's context: names of targets and notifiers may be long."""
_WIDTHS = (14, 32)
"""Minimum and maximum width; a longer name moves the rest of its line to the right."""
_MOST_PLACES = 12
"""Most places with the same problem that are named."""
_CALL_S = 10.0
"""Seconds Slack may take to identify the token's owner."""


@click.command()
@options.targets_argument
@click.option("--roles", "only_roles", is_flag=True, help="Only print the roles that tsaudit guessed, to confirm them.")
@click.option(
    "--all", "everything", is_flag=True, help="Show how every table is read, not only where that is in doubt."
)
@click.option("--notify", is_flag=True, help="Only send a test message to each owner, and report what was accepted.")
@options.config_option
def check(targets: tuple[str, ...], only_roles: bool, everything: bool, notify: bool, config: str | None) -> int:
    """Test the setup, and show what is missing.

    Checks the configuration, the history, the report folder, Slack, and every target. For each target it lists what the
    audit's permissions and budget do not let it measure, and which rules lack it; if there are any, the target is
    `partly` ok. For SQL databases it also shows how the audit reads the tables whose roles it had to guess or whose
    rows it could not classify, with the setting that changes it. Nothing is audited, and nothing is sent without
    --notify.

    --roles prints the column roles that tsaudit had to guess as a piece of tsaudit.yaml, to correct and paste. A
    finding that rests on guessed roles is never more than a note.

    --notify sends a short message to each owner through each notifier. An alert for Alertmanager is sent as resolved,
    so that it notifies nobody. The exit code is 4 if a message was not accepted.
    """
    if notify and (targets or only_roles):
        raise click.UsageError("`--notify` is about owners: pass neither targets nor `--roles`")
    from tsaudit.config import file as config_file
    from tsaudit.config import pitfalls
    from tsaudit.policy import rule_policy

    file = config_file.find(config)
    needs = ("targets",) if only_roles else ("history", "slack", "notifiers", "owners") if notify else None
    settings = config_file.load(file, needs=needs)
    chosen = options.chosen(settings, targets)
    if only_roles:
        return _roles(settings, chosen)
    names = [*(target.name for target in chosen), *settings.notifiers]
    click.get_current_context().meta[_WIDTH] = min(max(map(len, names), default=0), _WIDTHS[1])
    if notify:
        return _test_messages(settings)
    _line("configuration", "ok", f"{file}: {many(len(settings.targets), 'target')}")
    for advice in config_file.advice(file):
        _line("", "warning", advice)
    for line in (*pitfalls.insecure_connections(settings, chosen), *pitfalls.distributed_deployment(settings, chosen)):
        _line("", "warning", line)
    usable = _plugins()
    surroundings = [
        _history(settings),
        _report(settings),
        _slack(settings.slack, others=bool(settings.notifiers)),
        _notifiers(settings),
    ]
    in_time = not surroundings[0] or _clock(settings, [target.name for target in chosen])
    seen: dict[str, Probed] = {}
    audited = []
    for target in chosen:
        before = _before(settings, target) if surroundings[0] else None
        audited.append(_target(target, rule_policy(settings, target), before, seen))
    for unused in pitfalls.unused_routes(settings, {name: probed.profile for name, probed in seen.items()}):
        _line("routes", "warning", str(unused))
    # After what is missing on any target, which would scroll away.
    for name, probed in seen.items():
        _tables(name, probed, everything=everything)
    if not all(surroundings):
        return Exit.USAGE
    return Exit.OK if in_time and usable and all(audited) else Exit.NOT_AUDITED


def _line(what: str, word: str, text: str) -> None:
    click.echo(f"{what.ljust(_first_column())} {screen.word(word, 7)}  ", nl=False)
    screen.line(text)


def _first_column() -> int:
    longest: int = click.get_current_context().meta[_WIDTH]
    return max(_WIDTHS[0], longest)


def _plugins() -> bool:
    """Whether all rules of other packages can be used; also prints other problems with these packages."""
    from tsaudit import rules
    from tsaudit.engines.registry import ENGINES

    for problem in rules.unusable():
        _line("plug-ins", "failed", str(problem))
    for problem in ENGINES.problems:
        # A target that uses this engine fails below.
        _line("plug-ins", "warning", str(problem))
    return not rules.unusable()


def _history(settings: Settings) -> bool:
    """Whether the history can be read and written, as audits do."""
    from tsaudit.history import lease
    from tsaudit.history.database import HistoryError

    try:
        with options.open_store(settings) as store:
            known = store.targets()
            with lease.held(store, lease.identity_of_run(uuid4().hex, "check"), 0):
                pass
    except HistoryError as error:
        _line("history", "failed", str(error))
        return False
    _line("history", "ok", f"{many(len(known), 'target')} known")
    return True


def _clock(settings: Settings, names: Iterable[str]) -> bool:
    """Whether no target's history contains days in the future."""
    from tsaudit.history.clock import future_days_warning

    with options.open_store(settings) as store:
        warnings = [line for name in names if (line := future_days_warning(name, store.days(name)))]
    for line in warnings:
        _line("clock", "failed", line)
    return not warnings


def _report(settings: Settings) -> bool:
    """Whether files can be written to the report folder, read, listed, and removed again, as audits do."""
    from tsaudit.net import addresses
    from tsaudit.report.index import ENTRIES
    from tsaudit.report.storage import Folder, ReportError

    shown, name = addresses.without_credentials(settings.report.folder), f".tsaudit-check-{uuid4().hex}"
    try:
        folder = Folder(settings.report.folder, settings.report.permissions)
        folder.write(name, b"tsaudit check\n")
        try:
            folder.read(name)
            folder.versions(ENTRIES, ".json")
        finally:
            folder.delete(name)
    except ReportError as error:
        _line("reports", "failed", str(error))
        return False
    _line("reports", "ok", f"{shown} is writable")
    if settings.report.base_url is None:
        _line("", "warning", "report.base_url is not set: links in messages will be paths on this machine")
    return True


def _slack(slack: Slack, *, others: bool) -> bool:
    """Whether Slack can be used as far as it is set up. `others`: whether there are other notifiers, which then are the
    only ones.
    """
    if slack.webhook:
        _line("slack", "ok", "a webhook is set; `tsaudit check --notify` shows whether it works")
        return True
    if not slack.token:
        where = "are sent by the notifiers below only" if others else "are printed in the terminal"
        _line("slack", "ok", f"no token and no webhook: messages {where}")
        return True
    from tsaudit.alerts.notifier import NotifyError, SetupError
    from tsaudit.alerts.slack import READS_REACTIONS, BotToken

    try:
        with screen.progress() as watched:
            watched.say("slack", "asking who the token belongs to")
            bot = BotToken(slack.token.get_secret_value(), slack.base_url, lambda _: None)
            who = bot.who(_CALL_S)
    except SetupError as error:
        _line("slack", "failed", f"Slack rejects the token: {error.code}")
        return False
    except NotifyError as error:
        _line("slack", "failed", str(error))
        return False
    _line("slack", "ok", who)
    if slack.reactions.read and slack.reactions.kinds and not bot.reads_reactions():
        _line("", "warning", f"the app lacks the scope {READS_REACTIONS}: reactions to messages do nothing")
    return True


def _notifiers(settings: Settings) -> bool:
    from tsaudit.alerts import routing
    from tsaudit.alerts.notifier import SetupError

    well = True
    for name, about in sorted(settings.notifiers.items()):
        try:
            routing.plug_in(name, about)
        except SetupError as error:
            _line(name, "failed", str(error))
            well = False
        else:
            _line(name, "ok", "the notifier is set up; `tsaudit check --notify` shows whether it works")
    return well


def _test_messages(settings: Settings) -> int:
    from tsaudit.alerts.routing import send_test_messages

    if not settings.notifies:
        screen.line("neither `slack` nor `notifiers` is set: messages are printed in the terminal")
    code = Exit.OK
    with options.open_store(settings) as store:
        for one in send_test_messages(store, settings):
            place = f" in {one.channel}" if one.channel else ""
            if one.problem is None:
                _line(one.notifier, "ok", f"accepted the test message to {listed(one.owners)}{place}")
            else:
                _line(one.notifier, "failed", f"the test message to {listed(one.owners)}{place}: {one.problem}")
                code = Exit.NOT_DELIVERED
    return code


def _before(settings: Settings, target: Target) -> Profile | None:
    """The newest profile of the target: the next audit keeps its column roles."""
    from datetime import timedelta

    from tsaudit.history import clock

    with options.open_store(settings) as store:
        return store.timeline(target.name, clock.today() + timedelta(days=1), days=0).previous


def _target(target: Target, switches: RulePolicy, before: Profile | None, seen: dict[str, Probed]) -> bool:
    """Whether the target can be audited; missing facts are reported, but do not count as failure.

    What exists on the target is added to `seen`. `before`: its newest profile.
    """
    from tsaudit import not_audited
    from tsaudit.engines.connection import ConnectorError
    from tsaudit.engines.registry import ENGINES
    from tsaudit.summary import rules_evaluated, rules_lacking

    try:
        probed = discovery.probed(target, before)
    except ConnectorError as error:
        _line(target.name, "failed", str(error))
        return False
    profile = probed.profile
    if (cause := not_audited.unseen(profile)) is not None:
        # All other checks of the target depend on this.
        term = ENGINES[target.engine].words.measurement
        _line(target.name, "failed", f"no {term} of it can be read" if not_audited.unread(profile) else cause)
        _cannot_read(profile)
        return False
    seen[target.name] = probed
    results = _foreseen(profile, switches)
    missed = not_audited.missed(profile, results)
    for one in missed:
        _line(target.name, "failed", one.message)
    if not missed:
        version = f"{target.engine} {profile.server_version}"
        evaluated, lacking = rules_evaluated(results), rules_lacking(results)
        more = f", {number(lacking)} only in part" if lacking else ""
        state = "partly" if lacking else "ok"
        _line(target.name, state, f"{version}: {many(evaluated, 'rule')} can be evaluated{more}")
    _cannot_read(profile)
    gone, unread = {one.subject.database for one in missed}, not_audited.unread(profile)
    shown = [g for g in profile.gaps if g.database not in gone and (g.database, g.measurement) not in unread]
    for line in _missing(shown, results):
        _line("", "unknown", line)
    if probed.untried:
        _line("", "unknown", f"whether {many(probed.untried, 'more table')} can be read was not tried")
    for unused in profile.unused_settings:
        _line("", "warning", str(unused))
    return not missed


def _roles(settings: Settings, chosen: Sequence[Target]) -> int:
    """Print the guessed roles of the targets as YAML; everything else is printed as comments."""
    from tsaudit.engines.connection import ConnectorError
    from tsaudit.engines.registry import ENGINES

    code = Exit.OK
    for target in chosen:
        if not ENGINES[target.engine].infers_roles:
            screen.line(f"# {target.name}: {target.engine} declares which columns are tags")
            continue
        try:
            found = discovery.guessed(discovery.probed(target, _before(settings, target)))
        except ConnectorError as error:
            screen.line(f"# {target.name}: its roles were not read: {error}")
            code = Exit.NOT_AUDITED
            continue
        screen.line(f"# {target.name}: {found}")
        if found.entries:
            # As deep as below a target of tsaudit.yaml, to be pasted there.
            screen.line("    columns:")
        for entry in found.entries:
            # YAML must not be cut off, and its writer escapes unprintable characters.
            click.echo(f"      {entry}")
    return code


def _cannot_read(profile: Profile) -> None:
    """Print which tables cannot be read at all, with what would let the audit read them."""
    from tsaudit import not_audited

    named: dict[str, list[str]] = {}
    for (database, name), gap in sorted(not_audited.unread(profile).items()):
        named.setdefault(gap.detail, []).append(f"{database}/{name}")
    for detail, names in list(named.items())[: discovery.MOST_TABLES]:
        out = f"or leave {'it' if len(names) == 1 else 'them'} out with `exclude`"
        _line("", "unknown", f"cannot read {listed(names, _MOST_PLACES)}: {detail}; {out}")
    if more := sum(map(len, list(named.values())[discovery.MOST_TABLES :])):
        _line("", "unknown", f"and {many(more, 'more table')} cannot be read")


def _tables(target: str, probed: Probed, *, everything: bool) -> None:
    """Print how the audit reads tables, with the lines of the configuration that would change it."""
    from tsaudit.summary import confirm
    from tsaudit.text.table_roles import override, table_roles

    if not probed.tables:
        return
    shown = [table for table in probed.tables if everything or discovery.is_in_doubt(table)]
    indent = " " * (_first_column() + 1)
    if shown:
        _line(target, "note", _TABLES)
    alike: dict[str, list[Measurement]] = {}
    for one in shown:
        alike.setdefault(override(one if everything else replace(one, name="")), []).append(one)
    for tables in alike.values():
        table = table_roles(tables[0])
        screen.paragraph(f"{listed([one.name for one in tables], _MOST_PLACES)}: {table}", indent)
        screen.paragraph(f"rows: {table.kind_reason}", indent + "  ")
        if table.time_reason:
            screen.paragraph(f"time: {table.time_reason}", indent + "  ")
        screen.paragraph(override(tables[0]), indent + "  ")
    if others := len(probed.tables) - len(shown):
        command = f"`tsaudit check {shlex.quote(target)} --all`"
        rest = many(others, "other table" if shown else "table")
        screen.paragraph(f"{rest} with nothing to confirm: {command} shows how the audit reads them", indent)
    if probed.others:
        smaller = f"{many(probed.others, 'smaller table')} not checked"
        screen.paragraph(f"{smaller}: an audit reads them, and `tsaudit collect` prints all tables", indent)
    if (guessed := discovery.guessed(probed)).roles:
        _line("", "note", confirm(target, guessed.roles, guessed.tables))


def _foreseen(profile: Profile, switches: RulePolicy) -> Sequence[RuleResult]:
    """The results of rules that find nothing: what they lack is what they will lack in an audit."""
    from tsaudit.evaluation import evaluate
    from tsaudit.rules import rules_for

    rules = [replace(rule, check=lambda _: iter(()), leaves_out=None) for rule in rules_for(profile.engine)]
    return evaluate(profile, rules=rules, switches=switches).results


def _missing(gaps: Iterable[Gap], results: Sequence[RuleResult]) -> Iterator[str]:
    """One line for each group of places that lack the same facts for the same reason: the facts, the first places, the
    number of others, what the first place lacks, and the rules that are unknown because of it.
    """
    lacking: dict[tuple[str, Reason, str], list[Gap]] = {}
    for gap in gaps:
        lacking.setdefault((gap.place, gap.reason, gap.detail), []).append(gap)
    alike: dict[tuple[tuple[str, ...], Reason], dict[str, list[Gap]]] = {}
    for (place, reason, _), found in lacking.items():
        alike.setdefault((tuple(gap.fact for gap in found), reason), {}).setdefault(place, found)
    for (facts, reason), places in alike.items():
        where = f" of {listed(list(places), _MOST_PLACES)}" if any(places) else ""
        codes = [r.code for r in results if any(gap in r.gaps for found in places.values() for gap in found)]
        rules = f"{many(len(codes), 'rule')}: {', '.join(codes)}" if codes else "no rule"
        yield f"{', '.join(facts)}{where} {reason}: {next(iter(places.values()))[0].detail} ({rules})"
