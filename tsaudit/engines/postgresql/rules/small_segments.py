"""STO018."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.columns import Tag
from tsaudit.model.finding import Basis, Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, many, size

_SEGMENTBY: Final = "timescaledb.compress_segmentby"


@rule(
    code="STO018",
    title="Compressed chunks have segments of few rows",
    costs={Currency.BYTES},
    guidelines=("A9",),
    requires={"options", "partitions", "tag_values"},
    uses={"storage"},
    thresholds=(
        Threshold(
            "min_segment_rows",
            100,
            "rows of a value",
            "our default: a tenth of the 1,000 rows that are compressed together: "
            "https://docs.timescale.com/use-timescale/latest/hypercore/secondary-indexes/",
        ),
    ),
)
def small_segments(case: Case) -> Iterator[Finding]:
    """Hypertables whose compressed chunks are segmented by a column with few rows for each of its values.

    TimescaleDB compresses up to 1,000 rows together, all of one chunk and with the same values of the columns in
    `segmentby`. A value with fewer than `min_segment_rows` rows in all chunks has fewer in each: hardly anything is
    compressed, and each group has costs of its own. So it is where the column is unique. Only hypertables with
    several chunks are judged. Rows and values are those of the window. The cost is the bytes of the
    table without its indexes, of which compression saves hardly any: the most that it could save.

    ## Why it matters

    Compression is declared, runs, and saves little or nothing; the chunks may even become larger, and are slower to
    read than before.

    ## Example

    `events` with `compress_segmentby = 'request_id'`: one row in each group.

    ## Fix

    Segment by what queries filter by and what has many rows in each chunk, such as the device, or by nothing. The
    column with many values stays as it is: as a plain column it does no harm.

    ## References

    - About `segmentby`: https://docs.timescale.com/use-timescale/latest/compression/about-compression/
    """
    for measurement in case.measurements:
        if (tag := _finest(case, measurement)) is not None:
            yield _finding(case, measurement, tag)


def _finest(case: Case, measurement: Measurement) -> Tag | None:
    """The column in `segmentby` with the most values, if its values have too few rows; otherwise None."""
    options, cut, rows = measurement.options or {}, measurement.partitioning, measurement.rows
    if not measurement.is_compressed or cut is None or cut.count < 2 or rows is None:
        return None
    columns = options.get(_SEGMENTBY, "").split(", ")
    tags = [tag for tag in measurement.tags if tag.key in columns and tag.values is not None]
    finest = max(tags, key=lambda tag: tag.values.value if tag.values else 0, default=None)
    if finest is None or not finest.values:
        return None
    return finest if rows.value / finest.values.value < case.limit("min_segment_rows", measurement).value else None


def _finding(case: Case, measurement: Measurement, tag: Tag) -> Finding:
    assert tag.values is not None
    assert measurement.rows is not None
    rows = measurement.rows.value / tag.values.value
    held = measurement.storage.data_bytes if measurement.storage else None
    how = "bytes of the table, of which compression saves hardly any"
    return Finding(
        subject=subject_of(measurement, tag.key),
        message=f"Compressed chunks are segmented by {tag.key}, which has only {many(rows, 'row')} for each value.",
        impact=None if held is None else costs.of_bytes(case, measurement, held, how=how),
        basis=Basis.DECLARED,
        fix=f"Leave {tag.key} out of timescaledb.compress_segmentby: as a plain column it does no harm. Chunks that "
        "are compressed already change when they are decompressed and compressed again.",
        observed=rows,
        unit="rows for each value",
        main_contributor=tag.key,
        evidence=(
            Evidence("rows", count(measurement.rows)),
            Evidence("values", count(tag.values)),
            Evidence("segmentby", (measurement.options or {}).get(_SEGMENTBY, "")),
            *([Evidence("bytes of the table", size(held))] if held is not None else []),
        ),
        facts=("options", "partitions", "tag_values", "storage"),
    )
