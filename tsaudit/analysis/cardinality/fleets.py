"""Distinguishes tags that name sources, such as meters or pods, from tags with an ID for each event, and from
attributes of the sources.
"""

from __future__ import annotations

import math
import re
from typing import Final

from tsaudit.analysis.columns.columns import names_device, snake_case
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.significance import CHANCE
from tsaudit.model.columns import Arrivals, Tag, TagChanges
from tsaudit.model.figures import How
from tsaudit.model.profile import Measurement

_ENDS: Final = re.compile(
    r"(^|_)(pod|container|docker|process|proc|pid|worker|executor|replica|runner)s?(_?(id|uid|uuid|name|hash))?$"
)
"""Names of tags for things that run until they end, often within minutes."""
_MACHINE: Final = re.compile(r"(^|_)(vm|node|host|host_?name|server|instance)s?(_?(id|uid|uuid|name))?$")
_CALLS: Final = (
    "uri|url|href|route|endpoint|request|req|trace|span|correlation|transaction|txn|order|invoice|payment|cart|checkout|"
    "message|msg|event|query|statement|session|token|ticket"
)
_CALL: Final = re.compile(rf"(^|_)({_CALLS})s?(_?(id|uid|uuid|key|no|nr|number|name|hash|path|ref))?$")
"""Names of tags for calls and requests, each of which gets a new value."""
_PATH: Final = re.compile(r"/[^/\s]+/")
_OF_CONTAINER: Final = re.compile(r"(?i)docker|containerd?|kube|pods?/|lxc|\.(slice|scope)|overlay|/proc/")
_RECURRING: Final = 0.8
"""Minimum share of the values that occur again later for the tag to recur: values of events do not, and some devices
fail.
"""
_LEFT: Final = 0.2
"""Minimum number of series that have left, as a share of those that came: fewer are machines that broke."""
_REPORTS: Final = 2
_PARTS: Final = 3
"""Number of parts into which the rows of each source are divided; see `Turnover`."""

_LASTING: Final = 0.5
"""Minimum share of the values that report for an hour or more for the tag to last: values that are used once do not."""
_SHORTEST_H: Final = 6
"""Minimum time covered by the rows, in hours, to show that values recur: sessions and containers often live
for hours.
"""
_DOUBLING_H: Final = 30 * 24
"""Values that would double within this many hours (a month) are growing in number; a fleet does not."""
_BY_CHANCE: Final = 2
"""New values do not count as growth up to this many times the number of values that are not seen again: they may only
be rare.
"""
_FEW_NEW: Final = 0.2
"""A tag is leveling off if the values that begin in the last third of the rows read are at most this share of those in
the first third.
"""
_MANY_NEW: Final = 0.5
_FEW_AGAIN: Final = 0.2
_NEW_VALUES: Final = 0.5
"""Minimum share of what is new that must be new for all sources. Otherwise, known values are combined in new ways."""
_FEWEST_NEW: Final = 10
"""Fewer new values than this may be a coincidence."""
_MANY_GOING_ON: Final = 0.25
"""Minimum share of the new values that must come from sources that changed more than once. For values that appear at
random, as often as `_MANY_NEW` requires, it is about half; for a step, such as the rollout of a version, it is 0.
"""

_CHANGING: Final = 0.1
"""Minimum share of the sources that must change for the tag to be an attribute: if fewer do, these are corrections, or
machines that moved.
"""
_RARE: Final = 0.3
"""Maximum number of changes, divided by the number expected by chance: an attribute keeps its value for a long time,
whereas a level or status changes at random, with a ratio near 1.
"""
_FEWEST_BY_CHANCE: Final = 10
"""Minimum number of changes expected by chance: if fewer are expected, their absence may be a coincidence."""
_LATE: Final = 0.01
"""Maximum share of the instants at which a source has several values: an attribute has one at a time, except for late
rows.
"""
_SHARED: Final = 0.5
"""Minimum share of the values that several sources must share: a value used mostly by one source identifies it, like a
part or a process that was replaced.
"""


def is_fleet(tag: Tag) -> bool:
    """Whether the tag's values name things that stay, however many there are and however seldom they report.

    This is decided by the listings of earlier days if there are enough of them, otherwise by whether the values read
    occur again. If neither is known, the tag's name decides.
    """
    if tag.over_time is not None and tag.over_time.kind != "unknown":
        return tag.over_time.kind == "bounded"
    if recurs(tag):
        return True
    seen, read = tag.turnover, tag.reports
    # A value that is read only once gives no evidence of whether it recurs.
    shows = seen and seen.hours >= _SHORTEST_H and read and read.per_value >= _REPORTS
    return not shows and names_device(tag.key)


def is_churn(tag: Tag) -> bool:
    """Whether the tag's values name sources that report for a while until others take their place, such as pods.

    A value that names a call, such as a request or an address, is not a source, however long it is repeated; a value
    that names something that runs, such as a process, is one, however soon it ends.
    """
    if (tag.turnover is None and tag.reports is None) or is_fleet(tag):
        return False
    return names_what_ends(tag) or (lasts(tag) and not names_call(tag) and not adds_up(tag))


def ends(tag: Tag, arrivals: Arrivals | None) -> bool:
    """Whether the tag's values stop being written while others come: by what they name, by the rows read, or by the
    series that have left the listings (`arrivals`, of its measurement).
    """
    if is_fleet(tag):
        return False
    seen = tag.turnover
    if names_what_ends(tag) or (seen is not None and seen.again < _RECURRING * seen.first):
        return True
    return arrivals is not None and leave(arrivals)


def leave(arrivals: Arrivals) -> bool:
    """Whether so many series have left the listings that others take their place."""
    left, came = (sum(one.series for one in series) for series in (arrivals.left, arrivals.arrived))
    return left > 0 and left >= _LEFT * came


def lasts(tag: Tag) -> bool:
    """Whether the tag's values report for an hour or more; False also if no values were read."""
    # If many sources share a value, `turnover`, which looks at whole sources, shows how long each source had it.
    seen = tag.turnover or tag.reports
    return seen is not None and seen.lasting_ratio >= _LASTING


def names_what_ends(tag: Tag) -> bool:
    """Whether the tag, by its name or its values, names something that runs until it ends, such as a
    process or a pod.
    """
    return bool(_ENDS.search(snake_case(tag.key))) or shapes.classify(tag.sample).kind == "pod"


def names_call(tag: Tag) -> bool:
    """Whether the tag names something that is called or requested, such as a request, an order, or the path
    of a page.
    """
    if _CALL.search(snake_case(tag.key)):
        return True
    paths = sum(bool(_PATH.search(value)) and not _OF_CONTAINER.search(value) for value in tag.sample)
    return 2 * paths > len(tag.sample)


def adds_up(tag: Tag) -> bool:
    """Whether new values keep being added while old ones continue, so fast that they would double in a month, as in a
    registry that repeats everything it has ever seen. False for tags that name devices, machines, or what runs on them:
    these cannot grow without bound.
    """
    seen = tag.turnover
    if seen is None or seen.new < _FEWEST_NEW or seen.going_on < _MANY_GOING_ON * seen.new:
        return False
    pace = _PARTS * seen.new / max(seen.hours, 1.0)
    if seen.new <= _BY_CHANCE * (seen.first - seen.again) or pace * _DOUBLING_H < seen.first:
        return False
    return not (names_device(tag.key) or _MACHINE.search(snake_case(tag.key)) or names_what_ends(tag))


def recurs(tag: Tag) -> bool:
    """Whether sources have the tag's old values again, and hardly any new ones, so that no more series will be added.

    False also if the rows read cover too short a time, or if no values were read.
    """
    return tag.turnover is not None and tag.turnover.hours >= _SHORTEST_H and comes_again(tag)


def comes_again(tag: Tag) -> bool:
    """Whether the rows read contain the tag's old values again, and hardly any new ones, however short a time they
    cover. False also if no values were read.
    """
    seen = tag.turnover
    return seen is not None and seen.again >= _RECURRING * seen.first > 0 and levels_off(tag)


def rows_per_value(measurement: Measurement, tag: Tag) -> float | None:
    """The mean number of rows within the window that each value has, read or not.

    None if that is not known: rows or values were not counted, the values are those of some rows only, or there are
    rows without the tag.
    """
    rows, values = measurement.rows, tag.values
    if rows is None or values is None or values.source.how is How.SAMPLED or (tag.absent and tag.absent.value):
        return None
    return rows.value / max(values.value, 1)


def is_written_once(measurement: Measurement, tag: Tag) -> bool:
    """Whether the rows read contain fewer than two reports of each value, and those not read are not known to contain
    more.
    """
    read = tag.reports
    if read is None or read.per_value >= _REPORTS:
        return False
    # A report may be several rows, such as one for each measure name.
    return (rows_per_value(measurement, tag) or 0.0) < _REPORTS * max(read.per_value, read.rows_per_value)


def is_known_to_end(measurement: Measurement, tag: Tag) -> bool:
    """Whether what was read, or listed, shows that the tag's values are written once, or that others replace them."""
    if is_fleet(tag):
        return False
    if tag.over_time is not None and tag.over_time.kind == "unbounded":
        return True
    return keeps_coming(tag) or is_written_once(measurement, tag)


def levels_off(tag: Tag) -> bool:
    """Whether sources have hardly any new values at the end of the rows read, however seldom each value occurred.

    False also if no values were read.
    """
    seen = tag.turnover
    if seen is None or seen.new > _FEW_NEW * seen.first:
        return False
    # A share that is small compared with the values of many days may still be many values per day.
    return not adds_up(tag)


def keeps_coming(tag: Tag) -> bool:
    """Whether sources still get new values at the end of the rows read, and have few of their first values again.

    False also if no values were read, if each source changed only once, if sources mostly get values that other sources
    had before, or if the rows are of so few series that values which recur would by chance look the same.
    """
    seen = tag.turnover
    if seen is None or seen.new < _FEWEST_NEW or seen.going_on < _MANY_GOING_ON * seen.new:
        return False
    if seen.new_values < _NEW_VALUES * seen.new:
        return False
    # If only rows of a few series were read, values may recur more often than the rows show.
    most = _FEW_AGAIN if seen.by is None else 1 - _MANY_NEW
    return seen.new >= _MANY_NEW * seen.first and seen.again <= most * seen.first and not may_recur_unseen(tag)


def may_recur_unseen(tag: Tag) -> bool:
    """Whether so few values occur again in the rows of a few series that this may be chance even if all values of the
    tag recur: series that end, such as those of jobs, have one of many nodes each. False if whole sources were read.
    """
    seen = tag.turnover
    if seen is None or seen.by is not None or tag.values is None:
        return False
    # Values of the middle that go on are not counted, so rather too few are expected, and nothing is reported.
    expected = seen.first * (seen.again + seen.new) / max(tag.values.value, 1)
    if seen.again >= expected:
        return True
    # The number that two random samples have in common is about Poisson distributed. Logarithms do not overflow.
    terms = (n * math.log(expected) - expected - math.lgamma(n + 1) for n in range(seen.again + 1))
    return sum(map(math.exp, terms)) > CHANCE


def ongoing(tag: Tag) -> float | None:
    """The share of the growth that still continues at the end of the rows read, 0 to 1: 0 for a step, such as a
    failover or renamed racks. None if it is not known: no rows were read, the rows cover less than a few hours in which
    no value was added, or the rows of a few series have few of their values at the end, new or not.
    """
    seen = tag.turnover
    if seen is None:
        return None
    if seen.by is None:
        if not levels_off(tag):
            return 1.0
        return 0.0 if comes_again(tag) else None
    # The values that each source had at first were not added; if there were several at a time, that is more than one
    # per source.
    added = seen.pairs - max(seen.sources, seen.first)
    if added > 0:
        return min(_PARTS * seen.going_on / added, 1.0)
    return 0.0 if seen.hours >= _SHORTEST_H else None


def is_source(tag: Tag) -> bool:
    """Whether the tag's values name sources that report repeatedly, whether they stay or not."""
    return is_fleet(tag) or is_churn(tag)


def is_attribute(seen: TagChanges) -> bool:
    """Whether the tag describes a property of a source that changes now and then, such as its color or firmware."""
    return bool(
        seen.by
        and seen.changing
        and seen.changing >= _CHANGING * seen.sources
        and seen.clashes <= _LATE * seen.instants
        and seen.by_chance >= _FEWEST_BY_CHANCE
        and seen.changes <= _RARE * seen.by_chance
        and seen.shared >= _SHARED * seen.values
    )
