"""NAM006."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tsaudit.engines.timestream.tables import KEY, best_key
from tsaudit.model.columns import Tag
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MeasureNames
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import count, listed, number, percent

_BUCKETS = 8192
_NUMBER = re.compile(r"-?\d{1,4}")
_FEWEST: Final = 8
"""Minimum number of measure names: fewer may be codes with a meaning."""
_SHARE: Final = 0.9
"""Minimum share of the measure names: a few may have other uses."""
_SPREAD: Final = 0.25
"""Minimum spread, as a share of all numbers: eight hashes are closer once in 2,000 cases, channel numbers usually."""


@rule(
    code="NAM006",
    title="Measure names are hashes",
    guidelines=("G6",),
    requires={"measure_names"},
    uses={"options", "tag_values"},
)
def hashed_measure_name(case: Case) -> Iterator[Finding]:
    """Tables whose measure names are plain numbers below 8,192: a dimension hashed into the maximum number of names.

    Numbers that span less than a quarter of that range count as numbers of channels or registers.

    ## Why it matters

    AWS once recommended this, to use the measure name as a partition key. The advice is outdated: every reader has to
    compute the hash to find anything, the names carry no meaning, and a table can now have its own partition key.

    ## Example

    `measure_name` 6445, 6399, 640, 2093, 7051, computed as `abs(hash(host_name)) % 8192`.

    ## Fix

    Use a table with a customer-defined partition key on that dimension, and measure names that name kinds of records.

    ## References

    - The deprecated advice: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Customer-defined partition keys:
      https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys.html
    """
    for measurement in case.measurements:
        found = measurement.measure_names
        if found is None or not found.names:
            continue
        hashed = [name.name for name in found.names if _is_bucket(name.name)]
        enough = len(hashed) >= max(_FEWEST, _SHARE * len(found.names))
        if enough and _spread(hashed) >= _SPREAD:
            yield _finding(measurement, found, hashed)


def _is_bucket(name: str) -> bool:
    return bool(_NUMBER.fullmatch(name)) and abs(int(name)) < _BUCKETS


def _spread(hashed: list[str]) -> float:
    """The range between the smallest and the largest number, as a share of all numbers."""
    numbers = [abs(int(name)) for name in hashed]
    return (max(numbers) - min(numbers)) / _BUCKETS


def _finding(measurement: Measurement, found: MeasureNames, hashed: list[str]) -> Finding:
    key, best = (measurement.options or {}).get(KEY), best_key(measurement)
    share = len(hashed) / len(found.names)
    evidence = [
        Evidence("names that are numbers", f"{percent(share)} of those checked"),
        Evidence("partition key", key or "none but the measure name"),
    ]
    if best and best.values:
        evidence.append(Evidence("dimension with the most values", f"{best.key}: {count(best.values)}"))
    return Finding(
        subject=subject_of(measurement),
        message=f"{count(found.count)} measure names such as {listed(hashed, 3)} are numbers below "
        f"{number(_BUCKETS)}: hashes, which a partition key replaces.",
        fix=_advice(key, best),
        observed=share,
        unit="share of the names",
        samples=tuple(hashed[:3]),
        evidence=tuple(evidence),
        facts=("measure_names", "options", "tag_values"),
        source=found.count.source,
    )


def _advice(key: str | None, best: Tag | None) -> str:
    if key:
        return f"Write one measure name for each kind of record to this table: it is partitioned by {key} already."
    by = best.key if best else "a dimension"
    return (
        f"Write one measure name for each kind of record to a new table that is partitioned by {by}: its key cannot be "
        "changed later, so use the dimension that most queries filter by."
    )
