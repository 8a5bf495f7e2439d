"""What an engine's room knows about single tables from their options: rules about several engines query it here."""

# ruff: noqa: ARG002 -- the engines' packages look at what the default answers do not need
from __future__ import annotations

import importlib
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Measurement, Profile


class Tables:
    """The answers for an engine whose tables have no options that matter; a room overrides those that differ."""

    def edition(self, profile: Profile, measurement: Measurement) -> str:
        """Which of the engine's limits hold for the table, as `Threshold.engines` names them after the engine."""
        return profile.edition

    def has_given_columns(self, measurement: Measurement) -> bool:
        """Whether the server made its columns out of a protocol's names, so that nobody chose them."""
        return False

    def has_labels_as_key(self, measurement: Measurement) -> bool:
        """Whether all its tags are the key by design."""
        return False

    def deduplicates_within_partitions(self, measurement: Measurement) -> bool:
        """Whether rows of one key and time replace each other only if they are of one partition."""
        return False


_PLAIN: Final = Tables()


def tables_of(engine: str) -> Tables:
    """What the engine's room declares as TABLES."""
    module = ENGINES[engine].tables
    found: Tables = importlib.import_module(module).TABLES if module else _PLAIN
    return found
