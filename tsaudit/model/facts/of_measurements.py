"""Facts about one measurement, and facts that decide how much of it is read."""

from __future__ import annotations

from typing import Final

from tsaudit.model.facts.fact import Fact
from tsaudit.model.facts.given import (
    OfBuckets,
    OfDocuments,
    OfMeasurement,
    OfMeasurements,
    OfNullCounts,
    OfRowCount,
    OfRowSample,
    OfRowSlice,
    OfScanEstimate,
    OfSeriesListing,
    OfTimeExtents,
)

OF_MEASUREMENTS: Final = (
    Fact(
        "scan_estimate",
        OfScanEstimate,
        ("rows", "rows_read", "rows_all", "rows_sorted"),
        "the planner's estimates of rows within the window, rows read to find these, rows in the table, and "
        "rows sorted to return the requested number of newest ones; the last is 0 if an index has their "
        "order, None without a time",
    ),
    Fact(
        "time_extents",
        OfTimeExtents,
        ("rows", "*"),
        "rows examined, then, for each column that may be the time, its number of values in the form that most have, "
        "the lowest of them, and the highest; then, for each, the number of values in another form, and the lowest",
    ),
    Fact(
        "stored_rows",
        OfMeasurements,
        ("measurement", "rows", "first_time"),
        "rows in the files that are completely within the window, counting each version of a row, and their "
        "first time; a measurement without such a file has no row",
    ),
    Fact(
        "series_listing",
        OfSeriesListing,
        (),
        "every distinct tag set, streamed; a column per tag, null if the tag is absent",
    ),
    Fact(
        "tag_values",
        OfMeasurement,
        (),
        "distinct values, a sample of them and the share of series without the tag, per tag",
        derived_from=("series_listing", "measure_name_counts"),
    ),
    Fact(
        "row_count",
        OfRowCount,
        ("rows",),
        "rows within the window, in one or more parts",
    ),
    Fact(
        "row_sample",
        OfRowSample,
        (),
        "complete rows within the window, newest first, at most a given number; columns as in the table",
    ),
    Fact(
        "row_slice",
        OfRowSlice,
        (),
        "the rows of all series from `start` to `end` that have the one field in `fields`, oldest first, at most a "
        "given number: their time, the field, and the tags",
    ),
    Fact(
        "null_counts",
        OfNullCounts,
        ("rows", "first_time", "last_time", "*"),
        "rows within the window, their first and last time, then the number of non-null values for each field",
    ),
    Fact(
        "documents",
        OfDocuments,
        ("document", "bytes", "path", "data_type", "value", "value_bytes", "items", "first_item", "last_item"),
        "random documents, a row for each of their leaves: its dotted path, type, value as text, and, for an "
        "array, its number of items, and the times of its first and last item, None if they have none; data_type "
        "None for null",
    ),
    Fact(
        "buckets",
        OfBuckets,
        ("buckets", "source", "rows", "closed", "closed_by_change"),
        "random buckets of a time series collection: their total number, the bucket's source, as text, and "
        "its number of rows, None if not reported; how many buckets the server has closed since its start, and how "
        "many of them because a field changed its type, None if it does not count them",
    ),
    Fact(
        "measure_name_counts",
        OfMeasurement,
        ("measure_name", "rows", "first_time", "last_time", "series", "*"),
        "for each measure name the rows within the window, their first and last time, and the approximate "
        "number of tag sets, then the number of non-null rows for each tag and each field, then the "
        "approximate number of values of each tag",
    ),
    Fact(
        "null_ratios",
        OfMeasurement,
        (),
        "share of nulls per field",
        derived_from=("null_counts", "measure_name_counts", "row_sample", "documents", "column_statistics"),
    ),
    Fact(
        "field_values",
        OfMeasurement,
        (),
        "values of the fields as read: samples, distinct, constant per series, whole numbers",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "repeated_columns",
        OfMeasurement,
        (),
        "which columns of texts repeat together, in rows from all parts of the table",
        derived_from=("row_sample",),
    ),
    Fact(
        "row_patterns",
        OfMeasurement,
        (),
        "which columns rows fill together, and how often rows of a series fill only what the previous one lacks",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "row_share",
        OfMeasurement,
        (),
        "rows per measurement, from which each share is computed",
        derived_from=("null_counts", "measure_name_counts", "row_count"),
    ),
)
