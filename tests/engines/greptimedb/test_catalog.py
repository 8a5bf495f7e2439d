"""SHOW CREATE TABLE as the product printed it, with names and values of any kind, and lifetimes in its options."""

from __future__ import annotations

import textwrap

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.greptimedb.definition import definition
from tests.engines.greptimedb.stored import INTERNAL, Column, Region, Stored
from tsaudit.engines.greptimedb.catalog import CreateTable, lifetime_s, parse_definition

# From tests/cases/standalone/common/show/show_create.result, alter/..., create/... of the product's repository.
PARTITIONED = """\
CREATE TABLE IF NOT EXISTS "system_metrics" (
  "id" INT UNSIGNED NULL,
  "host" STRING NULL,
  "cpu" DOUBLE NULL,
  "disk" FLOAT NULL COMMENT 'comment',
  "ts" TIMESTAMP(3) NOT NULL DEFAULT current_timestamp(),
  TIME INDEX ("ts"),
  PRIMARY KEY ("id", "host")
)
PARTITION ON COLUMNS ("id") (
  id < 5,
  id >= 5 AND id < 9,
  id >= 9
)
ENGINE=mito
WITH(
  ttl = '7days',
  write_buffer_size = '1.0KiB'
)"""
PLAIN = """\
CREATE TABLE IF NOT EXISTS "table_without_partition" (
  "ts" TIMESTAMP(3) NOT NULL DEFAULT current_timestamp(),
  TIME INDEX ("ts")
)

ENGINE=mito
"""
INHERITED = """\
CREATE TABLE IF NOT EXISTS "test2" (
  "host" STRING NULL,
  "cpu" DOUBLE NULL,
  "ts" TIMESTAMP(3) NOT NULL,
  TIME INDEX ("ts")
)

ENGINE=mito
WITH(
  append_mode = 'true',
  'memtable.type' = 'bulk',
  merge_mode = '',
  skip_wal = 'false',
  ttl = '1h'
)"""
PHYSICAL = """\
CREATE TABLE IF NOT EXISTS "phy" (
  "ts" TIMESTAMP(3) NOT NULL,
  "val" DOUBLE NULL,
  "host" STRING NULL SKIPPING INDEX WITH(false_positive_rate = '0.05', granularity = '8192', type = 'BLOOM'),
  TIME INDEX ("ts"),
  PRIMARY KEY ("host")
)

ENGINE=metric
WITH(
  'index.false_positive_rate' = '0.05',
  'index.granularity' = '8192',
  'index.type' = 'skipping',
  physical_metric_table = ''
)"""
COMMENTED = """\
CREATE TABLE IF NOT EXISTS "table_comment_in_cjk" (
  "ts" TIMESTAMP(3) NOT NULL COMMENT '时间戳',
  "val" DOUBLE NULL COMMENT '值',
  TIME INDEX ("ts")
)

ENGINE=mito
WITH(
  comment = '你好\\nこんにちは\\n안녕하세요'
)"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            PARTITIONED,
            CreateTable("mito", ("id", "host"), ("id",), {"ttl": "7days", "write_buffer_size": "1.0KiB"}),
        ),
        (PLAIN, CreateTable("mito", (), (), {})),
        (
            INHERITED,
            CreateTable(
                "mito",
                (),
                (),
                {"append_mode": "true", "memtable.type": "bulk", "merge_mode": "", "skip_wal": "false", "ttl": "1h"},
            ),
        ),
        (
            PHYSICAL,
            CreateTable(
                "metric",
                ("host",),
                (),
                {
                    "index.false_positive_rate": "0.05",
                    "index.granularity": "8192",
                    "index.type": "skipping",
                    "physical_metric_table": "",
                },
            ),
        ),
        (COMMENTED, CreateTable("mito", (), (), {"comment": "你好\nこんにちは\n안녕하세요"})),
    ],
    ids=["partitioned", "plain", "inherited", "physical", "commented"],
)
def test_definitions_that_the_product_printed(text: str, expected: CreateTable) -> None:
    assert parse_definition(text) == expected
    assert parse_definition(text.replace('"', "`")) == expected


def test_definition_of_the_stand_in_is_printed_like_the_product_s() -> None:
    columns = (
        Column("id", pa.uint32(), "TAG"),
        Column("host", pa.string(), "TAG"),
        Column("cpu", pa.float64(), "FIELD"),
        Column("ts", pa.timestamp("ms"), "TIMESTAMP"),
    )
    bounds = ("id < 5", "id >= 5 AND id < 9", "id >= 9")
    regions = tuple(Region(i, bound, 0, 0, 0, 0, 0) for i, bound in enumerate(bounds))
    options = {"ttl": "7days", "write_buffer_size": "1.0KiB"}
    stored = Stored("public", "system_metrics", 1, "mito", columns, ("id", "host"), options, {}, ("id",), regions)
    expected = PARTITIONED.replace("  \"disk\" FLOAT NULL COMMENT 'comment',\n", "")
    assert definition(stored, '"') == expected.replace(" DEFAULT current_timestamp()", "")


def test_comment_of_a_column_that_looks_like_the_end() -> None:
    text = textwrap.dedent(PARTITIONED).replace(
        "'comment'", "'\n  TIME INDEX (\"x\")\n)\nENGINE=metric\nWITH(\n  ttl = ''1s''\n)'"
    )
    assert parse_definition(text) == parse_definition(PARTITIONED)


@pytest.mark.parametrize("text", ["", "CREATE VIEW v AS SELECT 1", PARTITIONED[:-20]])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not the definition of a table"):
        parse_definition(text)


_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
# The engine's own columns are not part of a definition.
_NAME = _TEXT.filter(lambda name: name and name not in INTERNAL)


@given(
    key=st.lists(_NAME, max_size=3, unique=True),
    cut=st.lists(_NAME, max_size=2, unique=True),
    value=_TEXT,
    time=_NAME,
    quote=st.sampled_from('"`'),
)
def test_any_names_and_values_are_read_back(key: list[str], cut: list[str], value: str, time: str, quote: str) -> None:
    columns = (Column(time, pa.timestamp("ns"), "TIMESTAMP"), *(Column(k, pa.string(), "TAG") for k in key))
    regions = (Region(1, "a < 1", 0, 0, 0, 0, 0),) if cut else ()
    options = {"comment": value, "compaction.type": "twcs"}
    stored = Stored("d", "t", 1, "mito", columns, tuple(key), options, {}, tuple(cut), regions)
    assert parse_definition(definition(stored, quote)) == CreateTable("mito", tuple(key), tuple(cut), options)


DAY = 86_400


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        ("7days", 7 * DAY),
        ("1day", DAY),
        ("6h", 21_600),
        ("90m", 5_400),
        ("1M", 2_630_016),
        ("1year 2days", 31_557_600 + 2 * DAY),
        ("1day 2h 3s", DAY + 7_203),
        ("1500ms", 2),
        ("1ns", 1),
        ("instant", 1),
        ("forever", 0),
        ("", 0),
        ("soon", None),
        ("7", None),
        ("7 fortnights", None),
        ("-7days", None),
    ],
)
def test_seconds_when_read(ttl: str, seconds: int | None) -> None:
    assert lifetime_s(ttl) == seconds
