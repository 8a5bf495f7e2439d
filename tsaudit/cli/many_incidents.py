"""Which of the incidents a command is about, and how several of them are printed: one line for each rule."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tsaudit.cli import show
from tsaudit.text import number

if TYPE_CHECKING:
    from tsaudit.history.decisions import IncidentSelection
    from tsaudit.history.incidents import Incident
    from tsaudit.history.store import Store

F = TypeVar("F", bound=Callable[..., Any])

_EXAMPLES: Final = 3


def selection_options(command: F) -> F:
    """--target and --rule, each any number of times."""
    for option in (
        click.option("--rule", "rules", multiple=True, metavar="RULE", help="Only of this rule: CAR001, 'CAR*', name."),
        click.option("--target", "targets", multiple=True, metavar="NAME", help="Only of this target."),
    ):
        command = option(command)
    return command


def selected(store: Store, targets: Sequence[str], rules: Sequence[str]) -> IncidentSelection:
    """The selection that the options name. A name that selects nothing anywhere is a usage error."""
    from tsaudit.history.decisions import IncidentSelection

    known = store.targets()
    for name in targets:
        if name not in known:
            raise click.BadParameter(f"`{name}` was never audited", param_hint="--target")
    return IncidentSelection(frozenset(targets), frozenset(_codes(store, rules)))


def _codes(store: Store, rules: Sequence[str]) -> Iterable[str]:
    """The codes of the named rules, also of those that only the history still has."""
    if not rules:
        return ()
    from tsaudit.cli.near_rules import near
    from tsaudit.history import incidents
    from tsaudit.rules import all_rules

    names = {rule.code: rule.name for rule in all_rules()} | {i.code: i.rule for i in incidents.current(store)}
    found: set[str] = set()
    for asked in rules:
        pattern = asked.lower().replace("_", "-")
        codes = {c for c, name in names.items() if any(fnmatch.fnmatchcase(n, pattern) for n in (c.lower(), name))}
        if not codes:
            raise click.BadParameter(f"no rule is called `{asked}`{near(asked, names)}", param_hint="--rule")
        found |= codes
    return found


def print_groups(found: Iterable[Incident]) -> None:
    """One line per target, severity, and rule, with some of the places."""

    def group(incident: Incident) -> tuple[str, int, str, str]:
        return incident.target, -incident.severity.rank, incident.code, incident.rule

    rows = []
    for (target, _, code, rule), members in groupby(sorted(found, key=group), key=group):
        listed = list(members)
        places = ", ".join(str(i.subject) for i in listed[:_EXAMPLES])
        more = f", and {number(len(listed) - _EXAMPLES)} more" if len(listed) > _EXAMPLES else ""
        rows.append((target, listed[0].severity, code, rule, number(len(listed)), places + more))
    show.table(rows, ("target", "severity", "rule", "name", "findings", "where"))
