"""Adds targets to an existing tsaudit.yaml and leaves everything else in it unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
import yaml

from tsaudit.cli import discovery
from tsaudit.cli.discovery import FoundTarget


@dataclass(frozen=True, slots=True)
class Existing:
    """An existing tsaudit.yaml."""

    file: Path
    lines: tuple[str, ...]
    targets: dict[str, tuple[str, str]]
    """Name to engine and address."""
    at: int
    """Index of the line before which a target is added."""
    indent: int
    """Column of the `-` before each target."""

    @property
    def names(self) -> frozenset[str]:
        """The names of its targets."""
        return frozenset(self.targets)

    def new(self, found: Iterable[FoundTarget]) -> list[FoundTarget]:
        """The targets whose database is not yet in the file, with names that are not used in it."""
        known = set(self.targets.values())
        return discovery.unique([one for one in found if (one.engine, self._whole(one)) not in known], self.names)

    def with_entries(self, entries: Sequence[str]) -> str:
        """The text of the file with the entries added; each entry begins with `  - `."""
        return "".join([*self.lines[: self.at], *map(self._indented, entries), *self.lines[self.at :]])

    def _indented(self, entry: str) -> str:
        end = "\r\n" if self.lines[0].endswith("\r\n") else "\n"
        return "".join(f"{' ' * self.indent}{line[2:]}{end}" for line in entry.splitlines())

    def _whole(self, one: FoundTarget) -> str:
        """The address in the form that the settings have."""
        from tsaudit.config.file import anchored_url
        from tsaudit.engines.registry import ENGINES

        return anchored_url(one.url, self.file.absolute().parent) if ENGINES[one.engine].is_a_file else one.url


def read(file: Path) -> Existing:
    """The file's contents. Raises ConfigError if it is invalid, click.UsageError if nothing can be added to it."""
    from tsaudit.config.file import load

    if not file.exists():
        raise click.UsageError(f"there is no {file} to add to; leave out `--add`")
    settings = load(file, resolve_env=False)
    text = file.read_bytes().decode()
    root = yaml.compose(text, yaml.SafeLoader)
    found = [value for key, value in root.value if key.value == "targets"] if isinstance(root, yaml.MappingNode) else []
    if not found or not isinstance(found[0], yaml.SequenceNode) or found[0].flow_style or not found[0].value:
        raise click.UsageError(f"`targets:` in {file} is not a list with a `-` before each target; add it by hand")
    lines = text.splitlines(keepends=True)
    if not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    at = min(found[0].end_mark.line + (found[0].end_mark.column > 0), len(lines))
    # Comments at the beginning of a line are about what follows the targets.
    while lines[at - 1].startswith("#") or not lines[at - 1].strip():
        at -= 1
    known = {t.name: (t.engine, t.url.get_secret_value()) for t in settings.targets}
    return Existing(file, tuple(lines), known, at, found[0].start_mark.column)
