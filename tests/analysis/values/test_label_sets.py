"""Label sets against payloads, as Prometheus, OpenTelemetry and Datadog write the ones, and applications the others."""

from __future__ import annotations

import json
import random
import uuid

import pytest

from tsaudit.analysis.values.label_sets import label_sets

_chance = random.Random(7)
ROWS = 400


def _pod(i: int) -> dict[str, str]:
    return {"pod": f"api-{i % 60}", "zone": f"z{i % 3}", "env": "prod"}


LABELS = {
    "json": [json.dumps(_pod(i)) for i in range(ROWS)],
    "hstore": [", ".join(f'"{k}"=>"{v}"' for k, v in _pod(i).items()) for i in range(ROWS)],
    "map": [list(_pod(i).items()) for i in range(ROWS)],
    "struct": [_pod(i) for i in range(ROWS)],
    "attributes": [[{"key": k, "value": v} for k, v in _pod(i).items()] for i in range(ROWS)],
    "postgresql array": ["{" + ",".join(f'"{k}:{v}"' for k, v in _pod(i).items()) + "}" for i in range(ROWS)],
    "duckdb list": ["[" + ", ".join(f"{k}={v}" for k, v in _pod(i).items()) + "]" for i in range(ROWS)],
    "a label that is missing now and then": [
        json.dumps(_pod(i) | ({"tier": "a"} if i % 4 else {})) for i in range(ROWS)
    ],
    "a number among them": [json.dumps(_pod(i) | {"shard": i % 3}) for i in range(ROWS)],
    "escapes": [json.dumps({"path": f'C:\\"{i % 7}"', "é": "ü"}) for i in range(ROWS)],
}
NOT_LABELS = {
    "one set for all rows": [json.dumps({"app": "shop", "env": "prod"})] * ROWS,
    "an order": [json.dumps({"item": f"i{i % 9}", "total": _chance.random()}) for i in range(ROWS)],
    "nested": [json.dumps({"user": {"id": i % 5}, "action": "click"}) for i in range(ROWS)],
    "nested a thousand times": ["[" * 1000] * ROWS,
    "a message": [json.dumps({"text": "something went wrong " * 10, "level": "error"}) for _ in range(ROWS)],
    "other keys each time": [json.dumps({f"k{i}": "x", f"l{i}": "y"}) for i in range(ROWS)],
    "numbers": [{"x": i % 5, "y": i % 7} for i in range(ROWS)],
    "an array of numbers": ["{1,2,3}" for _ in range(ROWS)],
    "words": ["{red,green}" if i % 2 else "{blue}" for i in range(ROWS)],
    "plain text": [f"level={i % 3} took {i} ms" for i in range(ROWS)],
    "no text at all": [None, 3, b"x"] * 100,
    "empty objects": ["{}"] * ROWS,
    "cut off": ['{"a": "b", "c"'] * ROWS,
    "too few": [json.dumps(_pod(i)) for i in range(19)],
}


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str) -> None:
    found = label_sets(LABELS[name])
    assert found is not None
    assert found.recurring
    assert found.rows == ROWS
    assert found.sets == len({str(value) for value in LABELS[name]})


@pytest.mark.parametrize("name", NOT_LABELS)
def test_no_labels(name: str) -> None:
    assert label_sets(NOT_LABELS[name]) is None


def test_sets_that_never_come_again_are_said_to_be_so() -> None:
    """The payload of an event, or a source of which one row was read: the form alone does not tell."""
    found = label_sets([json.dumps({"trace": str(uuid.UUID(int=i)), "env": "prod"}) for i in range(ROWS)])
    assert found is not None
    assert (found.sets, found.recurring) == (ROWS, False)


def test_keys_are_named_by_how_many_rows_have_them() -> None:
    found = label_sets([{"host": f"h{i % 5}"} | ({"rack": "r"} if i % 2 else {}) for i in range(ROWS)])
    assert found is not None
    assert found.keys == ("host", "rack")
