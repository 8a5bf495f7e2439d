"""Temporary files in memory, where the machine has room: databases sync each write, and a disk takes long for that."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

_MEMORY: Final = Path("/dev/shm")
_ROOM: Final = 8 << 30
"""Bytes. Three workers were seen to use 3 GiB; the rest is for what else the machine does."""


def keep_files_in_memory() -> None:
    """In this process and those that it starts. Nothing changes if somebody has chosen a place."""
    if "TMPDIR" in os.environ or not os.access(_MEMORY, os.W_OK) or shutil.disk_usage(_MEMORY).free < _ROOM:
        return
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
