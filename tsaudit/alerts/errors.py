"""Why a notice was not delivered. Every method of a notifier raises one of these, and nothing else."""

from __future__ import annotations

from tsaudit.errors import TsauditError


class NotifyError(TsauditError):
    """The notice was not delivered, and the next run tries again. The error's text is one line that says what to do."""

    def __init__(self, line: str, *, everywhere: bool = False) -> None:
        super().__init__(line)
        self.everywhere = everywhere
        """Whether this notifier cannot deliver any other notice at the moment, either."""


class NoticeRefusedError(NotifyError):
    """This notice will never be accepted. If it was sent with blocks, it is sent again as text; then it is dropped."""


class MessageGoneError(NotifyError):
    """The message to edit or reply to no longer exists, or cannot be changed."""


class BusyError(NotifyError):
    """The service received too many calls; it did not store the notice."""

    def __init__(self, line: str, wait_s: float) -> None:
        super().__init__(line)
        self.wait_s = wait_s


class CallFailedError(NotifyError):
    """The service did not answer, or sent an answer that it never sends itself: the call has to be repeated."""

    def __init__(self, line: str, *, stored: bool, everywhere: bool = False, late: bool = False) -> None:
        super().__init__(line, everywhere=everywhere)
        self.stored = stored
        """Whether the message may have arrived anyway."""
        self.late = late
        """Whether the call used up its full time: repeating it would take time from other channels."""


class DeadlineError(NotifyError):
    """The time budget of the run is used up; the call was not made."""


class SetupError(NotifyError):
    """Nothing will arrive until somebody changes a setting, here or at the service."""

    def __init__(self, line: str, *, code: str = "", everywhere: bool = True) -> None:
        super().__init__(f"{line} ({code})" if code else line, everywhere=everywhere)
        self.code = code
        """The service's error code, followed by the permission that it asks for; empty if it names none."""


class LookUpError(NotifyError):
    """This notifier cannot check whether a message has arrived."""
