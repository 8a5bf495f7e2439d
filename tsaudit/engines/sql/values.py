"""SQL expressions that convert a value to another type, or to null if it does not fit: never to a wrong value."""

from __future__ import annotations

from typing import Final

WHOLE: Final = r"^[+-]?(0|[1-9][0-9]{0,17})$"
"""A number with a leading zero is a code, which a numeric type could not represent; more digits than these fit
no type.
"""
NUMBER: Final = r"^[+-]?(0|[1-9][0-9]{0,17}|[0-9]{1,18}\.[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,2})?$"
"""With a point, leading zeros only fill the places of a reading, such as `000101.213`."""
TIME: Final = (
    r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?( ?(Z|[+-][0-9]{2}(:?[0-9]{2})?))?)?$"
)
ZONE: Final = r"[T ][0-9:.,]+ ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
EPOCH: Final = r"^[1-9]([0-9]{9}|[0-9]{12}|[0-9]{15}|[0-9]{18})$"
_YES: Final = ("true", "yes", "on")
_NO: Final = ("false", "no", "off")


def boolean(text: str, yes: str = "TRUE", no: str = "FALSE") -> str:
    """Converts the words for true and false."""
    words = [", ".join(f"'{word}'" for word in ones) for ones in (_YES, _NO)]
    return f"CASE WHEN lower({text}) IN ({words[0]}) THEN {yes} WHEN lower({text}) IN ({words[1]}) THEN {no} END"


def whole(column: str) -> str:
    """Converts a float to an integer if it has no fraction."""
    return f"CASE WHEN {column} = floor({column}) AND abs({column}) < 9e15 THEN CAST({column} AS BIGINT) END"


def real(column: str, to: str) -> str:
    """Converts a number to a float of type `to` if one can hold it: integers beyond 2^53 would be rounded."""
    return f"CASE WHEN abs({column}) <= {2**53} THEN CAST({column} AS {to}) END"


def since_1970(text: str, epoch: str, microsecond: str) -> str:
    """Converts a string of digits to a time: the number of digits shows whether it is in seconds or a smaller unit."""
    number = f"CAST({text} AS BIGINT)"
    times = {10: f"{number} * 1000000", 13: f"{number} * 1000", 16: number, 19: f"{number} / 1000"}
    units = " ".join(f"WHEN {digits} THEN {value}" for digits, value in times.items())
    return f"{epoch} + {microsecond.format(number=f'CAST(CASE length({text}) {units} END AS BIGINT)')}"
