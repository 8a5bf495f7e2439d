"""TAG009: IDs in columns of categories."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest

from tests.builders import a_count, a_field, a_measurement, a_profile, a_ratio
from tests.rules.cases import Case, dataset, run_rule, table
from tsaudit.model.finding import Outcome
from tsaudit.model.profile import Profile, TableKind
from tsaudit.model.subject import Subject
from tsaudit.rules.tags.identifier_category import identifier_category as rule

NOISE = random.Random(4)
IDS = tuple(str(uuid.UUID(int=NOISE.getrandbits(128), version=4)) for _ in range(300))
EXPORTS = tuple(sorted(f"export-{one}" for one in IDS))


def _log(*, own_queues: bool) -> Any:
    """A log of jobs: each row with an ID and a document of its own."""

    def value(series: int, row: int) -> dict[str, Any]:
        name = EXPORTS[row // 2] if own_queues and row % 2 else ("mail", "invoice", "sync")[row % 3]
        return {"job_id": IDS[row // 2] + str(row % 2), "job_type": name, "payload": f'{{"n": {row}, "to": "{row}"}}'}

    fields = {"job_id": "string", "job_type": "string", "payload": "string"}
    return dataset(table("job_log", [{}], fields, value, rows=600, key=False))


CASES = (
    Case(
        breaks=_log(own_queues=True),
        keeps=_log(own_queues=False),
        subject=Subject("", "job_log", "job_type"),
        main_contributor="job_type",
    ),
)


def _profile(key: str = "job_type", values: int = 300, frequent: float = 0.4, **changes: Any) -> Profile:
    column = a_field(
        key,
        ("VARCHAR",),
        sample=changes.pop("sample", EXPORTS[:64]),
        distinct=a_count(values),
        frequent_ratio=a_ratio(frequent),
    )
    made = a_measurement("jobs", tags=(), fields=(column,), kind=changes.pop("kind", TableKind.EVENTS))
    return a_profile(made, engine="postgresql")


def test_message() -> None:
    (finding,) = run_rule(rule, _profile()).findings
    assert finding.message == (
        "Column job_type has 300 values, most of them with an ID, beside those that come again and again in 40% of the "
        "rows."
    )


@pytest.mark.parametrize("key", ["queue", "dag_id", "workflow_type_name", "eventType", "action"])
def test_names_of_categories(key: str) -> None:
    assert run_rule(rule, _profile(key)).outcome is Outcome.FAIL


@pytest.mark.parametrize("key", ["actor", "session", "stream", "name", "path", "id", "created_by", "job_url"])
def test_names_of_single_things_may_have_ids(key: str) -> None:
    assert run_rule(rule, _profile(key)).outcome is Outcome.PASS


def test_jobs_of_a_queue_are_named_by_what_they_do() -> None:
    assert run_rule(rule, _profile("name", kind=TableKind.QUEUE)).outcome is Outcome.FAIL


@pytest.mark.parametrize(
    "changes",
    [
        {"values": 200},
        # An ID of each job, and nothing else: `task_id`.
        {"frequent": 0.09},
        {"sample": IDS[:64]},
        {
            "sample": tuple(
                f"step_{word}" for word in ("load", "clean", "split", "join", "send", "close", "open", "mail")
            )
        },
    ],
    ids=["few", "no categories", "IDs alone", "words"],
)
def test_silence(changes: dict[str, Any]) -> None:
    assert run_rule(rule, _profile(**changes)).outcome is Outcome.PASS
