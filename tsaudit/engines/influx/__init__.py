"""What the versions of InfluxDB share."""

from typing import Final

TOGETHER: Final = frozenset({"series_listing", "row_sample", "row_count"})
"""The facts that one InfluxQL statement returns about several measurements; see `together`."""
