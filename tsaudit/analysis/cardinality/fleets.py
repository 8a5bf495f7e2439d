"""Tells tags that name sources, such as the meters of a grid or pods, from tags with an ID for each event, and from
attributes of the sources.
"""

from __future__ import annotations

import re
from typing import Final

from tsaudit.analysis.columns.name_words import snake_case
from tsaudit.model.profile import Tag, TagChanges

_DEVICES: Final = (
    "device|sensor|meter|machine|station|pump|motor|inverter|turbine|vehicle|truck|car|bus|train|vessel|robot|gateway|"
    "camera|panel|probe|tracker|asset|charger|battery|boiler|valve|well|tag|tractor|drone|elevator|lift|thermostat"
)
_DEVICE: Final = re.compile(
    rf"(^|_)({_DEVICES})s?$|(^|_)({_DEVICES})s?_?(id|uid|uuid|no|nr|number|name|serial|code|mac|addr|eui|key)$|"
    r"(^|_)(serial|serial_?n(o|r|umber)|sn|mac|mac_?addr(ess)?|imei|iccid|vin|eui|dev_?eui|dev_?addr|hwid|udid)$"
)
_RECURRING: Final = 0.8
"""Share of the values that occur again later: those of events do not, devices may fail."""
_REPORTS: Final = 2

_LASTING: Final = 0.5
"""Share of the values that report for an hour or more: of what is used once, none does."""
_SHORTEST_H: Final = 6
"""Of rows that show that values recur: sessions and containers often live for hours."""
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

    How many there are at a time says what a server is there for; what is written once or twice does not.
    """
    # Of a value that many sources share, the rows of whole sources show how long each of them had it.
    seen = tag.turnover or tag.reports
    return not is_fleet(tag) and seen is not None and seen.lasting_ratio >= _LASTING


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
    return tag.turnover is not None and tag.turnover.new <= _FEW_NEW * tag.turnover.first


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


def ongoing(tag: Tag) -> float:
    """The part of the growth that goes on at the end of the rows read, 0 to 1: nothing of a step, such as a failover or
    racks that were renamed. 1 if no whole sources were read, or none of them changed.
    """
    seen = tag.turnover
    added = seen.pairs - seen.sources if seen else 0
    return min(3 * seen.going_on / added, 1.0) if seen and seen.by is not None and added else 1.0


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
