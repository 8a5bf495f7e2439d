"""What a finding costs, in words: why it is as severe as it is, and what happens if nothing is done."""

from __future__ import annotations

from tsaudit.model.finding import Currency, Impact
from tsaudit.text import duration, listed, many, number, percent, quantity, rounded, size


def reason(impact: Impact, days: float) -> str:
    """Why a finding is as severe as it is, in a few words. `days`: how far ahead its growth was evaluated."""
    match impact.currency:
        case Currency.LIMIT:
            return _limit(impact, days)
        case Currency.MECHANISM:
            if impact.days_left is None:
                return "something that the database relies on is off, or fails"
            time = hours_or_days(abs(impact.days_left))
            return f"{time} left" if impact.days_left >= 0 else f"ended {time} ago"
        case Currency.ANSWERS:
            return "queries return wrong or incomplete answers"
        case Currency.READS:
            return f"{_amount(impact, impact.now)} {a_day_or_less(impact.counted_s)}"
        case Currency.REJECTED | Currency.OVERWRITTEN:
            share = f", {percent(impact.share)} of those {_checked(impact)}" if impact.share is not None else ""
            again = ", as on the day before" if impact.goes_on else ""
            return f"{_amount(impact, impact.now)}{share}{again}"
        case _:
            together = f" by {listed(impact.tags, 3)} together" if len(impact.tags) > 1 else ""
            parts = [f"{_amount(impact, impact.now)}{together}{_in_all(impact)}", *_share(impact)]
            if _grows(impact, days):
                most, when = _figure(impact, impact.after(days)), _in_days(impact.stops_after(days))
                full = ", when the server's limit is reached" if impact.fills_up(days) else ""
                parts.append(f"levels off at {most}" if impact.levels_off(days) else f"{most} in {when}{full}")
            return ", ".join(parts)


def consequence(impact: Impact, days: float) -> str:
    """What happens if nothing is done, in one sentence, with the figure that `reason` has or a larger one: next to
    each other, `at least 748 MB` would be less than 749 MB.
    """
    match impact.currency:
        case Currency.REJECTED:
            return "Points keep being lost until the cause is gone."
        case Currency.OVERWRITTEN:
            is_lost = "and what they held is lost" if impact.is_enforced else "and what they held is lost if it differs"
            return f"Rows keep overwriting each other, {is_lost}."
        case Currency.LIMIT:
            return impact.consequence or _beyond_the_limit(impact)
        case Currency.MECHANISM:
            return impact.consequence or _at_its_end(impact)
        case Currency.ANSWERS:
            return impact.consequence or "Queries keep returning wrong or incomplete answers."
        case Currency.READS:
            or_more = "" if impact.counted_s is None else " or more"
            read = f"about {_amount(impact, impact.now)}{or_more}"
            return f"Each day, {read}, and more as the table grows."
        case _:
            if impact.per_day is None:
                amount = f"{_amount(impact, impact.now)}{_in_all(impact)}"
                return f"It stays at {amount} or grows: which of the two is not known yet."
            if not _grows(impact, days):
                expires = ", or falls as data expires" if impact.kept_days is not None else ""
                return f"Nothing more: it stays at {_amount(impact, impact.now)}{_in_all(impact)}{expires}."
            memory = f", about {size(impact.after(days) * impact.unit_bytes)} of memory" if impact.unit_bytes else ""
            if impact.levels_off(days):
                return f"It levels off at about {_amount(impact, impact.after(days))}{_in_all(impact)}{memory}."
            when = _in_days(impact.stops_after(days))
            full = " Then the server's limit is reached, and more is rejected." if impact.fills_up(days) else ""
            return f"It grows to {_amount(impact, impact.after(days))}{_in_all(impact)} in {when}{memory}.{full}"


def _in_all(impact: Impact) -> str:
    """Where the amount is, or of how many findings it is the sum; of series, the tags say that."""
    if impact.places > 1:
        return f" in all {impact.places} places"
    is_sum = impact.findings > 1 and impact.currency in (Currency.BYTES, Currency.MONEY)
    return f" in {impact.findings} findings together" if is_sum else ""


def a_day_or_less(seconds: float | None) -> str:
    """The period in which something was counted, to the minute; None for a day."""
    return "a day" if seconds is None else f"in {duration(max(round(seconds / 60), 1) * 60)}"


def _grows(impact: Impact, days: float) -> bool:
    return impact.after(days) - impact.now >= max(0.01 * impact.now, 1)


def _in_days(days: float | None) -> str:
    if days == 365:
        return "a year"
    if days is not None and days >= 2 * 365:
        return many(round(days / 365), "year")
    return many(round(days), "day") if days is not None and days >= 1 else "less than a day"


def hours_or_days(days: float) -> str:
    """A time left, the same in every output: in hours below two days."""
    if days >= 2:
        return _in_days(days)
    return many(whole, "hour") if (whole := round(days * 24)) else "less than an hour"


def about_days(days: float) -> str:
    """A time of which only the days are known: `about 12 days`, `less than a day`."""
    return f"about {_in_days(days)}" if days >= 1 else _in_days(days)


def _figure(impact: Impact, value: float) -> str:
    match impact.currency:
        case Currency.BYTES:
            return size(value)
        case Currency.MONEY:
            return f"${number(round(value) if value >= 1 else round(value, 2))}"
        case Currency.FAMILY if value == impact.now:
            # It was counted, and the finding gives the same count.
            return number(round(value))
        case _:
            return number(rounded(value))


def _amount(impact: Impact, value: float) -> str:
    figure = _figure(impact, value)
    match impact.currency:
        case Currency.BYTES:
            return f"{figure} of avoidable {impact.unit or 'storage'}"
        case Currency.MONEY:
            return f"{figure} a month that could be saved"
        case Currency.SERIES:
            return f"{figure} avoidable series"
        case Currency.FAMILY:
            return f"{figure} {impact.unit or 'names'} of one family"
        case Currency.READS:
            return f"{figure} rows read unnecessarily"
        case Currency.OVERWRITTEN:
            return f"{many(value, 'row')} overwritten{'' if impact.is_enforced else ', or sent again'}"
        case _:
            return f"{many(value, impact.unit or 'point')} rejected or dropped"


def _share(impact: Impact) -> list[str]:
    if impact.share is None or impact.whole is None or not impact.now:
        return []
    of = {Currency.SERIES: "the database", Currency.BYTES: size(impact.whole), Currency.MONEY: "the bill"}
    return [f"{percent(min(impact.share, 1.0))} of {of[impact.currency]}"] if impact.currency in of else []


def _checked(impact: Impact) -> str:
    if impact.currency is Currency.REJECTED:
        return "sent"
    return "written" if impact.is_enforced is None else "read"


def _limit(impact: Impact, days: float) -> str:
    """`days`: from how many on the time left is no reason for anything."""
    of = f" of {quantity(impact.whole, impact.unit)}" if impact.whole else ""
    parts = [f"{percent(impact.share)} of the limit{of}"] if impact.share is not None else []
    if impact.days_left is not None and (impact.days_left <= days or not parts):
        parts.append(f"reached in {about_days(impact.days_left)}" if impact.days_left else "reached")
    return ", ".join(parts)


def _beyond_the_limit(impact: Impact) -> str:
    what = f"beyond {quantity(impact.whole, impact.unit)}" if impact.whole else "beyond the limit"
    if impact.is_enforced is False:
        return f"Nothing is rejected {what}: this server does not enforce the limit."
    when = f"In {about_days(impact.days_left)}, " if impact.days_left else ""
    if impact.is_owners and impact.whole:
        limit = f"the limit of {quantity(impact.whole, impact.unit)} that was set here"
        stays = f"It stays at or above {limit}." if impact.now >= impact.whole else f"Little is left of {limit}."
        return f"{when}it exceeds {limit}." if when else stays
    rejected = "is rejected" if impact.is_enforced else "may be rejected"
    is_reached = impact.whole is not None and impact.now >= impact.whole
    unknown = " When it is reached is not known yet." if impact.per_day is None and not when and not is_reached else ""
    return f"{when}{'anything' if when else 'Anything'} {what} {rejected}.{unknown}"


def _at_its_end(impact: Impact) -> str:
    """What becomes of rows when a mechanism ends; empty if it fails already: what that costs, its rule says."""
    if impact.days_left is None:
        return ""
    if impact.days_left < 0:
        since = "have gone to the wrong partition" if impact.is_enforced is False else "have been rejected"
        unless = ", unless a partition for them was created" if impact.is_enforced is None else ""
        return f"Since it ended, rows {since}{unless}."
    then = "rows go to the wrong partition" if impact.is_enforced is False else "rows are rejected"
    unless = ", unless a partition for them is created" if impact.is_enforced is None else ""
    return f"When it ends, {then}{unless}."
