"""The root of tsaudit's errors."""

from __future__ import annotations

from tsaudit.secrets import mask


class TsauditError(Exception):
    """Base class of every error that tsaudit raises. The text may quote a driver or a server, but contains
    no secret.
    """

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*(mask(one) if isinstance(one, str) else one for one in arguments), **named)


class UnfinishedModuleError(TsauditError):
    """One of tsaudit's own modules does not define what its name requires. The text says what to do."""


def internal(error: BaseException) -> str:
    """An unexpected error in one line: the part of tsaudit in which it was raised, its type, and its text."""
    place, frame = "", error.__traceback__
    while frame is not None:
        module = str(frame.tb_frame.f_globals.get("__name__", ""))
        place = module if module.partition(".")[0] == "tsaudit" else place
        frame = frame.tb_next
    said = mask(next(iter(str(error).splitlines()), ""))
    return f"internal error{f' in {place}' if place else ''}: {type(error).__name__}{f': {said}' if said else ''}"
