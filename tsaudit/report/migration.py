"""Migration targets for the tables of Timestream for LiveAnalytics, which is closed to new customers.

Series are counted as in AWS's own script for this: combinations of dimensions and measure name, each of which would be
a series in InfluxDB 2, and by which AWS chooses the instance.
https://docs.aws.amazon.com/timestream/latest/developerguide/timestream-influxdb-target.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.cardinality.contributions import main_contribution
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Count, Measurement, Profile

MOST_KEYS: Final = 10_000_000
"""Largest number of series keys for which AWS recommends InfluxDB 2."""
MOST_MOVES: Final = 100
_INSTANCES: Final = (
    (100_000, "db.influx.large"),
    (1_000_000, "db.influx.2xlarge"),
    (5_000_000, "db.influx.4xlarge"),
    (MOST_KEYS, "db.influx.8xlarge"),
)
"""Number of series keys below which each instance is large enough."""
_OWN_VALUE_RATIO: Final = 0.5
"""Minimum ratio of values to rows at which most rows are assumed to have a value of their own."""
_MOST_LEFT: Final = 0.1
"""Maximum share of the combinations that remain if a dimension should become a field."""


@dataclass(frozen=True, slots=True)
class Move:
    """The migration target of one table."""

    measurement: Measurement
    keys: Count | None
    """Series keys; None: not counted."""
    instance: str
    """The InfluxDB 2 instance; empty if there are too many series for InfluxDB 2, or they were not counted."""
    as_field: str
    """The dimension that causes most of the series and should become a field; empty if there is none."""
    series_left: int | None
    """Number of combinations of the other dimensions; None if they were not listed."""


@dataclass(frozen=True, slots=True)
class Moves:
    """All tables, those with the most series first."""

    tables: tuple[Move, ...]
    left_out: int
    total: int | None
    """Total series keys; None if some were not counted."""


def moves(profile: Profile) -> Moves | None:
    """The migration target of each table; None for another engine, or without tables."""
    if not ENGINES[profile.engine].successor or not profile.measurements:
        return None
    found = sorted(map(_move, profile.measurements), key=lambda move: -(move.keys.value if move.keys else 0))
    counted = [move.keys.value for move in found if move.keys]
    total = sum(counted) if len(counted) == len(found) else None
    return Moves(tuple(found[:MOST_MOVES]), max(0, len(found) - MOST_MOVES), total)


def _move(measurement: Measurement) -> Move:
    keys = measurement.measure_names.series_keys if measurement.measure_names else None
    instance = next((name for below, name in _INSTANCES if keys and keys.value < below), "")
    return Move(measurement, keys, instance, *_as_field(measurement))


def _as_field(measurement: Measurement) -> tuple[str, int | None]:
    sets, rows = measurement.tag_sets, measurement.rows.value if measurement.rows else 0
    if sets is not None:
        contribution = main_contribution(sets)
        if contribution and not contribution.together_with and contribution.series_left <= _MOST_LEFT * sets.series:
            return contribution.tag, contribution.series_left
        return "", None
    own = (tag.key for tag in measurement.tags if rows and tag.values and tag.values.value > _OWN_VALUE_RATIO * rows)
    return next(own, ""), None
