"""Compiled Jinja templates, stored like bytecode."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import BytecodeCache


def beside(package: Path, prefix: str = "") -> BytecodeCache | None:
    """The store for the templates that the package in this folder uses, next to its bytecode. None if Python writes
    none, or if only others can write there: who can write there could also change the code.

    `prefix` keeps apart templates with the same name.
    """
    from jinja2 import FileSystemBytecodeCache

    folder = package / "__pycache__"
    is_kept = not sys.dont_write_bytecode and os.access(folder, os.W_OK)
    return FileSystemBytecodeCache(str(folder), f"{prefix}%s.jinja") if is_kept else None
