"""What GreptimeDB's options and indexes mean for a table."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.columns.types import is_text
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Field, How, Index, Measurement, Profile

ENGINE: Final = "greptimedb"
DESIGN: Final = "https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/"
LOW_CARDINALITY: Final = 10_000
"""Distinct values of a column up to which the vendor calls its cardinality low (DESIGN)."""

METRIC_OF_ROW: Final = "__table_id"
"""In a physical table of the metric engine: the column that says of which logical table a row is."""
_ROUNDING: Final = timedelta(milliseconds=1)
"""Times are kept to the nanosecond there and to the microsecond here."""
_FEW_EVENTS: Final = 20
"""Different values from which on a text may tell events apart."""
_SHARE_OF_EVENTS: Final = 0.05
"""The same, as a share of the rows read."""
_OF_CLIENTS: Final = frozenset({"ip", "email", "path"})
"""Kinds of texts that a source has one of, and a log another one in each line."""
_MOSTLY: Final = 0.5
_REPEATED: Final = 0.01
"""Share of rows that senders repeat after errors; more are not the same ones."""
INDEX_KINDS: Final = frozenset({"inverted", "skipping", "fulltext"})
"""Of those that can be set and unset on a column."""


def version(profile: Profile) -> tuple[int, ...]:
    """Major and minor number; empty where the server's version has none."""
    found = re.match(r"v?(\d+)\.(\d+)", profile.server_version)
    return tuple(map(int, found.groups())) if found else ()


def option(measurement: Measurement, name: str) -> str:
    """The value of a table option; empty where it has its default or options were not measured."""
    return (measurement.options or {}).get(name, "")


def is_append_only(measurement: Measurement) -> bool:
    """Whether it keeps all rows, also those of the same key and time."""
    return option(measurement, "append_mode") == "true"


def is_metric(measurement: Measurement) -> bool:
    """Whether it is kept by the metric engine, in which all labels are the key by design."""
    return option(measurement, "engine") == "metric"


def has_given_columns(measurement: Measurement) -> bool:
    """Whether the server made its columns out of a protocol's names: a table of traces or of the metric engine."""
    return is_metric(measurement) or bool(option(measurement, "table_data_model"))


def deduplicates(measurement: Measurement) -> bool:
    """Whether it is known to keep one row per key and time."""
    return measurement.options is not None and not is_append_only(measurement) and not is_metric(measurement)


def has_legacy_format(profile: Profile, measurement: Measurement) -> bool:
    """Whether new files are written in the format of the versions up to 0.17, which keeps something for each key.

    From 1.0 on another one is the default; 1.0 does not tell in which format a table writes unless it was set.
    """
    known = version(profile)
    return option(measurement, "sst_format") == "primary_key" or (known != () and known < (1, 0))


def event_columns(measurement: Measurement) -> list[Field]:
    """Text fields by whose values each row is an event of its own: log lines, documents, addresses of pages or, if they
    vary within a series, of clients, ids.

    Values that come again and again, such as the ids of a few devices, name sources and not events.
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
    """Text fields with several values within most series, so that two rows of one key and time may differ in them."""
    texts = (f for f in measurement.fields if any(map(is_text, f.types)))
    several = (f for f in texts if f.distinct is not None and f.distinct.value > 1)
    return [f for f in several if f.constant_ratio is not None and f.constant_ratio.value < _MOSTLY]


def lost_events(measurement: Measurement) -> list[Field]:
    """The texts that say what each event is, of a table whose rows come irregularly and overwrite each other.

    Readings come regularly, and have one state at most: there, equal key and time may be the same reading, sent again.
    """
    fields, stored = measurement.rhythms.fields if measurement.rhythms else (), measurement.stored
    is_irregular = sum(f.irregular for f in fields) > sum(f.regular for f in fields)
    is_lost = stored is not None and (overwritten(measurement) or 0) > _REPEATED * stored.rows
    texts = varying_texts(measurement)
    return texts if is_irregular and is_lost and len(texts) > 1 else []


def sources_outside_key(measurement: Measurement) -> list[Field]:
    """Texts that are called like a device and vary within most series: several sources share a key."""
    return [field for field in varying_texts(measurement) if fleets.names_device(field.key)]


def overwritten(measurement: Measurement) -> int | None:
    """Rows in files of the window that a query does not show, as another one has their key and time, or deletes them.

    They are no more than found: what was overwritten in memory, or taken out when files were merged, is gone. None
    where it is not known: the engine does not tell, or the rows that were counted begin later than those in files.
    """
    stored, rows, first = measurement.stored, measurement.rows, measurement.first_time
    if stored is None or rows is None or first is None or rows.source.how is not How.EXACT:
        return None
    if first - stored.first_time > _ROUNDING:
        return None
    return max(0, stored.rows - rows.value)


def loss(measurement: Measurement, *, is_certain: bool = True) -> Impact | None:
    """The rows that others overwrote, of those in files; None if there are none, or this is not known. `is_certain`:
    none of them was just sent again. Otherwise nobody knows how many of how many are gone.
    """
    lost, stored = overwritten(measurement), measurement.stored
    if not lost or stored is None:
        return None
    how = "rows in the files of the window, by ssts_manifest, less those that a query returns"
    return Impact(Currency.OVERWRITTEN, now=lost, whole=stored.rows if is_certain else None, how=how)


_RANDOM_LOSS: Final = 0.05
"""Share of the rows that were overwritten, by the odds: less may be because they did not come quite at random."""


def loss_by_odds(measurement: Measurement) -> Impact | None:
    """The rows that others of the same second overwrote in memory, where nothing is left of them; for a table of
    events. None if it is not likely. How many of how many are gone, nobody knows exactly.
    """
    found, rows = measurement.repeats, measurement.rows
    if found is None or found.lost_ratio is None or found.lost_ratio < _RANDOM_LOSS or rows is None:
        return None
    lost = rows.value * found.lost_ratio / (1 - found.lost_ratio)
    how = "the share of the seconds that have a row, if events come at random: at least as many had more than one"
    return Impact(Currency.OVERWRITTEN, now=round(lost), how=how)


def primary_key(measurement: Measurement) -> tuple[str, ...]:
    """Its columns in its order; by name where the order is not known."""
    key = next((i for i in measurement.indexes or () if i.kind == "primary"), None)
    return tuple(c for c in key.columns if c is not None) if key else tuple(t.key for t in measurement.tags)


def indexes_on(measurement: Measurement, column: str) -> dict[str, Index]:
    """Kind to index, of those that can be set and unset on a column."""
    return {i.kind: i for i in measurement.indexes or () if i.kind in INDEX_KINDS and i.columns == (column,)}
