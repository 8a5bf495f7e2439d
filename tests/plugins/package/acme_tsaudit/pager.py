"""Tells Acme's pager, which is a folder here: one file for each message."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tsaudit import Notice, Notifier, NotifyError


class Pager(Notifier):
    def __init__(self, settings: Mapping[str, str]) -> None:
        self._folder = Path(settings["folder"])

    def notify(self, notice: Notice, timeout_s: float) -> None:
        if not self._folder.is_dir():
            raise NotifyError(f"there is no folder {self._folder}")
        (self._folder / f"{notice.id}.txt").write_text(f"{notice.owner}\n{notice.kind}\n{notice.text}\n")
