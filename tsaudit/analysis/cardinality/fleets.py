"""Tells tags that name sources, such as the meters of a grid or pods, from tags with an ID for each event."""

from __future__ import annotations

import re
from typing import Final

from tsaudit.analysis.columns.name_words import snake_case
from tsaudit.model.profile import Tag

_DEVICES: Final = (
    "device|sensor|meter|machine|station|pump|motor|inverter|turbine|vehicle|truck|car|bus|train|vessel|robot|gateway|"
    "camera|panel|probe|tracker|asset|charger|battery|boiler|valve|well|tag|tractor|drone|elevator|lift|thermostat"
)
_DEVICE: Final = re.compile(
    rf"(^|_)({_DEVICES})s?$|(^|_)({_DEVICES})s?_?(id|uid|uuid|no|nr|number|name|serial|code|mac|addr|eui|key)$|"
    r"(^|_)(serial|serial_?n(o|r|umber)|sn|mac|mac_?addr(ess)?|imei|iccid|vin|eui|dev_?eui|dev_?addr|hwid|udid)$"
)
_RECURRING: Final = 0.8
"""Share of the values that occur again half a window later: those of events do not, devices may fail."""


_LASTING: Final = 0.5
"""Share of the values that report for an hour or more: of what is used once, none does."""


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
    return tag.recurring >= _RECURRING if tag.recurring is not None else names_device(tag.key)


def is_churn(tag: Tag) -> bool:
    """Whether the tag's values name sources that report for a while until others take their place, such as pods.

    How many there are at a time says what a server is there for; what is written once or twice does not.
    """
    return not is_fleet(tag) and tag.reports is not None and tag.reports.lasting_ratio >= _LASTING


def is_source(tag: Tag) -> bool:
    """Whether the tag's values name what reports again, whether it stays or not."""
    return is_fleet(tag) or is_churn(tag)
