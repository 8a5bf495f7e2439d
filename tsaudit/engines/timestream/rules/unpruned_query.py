"""LAY011."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tsaudit import costs
from tsaudit.engines.timestream import predicates, prices
from tsaudit.engines.timestream.tables import KEY
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.server import StoredQuery
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, percent, size

_MEASURE_NAME = "measure_name"


@rule(
    code="LAY011",
    title="Scheduled queries read more data than they need",
    costs={Currency.MONEY},
    guidelines=("G7",),
    requires={"scheduled_queries", "options"},
    uses={"measure_names"},
)
def unpruned_query(case: Case) -> Iterator[Finding]:
    """Tables that scheduled queries read without a condition on the time, or on the partition key.

    Without a condition on the time, the cost of a query is what its runs read beyond the time since the previous run,
    at the price of US East. It grows as the bytes that its runs read did, by the history of the last weeks or, in the
    first one, of four audits if the growth was even. It is a note if none of the queries on a table uses its partition
    key, or if a query uses neither the key nor a measure name, in a table that has several: which sources it needs is
    not known. Conditions are found by parsing the query text: a plain column in a comparison, after WHERE or ON, in any
    part of the query. A column inside a function, as in `date_trunc('day', time) = ...`, rules nothing out.

    ## Why it matters

    A query reads, and is charged for, every partition that its conditions do not rule out. A scheduled query does so on
    every run, and nobody notices.

    ## Example

    `SELECT region, avg(cpu_user) FROM "shop"."devops" WHERE region = 'eu-west-1' GROUP BY region`, every five minutes:
    it reads everything ever written.

    ## Fix

    `WHERE time BETWEEN @scheduled_runtime - 1h AND @scheduled_runtime AND measure_name = 'metrics' AND ...`

    ## References

    - Best practices for queries: https://docs.aws.amazon.com/timestream/latest/developerguide/queries-bp.html
    - Partitioning by measure name: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    queries, unreadable = [], []
    for query in case.profile.stored_queries or ():
        try:
            queries.append((query, predicates.read(query.statement)))
        except predicates.UnreadableError as error:
            unreadable.append(f"{query.name}: {error}")
    found = False
    for measurement in case.measurements:
        place = measurement.database, measurement.name
        reading = [_Query(query, read) for query, read in queries if place in read.tables]
        if reading and (finding := _evaluate(case, measurement, reading)):
            found = True
            yield replace(finding, evidence=(*finding.evidence, *_left_out(unreadable)))
    if unreadable and not found:
        raise predicates.UnreadableError(f"could not parse {'; '.join(unreadable[:3])}")


@dataclass(frozen=True, slots=True)
class _Query:
    """A scheduled query, and what it reads of a table."""

    stored: StoredQuery
    read: predicates.Reading

    @property
    def filters(self) -> frozenset[str]:
        return self.read.filters


def _left_out(unreadable: Sequence[str]) -> tuple[Evidence, ...]:
    """Evidence about queries that may read the table, too, but could not be parsed."""
    if not unreadable:
        return ()
    return (Evidence("not evaluated", f"could not parse {'; '.join(unreadable[:3])}"),)


def _evaluate(case: Case, measurement: Measurement, reading: Sequence[_Query]) -> Finding | None:
    key = (measurement.options or {}).get(KEY, "")
    names = measurement.measure_names
    several = names is not None and names.count.value > 1
    keys = [column for column in (key, _MEASURE_NAME if several else "") if column]
    timeless = [one for one in reading if "time" not in one.filters]
    wide = [one for one in reading if keys and not one.filters & set(keys)]
    unused = bool(key) and all(key not in one.filters for one in reading)
    if timeless:
        computed = [one for one in timeless if "time" in one.read.only_computed]
        without = [one for one in timeless if one not in computed]
        said = [f"{_named(without)} on it without a condition on the time"] if without else []
        if computed:
            said.append(f"{_named(computed)} on it with the time inside a function, which rules nothing out")
        message = f"{', and '.join(said)}: everything ever written is read."
    elif unused:
        message = f"It is partitioned by {key}, which none of {many(len(reading), 'scheduled query')} filters by."
    elif wide:
        message = f"{_named(wide)} on it without a condition on {' or '.join(keys)}."
    else:
        return None
    worst = max(timeless or wide or reading, key=lambda one: one.stored.bytes_scanned or 0)
    return Finding(
        subject=subject_of(measurement),
        impact=_impact(case, measurement, timeless),
        message=message,
        fix=_advice(measurement.name, keys, key),
        observed=worst.stored.bytes_scanned,
        unit="" if worst.stored.bytes_scanned is None else "bytes read by its last run",
        main_contributor=worst.stored.name,
        evidence=tuple(_evidence(one) for one in reading[:10]),
        facts=("scheduled_queries", "options", "measure_names"),
    )


def _impact(case: Case, measurement: Measurement, timeless: Sequence[_Query]) -> Impact | None:
    """What reading all times costs a month; None if it is not known how much that is."""
    saved, per_day = 0.0, list[float | None]()
    for one in timeless:
        now, then = prices.of_scans(one.stored), prices.of_scans(one.stored, _needed(case, measurement, one.stored))
        avoidable = (now or 0.0) - (then or 0.0)
        saved += avoidable
        growth = _growth(case, one.stored) if avoidable else 0.0
        per_day.append(None if growth is None else avoidable * growth)
    if not saved:
        return None
    whole = sum(prices.of_scans(query) or 0.0 for query in case.profile.stored_queries or ())
    said = "bytes read beyond the time since the run before; the bill is that of all scheduled queries"
    how = f"{said}; {prices.SOURCE}"
    known = [rate for rate in per_day if rate is not None]
    return Impact(
        Currency.MONEY,
        now=saved,
        whole=whole,
        per_day=sum(known) if len(known) == len(per_day) else None,
        kept_days=costs.kept_days(case, measurement),
        how=how,
    )


def _growth(case: Case, query: StoredQuery) -> float | None:
    """The share of the bytes read by a run that is added each day, by those of earlier days; None if not known."""
    if not query.bytes_scanned:
        return None
    figure = ("bytes_scanned", Subject(query.database, query.name), float(query.bytes_scanned))
    rate, even = costs.rate(case, *figure), costs.even_rate(case, *figure)
    rate = even[0] if rate is None and even else rate
    return None if rate is None else rate / query.bytes_scanned


def _needed(case: Case, measurement: Measurement, query: StoredQuery) -> float:
    """The share of the time range read by a run that is new since the previous run."""
    range_s = query.temporal_range_s or (costs.age_days(case, measurement) or 0.0) * 86_400
    return min((query.period_s or 0.0) / range_s, 1.0) if range_s else 1.0


def _advice(table: str, keys: Sequence[str], key: str) -> str:
    which = " and ".join(keys) or "the dimensions that are queried"
    otherwise = f" If no query asks for single values of {key}, another key would serve better." if key else ""
    return (
        f"Add the conditions that prune to the queries on {table}: first on the time, with bounds and not inside a "
        f"function, then on {which}.{otherwise}"
    )


def _named(reading: Sequence[_Query]) -> str:
    run = "runs" if len(reading) == 1 else "run"
    return f"{listed([one.stored.name for one in reading], 4)} {run}"


def _evidence(one: _Query) -> Evidence:
    said = [f"filters by {listed(sorted(one.filters), 6)}" if one.filters else "filters by nothing"]
    if one.stored.bytes_scanned is not None:
        said.append(f"{size(one.stored.bytes_scanned)} read by the last run")
    if one.stored.spatial_coverage is not None:
        said.append(f"up to {percent(one.stored.spatial_coverage)} of the partitions")
    if one.stored.temporal_range_s is not None:
        said.append(f"{many(round(one.stored.temporal_range_s / 3600, 1), 'hour')} of data")
    return Evidence(one.stored.name, "; ".join(said))
