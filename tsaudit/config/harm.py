"""What counts as harm: the constants that decide whether a finding is a warning, or critical."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from tsaudit.config.base import Model
from tsaudit.config.types import Duration, Size

Share = Annotated[float, Field(gt=0, le=1)]
_Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Harm(Model):
    """The costs from which a finding is a warning, or critical. Each default is explained."""

    horizon: Duration = timedelta(days=365)
    """How far ahead the growth of bytes and series is evaluated at the present rate, if data is kept that long: budgets
    are usually made for a year.
    """
    limit_warning: Share = 0.8
    """Share of a limit that is a warning: influxd itself begins to log at 80%."""
    limit_critical: Share = 0.95
    """Share of a limit that is critical: the remaining share can be used up on a single bad day."""
    warning_days: Annotated[int, Field(ge=0)] = 90
    """Days until a limit is reached that are a warning, and how far ahead names and money are evaluated: a quarter is
    enough time to change a writer.
    """
    critical_days: Annotated[int, Field(ge=0)] = 14
    """Days until a limit is reached that are critical: less than most teams need to release and roll out a change."""
    min_series: _Amount = 10_000
    """Avoidable series at the horizon that are a warning: fewer take less than 10 MB of memory, and about 50 ms of a
    query over all of them.
    """
    min_unmeasured_series: _Amount = 1_000
    """Avoidable series today that are a warning while their rate is not known: a leak should be noticed while it is
    small.
    """
    min_series_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Minimum share of the database's series: a smaller share does not make the database slow."""
    min_names: _Amount = 1_000
    """Measurements, tables, or collections of one family that are a warning: each costs memory, files, and catalog
    entries.
    """
    min_memory: Size = 512_000_000
    """Memory taken by avoidable series within `critical_days` that is critical, because a server may run
    out of memory.
    """
    max_memory: Size | None = None
    """Memory of the database server. If it is not set, series are never critical, because no server reports
    its memory.
    """
    min_bytes: Size = 100_000_000
    """Avoidable bytes at the horizon that are a warning: a smaller amount is not worth a DBA's time."""
    min_bytes_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Minimum share of the table and its indexes: a smaller share does not fill the disk."""
    max_bytes: Size | None = None
    """Disk space for data and indexes. Only MongoDB reports the size of its disk."""
    min_money: _Amount = 10
    """Avoidable dollars a month that are a warning: less than the cost of a meeting about them."""
    min_money_share: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Minimum share of the query cost."""
    min_reads: _Amount = 500_000_000
    """Unnecessarily read rows a day that are a warning: from memory, fewer take less than 20 seconds of one processor a
    day.
    """
    max_rejected_share: Annotated[float, Field(ge=0, le=1)] = 0.001
    """Share of the points written that is critical if they are rejected."""
    max_overwritten_share: Annotated[float, Field(ge=0, le=1)] = 0.01
    """Share of the rows read that is critical if they were overwritten."""
