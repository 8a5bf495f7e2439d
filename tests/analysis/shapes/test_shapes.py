"""Shapes: each kind by a generator of its own, and mixtures that have none."""

from __future__ import annotations

import random
import string
import unicodedata
import uuid
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.shapes.composites import split_composite
from tsaudit.analysis.shapes.name_families import name_families
from tsaudit.analysis.shapes.shape_rules import is_text
from tsaudit.analysis.shapes.shapes import IDENTIFIER_KINDS, TEXT_KINDS, Shape, classify, number_kind, redact

R = random.Random(20261121)
SERVICES = ["api", "auth", "billing", "cart", "checkout", "core", "feed", "gateway", "mail", "search", "store", "user"]
CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
KUBERNETES = "bcdfghjklmnpqrstvwxz2456789"
NOW = 1_790_000_000


def some(characters: str, count: int) -> str:
    return "".join(R.choices(characters, k=count))


def hexadecimal(count: int) -> str:
    return some("0123456789abcdef", count)


def service() -> str:
    return R.choice(SERVICES)


GENERATORS: dict[str, list[Callable[[], str]]] = {
    "uuid": [
        lambda: str(uuid.UUID(int=R.getrandbits(128), version=4)),
        lambda: "{" + str(uuid.UUID(int=R.getrandbits(128), version=4)).upper() + "}",
    ],
    "ulid": [lambda: "01" + some(CROCKFORD, 24)],
    "hash": [
        lambda: hexadecimal(R.choice([32, 40, 64])),
        lambda: "sha256:" + hexadecimal(64),
        lambda: hexadecimal(24),
        lambda: hexadecimal(8),
        lambda: hexadecimal(12),
    ],
    "epoch": [
        lambda: str(NOW - R.randrange(10**7)),
        lambda: str((NOW - R.randrange(10**7)) * 1000 + R.randrange(1000)),
        lambda: str((NOW - R.randrange(10**7)) * 10**9),
        lambda: f"{NOW - R.randrange(10**7)}.{R.randrange(1000):03d}",
    ],
    "iso_time": [
        lambda: f"2026-{R.randint(1, 12):02d}-{R.randint(1, 28):02d}T{R.randint(0, 23):02d}:05:00.123Z",
        lambda: f"2026-{R.randint(1, 12):02d}-{R.randint(1, 28):02d}",
        lambda: f"2026-{R.randint(1, 12):02d}-{R.randint(1, 28):02d} 10:00:00+01:00",
        lambda: f"2026{R.randint(1, 12):02d}{R.randint(1, 28):02d}",
    ],
    "ip": [
        lambda: ".".join(str(R.randint(0, 255)) for _ in range(4)),
        lambda: f"2001:db8::{hexadecimal(4)}:{hexadecimal(4)}",
        lambda: f"10.0.{R.randint(0, 255)}.{R.randint(1, 254)}:{R.randint(1024, 65535)}",
    ],
    "mac": [lambda: ":".join(hexadecimal(2) for _ in range(6))],
    "email": [lambda: f"{service()}{R.randint(1, 999)}@example.com"],
    "url": [lambda: f"https://{service()}.example.com/{hexadecimal(6)}?q={R.randint(1, 9)}"],
    "path": [lambda: f"/api/v1/{service()}/{R.randint(1, 300)}", lambda: f"C:\\logs\\{hexadecimal(5)}.txt"],
    "version": [
        lambda: f"v{R.randint(1, 4)}.{R.randint(0, 30)}",
        lambda: f"{R.randint(1, 4)}.{R.randint(0, 30)}.{R.randint(0, 9)}-rc1",
    ],
    "integer": [lambda: str(R.randint(-50, 10**7)), lambda: str(R.randint(0, 63)), lambda: str(R.randint(1, 10**8))],
    "float": [
        lambda: f"{R.random() * 100:.3f}",
        lambda: f"{R.random():.2e}",
        lambda: R.choice(["1", "2.5", "7", "3.25"]),
    ],
    "boolean": [lambda: R.choice(["true", "false"]), lambda: R.choice(["on", "OFF"])],
    "pod": [
        lambda: f"{service()}-{some(KUBERNETES, R.choice([9, 10]))}-{some(KUBERNETES, 5)}",
    ],
    "hostname": [lambda: f"{service()}-{R.randint(1, 400):03d}.eu-west.prod.example"],
    "counter_name": [
        lambda: f"node{R.randint(1, 5000)}",
        lambda: f"{service()}-{R.randint(1, 400)}",
        lambda: f"TLM0{R.randint(100, 999)}",
        lambda: f"ip-10-0-{R.randint(0, 255)}-{R.randint(0, 255)}",
    ],
    "sql": [lambda: f"SELECT *\nFROM {service()} WHERE id = {R.randint(1, 10**6)}"],
    "json": [lambda: f'{{"service": "{service()}", "n": {R.randint(1, 10**6)}}}'],
    "user_agent": [
        lambda: (
            f"Mozilla/5.0 (X11; Linux x86_64; rv:{R.randint(60, 140)}.0) Gecko/20100101 Firefox/{R.randint(60, 140)}.0"
        ),
        lambda: f"{service()}/{R.randint(1, 99)}.{R.randint(0, 99)} (linux; amd64) Go-http-client/1.{R.randint(0, 9)}",
    ],
    "log_text": [
        lambda: f"connection to {service()} refused after {R.randint(1, 999)} ms: timeout",
        lambda: f"ERROR {service()} failed\n  at line {R.randint(1, 99)}",
        lambda: f"[warn] disk {R.randint(1, 9999)} almost full",
    ],
    "id": [
        lambda: f"req-{hexadecimal(10)}",
        lambda: f"order_{R.randint(10**5, 10**6 - 1)}",
        lambda: some(string.ascii_letters + string.digits, 21),
        lambda: "i-0" + hexadecimal(16),
        lambda: f"00-{hexadecimal(32)}-{hexadecimal(16)}-01",
        lambda: str(R.randint(10**16, 10**17)),
        lambda: str(R.randint(10**10, 10**11)),
        lambda: f"/v1/jobs/{hexadecimal(16)}/log",
    ],
    "request": [lambda: f"/search?q={service()}+{hexadecimal(3)}&page={R.randint(1, 40)}"],
    "position": [lambda: f"{R.uniform(-90, 90):.4f},{R.uniform(-180, 180):.4f}"],
    "word": [
        lambda: R.choice(["us-east", "prod", "staging", "GET", "POST", "Mozilla", "dev"]),
        lambda: f"{service()}-{service()}",
        lambda: R.choice(["New York", "San José", "Berlin", "Köln", "Rio de Janeiro"]),
    ],
}
CASES = [(kind, make) for kind, makers in GENERATORS.items() for make in makers]


@pytest.mark.parametrize("count", [12, 64, 1000])
@pytest.mark.parametrize(("kind", "make"), CASES, ids=[f"{k}-{i}" for i, (k, _) in enumerate(CASES)])
def test_classify_knows_the_kind(kind, make, count):
    # Whatever ran before: the values of a case are the same in every run.
    R.seed(f"{kind} {CASES.index((kind, make))} {count}")
    values = [make() for _ in range(count)]
    if kind in ("boolean", "word") or len(set(values)) >= 4:
        assert classify(values).kind == kind


@pytest.mark.parametrize(
    ("one", "other"),
    [("uuid", "word"), ("ip", "hostname"), ("integer", "counter_name"), ("path", "url")],
)
def test_classify_is_unsure_of_mixtures(one, other):
    values = [GENERATORS[one][0]() for _ in range(30)] + [GENERATORS[other][-1]() for _ in range(200)][:120]
    distinct = sorted(set(values[30:]))[:30]
    shape = classify([*values[: len(distinct)], *distinct])
    assert shape.kind == "unknown"
    assert shape.share < 0.8


@pytest.mark.parametrize(("share", "kind"), [(0.2, "word"), (0.4, "log_text")])
def test_classify_takes_sentences_among_short_values_for_a_log(share, kind):
    lines = [f"connection to {service()} refused after {i} ms: timeout" for i in range(int(100 * share))]
    words = [f"{a}-{b}" for a in SERVICES for b in SERVICES][: 100 - len(lines)]
    assert classify(lines + words).kind == kind


@pytest.mark.parametrize(("share", "kind"), [(0.45, "unknown"), (0.75, "id"), (0.85, "uuid")])
def test_classify_finds_ids_in_most_of_the_values_and_names_their_kind_from_four_fifths(share, kind):
    ids = [GENERATORS["uuid"][0]() for _ in range(int(100 * share))]
    words = [f"{a}-{b}" for a in SERVICES for b in SERVICES][: 100 - len(ids)]
    assert classify(ids + words).kind == kind


def test_classify_judges_a_few_values_only_where_the_shape_is_unmistakable():
    assert classify([str(uuid.UUID(int=i)) for i in range(2)]) == Shape("uuid", 1.0, 2)
    assert classify(["10.0.0.1", "10.0.0.2", "10.0.0.3"]).kind == "ip"
    assert classify(["abc1234", "abc1235"]).kind == "unknown"
    assert classify([str(NOW), str(NOW + 1)]).kind == "unknown"
    assert classify(["prod"]).kind == "unknown"


def test_classify_leaves_out_blanks_and_repeats():
    assert classify([]) == classify(["", "  "]) == Shape("empty", 1.0, 0)
    assert classify(["true", "true", "", "false"]) == Shape("boolean", 1.0, 2)


def test_classify_is_unsure_of_what_no_rule_knows():
    assert classify(["§§", "¶¶", "%%", "&&", "$$"]) == Shape("unknown", 0.0, 5)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["::1", "fe80::1%eth0", "[2001:db8::1]:443", "2001:db8::/32"], "ip"),
        (["1:2:3", "4:5:6", "7:8:9", "a:b:c"], "unknown"),
        (["2026-13-01", "2026-02-30", "2026-00-10", "2026-01-32"], "unknown"),
        (["1.2.3.4", "1.2.3.400", "1.2.3.500", "1.2.3.600"], "unknown"),
    ],
)
def test_classify_looks_closer_than_the_characters(values, kind):
    assert classify(values).kind == kind


def test_classify_samples_very_many_values_evenly():
    values = [f"host-{i}" for i in range(9_000)]
    assert classify(values) == Shape("counter_name", 1.0, 9_000)


@pytest.mark.parametrize(
    "values",
    [
        [f"Red Hat Enterprise Linux {n} (Server)" for n in range(5, 11)],
        [f"Intel(R) Xeon(R) CPU E5-26{n}0 v4 @ 2.40GHz" for n in range(10)],
    ],
)
def test_classify_does_not_take_names_of_products_for_log_lines(values):
    assert classify(values).kind != "log_text"


def test_classify_takes_words_in_any_order_for_texts_and_in_one_order_for_names():
    chance = random.Random(7)
    words = [*SERVICES, "shoes", "red", "women", "winter", "size", "42", "kids", "cheap", "blue", "boots", "hiking"]
    queries = [chance.sample(words, chance.randint(1, 4)) for _ in range(120)]
    assert classify([" ".join(query) for query in queries]).kind == "log_text"
    assert classify([" ".join(sorted(query)) for query in queries]).kind != "log_text"
    toppings = [chance.sample(["tomato", "basil", "ham", "olive", "tuna"], chance.randint(1, 3)) for _ in range(120)]
    assert classify([" ".join(chosen) for chosen in toppings]).kind != "log_text"
    places = ["Bern", "New York", "Ulm", "Rio de Janeiro", "Graz", "Old Town", "Kiel", "Bad Ems", "Split", "Le Mans"]
    assert classify([f"{a} to {b}" for a in places for b in places if a != b]).kind != "log_text"


def test_classify_takes_short_hex_ids_of_any_length_together():
    values = [hexadecimal(n) for n in (8, 12, 16) for _ in range(30)]
    assert classify(values).kind == "hash"


def test_kinds_named_for_rules_exist():
    assert set(GENERATORS) >= IDENTIFIER_KINDS | TEXT_KINDS


@pytest.mark.parametrize("piece", ["a", "1", "a-", "a1", "1-", "a.", "a=b.", "a-b.", "A1b", "x ", ":", "é", "/", "0f"])
@pytest.mark.parametrize("end", ["", "!", "§", " ", "\n"])
def test_classify_comes_to_an_end_with_long_monotonous_values(piece, end):
    value = piece * 30_000 + end
    assert classify([value]).distinct == 1
    assert number_kind([piece * 300 + end]) in (None, "integer")
    assert split_composite([value]) is None
    assert name_families([piece * 100 + end]) == []


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), max_size=8))
def test_classify_takes_any_text(values):
    shape = classify(values)
    assert 0 <= shape.share <= 1
    assert shape.distinct == len({v for v in values if v.strip()})


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", "300"], "integer"),
        (["0", "1"], "integer"),
        (["12345678901234567"], "integer"),
        (["1", "2.5", "-1e-3"], "float"),
        (["1.0", "nan"], "float"),
        (["true", "FALSE"], "boolean"),
        (["yes", "no", ""], "boolean"),
        (["2026-11-21T10:00:00Z", "2026-11-21"], "time"),
        ([str(NOW), str(NOW + 60)], "time"),
        (["007", "042"], None),
        (["1.2.3"], None),
        (["12 kg", "13 kg"], None),
        (["1", "2", "n/a"], None),
        (["10.0.0.1"], None),
        ([], None),
        ([""], None),
    ],
)
def test_number_kind(values, kind):
    assert number_kind(values) == kind


def test_number_kind_bears_a_few_texts_among_many_numbers():
    assert number_kind([*map(str, range(99)), "n/a"]) == "integer"
    assert number_kind([*map(str, range(90)), *"abcdefghij"]) is None


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("8f3a9c21-b7aa", "8f0x0x00-x0xx"),
        ("alice@example.com", "alxxx@xxxxxxx.xxx"),
        ("<!channel> all", "<!xxxxxxx> xxx"),
        ("abc", "abc"),
        ("xx00", "x***"),
        ("ab--", "a*--"),
        ("a---", "*---"),
        ("----", "----"),
        ("日本語テキスト", "日本xxxxx"),
        ("pay\u202eload\x00\n", "pax·xxxx··"),
        ("ok ✓ done", "ok ? xxxx"),
        ("\u200b", "·"),
    ],
)
def test_redact_shows_the_shape(value, shown):
    assert redact(value) == shown


@settings(deadline=None, max_examples=examples(500))
@given(st.text(max_size=60) | st.text("x0*a", max_size=45))
@example("x" * 50)
def test_redact_never_gives_a_value_away(value):
    shown = redact(value)
    assert len(shown) <= 40
    if len(value) >= 4 and any(c.isalnum() for c in value):
        assert shown != value
        assert value not in shown
    assert not any(unicodedata.category(c)[0] == "C" for c in shown)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Backup of DB1 failed (ERR)", True),
        ("Nightly Backup DB1 failed (ERR)", False),
        ("Backup of DB1 failed", True),
        ("Backup of NAS", False),
    ],
)
def test_two_common_words_make_a_sentence(value: str, expected: bool) -> None:
    assert is_text(value) is expected
