"""The guidelines that matter on MongoDB."""

from typing import Final

OWN: Final = frozenset({"B2", "C7", "H2", "H3", "H4", "H6"})
"""Guidelines specific to a few engines that also apply here."""

MOOT: Final = {
    **dict.fromkeys(
        ("A1", "A2", "A3", "A5", "A6", "A8", "A9", "C1", "C2", "C5", "C6", "D2", "G5"),
        "documents have no tags; H6 covers the metaField",
    ),
    **dict.fromkeys(("C3", "C4"), "H4 covers the types of fields"),
    **dict.fromkeys(("D6", "D7"), "a document embeds related data"),
    "B3": "attributes are nested; H4 covers fields",
    "B5": "names are quoted text in every query",
    "D1": "documents have no columns; H4 covers fields",
    "D5": "the fields of a document share its time",
    "E8": "H2 covers the index of an ID",
    "F1": "expiry is set for each collection",
}
"""Guidelines that do not matter here, each with the reason."""
