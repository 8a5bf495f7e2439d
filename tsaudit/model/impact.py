"""What a finding costs, and on what evidence: what a rule returns. `tsaudit.harm` decides from it how bad that is."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Basis(enum.StrEnum):
    """What a finding rests on."""

    DECLARED = "declared"
    """The database or its owner says so: tags of an engine that has them, keys, indexes, partitions, `columns:`."""
    MEASURED = "measured"
    """Counted or read, with no guess in between."""
    INFERRED = "inferred"
    """Roles of columns that were guessed from names, values, or rhythm."""


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
    READS = "rows read in vain a day"


@dataclass(frozen=True, slots=True)
class Impact:
    """What something costs. Only avoidable cost counts: what honest sources cost, a server is there for."""

    currency: Currency
    now: float = 0.0
    """The amount today: avoidable series, bytes, names, dollars a month, rows a day; of a limit, what is used of it; of
    what is lost, the number since the audit before.
    """
    whole: float | None = None
    """What `now` is a part of: the series of the database, the bytes of the table, the bill, the rows written; of a
    limit, the limit itself. None: not known, so that no share is judged.
    """
    per_day: float | None = 0.0
    """By how much `now` grows a day at the present rate; 0 if it does not grow, None if that is not known."""
    kept_days: float | None = None
    """After how many days what was added is removed again; None for never."""
    days_left: float | None = None
    """Until a limit is reached, or a mechanism ends; negative if it ended so long ago. None: neither is in sight."""
    is_enforced: bool | None = True
    """Whether the server rejects what goes beyond a limit, or rows that nothing catches; None: not proven, as it is not
    of overwritten rows that may have been the same.
    """
    is_owners: bool = False
    """Of a limit: whether somebody here set it, so that it holds, although the server may accept more."""
    goes_on: bool = False
    """It was so on the day before, too."""
    unit_bytes: float | None = None
    """Memory of one series, by the price named in `how`; None for no price."""
    unit: str = ""
    """Of `now` and `whole`, if the currency does not say it: of a limit, `series` or `columns`."""
    how: str = ""
    """How the amount was measured and priced, with the source of the price."""

    def after(self, days: float) -> float:
        """The amount in so many days at the present rate, without what is removed by then; that of today if the rate is
        not known.
        """
        per_day = self.per_day or 0.0
        grown = self.now + per_day * days
        return grown if self.kept_days is None else min(grown, max(self.now, per_day * self.kept_days))

    @property
    def share(self) -> float | None:
        """Its share of the whole today, 0 to 1; None if the whole is not known."""
        return self.now / self.whole if self.whole else None

    def share_after(self, days: float) -> float | None:
        """Its share by then, as far as only it grows; None if the whole is not known."""
        if self.whole is None:
            return None
        amount = self.after(days)
        whole = self.whole - self.now + amount
        return amount / whole if whole > 0 else None
