"""Wakes a thread that waits for a socket, from another thread."""

from __future__ import annotations

import contextlib
import os
import socket


def shut_down(descriptor: int) -> None:
    """End both directions of the socket: whoever reads from it sees its end at once.

    Closing would not do: the one who waits would go on waiting, and the number could be given to another file. The
    socket remains its owner's to close. Nothing happens where there is no open socket.
    """
    if descriptor < 0:
        return
    with contextlib.suppress(OSError):
        copy = socket.socket(fileno=os.dup(descriptor))
        try:
            copy.shutdown(socket.SHUT_RDWR)
        finally:
            copy.close()
