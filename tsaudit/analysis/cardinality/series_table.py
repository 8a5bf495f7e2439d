"""The series of a measurement as rows of codes: what tells them apart, and how many are left without some tags."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.cardinality import dependencies
from tsaudit.analysis.cardinality.dependencies import Determines
from tsaudit.analysis.cardinality.row_counts import Choice, Codes, RowCounter
from tsaudit.model.profile import Contribution


@dataclass(frozen=True, slots=True)
class Drop:
    """Tags taken away together, by position, and what is left."""

    tag: int
    together_with: tuple[int, ...]
    series_left: int

    def named(self, names: Sequence[str]) -> Contribution:
        return Contribution(names[self.tag], tuple(sorted(names[i] for i in self.together_with)), self.series_left)


class SeriesTable:
    """Rows of codes, one column per tag; the same series may have several rows.

    `levels` are the distinct codes per column; `determines` spares the search where it is known.
    """

    def __init__(
        self,
        columns: list[Codes],
        levels: list[int],
        rows: int,
        series: int,
        determines: Determines | None = None,
    ) -> None:
        self.columns = columns
        self.levels = levels
        self.rows = rows
        self.series = series
        self._known_determines = determines
        self._counter = RowCounter(columns, rows)
        self._known = {frozenset([tag]): count for tag, count in enumerate(levels)}
        self._known[frozenset()] = min(rows, 1)

    @property
    def _tags(self) -> Choice:
        return frozenset(range(len(self.columns)))

    def groups_without(self, dropped: Iterable[int]) -> tuple[int, int]:
        """Series told apart by the other tags, and how many of them are of one row only."""
        return self._counter.groups(self._tags.difference(dropped))

    def groups_with(self, tag: int, codes: Codes) -> tuple[int, int]:
        """Series, and those of one row only, if each code of the tag were replaced by that in `codes`."""
        columns = [codes[column] if i == tag else column for i, column in enumerate(self.columns)]
        return RowCounter(columns, self.rows).groups(self._tags)

    def first_rows(self, dropped: Iterable[int] = ()) -> npt.NDArray[np.int64]:
        """The rows at which a series, by the other tags, occurs for the first time."""
        return self._counter.first_rows(self._tags.difference(dropped))

    @cached_property
    def determines(self) -> Determines:
        """[x, y]: whether each value of x occurs with a single value of y; never so for constant y, or y = x."""
        if self._known_determines is not None:
            return self._known_determines
        return dependencies.single(self.columns, self.levels, self.series)

    @cached_property
    def _spares(self) -> npt.NDArray[np.bool_]:
        """[x, y]: whether y need not be looked at beside x; of tags that determine each other the first stays."""
        mutual = self.determines & self.determines.T
        return self.determines & ~np.tril(mutual)

    def _lefts(self, kept: Iterable[Choice]) -> list[int]:
        """Series told apart, for each choice of tags that are kept."""
        choices = [self._telling(tags) for tags in kept]
        self._known |= self._counter.counts(set(choices) - set(self._known))
        return [self._known[choice] for choice in choices]

    def _telling(self, tags: Choice) -> Choice:
        """Those that tell as many series apart as all of them: the others are constant or determined by these."""
        varying = [tag for tag in tags if self.levels[tag] > 1]
        spared = np.flatnonzero(self._spares[varying].any(axis=0))
        return frozenset(varying).difference(spared.tolist())

    def minimal_key(self) -> list[int]:
        """The tags left when all that can be spared are left out, those with few values first."""
        kept = self._tags.difference(tag for tag in self._tags if self.levels[tag] < 2)
        each = sorted(kept, key=lambda tag: self.levels[tag])
        # A tag that all others do not replace cannot be spared later either.
        left = dict(zip(each, self._lefts(self._tags - {tag} for tag in each), strict=True))
        for tag in each:
            others = kept - {tag}
            if left[tag] == self.series and self._lefts([others]) == [self.series]:
                kept = others
        return sorted(kept)

    def contributions(self) -> list[Drop]:
        """The drop of each tag, in their order."""
        return self.drops(range(len(self.columns)))

    def drops(self, tags: Iterable[int]) -> list[Drop]:
        """Each of the tags taken away, and with it every tag that determines it."""
        together = {tag: frozenset(np.flatnonzero(self.determines[:, tag]).tolist()) for tag in tags}
        lefts = self._lefts(self._tags - {tag} - by for tag, by in together.items())
        return [Drop(tag, tuple(sorted(by)), left) for (tag, by), left in zip(together.items(), lefts, strict=True)]

    def is_free(self, tag: int) -> bool:
        """Whether the tag varies and only follows from tags that follow from it in turn, none of them before it."""
        by = np.flatnonzero(self.determines[:, tag])
        return self.levels[tag] > 1 and bool(self.determines[tag, by].all() and (by > tag).all())

    def after(self, drop: Drop, tags: Sequence[int]) -> tuple[SeriesTable, list[int]]:
        """The table without the dropped tags, and which of `tags` its columns are."""
        dropped = {drop.tag, *drop.together_with}
        kept = [i for i in range(len(self.columns)) if i not in dropped]
        columns, levels = [self.columns[i] for i in kept], [self.levels[i] for i in kept]
        rows, determines = self.rows, self.determines[np.ix_(kept, kept)]
        # Looking for the first row of each series takes time: it has to make the rest much faster to pay.
        if drop.series_left <= self.rows / 2:
            firsts = self.first_rows(dropped)
            columns, rows = [c[firsts] for c in columns], len(firsts)
        return SeriesTable(columns, levels, rows, drop.series_left, determines), [tags[i] for i in kept]
