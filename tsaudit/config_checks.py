"""What has to agree across a configuration file, checked on plain data that may still have other mistakes in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tsaudit.config import Path, inconsistencies
from tsaudit.config_words import nearest
from tsaudit.plans import PLANS
from tsaudit.rules import all_rules


def contradictions(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Places in the file, each with what is wrong there."""
    yield from _history(data)
    yield from _names_and_owners(data)
    yield from _limits(data)


def _history(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """The history inside a database that is audited: it would be audited too, and need the right to write there."""
    history = data.get("history")
    if history is not None and any(url == history for _, url in _at(data, "targets", "*", "url")):
        yield ("history",), "is a target's address; the history must not be inside an audited database"


def _names_and_owners(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    owners = data.get("owners")
    used = [
        *_at(data, "targets", "*", "owner"),
        *_at(data, "targets", "*", "measurements", "*", "owner"),
        *_at(data, "routes", "*", "owner"),
    ]
    known = owners if isinstance(owners, dict) else {"default": None}
    yield from inconsistencies(known, _at(data, "targets", "*", "name"), used)


def _limits(data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Plans and limits that do not exist."""
    for place, plan in _at(data, "targets", "*", "plan"):
        if plan not in PLANS:
            near = nearest(plan, PLANS) or f"; one of {', '.join(PLANS)}"
            yield place, f"unknown plan `{plan}`{near}"
    known = {f"{rule.name}.{threshold.name}" for rule in all_rules() for threshold in rule.thresholds}
    for prefix in ((), ("targets", "*"), ("targets", "*", "measurements", "*")):
        for place, _ in _at(data, *prefix, "limits", "*"):
            name = str(place[-1])
            if name not in known:
                near = nearest(name, sorted(known), cutoff=0.5)
                yield place, "there is no such limit" + (near or "; `tsaudit explain RULE` lists a rule's limits")


def _at(data: object, *pattern: str) -> Iterator[tuple[Path, str]]:
    """Every text at places like `pattern`, where `*` stands for any key or position."""
    if not pattern:
        if isinstance(data, str):
            yield (), data
        return
    if isinstance(data, list):
        entries: list[tuple[int | str, Any]] = list(enumerate(data)) if pattern[0] == "*" else []
    elif isinstance(data, dict):
        entries = list(data.items()) if pattern[0] == "*" else [(pattern[0], data.get(pattern[0]))]
    else:
        return
    for key, value in entries:
        for place, found in _at(value, *pattern[1:]):
            yield (key, *place), found
