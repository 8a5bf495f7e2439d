"""Every number the growth detector and its forecasts are tuned by, with what it means and where it comes from.

They were chosen on some 160 daily counts of real systems and epidemics, cross-validated by source, and on the same
quiet counts played backwards and upside down, which are quiet too: `docs/growth.md` has the figures. Levels and changes
are of natural logarithms, so 0.01 is about 1%.
"""

from __future__ import annotations

from typing import Final

# How much history is needed.
LONGEST_DAYS: Final = 90
"""Older counts don't change the verdict; only the onset of a growth that is older is looked up in them."""
LONGEST_GROWTH_DAYS: Final = 400
FEWEST_DAYS: Final = 7
FEWEST_POINTS: Final = 5
ENOUGH_DAYS: Final = 21
"""From the first count to the last, both included. Verdicts on less are provisional."""
ENOUGH_POINTS: Final = 10
MATURE_POINTS: Final = 14
"""With fewer, a first week that starts on a Sunday looks like growth: all kinds of evidence must agree."""
MATURE_DAYS: Final = 21
MATURE_SPARSE_POINTS: Final = 8
"""Of counts that don't come daily, so many over `MATURE_DAYS` do as well."""
FIRST_TOOTH_DAYS: Final = 17
"""So long a rise from the first count on may be the first tooth of a retention of one or two weeks, or a table filling
up. It is growth only where the count has doubled."""
DOUBLED: Final = 0.693

# What opens a growth: four kinds of evidence, each over the last counts before and on a day.
STEADY_POINTS: Final = 14
STEADY: Final = 1.8
"""Steady: mean change divided by its standard error. Changes beyond `CLIP` times the usual one are clipped."""
CLIP: Final = 3.0
LINES: Final = {14: 7.0, 21: 8.0}
"""Straight: slope divided by its standard error over so many counts. A step reaches sqrt(3 (n - 2)): 6.0, 7.5."""
FASTEST_POINTS: Final = 14
FAST: Final = 0.008
"""A day, over `FASTEST_POINTS` counts: slower growth has to be `SLOW`."""
REST: Final = 0.007
"""A day: what must be left of a fast rise without its two largest changes, or it was a step."""
STEP_BETTER: Final = 0.3
"""Where a single step leaves less than this share of what a line leaves unexplained, it was a step."""
STEP_POINTS: Final = 21
RUN: Final = 4
"""Sudden: so many changes running, each larger than any of the `BEFORE_RUN` before, falls included, and than
`RUN_LEAST` a day. By chance once in 50,000 days; and no step takes more than three days."""
BEFORE_RUN: Final = 14
RUN_LEAST: Final = 0.01
RUN_ALIKE: Final = 0.2
"""Share of the largest that the smallest of them must reach, or they are a step of three days and noise."""
YOUNG_POINTS: Final = 8
YOUNG_ALIKE: Final = 0.7
"""From so many counts on, `RUN` changes of counts in a row that are so much alike, and double it, are growth."""
SHORT_RUN: Final = 3
SHORT_RUN_DAYS: Final = 6
"""Audits that far apart show growth with `SHORT_RUN` such changes if the count has doubled in them."""
NOISY_LINES: Final = {21: 5.0, 28: 6.0, 42: 5.0, 56: 5.0}
"""Noisy: slope divided by its standard error, both widened by how much successive deviations are alike ..."""
NOISY_LINE: Final = 6.0
"""... and this without widening ..."""
NOISY_GAIN: Final = 8.0
"""... where a line explains more than any step by this many times the variance of what is left ..."""
NOISY_SLOPE: Final = 0.006
"""... and rises by so much a day. Lines over 28 counts and more are only examined where noise hides shorter ones:"""
NOISY: Final = 0.1
NOISY_FEWEST: Final = 28
UNALIKE: Final = 0.95
UNALIKE_GAIN: Final = 4.0
"""Where the error is hardly widened, deviations are independent, as those of small counts are: less is enough."""
NOISY_LEVEL_POINTS: Final = 7
NOISY_NEW_BY_NOISE: Final = 0.3
"""There, the median of so many counts must be above earlier ones, by so many times the noise of daily changes."""
SLOW_POINTS: Final = 28
SLOW: Final = 0.0045
"""Slow: a day, over `SLOW_POINTS` counts, if both straight and steady beyond doubt."""
SLOW_LINE: Final = 18.0
SLOW_STEADY: Final = 2.5
SLOW_FEWEST: Final = 21
LONG_POINTS: Final = 42
"""Slower still: a line over so many counts need not be steady, if it is certain ..."""
LONG_FEWEST: Final = 35
LONG_SLOW: Final = 0.004
LONG_LINE: Final = 24.0
LONG_WIDENED: Final = 9.0
"""... even with its error widened. At 1% noise, 0.5% a day is called within 33 days."""

# Steps are taken out before a line is fitted: changes beyond `LONELY` times the next largest ones.
STEP_CHANGES: Final = {14: 3, 21: 3, 28: 3, 42: 5, 56: 5}
"""How many changes in a window may be parts of steps."""
LONELY: Final = 4.0
LONELY_LEAST: Final = 0.03

# What is news: a level that was not there before.
LEVEL_POINTS: Final = 3
"""A level is the median of so many counts, so a burst of one day is none."""
NEWER_THAN: Final = 13
"""Points: levels so old and older are what a new one is compared with ..."""
EARLIER: Final = 45
"""... back to this many. With 90, growth after an old peak is missed."""
NEW_BY: Final = 0.005
NEW_BY_NOISE: Final = 1.5
"""Times the noise of daily changes: small counts reach new heights by chance."""
STRONG: Final = 1.3
"""Times the evidence opens a growth below an earlier level as well, unless it is a rise that was seen before:"""
SEEN_BY: Final = 0.05
SEEN_BY_NOISE: Final = 1.0
"""From as low to within this much of as high, as every tooth of a retention does, and every month of a season."""
SEEN_FROM: Final = 0.25
"""As low: within this share of the rise."""
HELD_POINTS: Final = 5
"""As high: as the median of so many counts, so a burst of two days is no rise."""
WOBBLY: Final = 0.03
AGREE: Final = 0.9
"""Of counts with more noise than this, steady and straight must both reach this share of their thresholds: where each
day is like the day before, one of them does so by chance."""

# What keeps a growth open, until the level has stopped rising.
STILL: Final = 0.003
"""A day. Less is standing still, if it lasts ..."""
STILL_DAYS: Final = 12
STILL_NOISY_DAYS: Final = 28
"""... or, for counts noisier than `STILL_NOISY`, whose levels wobble, lasts over both."""
STILL_NOISY: Final = 0.05

FOOT: Final = 0.1
"""Share of a rise: within it of the lowest level, the rise has not begun, and within it of the highest it is up."""
LONGEST_SHORT: Final = 7.0
"""Days: a growth that is only sudden has also ended where it took no longer, and has stood still for as long. Levels
that lasted no longer are parts of one step."""
SHORTEST_STILL: Final = 3.0
"""Days that it has to stand still at least."""
FELL_POINTS: Final = 5
"""No growth opens on the way back to a level that stood still until so many points before the foot of the rise ..."""
FELL_BY: Final = 0.2
"""... and lay so far above it: a rebuild, or an outage."""

# When it began, how fast it is, and what it does.
ONSET_BEFORE: Final = 28
ONSET_AFTER: Final = 7
"""Points around the opening among which the bend upwards is looked for ..."""
ONSET_FEWEST: Final = 10
"""... and days, where that many points lie in them."""
ONSET_STEP_SHARE: Final = 4
"""Of so many counts, one change may be part of a step: of few counts, three would be the growth itself."""
UNDATED_POINTS: Final = 30
"""A growth that opens within so many counts of the oldest one examined may be older: older counts are asked."""
RATE_POINTS: Final = 7
RATE_NOISY_POINTS: Final = 14
RATE_NOISY: Final = 0.03
"""Of counts noisier than this, rates are those of a longer time."""
LAW_WINDOW: Final = 28
"""Points by which it is decided whether a growth compounds."""
FLAT_DAYS: Final = 3
"""So many days without a rise are no weekend: the growth has stopped, until it goes on ..."""
FLAT: Final = 0.1
"""... where they rise by less than this share of the growth before, and certainly by less than ..."""
FLAT_AT_MOST: Final = 0.5
FLAT_ERRORS: Final = 2.0
"""... this share: so many standard errors above what was seen."""
SHAPE_POINTS: Final = 28
SHAPE_FEWEST: Final = 6
SHAPE_RATIO: Final = 1.4
"""By how much the pace of the newer half must exceed that of the older half to be called speeding up, or slowing."""
RECENT_DAYS: Final = 7
"""Whose median is the level before a growth."""

# Steps.
LEAST_STEP: Final = 0.05
"""Relative; smaller steps are called flat."""
MOST_STEPS: Final = 3
FEWEST_AT_LEVEL: Final = 3
STEP_CONFIRMED: Final = 3
"""Points that a new level has to last. With `STEP_YOUNGEST` it must exceed the largest other change of the series."""
STEP_YOUNGEST: Final = 2
"""A burst of one day is no step, however large."""
STEP_OLD: Final = 16
"""Points after which a level is one, whatever was before. A younger one must lie beyond all levels of the last ..."""
STEP_BEFORE: Final = 45
"""... so many points before it, by this many times their standard deviation:"""
STEP_BEYOND: Final = 1.0
STEP_LEFT: Final = 0.25
"""Share of a step above which a count has left the level before."""
STEP_AFTER: Final = 7
"""With fewer points before it, the end of a weekend looks like a step."""
FAR_BEYOND: Final = 2.0
FAR_LEAST: Final = 0.2
PERSISTENCE: Final = 2.0
"""Factor on the variance, because the deviations of successive days are alike."""

# Forecasts. What was seen is turned into days by three lines: log days = sum of weight times figure. Figures, in order:
# 1; log days at the exponential rate of 14 days, of 4 days, at the linear rate of 4 days; log noise of daily changes;
# log of the noise as a share of the way to the limit; by how much the second exceeds log 30, log 12, log 5, and the
# fourth log 30; log of the days that it has been growing; log of the deviation of daily changes as a share of the way.
# Quantile regression on 92,000 pairs of a day under alarm and what came 3 to 120 days later, of 291 counts;
# `bench/growth.py --cross-validate` fits them again.
LOW: Final = (0.631, -0.201, -0.317, 0.541, -0.059, -0.025, -0.638, 0.121, 0.754, -0.431, -0.061, -0.223)
"""About 10% of the outcomes are sooner."""
MIDDLE: Final = (1.322, 0.151, -0.574, 0.822, -0.05, -0.031, -0.841, 0.315, 0.571, -0.403, -0.159, 0.003)
HIGH: Final = (3.855, -0.154, -0.153, 0.55, 0.143, -0.128, -0.682, -0.094, 1.141, -0.5, -0.338, 0.138)
"""10% are later."""
SOONER: Final = 0.1
"""By so much in log days, the low end is always sooner than at the exponential rate of 14 days."""
EXPONENTIAL_DAYS: Final = 14
UNFITTED_DAYS: Final = (170.0, 340.0)
"""At the present rate. The lines were fitted to what came within 120 days and know nothing of later outcomes: from the
first to the second of these, they give way to the present rate, with this interval in log days:"""
UNFITTED_INTERVAL: Final = (-2.0, 0.0, 1.0)
NEAR_DAYS: Final = 4
NEAR_FROM_FAR: Final = 2.0
"""In log days: the rates of 4 days count as at most so different from that of 14."""
RATE_LONGER: Final = 3.0
"""Times as many days as these two at most, for counts noisier than `RATE_NOISY`: as many as make the slope as certain
as at that noise. Over 14 days, the slope of a count that moves by 15% a day is mostly noise."""
UNEVEN_DAYS: Final = 29
"""Over which the deviation of daily changes is taken."""
NOISE_POINTS: Final = 28
NOISE_LEAST: Final = 0.002
LEAST_DISTANCE: Final = 0.003
FAR_DAYS: Final = (30.0, 12.0, 5.0)
OLDEST_DAYS: Final = 60.0
LAW_POINTS: Final = 28
LAW: Final = (0.008, 0.018)
"""Misfit of a straight or exponential line, as a share of its rise: below the first, growth follows that law (a script
that adds as much every day) and is forecast by it; above the second, nothing is known but how real growth goes on."""
LAW_INTERVAL: Final = (0.7, 2.0)
HORIZON_DAYS: Final = 365.0
RATES: Final = (0.5, 1000.0)
"""Days between which those at the present rates are taken for true."""
