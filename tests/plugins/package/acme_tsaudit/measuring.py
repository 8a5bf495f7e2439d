"""How AcmeDB is measured: as a SQL database, except for what the head of a sheet says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import Measuring, MeasuringContext, MeasuringStep


class AcmeMeasuring(Measuring):
    def listed(self, database: str, name: str) -> Draft:
        draft = super().listed(database, name)
        return replace(draft, measurement=replace(draft.measurement, options={"paper": "A4"}))

    def steps(self, context: MeasuringContext) -> Iterator[MeasuringStep]:
        yield from super().steps(context)
        yield MeasuringStep("columns", self._with_reason)

    def _with_reason(self, draft: Draft) -> Draft:
        return replace(draft, measurement=replace(draft.measurement, kind_reason="the sheet's heading says so"))


MEASURING = AcmeMeasuring
