"""Causes of growth, each with what the finding has to name: written before the first run of each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Final

from tests.rules.cardinality.planted import Live, Planted, Series, TagSet

ONSET: Final = 40


def since(number: int, onset: int = ONSET) -> int:
    """Days of growth so far: 1 on the first one."""
    return max(0, number - onset + 1)


def _m(rows: Series) -> Mapping[str, Series]:
    return {"m": rows}


def fleet(count: int, per_host: int = 3, first: int = 0) -> list[TagSet]:
    """Hosts in four regions, with some cores each."""
    return [
        {"host": f"web-{i:04}", "region": f"r{i % 4}", "core": str(c)}
        for i in range(first, first + count)
        for c in range(per_host)
    ]


def churning_pods(number: int, count: int, a_day: int) -> list[str]:
    """The pods of a day: the oldest are replaced."""
    return [f"pod-{i:05}" for i in range((number + 30) * a_day, (number + 30) * a_day + count)]


def identifier(number: int) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def two_tags_at_once(number: int) -> Mapping[str, Series]:
    hosts, paths = 25 + 2 * since(number), 40 + 4 * since(number)
    return _m([{"host": f"h{i}", "path": f"/p{j}"} for i in range(hosts) for j in range(paths)])


def churn_beside_a_leak(number: int) -> Mapping[str, Series]:
    pods = [{"pod": pod, "port": str(p)} for pod in churning_pods(number, 400, 50) for p in range(3)]
    users = [{"pod": "pod-old", "port": "0", "user": f"u{i}"} for i in range(45 * since(number))]
    return _m([*pods, *users])


def churn_times_growth(number: int) -> Mapping[str, Series]:
    users = 30 + 3 * since(number)
    return _m([{"pod": pod, "user": f"u{i}"} for pod in churning_pods(number, 40, 4) for i in range(users)])


def new_combinations(number: int) -> Mapping[str, Series]:
    visited = min(40, 10 + 3 * since(number))
    return _m(
        [
            {"user": f"u{u}", "host": f"h{(7 * u + k) % 40}", "method": method}
            for u in range(60)
            for k in range(visited)
            for method in ("get", "put")
        ]
    )


def renamed_key(number: int) -> Mapping[str, Series]:
    key = "hostname" if since(number, 46) else "host"
    return _m([{key: row["host"], "core": row["core"]} for row in fleet(400)])


def renamed_key_and_values(number: int) -> Mapping[str, Series]:
    if not since(number, 46):
        return _m([{"host": row["host"], "core": row["core"]} for row in fleet(400)])
    return _m([{"instance": f"{row['host']}:9100", "core": row["core"]} for row in fleet(400)])


def added_tag(number: int) -> Mapping[str, Series]:
    more = {"version": "7.1"} if since(number, 46) else {}
    return _m([{**row, **more} for row in fleet(400)])


def removed_tag(number: int) -> Mapping[str, Series]:
    more = {} if since(number, 46) else {"dc": "fra1"}
    return _m([{**row, **more} for row in fleet(400)])


def new_region(number: int) -> Mapping[str, Series]:
    regions = 5 if since(number, 46) else 2
    return _m([{"host": f"h{r}-{i}", "region": f"eu-{r}"} for r in range(regions) for i in range(600)])


def hosts_in_old_regions(number: int) -> Mapping[str, Series]:
    return _m(fleet(400 + 40 * since(number)))


def hosts_in_new_racks(number: int) -> Mapping[str, Series]:
    hosts = 400 + 40 * since(number)
    return _m([{"host": f"h{i}", "rack": f"k{i // 4}", "core": str(c)} for i in range(hosts) for c in range(3)])


def leaked_ids(number: int) -> Mapping[str, Series]:
    ids = [{"host": f"web-{i % 400:04}", "request_id": identifier(i)} for i in range(150 * since(number))]
    return _m([*fleet(400), *ids])


def leaked_ids_by_date(number: int) -> Mapping[str, Series]:
    """The date has a new value each day, too, but it does not add the series."""
    ids = [
        {"host": f"web-{i % 400:04}", "request_id": identifier(i), "date": f"d{i // 150}"}
        for i in range(150 * since(number))
    ]
    return _m([*fleet(400), *ids])


def leaked_ids_with_a_key_that_few_had(number: int) -> Mapping[str, Series]:
    """Dispatches of one job, of which there was one a day before: its name is a tag that other allocations lack."""
    services = [{"job": f"job-{i % 50}", "alloc": identifier(10**9 + i)} for i in range(400)]
    dispatches = [
        {"job": f"render/{identifier(i)[:8]}", "alloc": identifier(i), "parent": "render"}
        for i in range(1 + 150 * since(number))
    ]
    return _m([*services, *dispatches])


def ids_in_a_path(number: int) -> Mapping[str, Series]:
    paths = [{"host": f"web-{i % 50:04}", "path": f"/api/orders/{i}/items"} for i in range(150 * since(number))]
    fixed = [{"host": f"web-{i:04}", "path": f"/api/{name}"} for i in range(50) for name in "abcdefghijklmnopqrstuvwx"]
    return _m([*fixed, *paths])


def many_values(number: int) -> Mapping[str, Series]:
    """So many values that the sets are sketches."""
    rows = [{"device": f"d{i}", "port": str(p)} for i in range(1_000) for p in range(2)]
    return _m([*rows, *({"device": f"d{i % 1_000}", "session": identifier(i)} for i in range(250 * since(number)))])


def sampled_listing(number: int) -> Mapping[str, Series]:
    pods = [{"pod": pod, "port": str(p)} for pod in churning_pods(number, 900, 60) for p in range(2)]
    return _m([*pods, *({"pod": "pod-old", "session": identifier(i)} for i in range(250 * since(number)))])


def one_measurement_per_sensor(number: int) -> Mapping[str, Series]:
    return {f"sensor_{i}": [{"site": f"s{s}"} for s in range(100)] for i in range(12 + since(number))}


def one_new_measurement(number: int) -> Mapping[str, Series]:
    old = {f"table{i}": fleet(100) for i in range(4)}
    sessions = [{"session": identifier(i), "host": f"web-{i % 20}"} for i in range(3_000)]
    return {**old, "audit_log": sessions} if since(number, 48) else old


def hosts_in_many_measurements(number: int) -> Mapping[str, Series]:
    return {f"metric{i}": [{"host": f"h{h}"} for h in range(160 + 20 * since(number))] for i in range(10)}


def devices_of_one_customer(number: int) -> Mapping[str, Series]:
    rows = [{"customer": f"c{c}", "device": f"d{c}-{i}"} for c in range(30) for i in range(40)]
    return _m([*rows, *({"customer": "c7", "device": f"new-{i}"} for i in range(120 * since(number)))])


def deploy(number: int) -> Mapping[str, Series]:
    version = "v9" if since(number, 46) else "v8"
    return _m([{"pod": f"{version}-{i}", "version": version, "port": str(p)} for i in range(400) for p in range(3)])


def sessions(number: int) -> Mapping[str, Series]:
    return _m([{"session": identifier((number + 30) * 120 + i), "host": f"h{i % 10}"} for i in range(120)])


def slow_leak_beside_churn(number: int) -> Mapping[str, Series]:
    pods = [{"pod": pod, "port": str(p)} for pod in churning_pods(number, 400, 20) for p in range(3)]
    ids = [{"pod": f"job-{i % 3}", "task": f"t{i}"} for i in range(25 * since(number, 25))]
    return _m([*pods, *ids])


def growth_after_a_step(number: int) -> Mapping[str, Series]:
    regions = 2 if number < 22 else 3
    rows = [{"host": f"h{r}-{i}", "region": f"eu-{r}"} for r in range(regions) for i in range(500)]
    return _m([*rows, *({"host": f"h0-{i % 500}", "user": f"u{i}"} for i in range(120 * since(number)))])


def two_leaks(number: int) -> Mapping[str, Series]:
    ids = [{"host": f"web-{i % 400:04}", "request_id": identifier(i)} for i in range(150 * since(number))]
    mails = [{"host": f"web-{i % 400:04}", "email": f"user{i}@example.com"} for i in range(130 * since(number))]
    return {"m": [*fleet(400), *ids], "mails": [*fleet(400), *mails]}


def changed_case(number: int) -> Mapping[str, Series]:
    return _m([{**row, "host": row["host"].upper() if since(number, 46) else row["host"]} for row in fleet(400)])


def trailing_spaces(number: int) -> Mapping[str, Series]:
    return _m([{**row, "host": row["host"] + " " * min(1, since(number, 46))} for row in fleet(400)])


def split_values(number: int) -> Mapping[str, Series]:
    zones = [f"eu-{z}-{part}" for z in range(2) for part in "abc"] if since(number, 46) else ["eu-0", "eu-1"]
    return _m([{"device": f"d{i}", "zone": zone} for i in range(600) for zone in zones])


def season_beside_growth(number: int) -> Mapping[str, Series]:
    weekend = [{"host": f"web-{i:04}", "campaign": f"sale{i % 3}"} for i in range(300)] if number % 7 >= 5 else []
    users = [{"host": f"web-{i % 400:04}", "user": f"u{i}"} for i in range(120 * since(number))]
    return _m([*fleet(400), *weekend, *users])


def moved_measurement(number: int) -> Mapping[str, Series]:
    return {("cpu_v2" if since(number, 48) else "cpu"): fleet(400)}


def steady_arrivals_beside_a_leak(number: int) -> Mapping[str, Series]:
    """Pods are added at the same pace before and after; the IDs are what changed."""
    pods = [{"pod": f"pod-{i}", "port": "0"} for i in range(3_000 + 9 * number)]
    return _m([*pods, *({"pod": f"pod-{i % 50}", "task": f"t{i}"} for i in range(8 * since(number)))])


def interchangeable_tags(number: int) -> Mapping[str, Series]:
    return _m(
        [
            *fleet(400),
            *({"container_id": identifier(i), "container_name": f"c{i}"} for i in range(150 * since(number))),
        ]
    )


def replaced_parent(number: int) -> Mapping[str, Series]:
    """One gateway takes the place of another on the day the devices begin to grow."""
    gateway = "gw-new" if since(number) else "gw-old"
    return _m([{"gateway": gateway, "device": f"d{i}"} for i in range(1_200 + 150 * since(number))])


def new_customers(number: int) -> Mapping[str, Series]:
    customers = 30 + 3 * since(number)
    return _m([{"customer": f"c{c}", "device": f"d{c}-{i}"} for c in range(customers) for i in range(40)])


def _courses() -> Iterator[tuple[str, Planted]]:
    def case(live: Live, main_contributor: str | None, *says: str, **settings: object) -> tuple[str, Planted]:
        return live.__name__, Planted(live, main_contributor, says, **settings)  # type: ignore[arg-type]

    yield case(two_tags_at_once, "path", "path", "host")
    yield case(churn_beside_a_leak, "user", "user", never=("pod",))
    yield case(churn_times_growth, "user", "user", never=("pod",))
    yield case(new_combinations, None, "new combinations", "user", "host", never=("method",))
    yield case(renamed_key, "hostname", "hostname", "instead of host", kept=None)
    yield case(renamed_key_and_values, "instance", "instance", "instead of host", kept=None)
    yield case(added_tag, "version", "tag version", "was added", kept=None, never=("region", "core"))
    yield case(removed_tag, "dc", "without tag dc", kept=None, never=("region", "core"))
    yield case(new_region, "region", "3 new values of tag region", "host")
    yield case(hosts_in_old_regions, "host", "host", never=("region", "core"))
    yield case(hosts_in_new_racks, "host", "host")
    yield case(leaked_ids, "request_id", "request_id", "UUID")
    yield case(leaked_ids_by_date, "request_id", "request_id")
    yield case(leaked_ids_with_a_key_that_few_had, "alloc", "alloc", "one value of tag parent", never=("added",))
    yield case(ids_in_a_path, "path", "path")
    yield case(many_values, "session", "session", "estimated")
    yield case(sampled_listing, "session", "session", ceiling=600, never=("pod",))
    yield case(one_measurement_per_sensor, None, "new measurements", "sensor_", subject="")
    yield case(one_new_measurement, "session", "audit_log", "session", subject="")
    yield case(hosts_in_many_measurements, "host", "host", "10 measurements", subject="")
    yield case(devices_of_one_customer, "device", "device", "one value of tag customer")
    yield case(deploy, "version", "1 new value of tag version", "pod", kept=30)
    yield case(sessions, None, "fewer", "deleted", kept=12, deleting_until=39)
    yield case(slow_leak_beside_churn, "task", "task", kept=7, from_day=25, never=("pod",))
    yield case(growth_after_a_step, "user", "user", never=("region",))
    yield case(two_leaks, "request_id", "request_id", also={"mails": "email"})
    yield case(changed_case, "host", "host", kept=None)
    yield case(trailing_spaces, "host", "host", kept=None)
    yield case(split_values, "zone", "zone", never=("device",))
    yield case(season_beside_growth, "user", "user", never=("campaign",))
    yield case(moved_measurement, None, "cpu_v2", "cpu", kept=None, subject="")
    yield case(steady_arrivals_beside_a_leak, "task", "task", kept=None, days=75)
    yield case(interchangeable_tags, "container_id", "container_id", "container_name")
    yield case(replaced_parent, "device", "device", never=("gateway",))
    yield case(new_customers, "customer", "new values of tag customer", "device")


CAUSES: Final = dict(_courses())
