"""Wakes up a thread that waits for a socket, from another thread."""

from __future__ import annotations

import contextlib
import os
import socket


def shut_down(descriptor: int) -> None:
    """End both directions of the socket: a thread that is reading from it immediately gets the end of the stream.

    Closing would not be enough: the waiting thread would go on waiting, and the file descriptor could be reused. The
    owner of the socket still has to close it. Nothing happens if there is no open socket.
    """
    if descriptor < 0:
        return
    with contextlib.suppress(OSError):
        copy = socket.socket(fileno=os.dup(descriptor))
        try:
            copy.shutdown(socket.SHUT_RDWR)
        finally:
            copy.close()
