"""Numbers with a check digit that a registry gave to a product or a device: there are as many as there are of those."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_GTIN: Final = frozenset({8, 12, 13, 14})
"""Digits of the numbers of articles and books."""
_DEVICES: Final = frozenset({15, 19, 20})
"""Digits of the numbers of mobile devices and SIM cards."""
_TELECOM: Final = re.compile(r"(?:35|86)\d{13}|89\d{17,18}|89\d{30}")
"""IMEI, ICCID, and EID by the digits of those that issue nearly all of them."""
_SHARE: Final = 0.95
"""Of the numbers whose check digit must fit; of random ones, a tenth does."""


def are_registered(digits: Sequence[str]) -> bool:
    """Whether the numbers of one length have the check digit of GTIN (EAN, UPC, ISBN), IMEI, or ICCID."""
    lengths = {len(d) for d in digits}
    if all(_TELECOM.fullmatch(d) for d in digits):
        return True
    fits = _fits_gtin if lengths <= _GTIN else _fits_luhn if lengths <= _DEVICES and len(lengths) == 1 else None
    return fits is not None and sum(map(fits, digits)) >= _SHARE * len(digits)


def _fits_gtin(digits: str) -> bool:
    return sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(reversed(digits))) % 10 == 0


def _fits_luhn(digits: str) -> bool:
    doubled = (int(c) * (2 if i % 2 else 1) for i, c in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0
