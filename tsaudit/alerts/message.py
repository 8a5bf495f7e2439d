"""The messages for owners: the alert, its replies, the all-clear, and the digest.

Pure functions: incidents in, messages out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from tsaudit.alerts.blocks import (
    MAX_BLOCKS,
    MAX_HEADER,
    MAX_TEXT,
    MAX_TOTAL,
    Block,
    Message,
    Run,
    characters,
    clean,
    code,
    cut,
    fitting,
    header,
    inert,
    link,
    markup,
    plain,
    prose,
    rich,
    size,
    small,
)
from tsaudit.alerts.calls import RunContext
from tsaudit.analysis.shapes.shape_rules import describe_kinds
from tsaudit.config.settings import Reactions
from tsaudit.history import decisions
from tsaudit.history.lifecycle import Incident
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Severity, Verdict, worst_first
from tsaudit.model.plan import Plan
from tsaudit.planning import describe
from tsaudit.summary import Summary, of_finding
from tsaudit.text import many, number, short_fingerprint
from tsaudit.text.findings import headline, tally, unsaid

_SLACK_ID: Final = re.compile(r"[UW][A-Z0-9]{2,30}")
"""A Slack user ID: it identifies whoever made a decision by a reaction."""
_BY_REACTION: Final = re.compile(r"reaction :([a-z0-9_+'-]{1,100}): in Slack")
_SAMPLES: Final = 3
_SAMPLE: Final = 60
_FIGURE: Final = 250
_LINE: Final = 400
_WHO: Final = 60
_WHY: Final = 200
_SHORT_WHY: Final = 80
_STEP: Final = 600
_STATEMENT: Final = 2_900


def by_badness(incident: Incident) -> tuple[object, ...]:
    """Sort key: worst first, in the same order as all other outputs."""
    return worst_first(incident.code, incident.finding, incident.severity)


def summary_block(incident: Incident, summary: Summary, sign: str, *, full_values: bool, with_step: bool) -> Block:
    """The summary of the incident as one block; at most 6,000 characters, however long the names are."""
    runs = [Run(f"{sign} "), Run(cut(summary.headline, _LINE), "bold")]
    for figure in summary.figures:
        runs += _labeled(cut(f"{figure.label}: {figure.text}", _FIGURE))
    runs += _notes(incident, full_values=full_values)
    if with_step and summary.first_step:
        step = cut(summary.first_step, _STEP)
        # If the step is from a plan, its label names the plan.
        runs += _labeled(step) if summary.rest else [Run(f"\n{step}")]
    return rich(runs, _shown(summary.statement) if with_step else "")


def by_reaction(name: str) -> str:
    """The reason stored with a decision that was made by a reaction."""
    return f"reaction :{name}: in Slack"


def _labeled(line: str) -> list[Run]:
    """The pieces of a line that begins with a label of ours and a colon: the label is bold."""
    label, colon, text = line.partition(": ")
    return [Run("\n"), Run(f"{label}:", "bold"), Run(f" {text}")] if colon else [Run(f"\n{line}")]


def _shown(statement: str) -> str:
    """The statement, or nothing if cleaning would change more than its spaces: it would then be a different one."""
    lines = statement.split("\n")
    is_clean = all(clean(line) == " ".join(filter(None, line.split(" "))) for line in lines)
    return statement if is_clean and size(statement) <= _STATEMENT else ""


def _notes(incident: Incident, *, full_values: bool) -> Iterator[Run]:
    more, whole = unsaid(incident.finding), incident.finding.message.strip()
    if more and (more != whole or not incident.finding.headline):
        # Such as the reason why a target could not be audited.
        yield _line(more)
    samples = incident.finding.samples[:_SAMPLES]
    if full_values and samples:
        yield _line("Samples: " + ", ".join(dict.fromkeys(sample[:_SAMPLE] for sample in samples)))
    elif kinds := describe_kinds(samples):
        yield _line("Kind of values: " + ", ".join(kinds))
    if incident.decision is not None:
        # Muted incidents are not shown.
        who = incident.decision.owner
        yield _line("Acknowledged by")
        yield Run(" ")
        yield Run(who, "person") if _SLACK_ID.fullmatch(who) else Run(cut(who, _WHO))
        if reaction := _BY_REACTION.fullmatch(incident.decision.reason):
            yield Run(" with ")
            yield Run(reaction[1], "emoji")
        else:
            yield Run(f": {cut(incident.decision.reason, _WHY)}")
    if back := decisions.back(incident):
        yield Run(f"\n{cut(back, _WHO + _WHY)}")


def _line(text: str) -> Run:
    return Run(f"\n{cut(text, _LINE)}")


SIGNS: Final = {"critical": "🔴", "warning": "🟠", "unknown": "⚪", "ok": "🟢", "note": "🔵"}
_FOOTER_CHARACTERS: Final = 2_200
"""Characters reserved for the blocks after the incidents."""
_FOOTER_BLOCKS: Final = 5
_SHOWN: Final = 10
"""Most incidents listed by name only, where there is no room for their figures."""


RESOLVED: Final = "resolved"


@dataclass(frozen=True, slots=True)
class Closed:
    """An incident that is not, or no longer, among those that the message is about, with the reason."""

    incident: Incident
    how: str
    """The reason: `RESOLVED`, `muted until <day>`, `now with <owner>`, or `no longer critical`."""

    @property
    def is_muted(self) -> bool:
        """Whether it is open, but muted."""
        return self.how.startswith("muted until")


def alert(
    context: RunContext,
    incidents: Sequence[Incident],
    closed: Sequence[Closed] = (),
    *,
    full_values: bool = False,
    mention: str | None = None,
) -> Message:
    """The current state of a target for one owner: the open incidents, worst first, those that this audit did not find,
    and those that ended.

    If no incident is left, the message says so. `mention` is a configured Slack ID; everything else is untrusted text.
    """
    ranked = sorted((one for one in incidents if not one.is_absent), key=by_badness)
    absent = sorted((one for one in incidents if one.is_absent), key=by_badness)
    if ranked:
        worst = ranked[0].severity
        word = worst.capitalize()
        title = f"{SIGNS[worst]} {word}: {context.target}, {many(len(ranked), 'open incident')}"
    elif absent:
        title = f"{SIGNS['ok']} {context.target}: {many(len(absent), 'open incident')} not found anymore"
    else:
        title = _end(context, closed)
    return _message(context, title, ranked, closed, absent, full_values=full_values, mention=mention)


def news(
    context: RunContext,
    incidents: Sequence[Incident],
    raised: frozenset[str] = frozenset(),
    closed: Sequence[Closed] = (),
    *,
    full_values: bool = False,
    mention: str | None = None,
) -> Message:
    """The reply that notifies: incidents that are new or got worse (`raised`: their fingerprints), and those that are
    resolved while others stay open. At least one of these. Muted ones among `closed` are listed, but not counted.

    Complete without the alert, because a webhook can only post it as a separate message.
    """
    ranked = sorted(incidents, key=by_badness)
    worse = sum(i.fingerprint in raised for i in ranked)
    resolved = sum(one.how == RESOLVED for one in closed)
    counts = ((len(ranked) - worse, "new"), (worse, "worse"), (resolved, "resolved"))
    sign = SIGNS[ranked[0].severity if ranked else "ok"]
    title = f"{sign} {context.target}: {', '.join(f'{number(n)} {word}' for n, word in counts if n)}"
    return _message(context, title, ranked, closed, full_values=full_values, mention=mention)


def over(context: RunContext, closed: Sequence[Closed]) -> Message:
    """The notice that no incident of an alert is open anymore."""
    return _message(context, _end(context, closed), (), closed)


def _end(context: RunContext, closed: Sequence[Closed]) -> str:
    """The title of a message without open incidents. It has a green mark only if incidents are resolved, not if they
    were muted: the target may be as bad as before.
    """
    if all(c.how == RESOLVED for c in closed):
        return f"{SIGNS['ok']} {context.target}: all resolved"
    sign = SIGNS["unknown" if context.verdict is Verdict.UNKNOWN else "note"]
    alike: dict[str, list[Severity]] = {}
    for one in closed:
        alike.setdefault(one.how, []).append(one.incident.severity)
    return f"{sign} {context.target}: {', '.join(f'{tally(some)} {how}' for how, some in alike.items())}"


def moved(context: RunContext, where: str) -> Message:
    """The final text of an alert that continues elsewhere: in another channel, or in a new message."""
    title = f"{context.target}: continued in {where}"
    return Message(notification(title, (), 0), (header(plain(title, MAX_HEADER)),))


def _message(
    context: RunContext,
    title: str,
    ranked: Sequence[Incident],
    closed: Sequence[Closed],
    absent: Sequence[Incident] = (),
    *,
    full_values: bool = False,
    mention: str | None = None,
) -> Message:
    blocks = [header(plain(title, MAX_HEADER))]
    if mention:
        blocks.append(markup(f"{address(mention)} this is critical."))
    groups = _groups(context, ranked, full_values=full_values)
    room = MAX_TOTAL - MAX_TEXT - _FOOTER_CHARACTERS - characters(blocks)
    shown = fitting(groups, MAX_BLOCKS - _FOOTER_BLOCKS - len(blocks), room)
    blocks += [block for group in shown for block in group]
    blocks += _footer(context, ranked[len(shown) :], closed, absent)
    if ranked and context.reactions is not None and context.reactions.kinds:
        blocks.append(_hint(context.reactions))
    blocks.append(small(_circumstances(context)))
    text = notification(title, (f"{i.severity} {headline(i.finding)}" for i in ranked), len(ranked), mention)
    about = {i.fingerprint: str(i.severity) for i in (*ranked, *absent)}
    return Message(text, tuple(blocks), about, tuple(one.incident.fingerprint for one in closed if one.is_muted))


def notification(title: str, lines: Iterable[str], count: int, mention: str | None = None) -> str:
    """The text of a message: the title, then as many of the `count` lines as fit, each on one line."""
    text = inert(title, 200)
    if mention:
        text = f"{address(mention)} {text}"
    for number_of_line, one in enumerate(lines):
        line = "\n" + inert(one, 300)
        if size(text) + size(line) > MAX_TEXT - 40:
            return f"{text}\n(and {number(count - number_of_line)} more)"
        text += line
    return text


def address(mention: str) -> str:
    """The configured Slack ID as a mention: `S...` is a user group, anything else a user."""
    kept = "".join(c for c in mention if c.isascii() and c.isalnum())
    return f"<!subteam^{kept}>" if kept.startswith("S") else f"<@{kept}>"


def _hint(reactions: Reactions) -> Block:
    """A line that explains which reaction does what. The names are checked where they are configured."""
    does = {"ack": "acknowledges", "mute": f"mutes for {many(reactions.mute_days, 'day')}"}
    said = ", ".join(f":{name}: {does[kind]}" for name, kind in reactions.kinds.items())
    return small(f"React to act on all of this: {said}")


def _circumstances(context: RunContext) -> str:
    whole = f"{inert(context.target, 100)} as a whole: {context.verdict}"
    parts = [context.engine, f"audited day {context.day}", whole]
    if context.report_url:
        parts.append(link(context.report_url, "report"))
    if context.run_url:
        parts.append(link(context.run_url, "run"))
    return " · ".join(parts)


def _groups(context: RunContext, ranked: Sequence[Incident], *, full_values: bool) -> Iterator[list[Block]]:
    """The blocks of each incident. The first step of a plan is shown with the first incident that it covers."""
    begun: set[str] = set()
    for incident in ranked:
        summary = of_finding(incident.finding, incident.code, context.plans, context.target, context.day)
        plan = describe.of_finding(incident.finding, context.plans)
        step = describe.anchor(plan) if plan else summary.first_step
        is_first = step not in begun
        begun.add(step)
        sign = SIGNS[incident.severity]
        block = summary_block(incident, summary, sign, full_values=full_values, with_step=is_first)
        yield [block, small(_references(incident, summary, context, plan if is_first else None))]


def _references(incident: Incident, summary: Summary, context: RunContext, plan: Plan | None) -> str:
    """The line that names the incident's ID and says where to read more. `plan`: the plan for the incident; None if
    there is none, or if another incident above already names it.
    """
    parts = [f"{incident.code} {inert(incident.rule, 100)}", code(short_fingerprint(incident.fingerprint), 40)]
    page = context.report_url if context.report_url and context.report_url.lower().startswith("http") else ""
    if page:
        parts.append(link(f"{page}#f-{incident.fingerprint}", "details"))
    if plan is not None:
        whole = link(f"{page}#{describe.anchor(plan)}", "whole plan") if page else "whole plan"
        parts.append(f"{whole}: {code(summary.rest, 300)}")
    return " · ".join(parts)


def _footer(
    context: RunContext, hidden: Sequence[Incident], closed: Sequence[Closed], absent: Sequence[Incident]
) -> list[Block]:
    blocks = []
    if hidden:
        where = "the report lists them all" if context.report_url else "`tsaudit incidents` lists them all"
        kinds = tally(i.severity for i in hidden)
        some = f"{number(len(hidden))} more ({kinds})" if "," in kinds else kinds.replace(" ", " more ", 1)
        blocks.append(small(f"and {some}: {where}"))
    if absent:
        named = _listed([_named(one) for one in absent])
        blocks.append(small(f"No longer found, and resolved if the next audits do not find them either: {named}"))
    if muted := [one for one in closed if one.is_muted]:
        blocks.append(small(f"Open, muted: {_listed([_with_mute(one.incident) for one in muted])}"))
    if gone := [one for one in closed if not one.is_muted]:
        blocks.append(small(f"No longer open: {_listed([f'{_named(c.incident)} {plain(c.how, 40)}' for c in gone])}"))
    return blocks


def _with_mute(incident: Incident) -> str:
    """The incident with who muted it, until when, and why."""
    made = incident.decision
    if made is None:
        return _named(incident)
    who = f"<@{made.owner}>" if _SLACK_ID.fullmatch(made.owner) else inert(made.owner, _WHO)
    return f"{_named(incident)} by {who} until {made.until} ({inert(made.reason, _SHORT_WHY)})"


def _named(incident: Incident) -> str:
    of_target = incident.subject == Subject()
    return f"{incident.code} {inert(incident.rule, 100) if of_target else code(str(incident.subject), 60)}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {number(len(names) - _SHOWN)} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


_SHOWN_PER_TARGET: Final = 5
"""Open incidents named per target."""


def digest(day: date, found: Sequence[Incident], reports: dict[str, str], reported: Sequence[Incident] = ()) -> Message:
    """The digest for one owner. `reports`: target to the address of its newest report. `reported`: incidents that are
    only counted if they are open, because other messages of the day report them.
    """
    still = [i for i in found if i.is_active]
    elsewhere = [i for i in reported if i.is_active]
    every = [*still, *elsewhere]
    targets = sorted({i.target for i in found}, key=lambda t: _target_badness(t, every))
    on = f" on {many(len({i.target for i in every}), 'target')}"
    said = f"{many(len(every), 'open incident')}{on}" if every else f"{many(len(found), 'incident')} resolved"
    title = f"tsaudit {day}: {said}"
    by_target = {t: tuple([i for i in some if i.target == t] for some in (found, every)) for t in targets}
    groups = (_target_blocks(t, own, of_all, reports.get(t)) for t, (own, of_all) in by_target.items())
    shown = fitting(groups, MAX_BLOCKS - 3, MAX_TOTAL - MAX_TEXT - MAX_HEADER - 200)
    blocks = [header(plain(title, MAX_HEADER)), *(block for group in shown for block in group)]
    if len(shown) < len(targets):
        blocks.append(small(f"and {many(len(targets) - len(shown), 'more target')}"))
    if elsewhere:
        blocks.append(small(f"Not listed: {many(len(elsewhere), 'open incident')} in today's other messages."))
    lines = (f"{i.severity} {i.target} {_standing(i)}" for i in sorted(still, key=by_badness))
    return Message(notification(title, lines, len(still)), tuple(blocks))


def _standing(incident: Incident) -> str:
    """The headline of an open incident, which the newest audit may not have found."""
    seen = f"Not found on {incident.day}: " if incident.is_absent else ""
    return f"{seen}{headline(incident.finding)}"


def _target_badness(target: str, still: Sequence[Incident]) -> tuple[int, int, str]:
    own = [i for i in still if i.target == target]
    return (-max((i.severity.rank for i in own), default=-1), -len(own), target)


def _target_blocks(
    target: str, found: Sequence[Incident], every: Sequence[Incident], report: str | None
) -> list[Block]:
    """`every`: all open incidents of the target, also those of other messages."""
    still = sorted((i for i in found if i.is_active), key=by_badness)
    parts = list(filter(None, [tally(i.severity for i in every)]))
    parts += [f"{number(n)} resolved" for n in [sum(i.resolved is not None for i in found)] if n]
    if report:
        parts.append(link(report, "report"))
    sign = SIGNS[min(every, key=by_badness).severity] if every else SIGNS["ok"]
    blocks = [markup(f"{sign} {code(target, 120)} {' · '.join(parts)}")]
    lines = [plain(f"{SIGNS[i.severity]} {_standing(i)}", 320) for i in still[:_SHOWN_PER_TARGET]]
    if len(still) > _SHOWN_PER_TARGET:
        lines.append(f"and {number(len(still) - _SHOWN_PER_TARGET)} more")
    return [*blocks, prose(lines)] if lines else blocks
