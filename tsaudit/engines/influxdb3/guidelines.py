"""Which guidelines matter here."""

from typing import Final

OWN: Final = frozenset({"B2"})
"""Those of few engines that hold here."""

MOOT: Final = {
    **dict.fromkeys(
        ("A1", "A2", "A3", "A5", "A6", "A8", "A9", "C2", "C6", "G5"),
        "tag values are not indexed, so their number does not matter",
    ),
    "B6": "the server rejects a write that would create one",
    "C1": "neither tag nor field values are indexed, so filtering costs the same",
    "C5": "tag values are always text",
    "D7": "D6 covers the same",
}
"""Those that do not matter here, each with the reason."""
