"""Scheduled schema audits of live time-series databases.

The names below are for other programs and packages; docs/library.md shows how to use them. Each is loaded on first use,
so that `import tsaudit` takes next to no time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tsaudit.model.version import VERSION

if TYPE_CHECKING:
    from tsaudit.alerts.notifier import MessagePlace, Notice, NoticeRefusedError, Notifier, NotifyError
    from tsaudit.config.file import ConfigError
    from tsaudit.config.settings import Settings, Target
    from tsaudit.engines.connection import ConnectorError, FactError, Rows
    from tsaudit.engines.engine import Engine
    from tsaudit.errors import TsauditError
    from tsaudit.library import AuditOutcome, evaluate, load_settings, measure, run_audit
    from tsaudit.model.change import Change
    from tsaudit.model.figures import Subject
    from tsaudit.model.finding import AuditResult, Currency, Finding, Impact, Outcome, RuleResult, Severity, Verdict
    from tsaudit.model.plan import Plan, Step
    from tsaudit.model.profile import Measurement, Profile
    from tsaudit.rule import Case, Rule, Threshold
    from tsaudit.run import AuditRun

__all__ = [
    "AuditOutcome",
    "AuditResult",
    "AuditRun",
    "Case",
    "Change",
    "ConfigError",
    "ConnectorError",
    "Currency",
    "Engine",
    "FactError",
    "Finding",
    "Impact",
    "Measurement",
    "MessagePlace",
    "Notice",
    "NoticeRefusedError",
    "Notifier",
    "NotifyError",
    "Outcome",
    "Plan",
    "Profile",
    "Rows",
    "Rule",
    "RuleResult",
    "Settings",
    "Severity",
    "Step",
    "Subject",
    "Target",
    "Threshold",
    "TsauditError",
    "Verdict",
    "evaluate",
    "load_settings",
    "measure",
    "run_audit",
]

__version__ = VERSION

_HOMES: Final = {
    "alerts.notifier": ("MessagePlace", "Notice", "NoticeRefusedError", "Notifier", "NotifyError"),
    "config.file": ("ConfigError",),
    "config.settings": ("Settings", "Target"),
    "engines.connection": ("ConnectorError", "FactError", "Rows"),
    "engines.engine": ("Engine",),
    "errors": ("TsauditError",),
    "library": ("AuditOutcome", "evaluate", "load_settings", "measure", "run_audit"),
    "model.change": ("Change",),
    "model.figures": ("Subject",),
    "model.finding": (
        "AuditResult",
        "Currency",
        "Finding",
        "Impact",
        "Outcome",
        "RuleResult",
        "Severity",
        "Verdict",
    ),
    "model.plan": ("Plan", "Step"),
    "model.profile": ("Measurement", "Profile"),
    "run": ("AuditRun",),
    "rule": ("Case", "Rule", "Threshold"),
}
"""Module to the names that it defines."""
_HOME_OF: Final = {name: f"{__name__}.{module}" for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
