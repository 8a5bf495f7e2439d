"""What became of the plans of the layouts, as `make golden` kept it: `python -m tests.planning.figures` prints it."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Final

from tests.planning.following import Followed

_FILE: Final = Path(__file__).parents[1] / "golden" / "plans_of_layouts.json"
_WORDS: Final = ("plans", "in words only", "copied by a program", "statements executed", "refused", "values lost")

Figures = dict[str, dict[str, int]]
"""Engine, layout and version, with blanks between, to figures by their names."""


def figures_of(followed: Followed) -> dict[str, int]:
    """Of one database."""
    found = (followed.plans, followed.in_words, followed.by_program, followed.executed)
    return dict(zip(_WORDS, (*found, len(followed.refused), len(followed.lost)), strict=True))


def name(engine: str, layout: str, version: str) -> str:
    """As what the figures of a layout's version are kept."""
    return f"{engine} {layout} {version}"


def kept() -> Figures:
    """Of each version of a layout that has plans."""
    found: Figures = json.loads(_FILE.read_text()) if _FILE.exists() else {}
    return found


def keep(found: Figures) -> None:
    """In place of those that were kept."""
    _FILE.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def main() -> None:
    """Print the sums of each engine, and of all."""
    sums: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(_WORDS, 0))
    for key, figures in sorted(kept().items()):
        for engine in (key.partition(" ")[0], "all"):
            for word in _WORDS:
                sums[engine][word] += figures[word]
    print("engine", *_WORDS, sep="\t")
    for engine in sorted(sums, key=lambda one: (one == "all", one)):
        print(engine, *sums[engine].values(), sep="\t")


if __name__ == "__main__":
    main()
