"""The root of tsaudit's errors."""

from __future__ import annotations

from tsaudit.secrets import mask


class TsauditError(Exception):
    """Base of every error that tsaudit raises. Its text may quote a driver or a server, and contains no secret."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*(mask(one) if isinstance(one, str) else one for one in arguments), **named)


class UnfinishedModuleError(TsauditError):
    """A module of tsaudit's own does not define what its name promises. Says what to do."""
