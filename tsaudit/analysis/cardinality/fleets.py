"""Tells tags that name sources, such as the meters of a grid or pods, from tags with an ID for each event, and from
attributes of the sources.
"""

from __future__ import annotations

import re
from typing import Final

from tsaudit.analysis.columns.name_words import snake_case
from tsaudit.analysis.shapes import shapes
from tsaudit.model.profile import Tag, TagChanges

_DEVICES: Final = (
    "device|sensor|meter|machine|station|pump|motor|inverter|turbine|vehicle|truck|car|bus|train|vessel|robot|gateway|"
    "camera|panel|probe|tracker|asset|charger|battery|boiler|valve|well|tag|tractor|drone|elevator|lift|thermostat"
)
_DEVICE: Final = re.compile(
    rf"(^|_)({_DEVICES})s?$|(^|_)({_DEVICES})s?_?(id|uid|uuid|no|nr|number|name|serial|code|mac|addr|eui|key)$|"
    r"(^|_)(serial|serial_?n(o|r|umber)|sn|mac|mac_?addr(ess)?|imei|iccid|vin|eui|dev_?eui|dev_?addr|hwid|udid)$"
)
_ENDS: Final = re.compile(
    r"(^|_)(pod|container|docker|process|proc|pid|worker|executor|replica|runner)s?(_?(id|uid|uuid|name|hash))?$"
)
"""Names of what runs until it ends, often within minutes."""
_MACHINE: Final = re.compile(r"(^|_)(vm|node|host|host_?name|server|instance)s?(_?(id|uid|uuid|name))?$")
_CALLS: Final = (
    "uri|url|href|route|endpoint|request|req|trace|span|correlation|transaction|txn|order|invoice|payment|cart|checkout|"
    "message|msg|event|query|statement|session|token|ticket"
)
_CALL: Final = re.compile(rf"(^|_)({_CALLS})s?(_?(id|uid|uuid|key|no|nr|number|name|hash|path|ref))?$")
"""Names of what is done, or asked for: each is a new one."""
_PATH: Final = re.compile(r"/[^/\s]+/")
_OF_CONTAINER: Final = re.compile(r"(?i)docker|containerd?|kube|pods?/|lxc|\.(slice|scope)|overlay|/proc/")
_RECURRING: Final = 0.8
"""Share of the values that occur again later: those of events do not, devices may fail."""
_REPORTS: Final = 2
_PARTS: Final = 3
"""In which the rows of a source are cut; see `Turnover`."""

_LASTING: Final = 0.5
"""Share of the values that report for an hour or more: of what is used once, none does."""
_SHORTEST_H: Final = 6
"""Of rows that show that values recur: sessions and containers often live for hours."""
_DOUBLING_H: Final = 30 * 24
"""Of what doubles in a month, the values grow; a fleet does not."""
_BY_CHANCE: Final = 2
"""Times the values that are not seen again: so many of the new ones may only be rare."""
_FEW_NEW: Final = 0.2
"""Values that begin in the last third of the rows read, as a share of those in the first: fewer are leveling off."""
_MANY_NEW: Final = 0.5
_FEW_AGAIN: Final = 0.2
_FEWEST_NEW: Final = 10
"""New values that are no coincidence."""
_MANY_GOING_ON: Final = 0.25
"""Share of the new values that are of sources that changed more than once: of values that come at random as often as
`_MANY_NEW` says, it is about a half; of a step, such as a version that is rolled out, nothing.
"""

_CHANGING: Final = 0.1
"""Share of the sources: fewer are corrections, or machines that moved."""
_RARE: Final = 0.3
"""Changes seen, divided by those expected by chance: an attribute keeps its value for a long time; a level or status
changes at random, near 1.
"""
_FEWEST_BY_CHANCE: Final = 10
"""Changes to be expected: with fewer, their absence may be a coincidence."""
_LATE: Final = 0.01
"""Share of the instants with several values: an attribute has one at a time, except for late rows."""
_SHARED: Final = 0.5
"""Share of the values: one used mostly by one source identifies it, like a part or a process that was replaced."""


def names_device(key: str) -> bool:
    """Whether the name of a column is that of a device that somebody owns, not of an event."""
    return bool(_DEVICE.search(snake_case(key)))


def is_fleet(tag: Tag) -> bool:
    """Whether the tag's values name things that stay, however many they are and however seldom they report.

    Listings of earlier days decide if there are enough, then whether the values read occur again. If neither is known,
    the name does.
    """
    if tag.over_time is not None and tag.over_time.kind != "unknown":
        return tag.over_time.kind == "bounded"
    if recurs(tag):
        return True
    seen, read = tag.turnover, tag.reports
    # What is read once cannot be seen again.
    shows = seen and seen.hours >= _SHORTEST_H and read and read.per_value >= _REPORTS
    return not shows and names_device(tag.key)


def is_churn(tag: Tag) -> bool:
    """Whether the tag's values name sources that report for a while until others take their place, such as pods.

    How many there are at a time says what a server is there for. What names a call, such as a request or an address, is
    no source, however long it is repeated; and what runs is one, however soon it ends.
    """
    if (tag.turnover is None and tag.reports is None) or is_fleet(tag):
        return False
    return names_what_ends(tag) or (lasts(tag) and not names_call(tag) and not adds_up(tag))


def lasts(tag: Tag) -> bool:
    """Whether its values report for an hour or more; False also if none was read."""
    # Of a value that many sources share, the rows of whole sources show how long each of them had it.
    seen = tag.turnover or tag.reports
    return seen is not None and seen.lasting_ratio >= _LASTING


def names_what_ends(tag: Tag) -> bool:
    """Whether the tag names what runs until it ends, such as a process or a pod, by its name or its values."""
    return bool(_ENDS.search(snake_case(tag.key))) or shapes.classify(tag.sample).kind == "pod"


def names_call(tag: Tag) -> bool:
    """Whether the tag names what is done or asked for, such as a request, an order, or the path of a page."""
    if _CALL.search(snake_case(tag.key)):
        return True
    paths = sum(bool(_PATH.search(value)) and not _OF_CONTAINER.search(value) for value in tag.sample)
    return 2 * paths > len(tag.sample)


def adds_up(tag: Tag) -> bool:
    """Whether new values are added to those that go on, which would double in a month, as in a registry that repeats
    whatever it has seen. False for what somebody installs, or machines run: there is no room for more and more.
    """
    seen = tag.turnover
    if seen is None or seen.new < _FEWEST_NEW or seen.going_on < _MANY_GOING_ON * seen.new:
        return False
    pace = _PARTS * seen.new / max(seen.hours, 1.0)
    if seen.new <= _BY_CHANCE * (seen.first - seen.again) or pace * _DOUBLING_H < seen.first:
        return False
    return not (names_device(tag.key) or _MACHINE.search(snake_case(tag.key)) or names_what_ends(tag))


def recurs(tag: Tag) -> bool:
    """Whether sources have its values again, and hardly a new one: there will be no more series.

    False also if they were read for too short a time, or not at all.
    """
    seen = tag.turnover
    if seen is None or seen.hours < _SHORTEST_H:
        return False
    return seen.again >= _RECURRING * seen.first > 0 and levels_off(tag)


def levels_off(tag: Tag) -> bool:
    """Whether sources have hardly a new value in the end, however few times they had each.

    False also if none was read.
    """
    seen = tag.turnover
    if seen is None or seen.new > _FEW_NEW * seen.first:
        return False
    # A small share of what came in many days may still be many a day.
    return not adds_up(tag)


def keeps_coming(tag: Tag) -> bool:
    """Whether sources go on to new values in the end, and have few of the first ones again.

    False also if none was read, and if each of them changed once.
    """
    seen = tag.turnover
    if seen is None or seen.new < _FEWEST_NEW or seen.going_on < _MANY_GOING_ON * seen.new:
        return False
    # Of a few series, rows miss much of what occurs again.
    most = _FEW_AGAIN if seen.by is None else 1 - _MANY_NEW
    return seen.new >= _MANY_NEW * seen.first and seen.again <= most * seen.first


def ongoing(tag: Tag) -> float | None:
    """The part of the growth that goes on at the end of the rows read, 0 to 1: nothing of a step, such as a failover or
    racks that were renamed. None if that is not known: no rows were read, or none was added in less than a few hours.
    """
    seen = tag.turnover
    if seen is None:
        return None
    if seen.by is None:
        return 0.0 if levels_off(tag) else 1.0
    # What each source had at first is not added, and of many values at a time, that is more than one.
    added = seen.pairs - max(seen.sources, seen.first)
    if added > 0:
        return min(_PARTS * seen.going_on / added, 1.0)
    return 0.0 if seen.hours >= _SHORTEST_H else None


def is_source(tag: Tag) -> bool:
    """Whether the tag's values name what reports again, whether it stays or not."""
    return is_fleet(tag) or is_churn(tag)


def is_attribute(seen: TagChanges) -> bool:
    """Whether the tag says something of a source that changes now and then, such as its color or firmware."""
    return bool(
        seen.by
        and seen.changing
        and seen.changing >= _CHANGING * seen.sources
        and seen.clashes <= _LATE * seen.instants
        and seen.by_chance >= _FEWEST_BY_CHANCE
        and seen.changes <= _RARE * seen.by_chance
        and seen.shared >= _SHARED * seen.values
    )
