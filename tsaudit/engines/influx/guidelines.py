"""The guidelines that matter where fields are stored separately and tags are indexed: InfluxDB 1.x and 2.x."""

from typing import Final

OWN: Final = frozenset({"B2", "B6", "C7", "D8"})
"""Guidelines specific to a few engines that also apply here."""

MOOT: Final = {
    **dict.fromkeys(("D1", "D3", "D4", "D5"), "fields are stored separately, so an absent one costs nothing"),
    "A9": "A5, A6, and C1 cover the values of tags and fields",
    "C5": "tag values are always text",
    "D7": "D6 covers the same",
    "E4": "A6 covers the same",
    "H4": "F3 covers the same",
}
"""Guidelines that do not matter here, each with the reason."""
