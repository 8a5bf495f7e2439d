"""All numbers that tune the growth detector and its forecasts, with their meaning and origin.

They were chosen on some 160 daily counts of real systems and epidemics, cross-validated by source, and on the quiet
ones of these counts reversed in time and turned upside down, which should stay quiet: `docs/growth.md` has the figures.
Levels and changes are natural logarithms, so 0.01 is about 1%.
"""

from __future__ import annotations

from typing import Final

# How much history is needed.
LONGEST_DAYS: Final = 90
"""Older counts do not change the verdict; they are only used to find the onset of an older growth."""
LONGEST_GROWTH_DAYS: Final = 400
FEWEST_DAYS: Final = 7
FEWEST_POINTS: Final = 5
ENOUGH_DAYS: Final = 21
"""Verdicts on less than this are provisional. Counted from the first count to the last, both included."""
ENOUGH_POINTS: Final = 10
MATURE_POINTS: Final = 14
"""With fewer points, a first week that starts on a Sunday looks like growth, so different kinds of evidence
must agree.
"""
MATURE_DAYS: Final = 21
MATURE_SPARSE_POINTS: Final = 8
"""For counts that are not daily, this many points over `MATURE_DAYS` also suffice."""
FIRST_TOOTH_DAYS: Final = 17
"""A rise that begins with the first count and is no longer than this may be the start of a retention of one or two
weeks, or a table filling up. It only counts as growth if the count has doubled, or if there is no retention.
"""
FILLING_DAYS: Final = 31
"""A growth from the first count that has not doubled is provisional for this long: it may be the start of a retention
of a month, and counts do not show the difference until then. If the retention is known, the wait is no longer than
that.
"""
DOUBLED: Final = 0.693

# What opens a growth: four kinds of evidence, each from the last counts up to a day.
STEADY_POINTS: Final = 14
STEADY: Final = 1.8
"""Steady growth: minimum mean change divided by its standard error. Changes larger than `CLIP` times the usual one are
clipped.
"""
CLIP: Final = 3.0
LINES: Final = {14: 7.0, 21: 8.0}
"""Straight growth: minimum slope divided by its standard error, by number of counts. A step reaches sqrt(3 (n - 2)):
6.0, 7.5.
"""
FASTEST_POINTS: Final = 14
FAST: Final = 0.008
"""Minimum slope per day, over `FASTEST_POINTS` counts; slower growth has to qualify as `SLOW`."""
REST: Final = 0.007
"""Minimum mean change per day that a fast rise must have without its two largest changes; otherwise it was a step."""
STEP_BETTER: Final = 0.3
"""If a single step leaves less than this share of what a line leaves unexplained, it was a step."""
STEP_POINTS: Final = 21
RUN: Final = 4
"""Sudden growth: this many changes in a row, each larger than any of the `BEFORE_RUN` changes before them, falls
included, and larger than `RUN_LEAST` a day. This happens by chance once in 50,000 days, and no step takes more than
three days.
"""
BEFORE_RUN: Final = 14
RUN_LEAST: Final = 0.01
RUN_ALIKE: Final = 0.2
"""The smallest of these changes must be at least this share of the largest; otherwise they are a step of three days and
noise.
"""
YOUNG_POINTS: Final = 8
YOUNG_ALIKE: Final = 0.7
"""With at least `YOUNG_POINTS` counts, `RUN` changes in a row also are growth if the smallest is at least this share of
the largest, and the count doubles.
"""
SHORT_RUN: Final = 3
SHORT_RUN_DAYS: Final = 6
"""If audits are further apart, `SHORT_RUN` such changes over at least this many days are growth, provided that the
count has doubled.
"""
NOISY_LINES: Final = {21: 5.0, 28: 6.0, 42: 5.0, 56: 5.0}
"""Noisy growth: minimum slope divided by its standard error, by number of counts. The error is increased by how alike
successive deviations are. The following minimums must be reached as well.
"""
NOISY_LINE: Final = 6.0
"""Noisy growth: minimum slope divided by its standard error without that increase."""
NOISY_GAIN: Final = 8.0
"""Noisy growth: how much more a line must explain than any step, as a multiple of the variance that it leaves."""
NOISY_SLOPE: Final = 0.006
"""Noisy growth: minimum slope per day. Lines over at least `NOISY_FEWEST` counts are only examined if noise above
`NOISY` hides shorter ones.
"""
NOISY: Final = 0.1
NOISY_FEWEST: Final = 28
UNALIKE: Final = 0.95
UNALIKE_GAIN: Final = 4.0
"""Replaces `NOISY_GAIN` if the error is hardly increased: deviations are then independent, as those of small counts
are.
"""
NOISY_LEVEL_POINTS: Final = 7
NOISY_NEW_BY_NOISE: Final = 0.3
"""Noisy growth: the median of `NOISY_LEVEL_POINTS` counts must be above earlier ones by this many times the noise of
daily changes.
"""
SLOW_POINTS: Final = 28
SLOW: Final = 0.0045
"""Slow growth: minimum slope per day over `SLOW_POINTS` counts, which must be both straight (`SLOW_LINE`) and steady
(`SLOW_STEADY`).
"""
SLOW_LINE: Final = 18.0
SLOW_STEADY: Final = 2.5
SLOW_FEWEST: Final = 21
LONG_POINTS: Final = 42
"""Very slow growth: a line over this many counts need not be steady if it is certain enough, see `LONG_LINE` and
`LONG_WIDENED`.
"""
LONG_FEWEST: Final = 35
LONG_SLOW: Final = 0.004
LONG_LINE: Final = 24.0
LONG_WIDENED: Final = 9.0
"""Minimum slope divided by its standard error, which is increased by how alike deviations are. With noise of 1%, growth
of 0.5% a day is detected within 33 days.
"""

# Steps are removed before a line is fitted: changes that are larger than `LONELY` times the next largest ones.
STEP_CHANGES: Final = {14: 3, 21: 3, 28: 3, 42: 5, 56: 5}
"""Number of changes that may be parts of steps, by number of counts."""
LONELY: Final = 4.0
LONELY_LEAST: Final = 0.03

# When a level is new: it must be above the levels that were there before.
LEVEL_POINTS: Final = 3
"""A level is the median of this many counts, so that a burst of one day does not change it."""
NEWER_THAN: Final = 13
"""A new level is compared with levels that are at least this many points old."""
EARLIER: Final = 45
"""A new level is compared with levels that are at most this many points old. With 90, growth after an old peak would be
missed.
"""
NEW_BY: Final = 0.005
NEW_BY_NOISE: Final = 1.5
"""The minimum difference also grows by this many times the noise of daily changes, because small counts reach new
heights by chance.
"""
STRONG: Final = 1.3
"""This many times the required evidence also opens a growth below an earlier level, unless such a rise was seen before,
see `SEEN_BY`.
"""
SEEN_BY: Final = 0.05
SEEN_BY_NOISE: Final = 1.0
"""A rise was seen before if an earlier one reached at least the present level minus `SEEN_BY` and this many times the
noise: a retention causes such a rise in every period, and seasonality in every season.
"""
SEEN_FROM: Final = 0.25
"""The earlier rise must also have started as low as the present one, to within this share of the rise."""
HELD_POINTS: Final = 5
"""The height of the earlier rise is a median of this many counts, so that a burst of two days does not
count as a rise.
"""
WOBBLY: Final = 0.03
AGREE: Final = 0.9
"""For counts with more noise than `WOBBLY`, and for short histories, steady and straight must both reach this share of
their thresholds: if each day resembles the day before, one of them does so by chance.
"""

# When a growth ends: when the level has stopped rising.
STILL: Final = 0.003
"""A level that rises less than this per day over `STILL_DAYS` has stopped rising."""
STILL_DAYS: Final = 12
STILL_NOISY_DAYS: Final = 28
"""Counts noisier than `STILL_NOISY`, whose levels fluctuate, must also rise less than that over this many days."""
STILL_NOISY: Final = 0.05

FOOT: Final = 0.1
"""Share of a rise: while the level is within this share above the foot, the rise has not begun; once a count is within
this share below the top, it is over.
"""
LONGEST_SHORT: Final = 7.0
"""A growth that is only sudden also ends if its rise took at most this many days and it has stood still for as long.
Levels that lasted no longer than this many points are parts of one step.
"""
SHORTEST_STILL: Final = 3.0
"""Minimum number of days that it has to stand still."""
FELL_POINTS: Final = 5
"""No growth opens while the count returns to a level at which it stood still until this many points before the foot of
the rise, see `FELL_BY`.
"""
FELL_BY: Final = 0.2
"""Minimum height of that level above the foot of the rise: a rebuild, or an outage."""

# When a growth began, how fast it is, and whether it continues.
ONSET_BEFORE: Final = 28
ONSET_AFTER: Final = 7
"""The onset is searched among the points from `ONSET_BEFORE` before the opening to this many after it."""
ONSET_FEWEST: Final = 10
"""If the points are sparse, the search starts at most `ONSET_BEFORE` days before the opening, but at least this many
points.
"""
ONSET_STEP_SHARE: Final = 4
"""One in this many counts may be part of a step: with few counts, three such changes would be the growth itself."""
UNDATED_POINTS: Final = 30
"""A growth that begins within this many points of the oldest one examined may be older, so older counts are examined,
too.
"""
RATE_POINTS: Final = (7, 14, 28)
"""A rate is computed from the first of these numbers of points through which a line is certain, see `RATE_MISFIT`, or
from the last.
"""
RATE_MISFIT: Final = 0.029
"""Largest deviation from the line, as a share of its rise and divided by the root of the number of points, so that the
slope is certain to within 10%.
"""
JUMP: Final = 2.0
"""A change of more than this many times the rate, or the changes before, is a jump or, if it goes on, a new pace."""
PACE_FEWEST: Final = 2
PACE_ALIKE: Final = 1 / 3
"""Fewest changes of a new pace, of which the smallest is at least this share of the largest."""
PARTIAL: Final = 0.9
"""A last change below this share of all before, which follow a straight line, is that of a day that is not over."""
SHRINKING: Final = 4
"""If this many changes at the end of a growth that slows down are each smaller than the one before, the rate is the
mean of all but the first. This seldom happens by chance.
"""
LAW_WINDOW: Final = 60
"""Number of points that decide whether a growth compounds."""
FLAT_DAYS: Final = 3
"""Minimum number of days without a rise after which a growth has stopped, until it continues: more than a weekend. See
`FLAT`, and `FLAT_AT_ONCE` for what stops sooner.
"""
FLAT_FEWEST: Final = 3
"""Fewest points of these days."""
FLAT: Final = 0.1
"""On these days, the slope must be at most this share of the growth before, and certainly at most
`FLAT_AT_MOST` of it.
"""
FLAT_AT_MOST: Final = 0.5
FLAT_ERRORS: Final = 2.5
"""The slope plus this many standard errors must be at most `FLAT_AT_MOST` times the growth before."""
FLAT_AT_ONCE: Final = 0.02
"""A change of less than this share of each before ends a growth until it continues. More may be the change of a day
that is not over, such as after an audit half an hour past midnight.
"""
FLAT_LONG: Final = 7
"""A growth that goes on after so many flat points has the rate of the points since. Fewer may be noise."""
SHAPE_POINTS: Final = 28
SHAPE_FEWEST: Final = 6
SHAPE_RATIO: Final = 1.4
"""The pace of the newer half must be this many times that of the older half to be called speeding up, or the reverse to
be called slowing.
"""
RECENT_DAYS: Final = 7
"""The level before a growth is the median over this many days."""

# Steps.
LEAST_STEP: Final = 0.05
"""Smallest relative change of a step; a smaller one is called flat."""
MOST_STEPS: Final = 3
FEWEST_AT_LEVEL: Final = 3
STEP_CONFIRMED: Final = 3
"""A new level must last this many points. If it has only lasted `STEP_YOUNGEST`, the step must be larger than any other
change of the series.
"""
STEP_YOUNGEST: Final = 2
"""Fewest points of a new level: a burst of one day is no step, however large."""
STEP_OLD: Final = 16
"""A level that has lasted this many points counts as new whatever was before it. A younger one must lie outside all
levels of the last `STEP_BEFORE` points.
"""
STEP_BEFORE: Final = 45
"""A young level must lie outside all levels of this many points before it, by `STEP_BEYOND` times their standard
deviation.
"""
STEP_BEYOND: Final = 1.0
STEP_LEFT: Final = 0.25
"""Once a count has completed this share of a step, it has left the old level."""
STEP_AFTER: Final = 7
"""Fewest points before a step: with fewer, the end of a weekend looks like a step."""
STEP_NO_WEEKEND: Final = 2.302
"""A step of this size needs fewer points before it: no weekend ends with ten times as many."""
FAR_BEYOND: Final = 2.0
FAR_LEAST: Final = 0.2
PERSISTENCE: Final = 2.0
"""Factor by which the variance is increased, because deviations on successive days are alike."""

# Forecasts. Three linear regressions turn the observed figures into days: log days = sum of weight times figure. The
# figures, in order: 1; log days at the exponential rate of 14 days, of 4 days, at the linear rate of 4 days; log noise
# of daily changes; log of the noise as a share of the distance to the limit; by how much the second exceeds log 30, log
# 12, log 5, and the fourth log 30; log of the number of days that it has been growing; log of the deviation of daily
# changes as a share of the distance. Quantile regression on 92,000 pairs of a day with an open growth and the outcome 3
# to 120 days later, from 291 counts; `bench/growth.py --cross-validate` fits them again.
LOW: Final = (0.631, -0.201, -0.317, 0.541, -0.059, -0.025, -0.638, 0.121, 0.754, -0.431, -0.061, -0.223)
"""About 10% of the outcomes are sooner than this."""
MIDDLE: Final = (1.322, 0.151, -0.574, 0.822, -0.05, -0.031, -0.841, 0.315, 0.571, -0.403, -0.159, 0.003)
HIGH: Final = (3.855, -0.154, -0.153, 0.55, 0.143, -0.128, -0.682, -0.094, 1.141, -0.5, -0.338, 0.138)
"""About 10% of the outcomes are later than this."""
SOONER: Final = 0.1
"""The low end is sooner than the exponential rate of 14 days by at least this much, in log days."""
EXPONENTIAL_DAYS: Final = 14
UNFITTED_DAYS: Final = (170.0, 340.0)
"""The regressions were fitted to outcomes within 120 days and do not cover later ones. If reaching the limit takes more
than the first number of days at the present rate, the forecast moves toward the present rate, and from the second
number on it is entirely based on it, with the interval `UNFITTED_INTERVAL` in log days.
"""
UNFITTED_INTERVAL: Final = (-2.0, 0.0, 1.0)
NEAR_DAYS: Final = 4
RATE_NOISY: Final = 0.03
"""For counts noisier than this, the rates of the regressions are computed over a longer time."""
NEAR_FROM_FAR: Final = 2.0
"""The rates of 4 days are limited to this difference from the rate of 14 days, in log days."""
RATE_LONGER: Final = 3.0
"""Rates of counts noisier than `RATE_NOISY` are computed over up to this many times as many days, so that the slope is
as certain as with that noise. Even over 14 days, the slope of a count that moves by 15% a day is mostly noise.
"""
UNEVEN_DAYS: Final = 29
"""Number of days over which the deviation of daily changes is computed."""
NOISE_POINTS: Final = 28
NOISE_LEAST: Final = 0.002
LEAST_DISTANCE: Final = 0.003
FAR_DAYS: Final = (30.0, 12.0, 5.0)
OLDEST_DAYS: Final = 60.0
LAW_POINTS: Final = 28
LAW: Final = (0.008, 0.018)
"""Misfit of a law, as a share of its rise. Below the first value, growth follows that law (such as a script that adds
the same amount every day) and is extrapolated; above the second, the forecast relies entirely on how real growth
usually continues.
"""
LAW_BENDS: Final = tuple(bend / 200 for bend in range(-30, 31) if bend)
"""Shares by which the amount added per day may change every day."""
LAW_BENT: Final = 2.0
"""A law whose daily amounts change must fit this many times better than a straight or exponential line."""
LAW_LATER: Final = 0.693
"""By a law that slows down, a limit is at most this much later than at the present rate, in log days: twice."""
LAW_INTERVAL: Final = (0.7, 2.0)
HORIZON_DAYS: Final = 365.0
RATES: Final = (0.5, 1000.0)
"""Lowest and highest number of days that a present rate can lead to."""
