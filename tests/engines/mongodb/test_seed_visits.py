"""The example of the guideline on documents: what the audit says of it, and what the author's change really saves."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pymongo
import pytest

from tests.builders import DAY, NOW
from tests.databases import Collection, Dataset, write
from tests.engines.mongodb import visits
from tests.engines.mongodb.double import MongoDB
from tests.servers import MONGODB_URL
from tsaudit.collect import collect
from tsaudit.config.settings import Harm, Target
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.history.lifecycle import is_good
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Finding, Outcome, Severity
from tsaudit.model.profile import Profile

pytestmark = pytest.mark.full


def _taken(server: MongoDB) -> float:
    """Bytes of all documents and index keys, by the server's account."""
    with pymongo.MongoClient[dict[str, Any]](server.url) as client:
        stats = client.visits.command("dbStats")
    return float(stats["storageSize"] + stats["indexSize"])


def _audited(server: MongoDB, dataset: Dataset, **budget: Any) -> tuple[Profile, AuditResult]:
    target = write(dataset, "mongodb", server.url, budget=budget)
    sent = len(server.commands)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW, wanted=required_facts("mongodb"))
    del server.commands[:sent]
    # The author had a thousand times as many bytes.
    return profile, evaluate(profile, harm=Harm(min_bytes=100_000))


@pytest.fixture(scope="module")
def server() -> Any:
    running = MongoDB()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def before(server: MongoDB) -> tuple[Profile, AuditResult, float, list[dict[str, Any]]]:
    profile, result = _audited(server, visits.visits())
    return profile, result, _taken(server), list(server.commands)


def _of(result: AuditResult, code: str) -> list[Finding]:
    return [finding for rule, finding in result.findings() if rule.code == code]


def test_what_the_author_found(before: tuple[Profile, AuditResult, float, Any]) -> None:
    profile, result, taken, _ = before
    assert len(profile.measurements) > 1200
    families = {f.subject.measurement: f for f in _of(result, "NAM002")}
    assert {name: f.observed for name, f in families.items()} == {
        "visits_{day}": 1095,
        "visits_{week}": 158,
        "visits_{month}": 36,
    }
    assert [name for name, f in families.items() if f.severity is Severity.WARNING] == ["visits_{day}"]
    evidence = {e.label: e.value for e in families["visits_{day}"].evidence}
    assert evidence["seems to contain the same by other periods"] == "visits_{month} (36) and visits_{week} (158)"
    # The id could be the _id, once for each family and not for each collection.
    spare = _of(result, "DOC002")
    assert {f.subject.measurement for f in spare} == set(families)
    assert {f.main_contributor for f in spare} == {"user_id"}
    day = {e.label: e.value for f in spare if "day" in f.subject.measurement for e in f.evidence}
    assert day["a document"] == "35 bytes, then 40% of that"
    closed = _of(result, "DOC003")
    assert {f.subject.measurement for f in closed} == set(families)
    steps = [step.text for plan in result.plans if "DOC003" in plan.rules for step in plan.steps]
    commands = [text for text in steps if "$count" in text]
    assert commands
    assert not any("drop" in command for command in commands)
    assert taken > sum(f.observed or 0 for f in closed)


def test_bytes_said_to_be_saved_are_those_that_the_change_saves(
    before: tuple[Profile, AuditResult, float, Any], server: MongoDB
) -> None:
    _, result, taken, _ = before
    write(visits.by_own_id(), "mongodb", server.url)
    saved = taken - _taken(server)
    assert sum(f.observed or 0 for f in _of(result, "DOC002")) == pytest.approx(saved, rel=0.1)
    write(visits.counted(), "mongodb", server.url)
    left = _taken(server)
    # What closing saves does not hold what the open periods save by their own id: it is little.
    assert sum(f.observed or 0 for f in _of(result, "DOC003")) == pytest.approx(taken - left, rel=0.1)
    assert left < 0.15 * taken


@pytest.mark.skipif(not MONGODB_URL, reason="TSAUDIT_MONGODB_URL names no real server")
def test_bytes_said_to_be_saved_are_those_of_a_real_servers_files() -> None:
    def written(field: str, **settings: Any) -> Target:
        days = [(DAY - timedelta(days=i)).strftime("visits_%Y_%m_%d") for i in range(6)]
        collections = [Collection(day, [{field: 7 * i} for i in range(4000)], **settings) for day in days]
        return write(Dataset(collections=collections, database="visits_of_a_week"), "mongodb", MONGODB_URL)

    def taken(target: Target) -> tuple[int, AuditResult]:
        with open_connection(target) as connection:
            profile = collect(target, connection, day=DAY, now=NOW, wanted=required_facts("mongodb"))
        kept = [m.storage for m in profile.measurements]
        return sum((s.data_bytes or 0) + (s.index_bytes or 0) for s in kept if s), evaluate(profile)

    before, result = taken(written("user_id", unique=("user_id",)))
    (said,) = _of(result, "DOC002")
    after, _ = taken(written("_id"))
    assert said.observed == pytest.approx(before - after, rel=0.1)


def test_few_collections_of_each_family_are_looked_into(before: tuple[Profile, AuditResult, float, Any]) -> None:
    profile, _, _, commands = before
    assert {next(iter(c)) for c in commands} == {
        "aggregate",
        "count",
        "dbStats",
        "hostInfo",
        "listCollections",
        "listDatabases",
        "listIndexes",
        "serverStatus",
        "top",
        "getMore",
    }
    looked_into = {c["aggregate"] for c in commands if "aggregate" in c}
    assert len(looked_into) == 3 * 24
    gaps = [g for g in profile.gaps if g.fact == "documents"]
    assert len(gaps) == 3
    (of_weeks,) = [g for g in gaps if "{week}" in g.detail]
    assert of_weeks.detail == (
        "134 collections named visits_{week}, of which this is the first, are not measured: 24 others represent them; "
        "raise budget.max_family"
    )
    # What is known of the other collections, and of a family, can come to an end all the same.
    assert of_weeks.measurement in {m.name for m in profile.measurements if m.documents is None}


def test_what_is_left_out_of_a_family_keeps_no_incident_open(before: tuple[Profile, AuditResult, float, Any]) -> None:
    profile, result, _, _ = before
    by_code = {rule.code: rule for rule in result.results}
    assert by_code["DOC005"].outcome is Outcome.OPEN
    # What was put right in another collection is over, and what was true of the family by the same ones as before.
    assert is_good("DOC005", Subject("visits", "prices"), by_code)
    assert is_good("DOC005", Subject("visits", "visits_{day}", "readings"), by_code)
    (left_out, *_) = [gap.measurement for gap in profile.gaps if gap.fact == "documents"]
    assert not is_good("DOC005", Subject("visits", left_out or ""), by_code)


def test_nothing_is_left_to_say_when_the_author_is_done(server: MongoDB) -> None:
    profile, result = _audited(server, visits.counted())
    assert profile.gaps == ()
    assert [(r.code, f.message) for r, f in result.findings() if f.severity is not Severity.NOTE] == []
