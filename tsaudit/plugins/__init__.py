"""Engines, rules, and notifiers of other packages, found by their entry points.

A plug-in that cannot be used becomes a `Problem`, which is one line for people. The code that needs the plug-in reports
it; everything else goes on.
"""

from tsaudit.plugins.entry_points import ENGINES, NOTIFIERS, OWN, RULES, Loaded, Problem, installed, load, why

__all__ = ["ENGINES", "NOTIFIERS", "OWN", "RULES", "Loaded", "Problem", "installed", "load", "why"]
