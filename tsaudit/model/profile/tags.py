"""Tags, their values, and the combinations that form series."""

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
    values: int | None = None
    """The tag's values behind these series; None for whole tag sets, and in profiles of version 0.1."""


Respelled = Literal["", "letter case", "spaces"]
ValuesKind = Literal["bounded", "churning", "unbounded", "unknown"]


@dataclass(frozen=True, slots=True)
class ValuesOverTime:
    """What the listings so far show about a tag's values. Sampled figures are scaled up to all values."""

    kind: ValuesKind
    """Whether the number of values is bounded; `unknown` with less than a week of listings."""
    beta: float | None
    """How the distinct values grow with the days: 0 the same every day, 1 all new every day; None if unknown."""
    turnover: float | None
    """Share of a week's values that were new that week; None if unknown."""
    days: int
    """Days that the listings show, of the last 28, from the first on which the tag had values."""
    new_values: int | None
    """Values that no earlier listing contained; None if there was none."""
    new_per_day: float | None
    """At present: in the last week, or since a clear change within it; None with a single day."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day their value of this tag was first seen, oldest first. See `Arrivals.began`."""
    newest: date | None
    """When the newest values were first seen; None if all may be older than the first listing."""
    examples: tuple[str, ...] = ()
    """Up to three of those."""
    shape: str = "unknown"
    """The format of those, based on a sample of them."""
    sampled_values: int | None = None
    """For how many values the series by day are known; None for all of them."""
    standard_error: float | None = None
    """Of `new_values`, which cannot be distinguished from 0 within twice of it; None if all values are known."""
    lacking: tuple[SeriesSince, ...] = ()
    """The listed series without the tag by the day they were first seen."""
    without: tuple[SeriesSince, ...] | None = None
    """The listed series by the day one was first seen that equals them except for this tag. None: not computed, because
    nearly all new series have a new value.
    """
    respelled: Respelled = ""
    """What distinguishes the newest values from older ones, if nothing else does; empty if they are really new."""
    gathered: str | None = None
    """The one value that most of the newest series carry, those of a week, unlike older ones; None if there is none."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Which series of a listing are new, compared with the listings of earlier days."""

    observed: date
    """The day of the listing."""
    before: date | None
    """The day of the previous listing; None for the first, in which nothing counts as new."""
    began: date
    """The day of the first listing: its contents may be older."""
    new_series: int | None
    """Series that no earlier listing contained; None if there was none."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day they were first seen, oldest first; those of more than 90 days together."""
    sampled_series: int | None = None
    """For how many series this is known; None for all of them."""
    standard_error: float | None = None
    """Of `new_series`; None if all series are known."""
    newest_value: tuple[SeriesSince, ...] | None = None
    """The listed series by the day the newest of their values was first seen: a series that is newer than that is a new
    combination of old values. None: not known, because the values of a tag are sampled.
    """
    arrived: tuple[SeriesSince, ...] = ()
    """All series, including those that have left, by the day they were first seen; without those of the first day."""
    left: tuple[SeriesSince, ...] = ()
    """Series that have left, by the day of the first listing without them."""


@dataclass(frozen=True, slots=True)
class TagChanges:
    """How a tag changes over time for one source, in the rows read. An instant is a time at which a source has rows."""

    by: tuple[str, ...]
    """The tags that identify the source; none: all rows belong to one."""
    values: int
    """Distinct values, counting absence as one."""
    shared: int
    """Of these, the values that occur with several values of each tag in `by` that has several: the minimum over those
    tags. If there are none, the tag names a part of what another tag names.
    """
    sources: int
    """With rows at several instants."""
    changing: int
    """Of these, with more than one value."""
    pairs: int
    """Consecutive instants of the changing sources."""
    changes: int
    """Of these, with another value than before."""
    by_chance: float
    """Changes to expect if each source's values came in random order."""
    instants: int
    """Of all sources."""
    clashes: int
    """Of these, with several values at once."""
    roughness: float | None
    """Mean step between consecutive values, divided by the mean difference of any two of the source: near 0 for a slow
    curve, near 1 for numbers in random order. None if the values are not numbers or never change.
    """
    source: Source


@dataclass(frozen=True, slots=True)
class Reports:
    """How often the values of a tag occur in the rows read."""

    per_value: float
    """Mean number of instants at which a value has rows."""
    hours: float
    """From the first row read to the last."""
    lasting_ratio: float
    """Share of the values with rows at three instants or more that are an hour or more apart, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Turnover:
    """Whether values of a tag come and go for the same sources, or recur.

    Each source is cut in three parts with as many instants, so that it does not matter how long it was there.
    """

    by: tuple[str, ...] | None
    """The tags that identify a source: all others that do not go with the tag. Empty: all rows belong to one. None:
    rows of a few series were read as those of one source; they do not show what else a source wrote.
    """
    sources: int
    """With rows at enough instants to be cut in three."""
    first: int
    """Pairs of a source and a value that are there in its first part."""
    again: int
    """Of these, the ones that are there in its last part, too."""
    new: int
    """Pairs that begin in the last part."""
    going_on: int
    """Of these, the ones of sources in which others begin at another instant after the first part."""
    pairs: int
    """All of them."""
    lasting_ratio: float
    """Share of all pairs with rows at three instants or more that are an hour or more apart, 0 to 1."""
    hours: float
    """From the first row read to the last."""
    source: Source


@dataclass(frozen=True, slots=True)
class Busiest:
    """The value of a tag with the most of the rows read."""

    value: str
    share: float
    """Of all rows read, 0 to 1."""
    source: Source


@dataclass(frozen=True, slots=True)
class Tag:
    """A column that identifies the source of a row; the tags together form the series."""

    key: str
    data_type: str
    values: Count | None = None
    """Distinct values, not counting absence."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, sorted."""
    absent: Ratio | None = None
    """Share of the series that lack this tag."""
    role_reason: str = ""
    """Why the column counts as a tag; empty if the engine itself declares it."""
    over_time: ValuesOverTime | None = None
    """None if the values were not listed completely, or there was no history to compare them with."""
    changes: tuple[TagChanges, ...] | None = None
    """By all other tags, then by the one of them with the most values. None if no rows with times were read."""
    reports: Reports | None = None
    """None if no rows with times were read, or none has the tag."""
    busiest: Busiest | None = None
    """None if no rows were read, only those of some series, or rows with one value."""
    idle_hours: float | None = None
    """From the newest row with the tag to the newest row read. None if no rows with times were read, or none has it."""
    turnover: Turnover | None = None
    """None if no rows were read, or no source has enough instants."""
    label_of: str = ""
    """The column of label sets that contains it, as the label after its name and a dot; empty for a column."""
    metrics: tuple[str, ...] = ()
    """In a table that holds the rows of several metrics: those with this tag, sorted; empty if all have it."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Every value of `determinant` occurs with only one value of `dependent`."""

    determinant: str
    dependent: str


@dataclass(frozen=True, slots=True)
class JointDependency:
    """Every combination of the two `determinants` occurs with only one value of `dependent`; neither alone determines
    it.
    """

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
    """Minimum number of series to remove so that `determinant` would determine `dependent`."""
    examples: tuple[str | None, ...]
    """Up to three of the exceptions; None stands for an absent tag."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What is left without `tag` and every tag that determines it."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine `tag`: unless they are dropped too, nothing is saved."""
    series_left: int
    """If only a sample of the series was kept: an upper bound."""
    at_least: int | None = None
    """If only a sample of the series was kept: a lower bound. None: `series_left` is exact."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """What is left if the values of `tag` are hashed into this many buckets."""

    tag: str
    buckets: int
    series_left: int
    """If only a sample of the series was kept: an upper bound."""


@dataclass(frozen=True, slots=True)
class TagSets:
    """What one listing of a measurement's tag sets shows. Figures share the listing's source."""

    series: int
    """Distinct tag sets; with the error of the measurement's `series` if they were sampled."""
    worst_case: int
    """Product of the distinct values of all tags (an absent tag counts as another value)."""
    independent_bound: int
    """The same product without the tags that another tag determines."""
    dependencies: tuple[Dependency, ...]
    minimal_key: tuple[str, ...]
    """Tags that are enough to identify all series; irreducible, not proven smallest."""
    contributions: tuple[Contribution, ...]
    """One per tag, fewest series left first."""
    drop_curve: tuple[Contribution, ...]
    """Greedy: which tag to drop first, second, and so on, with the series left after each."""
    source: Source
    joint: tuple[JointDependency, ...] | None = None
    """Tags that only two others together determine. None: not searched; `not_looked_for` says why."""
    near: tuple[NearDependency, ...] | None = None
    """Tags that another tag nearly determines. None: not searched."""
    not_looked_for: str = "measured by a version of tsaudit that did not search for them"
    """Why `joint` or `near` is None or incomplete; empty if both were searched completely."""
    bucketings: tuple[Bucketing, ...] = ()
    """Of the first tag of `drop_curve`, if it can be dropped alone and has more values than buckets."""
    sampled: int | None = None
    """The number of sampled series, chosen by their hash, if there were too many to keep. None: all of them.

    Then `series`, the products, and the remaining series are estimates. Dependencies and the key were seen in the
    sample only; that a dependency does not exist is certain.
    """
