"""The root of tsaudit's errors."""

from __future__ import annotations

from tsaudit.secrets import mask


class TsauditError(Exception):
    """Base of every error that tsaudit raises. Its text may quote a driver or a server, and contains no secret."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*(mask(one) if isinstance(one, str) else one for one in arguments), **named)


class UnfinishedModuleError(TsauditError):
    """A module of tsaudit's own does not define what its name promises. Says what to do."""


def internal(error: BaseException) -> str:
    """An error that nobody foresaw, in one line: the part of tsaudit where it came up, its kind, and its words."""
    place, frame = "", error.__traceback__
    while frame is not None:
        module = str(frame.tb_frame.f_globals.get("__name__", ""))
        place = module if module.partition(".")[0] == "tsaudit" else place
        frame = frame.tb_next
    said = mask(next(iter(str(error).splitlines()), ""))
    return f"internal error{f' in {place}' if place else ''}: {type(error).__name__}{f': {said}' if said else ''}"
