"""When a growing figure reaches its limit, in the same words for all outputs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.text.numbers import many, number, percent, quantity
from tsaudit.text.times import day

if TYPE_CHECKING:
    from tsaudit.model.finding import Forecast

PROVISIONAL: Final = "provisional: too little history"


def limit_reached(forecast: Forecast) -> str:
    """`at this rate the limit of 100,000 series is reached in about 9 days (80% range 7 to 13)`.

    If growth is expected to slow down: `the limit of 100,000 series is reached in about 9 days (80% range 4 to 13), 5
    days at this rate`. Beyond the time for which the intervals are reliable: `at the present rate the limit of 100,000
    series is reached around 2026-07-04`. Empty if the limit is beyond the horizon.
    """
    goal = f"the limit of {quantity(forecast.limit, forecast.unit)}"
    if forecast.days is None:
        return ""
    if forecast.days <= 0:
        return f"{goal} is reached"
    if not forecast.has_interval and forecast.from_day is not None:
        when, rate = f"around {day(forecast.from_day + timedelta(round(forecast.days)))}", "at the present rate "
        sooner = f"; at the present rate, in {_days_at_rate(forecast)}" if forecast.slows_down else ""
    else:
        when, rate, sooner = time_left(forecast), "at this rate ", ""
    return f"{'' if forecast.slows_down else rate}{goal} is reached {when}{sooner}"


def time_left(forecast: Forecast) -> str:
    """The time until the limit: `in about 9 days (80% range 7 to 13)`; empty if the limit is already reached, or is
    beyond the horizon.
    """
    if forecast.days is None or forecast.days <= 0:
        return ""
    between, sooner = interval(forecast), f", {at_rate(forecast)}" if at_rate(forecast) else ""
    return about(forecast) + (f" ({between})" if between else "") + sooner


def at_rate(forecast: Forecast) -> str:
    """The time until the limit at the present rate: `5 days at this rate`; empty if that is about the forecast."""
    return f"{days} at this rate" if (days := _days_at_rate(forecast)) else ""


def _days_at_rate(forecast: Forecast) -> str:
    if not forecast.slows_down or forecast.days_at_rate is None:
        return ""
    return many(max(1, round(forecast.days_at_rate)), "day")


def about(forecast: Forecast) -> str:
    """The time until the limit without its range: `in about 9 days`, `already`; empty beyond the horizon. A future
    limit is at least one day away.
    """
    if forecast.days is None:
        return ""
    return f"in about {many(max(1, round(forecast.days)), 'day')}" if forecast.days > 0 else "already"


def interval(forecast: Forecast) -> str:
    """`80% range 7 to 13`, in days. Open if one end is not known; empty if the range adds nothing or would be
    unreliable.
    """
    if forecast.days is None or forecast.days <= 0 or not forecast.has_interval:
        return ""
    low = None if forecast.days_low is None else max(0, round(forecast.days_low))
    high = None if forecast.days_high is None else max(1, round(forecast.days_high))
    if low is None:
        return f"80% range up to {number(high)}" if high is not None else ""
    if high is None:
        return f"80% range {number(low)} or more"
    return f"80% range {number(low)} to {number(high)}" if low < high else ""


def pace(forecast: Forecast) -> str:
    """`growing 5% a day since 2026-03-01; provisional: too little history`; unknown parts are left out."""
    growth = f"growing {percent(forecast.growth_per_day)} a day"
    since = f" since {day(forecast.onset)}" if forecast.onset is not None else ""
    return f"{growth}{since}" + (f"; {PROVISIONAL}" if forecast.provisional else "")
