"""Why a notice was not delivered. Every method of a notifier raises one of these, and nothing else."""

from __future__ import annotations

from tsaudit.errors import TsauditError


class NotifyError(TsauditError):
    """The notice was not delivered, and the next run tries again. One line, with what to do."""

    def __init__(self, line: str, *, everywhere: bool = False) -> None:
        super().__init__(line)
        self.everywhere = everywhere
        """Whether this notifier can deliver no other notice either, for now."""


class NoticeRefusedError(NotifyError):
    """This notice will never be accepted. If it was sent with blocks, it is sent again as text; then it is dropped."""


class MessageGoneError(NotifyError):
    """The message to edit or reply to no longer exists, or cannot be changed."""


class BusyError(NotifyError):
    """Too many calls; nothing was stored."""

    def __init__(self, line: str, wait_s: float) -> None:
        super().__init__(line)
        self.wait_s = wait_s


class CallFailedError(NotifyError):
    """There was no answer, or none that the service sends: the call has to be repeated."""

    def __init__(self, line: str, *, stored: bool, everywhere: bool = False, late: bool = False) -> None:
        super().__init__(line, everywhere=everywhere)
        self.stored = stored
        """Whether the message may have arrived all the same."""
        self.late = late
        """It used up the time of a call: a few more would use up the time of the others."""


class DeadlineError(NotifyError):
    """The time budget of the run is used up; the call was not made."""


class SetupError(NotifyError):
    """Nothing will arrive until somebody changes a setting, here or at the service."""

    def __init__(self, line: str, *, code: str = "", everywhere: bool = True) -> None:
        super().__init__(f"{line} ({code})" if code else line, everywhere=everywhere)
        self.code = code
        """The service's own word for it, and the permission that it asks for; empty if it names none."""


class LookUpError(NotifyError):
    """This notifier cannot check whether a message has arrived."""
