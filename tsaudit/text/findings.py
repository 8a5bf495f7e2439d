"""One finding in words: measured value and limit, main contributor, start, and time left; and its headline."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.model.figures import POLICY_SEPARATOR, Subject
from tsaudit.model.finding import SERVER
from tsaudit.text import amount, day, ended, listed, many, number, percent, quantity

if TYPE_CHECKING:
    from datetime import date

    from tsaudit.model.finding import Finding, Forecast, Jump, Limit


_NOUNS: Final = {"critical": ("critical", "critical"), "warning": ("warning", "warnings"), "note": ("note", "notes")}
"""Severity to the singular and plural noun for a finding; worst first."""
SET_IN_FILE: Final = "set in tsaudit.yaml"
"""The source of a limit that is set in the configuration."""
OUR_DEFAULT: Final = "our default:"
"""Prefix of the source of a limit that no vendor states. Outputs show the origin, "tsaudit's default", instead."""


def sentence(finding: Finding) -> str:
    """The message, plus what it does not mention: main contributor, start date, and time left.

    Nothing is repeated. Ends with a period.
    """
    message = finding.message.strip().rstrip(".")
    return ended("; ".join([message, *(clause for clause in _clauses(finding, message) if clause)]))


def tally(severities: Iterable[str]) -> str:
    """Findings by severity, worst first: `1 critical, 4 warnings, 3 notes`; empty if there are none."""
    counts = Counter(map(str, severities))
    return ", ".join(of_severity(counts[severity], severity) for severity in _NOUNS if counts[severity])


def of_severity(count: int, severity: str) -> str:
    """A number of findings or verdicts: `1 critical`, `2 warnings`, `3 notes`, `4 unknown`, `5 ok`."""
    return many(count, *_NOUNS.get(severity, (severity, severity)))


def baseline_offer(target: str) -> str:
    """Text after the first audit of a target with findings: how to be notified only about new ones."""
    return (
        "This is the first audit of the target. If you know these findings and will not fix all of them soon, mute "
        "them as the baseline, except for critical ones, and hear only about what is new or gets worse: "
        f"`tsaudit baseline --target {target} --dry-run` shows what it covers."
    )


def origin(limit: Limit) -> str:
    """Where the limit was set: `tsaudit's default`, `set for this target`, `of the server`, `of engine influxdb1`."""
    kind, _, name = limit.origin.partition(" ")
    if limit.origin == "default":
        return "tsaudit's default"
    if kind == "target":
        return "set for this target"
    if limit.origin == SERVER:
        return "of the server"
    if limit.origin == "all targets":
        return "set for all targets"
    return f"set for {name}" if kind == "measurement" else f"of {kind} {name}"


def reason(limit: Limit) -> str:
    """Why the limit has its value: words or an address; empty if `origin` already explains it."""
    return "" if limit.source == SET_IN_FILE else limit.source.removeprefix(f"{OUR_DEFAULT} ")


def contributors(finding: Finding) -> tuple[str, ...]:
    """The main contributor, and what only contributes together with it; empty if none is known."""
    return () if finding.main_contributor is None else (finding.main_contributor, *finding.together_with)


def contributor(finding: Finding, longest: int = 120) -> str:
    """`main contributor request_id (97%)`, or `trace and span together cause 97% of the series`; empty if none is
    known.
    """
    if finding.main_contributor is None:
        return ""
    if finding.together_with and finding.share:
        names = [name[:longest] for name in contributors(finding)]
        return f"{listed(names, 4)} together cause {percent(finding.share)} of the series"
    share = f" ({percent(finding.share)})" if finding.share else ""
    return f"main contributor {finding.main_contributor[:longest]}{share}"


def onset(finding: Finding) -> date | None:
    """The day on which the problem began; None if the history does not show it. The incident opens on that day or
    later.
    """
    return finding.since or (finding.forecast.onset if finding.forecast else None)


def is_growing(finding: Finding) -> bool:
    """Whether the figure is growing now; a figure that made a single step, for example, is not."""
    return bool(finding.per_day or (finding.forecast and finding.forecast.growth_per_day))


def since(finding: Finding) -> str:
    """When the problem began: `growing since 2026-03-13`; `since 2026-03-13` if it does not grow; empty if the history
    does not show it.
    """
    began = onset(finding)
    return f"{'growing ' if is_growing(finding) else ''}since {day(began)}" if began else ""


def mentions_onset(finding: Finding, text: str) -> bool:
    """Whether the text contains the day on which the problem began. Also True if that day is not known."""
    began = onset(finding)
    return began is None or day(began) in text


def names(message: str, *each: str) -> bool:
    """Whether the message contains all of these names as whole words."""
    return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) for name in each)


def _clauses(finding: Finding, message: str) -> list[str]:
    left = limit_reached(finding.forecast) if finding.forecast else ""
    return [
        "" if names(message, *contributors(finding)) else contributor(finding),
        "" if mentions_onset(finding, message) else since(finding),
        left if left not in message else "",
    ]


AT_THIS_RATE: Final = "at this rate"
PROVISIONAL: Final = "provisional: too little history"


def limit_reached(forecast: Forecast) -> str:
    """`at this rate the limit of 100,000 series is reached in about 9 days (80% range 7 to 13)`.

    If growth is expected to slow down: `the limit of 100,000 series is reached in about 9 days (80% range 4 to 13), 5
    days at this rate`. Beyond the time for which the intervals are reliable: `at this rate the limit of 100,000 series
    is reached around 2026-07-04`. Empty if the limit is beyond the horizon.
    """
    goal = f"the limit of {quantity(forecast.limit, forecast.unit)}"
    if forecast.days is None:
        return ""
    if forecast.days <= 0:
        return f"{goal} is reached"
    when, sooner = time_left(forecast), ""
    if not forecast.has_interval and forecast.from_day is not None:
        when = f"around {day(forecast.from_day + timedelta(round(forecast.days)))}"
        sooner = f", {at_rate(forecast)}" if at_rate(forecast) else ""
    under = "" if at_rate(forecast) else f"{condition(forecast)} "
    on_day = " on its busiest weekday" if forecast.has_season else ""
    return f"{under}{goal} is reached{on_day} {when}{sooner}"


def condition(forecast: Forecast) -> str:
    """Under which condition the limit is reached on the day of the forecast: `at this rate`, `at 5% a day`, `at the
    rate before the jump`, `as before the fall`, or `as it speeds up`.
    """
    return "as it speeds up" if forecast.speeds_up else _rate(forecast)


def _rate(forecast: Forecast) -> str:
    if forecast.jump is not None:
        return "at the rate before the jump" if forecast.jump.added > 0 else "as before the fall"
    return f"at {percent(forecast.growth_per_day)} a day" if forecast.compounds else AT_THIS_RATE


def time_left(forecast: Forecast) -> str:
    """The time until the limit: `in about 9 days (80% range 7 to 13)`; empty if the limit is already reached, or is
    beyond the horizon.
    """
    if forecast.days is None or forecast.days <= 0:
        return ""
    between, sooner = interval(forecast), f", {at_rate(forecast)}" if at_rate(forecast) else ""
    return about(forecast) + (f" ({between})" if between else "") + sooner


def at_rate(forecast: Forecast) -> str:
    """The time until the limit at the present rate: `5 days at this rate`; empty if that is about the forecast, or
    later.
    """
    if not forecast.slows_down or forecast.days_at_rate is None:
        return ""
    days = max(1, round(forecast.days_at_rate))
    return f"{many(days, 'day')} {_rate(forecast)}" if forecast.days is not None and round(forecast.days) > days else ""


def jumped(jump: Jump, unit: str = "") -> str:
    """`44,180 of them since 2026-11-28`, `30,000 fewer since 2026-11-28`."""
    return f"{amount(abs(jump.added), unit)} {'of them' if jump.added > 0 else 'fewer'} since {day(jump.since)}"


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


MOST_WORDS: Final = 25
"""Maximum number of words, which people can read at a glance; a name counts as one word."""
MOST_CHARACTERS: Final = 300
"""Maximum number of characters: longer than any 25 words of ours, but names can be longer."""
_FEWEST: Final = 4
"""Minimum number of words of a shortened message."""
_ASIDE: Final = re.compile(r" \([^()]*\)")
_CLAUSE: Final = re.compile(r"[.;:] ")
_COMMA: Final = re.compile(r", ")


def headline(finding: Finding) -> str:
    """`main/http_requests: Series grew from 768 to 36,096 since 2026-11-11, all from new values of request_id`.

    At most `MOST_WORDS` words and `MOST_CHARACTERS` characters, without a period. The place comes first if the text
    does not name it.
    """
    text = (finding.headline or finding.message).strip().rstrip(".")
    place = str(Subject(finding.subject.database, finding.subject.measurement))
    policy = finding.subject.database.partition(POLICY_SEPARATOR)[2]
    own = finding.subject.measurement or finding.subject.database
    named = not own or names(text, own)
    # Several retention policies may have the same finding.
    named = named and (not finding.subject.measurement or not policy or names(text, policy))
    prefix = "" if named else f"{place}: "
    room = MOST_WORDS - _words(prefix)
    cut = shortened(text, room)
    for more in (_cause(finding, cut), _start(finding, cut)):
        if more and _words(cut) + _words(more) <= room:
            cut += f", {more}"
    return _within(prefix + cut)


def unsaid(finding: Finding) -> str:
    """What the message says after the sentence that is the headline. Empty if the headline says all of it; the whole
    message if it begins in other words.
    """
    said, message = headline(finding), finding.message.strip()
    if message.rstrip(".") in said:
        return ""
    first = ended(said)
    return message.removeprefix(first).lstrip() if message.startswith(f"{first} ") else message


def shortened(text: str, most: int) -> str:
    """The text, or as much of its beginning as makes sense, in at most this many words.

    It ends with a sentence or a clause. If none is short enough, remarks in parentheses are left out, and then the text
    after a comma.
    """
    for brief, ends in ((text, _CLAUSE), (_ASIDE.sub("", text), _CLAUSE), (_ASIDE.sub("", text), _COMMA)):
        if _words(brief) <= most:
            return brief
        starts = [brief[: found.start()] for found in ends.finditer(brief)]
        fitting = [start for start in starts if _FEWEST <= _words(start) <= most and _is_closed(start)]
        if fitting:
            return fitting[-1]
    return " ".join([*text.split()[: most - 1], "\N{HORIZONTAL ELLIPSIS}"])


def _within(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _is_closed(text: str) -> bool:
    return text.count("(") == text.count(")")


def _words(text: str) -> int:
    return len(text.split())


def _cause(finding: Finding, text: str) -> str:
    """The main contributor with its share, unless the text names it."""
    return "" if not finding.share or names(text, *contributors(finding)) else contributor(finding, 60)


def _start(finding: Finding, text: str) -> str:
    return "" if mentions_onset(finding, text) else since(finding)
