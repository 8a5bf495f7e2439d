"""Names that any quantity can have: they do not say what is measured."""

from __future__ import annotations

import re
from typing import Final

STATISTIC: Final = re.compile(
    r"(n|num|count|counter|sum|mean|avg|average|median|min|minimum|max|maximum|upper|lower|std|stddev|std_dev|var"
    r"|variance|first|last|value|gauge|rate|delta|histogram"
    r"|(m\d+|mean|one_minute|five_minute|fifteen_minute)_?rate"
    r"|(upper|lower|mean|sum|count|p|pct|percentile|quantile)?_?\d+(_?\d+)?(_?(pct|percentile|th|ile))?|sum_squares)",
    re.IGNORECASE,
)
"""Of fields."""
SUFFIX: Final = re.compile(rf"total|bucket|created|info|{STATISTIC.pattern}", re.IGNORECASE)
"""The same at the end of the names of metrics, as OpenMetrics has them."""
