"""What a table costs is known from its first hour on: chillers that have reported for 20 minutes."""

from __future__ import annotations

import random
import uuid
from datetime import timedelta
from typing import Final

from tests.databases import Dataset, Row, Table, times, write
from tests.engines.timestream.devops import partitioned_by
from tests.engines.timestream.double import Timestream
from tests.planning.places import Place
from tsaudit.model.finding import Severity

_MEASURED: Final = ("supply_temp", "return_temp", "flow", "power", "pressure_in", "pressure_out", "cop", "valve")


def _chillers(*, message_id: bool, memory_hours: int, together: bool) -> Dataset:
    noise = random.Random(5)
    rows: list[Row] = []
    for at in times(20):
        for number in range(60):
            tags = {"chiller": f"ch-{number:03}", "building": f"bldg-{number % 7}"}
            if message_id:
                tags["message_id"] = str(uuid.UUID(int=noise.getrandbits(128)))
            values = {name: round(noise.uniform(0, 90), 2) for name in _MEASURED}
            then = at + timedelta(milliseconds=17 * number)
            if together:
                rows.append(Row(then, tags, values, "readings"))
            else:
                rows += [Row(then, tags, {"measure_value::double": value}, name) for name, value in values.items()]
    kept = {"MemoryStoreRetentionPeriodInHours": memory_hours, "MagneticStoreRetentionPeriodInDays": 365}
    fields = dict.fromkeys(_MEASURED if together else ("measure_value::double",), "float")
    tags_used = tuple(rows[0].tags)
    settings = {"RetentionProperties": kept} | partitioned_by("chiller")
    return Dataset([Table("hvac", tags_used, fields, rows, key=("time", *tags_used), timestream=settings)])


def _warned(timestream: Timestream, dataset: Dataset) -> dict[str, str]:
    """Rule to why its finding is a warning."""
    _, result = Place(write(dataset, "timestream", timestream)).audited()
    return {
        rule.code: found.severity_reason for rule, found in result.findings() if found.severity is not Severity.NOTE
    }


def test_each_kind_of_waste_has_its_share_of_one_bill(timestream: Timestream) -> None:
    assert _warned(timestream, _chillers(message_id=True, memory_hours=720, together=False)) == {
        "LAY010": "$41 a month that could be saved, 72% of the bill",
        "RET004": "$54 a month that could be saved, 93% of the bill",
        "TAG002": "$27 a month that could be saved, 48% of the bill",
    }


def test_silence_when_little_could_be_saved(timestream: Timestream) -> None:
    assert _warned(timestream, _chillers(message_id=False, memory_hours=24, together=True)) == {}
