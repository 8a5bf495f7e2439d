"""DOC010: data in the names of fields."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_field, a_profile
from tests.databases import Collection, Dataset
from tests.engines.mongodb.rules.test_collection_per_period import a_collection
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.data_in_field_name import data_in_field_name as rule
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.subject import Subject

CASES = (
    Case(
        breaks=Dataset(collections=[Collection("games", [{"scores": {f"user_{i}": i}} for i in range(1001, 1021)])]),
        keeps=Dataset(
            collections=[
                Collection("games", [{"scores": [{"k": f"user_{i}", "v": i}]} for i in range(1001, 1021)]),
                Collection("http", [{f"http_{code}": 1 for code in (200, 301, 302, 400, 403, 404, 500, 502, 503)}]),
            ]
        ),
        subject=Subject("", "games", "scores.user_{n}"),
        main_contributor="scores.user_{n}",
    ),
)


def _found(*keys: str, **limits: float) -> tuple[Finding, ...]:
    games = dataclasses.replace(a_collection("games"), fields=tuple(a_field(key) for key in keys))
    return with_steps(rule, a_profile(games, engine="mongodb"), limits)


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ([f"visits.2026-03-{d:02}" for d in range(1, 15)], "visits.{date}"),
        ([f"of.{i:024x}.points" for i in range(0x65F0A1B2, 0x65F0A1BC)], "of.{id}"),
        ([f"by_hour.{h}.count" for h in range(24)], "by_hour.{n}"),
        ([f"2026_{m:02}" for m in range(1, 13)], "{date}"),
        ([f"a.b.item_{i}" for i in range(9)], "a.b.item_{n}"),
    ],
)
def test_finding_when_names_differ_in_data(keys: list[str], path: str) -> None:
    (finding,) = _found("_id", "title", *keys)
    assert finding.subject == Subject("main", "games", path)
    assert finding.message == f"{len(keys)} fields named {path} have data in their names."


def test_fix_turns_names_into_values() -> None:
    (finding,) = _found(*(f"scores.user_{i}" for i in range(9)))
    assert 'Write an array scores of names and values, { k: "user_0", v: ... } for each' in finding.fix
    assert 'createIndex({ "scores.k": 1, "scores.v": 1 });' in finding.fix
    assert '{ $objectToArray: "$scores" }' in finding.fix


def test_fix_at_the_top_changes_no_stored_document() -> None:
    (finding,) = _found("_id", *(f"2026_{m:02}" for m in range(1, 13)))
    assert 'Write an array values of names and values, { k: "2026_01", v: ... } for each' in finding.fix
    assert "$objectToArray" not in finding.fix


def test_silence_when_names_are_words_or_few() -> None:
    assert _found("_id", "p50", "p90", "p95", "p99", "load1", "load5", "load15", "ipv4", "ipv6") == ()
    keys = [f"scores.user_{i}" for i in range(8)]
    assert len(_found(*keys)) == 1
    assert _found(*keys[:7]) == ()
    assert _found(*keys, min_names=9) == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
