"""Columns that contain the same thing under two names."""

from __future__ import annotations

import pytest

from tsaudit.analysis.rows.renamings import DescribedTag, Renaming, renamings

PRICES, COSTS = ("16588.4", "16559.5", "16577.2"), ("16159.5", "16131.4", "16148.9")


def tag(name: str, *sample: str) -> DescribedTag:
    return DescribedTag(name, "tag", sample)


def field(name: str, *sample: str, kind: str = "") -> DescribedTag:
    return DescribedTag(name, "field", sample, kind)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (tag("source", "src1"), tag("src", "2"), [Renaming("source", "src")]),
        (tag("code", "USD"), tag("currency", "EUR", "USD"), [Renaming("currency", "code")]),
        (field("price", *PRICES), field("cost", *COSTS), [Renaming("price", "cost")]),
        (field("price", PRICES[0]), field("cost", COSTS[0]), []),
        (field("price", "16588.4"), field("volume", "16749450200"), []),
        (field("price", "16588.4"), field("note", "late"), []),
        (field("temp", "0", "0"), field("hum", "0"), []),
        (tag("host", "web-1"), field("host_name", "web-1"), []),
        (tag("a"), tag("b"), []),
        (tag("hostname", "x"), tag("host_name", "yy-1"), [Renaming("host_name", "hostname")]),
    ],
)
def test_columns_that_may_be_the_same(first: DescribedTag, second: DescribedTag, found: list[Renaming]) -> None:
    assert list(renamings([first], [second])) == found
    assert {frozenset((r.kept, r.other)) for r in renamings([second], [first])} == {
        frozenset((r.kept, r.other)) for r in found
    }


def test_each_column_is_in_one_pair_at_most() -> None:
    pairs = renamings(
        [tag("source", "src1"), tag("code", "USD"), field("price", *PRICES)],
        [tag("src", "2"), tag("currency", "EUR"), field("cost", *COSTS), field("volume", "1.6e10")],
    )
    assert {(p.kept, p.other) for p in pairs} == {("source", "src"), ("currency", "code"), ("price", "cost")}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (tag("source", "a"), tag("src", "b")),
        (tag("hostName", "a"), tag("host_name", "b")),
        (field("temp", "20.5", "21"), field("temperature", "19.5", "18.2")),
        (field("msg", "disk is full now"), field("message", "no route to host")),
        (field("user", "ann"), field("username", "bob")),
        (field("sensor.temp", kind="number"), field("sensor.temperature", kind="number")),
        (field("cpu_pct", "50"), field("cpu_percent", "61")),
        (tag("vehicle", "v1"), tag("veh", "v9")),
        (tag("qty", "a"), tag("quantity", "b")),
        (field("order.shipTo", "Bonn"), field("order.ship_to", "Ulm")),
    ],
)
def test_names_that_mean_the_same(first: DescribedTag, second: DescribedTag) -> None:
    assert len(renamings([first], [second])) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (field("payload.size", kind="number"), field("payload.issue.title", kind="text")),
        (field("payload.issue.title", "It is broken"), field("payload.pull_request.title", "Fix it for good")),
        (field("cost", "5.5", kind="number"), field("cost", "high", kind="text")),
        (field("user", "ann"), field("user_agent", "curl/8")),
        (field("temp", "20.5"), field("temp_max", "24.5")),
        (field("latitude", "48.1"), field("altitude", "52.7")),
        (field("source", "5"), field("resource", "6")),
        (field("temp1", "20.5"), field("temp2", "70.5")),
        (field("wait_ms", "1500"), field("wait_s", "1.5")),
        (field("created", "2026-03-01 10:00:00"), field("shipped", "2026-03-02 11:00:00")),
        (field("longitude", "8.1", "9.3"), field("latitude", "48.1", "49.3")),
        (field("payload.ref", "refs/heads/main"), field("payload.ref_type", "branch")),
        (field("count", "5", kind="number"), field("country", "DE", kind="text")),
        (field("bytes_in", "1000"), field("bytes_out", "20000")),
    ],
)
def test_names_that_do_not(first: DescribedTag, second: DescribedTag) -> None:
    assert renamings([first], [second]) == ()


def test_numbers_of_one_magnitude_that_vary_in_another_way_are_not_the_same() -> None:
    """The power of chargers, and where they are."""
    assert renamings([field("kw", "3.7", "11.5", "50.5")], [field("lat", "47.5", "48.1", "54.9")]) == ()
