"""Tags that add no series."""

from __future__ import annotations

import pytest

from tests.builders import a_measurement, a_source, a_tag
from tsaudit.analysis.cardinality.contributions import determined_tags
from tsaudit.model.columns import Dependency, TagSets


@pytest.mark.parametrize(
    ("values", "pairs", "expected"),
    [
        ({"tag1": 2, "tag2": 2}, "tag1 tag2", {"tag1": ("tag2",)}),
        # The closest one is named.
        (
            {"host": 10, "region": 4, "country": 2},
            "host country, region country, host region",
            {"host": ("region",), "region": ("country",)},
        ),
        # Those that determine each other stand together, and what follows from both is named once.
        (
            {"host": 9, "address": 9, "rack": 3},
            "host address, address host, host rack, address rack",
            {"address": ("host", "rack")},
        ),
        (
            {"host": 9, "rack": 3, "zone": 3},
            "host rack, host zone, rack zone, zone rack",
            {"host": ("rack",), "rack": ("zone",)},
        ),
        # A single value says nothing.
        ({"host": 9, "region": 1}, "host region", {}),
        ({"host": 9, "path": 9}, "", {}),
    ],
)
def test_tags_that_another_determines(values: dict[str, int], pairs: str, expected: dict[str, object]) -> None:
    dependencies = tuple(Dependency(*pair.split()) for pair in pairs.split(", ") if pair)
    sets = TagSets(9, 9, 9, dependencies, (), (), (), a_source())
    tags = tuple(a_tag(key, count) for key, count in values.items())
    assert determined_tags(a_measurement(tags=tags, tag_sets=sets)) == expected


def test_nothing_is_known_without_a_listing() -> None:
    assert determined_tags(a_measurement(tags=(a_tag("host", 9), a_tag("rack", 3)))) == {}
