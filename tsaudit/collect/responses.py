"""Responses that cannot be used, and the words and reasons of the gaps that they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tsaudit.engines.connection import FactError
from tsaudit.model.profile import Reason
from tsaudit.net.watchdog import OutOfTimeError

if TYPE_CHECKING:
    import pyarrow as pa

_NAMES: Final = {"databases": "database", "measurements": "measurement"}
"""Lists of names to the column that contains the names."""


def see_names(fact: str, batch: pa.RecordBatch) -> None:
    """ValueError if a name is missing from a list of names: everything after that would fail on it."""
    if fact in _NAMES and batch.column(_NAMES[fact]).null_count:
        raise ValueError("a name is null")


def not_understood(error: Exception) -> str:
    """The text of a gap for a response that tsaudit does not expect."""
    text = str(error).strip() or "no message"
    return f"tsaudit does not understand the response ({type(error).__name__}: {text.splitlines()[0][:200]})"


def reason_of(error: FactError | OutOfTimeError, timeout_s: float) -> tuple[Reason, str]:
    """Reason and text of a gap for a statement that failed. `timeout_s`: its time limit."""
    if isinstance(error, FactError):
        return error.reason, error.detail
    return Reason.TIMED_OUT, f"no response within {timeout_s:.3g} s; the connection was closed"
