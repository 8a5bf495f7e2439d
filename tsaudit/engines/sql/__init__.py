"""What the SQL engines share."""

from typing import Final

TOGETHER: Final = frozenset({"time_extents", "row_sample", "series_listing", "null_counts"})
"""The facts that `together` makes one statement of for several tables."""
