"""Grids of words in names, and lists of tables with one schema."""

from __future__ import annotations

import pytest

from tsaudit.analysis.shapes.name_families import grids, quantities_of_things, whole_list, word_lists

ROOMS = ("Kitchen", "Bath", "Attic", "Office", "Garage")
KINDS = ("Temperature", "Humidity", "Light")
SCENARIOS = ("login", "browse", "search", "pay")


@pytest.mark.parametrize(
    ("names", "template", "parts"),
    [
        ([f"{r}_{k}" for r in ROOMS for k in KINDS], "{first_part}_{second_part}", 2),
        ([f"{r}{k}" for r in ROOMS for k in KINDS], "{first_part}{second_part}", 2),
        ([f"load.{s}.{r}.{k}" for s in SCENARIOS for r in ("ok", "ko") for k in ("min", "max")], None, 3),
        ([f"plant/{line}/{m}/rpm" for line in "abcde" for m in ("saw", "mill", "press")], None, 2),
        (
            [
                f"{s}_{m}_{q}"
                for s in ("ulm", "hof", "jena")
                for m in ("saw", "mill", "press")
                for q in ("rpm", "kw", "temp")
            ],
            None,
            3,
        ),
        # A few combinations are missing: not every room has a light.
        ([f"{r}_{k}" for r in ROOMS for k in KINDS][2:], "{first_part}_{second_part}", 2),
    ],
)
def test_names_put_together_from_lists(names: list[str], template: str | None, parts: int) -> None:
    (found,) = grids(names)
    assert found.members == tuple(sorted(names))
    assert len(found.parts) == parts
    assert template is None or found.template == template
    told = {one.measurement: dict(one.tags) for one in found.parsed_names()}
    assert all(all(word in name for word in tags.values()) for name, tags in told.items())
    assert len({tuple(tags.items()) for tags in told.values()}) == len(names), "nothing is lost"


@pytest.mark.parametrize(
    "names",
    [
        # Prometheus: the words follow each other, and fill a small part of all combinations.
        [
            *(f"go_{x}" for x in ("gc_duration", "memstats_alloc", "memstats_sys")),
            *(f"node_{x}" for x in ("cpu_total", "disk_read", "disk_written", "memory_free", "memory_used", "net_in")),
            *(f"process_{x}" for x in ("cpu_total", "open_fds", "start_time")),
        ],
        # Directions of a few counters are one schema.
        [f"{a}_{b}" for a in ("in", "out") for b in ("octets", "errors", "discards")],
        [f"{a}_{b}_{c}" for a in ("read", "write") for b in ("disk", "net") for c in ("bytes", "ops", "ms")],
        ["cpu", "mem", "disk", "diskio", "net", "system", "swap", "kernel", "processes", "netstat", "nginx", "redis"],
        [],
    ],
)
def test_names_that_happen_to_share_words(names: list[str]) -> None:
    assert grids(names) == []


def test_fields_are_separated_by_what_no_word_contains() -> None:
    topics = [f"{t}-{v}" for t in ("orders", "clicks", "mails", "visits") for v in ("raw", "dead")]
    fields = [f"{t}.{what}.Count" for t in topics for what in ("BytesIn", "BytesOut")]
    assert [len(g.members) for g in grids(fields, strong_only=True)] == [16]
    assert grids([f"io_{a}_{b}" for a in ("queue", "wait", "merge", "time") for b in "rwsat"], strong_only=True) == []


def test_tables_that_differ_in_one_word() -> None:
    names = [f"orders_{tenant}" for tenant in ("acme", "globex", "initech", "hooli", "umbrella")]
    (found,) = word_lists(names)
    assert (found.template, found.measurement) == ("orders_{second_part}", "orders")
    assert found.words == (("acme", "globex", "hooli", "initech", "umbrella"),)
    assert word_lists(names[:4]) == []
    assert word_lists(["acme", "globex", "initech", "hooli", "umbrella"]) == []


def test_tables_of_one_schema_whose_names_share_nothing() -> None:
    continents = ["africa", "asia", "europe", "north_america", "oceania"]
    (found,) = whole_list(continents)
    assert [one.tags for one in found.parsed_names()] == [(("first_part", name),) for name in continents]
    assert found.family.measurement == "readings"
    assert whole_list(continents[:4]) == []


TASKS = ("crm_extract", "crm_load_all", "dbt_run", "dbt_test_marts", "ml_train", "ml_score", "ml_publish")
THINGS = [*TASKS, "sap_list_files", "sap_download", "sap_check", "mail_render", "mail_send_all", "etl_merge"]


def test_things_of_several_words_with_the_same_quantities() -> None:
    names = [f"airflow_dag_{task}_{what}" for task in THINGS for what in ("duration", "queued_duration")]
    (found,) = quantities_of_things([*names, "airflow_pool", "airflow_scheduler_duration"])
    assert found.template == "airflow_dag_{first_part}_{second_part}"
    assert found.members == tuple(sorted(names))
    told = {one.measurement: dict(one.tags) for one in found.parsed_names()}
    assert told["airflow_dag_crm_load_all_queued_duration"] == {
        "first_part": "crm_load_all",
        "second_part": "queued_duration",
    }


def test_twelve_things_with_the_same_quantities_are_enough() -> None:
    names = [f"airflow_dag_{task}_{what}" for task in THINGS[:12] for what in ("duration", "queued_duration")]
    (found,) = quantities_of_things(names)
    assert found.members == tuple(sorted(names))


@pytest.mark.parametrize(
    "names",
    [
        # OpenMetrics: each counter and histogram has these.
        [f"http_{thing}_{what}" for thing in THINGS for what in ("total", "created")],
        [f"http_{thing}_{what}" for thing in THINGS for what in ("sum", "count", "bucket")],
        [f"dag_{thing}_{what}" for thing in THINGS[:11] for what in ("duration", "delay")],
        [f"dag_{thing}_duration" for thing in THINGS],
        [f"{thing}_{what}" for thing in THINGS for what in ("duration", "delay")],
        # Some have one of them, others the other.
        [f"dag_{thing}{i}_{'wait' if i % 2 else 'run'}" for i in range(4) for thing in THINGS],
    ],
)
def test_quantities_that_are_not_those_of_a_list(names: list[str]) -> None:
    assert quantities_of_things(names) == []
