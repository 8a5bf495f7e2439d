"""The stand-in for Timestream is no kinder than Timestream: what the service refuses or answers, it does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, times
from tests.engines.timestream.double import CALLS_PER_S, Timestream
from tests.engines.timestream.sql import LONGEST_QUERY, RefusedError

CPU = Table(
    "cpu",
    ("host", "load"),
    {"usage": "float", "n": "integer"},
    [Row(at, {"host": f"h{i % 3}", "load": f"{i}"}, {"usage": i / 7, "n": i}) for i, at in enumerate(times(12))],
)
FROM = 'FROM "shop"."cpu"'


@pytest.fixture(scope="module")
def server(aws_credentials: None) -> Iterator[Timestream]:
    found = Timestream(empty_pages=0)
    found.write(Dataset([CPU], database="shop"))
    yield found
    found.stop()


def client(server: Timestream, service: str = "timestream-query") -> Any:
    once = Config(retries={"total_max_attempts": 1})
    return boto3.client(service, "eu-central-1", endpoint_url=server.address, config=once)


def one(server: Timestream, expression: str) -> Any:
    (row,) = server.answer(f"SELECT {expression} AS x {FROM} LIMIT 1").to_pylist()
    return row["x"]


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT host AS h {FROM} WHERE h = 'h1'",
        f"SELECT host AS h, count(*) AS c {FROM} GROUP BY h",
        f"SELECT host, count(*) AS c {FROM} GROUP BY host HAVING c > 1",
        f"SELECT c FROM (SELECT count(*) AS c {FROM}) t WHERE host = 'h1'",
        f'SELECT "HOST" {FROM}',
    ],
)
def test_a_name_is_refused_where_its_clause_cannot_see_it(server: Timestream, statement: str) -> None:
    with pytest.raises(RefusedError, match="does not exist"):
        server.answer(statement)


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT host AS h {FROM} ORDER BY h",
        f"SELECT host, count(*) AS c {FROM} GROUP BY host HAVING count(*) > 1",
        f"SELECT c FROM (SELECT host, count(*) AS c {FROM} GROUP BY host) t WHERE c > 1 ORDER BY c",
        f"SELECT * FROM (SELECT host AS h {FROM}) t WHERE h = 'h1'",
    ],
)
def test_a_name_is_taken_where_its_clause_sees_it(server: Timestream, statement: str) -> None:
    assert server.answer(statement).num_rows


def test_whole_numbers_divide_to_whole_numbers(server: Timestream) -> None:
    assert one(server, "count(*) / 7") == 1
    assert one(server, "CAST(count(*) AS double) / 8") == 1.5


def test_a_whole_number_divided_by_zero_is_an_error(server: Timestream) -> None:
    with pytest.raises(RefusedError, match="Division by zero") as refused:
        one(server, "max(n) / (min(n) - min(n))")
    assert refused.value.kind == "QueryExecutionException"


def test_text_is_not_compared_with_a_number(server: Timestream) -> None:
    with pytest.raises(RefusedError, match="Cannot apply operator"):
        server.answer(f"SELECT host {FROM} WHERE load > 5")


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("12", "bigint", 12), ("12.5", "bigint", None), (" 12 ", "bigint", None), ("0x1A", "bigint", None),
        ("1_000", "bigint", None), ("-7", "bigint", -7),
        (" 12 ", "double", 12.0), ("1_000", "double", None), ("0x1A", "double", None), ("1e3", "double", 1000.0),
    ],
)  # fmt: skip
def test_try_cast_takes_what_java_parses(server: Timestream, text: str, kind: str, value: float | None) -> None:
    assert one(server, f"try_cast(coalesce('{text}', host) AS {kind})") == value


def test_an_instant_in_iso_form_is_no_literal(server: Timestream) -> None:
    with pytest.raises(RefusedError, match="not a valid timestamp"):
        server.answer(f"SELECT host {FROM} WHERE time > TIMESTAMP '2026-03-01T00:00:00Z'")


def test_a_query_has_a_longest_length(server: Timestream) -> None:
    padded = f"SELECT host {FROM}".ljust(LONGEST_QUERY + 1)
    with pytest.raises(RefusedError, match="queryString"):
        server.answer(padded)


def test_calls_that_list_or_describe_are_limited_to_five_a_second(server: Timestream) -> None:
    server.calls_per_s = CALLS_PER_S
    writing = client(server, "timestream-write")
    with ThreadPoolExecutor(12) as pool, pytest.raises(ClientError, match="Rate exceeded") as refused:
        list(pool.map(lambda _: writing.list_databases(), range(12)))
    assert refused.value.response["Error"]["Code"] == "ThrottlingException"


def test_a_page_holds_a_megabyte_and_a_row_no_more(aws_credentials: None) -> None:
    long = Table(
        "log", ("host",), {"text": "string"},
        [Row(at, {"host": "a"}, {"text": "x" * 300_000}) for at in times(9)],
    )  # fmt: skip
    longest = Table("blob", ("host",), {"text": "string"}, [Row(NOW, {"host": "a"}, {"text": "x" * 1_100_000})])
    found = Timestream(empty_pages=0)
    try:
        found.write(Dataset([long, longest], database="shop"))
        asked = {"QueryString": 'SELECT text FROM "shop"."log"'}
        pages, token = [], None
        while not pages or token:
            answer = client(found).query(**asked, **({"NextToken": token} if token else {}))
            pages.append(len(answer["Rows"]))
            token = answer.get("NextToken")
        assert pages == [3, 3, 3]
        with pytest.raises(ClientError, match="larger than 1 MB"):
            client(found).query(QueryString='SELECT text FROM "shop"."blob"')
    finally:
        found.stop()


def test_a_token_is_good_for_five_calls(aws_credentials: None) -> None:
    found = Timestream(empty_pages=0)
    try:
        found.write(Dataset([CPU], database="shop"))
        asked = {"QueryString": f"SELECT host {FROM}", "MaxRows": 1}
        token = client(found).query(**asked)["NextToken"]
        found._queries[token.partition("-")[0]].calls = 5
        with pytest.raises(ClientError, match="Invalid pagination token"):
            client(found).query(**asked, NextToken=token)
    finally:
        found.stop()


def _named(count: int) -> Table:
    rows = [Row(at, {"host": "a"}, {"v": 1.0}, measure_name=f"m{i}") for i, at in enumerate(times(count))]
    return Table("many", ("host",), {"v": "float"}, rows)


def test_a_table_takes_8192_measure_names(aws_credentials: None) -> None:
    found = Timestream()
    try:
        found.write(Dataset([_named(8192)], database="full"))
        with pytest.raises(RefusedError, match="8192"):
            found.write(Dataset([_named(8193)], database="over"))
    finally:
        found.stop()


def test_names_and_numbers_of_dimensions_are_limited(aws_credentials: None) -> None:
    found = Timestream()
    try:
        many = Table("t", tuple(f"d{i}" for i in range(129)), {"v": "float"}, [Row(NOW, {}, {"v": 1.0})])
        long = Table("t", ("d" * 61,), {"v": "float"}, [Row(NOW, {}, {"v": 1.0})])
        for table in (many, long):
            with pytest.raises(RefusedError):
                found.write(Dataset([table]))
    finally:
        found.stop()
