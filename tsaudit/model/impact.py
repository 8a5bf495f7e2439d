"""What a finding costs, and on what evidence. Rules return it, and `tsaudit.harm` derives the severity from it."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Basis(enum.StrEnum):
    """The kind of evidence that a finding rests on."""

    DECLARED = "declared"
    """The database or its owner says so: tags of an engine that has them, keys, indexes, partitions, `columns:`."""
    MEASURED = "measured"
    """Counted or read, without any inference."""
    INFERRED = "inferred"
    """Roles of columns that were inferred from names, values, or the interval between rows."""


class Currency(enum.StrEnum):
    """What a finding costs: points, series, bytes, money, reads, or something that no longer works."""

    REJECTED = "points rejected or dropped"
    OVERWRITTEN = "rows overwritten"
    LIMIT = "a limit"
    SERIES = "avoidable series"
    FAMILY = "names of one family"
    BYTES = "avoidable bytes"
    MONEY = "avoidable dollars a month"
    MECHANISM = "a mechanism that fails"
    ANSWERS = "wrong answers"
    READS = "rows read unnecessarily a day"


@dataclass(frozen=True, slots=True)
class Impact:
    """What a problem costs. Only avoidable cost counts: the series and rows of legitimate sources are what a server is
    for.
    """

    currency: Currency
    now: float = 0.0
    """The amount today: avoidable series, bytes, names, dollars a month, rows a day. For a limit: how much of it is
    used. For lost data: the number since the previous audit.
    """
    whole: float | None = None
    """The total that `now` is a part of: the series of the database, the bytes of the table, the query cost, the rows
    written; for a limit, the limit itself. None: not known, so no share is evaluated.
    """
    per_day: float | None = None
    """By how much `now` grows a day at the present rate; 0 if it is known not to grow, None if that is not known."""
    kept_days: float | None = None
    """After how many days added data is removed again; None for never."""
    ahead_days: float | None = None
    """For how many days ahead the rate may be expected to hold; None for the whole horizon."""
    days_left: float | None = None
    """Days until a limit is reached, or a mechanism ends; negative if it ended that many days ago. None: neither is in
    sight.
    """
    is_enforced: bool | None = True
    """Whether the loss is certain: the server rejects what exceeds the limit, or rows that no partition accepts. None:
    not proven, for example because overwritten rows may have been identical.
    """
    is_owners: bool = False
    """For a limit: whether the owner of the database set it, so that it applies even if the server would accept more.
    """
    counted_s: float | None = None
    """For rows a day: the seconds in which `now` was counted, if less than a day; None for a day."""
    goes_on: bool = False
    """Whether the problem was already there on the day before."""
    unit_bytes: float | None = None
    """Memory of one series in bytes, by the price named in `how`; None: no price is known."""
    unit: str = ""
    """Unit of `now` and `whole` if the currency does not define it: for a limit, `series` or `columns`."""
    tags: tuple[str, ...] = ()
    """For series: the tags that cause them together, which may be more than the finding is about."""
    consequence: str = ""
    """For a mechanism: what happens if nothing is done; empty if it stays as it is."""
    how: str = ""
    """How the amount was measured and priced, with the source of the price."""

    def after(self, days: float) -> float:
        """The amount after this many days at the present rate, without what is removed by then; the amount today if the
        rate is not known.
        """
        per_day = self.per_day or 0.0
        days = days if self.ahead_days is None else min(days, self.ahead_days)
        grown = self.now + per_day * days
        return grown if self.kept_days is None else min(grown, max(self.now, per_day * self.kept_days))

    def stops_after(self, days: float) -> float:
        """The number of days, at most `days`, after which the amount is what `after` says and grows no further."""
        days = days if self.ahead_days is None else min(days, self.ahead_days)
        if self.kept_days is None or not self.per_day:
            return days
        return min(days, max(self.kept_days - self.now / self.per_day, 0.0))

    @property
    def share(self) -> float | None:
        """Share of the whole today, 0 to 1; None if the whole is not known."""
        return self.now / self.whole if self.whole else None

    def share_after(self, days: float) -> float | None:
        """Share of the whole after this many days, if nothing else grows; None if the whole is not known."""
        if self.whole is None:
            return None
        amount = self.after(days)
        whole = self.whole - self.now + amount
        return amount / whole if whole > 0 else None
