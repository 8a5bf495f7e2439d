"""What several rules want of measurements whose names differ in data only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.subject import Subject

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.shapes import NameFamily


def merged(database: str, family: NameFamily) -> MergeMeasurements:
    """All of them as one measurement, with what varies as tags."""
    from tsaudit.analysis.shapes.name_families import told_by

    members = tuple(Merged(told.name, told.tags, told.field) for told in told_by(family))
    return MergeMeasurements(Subject(database), family.measurement, family.template, members)
