"""Names with data in them, and their false friends."""

from __future__ import annotations

import random
import string
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.shapes.name_families import NameFamily, name_families, parsed_names
from tsaudit.model.change import ColumnPart


def test_the_measurement_of_the_guideline_falls_apart_by_itself():
    assert name_families(["Cpu.server-5.us-west.usage_user"]) == [
        NameFamily(
            template="Cpu.{host}.{region}.usage_user",
            members=("Cpu.server-5.us-west.usage_user",),
            measurement="cpu",
            tags=(ColumnPart("host", "server-5"), ColumnPart("region", "us-west")),
            field="usage_user",
        )
    ]


def test_a_family_may_measure_several_things():
    names = ["Cpu.server-6.us-east.usage_system", "Cpu.server-5.us-west.usage_user"]
    (family,) = name_families([*names, "mem"])
    assert family.template == "Cpu.{host}.{region}.{field}"
    assert family.members == tuple(sorted(names))
    assert family.field == "usage_user"


@pytest.mark.parametrize(
    ("names", "template", "measurement", "tags"),
    [
        (["events_2024_01", "events_2024_02"], "events_{date}", "events", []),
        (["visits_20240101", "visits_20240102"], "visits_{date}", "visits", []),
        (["visits20240101", "visits20240102"], "visits{date}", "visits", []),
        (["logs-2024-01-01", "logs-2024-01-02"], "logs-{date}", "logs", []),
        (["hits.2024.01.02", "hits.2024.01.03"], "hits.{date}", "hits", []),
        (["hits.2024w05", "hits.2024w06"], "hits.{date}", "hits", []),
        (["sales_2024_q1", "sales_2024_q2"], "sales_{date}", "sales", []),
        (["sales_jan_2024", "sales_feb_2024"], "sales_{date}", "sales", []),
        (["census_2010", "census_2020"], "census_{date}", "census", []),
        (["20240101", "20240102"], "{date}", "readings", []),
        (["log_30032024", "log_31032024", "log_01042024"], "log_{date}", "log", []),
        (["events_y2024m03", "events_y2024m04", "events_y2024m05"], "events_{date}", "events", []),
        (["orders_2311", "orders_2312", "orders_2401", "orders_2402"], "orders_{date}", "orders", []),
        (["in.30.03.24", "in.31.03.24", "in.01.04.24"], "in.{date}", "in", []),
        (["sensor_1", "sensor_2", "sensor_3"], "sensor_{n}", "sensor", [ColumnPart("sensor_number", "1")]),
        (["cpu0", "cpu1", "cpu2", "cpu3"], "cpu{n}", "cpu", [ColumnPart("cpu_number", "0")]),
        (["server-1_load", "server-2_load"], "{host}_load", "load", [ColumnPart("host", "server-1")]),
        (["us-west_cpu", "us-east_cpu"], "{region}_cpu", "cpu", [ColumnPart("region", "us-east")]),
        (["prod_cpu", "dev_cpu"], "{env}_cpu", "cpu", [ColumnPart("env", "dev")]),
        (["job_8f3a9c21b7", "job_17bd09e2ac"], "job_{id}", "job", [ColumnPart("id", "17bd09e2ac")]),
        (["up.10_0_0_1.x", "up.10_0_0_2.x"], "up.{host}.x", "up", [ColumnPart("host", "10_0_0_1")]),
        (
            ["server-1.us-west.cpu"],
            "{host}.{region}.cpu",
            "cpu",
            [ColumnPart("host", "server-1"), ColumnPart("region", "us-west")],
        ),
        (
            ["net.server-1.server-2.rtt"],
            "net.{host}.{host}.rtt",
            "net",
            [ColumnPart("host", "server-1"), ColumnPart("host_2", "server-2")],
        ),
        (
            ["disk.sda1.free", "disk.sda2.free", "disk.sdb1.free"],
            "disk.{n}.free",
            "disk",
            [ColumnPart("second_part", "sda1")],
        ),
    ],
)
def test_families_are_found(names, template, measurement, tags):
    (family,) = name_families(["weather", *names])
    assert (family.template, family.measurement, list(family.tags)) == (template, measurement, tags)
    assert set(family.members) == set(names)


@pytest.mark.parametrize(
    "names",
    [
        ["http_2xx", "http_4xx", "http_5xx"],
        ["http_200", "http_404", "http_500", "http_503"],
        ["p50", "p90", "p95", "p99"],
        ["latency_p50", "latency_p90", "latency_p95", "latency_p99"],
        ["load1", "load5", "load15", "load60"],
        ["ipv4", "ipv6"],
        ["sha1", "sha256", "sha512", "sha384"],
        ["orders_v1", "orders_v2", "orders_v3", "orders_v4"],
        ["http.server.duration", "http.client.duration", "jvm.memory.used"],
        ["ibm.db2.latency"],
        ["backup_20240101"],
        ["events_2024"],
        ["prod_cpu"],
        ["sensor_1", "sensor_2"],
        ["cpu0", "cpu1", "cpu2"],
        ["us-west_cpu"],
        ["disk.sda1.free"],
        ["weather", "air_quality", "cpu", "mem", "mem_2"],
        ["leafTemp1", "leafTemp2", "leafWet1", "leafWet2", "soilMoist1", "soilMoist2", "soilTemp1", "soilTemp2"],
        [],
    ],
)
def test_false_friends_are_kept_out(names):
    assert name_families(names) == []


def test_what_a_dated_name_says_is_not_its_date():
    (family,) = name_families(["orders_2311_eu-west", "orders_2312_eu-west", "orders_2401_eu-west"])
    assert [told.tags for told in parsed_names(family)] == [(("region", "eu-west"),)] * 3


def test_name_whose_id_could_be_a_number_belongs_to_those_with_ids_of_its_length():
    sure = [
        "probe_a1f09c77e210",
        "probe_09bd88c7f1aa",
        "probe_7e11c09a55d2",
        "probe_c0ffee12ab90",
        "probe_5d5e0a77b1c3",
    ]
    (family,) = name_families([*sure, "probe_402938471120", "probe_overview_1", "probe_40"])
    assert family.members == tuple(sorted([*sure, "probe_402938471120"]))
    assert [told.tags for told in parsed_names(family)] == [(("id", name[6:]),) for name in family.members]
    # Few do not show that all of this length are IDs.
    (fewer,) = name_families([*sure[:3], "probe_402938471120"])
    assert fewer.members == tuple(sorted(sure[:3]))


def test_environment_that_is_the_same_in_all_names_and_counted_is_a_word():
    (devices,) = name_families([f"dev_{n}" for n in range(101, 105)])
    assert (devices.template, devices.tags) == ("dev_{n}", (ColumnPart("dev_number", "101"),))
    (workers,) = name_families([f"{env}_{n}" for env in ("dev", "prod") for n in range(101, 105)])
    assert workers.template == "{env}_{n}"


def test_numbers_between_dots_count_and_settings_do_not():
    (slabs,) = name_families([f"items.{n}.evicted" for n in range(1, 9)])
    assert slabs.template == "items.{n}.evicted"
    assert name_families([f"sma_{n}" for n in (20, 50, 100, 200)]) == []
    assert [f.template for f in name_families([f"station_{n}" for n in (10, 20, 30, 50, 60)])] == ["station_{n}"]
    assert [f.template for f in name_families([f"pump_{n}" for n in (20, 51, 107, 200)])] == ["pump_{n}"]


HEX, BASE64 = "0123456789abcdef", string.ascii_letters + string.digits + "-_"


@pytest.mark.parametrize(
    ("form", "alphabet", "length", "tag", "least"),
    [
        ("df /var/lib/docker/overlay2/{}/merged used", HEX, 64, "id", 1.0),
        ("disk /var/lib/kubelet/pods/{} percent", HEX, 32, "id", 1.0),
        ("queue:{}:length", HEX, 64, "id", 1.0),
        ("job|{}|time", HEX, 32, "id", 1.0),
        ("svc;id={};ms", HEX, 16, "id", 0.99),
        ("session_{}_count", HEX, 24, "id", 0.99),
        ("fs./mnt/{}.free", HEX, 64, "id", 1.0),
        ("proc {} rss", HEX, 8, "id", 0.98),
        ("interface veth{} rx packets", HEX, 7, "id", 0.98),
        ("conn {} bytes", BASE64, 22, "id", 1.0),
        ("topic {}", BASE64, 30, "id", 1.0),
    ],
)
def test_an_id_is_found_whatever_is_around_it(form, alphabet, length, tag, least):
    draw = random.Random(length)
    names = {form.format("".join(draw.choices(alphabet, k=length))) for _ in range(400)}
    largest = max(name_families([*names, "df / used", "load average"]), key=lambda family: len(family.members))
    assert len(largest.members) >= least * 400
    assert [part.name for part in largest.tags] == [tag]


def test_an_id_of_any_digits_contains_no_date():
    for seed in range(40):
        draw = random.Random(seed)
        names = [str(uuid.UUID(int=draw.getrandbits(128))) for _ in range(100)]
        (family,) = name_families([f"vm/{name}/cpu" for name in names])
        assert (family.template, len(family.members)) == ("vm/{id}/cpu", 100)


def test_a_pod_is_known_by_the_letters_that_kubernetes_uses():
    names = [f"mem /kubepods/web-{x}-{y} used" for x, y in (("7d9f8c6b5", "x2x9z"), ("5cb8d4f7c9", "q8qtl"))]
    (family,) = name_families(names)
    assert (family.template, family.tags[0].example) == ("mem /kubepods/web-{id} used", "5cb8d4f7c9-q8qtl")


def test_numbers_that_are_the_same_in_all_names_are_words():
    (family,) = name_families([f"zone2 disk{n} free" for n in range(1, 9)])
    assert (family.template, [part.name for part in family.tags]) == ("zone2 disk{n} free", ["disk_number"])


@pytest.mark.parametrize("constant", ["1712345678901", "1712345678", "20240115", "83105527"])
def test_a_counter_is_data_beside_a_long_number_that_is_the_same_in_all_names(constant: str) -> None:
    names = [
        f"import_{constant}_{n:04}.{step}.rows" for n in range(2300, 2340) for step in ("parse.lines", "load.batches")
    ]
    load, parse = name_families(names)
    assert [len(load.members), len(parse.members)] == [40, 40]
    assert (load.measurement, load.field) == ("load_batches", "rows")
    assert [(tag.name, tag.example) for tag in load.tags] == [("import", f"import_{constant}_2300")]


def test_a_long_number_that_is_the_same_in_all_names_is_no_data() -> None:
    (family,) = name_families([f"shipment-20240115-{n:03}-weights" for n in range(1, 60)])
    assert family.template == "shipment-20240115-{n}-weights"
    assert (family.measurement, [tag.name for tag in family.tags]) == ("shipment_weights", ["shipment_number"])
    (dated,) = name_families([f"shipment-202401{n}-weights" for n in range(10, 20)])
    assert dated.template == "shipment-{date}-weights"


def test_numbers_side_by_side_are_data_if_both_count() -> None:
    (family,) = name_families([f"cell_{row}_{place}" for row in range(1, 7) for place in range(1, 9)])
    assert family.template == "cell_{n}_{n}"


def test_families_of_different_words_stay_apart():
    names = ["events_2024_01", "events_2024_02", "hits_2024_01", "hits_2024_02"]
    assert [f.measurement for f in name_families(names)] == ["events", "hits"]


@settings(deadline=None, max_examples=examples(200))
@given(
    st.lists(st.text("aZ9._-é{}", max_size=12) | st.from_regex(r"[a-z]{1,3}[._-]\d{1,8}", fullmatch=True), max_size=12)
)
def test_each_name_is_in_one_family_at_most(names):
    families = name_families(names)
    members = [m for f in families for m in f.members]
    assert len(members) == len(set(members))
    assert set(members) <= set(names)
    assert all(f.measurement and len({t.name for t in f.tags}) == len(f.tags) for f in families)


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ([f"line_{n}" for n in range(11, 16)], {"line_number": "11"}),
        ([f"site{n}_pump_{m}" for n in (1, 2) for m in (1, 2, 3)], {"site_number": "1", "pump_number": "1"}),
        ([f"bus.{n}.delay.mean" for n in range(101, 109)], {"bus": "101"}),
        ([f"{env}_{n}" for env in ("prod", "staging") for n in (1, 2, 3)], {"env": "prod", "second_part": "1"}),
        ([f"metrics.{place}{n}.load" for place in ("rim", "hub") for n in (3, 4, 5)], {"second_part": "hub3"}),
        ([f"a{{b}}_{n}" for n in (1, 2, 3)], {"first_part": "1"}),
    ],
)
def test_parts_are_named_after_what_they_are_or_where(names: list[str], parts: dict[str, str]) -> None:
    (family,) = name_families(names)
    assert {part.name: part.example for part in family.tags} == parts


def test_names_with_very_long_numbers_are_read():
    assert name_families([f"a_{'9' * 5_000}{i}" for i in range(30)]) == []
