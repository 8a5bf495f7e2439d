"""The stand-in and the writer of data sets: the same rows, whichever way they go."""

from __future__ import annotations

import datafusion
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import NOW
from tests.databases import Dataset, Greptime, Row, Table, times
from tests.engines.greptimedb.tables import declared, literals, statements
from tests.examples import examples

_TEXT = st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@settings(deadline=None, max_examples=examples(50))
@given(_TEXT, _TEXT, st.none() | st.floats(allow_nan=False, allow_infinity=False), st.none() | st.booleans())
def test_literals_are_read_back_as_they_were(
    tag: str | None, text: str | None, number: float | None, flag: bool | None
) -> None:
    row = Row(NOW, {"host": tag}, {"s": text, "f": number, "b": flag, "n": 2**53})
    fields = {"s": "string", "f": "float", "b": "boolean", "n": "integer"}
    _, written = declared("d", Table("t", ("host",), fields, [row]))
    (line,) = literals(written)
    (batch,) = datafusion.SessionContext().sql(f"SELECT * FROM (VALUES {line})").collect()
    found = [column[0].as_py() for column in batch.columns]
    (time,) = written.column("time").cast(pa.int64()).to_pylist()
    assert found == [time, tag, text, number, flag, 2**53]


def test_statements_that_make_a_data_set() -> None:
    kept = Greptime(options={"ttl": "7days"}, partition_by=("host",), partitions=("host < 'b'", "host >= 'b'"))
    plain = Table("t", ("host",), {"v": "float"}, [Row(times(1)[0], {"host": "a"}, {"v": 1.0})], greptime=kept)
    metric = Table("up", ("job",), {"greptime_value": "float"}, [], greptime=Greptime(physical="phy"))
    made = list(statements(Dataset([plain, metric])))
    assert [s.split("(")[0].strip() for s in made] == [
        'CREATE TABLE "phy"',
        "CREATE TABLE IF NOT EXISTS `t`",
        'INSERT INTO "t"',
        "CREATE TABLE IF NOT EXISTS `up`",
    ]
    assert "PARTITION ON COLUMNS (`host`) (\n  host < 'b',\n  host >= 'b'\n)" in made[1]
    assert "on_physical_table = 'phy'" in made[3]
