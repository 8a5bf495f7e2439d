"""What counts as harm: the constants by which findings become warnings, or critical."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from tsaudit.config.base import Model
from tsaudit.config.types import Duration, Size

Share = Annotated[float, Field(gt=0, le=1)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Harm(Model):
    """From which cost on a finding is a warning, or critical. Each default says why it is what it is."""

    horizon: Duration = timedelta(days=365)
    """How far ahead bytes and series are judged at the present rate, if data is kept that long: a year is what people
    budget.
    """
    limit_warning: Share = 0.8
    """Share of a limit: influxd itself begins to log at 80 %."""
    limit_critical: Share = 0.95
    """Share of a limit: what is left is less than a bad day."""
    warning_days: Annotated[int, Field(ge=0)] = 90
    """Days until a limit, and how far ahead names and money are judged: a quarter is enough to change a writer."""
    critical_days: Annotated[int, Field(ge=0)] = 14
    """Days until a limit: less than most teams need to release and roll out."""
    min_series: _Amount = 10_000
    """Avoidable series at the horizon: fewer take less than 10 MB of memory, and some 50 ms of a query of all."""
    min_unmeasured_series: _Amount = 1_000
    """Avoidable series today, as long as their rate is not known: a leak should be seen while it is small."""
    min_series_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Of the series of the database: less than that is not what makes it slow."""
    min_names: _Amount = 1_000
    """Measurements, tables, or collections of one family, each of which costs memory, files, and catalog entries."""
    min_memory: Size = 512_000_000
    """Memory that avoidable series take within `critical_days`, so that a server may run out of it."""
    max_memory: Size | None = None
    """Memory that the database server has. Without it, series are never critical: no server tells how much it has."""
    min_bytes: Size = 100_000_000
    """Avoidable bytes at the horizon: a DBA does not act on less."""
    min_bytes_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Of the table and its indexes: less is not what fills the disk."""
    max_bytes: Size | None = None
    """The space for data and indexes. Only MongoDB tells the size of its disk."""
    min_money: _Amount = 10
    """Avoidable dollars a month: less than a meeting about it costs."""
    min_money_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Of the bill."""
    min_reads: _Amount = 500_000_000
    """Rows a day that queries read in vain: from memory, fewer take less than 20 seconds of one processor a day."""
    max_rejected_share: Annotated[float, Field(ge=0, le=1)] = 0.001
    """Of the points written: from this share on, rejected ones are critical."""
    max_overwritten_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Of the rows read: from this share on, overwritten ones are critical."""
