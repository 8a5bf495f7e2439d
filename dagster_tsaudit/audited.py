"""One audited target, together with data from its history, from which checks and metadata are made."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import dagster as dg

from tsaudit.config.settings import Settings
from tsaudit.model.figures import Subject
from tsaudit.model.timeline import Point

if TYPE_CHECKING:
    from tsaudit.history.store import Store
    from tsaudit.run import AuditRun

_SHOWN_DAYS: Final = 90


@dataclass(frozen=True, slots=True)
class AuditedTarget:
    """The outcome for one target on one day."""

    run: "AuditRun"
    series: Sequence[Point] = ()
    """The target's series over the days up to the audited one."""


def audited(run: "AuditRun", store: "Store") -> AuditedTarget:
    """The run with its history. Raises HistoryError if that cannot be read."""
    series = store.trend(run.target, "series", Subject(), days=_SHOWN_DAYS, until=run.day)
    return AuditedTarget(run, series)


@contextmanager
def history(settings: Settings) -> Iterator["Store"]:
    """The opened history. Raises dg.Failure if it cannot be used."""
    from tsaudit.history.database import HistoryError
    from tsaudit.history.store import Store

    try:
        with Store.open(settings.history.get_secret_value()) as store:
            yield store
    except HistoryError as error:
        raise dg.Failure(str(error), allow_retries=False) from None
