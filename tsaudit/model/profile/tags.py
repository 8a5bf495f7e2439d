"""Tags, their values, and the combinations that make series."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from tsaudit.model.profile.figures import Count, Ratio, Source


@dataclass(frozen=True, slots=True)
class SeriesSince:
    """Series of one listing whose newest part, the whole tag set or one tag's value, was first seen on a day."""

    day: date
    series: int


ValuesKind = Literal["bounded", "churning", "unbounded", "unknown"]


@dataclass(frozen=True, slots=True)
class ValuesOverTime:
    """What the listings so far tell of a tag's values. Sampled figures are scaled up to all values."""

    kind: ValuesKind
    """Whether the values end; `unknown` with less than a week of listings."""
    beta: float | None
    """How the distinct values grow with the days: 0 the same every day, 1 all new every day; None when unknown."""
    turnover: float | None
    """Share of a week's values that were new in it; None when unknown."""
    days: int
    """Days with a listing, of the last 28, from the first on which the tag had values."""
    new_values: int | None
    """Values that no listing before this one showed; None where there was none before."""
    new_per_day: float | None
    """Over these days; None with a single one."""
    life_days: float | None
    """Median, of the values that ended; None when none did, or when what was listed never leaves the listing."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day their value of this tag was first seen, oldest first. See `Arrivals.began`."""
    newest: date | None
    """When the newest values were first seen; None where all may be older than the first listing."""
    examples: tuple[str, ...] = ()
    """Up to three of those."""
    shape: str = "unknown"
    """What those look like, by a sample of them."""
    sampled_values: int | None = None
    """Of how many values the series by day are known; None for all of them."""
    standard_error: float | None = None
    """Of `new_values`, which is too small to be seen within twice of it; None where all values are known."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Which series of a listing are new, by the listings of the days before."""

    observed: date
    """The day of the listing."""
    before: date | None
    """The day of the listing before it; None for the first, by which nothing can be called new."""
    began: date
    """The day of the first listing: what it showed may be older."""
    new_series: int | None
    """Series that no listing before this one showed; None where there was none before."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day they were first seen, oldest first; those of more than 90 days together."""
    sampled_series: int | None = None
    """Of how many series this is known; None for all of them."""
    standard_error: float | None = None
    """Of `new_series`; None where all series are known."""


@dataclass(frozen=True, slots=True)
class TagChanges:
    """How a tag changes over time for one source, in the rows read. An instant is a time at which a source has rows."""

    by: tuple[str, ...]
    """The tags that name the source; none: all rows are of one."""
    values: int
    """Distinct ones, absence counted as one."""
    shared: int
    """Of these, the values that occur with several values of each tag in `by` that has several: the fewest for any.
    With none of them the tag names a part of what another one names."""
    sources: int
    """With rows at several instants."""
    changing: int
    """Of these, with more than one value."""
    pairs: int
    """Instants of the changing sources that follow one another."""
    changes: int
    """Of these, with another value than before."""
    by_chance: float
    """Changes to be expected if each source's values came in any order."""
    instants: int
    """Of all sources."""
    clashes: int
    """Of these, with several values at once."""
    roughness: float | None
    """Mean step between values that follow one another, by that between any two of the source: near 0 for a slow curve,
    near 1 for numbers in any order. None where the values are no numbers or never change."""
    source: Source


@dataclass(frozen=True, slots=True)
class Tag:
    """A column that identifies the source of a row; the tags together make the series."""

    key: str
    data_type: str
    values: Count | None = None
    """Distinct values, absence not counted."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, spread over all of them, sorted."""
    absent: Ratio | None = None
    """Share of the series that lack this tag."""
    role_reason: str = ""
    """Why the column counts as a tag; empty where the engine itself says so."""
    over_time: ValuesOverTime | None = None
    """None where the values were not listed in full, or no history was at hand to compare them with."""
    changes: tuple[TagChanges, ...] | None = None
    """By all other tags, then by the one of them with most values. None where no rows with times were read."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Every value of `determinant` occurs with one value of `dependent` only."""

    determinant: str
    dependent: str


@dataclass(frozen=True, slots=True)
class JointDependency:
    """Every combination of the two `determinants` occurs with one value of `dependent` only; neither alone does it."""

    determinants: tuple[str, str]
    dependent: str


@dataclass(frozen=True, slots=True)
class NearDependency:
    """A tag that determines another except for a few of its values."""

    determinant: str
    dependent: str
    broken: int
    """Values of `determinant` that occur with several values of `dependent`."""
    values: int
    """Values of `determinant` that occur in several series, and so could be among `broken`."""
    exceptions: int
    """Series without which `determinant` would determine `dependent`: the fewest there are."""
    examples: tuple[str | None, ...]
    """Up to three of the values that break it; None stands for an absent tag."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What is left if `tag`, and with it every tag that determines it, were no tag any more."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine `tag`: without dropping them too, nothing is gained."""
    series_left: int
    """Where only a sample of the series was kept: at most so many."""
    at_least: int | None = None
    """Where only a sample of the series was kept: at least so many. None: `series_left` is exact."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """What is left if the values of `tag` were hashed into so many buckets."""

    tag: str
    buckets: int
    series_left: int
    """Where only a sample of the series was kept: at most so many."""


@dataclass(frozen=True, slots=True)
class TagSets:
    """What one listing of a measurement's tag sets tells. Figures share the listing's source."""

    series: int
    """Distinct tag sets; with the error of the measurement's `series` where they were sampled."""
    worst_case: int
    """Product of the distinct values of all tags (an absent tag counts as one value more)."""
    independent_bound: int
    """The same product without the tags that another tag determines."""
    dependencies: tuple[Dependency, ...]
    minimal_key: tuple[str, ...]
    """Tags that alone tell all series apart; irreducible, not proven smallest."""
    contributions: tuple[Contribution, ...]
    """One per tag, fewest series left first."""
    drop_curve: tuple[Contribution, ...]
    """Greedy: the tag to drop first, then next, with the series left after each."""
    source: Source
    joint: tuple[JointDependency, ...] | None = None
    """The tags that follow from two others only together. None: not looked for; `not_looked_for` says why."""
    near: tuple[NearDependency, ...] | None = None
    """The tags that nearly follow from another. None: not looked for."""
    not_looked_for: str = "measured by a version of tsaudit that did not look for them"
    """Why `joint` or `near` is None, or how they fall short; empty when both were looked for in full."""
    bucketings: tuple[Bucketing, ...] = ()
    """Of the first tag of `drop_curve`, where it can be dropped alone and has more values than buckets."""
    sampled: int | None = None
    """The number of series looked at, chosen by their hash, where there were too many to keep. None: all of them.

    Then `series`, the products and what is left are estimates. What is said of dependencies and of the key was seen
    on the sample only; that a dependency is missing is certain.
    """
