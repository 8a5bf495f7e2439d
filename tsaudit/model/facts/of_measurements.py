"""Facts about one measurement, and what decides how much of it is read."""

from __future__ import annotations

from typing import Final

from tsaudit.model.facts.fact import Fact, Scope, Step
from tsaudit.model.facts.given import (
    OfBuckets,
    OfDocuments,
    OfMeasurements,
    OfNullCounts,
    OfRowCount,
    OfRowSample,
    OfScanEstimate,
    OfSeriesListing,
)

OF_MEASUREMENTS: Final = (
    Fact(
        "scan_estimate",
        Scope.MEASUREMENT,
        Step.METADATA,
        ("rows", "rows_read", "rows_all", "rows_sorted"),
        "by the planner's estimate, rows within the window, read to find these, in the table, and sorted to hand over "
        "the newest ones, as many as were asked for; the last 0 where an index has their order, None without a time",
        asked_with=OfScanEstimate,
    ),
    Fact(
        "stored_rows",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "rows", "first_time"),
        "rows in the files that lie within the window as a whole, each version of a row counted, and their first time; "
        "a measurement without such a file has no row",
        asked_with=OfMeasurements,
    ),
    Fact(
        "series_listing",
        Scope.MEASUREMENT,
        Step.LISTING,
        (),
        "every distinct tag set, streamed; a column per tag, null where the tag is absent",
        asked_with=OfSeriesListing,
    ),
    Fact(
        "tag_values",
        Scope.MEASUREMENT,
        Step.LISTING,
        (),
        "distinct values, a sample of them and the share of series without the tag, per tag",
        derived_from=("series_listing", "measure_name_counts"),
    ),
    Fact(
        "row_count",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("rows",),
        "rows within the window, in one or more parts",
        asked_with=OfRowCount,
    ),
    Fact(
        "row_sample",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "whole rows from within the window, newest first, at most a given number; columns as in the table",
        asked_with=OfRowSample,
    ),
    Fact(
        "null_counts",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("rows", "first_time", "last_time", "*"),
        "rows within the window, their first and last time, then for each field how many of them are not null",
        asked_with=OfNullCounts,
    ),
    Fact(
        "documents",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("document", "bytes", "path", "data_type", "value", "value_bytes", "items"),
        "documents chosen at random, a row for each leaf of each: its dotted path, type, value as text, and, of an "
        "array, how many items it has; data_type None for null",
        asked_with=OfDocuments,
    ),
    Fact(
        "buckets",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("buckets", "source", "rows"),
        "buckets of a time-series collection, chosen at random: how many there are in all, what tells the bucket's "
        "source, as text, and how many rows it holds, None where it does not say",
        asked_with=OfBuckets,
    ),
    Fact(
        "measure_name_counts",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("measure_name", "rows", "first_time", "last_time", "series", "*"),
        "for each measure name rows within the window, their first and last time, about how many tag sets, then for "
        "each tag and each field how many rows are not null, then for each tag about how many values it has",
    ),
    Fact(
        "null_ratios",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "share of nulls per field",
        derived_from=("null_counts", "measure_name_counts", "row_sample", "documents"),
    ),
    Fact(
        "field_values",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "values of the fields as read: samples, distinct, constant per series, whole numbers",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "row_patterns",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "which columns rows fill together, and how often rows of a series fill only what the one before lacks",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "rhythms",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "in how many of the series read each field's values come at even intervals, and in how many at uneven ones",
        derived_from=("row_sample",),
    ),
    Fact(
        "point_sample",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "hashes of a few points' tag sets and times, the same few in measurements with the same points",
        derived_from=("row_sample",),
    ),
    Fact(
        "tag_changes",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "how the value of each tag changes over time, for sources named by the other tags",
        derived_from=("row_sample",),
    ),
    Fact(
        "repeats",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "how many of the rows read have the tags and the time of another, or are the same in all columns",
        derived_from=("row_sample",),
    ),
    Fact(
        "time_lags",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "how far fields that hold times lie before the time of their rows",
        derived_from=("row_sample",),
    ),
    Fact(
        "row_share",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "rows per measurement, from which each one's share follows",
        derived_from=("null_counts", "measure_name_counts", "row_count"),
    ),
)
