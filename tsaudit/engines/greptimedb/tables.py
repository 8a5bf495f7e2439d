"""The meaning of GreptimeDB's options and indexes for a table."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from tsaudit.analysis.columns.columns import is_text, names_device
from tsaudit.model.columns import Field
from tsaudit.model.figures import How
from tsaudit.model.finding import Currency, Impact
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Index

ENGINE: Final = "greptimedb"
DESIGN: Final = "https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/"
LOW_CARDINALITY: Final = 10_000
"""Maximum number of distinct values of a column with low cardinality, according to the vendor (DESIGN)."""

METRIC_OF_ROW: Final = "__table_id"
"""The column of a physical table of the metric engine that identifies the logical table of a row."""
_ROUNDING: Final = timedelta(milliseconds=1)
"""Difference due to rounding: the server stores times to the nanosecond, tsaudit to the microsecond."""
_FEW_EVENTS: Final = 20
"""Minimum number of distinct values for a text that may distinguish events."""
_SHARE_OF_EVENTS: Final = 0.05
"""The same minimum as a share of the rows read."""
_OF_CLIENTS: Final = frozenset({"ip", "email", "path"})
"""Kinds of texts of which a source has a single value, but a log a different one in each line."""
_MOSTLY: Final = 0.5
_REPEATED: Final = 0.01
"""Maximum share of rows that senders repeat after errors; if there are more, they are not repetitions."""
INDEX_KINDS: Final = frozenset({"inverted", "skipping", "fulltext"})
"""Kinds of indexes that can be set and unset on a column."""


def version(profile: Profile) -> tuple[int, ...]:
    """Major and minor version of the server; empty if it is not known."""
    found = re.match(r"v?(\d+)\.(\d+)", profile.server_version)
    return tuple(map(int, found.groups())) if found else ()


def option(measurement: Measurement, name: str) -> str:
    """The value of a table option; empty if it has its default, or options were not measured."""
    return (measurement.options or {}).get(name, "")


def is_append_only(measurement: Measurement) -> bool:
    """Whether the table keeps all rows, including those with the same key and time."""
    return option(measurement, "append_mode") == "true"


def is_metric(measurement: Measurement) -> bool:
    """Whether the table belongs to the metric engine, where the key consists of all labels by design."""
    return option(measurement, "engine") == "metric"


def has_given_columns(measurement: Measurement) -> bool:
    """Whether the server derived the columns from a protocol: a table of traces, or of the metric engine."""
    return is_metric(measurement) or bool(option(measurement, "table_data_model"))


def deduplicates(measurement: Measurement) -> bool:
    """Whether the table is known to keep one row per key and time."""
    return measurement.options is not None and not is_append_only(measurement) and not is_metric(measurement)


def has_legacy_format(profile: Profile, measurement: Measurement) -> bool:
    """Whether new files are written in the format of versions up to 0.17, which takes memory for each key.

    Since 1.0, another format is the default; 1.0 reports the format of a table only if it was set.
    """
    known = version(profile)
    return option(measurement, "sst_format") == "primary_key" or (known != () and known < (1, 0))


def event_columns(measurement: Measurement) -> list[Field]:
    """Text fields whose values show that each row is an event of its own: log lines, documents, addresses of pages and,
    if they vary within a series, addresses of clients and IDs.

    Values that recur, such as the IDs of a few devices, identify sources, not events.
    """
    from tsaudit.analysis.shapes import shapes

    of_events = (shapes.TEXT_KINDS | shapes.IDENTIFIER_KINDS) - {"epoch", "iso_time"}
    read = measurement.row_patterns.rows if measurement.row_patterns else 0
    enough = max(_FEW_EVENTS, _SHARE_OF_EVENTS * read)
    texts = (f for f in measurement.fields if any(map(is_text, f.types)))
    many = ((f, shapes.classify(f.sample).kind) for f in texts if f.distinct and f.distinct.value >= enough)
    varying = varying_texts(measurement)
    return [f for f, kind in many if kind in of_events or (kind in _OF_CLIENTS and f in varying)]


def varying_texts(measurement: Measurement) -> list[Field]:
    """Text fields with several values in most series: two rows with the same key and time may differ in them."""
    texts = (f for f in measurement.fields if any(map(is_text, f.types)))
    several = (f for f in texts if f.distinct is not None and f.distinct.value > 1)
    return [f for f in several if f.constant_ratio is not None and f.constant_ratio.value < _MOSTLY]


def lost_events(measurement: Measurement) -> list[Field]:
    """The text fields that describe each event, if the rows of the table arrive irregularly and overwrite each other;
    otherwise empty.

    Readings arrive regularly, and have at most one text, a state: rows with the same key and time may then be one
    reading, sent twice.
    """
    fields, stored = measurement.rhythms.fields if measurement.rhythms else (), measurement.stored
    is_irregular = sum(f.irregular for f in fields) > sum(f.regular for f in fields)
    is_lost = stored is not None and (overwritten(measurement) or 0) > _REPEATED * stored.rows
    texts = varying_texts(measurement)
    return texts if is_irregular and is_lost and len(texts) > 1 else []


def sources_outside_key(measurement: Measurement) -> list[Field]:
    """Text fields that are named like a device and vary within most series: several sources share a key."""
    return [field for field in varying_texts(measurement) if names_device(field.key)]


def overwritten(measurement: Measurement) -> int | None:
    """Number of rows in the window's files that a query does not return, because another row has the same key and time,
    or deletes them.

    This is a minimum: rows that were overwritten in memory, or removed when files were merged, leave no trace. None if
    it is not known: the engine does not report the rows in files, or the counted rows begin later than those in files.
    """
    stored, rows, first = measurement.stored, measurement.rows, measurement.first_time
    if stored is None or rows is None or first is None or rows.source.how is not How.EXACT:
        return None
    if first - stored.first_time > _ROUNDING:
        return None
    return max(0, stored.rows - rows.value)


def loss(measurement: Measurement, *, is_certain: bool = True) -> Impact | None:
    """The cost of rows in files that others overwrote; None if there are none, or this is not known. `is_certain`:
    whether none of them was just sent twice. If it is False, the share of lost rows is not known.
    """
    lost, stored = overwritten(measurement), measurement.stored
    if not lost or stored is None:
        return None
    how = "rows in the files of the window, by ssts_manifest, less those that a query returns"
    return Impact(Currency.OVERWRITTEN, now=lost, whole=stored.rows if is_certain else None, how=how)


_RANDOM_LOSS: Final = 0.05
"""Minimum estimated share of overwritten rows: a smaller one may mean that rows did not arrive quite at random."""


def loss_by_odds(measurement: Measurement) -> Impact | None:
    """The estimated cost of rows that others of the same second overwrote in memory, where they leave no trace; for a
    table of events. None if such a loss is unlikely. The share of lost rows is not known exactly.
    """
    found, rows = measurement.repeats, measurement.rows
    if found is None or found.lost_ratio is None or found.lost_ratio < _RANDOM_LOSS or rows is None:
        return None
    lost = rows.value * found.lost_ratio / (1 - found.lost_ratio)
    how = "the share of the seconds that have a row, if events come at random: at least as many had more than one"
    return Impact(Currency.OVERWRITTEN, now=round(lost), how=how)


def primary_key(measurement: Measurement) -> tuple[str, ...]:
    """The columns of the primary key in order; sorted by name if the order is not known."""
    key = next((i for i in measurement.indexes or () if i.kind == "primary"), None)
    return tuple(c for c in key.columns if c is not None) if key else tuple(t.key for t in measurement.tags)


def indexes_on(measurement: Measurement, column: str) -> dict[str, Index]:
    """Kind of index to index, for the kinds that can be set and unset on a column."""
    return {i.kind: i for i in measurement.indexes or () if i.kind in INDEX_KINDS and i.columns == (column,)}
