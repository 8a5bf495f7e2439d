"""What other packages bring: engines, rules and sinks, found by their entry points.

A plug-in that cannot be used is a `Problem`, one line for people. Whoever needed it reports that; nothing else stops.
"""

from tsaudit.plugins.entry_points import ENGINES, RULES, SINKS, Loaded, Problem, installed, load, why

__all__ = ["ENGINES", "RULES", "SINKS", "Loaded", "Problem", "installed", "load", "why"]
