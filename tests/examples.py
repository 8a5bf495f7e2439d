"""How many examples a property test tries."""

from __future__ import annotations

import os
from typing import Final

IS_FIRST_TIER: Final = os.environ.get("TSAUDIT_TIER") == "first"
"""Set by `make test`; see `tests/tiers.py`."""
_FEWEST: Final = 5


def examples(most: int) -> int:
    """`most`, or a fifth of it in the first tier: what breaks a property mostly shows in the first few examples.

    TSAUDIT_EXAMPLES is another number, for once.
    """
    if number := os.environ.get("TSAUDIT_EXAMPLES"):
        return int(number)
    return min(most, max(_FEWEST, most // 5)) if IS_FIRST_TIER else most
