"""Times in a wrong unit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.builders import NOW
from tsaudit.analysis.columns.time_columns import misdating_factor

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shrunk(time: datetime, factor: int) -> datetime:
    """The time as it is stored if its unit is mistaken for one that is so many times smaller."""
    return EPOCH + (time - EPOCH) / factor


@pytest.mark.parametrize("factor", [1_000, 1_000_000, 1_000_000_000])
def test_times_of_the_last_years_in_another_unit(factor: int) -> None:
    last = NOW - timedelta(minutes=7, seconds=3)
    assert misdating_factor(shrunk(NOW - timedelta(days=900, seconds=17), factor), shrunk(last, factor), NOW) == factor


@pytest.mark.parametrize(
    ("first", "last"),
    [
        # A history by the hour, and birth dates.
        (EPOCH + timedelta(hours=1), EPOCH + timedelta(days=364, hours=23)),
        (EPOCH + timedelta(days=17), EPOCH + timedelta(days=19)),
        # One of the times is recent in no unit.
        (shrunk(NOW, 1_000_000), EPOCH + timedelta(days=3, seconds=1)),
        (EPOCH + timedelta(seconds=90), shrunk(NOW, 1_000)),
        # It is after now, or long ago.
        (shrunk(NOW, 1_000), shrunk(NOW + timedelta(days=3), 1_000)),
        (shrunk(NOW - timedelta(days=9_000), 1_000), shrunk(NOW - timedelta(days=8_000), 1_000)),
    ],
)
def test_times_that_are_none_of_these(first: datetime, last: datetime) -> None:
    assert misdating_factor(first, last, NOW) is None


def test_several_wrong_units_have_no_common_correction() -> None:
    assert misdating_factor(shrunk(NOW, 1_000_000_000), shrunk(NOW, 1_000_000), NOW) is None
