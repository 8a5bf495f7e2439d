"""The facts: what a connector can be asked for, and the format of its answers.

A fact is the contract between a rule and a connector. A rule names the facts it `requires`; a connector offers those
with a query file in `sql/<engine>/`. A fact that no rule needs is not collected.
"""

from __future__ import annotations

from typing import Final

from tsaudit.model.facts.fact import Fact, Scope
from tsaudit.model.facts.given import Given
from tsaudit.model.facts.of_databases import OF_DATABASES
from tsaudit.model.facts.of_measurements import OF_MEASUREMENTS

__all__ = ["FACTS", "STRUCTURE", "Fact", "Given", "Scope", "asked_for", "offered", "sources_of"]

FACTS: Final = {fact.name: fact for fact in (*OF_DATABASES, *OF_MEASUREMENTS)}

STRUCTURE: Final = frozenset({"databases", "policies", "measurements", "columns", "tag_keys", "field_types"})
"""The facts that list measurements and columns."""


def offered(query_files: frozenset[str]) -> frozenset[str]:
    """The facts available from the given ones: their own, and all that can be derived from those."""
    derived = {f.name for f in FACTS.values() if any(source in query_files for source in f.derived_from)}
    return query_files | derived


def asked_for(wanted: frozenset[str], query_files: frozenset[str]) -> frozenset[str]:
    """The query files to run so that every available fact in `wanted` is measured."""
    direct = wanted & query_files
    sources = {s for name in wanted for s in FACTS[name].derived_from if s in query_files}
    return direct | sources


def sources_of(name: str) -> frozenset[str]:
    """The fact itself and those that it can be derived from: a gap in any of them is a gap in the fact."""
    return frozenset((name, *FACTS[name].derived_from))
