"""CAR004."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tsaudit import costs
from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.cardinality.contributions import remedies
from tsaudit.analysis.significance import NEARLY_ALL
from tsaudit.model.change import Change, Diagnose
from tsaudit.model.figures import SERIES_KINDS, Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Forecast, Impact, Limit
from tsaudit.model.profile import Measurement
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import main_tags, series_limit, series_of
from tsaudit.text import listed, many, number, percent, quantity, rounded
from tsaudit.text.findings import PROVISIONAL, jumped, limit_reached

if TYPE_CHECKING:
    from tsaudit.analysis.growth.detection import Growth
    from tsaudit.rules.growth_cause import Cause

_CHANGING = {"speeding up": " and speeding up", "slowing": " and slowing down"}
_STEP_DAYS: Final = 2
"""Number of days for which a step is reported as a problem: a rename or a rollout can only be undone for so long."""
_MOST: Final = 0.5
"""Share of the growth that a tag must explain for its new values to date the growth."""
_UNKNOWN = "Compare the tag values of its measurements with the snapshot before; the newest ones are the cause."

_KEPT_LONGER: Final = 3
"""Times the days that first rows show for which series are kept, so that too few have expired to look like growth."""
_LASTS_DAYS: Final = 5
"""Fewest days before the growth, and since it began."""


def _are_all_kept(case: Case, measurement: Measurement) -> bool:
    """Whether no series has expired since the days that the first rows show."""
    days = _days_shown(case, measurement)
    kept = costs.kept_days(case, measurement)
    return kept >= _KEPT_LONGER * days if kept is not None else not costs.filling_days(case, [measurement])


def _days_shown(case: Case, measurement: Measurement) -> int:
    """For how many days the first rows show what came; 0 if they do not."""
    return (case.profile.day - measurement.first_rows[0].day).days if measurement.first_rows else 0


def _not_shown(case: Case) -> str:
    """Where a first audit cannot tell whether series come; empty if it can."""

    def shows(measurement: Measurement) -> bool:
        return _days_shown(case, measurement) >= 2 * _LASTS_DAYS - 1 and _are_all_kept(case, measurement)

    least = case.limit("min_series").value
    names = []
    for one in case.profile.wholes if case.engine.has_series_index else ():
        shown = sum(m.series.value for m in case.inside(one) if m.series and shows(m))
        if one.series and one.series.value >= max(least, 2 * shown) and not case.usual("series", Subject(one.name)):
            names.append(one.name)
    return f"whether the series of {listed(names, 3)} grow, which the next audits show" if names else ""


@rule(
    code="CAR004",
    title="Series count is growing without bound",
    costs={Currency.LIMIT, Currency.SERIES},
    guidelines=("A4",),
    follows_from={"TAG002": Reach.CONTRIBUTOR},
    requires={"series_listing", "tag_values"},
    uses={"database_series", "server_status"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold("min_series", 1_000, "series", "our default: below this, no engine is affected"),
        Threshold("min_jump", 1.5, "times the series before", "our default: more than a rollout adds overnight"),
    ),
    leaves_out=_not_shown,
)
def runaway_cardinality(case: Case) -> Iterator[Finding]:
    """Growing series counts: since when, how fast, which tag causes it, and when the limit will be reached.

    The daily history of the counts separates growth from steps and noise (`docs/growth.md`). Growth is over when the
    level has stopped rising for 12 days. It costs what it adds: series that a tag adds whose values do not come again,
    or the days that are left until the limit of high-series-cardinality is reached, where a server, a plan, or the
    configuration sets one, and the count will not level off below it because as many series expire, or leave the
    window, as come. Growth is a note

    - of sources that stay, such as a fleet, unless they come near such a limit;
    - of sources that take the place of others, such as pods;
    - when it has stopped: from the first day without any if every day before brought many, otherwise for three days;
    - if it has lasted since the first audit, for a month, or for as long as the retention if that is shorter: data may
      be filling up, unless it has no retention.

    A jump to `min_jump` times as many is reported on its second day, and costs something for two days; a burst of one
    day is never reported, nor a count that is no higher than before. With less than seven days of history, only an
    increase to ten times as many is reported, as provisional. These are reported earlier:

    - Where a limit is set, at least two audits in a row of which each found more than ever before, together `min_jump`
      times as many: the slower of the last two steps tells when the limit is reached at the latest.
    - Growth that rows show: of an even sample of the series of a measurement, InfluxDB has rows that tell on which days
      they began, if no series have expired since. A level of five days or more has to have turned into a growth that
      has lasted for five days or more, which no rollout does, nor data that is as young as its series, nor sources that
      report seldom.

    The days of an earlier incident of this rule that was resolved are left out of the history. If unbounded-tag warns
    of the tag that causes the growth, the growth is part of that finding.

    To find the cause, the rule compares today's listing with those of earlier days: the main contributor is the tag
    whose additional values occur in most of the new series. Values that only take the place of others, such as pods
    that are replaced every day, do not count, and what grew at the same pace before counts less than what changed. If
    the tag explains at least half of the growth, it also dates it. The rule also recognizes new values that
    come with a new value of a parent tag, old values in new combinations, keys that were added,
    renamed, or dropped, and data that is no longer deleted. Without earlier listings, the rule names the tag whose
    number of values grew most. For a database, it names the measurements that grew, and their tag, which costs what it
    adds in all of them together. It is reported in place of these measurements if that tag is the cause in several of
    them, or if it alone comes near the limit.

    ## Why it matters

    An unbounded tag adds series every day, and nothing looks wrong until memory runs out or writes are rejected. Found
    early, the fix is one line in a writer. Found late, it is a migration of all stored data.

    ## Example

    5 customers with 5 devices and 1 field are 25 series. 100,000 customers with 10 devices and 5 fields are 5,000,000.

    ## Fix

    Stop the writer from sending the tag that causes the growth, or limit its values. Then decide whether to delete the
    series it created.

    ## References

    - Runaway cardinality, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Resolve high cardinality:
      https://docs.influxdata.com/influxdb/v2/write-data/best-practices/resolve-high-cardinality/
    """
    found: list[Finding] = []
    for measurement in case.measurements:
        count = measurement.series
        finding = _evaluate(case, subject_of(measurement), count.value if count else None, measurement)
        found += [finding] if finding else []
    # New measurements have no history of their own; their database does.
    for database in sorted(case.profile.databases, key=lambda d: not d.policy_of):
        count = database.series
        found = _with_whole(case, _evaluate(case, Subject(database.name), count.value if count else None), found)
    yield from _with_whole(case, _evaluate(case, Subject(), case.profile.series), found)


def _with_whole(case: Case, whole: Finding | None, found: list[Finding]) -> list[Finding]:
    """The findings, with that about a whole where no part of it has one with an impact, or it has the only impact; in
    place of those about its parts where several have one cause, or it alone comes near a limit.
    """
    if whole is None:
        return found
    parts = [f for f in found if case.profile.is_within(f.subject.database, whole.subject.database)]
    priced = [f.impact for f in parts if f.impact is not None]
    if not priced:
        return [*found, whole] if whole.impact is not None or not parts else found
    if whole.impact is None:
        return found
    is_near = whole.impact.currency is Currency.LIMIT
    are_near = any(impact.currency is Currency.LIMIT for impact in priced)
    is_one_cause = whole.main_contributor and {f.main_contributor for f in parts} == {whole.main_contributor}
    is_said_once = len(parts) > 1 and is_one_cause and (is_near or not are_near)
    if not (is_said_once or (is_near and not are_near)):
        return found
    return [*(f for f in found if f not in parts), whole]


@dataclass(frozen=True, slots=True)
class _Course:
    """How a count reached its current value."""

    growth: Growth
    forecast: Forecast | None
    before: Point
    now: Point
    since: date
    """The day of the first audit that counted more than before."""
    least: float | None = None
    """Number of series added per day at least, if only the last few audits show that a limit is reached soon."""
    sampled: int = 0
    """Number of series whose first rows are the history; 0 if audits counted all of them."""
    came: int = 0
    """Number of these that began with the growth, or after it had begun."""

    @property
    def factor(self) -> float:
        if self.growth.step_ratio is not None:
            return self.growth.step_ratio
        return self.now.value / max(self.before.value, 1.0)

    @property
    def added(self) -> int:
        """Number of series added per day at the present rate."""
        return round(self.least or self.growth.added_per_day)

    @property
    def age(self) -> int:
        """Days since the growth or step began."""
        return (self.now.day - self.since).days


def _evaluate(
    case: Case, subject: Subject, series: int | None, measurement: Measurement | None = None
) -> Finding | None:
    """The finding for one count; None if it is not growing without bound, or not known."""
    if series is None or series < case.limit("min_series", measurement).value:
        return None
    limit = series_limit(case, measurement) if case.engine.indexes_tag_values else None
    inside = [measurement] if measurement else _inside(case, subject.database)
    counted = (*case.usual("series", subject), Point(case.profile.day, series))
    course = _course(case, counted, limit, inside) if len(counted) > 1 else None
    is_known = course is not None and course.growth.kind != "unknown" and not course.growth.may_fill
    if course is None or not is_known or not _is_worth_a_word(case, course, measurement):
        course = _since_first_rows(case, counted, limit, measurement) or course
    if course is None or not _is_worth_a_word(case, course, measurement):
        return None
    return _finding(case, subject, limit, course, measurement)


def _course(
    case: Case,
    points: Sequence[Point],
    limit: Limit | None,
    inside: Sequence[Measurement],
    filling: float | None = None,
) -> _Course:
    """How the count got to the last of the points, of which there are two or more. `filling`: for how many days data
    may be filling up; None for as long as the retention allows.
    """
    from tsaudit.analysis.growth import detection as growth

    days, values = [p.day for p in points], [p.value for p in points]
    filling = costs.filling_days(case, inside) if filling is None else filling
    evaluated = growth.detect(days, values, filling_days=filling)
    # The history counts tag sets; a limit that also counts fields is reached correspondingly earlier.
    reached = limit.value / _fields_per_series(case, inside) if limit else None
    unit = ""
    if limit:
        unit = limit.unit if reached == limit.value else f"tag sets ({quantity(limit.value, limit.unit)})"
    forecast = growth.forecast(days, values, reached, unit=unit, filling_days=filling) if reached else None
    before = _before(points, evaluated)
    more = (p.day for p in points if p.day > before.day and p.value > before.value)
    since = evaluated.onset or next(more, before.day)
    course = _Course(evaluated, forecast, before, points[-1], since)
    if limit and reached and costs.is_enforced(case, limit, points[-1].value) is not False:
        min_jump = case.limit("min_jump", inside[0] if len(inside) == 1 else None).value
        course = _toward(case, course, points, reached, unit, filling, min_jump)
    return _at_its_steps(course, points)


def _at_its_steps(course: _Course, points: Sequence[Point]) -> _Course:
    """The course with the slower of the last two steps, where a steep rise is too young for a trend and goes on."""
    steps = [(b.value - a.value) / (b.day - a.day).days for a, b in pairwise(points)][-_WEEK:]
    is_young = course.growth.kind == "unknown" and course.least is None and course.factor >= _TENFOLD
    goes_on = len(steps) > _FEWEST_STEPS and min(steps[-_FEWEST_STEPS:]) >= _LEAST_STEP * max(steps)
    return replace(course, least=min(steps[-_FEWEST_STEPS:])) if is_young and goes_on else course


def _since_first_rows(
    case: Case, counted: Sequence[Point], limit: Limit | None, measurement: Measurement | None
) -> _Course | None:
    """The same where the audits are too few: the days before the first of them, by when an even sample of the series
    began. None if they show no growth.

    That is no history if series have expired since. Sources that report seldom seem to come on all days, or while the
    oldest rows are few days old, and a rollout ends: so hardly any may have begun on the days before the growth, and it
    has lasted.
    """
    if measurement is None or measurement.series is None or not measurement.first_rows:
        return None
    if not _are_all_kept(case, measurement):
        return None
    began, sampled = measurement.first_rows[0].day, sum(one.series for one in measurement.first_rows)
    kept = costs.kept_days(case, measurement)
    since = {one.day: one.series for one in measurement.first_rows}
    earlier, known = [], 0
    for day in (began + timedelta(days=n) for n in range((counted[0].day - began).days)):
        known += since.get(day, 0)
        earlier.append(Point(day, measurement.series.value * known / sampled))
    if not earlier:
        return None
    course = _course(case, (*earlier, *counted), limit, [measurement], math.inf)
    came = sum(n for day, n in since.items() if day >= course.since)
    quiet, grown = (course.since - began).days, (course.now.day - course.since).days + 1
    before = sum(n for day, n in since.items() if began < day < course.since)
    was_level = min(quiet, grown) >= _LASTS_DAYS and before * grown <= _QUIET * came * quiet
    days = course.forecast.days if course.forecast else None
    if kept is not None and days is not None and days > kept:
        course = replace(course, forecast=None)  # By then, as many expire as come.
    grows = course.least is not None or (course.growth.kind == "growth" and not course.growth.flat_days)
    return replace(course, sampled=sampled, came=came) if grows and was_level and came >= _FEWEST_CAME else None


_FEWEST_CAME: Final = 10
"""Of a sample: fewer are no rate."""
_QUIET: Final = 0.1
"""Share of the rate of the growth at which series may have begun before it."""


def _toward(
    case: Case, course: _Course, points: Sequence[Point], limit: float, unit: str, filling_days: float, min_jump: float
) -> _Course:
    """The course with a forecast by the slower of the last two steps, where the trend has none yet, and the limit, in
    `unit`, is reached soon. `filling_days`: for how long data may be filling up.
    """
    growth, now = course.growth, points[-1]
    if course.forecast is not None or growth.kind == "growth" or growth.has_season:
        return course
    changes = [(b.value - a.value) / (b.day - a.day).days for a, b in pairwise(points)]
    begun = next((i + 1 for i in range(len(changes) - 1, -1, -1) if changes[i] <= 0), 0)
    earlier, rising = points[:begun], points[begun:]
    first, steps = rising[0], changes[-_FEWEST_STEPS:]
    if len(rising) <= _FEWEST_STEPS or min(steps) < _LEAST_STEP * max(changes[begun:][-_WEEK:]):
        return course
    # What was as many before, or has changed by as much, is noise, a burst, or a season.
    usual = max((abs(one) for one in changes[:begun]), default=0.0)
    if now.value < min_jump * first.value or min(steps) <= usual or any(one.value >= now.value for one in earlier):
        return course
    rise = now.value - first.value
    was_level = bool(earlier) and first.value - min(point.value for point in earlier) < _LEVEL * rise
    has_filled = now.value >= 2 * points[0].value or (now.day - points[0].day).days >= filling_days
    days = (limit - now.value) / min(steps)
    if days > case.harm.warning_days or not (was_level or has_filled):
        return course
    pace, onset = min(steps) / now.value, rising[1].day
    forecast = Forecast(
        limit, days, None, None, pace, onset, "undecided", provisional=True, unit=unit, from_day=now.day
    )
    return replace(course, growth=replace(growth, onset=onset), forecast=forecast, before=first, least=min(steps))


_FEWEST_STEPS: Final = 2
_LEAST_STEP: Final = 1 / 3
"""Share of the largest step of the week; less may be noise beside a jump."""
_LEVEL: Final = 0.1
"""Share of the rise by which a count may have risen before, and have had a level."""


def _inside(case: Case, database: str) -> list[Measurement]:
    """The measurements of the database, with its other retention policies; all of the target if it is empty."""
    return [m for m in case.measurements if not database or case.profile.is_within(m.database, database)]


def _fields_per_series(case: Case, inside: Sequence[Measurement]) -> float:
    """How many series, as counted by the limit, one tag set of these measurements represents."""
    sizes = [(size, m.series.value) for m in inside if m.series is not None and (size := series_of(case, m))]
    return sum(size for size, _ in sizes) / sum(sets for _, sets in sizes) if sizes else 1.0


def _before(points: Sequence[Point], evaluated: Growth) -> Point:
    """The newest point before the onset, on the same weekday if there is weekly seasonality; the oldest point if there
    is no onset.
    """
    earlier = evaluated.points_before(points)
    if evaluated.has_season:
        # A Sunday is compared with a Sunday.
        alike = [p for p in earlier[-_WEEK:] if p.day.weekday() == points[-1].day.weekday()]
        earlier = alike or earlier
    return earlier[-1]


_WEEK = 7


_TENFOLD = 10
"""A count this many times as large as before is not explained by noise."""


def _is_worth_a_word(case: Case, course: _Course, measurement: Measurement | None) -> bool:
    if course.least is not None:
        return True
    if course.growth.kind == "unknown":
        return course.factor >= _TENFOLD
    if course.growth.kind == "step":
        return course.factor >= case.limit("min_jump", measurement).value and course.age <= _STEP_SHOWN_DAYS
    # A count that has dropped has not grown, whatever the days before show.
    return course.growth.kind == "growth" and course.now.value > course.before.value


_STEP_SHOWN_DAYS = 14
"""Number of days for which a new level is reported as a note."""


def _impact(
    case: Case, course: _Course, limit: Limit | None, inside: Sequence[Measurement], cause: Cause | None
) -> Impact | None:
    """The days until a limit is reached that somebody set, if they are few; otherwise the unnecessary series that a tag
    adds. `inside`: the measurement, or those of a whole to which the tag adds series.
    """
    if course.growth.may_fill or course.growth.flat_days:
        return None
    enforced = limit is not None and costs.is_enforced(case, limit, course.now.value)
    forecast = course.forecast if enforced is not False else None
    if limit and forecast and forecast.days is not None and forecast.days <= case.harm.warning_days:
        return Impact(
            Currency.LIMIT,
            now=course.now.value,
            whole=forecast.limit,
            per_day=course.added,
            days_left=forecast.days,
            is_enforced=enforced,
            is_owners=costs.is_owners(limit),
            unit=limit.unit,
        )
    if not case.engine.has_costly_series or not inside:
        return None
    is_step = course.growth.kind == "step"
    if is_step and course.age > _STEP_DAYS:
        return None
    if course.growth.kind == "growth" and not _is_leak(inside, cause):
        return None
    part = cause.share if cause and cause.share is not None else 1.0
    return Impact(
        Currency.SERIES,
        now=max(course.now.value - course.before.value, 0.0) * part,
        whole=costs.database_series(case, inside[0])
        if len({one.database for one in inside}) == 1
        else case.profile.series,
        # After a jump, it is unknown whether another one will follow.
        per_day=course.added * part if course.added else None,
        # What sources that stay write again and again does not expire.
        kept_days=None if cause and _stays(inside, cause.tag) else costs.kept_days(case, inside[0]),
        unit_bytes=case.engine.series_bytes(inside[0]),
        how=f"series that came since {course.since}; {case.engine.series_price}",
    )


def _stays(inside: Sequence[Measurement], key: str | None) -> bool:
    tags = [measurement.tag(key) for measurement in inside if key]
    return bool(tags) and all(tag is not None and fleets.is_fleet(tag) for tag in tags)


def _is_leak(inside: Sequence[Measurement], cause: Cause | None) -> bool:
    """Whether the series came with values of a tag that do not recur. Growth of sources that stay is expected of a
    server.
    """
    if cause is None or cause.tag is None or not cause.is_removable:
        return False
    tags = [measurement.tag(cause.tag) for measurement in inside]
    return all(tag is not None and not fleets.is_source(tag) for tag in tags)


def _finding(
    case: Case,
    subject: Subject,
    limit: Limit | None,
    course: _Course,
    measurement: Measurement | None,
) -> Finding:
    # Only a count that grows needs what says where its series came from.
    from tsaudit.rules.growth_cause import cause_inside, cause_of

    if measurement and course.sampled:
        cause = _main_cause(case, measurement)
    elif measurement:
        cause = cause_of(case, measurement, course.before, course.since)
    else:
        cause = cause_inside(case, subject, course.before, course.now, course.since)
    inside = (measurement,) if measurement else cause.inside if cause else ()
    if not course.sampled and (measurement or (cause and (cause.share or 0.0) >= NEARLY_ALL)):
        course = _leveled(case, course, inside, cause)
    since = course.since
    if cause and cause.began and (cause.share or 0.0) >= _MOST:
        # The count has not grown before that day: the audit after the lower count is the first that shows more.
        first = next((p.day for p in case.usual("series", subject) if p.day > course.before.day), course.now.day)
        since = cause.began if cause.began <= first else since
    return Finding(
        subject=subject,
        impact=_impact(case, course, limit, inside, cause),
        severity_reason=costs.why_free(case, limit),
        message=_message(course, since, cause.words if cause else ""),
        headline=_headline(course, since, cause.brief if cause else ""),
        per_day=course.added or None,
        jump=course.growth.jump,
        fix=cause.fix if cause else _UNKNOWN,
        changes=tuple(change for one in inside for change in _changes(case, one, cause)) if cause else (),
        observed=course.now.value,
        limit=limit,
        unit="series",
        baseline=course.before.value,
        main_contributor=cause.tag if cause else None,
        share=cause.share if cause else None,
        samples=cause.samples if cause else (),
        evidence=(
            Evidence("series before", f"{_said(course, course.before)} on {course.before.day}"),
            Evidence("days of history", number(course.growth.points)),
            *_estimated(course),
            *_pace(course),
            *(cause.evidence if cause else ()),
        ),
        since=since,
        forecast=course.forecast,
        facts=("series_listing", "tag_values", "database_series"),
        source=measurement.series.source if measurement and measurement.series else None,
    )


def _leveled(case: Case, course: _Course, inside: Sequence[Measurement], cause: Cause | None) -> _Course:
    """The course without a forecast if the limit is above the number at which as many series expire as are added, as
    long as not more and more are. `inside`: the measurements that grow.
    """
    if course.growth.shape == "speeding up" or not inside:
        return course
    level = course.now.value - sum(one.series.value for one in inside if one.series)
    level += sum(costs.series_level_at(case, m, m.tag(cause.tag) if cause and cause.tag else None) for m in inside)
    is_beyond = course.forecast is not None and course.now.value < course.forecast.limit > level
    return replace(course, forecast=None) if is_beyond else course


def _main_cause(case: Case, measurement: Measurement) -> Cause | None:
    """The tag that adds most to the series; None if that is not known. Which values are new, the next audit shows."""
    from tsaudit.rules.growth_cause import Cause

    main = main_tags([measurement], keeps_rows=case.engine.infers_roles)
    if main is None or measurement.series is None:
        return None
    share = min(main.series / measurement.series.value, 1.0)
    return Cause(
        (),
        words=main.causes(case.engine.words, share, of="all"),
        brief=f"{percent(share)} of all by {listed(main.tags)}",
        tag=main.tags[0],
        share=share,
        is_removable=not main.fix,
        fix=main.fix,
    )


def _changes(case: Case, measurement: Measurement, cause: Cause) -> tuple[Change, ...]:
    """Where tag values cost memory, the changes that remove them from the index; elsewhere only the search for what
    writes them.
    """
    if cause.tag is None:
        return ()
    look = Diagnose(Subject(measurement.database, measurement.name), "new values", cause.tag)
    is_costly = case.engine.indexes_tag_values and cause.is_removable
    if not is_costly:
        return (look,)
    return tuple(dict.fromkeys((look, *remedies(measurement, cause.tag, keeps_rows=case.engine.infers_roles))))


def _pace(course: _Course) -> Iterator[Evidence]:
    """How the count grows, or the size of the step."""
    growth, doubling = course.growth, course.growth.doubling_days
    if course.least is not None:
        yield Evidence("trend", f"at least {number(course.added)} series a day since {course.before.day}")
    elif growth.step_ratio is not None:
        # By the two counts that are shown beside it: levels are smoothed, and days without series are part of them.
        times = course.now.value / max(course.before.value, 1.0)
        yield Evidence("trend", f"a step to {number(round(times, 1))} times as many as before")
    elif doubling is not None and not growth.flat_days:
        added = f"{number(course.added)} series a day" + (f" until {growth.jump.since}" if growth.jump else "")
        doubles = f"doubling in {number(round(doubling, 1))} days at the present rate"
        pace = "" if growth.shape == "undecided" else f"{growth.shape}, "
        yield Evidence("trend", f"{pace}{added}, {doubles}")


def _headline(course: _Course, since: date, brief: str) -> str:
    return _beginning(course, since) + (f", {brief}" if brief else "")


def _beginning(course: _Course, since: date) -> str:
    verb = "jumped" if course.growth.kind == "step" and course.least is None else "grew"
    return f"Series {verb} from {_said(course, course.before)} to {number(course.now.value)} since {since}"


def _said(course: _Course, point: Point) -> str:
    return f"about {number(rounded(point.value, point.value / 4))}" if course.sampled else number(point.value)


def _estimated(course: _Course) -> Iterator[Evidence]:
    """What a history rests on that no audit counted, with the standard error of the rate."""
    if course.sampled:
        of = f"of an even sample of {many(course.sampled, 'series')}, {course.came} have their first row since then"
        yield Evidence("estimated", f"{of}; standard error of the growth {percent(course.came**-0.5)}")


def _message(course: _Course, since: date, cause: str) -> str:
    parts = [_beginning(course, since)]
    forecast, jump = course.forecast, course.growth.jump
    if jump is not None and course.added:
        parts[0] += f", {jumped(jump)}, {number(course.added)} a day before that"
    elif course.growth.growth_per_day and not course.growth.flat_days:
        parts[0] += f", now {number(course.added)} a day ({percent(course.growth.growth_per_day)})"
        parts[0] += _CHANGING.get(course.growth.shape, "")
    elif course.least is not None:
        parts[0] += f", at least {number(course.added)} a day"
    elif course.growth.flat_days:
        parts[0] += f", flat for {many(course.growth.flat_days, 'day')}"
    parts += [cause] if cause else []
    if forecast is not None and forecast.days is not None:
        parts.append(limit_reached(forecast))
        if jump is not None and forecast.days and jump.added >= forecast.limit - course.now.value:
            parts.append("another such jump would reach it")
    parts += [PROVISIONAL] if course.growth.provisional else []
    return "; ".join(parts) + "."
