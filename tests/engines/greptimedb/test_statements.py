"""What senders of the metric engine are told."""

from __future__ import annotations

from tests.engines.greptimedb.cases import a_table
from tsaudit.engines.greptimedb.statements import left_out_by_sender


def test_labels_when_the_table_is_of_the_metric_engine() -> None:
    metric = a_table(options={"engine": "metric"})
    assert "leave out host where it is sent" in left_out_by_sender(metric, {"host", "__table_id"})
    assert left_out_by_sender(metric, {"__table_id"}).startswith("Each metric has series of its own")
    assert left_out_by_sender(a_table(), {"zone"}) == ""
