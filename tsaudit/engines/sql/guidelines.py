"""The guidelines that matter in databases whose tables are declared in SQL."""

from typing import Final

OWN: Final = frozenset({"E8"})
"""Guidelines specific to a few engines that also apply here."""

MOOT: Final = {
    **dict.fromkeys(("D6", "D7"), "the engine is built to join tables"),
    "C5": "any type works in a key",
    "C6": "there is no series index that a changed attribute would enlarge",
    "F2": "permissions are granted per table or row",
    "H1": "these engines partition into a table per period; the number of tables is reported under A7",
}
"""Guidelines that do not matter here, each with the reason."""
