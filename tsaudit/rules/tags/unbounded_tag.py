"""TAG002."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache, partial
from itertools import pairwise
from typing import Final, TypeAlias

from tsaudit import costs
from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.cardinality.contributions import identifies, only_together, remedies, share_of_tags, with_twins
from tsaudit.analysis.columns.columns import is_text
from tsaudit.analysis.significance import NEARLY_ALL, REPEATS
from tsaudit.guidelines import matters
from tsaudit.model.change import Diagnose, StopSource
from tsaudit.model.columns import SeriesSince, Tag, Turnover, ValuesOverTime
from tsaudit.model.figures import SERIES_KINDS, Count, How, Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact, Jump, Limit
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import (
    MAX_VALUES,
    identity_kept,
    series_evidence,
    series_limit,
    stopgap,
    values_limit,
)
from tsaudit.rules.tag_values import ValueKind, kind_of_values
from tsaudit.text import count, listed, many, new_values, number, over_time, percent, rounded, rows_of, values_of
from tsaudit.text import day as written

_REPORTS: Final = 2
"""Minimum number of times that a value is written if it names a source."""
_WITH_ROWS: Final = 0.5
"""Share of `max_values` that suffices if the rows show that values are not used again; below it, that may be chance."""
_FEWEST_COMING: Final = 20
"""Up to this many values cost nothing, whatever becomes of them."""
_SPREAD: Final = 2
"""All measurements together count only if they have at least this many times the values of one measurement; with fewer,
the values are mostly the same.
"""
_SHORTEST_H: Final = 6
"""Number of hours within which sources that report every few hours are seen twice."""
_KEEP_COMING: Final = 0.5
"""New values keep coming if today has at least this share of the mean number of new values per day."""


@rule(
    code="TAG002",
    title="A tag has unbounded values",
    costs={Currency.SERIES, Currency.LIMIT, Currency.MONEY, Currency.ANSWERS},
    guidelines=("A5", "A6", "C2", "C4", "C5", "E2", "E4", "G5"),
    follows_from={"SRV001": Reach.SUBJECT},
    requires={"tag_values"},
    uses={"row_count", "null_counts", "server_status", "series_listing", "row_sample"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "max_values",
            1_000,
            "values",
            "our default: more devices than most teams operate, and a date as a tag stays below this for years",
        ),
        MAX_VALUES,
    ),
)
def unbounded_tag(case: Case) -> Iterator[Finding]:
    """Tags of which new values keep coming, such as IDs of events, log lines, or addresses with an ID in them.

    What shows it is, in this order:

    - Listings of a week or more: the tag is unbounded and has more than `max_values` values.
    - 30 numbers that vary over time: each source (rows with the same other tags) has one at a time. Whole numbers
      could be IDs, so they must also follow a curve and have a name that does not identify a thing.
    - In Timestream, where measures have types: 4 numbers with a fraction, times, or positions. Measured ones
      give wrong answers; the others are notes. In GreptimeDB, key columns that are floats or times by their type.
    - What the values are, by a sample: 20 log messages, statements, documents, or times (100 if less than 80% of the
      values read like text); 1,000 URLs; more than `max_values` IDs. IDs are provisional until there is a week of
      listings.
    - Rows: at least half of `max_values`, and fewer than 10 rows for each; or new ones each day that are written once
      or twice; or, for the same sources, new values that take the place of others again and again. If only
      the rows of a few series were read, so few values have to occur again that it is no coincidence.
    - It is near the engine's own limit on the values of a tag.

    IDs that are scoped, few, and reused are not reported, and neither are those of a fleet: values that occur again and
    again or, if too little was read, tags named like a device. Listings of a week or more overrule both.

    Some findings are notes: texts that occur again and again are a list, even if a wordy one, and what has gained no
    value for much longer than ever before has been fixed. Sources that end while others take their place count only
    toward a limit that the server enforces, unless they end within the hour: then all that are kept at a time count.

    A tag in many measurements counts as what it adds in all of them. A tag without which rows would overwrite others
    identifies the sources: unless its values are those of events, or written once, no plan removes it.

    ## Why it matters

    Every new value creates a series, which is written once and stays in the index. The number of series then grows with
    traffic, not with the number of monitored things. This is the first of the classic causes of runaway cardinality. In
    Timestream, a series costs nothing, but each record is charged for the bytes of the value. In GreptimeDB, each value
    of the key takes memory. Numbers in tags are text, which cannot be averaged or compared by size: `'9' > '10'`.

    ## Example

    `order_id=8c1f…` as a tag of `checkout`: 100,000 orders create 100,000 series of one point each. Or nearly each
    line of a log: `message="User 81723 not found at 2024-03-01T12:00:03Z"` as a tag of `app_log`.

    ## Fix

    Store the ID, the text, or the number as a field, or in a separate log store. Keep tags that group many points, with
    values from a fixed list: shop, region, level, error code.

    ## References

    - IDs and log messages as tags, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Tags versus fields: https://docs.influxdata.com/influxdb/v2/write-data/best-practices/schema-design/
    - What to store as a tag, GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Richness of data types, Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    together, has_types, beside_types = _together(case), case.engine.checks_key_types, matters("C4", case.engine.name)
    added: _Added = cache(partial(_added, case))
    reported: list[tuple[Measurement, dict[str, _Found]]] = []
    for measurement in case.measurements:
        found: dict[str, _Found] = {}
        for tag in (tag for tag in measurement.tags if tag.values is not None):
            here = together[measurement.database, tag.key] if _comes_and_goes(tag) else _summed([tag])
            kind = kind_of_values(measurement, tag, has_types=has_types, beside_types=beside_types)
            if one := _reported(case, measurement, tag, kind, here):
                found[tag.key] = one
        for twin in _twins(measurement, found):
            del found[twin]
        reported.append((measurement, found))
    stay = [(m, key) for m, found in reported for key in found if identifies(m, key)]
    for measurement, found in reported:
        avoidable = [key for key, one in found.items() if _is_avoidable(case, measurement, one)]
        for key, one in found.items():
            stays = not case.engine.infers_roles and any(
                key == other and _are_of_one_writer(measurement, one_of) for one_of, other in stay
            )
            yield _finding(case, measurement, one, avoidable, added, stays=stays)


def _are_of_one_writer(measurement: Measurement, other: Measurement) -> bool:
    """Whether most of their tags are the same: one writer adds them to both."""
    tags, others = ({tag.key for tag in one.tags} for one in (measurement, other))
    return measurement.database == other.database and 2 * len(tags & others) >= len(tags | others)


def _twins(measurement: Measurement, found: Mapping[str, _Found]) -> set[str]:
    """The tags that name the same things as another reported tag, which represents both: preferably a tag whose values
    alone show that more will come, otherwise the first. Tags whose values are written only once are ignored, because
    they match each other by coincidence.
    """
    twins: set[str] = set()
    for tag, one in found.items():
        if one.tag.reports is None or one.tag.reports.per_value < _REPORTS:
            continue
        for twin in with_twins(measurement, [tag])[1:]:
            other = found.get(twin)
            if other is not None and twin not in twins and tag not in twins:
                twins.add(twin if (one.kind.fewest is not None) >= (other.kind.fewest is not None) else tag)
    return twins


@dataclass(frozen=True, slots=True)
class _Found:
    """A tag that is reported."""

    tag: Tag
    kind: ValueKind
    reason: str
    observed: float
    limit: Limit | None = None


@dataclass(frozen=True, slots=True)
class _Together:
    """A tag in all measurements of a database: the effect of one writer that adds it to each of them."""

    measurements: int
    most: int
    """Number of values in the measurement that has the most."""
    sum: int
    """Sum of the numbers of values, each of which has at least one series in its measurement."""
    values: float
    """Number of distinct values in all of them, estimated from the values read."""
    turnover: Turnover | None
    """Sum over all of them; None if none is known."""


def _together(case: Case) -> dict[tuple[str, str], _Together]:
    """The tags of all measurements together, by database and tag key."""
    found: dict[tuple[str, str], list[Tag]] = defaultdict(list)
    for measurement in case.measurements:
        for tag in filter(_comes_and_goes, measurement.tags):
            found[measurement.database, tag.key].append(tag)
    return {at: _summed(tags) for at, tags in found.items()}


def _comes_and_goes(tag: Tag) -> bool:
    """Whether the tag's values may come and go in this measurement, whatever they do in others."""
    return tag.turnover is None or 2 * tag.turnover.again <= tag.turnover.first


def _summed(tags: Sequence[Tag]) -> _Together:
    counts = [tag.values.value for tag in tags if tag.values]
    values, read = sum(counts), sum(len(tag.sample) for tag in tags)
    own = len({value for tag in tags for value in tag.sample}) / read if read and len(tags) > 1 else 1.0
    seen = [tag.turnover for tag in tags if tag.turnover]
    summed = ("first", "again", "new", "new_values", "going_on", "pairs")
    sums = {name: sum(getattr(one, name) for one in seen) for name in summed}
    turnover = replace(seen[0], **sums) if seen else None
    return _Together(len(tags), max(counts, default=0), values, own * values, turnover)


def _is_too_early(case: Case, measurement: Measurement, tag: Tag, kind: ValueKind) -> bool:
    """Whether it is too early to know if the values recur: the rows cover only a few hours, in which the values came
    again, or most of them once; and neither the kind of values nor an earlier listing shows it. What looks like an ID
    is known to be written once unless there are more rows of each value than were read.
    """
    read, known = tag.reports, tag.over_time
    if read is None or read.hours >= _SHORTEST_H:
        return False
    is_shown = read.per_value >= _REPORTS or (kind.words and fleets.is_written_once(measurement, tag))
    if is_shown and not fleets.comes_again(tag):
        return False
    return not _keeps_coming(case, tag) if known is not None and known.days > 1 else True


def _keeps_coming(case: Case, tag: Tag) -> bool:
    """Whether about as many values are new today as on the days before. At least two listings are needed."""
    known = tag.over_time
    if known is None or known.new_values is None or tag.values is None or ended_on(case, tag):
        return False
    return known.days > 1 and known.new_values >= _KEEP_COMING * tag.values.value / known.days


def _is_written_once(case: Case, tag: Tag) -> bool:
    """Whether the tag's values are written once or twice, and new ones come every day."""
    read = tag.reports
    return read is not None and read.per_value < _REPORTS and not fleets.is_fleet(tag) and _keeps_coming(case, tag)


def _reported(case: Case, measurement: Measurement, tag: Tag, kind: ValueKind, together: _Together) -> _Found | None:
    """The tag with why it is reported: the first that applies, in the order of the rule's page. None if nothing does.

    `together`: the tag in all measurements of the database, whose values count together.
    """
    assert tag.values is not None
    values, said = _counted(case, tag, kind, together)
    limit, known = case.limit("max_values", measurement), tag.over_time
    course = known.kind if known else "unknown"
    is_fleet = fleets.is_fleet(tag) or course == "bounded" or (kind.shape == "mac" and course != "unbounded")
    some = _WITH_ROWS * limit.value
    if known and course == "unbounded" and values > limit.value:
        return _Found(tag, kind, said + _gains(case, measurement, tag, kind, known), values, limit)
    if kind.fewest is not None and values >= kind.fewest:
        return _Found(tag, kind, said, values)
    if kind.fewest is None and kind.words and values > limit.value and not is_fleet:
        guess = _since_the_listing(case, tag) or _pace(case, measurement, tag)
        return _Found(tag, kind, f"{said}{guess if course == 'unknown' else ''}", values, limit)
    # Values that are used only a few times leave room for new ones, up to the last rows read.
    if values >= some and not (is_fleet or fleets.levels_off(tag)) and (few := _few_rows(case, measurement, tag, kind)):
        return _Found(tag, kind, said + few, values)
    # What is written once costs a series in each measurement, though the values may be the same in all of them.
    if together.sum >= some and course == "unknown" and (coming := _since_the_listing(case, tag)):
        return _Found(tag, kind, said + coming, values)
    # The same few series in each of several measurements show no more than in one.
    is_seen = together.values >= _SPREAD * tag.values.value or not fleets.may_recur_unseen(tag)
    is_coming = is_seen and fleets.keeps_coming(replace(tag, turnover=together.turnover)) and course != "bounded"
    is_of_table = bool(tag.refers_to) and _are_all_of_another_table(case, measurement, tag)
    if is_coming and tag.turnover and values > _FEWEST_COMING and not is_of_table:
        return _Found(tag, kind, f"{said}, and {_coming(tag.turnover)}", values)
    most, own = values_limit(case, measurement), tag.values.value
    if most.value and own >= case.harm.limit_warning * most.value:
        return _Found(tag, kind, f"{said}, {percent(own / most.value)} of the maximum for one tag", own, most)
    return None


def _counted(case: Case, tag: Tag, kind: ValueKind, together: _Together) -> tuple[int, str]:
    """The number of values that counts, and what is counted: those of this measurement, of all, or of the largest."""
    assert tag.values is not None
    values = tag.values.value
    of_all = f"values{kind.words} in {{}}{many(together.measurements, case.engine.words.measurement)}"
    if together.values >= _SPREAD * values:
        of_any = round(together.values)
        return of_any, f"{number(values)} of {number(of_any)} {of_all.format('')}"
    if together.sum >= _SPREAD * values:
        up_to = "" if together.sum == together.measurements * values else "up to "
        return values, f"{up_to}{number(together.most)} {of_all.format('each of ')}"
    return values, f"{values_of(tag.values)}{kind.words}"


def _gains(case: Case, measurement: Measurement, tag: Tag, kind: ValueKind, known: ValuesOverTime) -> str:
    """How many values an unbounded tag gains; empty if it has ended."""
    if ended_on(case, tag):
        return ""
    new = number(known.new_per_day or 0)
    if (newest := _quiet_since(case, tag)) is not None:
        return f", gained {new} a day until {written(newest)} and none since; the time left assumes that more will come"
    if kind.again == "sources" and fleets.is_churn(tag):
        net = _net_per_day(case, measurement, tag) or 0.0
        coming = "take the place of others" if 2 * net < (known.new_per_day or 0) else "are added"
        return f": {new} a day {coming}, and each reports for a while"
    return f", gained {new_values(known)}" if _burst(tag) else f", gains {new} a day and is not leveling off"


def _few_rows(case: Case, measurement: Measurement, tag: Tag, kind: ValueKind) -> str:
    """How few rows there are for each value; empty if there are many, or it is not known: there may be any number more
    than those that were counted in a part.
    """
    rows = _rows_with(tag, measurement)
    each = _rows_of_each(rows, tag) if rows and not rows.is_lower_bound else None
    if not rows or not each:
        return ""
    early = _TOMORROW if _is_too_early(case, measurement, tag, kind) else ""
    where = f" in {rows_of(rows)}, " if _are_of_tag(rows, tag) else "; of those in the rows read, "
    return f"{where}{_used_again(rows, tag, each)}{early}"


def _are_all_of_another_table(case: Case, measurement: Measurement, tag: Tag) -> bool:
    """Whether nearly all rows of the table that the tag refers to are among its values, so that none has ended. Where
    the newest rows of each are kept, the rows read show otherwise.
    """
    others = (m for m in case.profile.measurements if (m.database, m.name) == (measurement.database, tag.refers_to))
    rows = next((m.rows_total or (None if m.time_column else m.rows) for m in others), None)
    return rows is not None and tag.values is not None and tag.values.value >= NEARLY_ALL * rows.value


def _pace(case: Case, measurement: Measurement, tag: Tag) -> str:
    """How many values come a day, as far as it is known of a tag that was not listed for a week."""
    per_day = _values_a_day(case, measurement, tag)
    if per_day and per_day >= 1:
        return f"; about {number(round(per_day))} come a day"
    return "; whether more come, 7 daily audits show"


def _since_the_listing(case: Case, tag: Tag) -> str:
    """What the previous listing shows of values that are written once; empty if it shows nothing."""
    if tag.over_time is None or not _is_written_once(case, tag):
        return ""
    return f", {number(tag.over_time.new_values or 0)} of them new since the listing before, each written once or twice"


_SURE: Final = 2
"""So many standard errors around an estimate, the true number may be."""
_TOMORROW: Final = "; whether they occur again will show with the next audit"


def _rows_with(tag: Tag, measurement: Measurement) -> Count | None:
    """The rows that have the tag; None if the number of rows is not known."""
    rows, absent = measurement.rows, tag.absent
    if rows is None or absent is None or not absent.value:
        return rows
    share = 1 - absent.value
    error = None if rows.standard_error is None else rows.standard_error * share
    how = rows.source.how if absent.source.how is How.EXACT else How.ESTIMATE
    return replace(rows, value=round(rows.value * share), standard_error=error, source=replace(rows.source, how=how))


def _rows_of_each(rows: Count, tag: Tag) -> float | None:
    """The mean number of rows per value, if it is low; None if it is not, or not known."""
    assert tag.values is not None
    if _are_of_tag(rows, tag):
        each = rows.value / max(tag.values.value, 1)
    else:
        each = tag.reports.per_value if tag.reports else 0.0
    return each if 0 < each < REPEATS else None


def _used_again(rows: Count, tag: Tag, each: float) -> str:
    """How often a value is used, which is in so many rows on average, as far as the number of rows is known."""
    error = each * rows.standard_error / rows.value if rows.standard_error and _are_of_tag(rows, tag) else 0.0
    if each - _SURE * error < _REPORTS <= each + _SURE * error:
        return "each in few of them"
    about = "about " if error else ""
    return "hardly any is used again" if each < _REPORTS else f"each in {about}{number(round(each))} of them on average"


def _are_of_tag(rows: Count, tag: Tag) -> bool:
    """Whether the rows that have the tag are enough for its values: otherwise only the rows read show how often a value
    is written. An index lists the values of all time.
    """
    assert tag.values is not None
    return rows.value >= tag.values.value


def _coming(seen: Turnover) -> str:
    same = f" for the same {listed(seen.by)}" if seen.by else ""
    again = number(seen.again) if seen.again else "none"
    return (
        f"new ones keep coming{same}: in the last third of the rows read, {number(seen.new)} appear for the first time "
        f"and {again} of the {number(seen.first)} in the first third again"
    )


def _impact(
    case: Case, measurement: Measurement, found: _Found, avoidable: Sequence[str], added: _Added
) -> Impact | None:
    """What the tag costs: a server that limits the values of a tag rejects values beyond the limit. Even where series
    cost nothing, numbers stored as text take up space.
    """
    tag, kind = found.tag, found.kind
    assert tag.values is not None
    limit = values_limit(case, measurement)
    series = None
    if tag.key in avoidable:
        series = costs.of_series(case, measurement, avoidable, keep_coming=kind.fewest is not None)
        if series is None and kind.again == "readings":
            as_text = is_text(tag.data_type)
            series = costs.of_numbers_as_text(tag.key, tag.sample, tag.values.value) if as_text else None
        elif series is None:
            series = costs.of_tag(case, measurement, tag)
    per_day = _values_a_day(case, measurement, tag)
    # Those that replace others come, too: others expire in their place.
    coming = tag.over_time.new_per_day if tag.over_time and tag.over_time.kind in ("churning", "unbounded") else None
    if _burst(tag):
        # It is not known whether another day like that will follow.
        coming, series = per_day, series and replace(series, per_day=None)
    level = costs.levels_at(case, measurement, tag, coming or per_day or 0.0)
    toward = [costs.of_limit(case, tag.values.value, limit, per_day=per_day, levels_at=level)]
    if series is not None and series.currency is Currency.SERIES and series.whole is not None:
        toward += _toward_series(case, measurement, found, series, series.whole, added)
        most = series_limit(case, measurement)
        if costs.is_enforced(case, most, series.whole) and not costs.is_owners(most):
            series = replace(series, room=max(most.value - series.whole, 0.0))
    near = [one for one in toward if one.is_enforced is not False and costs.is_near(case, one, case.harm.limit_warning)]
    return min(near, key=lambda one: math.inf if one.days_left is None else one.days_left, default=series)


def _toward_series(
    case: Case, measurement: Measurement, found: _Found, series: Impact, whole: int | float, added: _Added
) -> Iterator[Impact]:
    """How near the series of the database, of which there are `whole`, come to their limit if the tag's go on, in all
    measurements that have it. None where most come in another one, whose finding says it. `series`: of this one.
    """
    limit = series_limit(case, measurement)
    if limit.origin == "default" or not series.per_day:
        return
    inside = added(measurement.database, found.tag.key, found.kind.fewest is not None)
    coming = [*(one for name, one in inside if name != measurement.name), series]
    rates = [one.per_day or 0.0 for one in coming]
    if series.per_day >= max(rates) / _ALIKE:
        # What a few values have most series of says little about the next ones: no more come than were counted.
        per_day = min(sum(rates), costs.most_in_a_day(case, "series", Subject(measurement.database), whole))
        grown = sum(math.inf if one.kept_days is None else one.after(math.inf) - one.now for one in coming)
        yield costs.of_limit(case, whole, limit, per_day=per_day, levels_at=whole + grown)


_ALIKE: Final = 2
"""A tag gains at least this part of the series that it gains in any measurement where it fills the database."""

_Added: TypeAlias = Callable[[str, str, bool], Sequence[tuple[str, Impact]]]
"""What a tag of a database adds to the series of each measurement in which it adds some, with the measurement's name,
and whether its values are of a kind that keeps coming.
"""


def _added(case: Case, database: str, key: str, keep_coming: bool) -> list[tuple[str, Impact]]:
    inside = (m for m in case.measurements if m.database == database and m.tag(key))
    found = ((m.name, costs.of_series(case, m, [key], keep_coming=keep_coming)) for m in inside)
    return [(name, one) for name, one in found if one is not None and one.per_day]


def _values_a_day(case: Case, measurement: Measurement, tag: Tag) -> float | None:
    """Number of values that the tag gains per day; 0 if it is leveling off or has ended; None if it is not known."""
    assert tag.values is not None
    if gained_per_day(case, tag) is not None:
        return _net_per_day(case, measurement, tag)
    known = tag.over_time
    if known is not None and known.kind == "churning" and not ended_on(case, tag):
        # Most are replaced, perhaps only once the retention has passed: until then, the number of values grows.
        return (known.new_per_day or 0.0) * (_net_share(case, measurement, tag) or 0.0)
    if (tag.over_time and tag.over_time.kind != "unknown") or fleets.is_fleet(tag):
        return 0.0
    growth = costs.growth_of(case, measurement, (tag,))
    return None if growth is None else tag.values.value * growth


_NEWEST_DAYS: Final = 3
"""Number of days that show whether as many values leave as are added."""


def _net_per_day(case: Case, measurement: Measurement, tag: Tag) -> float | None:
    """`gained_per_day` without the values that only replace others, by the newest listings; None if that is None."""
    gained, share = gained_per_day(case, tag), _net_share(case, measurement, tag)
    return gained if gained is None or share is None else gained * share


def _net_share(case: Case, measurement: Measurement, tag: Tag) -> float | None:
    """The share of the newest values that replace no others, 0 to 1, by the newest listings; None if not known."""
    known = tag.over_time
    points = case.timeline.of("tag_values", subject_of(measurement, tag.key))
    recent = [p for p in points if 0 < (case.profile.day - p.day).days <= _NEWEST_DAYS]
    if known is None or tag.values is None or not recent or known.sampled_values is not None:
        return None
    came = sum(one.values or 0 for one in known.series if one.day > recent[0].day)
    return min(max(tag.values.value - recent[0].value, 0) / came, 1.0) if came else None


def _said_per_day(case: Case, measurement: Measurement, found: _Found) -> float | None:
    """By how much the observed figure grows a day; None if it is another figure, or no value has come since the rate
    was measured: whether they come again is then not known.
    """
    values = found.tag.values
    if values is None or found.observed != values.value or _quiet_since(case, found.tag) is not None:
        return None
    return _net_per_day(case, measurement, found.tag) or None


def _burst(tag: Tag) -> SeriesSince | None:
    """The new values of the last day, if as many came on no day of the week before; None otherwise."""
    known = tag.over_time
    return known.burst if known and known.kind == "unbounded" else None


def _jump(found: _Found) -> Jump | None:
    """What the last day added, if that was far more than on the days before; None if it was not, or if the finding is
    about another figure.
    """
    values, burst = found.tag.values, _burst(found.tag)
    if values is None or burst is None or found.observed != values.value:
        return None
    return Jump(burst.day - timedelta(days=1), burst.values or 0)


def _is_avoidable(case: Case, measurement: Measurement, found: _Found) -> bool:
    """Whether a correct writer would not write these values: values that name sources are necessary, and a list,
    however wordy, only costs as much as it contains.
    """
    tag = found.tag
    if found.kind.again != "sources":
        return found.kind.again == "readings" or not fleets.recurs(tag)
    if _is_too_early(case, measurement, tag, found.kind):
        return False
    if not fleets.is_churn(tag):
        return True
    # Sources that end within minutes soon have many more series than there are sources at a time.
    return not fleets.lasts(tag)


def _finding(
    case: Case, measurement: Measurement, found: _Found, avoidable: Sequence[str], added: _Added, *, stays: bool
) -> Finding:
    """The finding about the tag. `avoidable`: the reported tags of the measurement that together cost something.
    `stays`: without it, rows would be overwritten, here or in another measurement that has it.
    """
    tag = found.tag
    assert tag.values is not None
    newest, causes = ended_on(case, tag), only_together(measurement, [tag.key])
    share = share_of_tags(causes, measurement.tag_sets)
    of_all = f"; {listed(causes)} together cause {percent(share)} of the series" if causes[1:] and share else ""
    changes = remedies(measurement, tag.key, to=found.kind.to, keeps_rows=case.engine.infers_roles, stays=stays)
    impact = None if newest else _impact(case, measurement, found, avoidable, added)
    series = measurement.series.value if measurement.series else 0
    evidence = [Evidence("distinct values", count(tag.values)), *found.kind.evidence]
    if series:
        evidence.append(
            Evidence("values per series", f"{number(tag.values.value / series)}, in {number(series)} series")
        )
    # Dividing the values of some rows by the number of all rows would be too low.
    whole = tag.values.source.how is not How.SAMPLED
    if whole and measurement.rows is not None and measurement.rows.value >= max(tag.values.value, 1):
        rows, per_row = measurement.rows, tag.values.value / measurement.rows.value
        error = per_row * rows.standard_error / rows.value if rows.standard_error else None
        evidence.append(Evidence("values per row", f"{number(rounded(per_row, error))}, in {count(rows)} rows"))
    if tag.over_time is not None and tag.over_time.kind != "unknown":
        evidence.append(Evidence("values over time", over_time(tag.over_time)))
    is_near = impact is not None and impact.currency is Currency.LIMIT
    own, whole_limit = values_limit(case, measurement), series_limit(case, measurement)
    near = whole_limit if impact is not None and impact.unit == whole_limit.unit else own
    limit = near if is_near else found.limit
    quick = stopgap(case, limit) if limit and is_near else ""
    match changes[0]:
        case Diagnose():
            fix = identity_kept(measurement, tag.key, keeps_rows=case.engine.infers_roles, stays=stays)
        case StopSource():
            fix = ""  # The values of the other sources are right.
        case _:
            fix = found.kind.fix
    return Finding(
        subject=subject_of(measurement, tag.key),
        impact=impact,
        severity_reason=costs.why_free(case, series_limit(case, measurement)),
        message=f"Tag {tag.key} has {found.reason}{of_all}." + (f" {ended_words(case, newest)}" if newest else ""),
        fix=" ".join(filter(None, (fix, quick))),
        stopgap=quick,
        changes=changes,
        observed=found.observed,
        per_day=_said_per_day(case, measurement, found),
        jump=_jump(found),
        # Only one limit is shown: the one that the share and the date are about.
        limit=limit,
        unit="values",
        main_contributor=tag.key,
        together_with=causes[1:],
        share=share,
        samples=tag.sample[:3],
        evidence=(*evidence, *series_evidence(measurement)),
        facts=("tag_values", "row_count", "null_counts", "row_sample", "series_listing"),
        source=tag.values.source,
    )


_QUIET_DAYS: Final = 3
"""Minimum number of days without a new value: more than a weekend."""
_LONGER: Final = 2
"""The pause must also be at least this many times the longest earlier pause between new values."""


def ended_on(case: Case, tag: Tag) -> date | None:
    """The day of a tag's newest values if it has gained none for clearly longer than ever before; None otherwise.

    None also if the listings are a sample, which can miss new values, or span less than a week.
    """
    pause = _pause(case, tag)
    if pause is None:
        return None
    newest, quiet, longest = pause
    return newest if quiet >= max(timedelta(_QUIET_DAYS), _LONGER * longest) else None


def _quiet_since(case: Case, tag: Tag) -> date | None:
    """The day of a tag's newest values if it has gained none for longer than ever before; None otherwise, and if that
    is not known.
    """
    pause = _pause(case, tag)
    if pause is None:
        return None
    newest, quiet, longest = pause
    return newest if longest and quiet >= longest else None


def _pause(case: Case, tag: Tag) -> tuple[date, timedelta, timedelta] | None:
    """The day of a tag's newest values, how long the listings show none since, and the longest time between new values
    before it; None if that is not known.
    """
    known = tag.over_time
    if known is None or known.kind == "unknown" or known.newest is None or known.sampled_values is not None:
        return None
    # A listing that was reused shows nothing about the days since.
    listed_on = min(tag.values.source.as_of.date(), case.profile.day) if tag.values else case.profile.day
    arrivals = sorted({one.day for one in known.series} | {known.newest})
    longest = max((later - earlier for earlier, later in pairwise(arrivals)), default=timedelta())
    return known.newest, listed_on - known.newest, longest


def gained_per_day(case: Case, tag: Tag) -> float | None:
    """Number of new values per day of a tag whose values are not leveling off, without those of a last day unlike the
    days before; None if they are, if they have ended, or if it is not known.
    """
    known = tag.over_time
    if known is None or known.kind != "unbounded" or ended_on(case, tag):
        return None
    return known.per_day_before if known.burst else known.new_per_day


def ended_words(case: Case, newest: date) -> str:
    """What happened to the new values, as sentences to follow those about the tag's values."""
    if case.engine.has_series_index:
        rest = "They stay in the index until they expire or are deleted."
    else:
        window = case.profile.window
        rest = f"They leave the figures by {written(newest + (window.end - window.start))}."
    return f"It has gained none since {written(newest)}: what wrote them has stopped. {rest}"
