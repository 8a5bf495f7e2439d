"""Warns about files that an audit keeps on one machine although its Dagster instance distributes runs over several."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tsaudit.config.settings import Settings, Target
from tsaudit.engines.registry import ENGINES
from tsaudit.text import many

_ON_THIS_MACHINE: Final = frozenset({"DefaultRunLauncher", "SyncInMemoryRunLauncher"})
_SHOWN: Final = 5


def warnings(settings: Settings, targets: Iterable[Target], home: str | None = None) -> Iterator[str]:
    """One line for each kind of file that other machines could not read; none if all runs stay on one machine.

    `home`: Dagster's folder; None for $DAGSTER_HOME.
    """
    launcher = _launcher(home or os.environ.get("DAGSTER_HOME"))
    if launcher is None:
        return
    where = f"{launcher} launches runs on other machines"
    if settings.history.get_secret_value().startswith("sqlite:"):
        yield f"history: {where}, and this history is a file on one; use postgresql://"
    if settings.report.folder.startswith("file://") or "://" not in settings.report.folder:
        yield f"report.folder: {where}, and this folder is on one; use an object store, such as s3://"
    files = [target for target in targets if ENGINES[target.engine].is_a_file and not target.run_tags]
    if files:
        names = ", ".join(target.name for target in files[:_SHOWN]) + (", ..." if len(files) > _SHOWN else "")
        is_are = "is a file" if len(files) == 1 else "are files"
        yield (
            f"{names}: {where}, and {many(len(files), 'target')} {is_are} on one; "
            "use `run_tags` to choose the queue of the machine that has it"
        )


def _launcher(home: str | None) -> str | None:
    """The class of a run launcher that starts runs on other machines; None if there is none, or no readable
    dagster.yaml.
    """
    if not home:
        return None
    try:
        read = yaml.safe_load((Path(home) / "dagster.yaml").read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    named: Any = read.get("run_launcher") if isinstance(read, Mapping) else None
    name = named.get("class") if isinstance(named, Mapping) else None
    return name if isinstance(name, str) and name not in _ON_THIS_MACHINE else None
