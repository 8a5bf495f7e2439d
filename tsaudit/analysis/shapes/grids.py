"""Finds names that are a grid of words: `kitchen_temperature`, `kitchen_humidity`, `bath_temperature`, and so on.

Each word alone could be part of a name. That nearly all combinations exist shows that the words are data: the parts of
a name that a program or a person puts together from lists. Names that any quantity can have, such as `min`, do not say
what is measured.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.shapes.identifiers import beginning
from tsaudit.analysis.shapes.name_families import NameFamily, place_name
from tsaudit.model.change import ColumnPart, Merged

STATISTIC: Final = re.compile(
    r"(n|num|count|counter|sum|mean|avg|average|median|min|minimum|max|maximum|upper|lower|std|stddev|std_dev|var"
    r"|variance|first|last|value|gauge|rate|delta|histogram"
    r"|(m\d+|mean|one_minute|five_minute|fifteen_minute)_?rate"
    r"|(upper|lower|mean|sum|count|p|pct|percentile|quantile)?_?\d+(_?\d+)?(_?(pct|percentile|th|ile))?|sum_squares)",
    re.IGNORECASE,
)
"""Of fields."""
SUFFIX: Final = re.compile(rf"total|bucket|created|info|{STATISTIC.pattern}", re.IGNORECASE)
"""The same at the end of the names of metrics, as OpenMetrics has them."""


_SEPARATORS: Final = re.compile(r"[\W_]+")
_HUMPS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
FEWEST: Final = 12
"""Names of a grid: two directions of three counters are part of many schemas."""
_LEAST_FILLED: Final = 0.6
"""Share of all combinations: words that merely follow each other fill a small part."""
_LONGEST: Final = 4
"""Fewest words in one of the places: shorter lists are often the parts of one thing."""
_MANY: Final = 24
"""Names from which short lists, such as three sites with three machines and three quantities each, are enough."""
_NEARLY_ALL: Final = 0.9
_JOINTS: Final = "_-./: |"
FEWEST_ALIKE: Final = 5
"""Names that differ in one word only, of tables with the same columns; the default of `fewest`."""
_RESOLUTION: Final = re.compile(
    r"\d+(ms|s|sec|m|mi|min|h|hr|d|w|mo|y)|raw|(per)?(second|minute|hour|day|week|month|quarter|year)s?"
    r"|(minute|hour|week|month|quarter|year)ly|daily|agg|total|all",
    re.IGNORECASE,
)
"""Words of the same readings at several resolutions, which are tables of their own on purpose."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Names that combine words from several lists."""

    template: str
    """The name with `{first_part}` and so on for each varying place."""
    members: tuple[str, ...]
    """Sorted."""
    measurement: str
    """The suggested name for all of them: the words that do not vary; empty if all do."""
    names: tuple[str, ...]
    """Of the varying places."""
    rows: tuple[tuple[str, ...], ...]
    """The words of each member at these places."""

    @property
    def words(self) -> tuple[tuple[str, ...], ...]:
        """All words of each varying place, sorted."""
        return tuple(tuple(sorted(set(column))) for column in zip(*self.rows, strict=True))

    @property
    def parts(self) -> tuple[ColumnPart, ...]:
        """The varying places, with the word of the first member."""
        return tuple(map(ColumnPart, self.names, self.rows[0]))

    @property
    def family(self) -> NameFamily:
        """The same as a family of names."""
        return NameFamily(self.template, self.members, self.measurement or "readings", self.parts, None)

    def parsed_names(self) -> Iterator[Merged]:
        """The words of each member."""
        for name, words in zip(self.members, self.rows, strict=True):
            yield Merged(name, tuple(zip(self.names, words, strict=True)))


def grids(names: Collection[str], *, strong_only: bool = False) -> list[Grid]:
    """The grids among names, by template: at least two places vary, and most combinations exist.

    `strong_only`: only characters that no word contains separate words: `.`, `/`, `:`, `|`, and blanks.
    """
    if strong_only:
        names = [name for name in names if re.search(r"[./:| ]", name)]
    found = (_grid(group) for group in _alike(names).values() if len(group) >= FEWEST)
    return sorted((grid for grid in found if grid is not None and _is_filled(grid)), key=lambda g: g.template)


def lists(names: Collection[str], fewest: int = FEWEST_ALIKE) -> list[Grid]:
    """At least `fewest` names that are the same but for one word, by template; for tables known to have the same
    columns.
    """
    found: list[Grid] = []
    for group in _alike(names).values():
        grid = _grid(group) if len(group) >= fewest else None
        if grid is not None and len(grid.parts) == 1 and grid.measurement and not _are_resolutions(grid.words[0]):
            found.append(grid)
    return sorted(found, key=lambda g: g.template)


def _name_resolutions(names: Collection[str]) -> bool:
    """Whether most names contain one, as in `flow_1h` and `flow_raw`."""
    return 2 * sum(any(map(_RESOLUTION.fullmatch, _split(name)[0])) for name in names) > len(names)


def _are_resolutions(words: Sequence[str]) -> bool:
    return 2 * sum(bool(_RESOLUTION.fullmatch(word)) for word in words) > len(words)


def whole(names: Collection[str], fewest: int = FEWEST_ALIKE) -> list[Grid]:
    """All names as one list, if there are `fewest`; for tables of readings known to have the same columns."""
    if len(names) < fewest or _name_resolutions(names):
        return []
    ordered = tuple(sorted(names))
    return [Grid(f"{{{place_name(0)}}}", ordered, "", (place_name(0),), tuple((name,) for name in ordered))]


def quantities_of_things(names: Collection[str]) -> list[Grid]:
    """Names of things, each with the same quantities: `dag_<dag>_<task>_duration`, `dag_<dag>_<task>_delay`.

    The names of the things are of any number of words, so there has to be a word before them that they share.
    """
    things: dict[str, set[str]] = defaultdict(set)
    for name in names:
        for found in _SEPARATORS.finditer(name):
            if not SUFFIX.fullmatch(name[found.end() :]):
                things[name[found.start() :]].add(name[: found.start()])
    of = {quantity: _shortest(heads) for quantity, heads in things.items() if len(heads) >= FEWEST}
    first = max(sorted(of), key=lambda quantity: len(of[quantity]), default=None)
    if first is None or len(of[first]) < FEWEST:
        return []
    alike = [q for q, heads in of.items() if len(heads & of[first]) >= _NEARLY_ALL * len(heads | of[first])]
    both = set.intersection(*(of[quantity] for quantity in alike))
    before = beginning(list(both)) if both else ""
    before = before[: max((found.end() for found in _SEPARATORS.finditer(before)), default=0)]
    if len(alike) < 2 or len(both) < FEWEST or not before:
        return []
    words = {head + q: (head[len(before) :], q.strip(_JOINTS)) for q in alike for head in both}
    members = tuple(sorted(words))
    joint = first[: len(first) - len(first.lstrip(_JOINTS))]
    rows = tuple(words[name] for name in members)
    names_of = (place_name(0), place_name(1))
    template = f"{before}{{{names_of[0]}}}{joint}{{{names_of[1]}}}"
    return [Grid(template, members, before.strip(_JOINTS).lower(), names_of, rows)]


def _shortest(heads: Collection[str]) -> set[str]:
    """Those that do not begin with another one and a separator: of `job` and `job_queued`, both before `_time`."""
    return {head for head in heads if not any(head[: found.start()] in heads for found in _SEPARATORS.finditer(head))}


def _alike(names: Collection[str]) -> dict[tuple[str, ...], list[str]]:
    """Names with the same separators, and so with as many words."""
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in sorted(names):
        words, separators = _split(name)
        if len(words) > 1:
            groups[separators].append(name)
    return groups


def _split(name: str) -> tuple[list[str], tuple[str, ...]]:
    """The words of a name and what separates them; changes of case, if nothing else does."""
    separators = tuple(_SEPARATORS.findall(name))
    if separators:
        return _SEPARATORS.split(name), separators
    return _HUMPS.split(name), ("^",) * len(_HUMPS.findall(name))


def _grid(names: Sequence[str]) -> Grid | None:
    split = [_split(name)[0] for name in names]
    columns = [sorted(set(column)) for column in zip(*split, strict=True)]
    varying = [place for place, words in enumerate(columns) if len(words) > 1]
    if not varying:
        return None
    fixed = [words[0] for words in columns if len(words) == 1]
    separators = [s.replace("^", "") for s in _split(names[0])[1]]
    pieces = [f"{{{place_name(place)}}}" if place in varying else words[0] for place, words in enumerate(columns)]
    template = "".join(piece + separator for piece, separator in zip(pieces, [*separators, ""], strict=True))
    return Grid(
        template=template,
        members=tuple(names),
        measurement="_".join(word.lower() for word in fixed if word),
        names=tuple(map(place_name, varying)),
        rows=tuple(tuple(words[place] for place in varying) for words in split),
    )


def _is_filled(grid: Grid) -> bool:
    sizes = [len(words) for words in grid.words]
    is_long = max(sizes) >= _LONGEST or len(grid.members) >= _MANY
    return len(sizes) > 1 and is_long and len(grid.members) >= _LEAST_FILLED * math.prod(sizes)
