"""The guidelines that matter on Timestream."""

from typing import Final

OWN: Final = frozenset({"B2", "C4", "D8", "F4", "G1", "G2", "G3", "G4", "G5", "G6", "G7"})
"""Guidelines specific to a few engines that also apply here."""

MOOT: Final = {
    "A9": "G5 covers the values of dimensions",
    "C5": "C4 covers dimensions",
    "C7": "a record with another type is rejected",
    "E4": "G5 covers the same",
    "H5": "the API does not report bytes of a table, and no disk can fill up: storage is billed",
}
"""Guidelines that do not matter here, each with the reason."""
