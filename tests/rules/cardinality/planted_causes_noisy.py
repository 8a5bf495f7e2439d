"""More causes of growth, among random churn and mixed with each other; each with what the finding has to name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from random import Random
from typing import Final

from tests.rules.cardinality.planted import Live, Planted, Series, TagSet
from tests.rules.cardinality.planted_causes import churning_pods, fleet, identifier, since

_FIRST_DAY: Final = -40


def _random(name: str, number: int) -> Random:
    return Random(f"{name} {number}")


@cache
def _pods(number: int) -> tuple[str, ...]:
    """Each pod lives for a random time; their number changes from day to day."""
    if number <= _FIRST_DAY:
        return tuple(f"pod-{i}" for i in range(400))
    draw = _random("pods", number)
    live = [pod for pod in _pods(number - 1) if draw.random() > 0.1]
    new = max(0, 400 - len(live) + draw.randint(-25, 25))
    return (*live, *(f"pod-{number}-{i}" for i in range(new)))


@cache
def _leaked(onset: int, number: int, a_day: int, name: str) -> int:
    """How many there are by then, if a random number is added each day."""
    if not since(number, onset):
        return 0
    return _leaked(onset, number - 1, a_day, name) + _random(name, number).randint(a_day // 2, a_day * 3 // 2)


def _m(rows: Series) -> Mapping[str, Series]:
    return {"m": rows}


def users_among_random_pods(number: int) -> Mapping[str, Series]:
    pods = [{"pod": pod, "port": str(p)} for pod in _pods(number) for p in range(3)]
    users = range(_leaked(40, number, 60, "users"))
    return _m([*pods, *({"pod": "gateway", "port": "0", "user": f"u{i}"} for i in users)])


def tasks_among_random_pods_of_a_week(number: int) -> Mapping[str, Series]:
    pods = [{"pod": pod, "port": str(p)} for pod in _pods(number) for p in range(3)]
    tasks = range(_leaked(40, number, 80, "tasks"))
    return _m([*pods, *({"pod": f"job-{i % 5}", "task": f"t{i}"} for i in tasks)])


def users_among_pods_of_a_month(number: int) -> Mapping[str, Series]:
    pods = [{"pod": pod, "port": "0"} for pod in churning_pods(number + 20, 300, 30)]
    return _m([*pods, *({"pod": "gateway", "port": "0", "user": f"u{i}"} for i in range(60 * since(number)))])


def gradual_rename(number: int) -> Mapping[str, Series]:
    moved = min(400, 40 * since(number))
    rows = fleet(400)
    renamed = [{"hostname": row["host"], "core": row["core"]} for row in rows[: 3 * moved]]
    return _m([*renamed, *({"host": row["host"], "core": row["core"]} for row in rows[3 * moved :])])


def gradual_rollout_of_a_tag(number: int) -> Mapping[str, Series]:
    moved = 3 * min(400, 70 * since(number))
    rows = fleet(400)
    return _m([*({**row, "version": "7.1"} for row in rows[:moved]), *rows[moved:]])


def two_tags_added(number: int) -> Mapping[str, Series]:
    more = {"version": "7.1", "commit": "a91f3c7"} if since(number, 46) else {}
    return _m([{**row, **more} for row in fleet(400)])


def large_new_region(number: int) -> Mapping[str, Series]:
    hosts = [{"host": f"h{r}-{i}", "region": f"eu-{r}"} for r in range(4) for i in range(300)]
    new = [{"host": f"us-{i}", "region": "us-1"} for i in range(2_000)] if since(number, 46) else []
    return _m([*hosts, *new])


def users_among_short_sessions(number: int) -> Mapping[str, Series]:
    sessions = [{"session": identifier(1_000 * number + i), "host": f"h{i % 9}"} for i in range(900)]
    users = [{"user": f"u{i}", "host": f"h{k}"} for i in range(100 + 25 * since(number)) for k in range(3)]
    return _m([*sessions, *users])


def more_short_sessions_of_the_same_users(number: int) -> Mapping[str, Series]:
    sessions = 1_200 + 90 * since(number)
    return _m([{"session": identifier(9_000 * number + i), "user": f"u{i % 60}"} for i in range(sessions)])


def more_customers_with_short_sessions(number: int) -> Mapping[str, Series]:
    customers = 50 + 4 * since(number)
    return _m(
        [
            {"session": identifier(9_000 * number + 100 * c + i), "customer": f"c{c}"}
            for c in range(customers)
            for i in range(25)
        ]
    )


def leak_among_weekly_deploys(number: int) -> Mapping[str, Series]:
    week = number // 7
    pods = [{"pod": f"v{week}-{i}", "version": f"v{week}", "port": str(p)} for i in range(400) for p in range(3)]
    return _m([*pods, *({"job": f"j{i % 4}", "task": identifier(i)} for i in range(70 * since(number)))])


def paths_at_one_host_of_a_growing_fleet(number: int) -> Mapping[str, Series]:
    hosts = [{"host": f"web-{i:04}", "path": f"/{name}"} for i in range(300 + number // 3) for name in "abcd"]
    paths = range(_leaked(40, number, 90, "paths"))
    return _m([*hosts, *({"host": "web-0007", "path": f"/report/{i}.pdf"} for i in paths)])


def combinations_in_a_sampled_listing(number: int) -> Mapping[str, Series]:
    visited = min(40, 10 + 3 * since(number))
    return _m([{"user": f"u{u}", "host": f"h{(7 * u + k) % 40}"} for u in range(120) for k in range(visited)])


def three_measurements_by_three_tags(number: int) -> Mapping[str, Series]:
    more = range(60 * since(number))
    return {
        name: [*fleet(110), *({"host": "web-0000", tag: f"{tag}{i}"} for i in more)]
        for name, tag in (("alpha", "user"), ("beta", "task"), ("gamma", "path"))
    }


def more_and_more_short_lived_ids(number: int) -> Mapping[str, Series]:
    ids = range(60 + 40 * since(number))
    jobs = [{"job": f"j{i % 6}", "build": identifier(5_000 * (number + 50) + i)} for i in ids]
    return _m([*fleet(350), *jobs])


def replaced_gateways_and_more_devices(number: int) -> Mapping[str, Series]:
    old = not since(number, 46)
    gateways, devices = ("old", 1_200) if old else ("new", 2_700)
    return _m([{"gateway": f"{gateways}-{i % 4}", "device": f"d{i}"} for i in range(devices)])


def added_tag_of_many_values(number: int) -> Mapping[str, Series]:
    if not since(number, 46):
        return _m(fleet(400))
    return _m([{**row, "worker": f"{row['host']}-w{w}"} for row in fleet(400) for w in range(3)])


def times_in_a_path(number: int) -> Mapping[str, Series]:
    fixed = [{"host": f"web-{i:04}", "path": f"/api/{name}"} for i in range(100) for name in "abcdefghijkl"]
    runs = range(_leaked(40, number, 100, "runs"))
    return _m([*fixed, *({"host": "cron", "path": f"/run/2026-02-{14 + i // 200:02}T{i % 200:05}"} for i in runs)])


def two_leaks_of_different_size(number: int) -> Mapping[str, Series]:
    large, small = _leaked(40, number, 120, "large"), _leaked(40, number, 30, "small")
    rows: list[TagSet] = [{"host": "web-0001", "trace": identifier(i)} for i in range(large)]
    return _m([*fleet(400), *rows, *({"host": "web-0002", "mail": f"m{i}@example.com"} for i in range(small))])


def _courses() -> Iterator[tuple[str, Planted]]:
    def case(live: Live, main_contributor: str | None, *says: str, **settings: object) -> tuple[str, Planted]:
        return live.__name__, Planted(live, main_contributor, says, **settings)  # type: ignore[arg-type]

    yield case(users_among_random_pods, "user", "user", never=("pod",))
    yield case(tasks_among_random_pods_of_a_week, "task", "task", kept=7)
    yield case(users_among_pods_of_a_month, "user", "user", kept=30, days=60)
    yield case(gradual_rename, "hostname", "hostname", kept=None)
    yield case(gradual_rollout_of_a_tag, "version", "tag version", kept=None, never=("core",))
    yield case(two_tags_added, "commit", "commit", "version", kept=None, never=("core",))
    yield case(large_new_region, "host", "host", "region")
    yield case(users_among_short_sessions, "user", "user", never=("session",))
    yield case(more_short_sessions_of_the_same_users, "session", "session", never=("user",))
    yield case(more_customers_with_short_sessions, "customer", "new values of tag customer", "session")
    yield case(leak_among_weekly_deploys, "task", "task", never=("version", "pod"))
    yield case(paths_at_one_host_of_a_growing_fleet, "path", "path", "one value of tag host")
    yield case(combinations_in_a_sampled_listing, None, ceiling=600, never=("host causes", "user causes"))
    yield case(three_measurements_by_three_tags, None, "3 measurements", subject="")
    yield case(more_and_more_short_lived_ids, "build", "build", kept=3)
    yield case(replaced_gateways_and_more_devices, "device", "device", never=("gateway",))
    yield case(added_tag_of_many_values, "worker", "worker", never=("host", "core"))
    yield case(times_in_a_path, "path", "path")
    yield case(two_leaks_of_different_size, "trace", "trace")


NOISY_CAUSES: Final = dict(_courses())
