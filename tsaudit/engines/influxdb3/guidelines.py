"""The guidelines that matter on InfluxDB 3."""

from typing import Final

OWN: Final = frozenset({"B2"})
"""Guidelines specific to a few engines that also apply here."""

MOOT: Final = {
    **dict.fromkeys(
        ("A1", "A2", "A3", "A5", "A6", "A8", "A9", "C2", "C6", "G5"),
        "tag values are not indexed, so their number does not matter",
    ),
    "B6": "the server rejects a write that would create one",
    "C5": "tag values are always text",
    "D7": "D6 covers the same",
}
"""Guidelines that do not matter here, each with the reason."""
