"""What the configuration sets for rules and their limits, and how it names rules. It does not load the rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True)
class LimitPolicy:
    """The limits that the configuration sets, most general first.

    Each field maps `<rule name>.<threshold>` to a value: for all targets, by plan, for the target, and by pattern of
    measurement names.
    """

    everywhere: Mapping[str, float] = field(default_factory=dict)
    plan_name: str = ""
    plan: Mapping[str, tuple[float, str]] = field(default_factory=dict)
    """Each value with its source."""
    target: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RulePolicy:
    """The settings of rules in the configuration, most general first.

    Each field maps a code, a name, or a pattern to `off`, `on`, or a severity: for all targets, for the target, and by
    pattern of measurement names. The most specific setting for a rule wins.
    """

    everywhere: Mapping[str, str] = field(default_factory=dict)
    target: Mapping[str, str] = field(default_factory=dict)
    measurements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def setting(self, code: str, name: str, measurement: str = "") -> str | None:
        """The setting for the rule on the measurement, or on the target as a whole; None if there is none."""
        special = (s for pattern, s in self.measurements.items() if measurement and fnmatchcase(measurement, pattern))
        for settings in (*special, self.target, self.everywhere):
            if (found := _said_of(code, name, settings)) is not None:
                return found
        return None

    def is_off(self, code: str, name: str) -> bool:
        """Whether the rule never runs: it is switched off, and not switched on again for any measurement."""
        again = (_said_of(code, name, settings) for settings in self.measurements.values())
        return self.setting(code, name) == "off" and all(one in (None, "off") for one in again)


def _said_of(code: str, name: str, settings: Mapping[str, str]) -> str | None:
    words = {plain(word): setting for word, setting in settings.items()}
    exact = next((words[one] for one in (code.lower(), name) if one in words), None)
    return exact or next((setting for word, setting in words.items() if takes_in(word, code, name)), None)


def plain(word: str) -> str:
    """A rule's code, name, or pattern in comparable form: case is ignored, and `_` equals `-`."""
    return word.lower().replace("_", "-")


def takes_in(word: str, code: str, name: str) -> bool:
    """Whether the word is the rule's code or name, or a pattern that matches one of them."""
    return fnmatchcase(code.lower(), plain(word)) or fnmatchcase(name, plain(word))
