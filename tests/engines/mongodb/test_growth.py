"""How fast collections grow, by the times of their documents."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import bson
import pytest

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import Collection, Dataset, write
from tests.engines.mongodb.double import MongoDB
from tests.rules.cases import run_rule
from tsaudit.model.finding import Finding
from tsaudit.rules.retention.growing_storage import growing_storage

GB = 1_000_000_000


def _made(count: int, over: timedelta, size: int, ended: timedelta = timedelta()) -> list[dict[str, Any]]:
    """Documents with this many bytes of data that came evenly over a time."""
    ats = [NOW - ended - over * (1 - (n + 1) / count) for n in range(count)]
    return [{"_id": _id_of(at), "data": b"x" * size} for at in ats]


_numbers = itertools.count()


def _id_of(at: datetime) -> bson.ObjectId:
    return bson.ObjectId(int(at.timestamp()).to_bytes(4, "big") + next(_numbers).to_bytes(8, "big"))


def _dated(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with a time field instead of an ObjectId."""
    return [{"_id": n, "ts": one["_id"].generation_time, "data": one["data"]} for n, one in enumerate(documents)]


def _of_disk(*collections: Collection) -> Finding:
    """What is said of a disk of 20 GB, of which 18.5 GB are used."""
    server = MongoDB()
    server.disks = [(20 * GB, 18_500_000_000)]
    try:
        profile = collected(write(Dataset(collections=collections), "mongodb", server.url))
    finally:
        server.stop()
    (finding,) = run_rule(growing_storage, profile).findings
    return finding


OLD = _made(4_000, timedelta(days=200), 100)
# For 30 days, 30 documents of 4 kB a day: 123 kB a day, and 4 kB of the others.
NEW = _made(900, timedelta(days=30), 4_000)


@pytest.mark.parametrize(
    "collections",
    [
        pytest.param([Collection("objects", OLD + NEW)], id="one collection"),
        pytest.param([Collection("objects", _dated(OLD + NEW))], id="a time field"),
        # Few documents, of which each is large, beside many small ones.
        pytest.param([Collection("posts", OLD), Collection("pages", NEW)], id="two collections"),
    ],
)
def test_rate_is_that_of_the_newest_documents(collections: Sequence[Collection]) -> None:
    finding = _of_disk(*collections)
    assert finding.per_day == pytest.approx(127_000, rel=0.2)
    assert finding.impact is not None
    assert finding.impact.days_left == pytest.approx(1_500_000_000 / 127_000, rel=0.2)


def test_rate_of_rare_documents_is_that_of_the_newest_tenth() -> None:
    """A document every two days, and every 16th is large: the last one is from before the last 30 days."""
    documents = _made(895, timedelta(days=2.1 * 895), 100)
    large = [one | {"data": b"x" * 50_000} if n % 16 == 15 else one for n, one in enumerate(documents)]
    of_day = sum(len(bson.encode(one)) for one in large) / (2.1 * 895)
    assert _of_disk(Collection("objects", large)).per_day == pytest.approx(of_day, rel=0.15)


@pytest.mark.parametrize(
    "documents",
    [
        pytest.param([{"_id": f"s{n}", "data": b"x"} for n in range(2_000)], id="no times"),
        pytest.param(_made(2_000, timedelta(minutes=20), 4_000, timedelta(days=3)), id="loaded at once"),
    ],
)
def test_rate_that_is_not_known_is_no_rate(documents: Sequence[dict[str, Any]]) -> None:
    finding = _of_disk(Collection("objects", documents))
    assert finding.per_day is None
    assert finding.impact is not None
    assert (finding.impact.per_day, finding.impact.days_left) == (None, None)
    assert "When it is reached is not known yet." in finding.consequence
