"""Collections made by hand, as an audit describes them."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

from tests.builders import DAY, a_count, a_field, a_measurement, a_source
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Documents
from tsaudit.model.storage import Index, Storage


def a_collection(
    name: str, documents: int | None = 100, data: int | None = 3500, field: str = "user_id"
) -> Measurement:
    """One with an index beside that of `_id`. `data` None: others of its family were measured in its place."""
    measured = data is not None
    primary = Index("_id_", "btree", ("_id",), unique=True, constraint=True, partial=False, size_bytes=2000, scans=0)
    other = Index("user_id_1", "btree", (field,), unique=True, constraint=True, partial=False, size_bytes=1200, scans=9)
    found = a_measurement(
        name,
        tags=(),
        time_column=None,
        rows=None if documents is None else a_count(documents),
        fields=(a_field("_id", types=("objectId",)), a_field(field, types=("int",), value_bytes=4.0))
        if measured
        else (),
        storage=Storage(data, 3200) if data is not None else None,
        indexes=(primary, other) if measured else None,
        documents=Documents(100, 35.0, 35, a_source()) if measured else None,
        options={"type": "collection"},
    )
    return dataclasses.replace(found, series=None)


def days(count: int, form: str = "visits_%Y_%m_%d") -> list[str]:
    return [(DAY - timedelta(days=i)).strftime(form) for i in range(count)]
