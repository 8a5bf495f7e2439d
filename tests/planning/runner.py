"""Runs every statement of the plans of an audit, and holds what became of the database against what they announce."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from tests.planning.places import ROWS, Held, Server
from tsaudit.cli.finding import print_plan
from tsaudit.engines.registry import ENGINES
from tsaudit.model.change import Change, LeaveOut, MakeField, Rename, SplitColumn, SplitMeasurement
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, RuleResult
from tsaudit.model.plan import Plan, StepKind
from tsaudit.model.profile import Profile
from tsaudit.planning import describe

LINES, COLUMNS = 40, 100
"""What fits on a screen."""
_RUN = (StepKind.FIND, StepKind.SCHEMA, StepKind.STORED, StepKind.VERIFY)


@dataclass(slots=True)
class Ran:
    """What became of the plans."""

    statements: int = 0
    refused: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    """Rows and values that are gone, and that no step announced."""
    left: list[str] = field(default_factory=list)
    """Findings that the statements should have ended, and that are still there."""


def printed(plan: Plan, result: AuditResult) -> list[str]:
    """The lines of `tsaudit plan`, as a screen of that width shows them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        print_plan(plan, result)
    lines = out.getvalue().splitlines()
    return [line[start : start + COLUMNS] for line in lines for start in range(0, max(len(line), 1), COLUMNS)]


def misshapen(plan: Plan, profile: Profile, result: AuditResult) -> list[str]:
    """What is wrong with the plan, whatever it says."""
    wrong = []
    kinds = [step.kind for step in plan.steps]
    # The schema comes before the writers if it has something new for them.
    schema_first = (StepKind.FIND, StepKind.SCHEMA, StepKind.WRITER, StepKind.STORED, StepKind.VERIFY)
    # A unique index needs that the copies are gone.
    stored_first = (StepKind.FIND, StepKind.STORED, StepKind.SCHEMA, StepKind.WRITER, StepKind.VERIFY)
    gains_time = (StepKind.SCHEMA, StepKind.FIND, StepKind.WRITER, StepKind.STORED, StepKind.VERIFY)
    orders = (StepKind, schema_first, stored_first, gains_time)
    if not kinds or kinds not in [[kind for kind in order if kind in kinds] for order in orders]:
        wrong.append(f"steps {kinds}")
    if len(lines := printed(plan, result)) > LINES:
        wrong.append("\n".join([f"{len(lines)} lines:", *lines]))
    if not describe.behind(plan, result):
        wrong.append("no finding asks for it")
    writer = next((step for step in plan.steps if step.kind is StepKind.WRITER), None)
    if _is_about_a_tag(plan, profile) and (writer is None or not writer.text):
        wrong.append(f"no setting for the writer: {writer}")
    wrong += [f"no words: {step}" for step in plan.steps if not step.words.endswith((".", ":"))]
    return [f"{plan.subject}: {one}" for one in wrong]


def _is_about_a_tag(plan: Plan, profile: Profile) -> bool:
    tags = {Subject(m.database, m.name): {tag.key for tag in m.tags} for m in profile.measurements}
    return any(_tag(one.change) in tags.get(one.change.at, ()) for one in plan.changes)


def _tag(change: Change) -> str:
    if isinstance(change, MakeField):
        return change.tag
    return change.column if isinstance(change, LeaveOut | SplitColumn) else ""


def run(server: Server, profile: Profile, result: AuditResult, again: Callable[[], tuple[Profile, AuditResult]]) -> Ran:
    """`again`: the audit after all statements ran."""
    ran, before, executed = Ran(), server.held(profile), dict[int, set[StepKind]]()
    for number, plan in enumerate(result.plans):
        executed[number] = set()
        for step in plan.steps:
            if step.kind not in _RUN:
                continue
            try:
                if count := server.run(step):
                    ran.statements += count
                    executed[number].add(step.kind)
            except Exception as error:  # Each driver has its own.
                ran.refused.append(f"{plan.subject}, {step.kind}: {error}\n{step.text}")
    latest, found = again()
    after = server.held(latest)
    ran.lost = [*_lost(before, after, result.plans), *_lost_in_copies(before, after, result.plans)]
    ran.left = list(_left(profile, result, found, executed, after.keys() - before.keys()))
    return ran


def _lost(before: Held, after: Held, plans: Sequence[Plan]) -> Iterator[str]:
    announced = {
        subject.measurement
        for plan in plans
        if any(step.loses for step in plan.steps if step.kind in (StepKind.SCHEMA, StepKind.STORED))
        for subject in plan.subjects
    }
    for name, counts in before.items():
        # What is announced of a database is about all of its measurements.
        if not {name, ""} & announced:
            renamed = {c.old for c in _changes(plans, name) if isinstance(c, Rename)}
            new_names = [one for one in after if one not in before] if "" in renamed else []
            now = after.get(name) or next((after[one] for one in new_names), type(counts)())
            # What is renamed is found by the name that no column had.
            moved = [count for column, count in now.items() if column not in counts]
            gone = {c: n for c, n in (counts - now).items() if c not in renamed or counts[c] not in moved}
            yield from (f"{count} of {counts[column]} {name}.{column}" for column, count in gone.items())


def _changes(plans: Sequence[Plan], name: str) -> list[Change]:
    """What the plans change at the measurement."""
    of_name = [plan for plan in plans if name in {subject.measurement for subject in plan.subjects}]
    return [one.change for plan in of_name for one in plan.changes]


def _lost_in_copies(before: Held, after: Held, plans: Sequence[Plan]) -> Iterator[str]:
    """Rows that did not arrive where a plan copied them to."""
    for name in after.keys() - before.keys():
        for plan in plans:
            copies = [step for step in plan.steps if step.kind is StepKind.STORED and name in step.text]
            if copies and (had := before.get(plan.subject.measurement)):
                most = plan.effect.loss.rows if plan.effect.loss else 0
                splits = [one.change for one in plan.changes if isinstance(one.change, SplitMeasurement)]
                if moved := next((one.columns for one in splits if one.name == name), ()):
                    # Rows in which none of these columns is filled stay where they are.
                    gone = {column: had[column] - after[name][column] for column in moved}
                    yield from (f"{count} values of {c} are not in {name}" for c, count in gone.items() if count > 0)
                elif after[name][ROWS] < had[ROWS] - most:
                    yield f"{after[name][ROWS]} of {had[ROWS]} rows are in {name}"


def _left(
    profile: Profile, result: AuditResult, found: AuditResult, executed: dict[int, set[StepKind]], new: Collection[str]
) -> Iterator[str]:
    now = {(rule.code, finding.subject): finding for rule, finding in found.findings()}
    for number, plan in enumerate(result.plans):
        kinds = {step.kind for step in plan.steps}
        is_done = StepKind.SCHEMA in executed[number] and StepKind.WRITER not in kinds
        # Roles of columns that tsaudit.yaml has to declare are seen by an audit with that setting.
        is_done = is_done and not any(step.kind is StepKind.VERIFY and step.language == "yaml" for step in plan.steps)
        if not is_done or any(name in step.text for step in plan.steps for name in new):
            continue
        for rule, finding in describe.behind(plan, result):
            if _is_of(plan, finding) and (rule.code, finding.subject) in now:
                yield _line(rule, now[rule.code, finding.subject], ENGINES[profile.engine].name)


def _is_of(plan: Plan, finding: Finding) -> bool:
    """Whether the plan makes all that the finding wants of the measurement that it shows statements for."""
    wanted = [change for change in finding.changes if change.at == plan.subject]
    return bool(wanted) and all(map(plan.makes, wanted)) and finding.subject.measurement == plan.subject.measurement


def _line(rule: RuleResult, finding: Finding, engine: str) -> str:
    return f"{engine}: {rule.code} {finding.severity} {finding.subject}: {finding.message}"
