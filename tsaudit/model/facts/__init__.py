"""The facts: what a connector can be asked, and what its answer looks like.

A fact is the contract between a rule and a connector. A rule names the facts it `requires`; a connector
offers those for which `sql/<engine>/` holds a query file; a fact nobody asks for is not collected.
"""

from __future__ import annotations

from typing import Final

from tsaudit.model.facts.fact import Fact, Scope, Step
from tsaudit.model.facts.given import Given
from tsaudit.model.facts.of_databases import OF_DATABASES
from tsaudit.model.facts.of_measurements import OF_MEASUREMENTS

__all__ = ["FACTS", "STRUCTURE", "Fact", "Given", "Scope", "Step", "asked_for", "offered", "sources_of"]

FACTS: Final = {fact.name: fact for fact in (*OF_DATABASES, *OF_MEASUREMENTS)}

STRUCTURE: Final = frozenset({"databases", "policies", "measurements", "columns", "tag_keys", "field_types"})
"""The facts that say which measurements and columns there are."""


def offered(query_files: frozenset[str]) -> frozenset[str]:
    """The facts that can be had from the given ones: themselves, and all that can be worked out of them."""
    derived = {f.name for f in FACTS.values() if any(source in query_files for source in f.derived_from)}
    return query_files | derived


def asked_for(wanted: frozenset[str], query_files: frozenset[str]) -> frozenset[str]:
    """Which of the query files have to be run so that all of `wanted` that can be had is had."""
    direct = wanted & query_files
    sources = {s for name in wanted - query_files for s in FACTS[name].derived_from if s in query_files}
    return direct | sources


def sources_of(name: str) -> frozenset[str]:
    """The fact itself and those it can be worked out of: a gap in any of them is a gap in it."""
    return frozenset((name, *FACTS[name].derived_from))
