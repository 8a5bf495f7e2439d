"""The shards that a server lists."""

from __future__ import annotations

import pytest

from tsaudit.engines.connection import FactError
from tsaudit.engines.influxdb1.answers import shards


@pytest.mark.parametrize("tag", ["database", "retentionPolicy", "id"])
def test_shard_without_a_name_leaves_a_gap(tag: str) -> None:
    """Its bytes would be missing from those of its database."""
    tags = {"database": "shop", "retentionPolicy": "autogen", "id": "1"}
    one = {"name": "shard", "columns": ["diskBytes", "seriesCreate"], "values": [[10, 1]]}
    assert [shard.bytes for shard in shards([one | {"tags": tags}])[0]] == [10]
    with pytest.raises(FactError):
        shards([one | {"tags": tags | {tag: 7}}])
