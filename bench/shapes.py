"""How well the shapes of columns are recognized, on labelled values: `shapes.py`, or `shapes.py values.json`.

The file: {"name": {"label": "E", "values": ["..."]}, ...}. Labels: E endless IDs, T texts and times, C several
attributes in one value, N harmless; others are only counted. To hold, for E and T 0.9, for C 0.8 found; of N at most
0.03 called IDs or texts. `--held-back` judges the kinds that are kept out of every other run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from tests.analysis.shapes.scoring import GOALS, Score, labelled, scored


def main() -> int:
    """0 when all goals are reached."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--held-back", action="store_true")
    given = parser.parse_args()
    if given.file:
        read = json.loads(given.file.read_text())
        kinds = {name: (kind["label"], kind["values"]) for name, kind in read.items()}
    else:
        kinds = labelled(held_back=given.held_back)
    began = time.perf_counter()
    score = scored(kinds)
    seconds = time.perf_counter() - began
    for line in score.missed:
        print("missed", line)
    for line in score.false:
        print("false ", line)
    print(f"{'ids found':<28}{told(score, 'E')}\n{'texts found':<28}{told(score, 'T')}")
    print(f"{'composites found':<28}{told(score, 'C')}\n{'harmless called ids or text':<28}{told(score, 'N')}")
    print(f"{'harmless taken apart':<28}{score.taken_apart} of {score.of['N']}")
    print(f"{1000 * seconds / max(1, len(kinds)):.1f} ms a column")
    return int(not score.holds)


def told(score: Score, label: str) -> str:
    """The share with its goal."""
    most = "at most" if label == "N" else "at least"
    return f"{score.found[label]:>3} of {score.of[label]:<4} {score.share(label):.3f}, {most} {GOALS[label]:g}"


if __name__ == "__main__":
    sys.exit(main())
