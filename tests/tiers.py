"""The tests of the first tier, which `make test` runs; `make test-all` runs those with the marker `full`, too.

A test belongs in the first tier if it is the cheapest one that notices its kind of mistake. So these are `full`:

- what waits for other processes (`waits`), gives something a fraction of a second (`wall_clock`), or starts a browser
  (`ui`): the first tier neither sleeps nor depends on the speed of the machine;
- of a test that runs on several engines of one family: all but one engine;
- of a test that is repeated with several seeds, or whose cases take long (`costly`): all but the first one;
- of a test that runs on several families, such as a rule's case: those of the families that are slow to write what it
  needs, if another one runs it, but for what is about the families themselves: the contract and the faults;
- of a rule's cases that only such a family runs: all but the first one;
- seven in eight layouts; what stays covers every rule that a layout is to break;
- what is marked as `full` itself.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.layouts.layout import Layout
from tsaudit.engines.registry import ENGINES

ONE_IN: Final = 8
"""Layouts of which one is in the first tier."""


def families() -> Iterator[list[str]]:
    """Engines that share most of their code, by the class that they extend: first the one that is tested at the lowest
    cost, which has no server, and no driver to load.
    """
    alike: dict[type, list[str]] = defaultdict(list)
    for name, engine in ENGINES.items():
        alike[type(engine).__mro__[-3:][0]].append(name)
    for family in alike.values():
        yield sorted(family, key=lambda name: (not ENGINES[name].is_a_file, ENGINES[name].extra is not None))


_FAMILY_OF: Final = {engine: family[0] for family in families() for engine in family}
_RANK: Final = {engine: family.index(engine) for family in families() for engine in family}
_SLOW: Final = ("waits", "wall_clock", "ui")
_COSTLY: Final = ("greptimedb", "influxdb3", "timestream")
"""Families on which a case takes several times as long as on the others: 0.3 to 0.6 s, and 0.07 to 0.2 s."""
_ABOUT_FAMILIES: Final = ("tests/collect/test_contract.py", "tests/faults/")
"""What each family has to do by itself."""


def mark(items: Sequence[pytest.Item]) -> None:
    """Add the marker `full` to what only `make test-all` runs."""
    # The cases that are left are known last.
    for chosen in (_slow, _repeated, _costly_families, _further_layouts, _further_cases):
        for item in list(chosen(items)):
            item.add_marker(pytest.mark.full)


def is_left_out(path: Path) -> bool:
    """Whether all tests of the module are `full`: the first tier need not import it."""
    marks = "|".join(("full", *_SLOW))
    return path.match("test_*.py") and bool(
        re.search(rf"^pytestmark = pytest\.mark\.({marks})$", path.read_text(), re.M)
    )


def _slow(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    return (item for item in items if any(item.get_closest_marker(name) for name in _SLOW))


def _repeated(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests that another engine of the family runs, too."""
    alike: dict[tuple[str, str, str], list[tuple[int, pytest.Item]]] = defaultdict(list)
    for item in items:
        engine = _engine_of(item)
        if isinstance(item, pytest.Function) and engine:
            with_family = item.callspec.id.replace(engine, _FAMILY_OF[engine])
            alike[str(item.path), item.originalname, with_family].append((_RANK[engine], item))
    for same in alike.values():
        lowest = min(rank for rank, _ in same)
        yield from (item for rank, item in same if rank > lowest)


def _further_cases(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    seen: set[tuple[str, str]] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.get_closest_marker("full"):
            continue
        test = str(item.path), item.originalname
        if _params(item).get("seed") or (item.get_closest_marker("costly") and test in seen):
            yield item
        seen.add(test)


def _costly_families(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Tests on a costly family that another family runs, too, and further cases of rules that no other one runs."""
    alike: dict[tuple[str, str, str], list[tuple[str, pytest.Item]]] = defaultdict(list)
    for item in (item for item in items if isinstance(item, pytest.Function)):
        engine = _engine_of(item)
        if engine and not item.nodeid.startswith(_ABOUT_FAMILIES):
            with_any = item.callspec.id.replace(engine, "")
            alike[str(item.path), item.originalname, with_any].append((_FAMILY_OF[engine], item))
    seen: set[tuple[str, str, str]] = set()
    for (_, test, _), same in alike.items():
        elsewhere = any(family not in _COSTLY for family, _ in same)
        for family, item in same:
            of_rule = test, family, getattr(_params(item).get("rule"), "code", item.nodeid)
            if family in _COSTLY and (elsewhere or of_rule in seen):
                yield item
            seen.add(of_rule)


def _engine_of(item: pytest.Item) -> str:
    """The engine that the test is parametrized with; empty if there is none, or several."""
    params = _params(item) if isinstance(item, pytest.Function) else {}
    found = [value for value in params.values() if isinstance(value, str) and value in _FAMILY_OF]
    return found[0] if len(found) == 1 else ""


def _params(item: pytest.Function) -> Mapping[str, object]:
    """What the test is parametrized with, by name."""
    return item.callspec.params if hasattr(item, "callspec") else {}


def _further_layouts(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    of_layouts = [
        (layout, item)
        for item in items
        if isinstance(item, pytest.Function)
        for layout in [_params(item).get("layout")]
        if isinstance(layout, Layout)
    ]
    kept = first_tier({layout.name: layout for layout, _ in of_layouts}.values())
    return (item for layout, item in of_layouts if layout.name not in kept)


def first_tier(layouts: Iterable[Layout]) -> frozenset[str]:
    """The names of one layout in `ONE_IN`: first those that add a rule, or an engine, to what the others show."""
    left = sorted(layouts, key=lambda layout: layout.name)
    most = -(-len(left) // ONE_IN)
    chosen: list[Layout] = []
    shown: set[str] = set()
    while left and len(chosen) < most:
        best = max(left, key=lambda layout: len(_shows(layout) - shown))
        if not _shows(best) - shown:
            # Nothing new is left: take the others evenly.
            chosen += left[:: -(-len(left) // (most - len(chosen)))]
            break
        left.remove(best)
        chosen.append(best)
        shown |= _shows(best)
    return frozenset(layout.name for layout in chosen)


def _shows(layout: Layout) -> set[str]:
    """The rules that it is to break on its engine, and the engine's kept twin."""
    broken = {f"{code} {_FAMILY_OF[layout.engine]}" for wanted in layout.wanted for code in wanted.codes.split("|")}
    return broken | ({f"clean {layout.engine}"} if layout.clean else set())
