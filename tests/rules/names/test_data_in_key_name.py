"""NAM005: data in the names of tags and fields."""

from __future__ import annotations

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.databases import Dataset, Row, Table, times
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.subject import Subject
from tsaudit.rules.names.data_in_key_name import data_in_key_name as rule

SERVERS = ("server-01", "server-02", "server-03")


def _in_columns() -> Dataset:
    fields = {f"usage_{name}": "float" for name in SERVERS}
    rows = [Row(t, {"zone": "a"}, dict.fromkeys(fields, i / 7)) for i, t in enumerate(times(5))]
    return dataset(Table("cpu", ("zone",), fields, rows, key=("time", "zone")))


def _in_rows() -> Dataset:
    rows = [Row(t, {"zone": "a", "host": name}, {"usage": i / 7}) for i, t in enumerate(times(5)) for name in SERVERS]
    return dataset(Table("cpu", ("zone", "host"), {"usage": "float"}, rows, key=("time", "zone", "host")))


CASES = (Case(_in_columns(), _in_rows(), Subject("", "cpu", "usage_{host}")),)


def _findings(*names: str, role: str = "field", engine: str = "duckdb", **limits: float) -> tuple[Finding, ...]:
    columns = (
        {"fields": tuple(map(a_field, names))} if role == "field" else {"tags": tuple(a_tag(name) for name in names)}
    )
    return run_rule(rule, a_profile(a_measurement("cpu", **columns), engine=engine), limits).findings


def test_finding_when_read() -> None:
    (finding,) = _findings("usage_server-01", "usage_server-02", "idle", engine="influxdb1")
    assert finding.message == "2 fields named usage_{host} should be one field usage with tag host."
    assert "Write one field usage and what varies as tag host, in a row for each: host=server-01." in finding.fix
    assert finding.evidence[0].value == "2: usage_server-01 and usage_server-02"


def test_tags_and_fields_when_each_is_looked_at_alone() -> None:
    assert _findings("load_us-east", "load_eu-west", role="tag")[0].message.startswith("2 tags named load_{region}")
    mixed = a_measurement("cpu", tags=(a_tag("load_us-east"),), fields=(a_field("load_eu-west"),))
    assert not run_rule(rule, a_profile(mixed)).findings


def test_dates_when_the_row_has_its_time() -> None:
    (finding,) = _findings("sales_2023", "sales_2024")
    assert finding.message.endswith("should be one field sales with the row's own timestamp.")


def test_smallest_family_that_counts() -> None:
    assert _findings(*(f"meter{i}" for i in range(10)))
    assert not _findings(*(f"meter{i}" for i in range(10)), min_names=11)


@pytest.mark.parametrize(
    "names", [("p50", "p95", "p99"), ("load1", "load5", "load15"), ("cpu", "memory"), ("x1", "x2")]
)
def test_silence_when_numbers_belong_to_the_words(names: tuple[str, ...]) -> None:
    assert not _findings(*names)


def test_words_of_a_grid_are_data() -> None:
    """Topics in the names of fields, which a parser could have made a tag."""
    topics = [f"{topic}-{stage}" for topic in ("orders", "clicks", "mails", "visits") for stage in ("raw", "dead")]
    fields = tuple(a_field(f"{topic}.{way}.Count") for topic in topics for way in ("BytesIn", "BytesOut"))
    (finding,) = run_rule(rule, a_profile(a_measurement("kafka", fields=fields))).findings
    assert finding.subject.column == "{part_1}-{part_2}.{part_3}.Count"
    assert finding.message.startswith("16 fields named")
    few = run_rule(rule, a_profile(a_measurement("kafka", fields=fields[:11])))
    assert few.outcome is Outcome.PASS


def test_numbered_tags_are_levels_of_a_hierarchy() -> None:
    assert not _findings("part_1", "part_2", "part_3", role="tag")
    assert _findings("part_1", "part_2", "part_3", role="field")
    assert _findings(*(f"slot_{n}" for n in range(12)), role="tag"), "twelve are a list"
