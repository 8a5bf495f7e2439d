"""One connection that breaks is no outage: the server is asked again, and what was lost is a gap."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.builders import DAY, NOW
from tests.collecting import Tampered, collected, collected_with, writer_to
from tests.databases import Dataset, Row, Table, times, write
from tests.faults import proxy
from tests.faults.expectations import Moment
from tests.faults.matrix import ENGINES
from tests.faults.proxy import FaultyProxy
from tests.faults.wire_engine import WireEngine
from tsaudit import not_audited
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.connection import ConnectorError, FactError, Rows
from tsaudit.engines.opening import open_connection
from tsaudit.model.facts import FACTS, Scope
from tsaudit.model.figures import Reason
from tsaudit.model.profile import Profile

HOSTS = [Row(at, {"host": f"h{i % 3}"}, {"v": float(i)}) for i, at in enumerate(times(30))]
DATA = Dataset([Table("http", ("host",), {"v": "float"}, HOSTS, key=("time", "host"))])


@pytest.fixture(scope="module", params=["postgresql", "greptimedb", "mongodb"])
def engine(request: pytest.FixtureRequest) -> Iterator[WireEngine]:
    opened = ENGINES[request.param]()
    assert isinstance(opened, WireEngine)
    with closing(opened):
        yield opened


def _profile(target: Target) -> Profile:
    with open_connection(target) as connection:
        return collect(target, connection, day=DAY, now=NOW)


def _is_audited(profile: Profile, moment: Moment) -> None:
    assert not_audited.missed(profile) == ()
    lost = [gap for gap in profile.gaps if "responds" in gap.detail]
    assert {gap.reason for gap in lost} <= {Reason.FAILED}
    assert not [gap for gap in profile.gaps if gap.reason is Reason.UNREACHABLE]
    if moment is Moment.LIST:
        assert lost == [], "it was asked again"


@pytest.mark.parametrize("moment", [Moment.LIST, Moment.MEASURE])
def test_connection_that_is_reset_once_is_at_most_a_gap(engine: WireEngine, moment: Moment) -> None:
    once = proxy.Moment(engine.questions[moment], once=True)
    with closing(FaultyProxy(engine.upstream, proxy.reset, once, answers_alone=True)) as faulty:
        profile = _profile(Target(name="t", engine=engine.name, **engine.settings("127.0.0.1", faulty.port)))
        assert faulty.struck.is_set()
    if engine.name == "mongodb" and moment is Moment.MEASURE:
        # Its documents are all that is read of a collection, and this is the only one.
        assert [gap.fact for gap in profile.gaps if gap.reason is Reason.FAILED] == ["documents"]
        return
    _is_audited(profile, moment)


@pytest.mark.parametrize(("moment", "words"), [(Moment.LIST, b"SHOW+MEASUREMENTS"), (Moment.MEASURE, b"SHOW+SERIES")])
def test_connection_to_influxdb_that_is_reset_once_is_at_most_a_gap(
    request: pytest.FixtureRequest, tmp_path: Path, moment: Moment, words: bytes
) -> None:
    target = writer_to("influxdb1", request, tmp_path)(DATA)
    port = int(target.url.get_secret_value().rpartition(":")[2])
    once = proxy.Moment(lambda piece: words in piece, once=True)
    with closing(FaultyProxy(("127.0.0.1", port), proxy.reset, once, answers_alone=True)) as faulty:
        url = target.url.get_secret_value().replace(f":{port}", f":{faulty.port}")
        profile = _profile(target.model_copy(update={"url": type(target.url)(url)}))
        assert faulty.struck.is_set()
    _is_audited(profile, moment)


Raised = Callable[[], Exception]


@pytest.mark.parametrize(
    "raised",
    [lambda: FactError(Reason.UNREACHABLE, "connection lost"), lambda: ConnectorError("connection lost")],
    ids=["statement", "connection"],
)
@pytest.mark.parametrize("fact", ["measurements", "columns", "null_counts", "row_sample", "series_listing"])
def test_statement_that_meets_an_interruption_leaves_a_gap_or_is_sent_again(
    tmp_path: Path, fact: str, raised: Raised
) -> None:
    target = write(DATA, "sqlite", tmp_path / "a.db")
    left = [1]

    def tampering(about: str, _given: Mapping[str, Any]) -> Rows | None:
        if about == fact and left:
            left.pop()
            raise raised()
        return None

    profile = collected_with(target, tampering)
    assert not left
    if FACTS[fact].scope is not Scope.MEASUREMENT:
        assert profile.gaps == ()
        assert [m.columns for m in profile.measurements] == [m.columns for m in collected(target).measurements]
        return
    (gap, *_) = [gap for gap in profile.gaps if gap.fact == fact]
    assert (gap.reason, gap.detail) == (Reason.FAILED, "connection lost; the server still responds")
    assert not_audited.missed(profile) == ()


def test_statement_that_breaks_the_connection_each_time_is_a_gap(tmp_path: Path) -> None:
    """It is sent twice, and never again."""
    target = write(DATA, "sqlite", tmp_path / "a.db")
    asked: list[str] = []

    def tampering(about: str, _given: Mapping[str, Any]) -> Rows | None:
        if about == "indexes":
            asked.append(about)
            raise FactError(Reason.UNREACHABLE, "connection lost")
        return None

    profile = collected_with(target, tampering)
    assert len(asked) == 2
    assert {gap.reason for gap in profile.gaps if gap.fact == "indexes"} == {Reason.FAILED}


def test_server_that_is_gone_is_named_by_its_address(tmp_path: Path) -> None:
    target = write(DATA, "sqlite", tmp_path / "a.db")
    named = target.model_copy(update={"url": type(target.url)("postgresql://u:pw@db.example:5432/shop")})
    gone: list[int] = []

    def tampering(about: str, _given: Mapping[str, Any]) -> Rows | None:
        if gone or about == "row_sample":
            gone.append(1)
            raise FactError(Reason.UNREACHABLE, "connection lost")
        return None

    with open_connection(target) as connection:
        profile = collect(named, Tampered(connection, tampering), day=DAY, now=NOW)
    (missed,) = not_audited.missed(profile)
    at, then = "the server at db.example:5432", "since it was queried for `row_sample` of (cpu|http)"
    assert re.fullmatch(f"{at} has not responded {then}: connection lost", missed.cause)
