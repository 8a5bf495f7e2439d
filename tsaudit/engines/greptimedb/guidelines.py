"""The guidelines that matter on GreptimeDB."""

from typing import Final

OWN: Final = frozenset({"E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", "E9", "E10", "E11", "E12", "E13"})
"""Guidelines specific to a few engines that also apply here."""

MOOT: Final = {
    "F2": "permissions are granted per table",
}
"""Guidelines that do not matter here, each with the reason."""
